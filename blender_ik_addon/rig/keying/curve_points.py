"""Keys put on F-curves so that what they play stays as it is."""

from __future__ import annotations

from typing import Any

import bpy


def interpolate(curve: bpy.types.FCurve, frame: float, interpolation: Any) -> None:
    """Give the key at a frame an interpolation, as Blender names it; to be called once it is there.

    Blender gives a new key that of the key before it, which may be there for another end.
    """
    for point in curve.keyframe_points:
        if point.co.x == frame:
            point.interpolation = interpolation
    curve.update()


def split(curve: bpy.types.FCurve, frame: float) -> None:
    """Put a key on a curve without changing what it plays; one that is there keeps its place.

    What comes after it does not change what the curve plays up to it. Blender splits Bezier
    segments exactly where handles are free, and other ones anew.
    """
    points = sorted(curve.keyframe_points, key=lambda point: point.co.x)
    before = [point for point in points if point.co.x <= frame]
    after = [point for point in points if point.co.x > frame]
    for point in (*before[-1:], *after[:1]):
        if point.interpolation == "BEZIER" or point.co.x == frame:
            _free(point)
    if before and before[-1].co.x == frame:
        return
    value = curve.evaluate(frame)
    if not points:
        curve.keyframe_points.insert(frame, value, options={"FAST"})
        return
    nearest = before[-1] if before else after[0]
    kind, is_level = nearest.interpolation, value == nearest.co.y
    # Beyond its keys a curve goes straight on, and a new key is of the kind of the nearest one.
    is_beyond = not (before and after)
    if is_beyond and kind != "BEZIER" and (kind == "ELASTIC" or not is_level):
        kind = "LINEAR"
        if before:
            nearest.interpolation = kind
    # References to points are void once one is added.
    added = curve.keyframe_points.insert(frame, value, options={"FAST"})
    added.interpolation = kind
    if kind == "BEZIER":
        if is_beyond:
            _straighten(curve, added, is_last=bool(before))
        _free(added)
    curve.keyframe_points.sort()


def _straighten(curve: bpy.types.FCurve, added: bpy.types.Keyframe, *, is_last: bool) -> None:
    """Have a curve go straight to its first or last key, and on from there."""
    points = curve.keyframe_points
    if is_last:
        points[-2].handle_right_type = "VECTOR"
    else:
        points[1].handle_left_type = "VECTOR"
    added.handle_left_type = added.handle_right_type = "VECTOR"
    curve.update()
    _free(points[-2 if is_last else 1])


def _free(point: bpy.types.Keyframe) -> None:
    """Have handles of a key stay where they are, whatever comes beside it."""
    point.handle_left_type = point.handle_right_type = "FREE"
