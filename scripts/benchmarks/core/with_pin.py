"""pinocchio (package `pin`): kinematics in C++, called by a short loop in Python.

The package has no IK solver; its documentation shows this loop. The damping shrinks with the error
(Levenberg-Marquardt), so the loop converges for chains of any length.
"""

from __future__ import annotations

import numpy as np
import pinocchio

from benchmarks.core.cases import Array
from benchmarks.core.solvers import ITERATIONS

DAMPING = 0.1
# Keeps the system solvable if the chain is straight and the error nearly zero.
MIN_DAMPING = 1e-12


class Pin:
    """A chain of ball joints with a frame at its tip."""

    def __init__(self, initial: Array) -> None:
        """Build the model: its zero pose is along X, from where joints swing to the start pose."""
        self.model = pinocchio.Model()
        joint, offset = 0, np.zeros(3)
        for i in range(len(initial) - 1):
            place = pinocchio.SE3(np.eye(3), offset)
            ball = pinocchio.JointModelSpherical()
            joint = self.model.addJoint(joint, ball, place, f"joint {i}")
            offset = np.array([1.0, 0.0, 0.0])
        end = pinocchio.SE3(np.eye(3), offset)
        frame = pinocchio.Frame("tip", joint, end, pinocchio.FrameType.OP_FRAME)
        self.tip = self.model.addFrame(frame)
        self.data = self.model.createData()
        turn, tangent = np.eye(3), []
        for step in np.diff(initial, axis=0):
            swing = pinocchio.Quaternion.FromTwoVectors(np.array([1.0, 0.0, 0.0]), turn.T @ step)
            tangent.append(pinocchio.log3(swing.toRotationMatrix()))
            turn = turn @ swing.toRotationMatrix()
        zero = pinocchio.neutral(self.model)
        self.start = pinocchio.integrate(self.model, zero, np.concatenate(tangent))
        self.pose = self.start
        if not np.allclose(self.joints(), initial):
            raise ValueError("The model's start pose is not the case's.")

    def solve(self, target: Array, tolerance: float) -> None:
        model, data, tip = self.model, self.data, self.tip
        axes, identity, accepted = pinocchio.LOCAL_WORLD_ALIGNED, np.eye(3), tolerance**2
        pose = self.start
        for _ in range(ITERATIONS):
            pinocchio.computeJointJacobians(model, data, pose)
            error = target - pinocchio.updateFramePlacement(model, data, tip).translation
            squared = error @ error
            if squared <= accepted:
                break
            jacobian = pinocchio.getFrameJacobian(model, data, tip, axes)[:3]
            damping = DAMPING * squared + MIN_DAMPING
            weights = np.linalg.solve(jacobian @ jacobian.T + damping * identity, error)
            pose = pinocchio.integrate(model, pose, jacobian.T @ weights)
        self.pose = pose

    def joints(self) -> Array:
        pinocchio.framesForwardKinematics(self.model, self.data, self.pose)
        # The first placement is that of the world.
        heads = [place.translation for place in list(self.data.oMi)[1:]]
        return np.array([*heads, self.data.oMf[self.tip].translation])
