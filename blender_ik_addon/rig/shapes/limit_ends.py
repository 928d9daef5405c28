"""The ends of a joint's ranges, and the lines along which they can be moved, in world space."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import bpy
import numpy as np

from ...core.algebra.arithmetic import Array
from ..planning.live_chain import Known, known_chain
from .chain_lines import read_evaluated_pose
from .limit_outlines import PlacedLimits, compile_outlines, place_outlines
from .limit_shapes import point_arc, point_swing


@dataclass(frozen=True)
class LimitEnd:
    """One end of a joint's range about one axis.

    Attributes:
        axis: 0, 1 or 2 for X, Y or Z.
        is_max: Whether it is the maximum.
        angle: Radians.
        limits: The limits of its chain.
        outline: Index of its outline in ``limits``.
        across: For a swing, sin(angle / 2) about its other axis where that is nearest to zero.
    """

    axis: int
    is_max: bool
    angle: float
    limits: PlacedLimits
    outline: int
    across: float

    @cached_property
    def point(self) -> Array:
        """The position of this end, world space, shape (3,)."""
        point: Array = self.points(np.array([self.angle]))[0]
        return point

    def points(self, angles: Array) -> Array:
        """Return the positions of this end at other angles (m,), world space, shape (m, 3)."""
        if self.limits.outlines.outlines[self.outline].arc is not None:
            return self.limits.point_at(self.outline, point_arc(self.axis, angles))
        along = np.sin(0.5 * np.clip(angles, -math.pi, math.pi))
        # A swing is half a turn at most: both sines together must not exceed 1.
        divisor = np.maximum(np.hypot(along, self.across), 1.0)
        swing = along / divisor, np.full_like(along, self.across) / divisor
        x, z = swing if self.axis == 0 else swing[::-1]
        return self.limits.point_at(self.outline, point_swing(x, z))


def find_ends(armature_object: bpy.types.Object, known: Known, bone: str) -> list[LimitEnd]:
    """Return the ends of the ranges of a bone in a chain; none if the bone turns freely.

    The viewport has evaluated the pose of the object.

    Raises:
        RigError: If the chain has no bones, or a joint of it cannot be used.
    """
    plan, joints = known_chain(armature_object, known)
    skeleton = plan.skeleton
    rows = np.flatnonzero(plan.written == skeleton.index.get(bone, -1))
    if joints is None or not rows.size:
        return []
    outlines = compile_outlines(skeleton, plan.written, joints)
    pose = read_evaluated_pose(armature_object, len(skeleton.names))
    if outlines is None or pose is None:
        return []
    limits = place_outlines(outlines, pose)
    return list(_iterate_ends(limits, int(rows[0])))


def _iterate_ends(limits: PlacedLimits, row: int) -> Iterator[LimitEnd]:
    joints = limits.outlines.joints
    low, high = joints.low[row], joints.high[row]
    nearest_to_zero = np.clip(0.0, low, high)
    for index, outline in enumerate(limits.outlines.outlines):
        if outline.row != row:
            continue
        for axis in (0, 2) if outline.arc is None else (outline.arc.axis,):
            other = nearest_to_zero[2 - axis] if outline.arc is None else 0.0
            for is_max, angle in ((False, low[axis]), (True, high[axis])):
                if math.isfinite(angle) and not joints.is_locked[row, axis]:
                    across = math.sin(0.5 * other)
                    yield LimitEnd(axis, is_max, float(angle), limits, index, across)
