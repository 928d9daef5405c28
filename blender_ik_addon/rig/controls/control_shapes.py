"""Shapes of control bones: meshes that Blender draws in place of bones, in no scene."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import bpy
import numpy as np

from ...core.algebra.arithmetic import Array, Indices

Shape = Literal["CUBE", "SPHERE", "RING", "BELT"]

NAME = "WGT-Chain IK"
# Segments of a circle.
SEGMENTS = 24


def shape_of(shape: Shape) -> bpy.types.Object:
    """Return the object that Blender draws in place of bones; create it if it does not exist."""
    existing = bpy.data.objects.get(name_of(shape))
    if existing is not None:
        return existing
    points, edges = MAKERS[shape]()
    mesh = bpy.data.meshes.new(name_of(shape))
    mesh.from_pydata(points.tolist(), edges.tolist(), [])
    return bpy.data.objects.new(name_of(shape), mesh)


def name_of(shape: Shape) -> str:
    """Return the name of the object that is drawn in place of bones."""
    return f"{NAME} {shape.title()}"


def _box() -> tuple[Array, Indices]:
    """Return the corners and edges of a box around a bone of length one along Y."""
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (0.0, 1.0) for z in (-0.5, 0.5)])
    # Two corners that differ along one axis only are the ends of an edge.
    differs = (corners[:, None] != corners[None]).sum(axis=2)
    return corners, np.argwhere(np.triu(differs == 1))


def _sphere() -> tuple[Array, Indices]:
    """Return the points and edges of three circles about the head of a bone of length one."""
    flat, ring = _circle()
    points = np.concatenate([np.roll(0.5 * flat, axis, axis=1) for axis in range(3)])
    return points, np.concatenate([ring + SEGMENTS * axis for axis in range(3)])


def _belt() -> tuple[Array, Indices]:
    """Return a circle about the middle of a bone of length one, across it, twice as wide."""
    points, ring = _circle()
    return points[:, [0, 2, 1]] + (0.0, 0.5, 0.0), ring


def _circle() -> tuple[Array, Indices]:
    """Return the points, on X and Y, and the edges of a circle about the origin of radius one."""
    angles = np.linspace(0.0, 2.0 * np.pi, SEGMENTS, endpoint=False)
    points = np.stack((np.cos(angles), np.sin(angles), np.zeros(SEGMENTS)), axis=1)
    around = np.arange(SEGMENTS)
    return points, np.stack((around, np.roll(around, -1)), axis=1)


MAKERS: dict[Shape, Callable[[], tuple[Array, Indices]]] = {
    "CUBE": _box,
    "SPHERE": _sphere,
    "RING": _circle,
    "BELT": _belt,
}
"""Functions that return the points (n, 3) and edges (m, 2) of shapes for a bone of length one."""
