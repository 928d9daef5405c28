"""Ranges of joints that bend one way in a whole clip: they get neither straight nor bend back."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from ..algebra import rotation
from ..algebra.arithmetic import Array, Indices

# Cosine between segments of a folded joint, here by 160 degrees. A limb whose end passes its root
# folds, and then bends the other way; knees and elbows of bodies do not fold as far.
FOLDED = -0.94
# Share of the least bend of a clip that stays. With 1, tails that are nearly straight at one frame
# cannot move smoothly; ten times smaller lets limbs get straight.
LEAST_BEND_SHARE = 0.5


class BendRanges(NamedTuple):
    """Cones in which bones stay; vectors are of unit length.

    Attributes:
        bones: Rows of the bones, shape (m,).
        segments: Directions of the bones in their own axes, shape (F, m, 3).
        axes: Directions in which they bend, in the frames that they rotate in, shape (m, 3).
        least: Least cosines that both may have, shape (m,).
    """

    bones: Indices
    segments: Array
    axes: Array
    least: Array

    @classmethod
    def of(cls, bones: Indices, above: Array, segments: Array, local: Array) -> Self:
        """Return the ranges of those bones that bend one way and never fold.

        Args:
            bones: Rows of bones that hang under others, shape (m,).
            above: Segments of the bones above, in the frames that these bones rotate in, (F, m, 3).
            segments: Segments of the bones, in the same frames, shape (F, m, 3).
            local: Rotations of all bones in these frames, shape (F, k, 4).
        """
        above, segments = rotation.unit(above), rotation.unit(segments)
        straightness = (segments * above).sum(axis=2, keepdims=True)
        bends = segments - straightness * above
        axes = rotation.unit(rotation.unit(bends).sum(axis=0))
        least = (segments * axes).sum(axis=2).min(axis=0)
        rows = np.flatnonzero((least > 0.0) & (straightness.min(axis=(0, 2)) > FOLDED))
        back = rotation.conjugate(local[:, bones[rows]])
        segments = rotation.rotate(back, segments[:, rows])
        return cls(bones[rows], segments, axes[rows], LEAST_BEND_SHARE * least[rows])

    def take(self, frames: Indices) -> Self:
        """Return the ranges in some of the frames."""
        return self._replace(segments=self.segments[frames])

    def hold(self, local: Array) -> Array:
        """Return rotations (F, k, 4), those of bones outside of their range swung to its edge."""
        held = local.copy()
        segments = rotation.rotate(local[:, self.bones], self.segments)
        cosines = (segments * self.axes).sum(axis=2, keepdims=True)
        across = rotation.unit(segments - cosines * self.axes)
        least = np.maximum(cosines, self.least[:, None])
        edges = least * self.axes + np.sqrt(1.0 - np.minimum(least, 1.0) ** 2) * across
        swings = rotation.between(segments, edges)
        held[:, self.bones] = rotation.multiply(swings, local[:, self.bones])
        return held
