"""Spaces switched with keys: what a control shows changes neither then nor before."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

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
    after them count in the new space; where another switch follows, it stays where it was at those
    up to there.

    Args:
        control: The object or bone.
        space: What it goes along with; None for the world.
        frames: Whole frames in rising order, without a gap; the scene stays where it was played.
        scene: What plays them.
        interpolation: From the last frame on, as Blender names it.

    Raises:
        RigError: If keys could not be written, or nothing can go along with the space.
    """
    check_keyable(control.object)
    chosen = None if space is None else add_space(control, space)
    first, last = frames[0], frames[-1]
    steps, until = _steps(control, "" if chosen is None else chosen.name, first, last)
    later = [] if until is None else _keyed_between(control, last, until)
    shown = {}
    for frame in (*frames, *later):
        if len(frames) > 1 or frame != first:
            scene.frame_set(math.floor(frame), subframe=frame % 1.0)
        # What it shows, and how the new space will take it there.
        carrying = np.eye(4) if chosen is None else carrying_of(control, chosen)
        shown[frame] = carried(control) @ unconstrained(control), carrying
    hold_anchors([control], first - 1, interpolation)
    _remove_between(control, frames)
    _key_influences(control, steps)
    for frame, (wanted, carrying) in shown.items():
        place(control, wanted, carrying)
        kind = interpolation if frame == last else "" if frame > last else "LINEAR"
        key_anchors([control], frame, kind)
    for curve in _curves(control):
        # In the frame before, motion blur would else see a way from one space into the other.
        for switch in (first, until or first):
            interpolate(curve, switch - 1, "CONSTANT")


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


def _keyed_between(control: Anchor, start: float, end: float) -> list[float]:
    """Return the frames between two others at which location or rotation have keys."""
    points = [point for curve in _curves(control) for point in curve.keyframe_points]
    return sorted({point.co.x for point in points if start < point.co.x < end})


def _steps(
    control: Anchor, new: str, first: int, last: int
) -> tuple[dict[float, str], float | None]:
    """Return which space is to act from which frame on, and where the next switch is.

    Args:
        control: The object or bone.
        new: Name of the space that acts from the first frame up to that switch; empty for none.
        first: The first frame.
        last: The frame from which on another switch ends it.

    Returns:
        Names by frame, in rising order, and the frame of the next switch, None without.
    """
    constraints, known = constraints_of(control), _influences(control)
    present = {each.name: each.influence for each in constraints}

    def acting_at(at: float) -> str:
        for name, value in present.items():
            if (known[name].evaluate(at) if name in known else value) >= ACTING:
                return name
        return ""

    keyed = {point.co.x for curve in known.values() for point in curve.keyframe_points}
    former = acting_at(last)
    steps = {at: acting_at(at) for at in sorted({*keyed, first - 1.0, float(first)})}
    until = next((at for at, name in steps.items() if at > last and name != former), None)
    for at in steps:
        if at >= first and (until is None or at < until):
            steps[at] = new
    return steps, until


def _influences(control: Anchor) -> dict[str, bpy.types.FCurve]:
    """Return the F-curves of the influences of its spaces, by name; those without have none."""
    known = {curve.data_path: curve for curve in curves(control.object)}
    paths = {each.name: each.path_from_id("influence") for each in constraints_of(control)}
    return {name: known[path] for name, path in paths.items() if path in known}


def _key_influences(control: Anchor, steps: Mapping[float, str]) -> None:
    """Key which space acts from which frame on."""
    known = _influences(control)
    for constraint in constraints_of(control):
        if constraint.name not in known and constraint.name not in steps.values():
            continue
        for at, name in steps.items():
            constraint.influence = float(constraint.name == name)
            constraint.keyframe_insert("influence", frame=at)
    for curve in _influences(control).values():
        for at in steps:
            interpolate(curve, at, "CONSTANT")
