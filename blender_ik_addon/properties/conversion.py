"""Conversion of IK constraints to chains and back. A source is removed once its result exists."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import bpy
import numpy as np

from ..core import IKError
from ..core.algebra.arithmetic import Array
from ..core.model.message import Message, joined
from ..rig.keying.keyed_frames import frames_of, visit_frames
from ..rig.keying.renumbering import Renumbering, indices_without, is_animated
from ..rig.keying.setting_moves import SettingMove
from ..rig.planning.checks import check_channels, check_pose
from ..rig.planning.known_skeletons import skeleton_of
from ..rig.planning.order import PlannedChain
from ..rig.planning.start_channels import UnsolvedChannels
from ..rig.reading.animation import animated_bones
from ..rig.reading.chain_plan import ChainPlan, check, plan_chain, plan_or_none, shown_joints
from ..rig.reading.channels import read_pose
from ..rig.reading.refusals import RigError, listed
from ..rig.reading.spec import ChainSpec
from ..rig.reading.world import uids_in
from ..rig.tools import converting, pole_angles
from ..rig.tools.lengths import length_unit
from ..rig.tools.overrides import has_linked
from .chain_lists import add_chain, remove_chain
from .chains import ANCHORS, ChainGroup, body_of, chains_of, copy_settings, free_name, owner_of
from .records import bones_of_chain, chain_spec, drivers_of
from .stored import store

SourceKey = tuple[Any, ...]
"""The names of a constraint's bone and of the constraint, or the index of a chain."""


@dataclass
class Conversion:
    """The result of converting an armature's constraints or chains.

    Attributes:
        count: Number of converted constraints or chains.
        problems: One sentence for each source that could not be converted.
        remarks: One sentence for each thing that differs from before.
        readers: Names of data with drivers that read removed constraints or chains.
        unlocked: Names of bones whose rotations were locked.
        actions_left: Names of actions with keys that were not converted.
        rekeyed: Names of chains that keys of constraints which the library removed now animate.
    """

    count: int = 0
    problems: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    readers: set[str] = field(default_factory=set)
    unlocked: set[str] = field(default_factory=set)
    actions_left: set[str] = field(default_factory=set)
    rekeyed: list[str] = field(default_factory=list)

    def note_problem(self, whose: str, error: IKError) -> None:
        """Add the sentence of a source that could not be converted."""
        self.problems.append(Message("{whose}: {error}", whose=whose, error=error.message))


