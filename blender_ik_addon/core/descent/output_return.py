"""Outputs brought back to where a step of ``feasible_newton`` shall leave them, by least turns.

Source: second-order correction (Nocedal and Wright, "Numerical Optimization", 2006, section 18.3);
that straight limbs give way is derived for this project and tested against SciPy's SLSQP in
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

# The most that joints turn for it, in radians.
LARGEST_RETURN = 0.5
# Where a limb is straight outputs cannot be brought back: they give way, more the farther they are
# off, and always a little.
GIVE, LEAST_GIVE = 1e-3, 1e-12


def bring_back(
    bones: BoneRows, returns: Sequence[OutputRows], moved: PosedRows, plan: PlannedStep
) -> tuple[PosedRows, Array]:
    """Return poses whose outputs are brought back, and all of these outputs.

    Args:
        bones: Of the trees.
        returns: What is brought back, one time after the other: of what the step has planned the
            first rows, some or all.
        moved: Where the step has led.
        plan: The step.
    """
    free, way, edges = bones.joints.weigh_axes(moved.turn), plan.move, plan.edges
    is_shut = plan.step.known.is_shut
    output = bones.find_output(moved)
    for rows in returns:
        reached = rows.pick(output)
        error = plan.planned[:, : reached.shape[1]] - reached
        gap = measure(error)
        is_off = gap > plan.near
        if not is_off.any():
            break
        if edges is not None:
            # An edge that the last return has come to holds from now on.
            is_shut = is_shut | edges.stop(way)
            free = edges.hold(is_shut)
        jacobian = rows.pick(bones.find_jacobian(moved))
        by_bone = jacobian.reshape(*jacobian.shape[:2], -1, 1, 3)
        jacobian = (by_bone @ free[:, None]).reshape(jacobian.shape)
        system = jacobian @ jacobian.swapaxes(1, 2)
        share = GIVE * gap / bones.tree.reach + LEAST_GIVE
        give = share * np.trace(system, axis1=1, axis2=2) + NO_ENERGY
        system += give[:, None, None] * np.eye(error.shape[1])
        back = np.linalg.solve(system, error[..., None]).swapaxes(1, 2) @ jacobian
        back = apply(free, back.reshape(len(back), -1, 3))
        largest = np.maximum(measure(back).max(axis=1), LARGEST_RETURN)
        back *= (LARGEST_RETURN / largest)[:, None, None]
        after = bones.turn_on(moved, back)
        there = bones.find_output(after)
        # In corners of ranges what shall bring outputs back may lead them away.
        left = measure(plan.planned[:, : reached.shape[1]] - rows.pick(there))
        is_nearer = is_off & (left < gap)
        moved, output = after.choose(is_nearer, moved), choose_first(is_nearer, there, output)
        way = way + np.where(is_nearer[:, None, None], back, 0.0)
    return moved, output
