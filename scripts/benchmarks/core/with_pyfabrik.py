"""pyfabrik: FABRIK in pure Python. It needs a NumPy before 2 and has no cap on iterations."""

from __future__ import annotations

import numpy as np
from pyfabrik import Fabrik3D
from vectormath import Vector3

from benchmarks.core import solvers
from benchmarks.core.cases import Array


class Solver(solvers.Solver):
    """A chain as pyfabrik knows it."""

    def __init__(self, initial: Array) -> None:
        self.start = [Vector3(*joint) for joint in initial.tolist()]

    def solve(self, target: Array, tolerance: float) -> None:
        # A new object is the only way back to the start pose.
        self.model = Fabrik3D([Vector3(*joint) for joint in self.start], tolerance)
        self.model.move_to(Vector3(*target))

    def joints(self) -> Array:
        return np.array([(joint.x, joint.y, joint.z) for joint in self.model.joints])
