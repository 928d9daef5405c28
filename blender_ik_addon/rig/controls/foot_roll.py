"""Foot roll: bones between a foot's control and its ankle, turned by drivers of Blender.

A file plays them without the extension: each driver sums one custom property of the control, and
its curve gives the angle. They contain no Python, so scripts need not be allowed to run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array
from ..reading.spec import Anchor

MECHANISM = "Chain IK Mechanism"
ROLL, BANK = "Foot Roll", "Foot Bank"
DESCRIPTIONS = {
    ROLL: "Angle of the foot roll: negative values turn the foot about the heel, values up to 45"
    " degrees about the ball, larger values about the tip of the toes",
    BANK: "Angle of the foot about an edge of its sole: positive values use the outer edge,"
    " negative values the inner edge",
}
HALF_TURN, BALL_ANGLE = math.pi, math.pi / 4.0


@dataclass(frozen=True)
class Pivot:
    """A bone that turns a foot about one of its places.

    Attributes:
        word: The place, for the name of the bone.
        axis: Index of the axis of rotation: 0 across the foot, 1 along it.
        channel: The custom property of the control that turns it.
        points: The curve from the property to the angle, radians, in rising order.
    """

    word: str
    axis: int
    channel: str
    points: Sequence[tuple[float, float]]


def pivots(*, has_ball: bool, outward: float) -> list[Pivot]:
    """Return the pivots of a foot, from its control to its ankle.

    With a ball, toes stay on the floor while the foot turns about it. ``outward`` is the sign of a
    turn about the forward axis that leans the foot outward.
    """
    start = (-HALF_TURN, 0.0)
    over = [(math.pi / 2.0, -math.pi / 2.0), (HALF_TURN, -HALF_TURN)]
    result = [
        Pivot("Outer", 1, BANK, [start, (0.0, 0.0), (HALF_TURN, outward * HALF_TURN)]),
        Pivot("Inner", 1, BANK, [(-HALF_TURN, -outward * HALF_TURN), (0.0, 0.0)]),
        Pivot("Heel", 0, ROLL, [(-HALF_TURN, HALF_TURN), (0.0, 0.0)]),
        Pivot("Tip", 0, ROLL, [start, (BALL_ANGLE if has_ball else 0.0, 0.0), *over]),
    ]
    if has_ball:
        bent = [(0.0, 0.0), (BALL_ANGLE, -BALL_ANGLE), (math.pi / 2.0, 0.0)]
        result.append(Pivot("Ball", 0, ROLL, [start, *bent]))
    return result


def add_channels(control: Anchor) -> None:
    """Give a control the properties that turn its foot; keep the values of existing ones."""
    bone = control.object.pose.bones[control.bone]
    for name, description in DESCRIPTIONS.items():
        bone[name] = bone.get(name, 0.0)
        ui: Any = bone.id_properties_ui(name)
        ui.update(
            min=-HALF_TURN, max=HALF_TURN, default=0.0, subtype="ANGLE", description=description
        )
        bone.property_overridable_library_set(f'["{name}"]', True)


def add_driver(bone_anchor: Anchor, control: Anchor, pivot: Pivot) -> None:
    """Add a driver with which a property of a control turns a bone in an Euler rotation mode."""
    bone = bone_anchor.object.pose.bones[bone_anchor.bone]
    curve: Any = bone.driver_add("rotation_euler", pivot.axis)
    for modifier in list(curve.modifiers):
        curve.modifiers.remove(modifier)
    curve.extrapolation = "CONSTANT"
    curve.driver.type = "SUM"
    variable = curve.driver.variables.new()
    source = variable.targets[0]
    source.id = control.object
    path = control.object.pose.bones[control.bone].path_from_id()
    source.data_path = f'{path}["{pivot.channel}"]'
    while curve.keyframe_points:
        curve.keyframe_points.remove(curve.keyframe_points[0], fast=True)
    for value, angle in pivot.points:
        curve.keyframe_points.insert(value, angle, options={"FAST"}).interpolation = "LINEAR"
    curve.update()


def is_mechanism(anchor: Anchor) -> bool:
    """Return whether a bone is between a control and its target."""
    bone = anchor.object.data.bones.get(anchor.bone) if anchor.bone else None
    return bone is not None and MECHANISM in bone.collections


def mechanism_of(target: Anchor) -> list[Anchor]:
    """Return the bones between a target and its control, the target first; empty without."""
    mechanism: list[Anchor] = []
    bone: Anchor | None = target
    while bone is not None and is_mechanism(bone):
        mechanism.append(bone)
        bone = parent_of(bone)
    return mechanism


def control_above(target: Anchor) -> Anchor:
    """Return the control that moves a target: the parent of its mechanism, or the target itself."""
    mechanism = mechanism_of(target)
    return (parent_of(mechanism[-1]) or mechanism[-1]) if mechanism else target


def has_lost_control(target: Anchor) -> bool:
    """Return whether a mechanism has lost the control that rolls it, by deletion."""
    control = control_above(target)
    pose = control.object.pose
    return is_mechanism(target) and pose is not None and pose.bones[control.bone].get(ROLL) is None


def parent_of(anchor: Anchor) -> Anchor | None:
    """Return the parent of a bone; None for an object, or without."""
    bone = anchor.object.data.bones.get(anchor.bone) if anchor.bone else None
    return None if bone is None or bone.parent is None else Anchor(anchor.object, bone.parent.name)


def control_goal(world: Array, goal: Array, target: Array, control: Array) -> Array:
    """Return the world matrices of a control that put its target at goals; the foot stays rolled.

    All have shape (..., 4, 4). ``world`` leads from armature space to world space, and ``goal`` are
    world matrices of the target. ``target`` and ``control`` are in armature space.
    """
    # The bones between them are rigid in armature space only.
    between = np.linalg.inv(rigid(target)) @ rigid(control)
    return rigid(world @ rigid(np.linalg.inv(world) @ goal) @ between)


def rigid(matrices: Array) -> Array:
    """Return matrices (..., 4, 4) without scale and shear."""
    result = matrices.copy()
    result[..., :3, :3] = rotation.orientation(matrices[..., :3, :3])
    return result
