"""momentum (package `pymomentum-cpu`): kinematics and solvers in C++, single precision.

Its Gauss-Newton solver by QR decomposition with line search is the one that converges at every
length of the chain. It stops by error change, not by the distance of the tip; so it takes one
iteration a call, until the tip is near enough.
"""

from __future__ import annotations

import numpy as np
import pymomentum.geometry as geometry
import pymomentum.solver2 as momentum

from benchmarks.core import solvers
from benchmarks.core.cases import Array

REGULARIZATION = 0.001
SINGLE = np.float32
# A joint has so many parameters: three of translation, three of rotation, one of scale.
JOINT_PARAMETERS = 7


class Solver(solvers.Solver):
    """A chain with three Euler angles a joint, and an aim at the tip."""

    def __init__(self, initial: Array) -> None:
        """Build the character; its zero is the chain along X, the start pose turns about Z."""
        bones = len(initial) - 1
        self.last = bones - 1
        self.offset = np.array([1.0, 0.0, 0.0], SINGLE)
        self.character = _character(bones)
        steps = np.diff(initial, axis=0)
        turns = np.diff(np.arctan2(steps[:, 1], steps[:, 0]), prepend=0.0)
        self.start = np.zeros(3 * bones, SINGLE)
        self.start[2::3] = turns
        self.pose = self.start
        self.aim = momentum.PositionErrorFunction(self.character)
        self.problem = momentum.SkeletonSolverFunction(self.character, [self.aim])
        options = momentum.GaussNewtonSolverQROptions()
        options.min_iterations = options.max_iterations = 1
        options.regularization = REGULARIZATION
        options.do_line_search = True
        self.solver = momentum.GaussNewtonSolverQR(self.problem, options)
        if not np.allclose(self.joints(), initial, atol=1e-4):
            raise ValueError("The model's start pose is not the case's.")
        # Its error is the squared distance times a factor of its own.
        beside = initial[-1] + np.array([0.0, 0.0, 1.0])
        self._aim_at(beside)
        self.error_of_unit = float(self.problem.get_error(self.start))

    def solve(self, target: Array, tolerance: float) -> None:
        self._aim_at(target)
        accepted = self.error_of_unit * tolerance**2
        step, error, pose = self.solver.solve, self.problem.get_error, self.start
        for _ in range(solvers.ITERATIONS):
            pose = step(pose)
            if error(pose) <= accepted:
                break
        self.pose = pose

    def joints(self) -> Array:
        state = geometry.model_parameters_to_skeleton_state(
            self.character, np.asarray(self.pose, SINGLE)
        )
        # A row: position, quaternion with the scalar last, scale.
        rows = np.asarray(state, float).reshape(-1, 8)
        x, y, z, w = rows[-1, 3:7]
        along = np.array(
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + z * w), 2.0 * (x * z - y * w)]
        )
        return np.vstack((rows[:, :3], rows[-1, :3] + along))

    def _aim_at(self, target: Array) -> None:
        self.aim.clear_constraints()
        self.aim.add_constraint(
            self.last, offset=self.offset, target=target.astype(SINGLE), weight=1.0
        )


def _character(bones: int) -> geometry.Character:
    """Return a chain of unit bones along X whose parameters are the joints' Euler angles."""
    upright = np.array([0.0, 0.0, 0.0, 1.0], SINGLE)
    joints, names = [], []
    parameters = np.zeros((JOINT_PARAMETERS * bones, 3 * bones), SINGLE)
    for i in range(bones):
        offset = np.array([1.0 if i else 0.0, 0.0, 0.0], SINGLE)
        joints.append(geometry.Joint(f"joint {i}", i - 1, upright, offset))
        for axis in range(3):
            parameters[JOINT_PARAMETERS * i + 3 + axis, 3 * i + axis] = 1.0
            names.append(f"joint {i} {'xyz'[axis]}")
    skeleton = geometry.Skeleton(joints)
    transform = geometry.ParameterTransform(names, skeleton, parameters)
    return geometry.Character("chain", skeleton, transform)
