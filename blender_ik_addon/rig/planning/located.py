"""Which bones of a chain get their location from it, and which channels of that."""

from __future__ import annotations

import bpy
import numpy as np

from ...core import Solver
from ..reading.animation import driven_paths
from ..reading.chain_plan import ChainPlan
from ..reading.refusals import RigError
from ..reading.skeleton import Skeleton
from ..reading.spec import ChainSpec
from .own_joints import sliding_bones
from .slide import is_connected, slide_axes


def check_dragged(
    armature_object: bpy.types.Object, skeleton: Skeleton, plan: ChainPlan, spec: ChainSpec
) -> None:
    """Raise if a chain that is dragged cannot have its root where it shall be.

    Raises:
        RigError: With one sentence that says what to do next.
    """
    root = plan.written[:1]
    name = skeleton.names[root[0]]
    if spec.moves_root:
        if is_connected(skeleton, root)[0]:
            raise RigError(
                f"Bone '{name}' is connected to its parent, so it cannot be dragged:"
                " clear Connected in edit mode, or choose another solver."
            )
        if armature_object.pose.bones[name].lock_location[:] != (False, False, False):
            raise RigError(
                f"The location of bone '{name}' is locked, so it cannot be dragged: unlock it."
            )
    if (name, "location") in driven_paths(armature_object):
        raise RigError(
            f"Bone '{name}' has a driver on its location, which always wins:"
            " remove the driver, or choose another solver."
        )


def dragged_root(skeleton: Skeleton, plan: ChainPlan, spec: ChainSpec) -> int:
    """Return the root of a chain that is dragged as a whole; -1 for one whose root stays."""
    root = plan.written[:1]
    if spec.options.solver is not Solver.FOLLOW or is_connected(skeleton, root)[0]:
        return -1
    return int(root[0])


def located_bones(skeleton: Skeleton, plan: ChainPlan, spec: ChainSpec) -> frozenset[int]:
    """Return the bones whose location a chain writes.

    Raises:
        RigError: If an own joint cannot be used; the text says what to do next.
    """
    if spec.options.solver is Solver.FOLLOW:
        return frozenset({dragged_root(skeleton, plan, spec)}) - {-1}
    return sliding_bones(skeleton, plan, spec)


def located_components(
    skeleton: Skeleton, plan: ChainPlan, spec: ChainSpec
) -> dict[int, tuple[int, ...]]:
    """Return the components of the location that a chain writes, by bone; as ``located_bones``."""
    root = dragged_root(skeleton, plan, spec)
    found: dict[int, tuple[int, ...]] = {}
    for bone in sorted(located_bones(skeleton, plan, spec)):
        axes = slide_axes(skeleton, np.array([bone]))[0]
        moved = range(3) if bone == root else np.flatnonzero(axes).tolist()
        found[bone] = tuple(moved)
    return found
