"""Along which bones of chains alike turns are spread: their axes, shares, and what forbids it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array
from ...core.algebra.twist_spread import Segment, TwistSpread
from ..planning.live_chain import EVEN_SCALE
from ..trees.driven import Driven

# Segments that lie off the Y axes of their bones by less than this sine lie along them.
ALONG_BONE = 1e-5
ALONG = np.array([0.0, 1.0, 0.0])


def twist_spread(limbs: Sequence[Driven]) -> TwistSpread | None:
    """Return how turns are spread along limbs alike; None for limbs without segments for it."""
    segments, parents = limbs[0].spread, limbs[0].hanging.parents
    if not segments:
        return None
    rows = [_rows(limb, segments) for limb in limbs]
    axes, before, shares = (np.array(each) for each in zip(*rows, strict=True))
    may_roll = [
        [_may_roll(limb, own, segment) for segment in segments]
        for limb, own in zip(limbs, axes, strict=True)
    ]
    return TwistSpread(segments, parents, axes, before, shares, np.array(may_roll))


def _rows(limb: Driven, segments: Sequence[Segment]) -> tuple[Array, Array, Array]:
    """Return axes (k, 3), those of parents (k, 3), and shares (k,) of bones."""
    skeleton, bones, heads = limb.skeleton, limb.bones, limb.ways
    axes, before = np.tile(ALONG, (2, len(bones), 1))
    shares = np.zeros(len(bones))
    for segment in segments:
        # Where each bone of the line begins along it, and where the line ends.
        begins = [0.0]
        for row, below in zip(segment.line, (*segment.line[1:], segment.end), strict=True):
            length = float(np.linalg.norm(heads[below]))
            axes[row] = heads[below] / length if length > 0.0 else ALONG
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
    """Tell whether the bones of a segment can roll without moving anything.

    Not those that have locked rotations, or take their parents' transforms in part, and no line of
    bones that are longer in one direction across it than in another.
    """
    skeleton, changed = limb.skeleton, list(segment.changed)
    hung = limb.bones[[row for row in segment.changed if row != segment.line[0]]]
    is_whole = skeleton.takes_whole_parent[hung].all() and skeleton.has_square_rest[hung].all()
    # The lock of W counts only beside those of X, Y and Z as they are.
    is_locked = limb.locks[changed] & (limb.uses_4d_locks[changed, None] | (np.arange(4) < 3))
    if not is_whole or is_locked.any():
        return False
    rolled = [row for row in segment.line if row in segment.rolled]
    return all(_rolls_round(limb.scale[row], axes[row]) for row in rolled)


def _rolls_round(scale: Array, axis: Array) -> bool:
    """Tell whether a scale is the same all around an axis."""
    slack = EVEN_SCALE * np.abs(scale).max()
    is_along = np.hypot(axis[0], axis[2]) <= ALONG_BONE
    return bool(abs(scale[0] - scale[2]) <= slack and (is_along or np.ptp(scale) <= slack))
