"""The one check between Blender and the records: whatever is not finite stops its own chain only.

Blender stores NaN in any float, and evaluates it into whatever hangs below.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import bpy
import numpy as np
import numpy.typing as npt

from .channels import Pose
from .errors import RigError
from .plan import ChainPlan
from .skeleton import Skeleton

Array = npt.NDArray[np.float64]


def check_settings(
    group: bpy.types.PropertyGroup, names: Sequence[str] = (), whose: str = ""
) -> None:
    """Raise if a number among the settings is not finite.

    Args:
        group: The settings.
        names: Of the floats that are read; all of the group's own if left out.
        whose: What the settings belong to, such as " of the joint of 'Knee'".

    Raises:
        RigError: With the name of the setting as the panel shows it.
    """
    kind: Any = type(group)
    names = names or _float_names(kind)
    # A sum is finite if all are, and NaN passes through the ranges of properties.
    if math.isfinite(sum([getattr(group, name) for name in names])):
        return
    name = next(name for name in names if not math.isfinite(getattr(group, name)))
    label = group.bl_rna.properties[name].name
    raise RigError(
        f"The setting '{label}'{whose} is not a number:"
        " enter a new value, or correct its keyframes and driver."
    )


@cache
def _float_names(kind: Any) -> tuple[str, ...]:
    """Return the floats that can be set in a class of settings."""
    properties = kind.bl_rna.properties
    return tuple(
        [each.identifier for each in properties if each.type == "FLOAT" and not each.is_readonly]
    )


def check_pose(
    armature_object: bpy.types.Object, skeleton: Skeleton, pose: Pose, plan: ChainPlan
) -> None:
    """Raise if the pose that a chain is solved in is not finite; its own rotations may be.

    Raises:
        RigError: With the name of the object or bone to look at.
    """
    if not np.isfinite(pose.world).all():
        raise RigError(
            f"The transform of armature '{armature_object.name}' is not finite:"
            " check its location, rotation, scale, parents, drivers and constraints."
        )
    root = int(plan.segments[0])
    above = int(skeleton.parents[root])
    is_sound = np.isfinite(pose.matrices[root, :3, 3]).all() and (
        above < 0 or np.isfinite(pose.matrices[above]).all()
    )
    if not is_sound:
        upward = skeleton.ancestors(root)
        spoiled = [bone for bone in upward if not np.isfinite(pose.matrices[bone]).all()]
        raise _not_finite(skeleton.names[spoiled[-1]])
    written = plan.written
    channels = np.hstack((pose.location[written], pose.scale[written]))
    check_channels(skeleton, plan, channels)


def check_channels(skeleton: Skeleton, plan: ChainPlan, channels: Array) -> None:
    """Raise if channels of a chain's written bones, shape (k, m), are not finite.

    Raises:
        RigError: With the name of the first bone to look at.
    """
    if not math.isfinite(channels.sum()):
        row = int(np.flatnonzero(~np.isfinite(channels).all(axis=1))[0])
        raise _not_finite(skeleton.names[plan.written[row]])


def check_shape(world: Array) -> None:
    """Raise if the world matrix of an armature object, shape (4, 4), is scaled flat.

    Raises:
        RigError: With what to do next.
    """
    if np.linalg.matrix_rank(world[:3, :3]) < 3:
        raise RigError("The armature object is scaled flat: give it a scale above zero.")


def _not_finite(bone: str) -> RigError:
    return RigError(
        f"The transform of bone '{bone}' is not finite:"
        " check its location, rotation and scale, its keyframes, drivers and constraints."
    )