class _UnchangedRig:
    """The state of an armature object before the conversion.

    While chains are live, this includes the positions of the joints at the present frame and at all
    frames with keys of anything that moves them.
    """

    def __init__(
        self,
        depsgraph: bpy.types.Depsgraph,
        armature_object: bpy.types.Object,
        specs: Mapping[SourceKey, ChainSpec],
    ) -> None:
        assert depsgraph.scene is not None
        self.depsgraph, self.owner, self.scene = depsgraph, armature_object, depsgraph.scene
        self.skeleton = skeleton_of(armature_object)
        plans = {key: plan_or_none(self.skeleton, spec) for key, spec in specs.items()}
        self._plans = {key: plan for key, plan in plans.items() if plan is not None}
        bones = {self.skeleton.names[i] for plan in self._plans.values() for i in plan.segments}
        self._key_frames = frames_of(self.scene, armature_object, specs.values(), bones)
        self._joints_before = self._all_joints() if self.scene.chain_ik.use_live else None
        self.evaluated = armature_object.evaluated_get(depsgraph)
        self.pose = read_pose(self.evaluated)
        self.present = uids_in(self.scene)
        self.animated = animated_bones(armature_object)

    def _all_joints(self) -> dict[SourceKey, Array]:
        """Return the joints by key at the f frames, world space, shape (f, m + 1, 3) each."""
        poses = [
            self._joints(),
            *(self._joints() for _ in visit_frames(self.scene, self._key_frames)),
        ]
        self.depsgraph.update()
        return {key: np.array([joints[key] for joints in poses]) for key in self._plans}

    def _joints(self) -> dict[SourceKey, Array]:
        evaluated = self.owner.evaluated_get(self.depsgraph)
        return {key: shown_joints(evaluated, plan) for key, plan in self._plans.items()}

    def changes(self, names: Mapping[SourceKey, str]) -> list[str]:
        """Return a sentence for each chain that has moved, the one that has moved farthest last."""
        before = self._joints_before
        if not names or before is None:
            return []
        frames, after = [self.scene.frame_current_final, *self._key_frames], self._all_joints()
        moves: list[tuple[float, str]] = []
        for key, name in names.items():
            gaps = np.linalg.norm(after[key] - before[key], axis=2)
            length = float(np.linalg.norm(np.diff(before[key][0], axis=0), axis=1).sum())
            change = converting.change_in_words(gaps, length, frames, length_unit(self.scene))
            if change:
                sentence = Message("Chain '{name}' {change}", name=name, change=change)
                moves.append((float(np.max(gaps)), sentence))
        return [sentence for _, sentence in sorted(moves)]

    def chain(self, spec: ChainSpec, index: int) -> PlannedChain:
        """Return a planned chain, which can follow its targets.

        Raises:
            IKError: If it cannot follow them.
        """
        plan = plan_chain(self.skeleton, spec)
        moved_by = check(self.owner, plan, spec, self.present)
        check_pose(self.owner, self.pose, plan)
        check_channels(plan, self.pose.rotation[plan.written])
        return PlannedChain(self.owner, index, spec, plan, moved_by)

    def root_axes(self, chain: PlannedChain) -> Array:
        """Return the axes of the root bone relative to the bend of the pose without any chain."""
        unsolved = UnsolvedChannels(self.owner, self.scene.frame_current_final)
        return pole_angles.root_axes(chain, self.pose, unsolved.start(chain, self.pose)[1])

    def keeps_shown_pose(
        self, spec: ChainSpec, plan: ChainPlan, settings: Any, moving: SettingMove
    ) -> bool:
        """Tell whether the shown pose has to become the pose to start from.

        Without a pole, only the start pose decides where two bones bend, and constraint and chain
        do not bend them in the same way.
        """
        is_whole = (
            not settings.mute
            and settings.influence == 1.0
            and not converting.can_grow(self.owner, plan)
        )
        names = set(plan.names)
        fades = any(map(moving.animates, ("influence", "mute", "enabled")))
        is_still = names.isdisjoint(self.animated) and not fades
        return len(plan.segments) <= 2 and not spec.has_side and is_whole and is_still


def to_chains(
    depsgraph: bpy.types.Depsgraph,
    armature_object: bpy.types.Object,
    bones: Collection[str] | None = None,
) -> Conversion:
    """Convert the IK constraints of bones to chains; constraints without a counterpart stay.

    The graph is that of the view layer, and is evaluated again. Without names of bones all are
    converted.

    Raises:
        RigError: If nothing can be converted; the text says what to do first.
    """
    converting.check_solver(armature_object)
    sources: dict[SourceKey, str] = {
        (bone.name, constraint.name): Message(
            "Constraint '{name}' of '{name2}'", name=constraint.name, name2=bone.name
        )
        for bone in armature_object.pose.bones
        if bones is None or bone.name in bones
        for constraint in converting.ik_constraints(bone)
    }
    skeleton, bones_of = skeleton_of(armature_object), armature_object.pose.bones

    def spec_of(bone: str, name: str) -> ChainSpec:
        return converting.spec_of_constraint(skeleton, bone, bones_of[bone].constraints[name])

    conversion = _convert_all(depsgraph, armature_object, sources, spec_of, _to_chain)
    if armature_object.override_library is not None:
        _move_keys_from_library(conversion, armature_object, bones)
    if conversion.count and not depsgraph.scene.chain_ik.use_live:
        conversion.remarks.append("Live is off, so chains stand still: switch it on.")
    return conversion


def to_constraints(
    depsgraph: bpy.types.Depsgraph,
    armature_object: bpy.types.Object,
    indices: Iterable[int] | None = None,
) -> Conversion:
    """Convert chains to IK constraints; chains without a counterpart stay.

    The graph is as for ``to_chains``. Without indices all chains are converted.

    Raises:
        RigError: If nothing can be converted; the text says what to do first.
    """
    converting.check_solver(armature_object)
    chains = armature_object.chain_ik.chains
    # From the last one on: when a chain is removed, those after it get other indices.
    sources: dict[SourceKey, str] = {
        (index,): Message("Chain '{name}'", name=chains[index].name)
        for index in sorted(range(len(chains)) if indices is None else indices, reverse=True)
    }
    return _convert_all(
        depsgraph, armature_object, sources, lambda index: chain_spec(chains[index]), _to_constraint
    )


