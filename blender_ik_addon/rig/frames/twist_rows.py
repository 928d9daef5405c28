"""Rows of twist spread for similar limbs: axes and shares of bones, and which segments may roll."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array
from ...core.algebra.twist_spread import Segment, TwistSpread
from ..planning.live_chain import EVEN_SCALE
from ..trees.driven import Driven

# Greatest sine of the angle between a segment and the Y axis of its bone that counts as along it.
MAX_OFF_AXIS_SINE = 1e-5
BONE_AXIS = np.array([0.0, 1.0, 0.0])


def twist_spread(limbs: Sequence[Driven]) -> TwistSpread | None:
    """Return how similar limbs spread twist; None for limbs without segments that spread it."""
    segments, parents = limbs[0].spread, limbs[0].hanging.parents
    if not segments:
        return None
    rows = [_rows(limb, segments) for limb in limbs]
    axes, before, shares = (np.array(values) for values in zip(*rows, strict=True))
    may_roll = [
        [_may_roll(limb, limb_axes, segment) for segment in segments]
        for limb, limb_axes in zip(limbs, axes, strict=True)
    ]
    return TwistSpread(segments, parents, axes, before, shares, np.array(may_roll))


def _rows(limb: Driven, segments: Sequence[Segment]) -> tuple[Array, Array, Array]:
    """Return twist axes (k, 3), axes of the parents (k, 3), and shares of the twist (k,)."""
    skeleton, bones, heads = limb.skeleton, limb.bones, limb.ways
    axes, before = np.tile(BONE_AXIS, (2, len(bones), 1))
    shares = np.zeros(len(bones))
    for segment in segments:
        # Distances along the line at which its bones begin, then its length.
        begins = [0.0]
        for row, below in zip(segment.line, (*segment.line[1:], segment.end), strict=True):
            length = float(np.linalg.norm(heads[below]))
            axes[row] = heads[below] / length if length > 0.0 else BONE_AXIS
            begins.append(begins[-1] + length)
        lines = zip(segment.line, begins[:-1], strict=True)
        parents = {bones[row]: (row, begin) for row, begin in lines}
        for row in (*segment.line[1:], *segment.helpers, segment.end):
            above, begin = parents[skeleton.parents[bones[row]]]
            turned = rotation.conjugate(skeleton.offsets_wxyz[bones[row]])
            before[row] = rotation.rotate(turned, axes[above])
            if row != segment.end:
                at = begin + float(heads[row] @ axes[above])
                shares[row] = np.clip(at / (begins[-1] or 1.0), 0.0, 1.0)
        for row in segment.helpers:
            axes[row] = before[row]
    return axes, before, shares


def _may_roll(limb: Driven, axes: Array, segment: Segment) -> bool:
    """Return whether the bones of a segment can roll without moving anything else.

    They cannot if a rotation is locked, a bone inherits only part of its parent's transform, a rest
    matrix does more than rotate, or a rolled bone's scale differs between directions across it.
    """
    skeleton, changed = limb.skeleton, list(segment.changed)
    bones = limb.bones[[row for row in segment.changed if row != segment.line[0]]]
    is_whole = skeleton.takes_whole_parent[bones].all() and skeleton.has_square_rest[bones].all()
    # The lock of W counts only if the locks of X, Y and Z apply to quaternion components.
    is_locked = limb.locks[changed] & (limb.uses_4d_locks[changed, None] | (np.arange(4) < 3))
    if not is_whole or is_locked.any():
        return False
    rolled = [row for row in segment.line if row in segment.rolled]
    return all(_rolls_round(limb.scale[row], axes[row]) for row in rolled)


def _rolls_round(scale: Array, axis: Array) -> bool:
    """Return whether a scale is the same in all directions across an axis."""
    slack = EVEN_SCALE * np.abs(scale).max()
    is_along = np.hypot(axis[0], axis[2]) <= MAX_OFF_AXIS_SINE
    return bool(abs(scale[0] - scale[2]) <= slack and (is_along or np.ptp(scale) <= slack))
