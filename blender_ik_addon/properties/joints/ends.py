"""The settings that hold a bone's limits in a chain: those of the chain's joint, or of the bone."""

from __future__ import annotations

import math
from typing import NamedTuple

import bpy

from ...rig.reading.animation import driven_axes
from ...rig.reading.refusals import RigError
from ..chains import ChainGroup, owner_of
from ..records import bones_of_chain
from .joint_definitions import JointSettings, joints_by_bone

# Limits in a chain's joint may exceed half a turn, up to a whole turn, where the joint is free.
MAX_END = math.tau


class EndSetting(NamedTuple):
    """The property that holds one end of a range; not to be stored, as it refers to settings.

    Attributes:
        holder: A joint of a chain, or a pose bone.
        name: Name of the property.
        least: Least value that is not beyond the other end, radians.
        most: Greatest such value, radians.
        is_cone: Whether it is the single angle of a cone, to all sides.
    """

    holder: bpy.types.PropertyGroup | bpy.types.PoseBone
    name: str
    least: float
    most: float
    is_cone: bool = False


def joint_of(chain: ChainGroup, bone: str) -> JointSettings | None:
    """Return the joint of a chain that holds a bone; None if there is none."""
    return joints_by_bone(chain, bones_of_chain(chain)).get(bone)


def end_setting(chain: ChainGroup, bone: str, axis: str, *, is_max: bool) -> EndSetting:
    """Return the property that holds an end of a bone's range.

    The axis is "x", "y" or "z". ``is_max``: the end is the greatest turn of the range, not the
    least.

    Raises:
        RigError: If the end cannot be changed, with what to do instead.
    """
    joint = joint_of(chain, bone)
    if joint is not None and joint.kind == "CONE" and axis != "y":
        least, most = (0.0, math.pi) if is_max else (-math.pi, 0.0)
        return EndSetting(joint, "cone_angle", least, most, is_cone=True)
    if joint is not None:
        low, high = getattr(joint, f"min_{axis}"), getattr(joint, f"max_{axis}")
        if is_max:
            return EndSetting(joint, f"max_{axis}", low, MAX_END)
        return EndSetting(joint, f"min_{axis}", -MAX_END, high)
    posed = owner_of(chain).pose.bones.get(bone)
    if posed is None:
        raise RigError(
            "Bone '{bone}' no longer exists: choose another bone of the chain.", bone=bone
        )
    name = f"ik_{'max' if is_max else 'min'}_{axis}"
    if owner_of(chain).override_library and not posed.is_property_overridable_library(name):
        raise RigError(
            "The IK limits of bone '{bone}' come from a library and cannot be changed here: add a"
            " joint for this bone to the chain.",
            bone=bone,
        )
    # IK limits of bones always contain the rest pose.
    return EndSetting(posed, name, *((0.0, math.pi) if is_max else (-math.pi, 0.0)))


def move_limit_end(chain: ChainGroup, bone: str, axis: str, angle: float, *, is_max: bool) -> float:
    """Set an end of a bone's range, not beyond the other end; return the angle that was set.

    The angle is in radians; the others are as for ``end_setting``.

    Raises:
        RigError: If the end cannot be changed, with what to do instead.
    """
    setting = end_setting(chain, bone, axis, is_max=is_max)
    if driven_axes(owner_of(chain), setting.holder.path_from_id(setting.name)):
        raise RigError(
            "This limit of bone '{bone}' has drivers: remove its drivers first.", bone=bone
        )
    angle = min(max(angle, setting.least), setting.most)
    setattr(setting.holder, setting.name, abs(angle) if setting.is_cone else angle)
    return angle