def _convert_all(
    depsgraph: bpy.types.Depsgraph,
    armature_object: bpy.types.Object,
    sources: Mapping[SourceKey, str],
    spec_of: Callable[..., ChainSpec],
    convert: Callable[..., str],
) -> Conversion:
    """Convert sources one after the other, and compare the joints before and afterwards.

    The sources are by key, with a description of each for messages. ``spec_of`` returns the
    settings of a source, ``convert`` converts it and returns the name of its chain; both may raise
    an ``IKError``. The graph is that of the view layer, and is evaluated again.
    """
    conversion, count = Conversion(), len(chains_of(armature_object))
    specs = {}
    for key in sources:
        with suppress(IKError):
            specs[key] = spec_of(*key)
    rig, names = _UnchangedRig(depsgraph, armature_object, specs), {}
    for key, whose in sources.items():
        try:
            names[key] = convert(rig, conversion, *key)
        except IKError as error:
            conversion.note_problem(whose, error)
    conversion.count = len(names)
    if conversion.unlocked:
        bones = converting.bones_in_words(len(conversion.unlocked))
        text = "Unlocked the rotation of {bones}, because chains do not turn locked bones."
        conversion.remarks.append(Message(text, bones=bones))
    if conversion.actions_left:
        left = listed([f"'{name}'" for name in sorted(conversion.actions_left)])
        text = (
            "Actions that the armature does not use were not converted: {names}. Undo this, add"
            " them to muted NLA tracks, and convert again."
        )
        conversion.remarks.append(Message(text, names=left))
    for settings in chains_of(armature_object)[count:]:
        # New chains that share bones need a solver that can share them.
        drivers = drivers_of(armature_object, bones_of_chain(settings))
        if any(other != settings and not other.mute for other, _ in drivers):
            settings.solver = "NEWTON"
    if names:
        armature_object.update_tag()
        depsgraph.update()
    conversion.remarks += rig.changes(names)
    return conversion


def _to_chain(rig: _UnchangedRig, conversion: Conversion, bone: str, name: str) -> str:
    """Convert one constraint, or raise an ``IKError`` and change nothing; return the chain."""
    owner = rig.owner
    constraint = owner.pose.bones[bone].constraints[name]
    converting.check_constraint(owner.pose.bones[bone], constraint)
    spec = converting.spec_of_constraint(rig.skeleton, bone, constraint)
    index = len(owner.chain_ik.chains)
    chain = rig.chain(spec, index)
    plan = chain.plan
    locked: list[Any] = converting.padlocked_bones(owner, plan, rig.pose)
    moving = converting.moving_to_chain(owner, bone, name, index)
    angle_change = pole_angles.UNCHANGED
    if spec.pole is not None:
        angle_of = partial(pole_angles.angle_of_chain, rig.root_axes(chain))
        angle_change = pole_angles.change_of(angle_of, spec.pole_angle)
    for locked_bone in locked:
        locked_bone.lock_rotation, locked_bone.lock_rotation_w = (False, False, False), False
    conversion.unlocked.update([locked_bone.name for locked_bone in locked])
    if rig.keeps_shown_pose(spec, plan, constraint, moving):
        converting.write_evaluated_pose(owner, rig.evaluated, rig.pose, plan)
    bending = len(plan.segments) - plan.bends_without_tip
    solver = "TWO_BONE" if bending == 2 else "NEWTON"
    settings = add_chain(owner, spec, bending, solver=solver)
    copy_settings(constraint, settings, converting.SHARED_SETTINGS)
    settings.use_stretch = constraint.use_stretch and converting.can_grow(owner, plan)
    settings.pole_angle = math.remainder(angle_change.of_key(spec.pole_angle), math.tau)
    if not settings.mute:
        store(settings)
    name_of_chain: str = settings.name
    _report_lost(
        conversion, name_of_chain, Message("a chain"), converting.lost_of_constraint(constraint)
    )
    if is_animated(owner, index):
        conversion.remarks.append(
            Message(
                "Keys or drivers of a removed chain animate chain '{name_of_chain}': delete those"
                " that are not meant for it.",
                name_of_chain=name_of_chain,
            )
        )
    conversion.actions_left.update(moving.actions_left())
    conversion.readers.update(moving.carry_out({"pole_angle": angle_change}))
    constraints = owner.pose.bones[bone].constraints
    constraints.remove(constraints[name])
    return name_of_chain


