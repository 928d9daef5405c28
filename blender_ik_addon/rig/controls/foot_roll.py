"""Foot roll: bones between the control of a foot and its ankle that drivers of Blender's own turn.

A file plays them without the extension: each driver adds up one custom property of the control, and
its curve tells the angle. No Python is in them, so whether scripts may run does not matter.
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
    ROLL: "Turns the foot: below zero about the heel, up to 45 degrees about the ball, beyond about"
    " the tip of the toes",
    BANK: "Turns the foot about an edge of its sole: above zero the outer, below zero the inner",
}
HALF_TURN, BENT = math.pi, math.pi / 4.0


@dataclass(frozen=True)
class Pivot:
    """What turns a foot about one of its places.

    Attributes:
        word: Which place, for the name of its bone.
        axis: Index of the axis that it turns about: 0 across the foot, 1 along it.
        channel: The custom property that turns it.
        points: The curve from that to the angle, radians, in rising order.
    """

    word: str
    axis: int
    channel: str
    points: Sequence[tuple[float, float]]


def pivots(*, has_ball: bool, outward: float) -> list[Pivot]:
    """Return what turns a foot, from its control to its ankle.

    Args:
        has_ball: Whether there are toes that stay on the floor as it turns about the ball.
        outward: The sign of a turn about the way forward that leans the foot outward.
    """
    flat = (-HALF_TURN, 0.0)
    over = [(math.pi / 2.0, -math.pi / 2.0), (HALF_TURN, -HALF_TURN)]
    found = [
        Pivot("Outer", 1, BANK, [flat, (0.0, 0.0), (HALF_TURN, outward * HALF_TURN)]),
        Pivot("Inner", 1, BANK, [(-HALF_TURN, -outward * HALF_TURN), (0.0, 0.0)]),
        Pivot("Heel", 0, ROLL, [(-HALF_TURN, HALF_TURN), (0.0, 0.0)]),
        Pivot("Tip", 0, ROLL, [flat, (BENT if has_ball else 0.0, 0.0), *over]),
    ]
    if has_ball:
        bent = [(0.0, 0.0), (BENT, -BENT), (math.pi / 2.0, 0.0)]
        found.append(Pivot("Ball", 0, ROLL, [flat, *bent]))
    return found


def add_channels(control: Anchor) -> None:
    """Give a control the properties that turn its foot; those that it lacks are zero."""
    bone = control.object.pose.bones[control.bone]
    for name, description in DESCRIPTIONS.items():
        bone[name] = bone.get(name, 0.0)
        shown: Any = bone.id_properties_ui(name)
        shown.update(
            min=-HALF_TURN, max=HALF_TURN, default=0.0, subtype="ANGLE", description=description
        )
        bone.property_overridable_library_set(f'["{name}"]', True)


def drive(turned: Anchor, control: Anchor, pivot: Pivot) -> None:
    """Have a property of a control turn a bone, whose rotation mode is one of Euler angles."""
    bone = turned.object.pose.bones[turned.bone]
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
    """Tell whether a bone stands between a control and what follows it."""
    bone = anchor.object.data.bones.get(anchor.bone) if anchor.bone else None
    return bone is not None and MECHANISM in bone.collections


def mechanism_of(target: Anchor) -> list[Anchor]:
    """Return the bones between a target and its control, the target first; empty without."""
    found: list[Anchor] = []
    while is_mechanism(target):
        found.append(target)
        parent = target.object.data.bones[target.bone].parent
        if parent is None:
            break
        target = Anchor(target.object, parent.name)
    return found


def control_above(target: Anchor) -> Anchor:
    """Return what people move for a target to move: the control of its mechanism, or itself."""
    mechanism = mechanism_of(target)
    if not mechanism:
        return target
    parent = target.object.data.bones[mechanism[-1].bone].parent
    return mechanism[-1] if parent is None else Anchor(target.object, parent.name)


def has_lost_control(target: Anchor) -> bool:
    """Tell whether nothing rolls the mechanism of a target: somebody has deleted its control."""
    control = control_above(target)
    pose = control.object.pose
    return is_mechanism(target) and pose is not None and pose.bones[control.bone].get(ROLL) is None


def hangs_on(control: Anchor, bones: Sequence[Anchor]) -> bool:
    """Tell whether a control is a bone right under one of some bones."""
    bone = control.object.data.bones.get(control.bone) if control.bone else None
    parent = None if bone is None else bone.parent
    return parent is not None and Anchor(control.object, parent.name) in bones


def control_goal(world: Array, goal: Array, target: Array, control: Array) -> Array:
    """Return where a control puts its target at goals, as its foot is rolled now, (..., 4, 4).

    Args:
        world: What takes places of their armature to the world, shape (..., 4, 4).
        goal: World matrices, shape (..., 4, 4).
        target: Where the target is in the armature, shape (..., 4, 4).
        control: Where the control is, shape (..., 4, 4).
    """
    # In the space of the armature: only there is what lies between them rigid.
    between = np.linalg.inv(rigid(target)) @ rigid(control)
    return rigid(world @ rigid(np.linalg.inv(world) @ goal) @ between)


def rigid(matrices: Array) -> Array:
    """Return matrices (..., 4, 4) without scale and shear."""
    found = matrices.copy()
    found[..., :3, :3] = rotation.orientation(matrices[..., :3, :3])
    return found
