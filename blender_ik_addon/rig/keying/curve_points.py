"""Keys put on F-curves so that what they play stays as it is."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np

from ...core.algebra.arithmetic import Array

# Halvings of the interval in which the parameter of a frame is sought.
HALVINGS = 60


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

    What comes after it does not change what the curve plays up to it.

    Bezier segments are split by de Casteljau's construction, exactly unless their handles are so
    long that Blender would shorten those of the parts.
    """
    points = sorted(curve.keyframe_points, key=lambda point: point.co.x)
    before = [point for point in points if point.co.x <= frame]
    after = [point for point in points if point.co.x > frame]
    if before and before[-1].co.x == frame:
        _set(before[-1])
        return
    if not points:
        curve.keyframe_points.insert(frame, curve.evaluate(frame), options={"FAST"})
        return
    # Beyond its keys a curve goes straight on, and a new key is of the kind of the nearest one.
    nearest, value = (before[-1] if before else after[0]), curve.evaluate(frame)
    kind, is_level = nearest.interpolation, value == nearest.co.y
    if not (before and after) and kind != "BEZIER" and (kind == "ELASTIC" or not is_level):
        kind = "LINEAR"
        if before:
            nearest.interpolation = kind
    # References to points are void once one is added.
    start, end = ([point.co.x for point in each] for each in (before[-1:], after[:1]))
    left, right = _parts(before[-1:], np.array((frame, value)), after[:1])
    added = curve.keyframe_points.insert(frame, value, options={"FAST"})
    added.interpolation = kind
    if kind == "BEZIER":
        found = {point.co.x: point for point in curve.keyframe_points}
        _set(found[frame], left_handle=left[2], right_handle=right[1])
        for place in start:
            _set(found[place], right_handle=left[1])
        for place in end:
            _set(found[place], left_handle=right[2])
    curve.keyframe_points.sort()


def _set(
    point: bpy.types.Keyframe, left_handle: Array | None = None, right_handle: Array | None = None
) -> None:
    """Set handles of a key, which are free from then on."""
    point.handle_left_type = point.handle_right_type = "FREE"
    if left_handle is not None:
        point.handle_left = left_handle.tolist()
    if right_handle is not None:
        point.handle_right = right_handle.tolist()


def _parts(
    before: list[bpy.types.Keyframe], place: Array, after: list[bpy.types.Keyframe]
) -> tuple[Array, Array]:
    """Return the control points of the Bezier segments to a new key and from it, shape (4, 2) each.

    Args:
        before: The key before it, none for a key before all others.
        place: Of the new key, shape (2,).
        after: The key after it, none for a key after all others.
    """
    if before and after:
        return _split(_corners(before[0], after[0]), float(place[0]))
    way = np.linspace(np.array((before or after)[0].co, dtype=np.float64), place, 4)
    ahead = 2.0 * place - way
    return (way, ahead[::-1]) if before else (ahead, way[::-1])


def _corners(start: bpy.types.Keyframe, end: bpy.types.Keyframe) -> Array:
    """Return the control points of a segment as Blender plays it, shape (4, 2).

    Handles that are longer than the segment along the frames are shortened to its length.
    """
    corners = np.array([start.co, start.handle_right, end.handle_left, end.co], dtype=np.float64)
    length = corners[3, 0] - corners[0, 0]
    for key, handle in ((0, 1), (3, 2)):
        way = corners[handle] - corners[key]
        corners[handle] = corners[key] + way / max(1.0, abs(way[0]) / length)
    return corners


def _split(corners: Array, frame: float) -> tuple[Array, Array]:
    """Return the control points of a Bezier segment before and after a frame."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        left, right = _halves(corners, middle)
        low, high = (middle, high) if left[3, 0] < frame else (low, middle)
    return left, right


def _halves(corners: Array, share: float) -> tuple[Array, Array]:
    """Return the control points of the parts of a Bezier curve, de Casteljau's construction."""
    left, right = [corners[0]], [corners[3]]
    while len(corners) > 1:
        corners = corners[:-1] + share * (corners[1:] - corners[:-1])
        left.append(corners[0])
        right.append(corners[-1])
    return np.array(left), np.array(right[::-1])