def _move_keys_from_library(
    conversion: Conversion, owner: bpy.types.Object, bones: Collection[str] | None
) -> None:
    """Move keys of constraints that the library of an override has replaced by chains."""
    for index, settings in enumerate(chains_of(owner)):
        try:
            moving = converting.moving_from_library(owner, index, bones)
        except IKError as error:
            conversion.note_problem(Message("Chain '{name}'", name=settings.name), error)
            continue
        if any(map(moving.animates, ("influence", "mute", "enabled", "weight", "orient_weight"))):
            conversion.rekeyed.append(settings.name)
        moving.carry_out()


def _to_constraint(rig: _UnchangedRig, conversion: Conversion, index: int) -> str:
    """Convert one chain, or raise an ``IKError`` and change nothing; return its name."""
    owner, chains = rig.owner, rig.owner.chain_ik.chains
    if has_linked(owner, chains, [index]):
        raise RigError("This chain comes from a library: convert it there.")
    # This raises if keys cannot follow.
    Renumbering(owner, indices_without(len(chains), index))
    settings = chains[index]
    spec = chain_spec(settings)
    chain = rig.chain(spec, index)
    plan = chain.plan
    converting.check_chain(plan, spec, owner.pose.bones)
    _check_carries_no_body(settings, plan)
    bone = owner.pose.bones[spec.bone]
    name = converting.name_of_constraint(spec.name, spec.bone)
    name = free_name(bone.constraints.keys(), name)
    moving = converting.moving_to_constraint(owner, index, bone.name, name)
    angle_change = pole_angles.UNCHANGED
    if spec.pole is not None:
        flips = settings.use_flip_bend
        angle_of = partial(pole_angles.angle_of_constraint, rig.root_axes(chain), flips=flips)
        angle_change = pole_angles.change_of(angle_of, settings.pole_angle)
    angle_change = pole_angles.in_range(angle_change, moving.values("pole_angle"))
    keep_pose = rig.keeps_shown_pose(spec, plan, settings, moving)
    constraint = bone.constraints.new("IK")
    constraint.name = name
    constraint.mute = settings.mute
    converting.take_settings(constraint, chain, angle_change.of_key(settings.pole_angle))
    for setting in (name for anchor in ANCHORS for name in anchor):
        # Reading a pointer that was never set makes Blender store an empty one.
        if settings.is_property_set(setting):
            setattr(constraint, setting, getattr(settings, setting))
    _report_lost(
        conversion, spec.name, Message("the constraint"), converting.lost_of_chain(settings)
    )
    conversion.actions_left.update(moving.actions_left())
    conversion.readers.update(moving.carry_out({"pole_angle": angle_change}))
    conversion.readers.update(remove_chain(chains[index], keep_pose=keep_pose))
    return spec.name


def _check_carries_no_body(settings: ChainGroup, plan: ChainPlan) -> None:
    """Raise a ``RigError`` if a constraint would move bones that carry other chains of a body."""
    owner = owner_of(settings)
    if settings.mute or body_of(owner) is None:
        return
    driven, index = set(plan.segments), plan.skeleton.index
    for other in chains_of(owner):
        first = next(iter(bones_of_chain(other)), "")
        is_below = first in index and not driven.isdisjoint(plan.skeleton.ancestors(index[first]))
        if other != settings and not other.mute and is_below:
            raise RigError(
                "A constraint would stop other chains of the whole body below these bones: switch"
                " Whole Body off first."
            )


def _report_lost(conversion: Conversion, name: str, who: str, lost: Sequence[str]) -> None:
    if lost:
        missing = joined(", ", [Message("no {label}", label=Message(label)) for label in lost])
        end = Message("it was dropped" if len(lost) == 1 else "they were dropped")
        values = {"name": name, "who": who, "missing": missing, "end": end}
        conversion.remarks.append(Message("Chain '{name}': {who} has {missing}; {end}.", **values))
