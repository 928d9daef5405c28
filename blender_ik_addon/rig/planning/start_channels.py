"""Channels of bones without chains: the starts of solves, and stored poses."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from functools import cached_property
from itertools import compress

import bpy
import numpy as np

from ...core.algebra.arithmetic import Array
from ..reading.animation import animated_paths, bone_of_path, curves, strips
from ..reading.chain_plan import ChainPlan
from ..reading.channels import (
    MODE_NAMES,
    MODE_NUMBERS,
    QUATERNION,
    Integers,
    Pose,
    converted,
    property_of_mode,
    read_pose,
)
from ..reading.skeleton import Skeleton
from ..reading.spec import ChainSpec, StartFrom, StoredBone
from .animated_pose import AnimatedPose, ChannelsName
from .order import PlannedChain
from .written_locations import find_moved_root, scaled_bones


class UnsolvedChannels:
    """The channels of bones at one frame without any chain: where chains start and end.

    Where bones have keys, the F-curves of the action are evaluated. Under NLA they are not
    everything; then the values are taken that Blender's evaluation of this frame left in the
    channels. Bones without keys have their stored channels, or the present ones.

    Attributes:
        object: The original armature object.
    """

    def __init__(
        self, armature_object: bpy.types.Object, frame: float, animated: AnimatedPose | None = None
    ) -> None:
        """Take an original object, a frame with subframe, and the pose that NLA strips give.

        The F-curves are found once, so it is valid until anything is edited.
        """
        self.object, self._frame = armature_object, frame
        self._animated = animated or AnimatedPose()

    @cached_property
    def _curves(self) -> dict[tuple[str, str], list[bpy.types.FCurve]]:
        """The F-curves of the action that are not muted, by bone and property."""
        by_channel: dict[tuple[str, str], list[bpy.types.FCurve]] = {}
        for curve in curves(self.object):
            path = bone_of_path(curve.data_path)
            if path is not None and not curve.mute:
                by_channel.setdefault(path, []).append(curve)
        return by_channel

    def start(self, chain: PlannedChain, pose: Pose) -> tuple[Array, Array]:
        """Return the rotation channels of a chain's start pose, and those of its stored pose.

        Both are as from ``of_chain``, shape (k, 4). The present pose, from which some chains start,
        is read at every solve.
        """
        stored = self.of_chain(chain, pose, "rotation")
        if chain.start_from is StartFrom.REST:
            return rest_channels(pose.modes[chain.plan.written]), stored
        return stored, stored

    def of_chain(self, chain: PlannedChain, pose: Pose, name: ChannelsName) -> Array:
        """Return channels of the bones that a chain writes, shape (k, size), as ``of_bones``."""
        stored = match_stored(chain.spec.stored_pose, chain.plan)
        return self.of_bones(chain.skeleton, pose, stored, name)

    def of_bones(
        self,
        skeleton: Skeleton,
        pose: Pose,
        stored: Mapping[int, StoredBone | None],
        name: ChannelsName,
    ) -> Array:
        """Return channels of m bones in the modes of the present pose, shape (m, size).

        ``stored`` are their stored channels, by index; None for a bone without any.
        """
        bones, names = np.array(list(stored)), [skeleton.names[bone] for bone in stored]
        modes, stored_modes = pose.modes[bones], pose.modes[bones]
        values: Array = getattr(pose, name)[bones]
        for row, bone in enumerate(stored.values()):
            if bone is not None and (stored_values := getattr(bone, name)):
                values[row], stored_modes[row] = stored_values, MODE_NUMBERS[bone.rotation_mode]
        paths = [(bone_name, str(name)) for bone_name in names]
        if name == "rotation":
            values = converted(values, stored_modes, modes)
            paths = list(zip(names, map(property_of_mode, modes.tolist()), strict=True))
        if self.object.animation_data is None:
            return values
        animated = self._animated.channels(skeleton, self._frame, name)
        return self._with_keys(paths, values, None if animated is None else animated[bones])

    def _with_keys(
        self, paths: Sequence[tuple[str, str]], channels: Array, animated: Array | None
    ) -> Array:
        """Return channels (m, size) with those of the animation where bones have keys."""
        is_keyed, values = np.zeros(channels.shape, dtype=np.bool_), np.zeros(channels.shape)
        row = {path: i for i, path in enumerate(paths)}
        for path, i in row.items():
            for curve in self._curves.get(path, ()):
                if curve.array_index < channels.shape[1]:
                    is_keyed[i, curve.array_index] = True
                    values[i, curve.array_index] = curve.evaluate(self._frame)
        if animated is not None and any(strips(self.object)):
            for data_path, component in animated_paths(self.object):
                animated_row = row.get(bone_of_path(data_path) or ("", ""))
                if animated_row is not None:
                    is_keyed[animated_row, component] = True
            values = animated
        # Ignore keys whose value is not finite.
        return np.where(is_keyed & np.isfinite(values), values, channels)


def rest_channels(modes: Integers) -> Array:
    """Return the rotation channels of bones at rest, shape (m, 4)."""
    channels = np.zeros((len(modes), 4))
    channels[modes == QUATERNION, 0] = 1.0
    # A zero axis-angle needs an axis: Blender's own default is Y.
    channels[modes < QUATERNION, 2] = 1.0
    return channels


def with_rest_channels(bone: StoredBone) -> StoredBone:
    """Return a stored bone whose stored channels are those of its rest pose."""
    rotation = rest_channels(np.array([MODE_NUMBERS[bone.rotation_mode]]))[0]
    return bone._replace(
        rotation=_numbers(rotation),
        scale=bone.scale and (1.0, 1.0, 1.0),
        location=bone.location and (0.0, 0.0, 0.0),
    )


def find_bones_at_rest(armature_object: bpy.types.Object) -> frozenset[str]:
    """Return the names of the bones whose channels are exactly those of the rest pose."""
    pose = read_pose(armature_object)
    is_at_rest = (pose.rotation == rest_channels(pose.modes)).all(axis=1)
    is_at_rest &= (pose.location == 0.0).all(axis=1) & (pose.scale == 1.0).all(axis=1)
    return frozenset(compress(armature_object.pose.bones.keys(), is_at_rest.tolist()))


def match_stored(stored: Sequence[StoredBone], plan: ChainPlan) -> dict[int, StoredBone | None]:
    """Return the stored channels of each written bone of a chain, by index."""
    by_name = {bone.name: bone for bone in stored}
    return {bone: by_name.get(plan.skeleton.names[bone]) for bone in plan.written.tolist()}


def stored_bones(
    pose: Pose, plan: ChainPlan, spec: ChainSpec, located: Container[int]
) -> tuple[StoredBone, ...]:
    """Return the present channels of a chain's written bones, to store them.

    Locations are those of the bones in ``located``; scales are stored if bones grow.
    """
    whole, grows = find_moved_root(plan, spec), scaled_bones(plan, spec)
    return tuple(
        stored_bone(
            pose,
            plan.skeleton,
            bone,
            has_scale=bone in grows,
            has_location=bone in located,
            is_dragged=bone == whole,
        )
        for bone in plan.written.tolist()
    )


def stored_bone(
    pose: Pose,
    skeleton: Skeleton,
    bone: int,
    *,
    has_scale: bool,
    has_location: bool,
    is_dragged: bool,
) -> StoredBone:
    """Return the present channels of the bone with an index: its rotation, and others if asked."""
    return StoredBone(
        name=skeleton.names[bone],
        rotation_mode=MODE_NAMES[int(pose.modes[bone])],
        rotation=_numbers(pose.rotation[bone]),
        scale=_numbers(pose.scale[bone]) if has_scale else (),
        location=_numbers(pose.location[bone]) if has_location else (),
        is_dragged=is_dragged,
    )


def completed(
    pose: Pose, plan: ChainPlan, spec: ChainSpec, located: Container[int]
) -> tuple[StoredBone, ...]:
    """Return a stored pose with the present channels of bones that have joined its chain since.

    If the chain stretches or slides since, it gets scales or locations too; it has written none
    before. The arguments are as for ``stored_bones``.
    """
    stored = spec.stored_pose
    has_all = None not in match_stored(stored, plan).values()
    if not stored or (has_all and not (located or scaled_bones(plan, spec))):
        return stored
    present = {bone.name: bone for bone in stored_bones(pose, plan, spec, located)}

    def filled(bone: StoredBone) -> StoredBone:
        now = present.pop(bone.name, bone)
        if now.scale and not bone.scale:
            bone = bone._replace(scale=now.scale)
        if now.location and not bone.location:
            bone = bone._replace(location=now.location, is_dragged=now.is_dragged)
        return bone

    return (*[filled(bone) for bone in stored], *present.values())


def _numbers(values: Array) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
