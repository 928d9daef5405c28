"""Which bones of a chain get their location from it, and which channels of that."""

from __future__ import annotations

import numpy as np

from ..reading.animation import driven_paths
from ..reading.chain_plan import ChainPlan
from ..reading.channels import read_flags
from ..reading.refusals import RigError
from ..reading.skeleton import Skeleton
from ..reading.spec import ChainSpec
from .order import Job
from .own_joints import sliding_bones
from .slide import slide_axes


def check_dragged(job: Job) -> None:
    """Raise if a chain that is dragged cannot have its root where it shall be.

    Raises:
        RigError: With one sentence that says what to do next.
    """
    root, name = job.plan.written[:1], job.written_names()[0]
    if job.spec.moves_root:
        if job.skeleton.is_connected[root[0]]:
            raise RigError(
                f"Connected is on for bone '{name}', so it cannot be dragged:"
                " clear Connected in edit mode, switch Anchor on, or choose another solver."
            )
        if read_flags(job.object.pose.bones, "lock_location", 3)[root].any():
            raise RigError(
                f"The location of bone '{name}' is locked, so it cannot be dragged: unlock it."
            )
    if (name, "location") in driven_paths(job.object):
        raise RigError(
            f"Bone '{name}' has a driver on its location, which always wins:"
            " remove the driver, or choose another solver."
        )


def dragged_root(skeleton: Skeleton, plan: ChainPlan, spec: ChainSpec) -> int:
    """Return the root of a chain that is dragged as a whole; -1 for one whose root stays."""
    root = plan.written[:1]
    if not spec.is_dragged or skeleton.is_connected[root[0]]:
        return -1
    return int(root[0])


def located_bones(skeleton: Skeleton, plan: ChainPlan, spec: ChainSpec) -> frozenset[int]:
    """Return the bones whose location a chain writes.

    Raises:
        RigError: If an own joint cannot be used; the text says what to do next.
    """
    if spec.is_dragged:
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
