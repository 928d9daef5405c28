"""A played clip bettered as a whole: chains in order, those above first."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import bpy
import numpy as np

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Flags, Indices
from ...core.clips.clip import meet, turns_between
from ...core.clips.whole_clip import accelerates_more, better
from ..frames.bone_channels import BoneChannels, rotation_channels
from ..reading.channels import Channels, quaternions_of, read_pose
from ..reading.dependencies import Dependencies
from ..reading.spec import ChainSpec
from ..trees.driven import Driven
from .hung import HungBones
from .notes import Notes, Recorder
from .reached_goals import ReachedGoals

# The most bones of a chain or tree: what a frame takes grows with their square.
MOST_BONES = 32
# Rotations that ranges and locks change by less, in radians, are inside.
INSIDE = 1e-4
# What a chain above may move the effector of one below by, which may be too short to make it good:
# half of what is promised of keys, in lengths of the chain below and in radians.
CARRIED = 5e-6
GOES_ON = "it goes on from its last pose"
FOLLOWED = "what other chains follow hangs on its bones"
IS_TIED = "constraints or drivers move its bones as well"
HAS_OTHERS = "other chains, which are not baked, share its bones"
HAS_MANY = f"it has more than {MOST_BONES} bones"
NOT_INSIDE = "its limits or locks are not the same at all frames"
IS_ABOVE = "bones below it are baked so"
OF_BODY = "it belongs to a whole body"


@dataclass(eq=False)
class _Group:
    """What is bettered together: a chain, or a tree."""

    driven: Driven
    chains: tuple[int, ...]
    is_fixed: Flags
    goals: ReachedGoals | None = None
    why: str = ""
    near: Array = field(init=False)
    keyed: Array = field(init=False)
    local: Array = field(init=False)
    found: Array = field(init=False)
    jumps: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def read(self, channels: Channels, start: Channels) -> None:
        """Read rotation channels (F, k, 4), and those that offsets count from."""
        modes = np.tile(self.driven.modes, len(channels))
        self.near = channels.astype(np.float64)
        self.keyed, self.local = (
            quaternions_of(part.astype(np.float64).reshape(-1, 4), modes).reshape(part.shape)
            for part in (start, channels)
        )
        self.found = self.local

    def leave(self, why: str) -> None:
        """Leave it as it was solved frame by frame."""
        self.why, self.is_fixed = self.why or why, np.ones_like(self.is_fixed)


class Clip:
    """The chosen chains of one armature object in the frames that were played."""

    def __init__(
        self,
        armature_object: bpy.types.Object,
        chains: Mapping[int, ChainSpec],
        recorder: Recorder,
        notes: Notes,
    ) -> None:
        """Take the original object, the settings of its chains, and what was noted of them."""
        self._skeleton, self._bones, self._notes = recorder.skeleton, recorder.bones, notes
        self._pose = read_pose(armature_object)
        self._modes = self._pose.modes[self._bones]
        self._hung = self._new_hung()
        self._groups = self._find_groups(tuple(chains), recorder.driven)
        self._leave_some(armature_object, chains)

    def better(self, smoothness: float) -> Generator[None, None, None]:
        """Take jumps and shaking away that no goal asks for; a chain a step."""
        # The last try but one fixes all frames, so the last one moves nothing above.
        for number in range(len(self._notes.channels).bit_length() + 2):
            self._fix_above()
            is_needed = yield from self._try(smoothness, 2**number)
            if not is_needed:
                break

    def channels(self) -> Array:
        """Return the rotation channels of the noted bones, shape (F, N, 4)."""
        channels = self._notes.channels.astype(np.float64)
        for group in self._groups:
            if group.goals is None:
                continue
            rows = self._hung.rows(group.driven.bones)
            is_moved = (group.found != group.local).any(axis=(1, 2))
            new = rotation_channels(group.found, group.near, group.driven.modes)
            channels[:, rows] = np.where(is_moved[:, None, None], new, channels[:, rows])
        return channels

    def jumps(self) -> dict[int, Indices]:
        """Return the rows of frames that no path leads to without a jump, by chain."""
        return {chain: group.jumps for group in self._groups for chain in group.chains}

    def left(self) -> dict[int, str]:
        """Return which chains are baked frame by frame, and why."""
        return {chain: group.why for group in self._groups for chain in group.chains if group.why}

    def _new_hung(self) -> HungBones:
        return HungBones(self._skeleton, self._bones, self._modes, self._notes)

    def _find_groups(self, chains: Sequence[int], driven: Mapping[int, Driven]) -> list[_Group]:
        """Return the chains and trees, those above first."""
        found: list[_Group] = []
        unique = {id(each): each for each in driven.values()}
        for own in unique.values():
            meant = {each.index for each in own.live_chains}
            members = tuple(index for index in chains if index in meant)
            columns = [chains.index(index) for index in members]
            is_fixed = ~self._notes.is_movable[:, columns].all(axis=1)
            found.append(_Group(own, members, is_fixed))
            if own.hanging.floats:
                # Goals of clips are met by turns alone, and a body also moves its root.
                found[-1].leave(OF_BODY)
            if len(members) < len(meant):
                found[-1].leave(HAS_OTHERS)
        return sorted(found, key=lambda group: self._depth(group.driven))

    def _depth(self, driven: Driven) -> int:
        return len(self._skeleton.ancestors(int(driven.bones[0])))

    def _leave_some(
        self, armature_object: bpy.types.Object, chains: Mapping[int, ChainSpec]
    ) -> None:
        """Leave what cannot be bettered as it is, and find the goals of the rest."""
        followed = Dependencies()
        for spec in chains.values():
            for anchor in (spec.target, spec.pole):
                if anchor is not None:
                    followed.add_anchor(anchor)
        names, uid = self._skeleton.names, armature_object.session_uid
        for group in self._groups:
            driven = group.driven
            if any(spec.goes_on for spec in driven.specs):
                group.leave(GOES_ON)
            elif len(driven.bones) > MOST_BONES:
                group.leave(HAS_MANY)
            elif any((uid, names[bone]) in followed.points for bone in driven.bones.tolist()):
                group.leave(FOLLOWED)
            if not group.why:
                self._find_goals(group)

    def _find_goals(self, group: _Group) -> None:
        driven, pose, rows = group.driven, self._pose, self._hung.rows(group.driven.bones)
        group.read(self._notes.channels[:, rows], self._notes.start[:, rows])
        locked, count = None, len(group.near)
        if pose.locks[driven.bones].any():
            locked = BoneChannels(
                driven.modes,
                stored=group.near,
                influence=np.ones((count, len(rows))),
                locks=np.tile(pose.locks[driven.bones], (count, 1, 1)),
                uses_4d_locks=np.tile(pose.uses_4d_locks[driven.bones], (count, 1)),
                joints=None,
                spread=None,
            )
        frames = self._hung.framed(driven)
        goals = ReachedGoals.of(driven, frames, group.local, locked)
        poses = frames.posed(rotation.matrix_from_quaternion(group.local))
        if not self._hung.stands_as_keyed(driven, poses.matrices):
            group.leave(IS_TIED)
        elif np.abs(turns_between(goals.hold(group.local), group.local)).max() > INSIDE:
            group.leave(NOT_INSIDE)
        else:
            group.goals = goals

    def _below(self, group: _Group) -> list[_Group]:
        """Return the groups that hang under bones of a group."""
        own = set(group.driven.bones.tolist())
        return [
            other
            for other in self._groups
            if other is not group
            and not own.isdisjoint(self._skeleton.ancestors(int(other.driven.bones[0]))[1:])
        ]

    def _fix_above(self) -> None:
        """Have groups stand where those below them need them to."""
        for group in reversed(self._groups):
            for other in self._below(group):
                if other.why:
                    group.leave(IS_ABOVE)
                group.is_fixed = group.is_fixed | other.is_fixed

    def _try(self, smoothness: float, width: int) -> Generator[None, None, bool]:
        """Better all groups; tell whether any cannot do with what the ones above it do.

        Those above are fixed where it needs them to be, and so many frames less one around: fewer
        tries than frames are left.
        """
        self._hung, is_needed = self._new_hung(), False
        for group in self._groups:
            needs = self._better(group, smoothness)
            yield
            if not needs.any():
                continue
            is_needed = True
            around = np.ones(min(2 * width - 1, len(needs)))
            needs = np.convolve(needs, around, "same") > 0.5
            for other in self._groups:
                if group in self._below(other):
                    other.is_fixed = other.is_fixed | needs
        return is_needed

    def _better(self, group: _Group, smoothness: float) -> Flags:
        """Better a group; return at which frames it needs those above to stand where they did."""
        driven, none = group.driven, np.zeros_like(group.is_fixed)
        if group.goals is None:
            return none
        if not self._hung.carry(int(driven.bones[0])):
            return ~none
        frames = self._hung.framed(driven)
        goals, start = replace(group.goals, frames=frames), group.local
        misses = np.abs(goals.measure(start)[0]).max(axis=1)
        rows = np.flatnonzero((misses > CARRIED) & ~group.is_fixed)
        is_above_moved = bool(rows.size)
        if is_above_moved:
            start, is_met = start.copy(), none.copy()
            start[rows], is_met[rows] = meet(goals.take(rows), start[rows])
            none[rows] = ~is_met[rows]
        found = better(goals, group.keyed, start, group.is_fixed | none, smoothness)
        group.found, group.jumps = found.local, found.jumps
        if is_above_moved and accelerates_more(found.local, group.local):
            none[:] = True
        if (found.local != group.local).any():
            poses = frames.posed(rotation.matrix_from_quaternion(found.local))
            self._hung.move(driven, poses.matrices, found.is_moved)
        return none
