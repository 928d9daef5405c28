"""Bones as Blender shows them: tapered sticks, here as shaded triangles."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

# Thickest at this share of the length, as in Blender's own drawing; half as thick as there for a
# bone of this length, and not in proportion: thighs would bury the spine.
WAIST = 0.12
HALF_WIDTH = 0.03
TYPICAL_LENGTH = 0.29

# Head 0, tail 1, the four corners of the waist 2 to 5.
TRIANGLES = np.array(
    [(0, 3, 2), (0, 4, 3), (0, 5, 4), (0, 2, 5), (1, 2, 3), (1, 3, 4), (1, 4, 5), (1, 5, 2)]
)


@dataclasses.dataclass(frozen=True)
class Stick:
    """One bone to draw.

    Attributes:
        head: World space, shape (3,).
        tail: World space, shape (3,).
        colour: Red, green, blue from 0 to 1, shape (3,).
        thickness: 1 for a bone as thick as Blender draws it.
    """

    head: Array
    tail: Array
    colour: Array
    thickness: float = 1.0

    def triangles(self) -> Array:
        """Return its eight faces in world space, shape (8, 3, 3), outward side counterclockwise."""
        along = self.tail - self.head
        length = float(np.linalg.norm(along))
        along = along / length
        helper = np.eye(3)[int(np.argmin(np.abs(along)))]
        side = np.cross(along, helper)
        side /= np.linalg.norm(side)
        up = np.cross(along, side)
        corner = HALF_WIDTH * self.thickness * (length / TYPICAL_LENGTH) ** 0.5
        waist = self.head + WAIST * length * along
        corners = [waist + corner * offset for offset in (side, up, -side, -up)]
        return np.stack((self.head, self.tail, *corners))[TRIANGLES]


def shaded(triangles: Array, colour: Array, light: Array, view: Array) -> Array:
    """Return the colours of faces.

    Args:
        triangles: World space, shape (n, 3, 3).
        colour: Of the material, shape (3,).
        light: Direction toward the light, unit, shape (3,).
        view: Direction toward the camera, unit, shape (3,).

    Returns:
        Shape (n, 3), from 0 to 1.
    """
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    # Half-Lambert: shadowed sides stay readable.
    diffuse = 0.5 + 0.5 * normals @ light
    rim = (1.0 - np.abs(normals @ view)) ** 3
    shade = 0.32 + 0.78 * diffuse**1.4
    return np.clip(colour * shade[:, None] + 0.12 * rim[:, None], 0.0, 1.0)
