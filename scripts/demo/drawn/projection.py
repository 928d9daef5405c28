"""Points of the scene on the picture: a camera with perspective, in NumPy."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Camera:
    """A camera that stands upright.

    Attributes:
        position: In world space, shape (3,).
        aim: Point in the middle of the picture, world space, shape (3,).
    """

    position: Array
    aim: Array

    @property
    def axes(self) -> Array:
        """Its right, up and backward directions in world space, rows, shape (3, 3)."""
        backward = self.position - self.aim
        backward = backward / np.linalg.norm(backward)
        right = np.cross((0.0, 0.0, 1.0), backward)
        right /= np.linalg.norm(right)
        return np.stack((right, np.cross(backward, right), backward))

    def project(self, points: Array) -> tuple[Array, Array]:
        """Return where points appear and how far away they are.

        Args:
            points: In world space, shape (..., 3).

        Returns:
            Positions on the picture, shape (..., 2), in metres at the distance of the aim, and
            depths, shape (...,).
        """
        seen = (np.asarray(points, dtype=np.float64) - self.position) @ self.axes.T
        depth = -seen[..., 2]
        scale = np.linalg.norm(self.position - self.aim) / depth
        return seen[..., :2] * scale[..., None], depth
