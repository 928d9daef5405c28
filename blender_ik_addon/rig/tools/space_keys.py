"""Spaces switched with keys: what a control shows changes neither then nor before."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np

from ..controls.control_spaces import (
    ACTING,
    add_space,
    carried,
    carrying_of,
    constraints_of,
    place,
    unconstrained,
)
from ..keying.curve_points import interpolate
from ..keying.keys import check_keyable
from ..reading.animation import curves
from ..reading.spec import Anchor
from ..reading.world import channels_of
from .matching import channel_names, hold_anchors, key_anchors


def key_space(
    control: Anchor,
    space: Anchor | None,
    frames: Sequence[int],
    scene: bpy.types.Scene,
    interpolation: str,
) -> None:
    """Have a control go along with something from a frame on, with keys at it and the one before.

    Over several frames the control is keyed at each, so that it stays where it plays now. Its keys
    after them count in the new space.

    Args:
        control: The object or bone.
        space: What it goes along with; None for the world.
        frames: Whole frames in rising order, without a gap; the scene stays at the last.
        scene: What plays them.
        interpolation: From the last frame on, as Blender names it.

    Raises:
        RigError: If keys could not be written, or nothing can go along with the space.
    """
    check_keyable(control.object)
    chosen = None if space is None else add_space(control, space)
    shown = {}
    for frame in frames:
        if len(frames) > 1:
            scene.frame_set(frame)
        # What it shows, and how the new space will take it there.
        carrying = np.eye(4) if chosen is None else carrying_of(control, chosen)
        shown[frame] = carried(control) @ unconstrained(control), carrying
    first, last = frames[0], frames[-1]
    hold_anchors([control], first - 1, interpolation)
    _remove_between(control, frames)
    _key_influences(control, chosen, first)
    for frame, (wanted, carrying) in shown.items():
        place(control, wanted, carrying)
        key_anchors([control], frame, interpolation if frame == last else "LINEAR")
    for curve in _curves(control):
        # In the frame before, motion blur would else see a way from one space into the other.
        interpolate(curve, first - 1, "CONSTANT")


def _curves(control: Anchor) -> list[bpy.types.FCurve]:
    """Return the F-curves of its location and rotation."""
    moved = channels_of(control)
    paths = {moved.path_from_id(name) for name in channel_names(moved)}
    return [curve for curve in curves(control.object) if curve.data_path in paths]


def _remove_between(control: Anchor, frames: Sequence[int]) -> None:
    """Remove keys between whole frames: they count in the former space."""
    for curve in _curves(control):
        for point in reversed(curve.keyframe_points):
            if frames[0] <= point.co.x <= frames[-1]:
                curve.keyframe_points.remove(point, fast=True)
        curve.update()


def _key_influences(control: Anchor, chosen: bpy.types.Constraint | None, frame: int) -> None:
    """Key which space acts: what acted before it, and the new one up to the next switch."""
    constraints = constraints_of(control)
    new = "" if chosen is None else chosen.name
    known = {curve.data_path: curve for curve in curves(control.object)}
    played = {each.name: known.get(each.path_from_id("influence")) for each in constraints}
    present = {each.name: each.influence for each in constraints}

    def acting_at(at: float) -> str:
        for name, curve in played.items():
            if (present[name] if curve is None else curve.evaluate(at)) >= ACTING:
                return name
        return ""

    keyed = {p.co.x for curve in played.values() if curve for p in curve.keyframe_points}
    former = acting_at(frame)
    steps = {at: acting_at(at) for at in sorted({*keyed, frame - 1.0, float(frame)})}
    for at in [at for at in steps if at >= frame]:
        if steps[at] != former:
            break
        steps[at] = new
    for constraint in constraints:
        if played[constraint.name] is None and constraint.name not in steps.values():
            continue
        for at, name in steps.items():
            constraint.influence = float(constraint.name == name)
            constraint.keyframe_insert("influence", frame=at)
        path = constraint.path_from_id("influence")
        for curve in curves(control.object):
            if curve.data_path == path:
                for at in steps:
                    interpolate(curve, at, "CONSTANT")
