"""The chains of one armature object, compiled again where their inputs have changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...core import IKError
from ...core.algebra.arithmetic import Flags
from ...core.model.message import Message
from ..frames.bases import RootBones
from ..planning.checks import check_channels
from ..planning.joints_of_chain import slide_ranges
from ..planning.live_chain import LiveChain
from ..planning.order import PlannedChain, are_planned_alike
from ..planning.planned_rig import PlannedRig
from ..planning.slide import ChainSlide, chain_slide
from ..planning.start_channels import UnsolvedChannels
from ..planning.stretch import BoneStretch, ChainStretch
from ..reading.bone_joints import BoneJoints
from ..reading.channels import Pose
from ..reading.dependencies import OwnAnchor
from ..reading.spec import StartFrom


class CompiledRig(NamedTuple):
    """The chains of one armature object that can be solved.

    Attributes:
        live_chains: The chains.
        roots: Their root bones; None without chains.
        errors: Error messages of all others by index.
        own_anchors: Targets, poles and floors that refused chains move themselves.
    """

    live_chains: Sequence[LiveChain]
    roots: RootBones | None
    errors: Mapping[int, Message]
    own_anchors: Sequence[OwnAnchor]

    def has_freed_anchor(self, listed: frozenset[int]) -> bool:
        """Return whether a refused chain does not move its own target any more.

        ``listed`` are the session uids of the data-blocks that an evaluation has changed.
        """
        return any(
            not own_anchor.owners.isdisjoint(listed) and not own_anchor.is_moved()
            for own_anchor in self.own_anchors
        )


NOTHING_COMPILED = CompiledRig((), None, {}, ())


class CompileInputs(NamedTuple):
    """What the planned chains of one armature object are compiled from at one frame.

    Attributes:
        pose: The present pose.
        changed: Which bones have changed in more than rotations; None where none has.
        unsolved: Channels at this frame without any chain.
        keyed: Names of the bones with keys.
        stretch: Stretch of all bones; None where no chain stretches.
    """

    pose: Pose
    changed: Flags | None
    unsolved: UnsolvedChannels
    keyed: frozenset[str]
    stretch: BoneStretch | None


def compile_rig(planned: PlannedRig, known: CompiledRig, inputs: CompileInputs) -> CompiledRig:
    """Return chains compiled; compiled chains and roots without changes are reused."""
    live_chains, errors = list[LiveChain](), dict(planned.errors)
    for chain, joints in planned.chains:
        try:
            live_chains.append(_compile(chain, joints, inputs))
        except IKError as error:
            errors[chain.index] = error.message
    roots = known.roots
    if not are_planned_alike(live_chains, known.live_chains):
        roots = RootBones.of(live_chains) if live_chains else None
    return CompiledRig(live_chains, roots, errors, planned.own_anchors)


def _compile(chain: PlannedChain, joints: BoneJoints | None, inputs: CompileInputs) -> LiveChain:
    """Return a chain compiled: the known one if nothing has changed."""
    pose, changed = inputs.pose, inputs.changed
    written, is_keyed = chain.plan.written, not inputs.keyed.isdisjoint(chain.plan.names)
    known = chain if isinstance(chain, LiveChain) else None
    if changed is not None and (changed[written].any() or changed[chain.plan.tip]):
        known = None
    if known is not None and known.is_settled and not is_keyed:
        others = known.stretch, known.slide, known.home
        if all(part is None for part in others) and known.joints is joints:
            # It writes rotations alone.
            return known
        start, stored = known.start, known.stored
    else:
        start, stored = inputs.unsolved.start(chain, pose)
        check_channels(chain.plan, stored)
    is_current, home = chain.start_from is StartFrom.CURRENT, None
    if chain.plan.body_root >= 0:
        locations = inputs.unsolved.of_chain(chain, pose, "location")
        home = locations[written == chain.plan.body_root][0].astype(np.float64)
    live_chain = LiveChain(
        *chain.parts,
        start=start,
        stored=stored,
        is_settled=bool(chain.spec.stored_pose) and not (is_current or is_keyed),
        joints=joints,
        stretch=_stretch_of(chain, inputs),
        slide=_slide_of(chain, inputs),
        home=home,
    )
    return known if known is not None and known.is_like(live_chain) else live_chain


def _slide_of(chain: PlannedChain, inputs: CompileInputs) -> ChainSlide | None:
    ranges = slide_ranges(chain.plan, chain.spec)
    if ranges is None:
        return None
    home = inputs.unsolved.of_chain(chain, inputs.pose, "location")
    return chain_slide(chain, ranges, home, inputs.pose.location[chain.plan.written])


def _stretch_of(chain: PlannedChain, inputs: CompileInputs) -> ChainStretch | None:
    if inputs.stretch is None or chain.spec.is_dragged or not chain.spec.use_stretch:
        return None
    written = chain.plan.written
    return ChainStretch(
        share=inputs.stretch.share[written],
        is_locked=inputs.stretch.is_locked[written],
        scale=inputs.unsolved.of_chain(chain, inputs.pose, "scale"),
        use_keep_volume=np.array(chain.spec.use_keep_volume),
    )
