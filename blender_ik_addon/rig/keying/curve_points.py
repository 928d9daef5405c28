"""Keys on F-curves that do not change what the curves play."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

import bpy
import numpy as np

from ..reading.animation import SAME_FRAME
from ..reading.channels import read_floats


def set_interpolation(curve: bpy.types.FCurve, interpolations: Mapping[float, Any]) -> None:
    """Set the interpolations of existing keys by frame, as Blender names them.

    Blender gives a new key the interpolation of the preceding one, which may not fit.
    """
    points = {point.co.x: point for point in curve.keyframe_points} if interpolations else {}
    for frame, interpolation in interpolations.items():
        point = points.get(frame) or point_at(curve, frame)
        if point is not None:
            point.interpolation = interpolation
    curve.update()


def point_at(curve: bpy.types.FCurve, frame: float) -> bpy.types.Keyframe | None:
    """Return the last key that Blender takes for one at a frame; move it exactly to that frame.

    Blender merges a new key into one that is a little beside the frame, and leaves it there.
    """
    points = curve.keyframe_points
    distances = np.abs(read_floats(points, "co", 2)[::2] - frame)
    near = np.flatnonzero(distances < SAME_FRAME)[::-1]
    if not len(near):
        return None
    point = points[int(near[np.argmin(distances[near])])]
    move_point(point, frame, point.co.y)
    return point


def move_point(point: bpy.types.Keyframe, frame: float, value: float) -> None:
    """Move a key to a frame and a value, with its handles."""
    shifts = frame - point.co.x, value - point.co.y
    for place in (point.co, point.handle_left, point.handle_right):
        place.x += shifts[0]
        place.y += shifts[1]


def remove_points(
    curve: bpy.types.FCurve, first: float, last: float, kept: Container[float] = ()
) -> None:
    """Remove the keys from one frame to another, but the kept ones; then call ``curve.update``."""
    for point in reversed(curve.keyframe_points):
        if first <= point.co.x <= last and point.co.x not in kept:
            curve.keyframe_points.remove(point, fast=True)


def clear(curve: bpy.types.FCurve, first: float, last: float) -> tuple[int, list[float]]:
    """Remove the keys from one frame to another; the segments beside them keep their shape.

    Call ``curve.update`` afterwards. Return the number of keys before the first frame, and which of
    both frames have a key: those beside which there are others.
    """
    for frame in (first, last):
        point_at(curve, frame)
    points = curve.keyframe_points
    known = read_floats(points, "co", 2)[::2]
    row = int((known < first).sum())
    if row:
        # Its automatic handles would follow new values and bend the segment before it.
        free_handles(points[row - 1])
    ends = [*([first] if row else []), *([last] if (known > last).any() else [])]
    for frame in ends:
        split(curve, frame)
    remove_points(curve, first, last, ends)
    return row, ends


def split(curve: bpy.types.FCurve, frame: float) -> None:
    """Insert a key without changing what a curve plays; keep an existing key at the frame.

    Later keys then do not change what the curve plays up to the frame. Blender splits Bezier
    segments exactly if handles are free, and recomputes them otherwise.
    """
    at_frame = point_at(curve, frame)
    points = sorted(curve.keyframe_points, key=lambda point: point.co.x)
    before = [point for point in points if point.co.x <= frame]
    after = [point for point in points if point.co.x > frame]
    for point in (*before[-1:], *after[:1]):
        if point.interpolation == "BEZIER" or point.co.x == frame:
            free_handles(point)
    if at_frame is not None:
        return
    value = curve.evaluate(frame)
    if not points:
        curve.keyframe_points.insert(frame, value, options={"FAST"})
        return
    nearest = before[-1] if before else after[0]
    kind, is_level = nearest.interpolation, value == nearest.co.y
    # Outside of its keys a curve continues straight, and a new key takes the nearest one's type.
    is_outside = not (before and after)
    if is_outside and kind != "BEZIER" and (kind == "ELASTIC" or not is_level):
        kind = "LINEAR"
        if before:
            nearest.interpolation = kind
    # Inserting a point invalidates references to points.
    added = curve.keyframe_points.insert(frame, value, options={"FAST"})
    added.interpolation = kind
    if kind == "BEZIER":
        if is_outside:
            _straighten(curve, added, is_last=bool(before))
        free_handles(added)
    curve.keyframe_points.sort()


def _straighten(curve: bpy.types.FCurve, added: bpy.types.Keyframe, *, is_last: bool) -> None:
    """Make a curve straight up to its first or last key, and beyond."""
    points = curve.keyframe_points
    if is_last:
        points[-2].handle_right_type = "VECTOR"
    else:
        points[1].handle_left_type = "VECTOR"
    added.handle_left_type = added.handle_right_type = "VECTOR"
    curve.update()
    free_handles(points[-2 if is_last else 1])


def free_handles(point: bpy.types.Keyframe) -> None:
    """Fix the handles of a key, so that keys beside it do not move them."""
    point.handle_left_type = point.handle_right_type = "FREE"
