"""Goals that cannot all be met: Newton's method on the sum of weighted squared errors.

Gauss-Newton neglects the curvature of the effectors' paths, which is right only where errors
vanish. Where errors remain it swings around the best pose; with the curvature it converges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..algebra.arithmetic import Array, Counts, Flags
from ..algebra.chains_first import chains_first
from ..algebra.output_rows import ALL_OUTPUTS
from ..descent.bone_rows import BoneRows
from ..descent.constrained_step import Curve
from ..descent.descent_settings import DescentSettings, EnergyAtPose
from ..descent.feasible_newton import minimise
from ..descent.posed_rows import PosedRows
from ..kinematics.kinematic_tree import KinematicTree
from ..kinematics.posed import State
from .newton_joints import LARGEST_TURN


def compromise(
    tree: KinematicTree,
    state: State,
    target: Array,
    tolerance: Array,
    caps: Counts,
    *,
    is_alone: bool,
) -> tuple[State, Counts]:
    """Return states in which weighted errors are least, and the steps taken, (B,).

    Args:
        tree: The trees.
        state: Present state of their joints.
        target: Targets of the effectors, times the roots of their weights, shape (3 E, B).
        tolerance: Norm of all errors that counts as zero, shape (B,).
        caps: Most steps, shape (B,).
        is_alone: Whether all rows are one tree.

    Source: Newton's method (Nocedal and Wright, "Numerical Optimization", 2006, section 10.3) with
    a second-order correction (ibid., section 18.3). The correction brings effectors back to where
    the linear model has them, so that a step may go far along a curved valley. Tested in
    tests/core/solving/test_tree_compromise.py.
    """
    settings = SETTINGS
    if len(tree.ends) > 1:
        # Several effectors form valleys: follow them, flat ones in long steps.
        settings = replace(settings, rest_turn=1e-7, tracked=ALL_OUTPUTS, least_shift=1e-9)
    acting = target, tolerance
    inputs = tree, state.turn, state.slide, acting, target[:0], caps
    result = minimise(settings, *inputs, is_alone=is_alone)
    return tree.make_state(result.turn, state.slide), result.used


class SquaredErrors(EnergyAtPose):
    """Half the sum of squared errors of outputs (B, rows), least within a tolerance."""

    def __init__(self, bones: BoneRows, posed: PosedRows, error: Array, tolerance: Array) -> None:
        """Take trees, their present pose, errors (B, rows), and tolerances (B,)."""
        self._bones, self._posed, self._error = bones, posed, error
        square = (error * error).sum(axis=1)
        self.total: Array = 0.5 * square
        self.is_least: Flags = square <= tolerance * tolerance

    def derive(self, jacobian: Array) -> tuple[Array, Curve]:
        """Return first derivatives, and a function that returns second ones."""
        error = self._error

        def curve(force: Array) -> Array:
            work = self._bones.curve_outputs(self._posed, force + error, jacobian)
            return work + jacobian.swapaxes(1, 2) @ jacobian

        return -(error[:, None] @ jacobian)[:, 0], curve


def measure_errors(
    bones: BoneRows, goal: tuple[Array, Array]
) -> Callable[[PosedRows, Array], SquaredErrors]:
    """Return the function that measures errors from targets (rows, B), with tolerances (B,)."""
    target, tolerance = chains_first(goal[0]), goal[1]
    return lambda posed, output: SquaredErrors(bones, posed, target - output, tolerance)


# Least saving of a step, as a share of the energy: rest axes in float32 leave directions that save
# next to nothing. With ten times as much, trees solved again move by a ten-millionth.
SLIGHT = 1e-11
SETTINGS = DescentSettings(
    measure_errors,
    rest_turn=1e-5,
    least_shift=1e-7,
    first_shift=1e-6,
    largest_turn=LARGEST_TURN,
    stall_share=SLIGHT,
)
