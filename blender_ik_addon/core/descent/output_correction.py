"""Corrections that restore outputs to the prediction of a step of ``feasible_newton``.

Source: second-order correction (Nocedal and Wright, "Numerical Optimization", 2006, section 18.3);
the damping for straight limbs is derived for this project and tested against SciPy's SLSQP in
tests/core/equilibrium/test_force_equilibrium.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..algebra.arithmetic import Array
from ..algebra.chains_first import apply, choose_first, measure
from ..algebra.output_rows import OutputRows
from .bone_rows import BoneRows
from .held_outputs import NO_ENERGY
from .planned_step import PlannedStep
from .posed_rows import PosedRows

# Largest turn of a joint in a correction, in radians.
MAX_CORRECTION_TURN = 0.5
# Outputs of a straight limb cannot be restored. The damping, as a share of the trace of the system,
# is the first times the violation in lengths of the reach, plus the second.
DAMPING, MIN_DAMPING = 1e-3, 1e-12


def restore_outputs(
    bones: BoneRows, corrections: Sequence[OutputRows], moved: PosedRows, plan: PlannedStep
) -> tuple[PosedRows, Array]:
    """Return poses with restored outputs, and all outputs of these poses.

    Args:
        bones: Bones of the trees.
        corrections: Outputs that each correction restores: the first rows of the step's
            prediction, some or all.
        moved: Poses after the step.
        plan: The step.
    """
    free, total_move, edges = bones.joints.weigh_axes(moved.turn), plan.move, plan.edges
    is_active = plan.step.active.is_active
    output = bones.find_output(moved)
    for rows in corrections:
        current = rows.pick(output)
        residual = plan.prediction[:, : current.shape[1]] - current
        violation = measure(residual)
        is_off = violation > plan.tolerance
        if not is_off.any():
            break
        if edges is not None:
            # An edge that the last correction has reached is active from now on.
            is_active = is_active | edges.find_reached(total_move)
            free = edges.hold(is_active)
        jacobian = rows.pick(bones.find_jacobian(moved))
        by_bone = jacobian.reshape(*jacobian.shape[:2], -1, 1, 3)
        jacobian = (by_bone @ free[:, None]).reshape(jacobian.shape)
        system = jacobian @ jacobian.swapaxes(1, 2)
        share = DAMPING * violation / bones.tree.reach + MIN_DAMPING
        damping = share * np.trace(system, axis1=1, axis2=2) + NO_ENERGY
        system += damping[:, None, None] * np.eye(residual.shape[1])
        correction = np.linalg.solve(system, residual[..., None]).swapaxes(1, 2) @ jacobian
        correction = apply(free, correction.reshape(len(correction), -1, 3))
        largest = np.maximum(measure(correction).max(axis=1), MAX_CORRECTION_TURN)
        correction *= (MAX_CORRECTION_TURN / largest)[:, None, None]
        trial = bones.apply_move(moved, correction)
        new_output = bones.find_output(trial)
        # In corners of ranges a correction may increase the violation.
        remaining = measure(plan.prediction[:, : current.shape[1]] - rows.pick(new_output))
        is_nearer = is_off & (remaining < violation)
        moved, output = trial.choose(is_nearer, moved), choose_first(is_nearer, new_output, output)
        total_move = total_move + np.where(is_nearer[:, None, None], correction, 0.0)
    return moved, output
