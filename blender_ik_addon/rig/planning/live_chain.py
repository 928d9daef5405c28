"""One live chain compiled: what a solve needs that stays while only targets and parents move."""

from __future__ import annotations

from dataclasses import dataclass, replace

import bpy
import numpy as np

from ...core import Solver
from ...core.algebra.arithmetic import Array
from ..reading.bone_joints import BoneJoints, read_joints
from ..reading.chain_plan import ChainPlan, planned
from ..reading.channels import Integers, Pose
from ..reading.skeleton import Skeleton
from ..reading.spec import ChainSpec
from .known_skeletons import skeleton_of
from .order import PlannedChain
from .own_joints import chain_joints
from .slide import ChainSlide
from .stretch import ChainStretch

# Scales that differ by less count as even, and lengths below this share of the chain as none.
EVEN_SCALE = 1e-6
SHORTEST_SEGMENT = 1e-9


@dataclass(frozen=True, eq=False, slots=True)
class LiveChain(PlannedChain):
    """One live chain.

    Attributes:
        start: Rotation channels that it starts from, shape (k, 4).
        stored: Rotation channels of the stored pose, shape (k, 4).
        modes: Rotation modes of the written bones, shape (k,).
        is_settled: Whether the start depends on neither keyframes nor the present pose.
        joints: Of the written bones; None where all turn freely.
        stretch: How far they may grow; None where none is to.
        slide: How far they may slide; None where none is to.
        home: Location channels of the root of its body without the body, shape (3,); None for a
            chain by itself.
        keeps_shape: Whether each bone hangs wholly on the one before it and none is scaled
            unevenly: then turning one turns all below it, and the chain can be solved in the space
            of its root bone.
    """

    start: Array
    stored: Array
    modes: Integers
    is_settled: bool
    joints: BoneJoints | None
    stretch: ChainStretch | None
    keeps_shape: bool
    slide: ChainSlide | None = None
    home: Array | None = None

    def by_itself(self) -> LiveChain:
        """Return the chain alone, whatever body it belongs to."""
        plan = self.plan.by_itself()
        count = len(plan.written)
        return replace(
            self,
            plan=plan,
            # Of a body, it starts where the body does.
            spec=replace(self.spec, start_from=self.start_from),
            start=self.start[:count],
            stored=self.stored[:count],
            modes=self.modes[:count],
            joints=None if self.joints is None else self.joints.take(np.arange(count)),
            stretch=None if self.stretch is None else self.stretch.of_first(count),
            slide=None if self.slide is None else self.slide.of_first(count),
            home=None,
        )

    @property
    def only_turns(self) -> bool:
        """Whether it is one bone that neither grows nor slides nor is dragged: none can reach."""
        spec, is_one = self.spec, len(self.plan.segments) == 1
        return is_one and self.stretch is None and self.slide is None and not spec.is_dragged


Known = ChainSpec | LiveChain
"""A chain as it was solved last, or its settings alone: then its bones and joints are read."""


def spec_of(known: Known) -> ChainSpec:
    """Return the settings of a chain."""
    return known.spec if isinstance(known, LiveChain) else known


def known_chain(
    armature_object: bpy.types.Object, known: Known
) -> tuple[Skeleton, ChainPlan, BoneJoints | None]:
    """Return the bones of a chain's armature, the original object, its own, and their joints.

    Raises:
        RigError: If the chain has no bones, or a joint of it cannot be used.
    """
    if isinstance(known, LiveChain):
        return known.skeleton, known.plan, known.joints
    skeleton = skeleton_of(armature_object)
    plan = planned(skeleton, known)
    return skeleton, plan, chain_joints(read_joints(armature_object), skeleton, plan, known)


def segments_of(
    skeleton: Skeleton, pose: Pose, plan: ChainPlan, slide: ChainSlide | None = None
) -> Array:
    """Return segments from head to next joint in the spaces of the posed bones, shape (m, 3).

    Those of bones that slide, as they are without any slide.
    """
    location = pose.location
    if slide is not None:
        location = location.copy()
        location[plan.written] = slide.home
    heads = np.zeros((len(plan.segments), 3))
    following, ends = plan.segments[1:], heads[:-1]
    if plan.ends_at_tail:
        heads[-1, 1] = skeleton.lengths[plan.tip]
    else:
        following, ends = np.append(following, plan.tip), heads
    ends[:] = skeleton.heads(following, location[following])
    return heads


def is_same(one: object, other: object) -> bool:
    """Tell whether two records of arrays, or none, say the same."""
    if one is None or other is None:
        return one is other
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in vars(one))


def keeps_shape(chain: PlannedChain, pose: Pose) -> bool:
    """Tell whether a chain without slides does nothing but turn; as in ``LiveChain``."""
    spec, written = chain.spec, chain.plan.written
    options, count = spec.options, len(chain.plan.segments)
    ends_at_tail = chain.plan.ends_at_tail
    turns_tip_of_segment = chain.plan.turns_tip and ends_at_tail and options.orient_weight > 0.0
    fits = options.solver is not Solver.TWO_BONE or count - turns_tip_of_segment == 2
    hangs_wholly = (
        chain.skeleton.takes_whole_parent[written[1:]].all()
        and chain.skeleton.has_square_rest[written[1:]].all()
    )
    # A chain that eases depends on more than its target; those that are dragged go another way.
    if spec.use_stretch or spec.goes_on or not (fits and hangs_wholly):
        return False
    scale = pose.scale[written]
    own = segments_of(chain.skeleton, pose, chain.plan) * scale[:count]
    lengths = np.sqrt(np.einsum("ij,ij->i", own, own))
    lengths[1:] *= np.cumprod(scale[: count - 1, 1])
    is_sound = np.isfinite(lengths).all() and (scale > 0.0).all()
    if not is_sound or (lengths <= SHORTEST_SEGMENT * lengths.sum()).any():
        return False
    uneven = np.ptp(scale[:-1], axis=1) > EVEN_SCALE * scale[:-1].max(axis=1)
    return not uneven.any()
