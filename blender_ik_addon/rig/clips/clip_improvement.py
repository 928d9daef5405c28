"""A played clip, improved as a whole: chains in order, those above first."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import bpy
import numpy as np

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Flags, Indices
from ...core.clips.clip import meet, turns_between
from ...core.clips.whole_clip import accelerates_more, improve
from ...core.model.message import Message
from ..frames.bone_channels import BoneChannels, rotation_channels
from ..reading.animation import continue_beyond, split_bone_path
from ..reading.channels import Channels, quaternions_of, read_pose
from ..reading.dependencies import Dependencies
from ..trees.driven import Driven
from .clip_bones import ClipBones
from .frame_records import Notes, Recorder
from .reached_goals import ReachedGoals

# Largest count of bones of a chain or tree: the time for a frame grows with its square.
MOST_BONES = 32
# Change of a rotation by ranges and locks, in radians, below which the rotation is inside them.
RANGE_TOLERANCE = 1e-4
# Largest move by a chain above of the effector of one below, which may be too short to correct it:
# half of the error that is promised for keys, in lengths of the chain below and in radians.
CARRIED_TOLERANCE = 5e-6
# Count of frames at an end of a clip that keep their poses, and so the speed of the end.
ENDS_FIXED = 2
# Largest difference of rotation channels between the ends of a loop, in radians or parts of a
# quaternion. Ten times larger would fix the ends of slow motion as well.
LOOP_TOLERANCE = 1e-4
GOES_ON = Message("it starts from its last pose")
FOLLOWED = Message("targets or poles of other chains move with its bones")
HAS_CONSTRAINTS = Message("constraints or drivers also move its bones")
HAS_OTHERS = Message("it shares bones with chains that are not baked")
HAS_MANY = Message("it has more than {most_bones} bones", most_bones=MOST_BONES)
HAS_MOVING_RANGES = Message("its limits or locks change between frames")
IS_ABOVE = Message("bones below it are baked frame by frame")
OF_BODY = Message("it belongs to a whole body")


@dataclass(eq=False)
class ClipGroup:
    """The chains that are improved together: one, or those of a tree.

    Attributes:
        why: Reason why they are baked frame by frame; None if they are not.
        jumps: Rows of frames that no path reaches without a jump.
    """

    driven: Driven
    chains: tuple[int, ...]
    is_fixed: Flags
    goals: ReachedGoals | None = None
    why: Message | None = None
    channels_before: Array = field(init=False)
    keyed: Array = field(init=False)
    local: Array = field(init=False)
    improved: Array = field(init=False)
    jumps: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def read(self, channels: Channels, start: Channels) -> None:
        """Take rotation channels (F, k, 4), and those that offsets count from."""
        modes = np.tile(self.driven.modes, len(channels))
        self.channels_before = channels.astype(np.float64)
        self.keyed, self.local = (
            quaternions_of(part.astype(np.float64).reshape(-1, 4), modes).reshape(part.shape)
            for part in (start, channels)
        )
        self.improved = self.local

    def exclude(self, why: Message) -> None:
        """Keep the group as it was solved frame by frame, for a reason."""
        self.why, self.is_fixed = self.why or why, np.ones_like(self.is_fixed)


class BakedClip:
    """The chosen chains of one armature object in the frames that were played."""

    def __init__(self, recorder: Recorder, notes: Notes) -> None:
        """Take the recorder of the chains, and its records or those of another one."""
        self._skeleton, self._bones, self._notes = recorder.skeleton, recorder.bones, notes
        self._pose = read_pose(recorder.object)
        self._clip_bones = self._new_clip_bones()
        self._groups = self._find_groups(tuple(recorder.chains), recorder.driven)
        self._exclude_groups(recorder)

    def improve(self, smoothness: float) -> Generator[None, None, None]:
        """Remove jumps and shaking that no goal demands; each step improves one chain."""
        # The last attempt but one fixes all frames, so the last one moves nothing above.
        for attempt in range(len(self._notes.channels).bit_length() + 2):
            self._fix_above()
            is_needed = yield from self._improve_all(smoothness, 2**attempt)
            if not is_needed:
                break

    def channels(self) -> Array:
        """Return the rotation channels of the recorded bones, shape (F, N, 4)."""
        channels = self._notes.channels.astype(np.float64)
        for group in self._groups:
            if group.goals is None:
                continue
            rows = self._clip_bones.rows(group.driven.bones)
            is_moved = (group.improved != group.local).any(axis=(1, 2))
            new = rotation_channels(group.improved, group.channels_before, group.driven.modes)
            channels[:, rows] = np.where(is_moved[:, None, None], new, channels[:, rows])
        return channels

    def find(self, chain: int) -> ClipGroup | None:
        """Return the group of a chain; None for one that was never solved."""
        return next((group for group in self._groups if chain in group.chains), None)

    def _new_clip_bones(self) -> ClipBones:
        modes = self._pose.modes[self._bones]
        return ClipBones(self._skeleton, self._bones, modes, self._notes)

    def _find_groups(self, chains: Sequence[int], driven: Mapping[int, Driven]) -> list[ClipGroup]:
        """Return the chains and trees, those above first."""
        groups: list[ClipGroup] = []
        unique = {id(chain): chain for chain in driven.values()}
        for group_driven in unique.values():
            indices = {chain.index for chain in group_driven.live_chains}
            members = tuple(index for index in chains if index in indices)
            columns = [chains.index(index) for index in members]
            is_fixed = ~self._notes.is_movable[:, columns].all(axis=1)
            groups.append(ClipGroup(group_driven, members, is_fixed))
            if group_driven.hanging.floats:
                # A clip meets its goals by turns alone, and a body also moves its root.
                groups[-1].exclude(OF_BODY)
            if len(members) < len(indices):
                groups[-1].exclude(HAS_OTHERS)
        ancestors = self._skeleton.ancestors
        return sorted(groups, key=lambda group: len(ancestors(int(group.driven.bones[0]))))

    def _fix_ends(self, group: ClipGroup, armature_object: bpy.types.Object) -> None:
        """Fix the ends of loops, and those beyond which bones of a group are animated.

        So one round continues the other, and the animation beyond continues the clip.
        """
        bones = {self._skeleton.names[bone] for bone in group.driven.bones}
        before, after = continue_beyond(
            [armature_object],
            lambda path: split_bone_path(path)[0] in bones,
            self._notes.frames[0],
            self._notes.frames[-1],
        )
        difference = group.channels_before[-1] - group.channels_before[0]
        is_loop = bool(np.abs(difference).max() < LOOP_TOLERANCE)
        group.is_fixed[:ENDS_FIXED] |= before or is_loop
        group.is_fixed[-ENDS_FIXED:] |= after or is_loop

    def _exclude_groups(self, recorder: Recorder) -> None:
        """Exclude groups that cannot be improved, and find the goals of the rest."""
        followed, names = Dependencies(), self._skeleton.names
        for spec in recorder.chains.values():
            followed.add_anchors(spec.target, spec.pole)
        for group in self._groups:
            driven = group.driven
            if any(spec.depends_on_time for spec in driven.specs):
                group.exclude(GOES_ON)
            elif len(driven.bones) > MOST_BONES:
                group.exclude(HAS_MANY)
            elif followed.has_any(recorder.object, [names[bone] for bone in driven.bones]):
                group.exclude(FOLLOWED)
            if not group.why:
                self._find_goals(group)
                self._fix_ends(group, recorder.object)

    def _find_goals(self, group: ClipGroup) -> None:
        driven, pose, rows = group.driven, self._pose, self._clip_bones.rows(group.driven.bones)
        group.read(self._notes.channels[:, rows], self._notes.start[:, rows])
        locked, count = None, len(group.channels_before)
        if pose.locks[driven.bones].any():
            locked = BoneChannels(
                driven.modes,
                stored=group.channels_before,
                influence=np.ones((count, len(rows))),
                locks=np.tile(pose.locks[driven.bones], (count, 1, 1)),
                uses_4d_locks=np.tile(pose.uses_4d_locks[driven.bones], (count, 1)),
                joints=None,
                spread=None,
            )
        frames = self._clip_bones.frame_chain(driven)
        goals = ReachedGoals.of(driven, frames, group.local, locked)
        poses = frames.posed(rotation.matrix_from_quaternion(group.local))
        if not self._clip_bones.has_channel_pose(driven, poses.matrices):
            group.exclude(HAS_CONSTRAINTS)
        elif np.abs(turns_between(goals.hold(group.local), group.local)).max() > RANGE_TOLERANCE:
            group.exclude(HAS_MOVING_RANGES)
        else:
            group.goals = goals

    def _find_below(self, group: ClipGroup) -> list[ClipGroup]:
        """Return the groups whose roots are below bones of a group."""
        members = set(group.driven.bones.tolist())
        return [
            other
            for other in self._groups
            if other is not group
            and not members.isdisjoint(self._skeleton.ancestors(int(other.driven.bones[0]))[1:])
        ]

    def _fix_above(self) -> None:
        """Fix the frames of groups that groups below need to be fixed."""
        for group in reversed(self._groups):
            for other in self._find_below(group):
                if other.why:
                    group.exclude(IS_ABOVE)
                group.is_fixed = group.is_fixed | other.is_fixed

    def _improve_all(self, smoothness: float, width: int) -> Generator[None, None, bool]:
        """Improve all groups; return whether any misses its goals because of groups above it.

        Groups above it are fixed in these frames and ``width`` - 1 frames around them, so that few
        attempts are enough.
        """
        self._clip_bones, is_needed = self._new_clip_bones(), False
        for group in self._groups:
            is_needed_at = self._improve_group(group, smoothness)
            yield
            if not is_needed_at.any():
                continue
            is_needed = True
            around = np.ones(min(2 * width - 1, len(is_needed_at)))
            is_needed_at = np.convolve(is_needed_at, around, "same") > 0.5
            for other in self._groups:
                if group in self._find_below(other):
                    other.is_fixed = other.is_fixed | is_needed_at
        return is_needed

    def _improve_group(self, group: ClipGroup, smoothness: float) -> Flags:
        """Improve a group; return the frames in which groups above it must keep their poses."""
        driven, is_missed = group.driven, np.zeros_like(group.is_fixed)
        if group.goals is None:
            return is_missed
        if not self._clip_bones.carry(int(driven.bones[0])):
            return ~is_missed
        frames = self._clip_bones.frame_chain(driven)
        goals, start = replace(group.goals, frames=frames), group.local
        misses = np.abs(goals.measure(start)[0]).max(axis=1)
        rows = np.flatnonzero((misses > CARRIED_TOLERANCE) & ~group.is_fixed)
        is_above_moved = bool(rows.size)
        if is_above_moved:
            start, is_met = start.copy(), is_missed.copy()
            start[rows], is_met[rows] = meet(goals.take(rows), start[rows])
            is_missed[rows] = ~is_met[rows]
        result = improve(goals, group.keyed, start, group.is_fixed | is_missed, smoothness)
        group.improved, group.jumps = result.local, result.jumps
        if is_above_moved and accelerates_more(result.local, group.local):
            is_missed[:] = True
        if (result.local != group.local).any():
            poses = frames.posed(rotation.matrix_from_quaternion(result.local))
            self._clip_bones.replace_pose(driven, poses.matrices, result.is_moved)
        return is_missed
