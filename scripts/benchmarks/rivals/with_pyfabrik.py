"""pyfabrik: FABRIK in pure Python.

    python -m benchmarks.rivals.with_pyfabrik CASES

It needs a NumPy before 2 and has no cap on iterations.
"""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path

import numpy as np
from pyfabrik import Fabrik3D
from vectormath import Vector3

from benchmarks import answering
from benchmarks.core_clocks import Clock
from benchmarks.scenes.cases import Array


class PyfabrikSolver:
    """A chain as pyfabrik knows it."""

    def __init__(self, initial: Array) -> None:
        """Keep the start pose in the type that it wants."""
        self.start = [Vector3(*joint) for joint in initial.tolist()]
        self.model: Fabrik3D | None = None

    def solve(self, target: Array, tolerance: float) -> None:
        """Build and solve: a new object is the only way back to the start pose."""
        self.model = Fabrik3D([Vector3(*joint) for joint in self.start], tolerance)
        self.model.move_to(Vector3(*target))

    def joints(self) -> Array:
        """Return the joints of the last solution."""
        assert self.model is not None
        return np.array([(joint.x, joint.y, joint.z) for joint in self.model.joints])


if __name__ == "__main__":
    version = importlib.metadata.version("pyfabrik")
    answering.serve(Clock(PyfabrikSolver, Path(sys.argv[1]), version))
