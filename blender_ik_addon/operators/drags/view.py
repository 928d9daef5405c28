"""Points and turns in the scene from positions of the mouse in a viewport."""

from __future__ import annotations

import math
from typing import cast

import bpy
import numpy as np
from bpy_extras import view3d_utils
from mathutils import Vector
from mathutils.geometry import intersect_line_line, intersect_line_plane

from ...core.algebra.arithmetic import Array
from ...rig.reading.spaces import find_pixels

# Sine of the angle between a dial's plane and the ray of the mouse. Below it the dial looks like a
# line, so it turns as the mouse moves along it.
EDGE_ON_SINE = 0.2
# Pixels that turn such a dial by one radian, at an interface scale of one.
PIXELS_PER_RADIAN = 60.0
# Distance in pixels below which two points of the scene show no direction.
MIN_PIXELS = 1e-6


class View:
    """The viewport of a context, valid for one event; ``mouse`` is in pixels of the region."""

    def __init__(self, context: bpy.types.Context) -> None:
        self._region = cast(bpy.types.Region, context.region)
        self._data = cast(bpy.types.RegionView3D, context.region_data)
        self._scale = context.preferences.system.ui_scale

    def point_at(self, mouse: Vector, depth: Array) -> Array:
        """Return the point under the mouse that is as far from the view as another point."""
        return _array(
            view3d_utils.region_2d_to_location_3d(
                self._region, self._data, (mouse.x, mouse.y), Vector(depth.tolist())
            )
        )

    def point_on_axis(self, mouse: Vector, start: Array, axis: Array) -> Array:
        """Return the point of a line that is nearest to the ray under the mouse."""
        origin, direction = self._ray(mouse)
        line = Vector(start.tolist()), Vector((start + axis).tolist())
        intersection = intersect_line_line(*line, origin, origin + direction)
        # A line parallel to the ray has no such point.
        return start if intersection is None else _array(intersection[0])

    def nearest(self, mouse: Vector, points: Array) -> int:
        """Return the index of the point (m, 3) nearest to the mouse; of equals the middle one."""
        matrix = np.array(self._data.perspective_matrix, dtype=np.float64)
        pixels = find_pixels(points, matrix, (self._region.width, self._region.height))
        gaps = np.linalg.norm(pixels - np.array((mouse.x, mouse.y)), axis=1)
        # Points behind the eye have no pixels.
        gaps = np.where(np.isnan(gaps), np.inf, gaps)
        places = np.flatnonzero(gaps <= gaps.min())
        return int(places[np.argmin(np.abs(places - len(points) // 2))])

    def turn_between(self, before: Vector, after: Vector, centre: Array, axis: Array) -> float:
        """Return the turn of a dial by a move of the mouse, radians about its axis.

        ``before`` and ``after`` are places of the mouse; ``centre`` and the unit vector ``axis``
        are in world space.
        """
        if abs(float(_array(self._ray(before)[1]) @ axis)) < EDGE_ON_SINE:
            return self._turn_edge_on(before, after, centre, axis)
        arms = []
        for mouse in (before, after):
            origin, direction = self._ray(mouse)
            plane = Vector(centre.tolist()), Vector(axis.tolist())
            intersection = intersect_line_plane(origin, origin + direction, *plane)
            if intersection is None:
                return 0.0
            arms.append(_array(intersection) - centre)
        return math.atan2(float(np.cross(arms[0], arms[1]) @ axis), float(arms[0] @ arms[1]))

    def _turn_edge_on(self, before: Vector, after: Vector, centre: Array, axis: Array) -> float:
        """Return the turn of a dial that looks like a line: its near side goes with the mouse."""
        near = -_array(self._ray(before)[1])
        along = np.cross(axis, near - axis * (near @ axis))
        step = 1e-2 * self._data.view_distance * along
        ends = [
            view3d_utils.location_3d_to_region_2d(self._region, self._data, Vector(end.tolist()))
            for end in (centre, centre + step)
        ]
        if ends[0] is None or ends[1] is None or (ends[1] - ends[0]).length < MIN_PIXELS:
            return 0.0
        distance = (after - before).dot((ends[1] - ends[0]).normalized())
        return distance / (PIXELS_PER_RADIAN * self._scale)

    def _ray(self, mouse: Vector) -> tuple[Vector, Vector]:
        """Return origin and unit direction of the ray under the mouse."""
        origin = view3d_utils.region_2d_to_origin_3d(self._region, self._data, (mouse.x, mouse.y))
        direction = view3d_utils.region_2d_to_vector_3d(
            self._region, self._data, (mouse.x, mouse.y)
        )
        return origin, direction


def _array(vector: Vector) -> Array:
    return np.array(vector, dtype=np.float64)
