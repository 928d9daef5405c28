"""Goals that cannot all be met: Newton's method on the sum of weighted squared errors.

Gauss-Newton takes what the effectors' paths curve for nothing, which holds only where errors
vanish. Where some remain it swings from side to side of the best pose; with the curvature it lands.
"""

from __future__ import annotations

from collections.abc import Callable

from ..algebra.arithmetic import Array, Counts, Flags
from ..kinematics.kinematic_tree import KinematicTree
from .constrained_step import Curve
from .feasible_newton import Settings, minimise
from .newton_joints import LARGEST_TURN
from .posed_rows import BoneRows, PosedRows, chains_first


def compromise(
    tree: KinematicTree,
    state: Array,
    target: Array,
    tolerance: Array,
    caps: Counts,
    *,
    is_alone: bool,
) -> tuple[Array, Counts]:
    """Return states in which weighted errors are least, and the steps taken, (B,).

    Args:
        tree: The trees.
        state: As ``kinematic_tree`` describes, shape (n + 1, C, B).
        target: Of the effectors, times the roots of their weights, shape (3 E, B).
        tolerance: Errors, all together, that are none, shape (B,).
        caps: Of the steps, shape (B,).
        is_alone: Whether all are one tree.

    Source: Newton's method (Nocedal and Wright, "Numerical Optimization", 2006, section 10.3) with
    a second-order correction (ibid., section 18.3) that brings effectors back to where the linear
    model has them, so that a step may go far along a curved valley. Tested in
    tests/core/solving/test_tree_compromise.py.
    """
    acting = target, tolerance
    turn, used = minimise(SETTINGS, tree, state, acting, target, caps, is_alone=is_alone)
    return tree.clamp_state(turn, state[:-1, 4]), used


class SquaredErrors:
    """Half the sum of the squared errors of outputs (B, k)."""

    def __init__(self, bones: BoneRows, posed: PosedRows, target: Array, tolerance: Array) -> None:
        """Take trees, where they stand, their targets (B, k), and errors (B,) that are none."""
        self._bones, self._posed = bones, posed
        self._error = target - bones.find_output(posed)
        square = (self._error * self._error).sum(axis=1)
        self.total: Array = 0.5 * square
        self.is_least: Flags = square <= tolerance * tolerance

    def derive(self) -> tuple[Array, Curve]:
        """Return first derivatives and the function of second ones; no output is held."""
        jacobian, error = self._bones.find_jacobian(self._posed), self._error
        slope = -(error[:, None] @ jacobian)[:, 0]

        def curve(_jacobian: Array, _force: Array) -> Array:
            # Aims weigh little, and are curved less than they tell.
            of_tips = 3 * len(self._bones.tree.ends)
            pulls = error[:, :of_tips].reshape(len(error), -1, 3)
            work = self._bones.curve_work(self._posed, pulls, jacobian[:, :of_tips])
            return work + jacobian.swapaxes(1, 2) @ jacobian

        return slope, curve

    def foresee(self, _move: Array) -> bool:
        """Tell that nothing acts otherwise after moves."""
        return False


def _measure(bones: BoneRows, goal: tuple[Array, Array]) -> Callable[[PosedRows], SquaredErrors]:
    target, tolerance = chains_first(goal[0]), goal[1]
    return lambda posed: SquaredErrors(bones, posed, target, tolerance)


SETTINGS = Settings(
    measure=_measure,
    holds=False,
    returns=False,
    rests=1e-7,
    least_shift=1e-7,
    largest_turn=LARGEST_TURN,
    first_shift=1e-6,
    slight=0.0,
)
