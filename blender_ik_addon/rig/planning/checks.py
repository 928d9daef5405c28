"""Checks of values from Blender: whatever is not finite stops only its own chain.

Blender stores NaN in any float, and its evaluation spreads it to everything below.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import bpy
import numpy as np

from ...core import InvalidChainError
from ...core.algebra.arithmetic import Array
from ...core.model.message import Message
from ..reading.chain_plan import ChainPlan
from ..reading.channels import Pose
from ..reading.refusals import RigError, scaled_flat
from ..reading.world import LARGEST, is_sound
from .live_chain import SHORTEST_SEGMENT

# Minimum ratio of the shortest to the longest axis of what controls follow: a flatter matrix holds
# no places, and no rest matrix puts a child where it belongs.
MIN_SIDES_RATIO = 1e-6


def check_settings(
    group: bpy.types.PropertyGroup, names: Sequence[str] = (), whose: str = ""
) -> None:
    """Raise a ``RigError`` that names the setting if a number among settings is not finite.

    Without names all floats of the group are checked. ``whose`` is its owner, as "the joint of
    'Knee'".
    """
    kind: Any = type(group)
    names = names or _float_names(kind)
    # A sum is finite if all are. Ranges of properties do not stop NaN.
    if math.isfinite(sum([getattr(group, name) for name in names])):
        return
    name = next(name for name in names if not math.isfinite(getattr(group, name)))
    label = Message(group.bl_rna.properties[name].name)
    if whose:
        raise RigError(
            "The setting '{label}' of {whose} is not a number: enter a new value, or correct its"
            " keyframes and driver.",
            label=label,
            whose=whose,
        )
    raise RigError(
        "The setting '{label}' is not a number: enter a new value, or correct its keyframes and"
        " driver.",
        label=label,
    )


@cache
def _float_names(kind: Any) -> tuple[str, ...]:
    """Return the names of the floats that can be set in a class of settings."""
    properties = kind.bl_rna.properties
    return tuple(
        [prop.identifier for prop in properties if prop.type == "FLOAT" and not prop.is_readonly]
    )


def is_pose_sound(pose: Pose) -> bool:
    """Return whether all matrices, locations and scales of a pose are sound, except rotations."""
    return all(is_sound(part) for part in (pose.world, pose.matrices, pose.location, pose.scale))


def check_pose(armature_object: bpy.types.Object, pose: Pose, plan: ChainPlan) -> None:
    """Raise a ``RigError`` if the pose in which a chain is solved is not sound.

    The rotations of the chain itself are not checked.
    """
    skeleton = plan.skeleton
    _check_world(armature_object, pose.world)
    root = plan.root
    above = int(skeleton.parents[root])
    is_carried = above < 0 or is_sound(pose.matrices[above])
    if not (is_carried and is_sound(pose.matrices[root, :3, 3])):
        upward = skeleton.ancestors(root)
        unsound = [bone for bone in upward if not is_sound(pose.matrices[bone])]
        raise bone_not_finite(skeleton.names[(unsound or upward)[-1]])
    written = plan.written
    channels = np.hstack((pose.location[written], pose.scale[written]))
    check_channels(plan, channels)


def _check_world(armature_object: bpy.types.Object, world: Array) -> None:
    if not is_sound(world):
        raise RigError(
            "The transform of armature '{name}' is not finite or too large: check its location,"
            " rotation, scale, parents, drivers and constraints.",
            name=armature_object.name,
        )


def check_scale(armature_object: bpy.types.Object, world: Array) -> None:
    """Raise if a world matrix (..., 4, 4) of an armature object is not sound, or scaled flat."""
    _check_world(armature_object, world)
    if (np.linalg.matrix_rank(world[..., :3, :3]) < 3).any():
        raise scaled_flat()


def is_flat(matrix: Array) -> bool:
    """Return whether a matrix (4, 4) is so flat that its inverse is not accurate."""
    sides = np.linalg.svd(matrix[:3, :3], compute_uv=False)
    return bool(sides[-1] <= MIN_SIDES_RATIO * sides[0])


def check_channels(plan: ChainPlan, channels: Array) -> None:
    """Raise a ``RigError`` if channels of a chain's written bones, shape (k, m), are not sound."""
    if not is_sound(channels):
        row = int(np.flatnonzero(~(np.abs(channels) < LARGEST).all(axis=1))[0])
        raise bone_not_finite(plan.skeleton.names[plan.written[row]])


def check_segments(plan_of: Callable[[int], ChainPlan], joints: Array) -> None:
    """Raise an ``InvalidChainError`` if a bone of chains has no length.

    The joints have the shape (b, m + 1, 3); ``plan_of`` returns the plan of a row.
    """
    lengths = np.linalg.norm(np.diff(joints, axis=1), axis=2)
    short = np.argwhere(lengths <= SHORTEST_SEGMENT * lengths.sum(axis=1, keepdims=True))
    if len(short):
        plan = plan_of(int(short[0, 0]))
        raise InvalidChainError(
            "Bone '{name}' has a length of zero, so it cannot be turned: check its scale and"
            " location, or leave it out of the chain.",
            name=plan.skeleton.names[plan.segments[short[0, 1]]],
        )


def bone_not_finite(bone: str) -> RigError:
    """Return the error of a bone whose transform is not finite."""
    return RigError(
        "The transform of bone '{bone}' is not finite or too large: check its location, rotation"
        " and scale, its keyframes, drivers and constraints.",
        bone=bone,
    )
