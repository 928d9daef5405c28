"""The rolls of a tree's free bones: kept from the start pose, as those of free chains are.

How a straight limb is rolled moves nothing, so the core leaves it to the way that it has come; the
next target may then have it otherwise. Here every bone swings, in the space of its own parent, by
the shortest rotation that points it where it shall be.
"""

from __future__ import annotations

from collections.abc import Container

import numpy as np
import numpy.typing as npt

from ..core.algebra import rotation
from . import spaces
from .tree_plan import TreePlan
from .tree_pose import TreeFrame, TreePose

Array = npt.NDArray[np.float64]


def with_rolls_of_start(
    frame: TreeFrame, start: TreePose, pose: TreePose, kept: Container[int]
) -> TreePose:
    """Return a pose whose free bones point as they do and have no more roll than they need.

    Args:
        frame: The tree; its bones turn freely.
        start: Its start pose.
        pose: As solved.
        kept: Rows of bones whose whole rotation is wanted.
    """
    plan, levers = frame.plan, frame.plan.levers

    def local(row: int, parent: spaces.ParentFrames) -> Array:
        if row >= plan.count:
            own: Array = pose.rotations[row]
            return own
        lever = levers[row]
        if lever is None or row in kept:
            return spaces.local_from_pose(parent, pose.matrices[row], frame.scale[row])
        before: Array = start.rotations[row]
        segment = before @ spaces.local_start(parent, lever, frame.scale[row])
        wanted = spaces.local_direction(parent, pose.matrices[row] @ lever, segment)
        swing = rotation.matrix_from_quaternion(rotation.between(segment, wanted))
        return swing @ before

    return frame.walked(local)


def limb_root(plan: TreePlan, chain: int) -> int:
    """Return the row of the bone that turns the limb of a chain toward its pole.

    As the core has it: the first of the bones that move its effector and else only what goes on
    from there, or of all that move it where those are fewer than two.
    """
    carrier = int(plan.carriers[chain])
    paths = [_path(plan, int(each)) for each in plan.carriers]
    others = {row for path in paths if carrier not in path for row in path}
    own = [row for row in _path(plan, carrier) if row not in others]
    return own[-1] if len(own) > 1 else 0


def _path(plan: TreePlan, row: int) -> list[int]:
    """Return a bone's row and those of all bones above it, the bone first."""
    found = []
    while row >= 0:
        found.append(row)
        row = int(plan.parents[row])
    return found
