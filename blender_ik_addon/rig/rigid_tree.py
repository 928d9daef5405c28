"""One tree of rigid bones: what its start pose needs besides the plan, and what it is like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .channels import Pose, quaternions_of
from .joints import BoneJoints
from .limb import EVEN_SCALE, Limb, is_plain, is_simple
from .tree_plan import TreePlan, free_joints_of, planned_tree

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RigidTree:
    """A tree of k bones that stay rigid: turning one turns all below it.

    Attributes:
        plan: The tree.
        local_wxyz: Local rotations of the start pose, shape (k, 4).
        scale: Scale channels, even where other bones hang on them, shape (k, 3).
    """

    plan: TreePlan
    local_wxyz: Array
    scale: Array

    @cached_property
    def joints(self) -> BoneJoints:
        """The joints of all bones, free ones where the plan has none."""
        return self.plan.joints or free_joints_of(len(self.plan.bones))

    @cached_property
    def turning(self) -> tuple[int, ...]:
        """The chains whose tips take the orientations of their targets."""
        specs = [limb.job.spec for limb in self.plan.limbs]
        return tuple(
            chain
            for chain, spec in enumerate(specs)
            if spec.use_rotation and spec.options.orient_weight > 0.0
        )

    @cached_property
    def poled(self) -> tuple[int, ...]:
        """The chains that have poles."""
        limbs = self.plan.limbs
        return tuple(chain for chain, limb in enumerate(limbs) if limb.job.spec.pole is not None)

    @cached_property
    def likeness(self) -> tuple[object, ...]:
        """What trees must have in common to be solved side by side."""
        plan, options = self.plan, self.plan.options
        return (
            tuple(plan.parents.tolist()),
            plan.count,
            tuple(plan.carriers.tolist()),
            tuple(tuple(rows.tolist()) for rows in plan.rows),
            tuple(plan.modes.tolist()),
            options.solver,
            options.orient_weight,
            options.use_finish,
            self.turning,
            self.poled,
            None if plan.joints is None else (plan.joints.kinds, plan.joints.is_free),
            # The core takes bones without length, and such as branch, together.
            tuple(plan.ways[1:].any(axis=1).tolist()),
            tuple(plan.ends.any(axis=1).tolist()),
            tuple(lever is None for lever in plan.levers),
        )


def rigid_tree(limbs: Sequence[Limb], pose: Pose, of_bones: BoneJoints | None) -> RigidTree | None:
    """Return the tree of chains that share bones; None where the bones may not stay rigid.

    Args:
        limbs: The chains, in the order of the list.
        pose: Of their armature object.
        of_bones: As for ``planned_tree``.
    """
    if not all(is_simple(limb.job) and is_plain(limb.job, pose) for limb in limbs):
        return None
    plan = planned_tree(limbs, pose, of_bones)
    local, scale = quaternions_of(plan.start, plan.modes), pose.scale[plan.bones]
    arrays = (local, scale, pose.location[plan.bones])
    if not all(np.isfinite(array).all() for array in arrays) or (scale <= 0.0).any():
        return None
    above = scale[np.unique(plan.parents[1:])] if len(plan.bones) > 1 else scale[:0]
    if (np.ptp(above, axis=1) > EVEN_SCALE * above.max(axis=1, initial=0.0)).any():
        return None
    if not all(_has_lever(plan, chain) for chain in range(len(limbs))):
        return None
    return RigidTree(plan, local, scale)


def _has_lever(plan: TreePlan, chain: int) -> bool:
    """Tell whether any turn moves the effector of a chain."""
    if plan.ends[chain].any():
        return True
    row = int(plan.carriers[chain])
    while plan.parents[row] >= 0:
        if plan.ways[row].any():
            return True
        row = int(plan.parents[row])
    return False
