"""The root of a body: it moves to all sides as well as it turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from ...core.algebra.arithmetic import Array, Indices
from ..planning.live_chain import LiveChain
from ..reading.channels import Pose
from ..reading.rows import Alike


@dataclass(frozen=True)
class Floating(Alike):
    """Where the root of a body of k bones is without the body, and how it moves; or of B bodies.

    Attributes:
        location: Location channels of all bones, as they stand but for the root's, which are those
            without the body, shape (..., k, 3).
        head: The root's head in its parent's space, without the body, shape (..., 3).
        channels: What a way of its head in its parent's space adds to location channels, shape
            (..., 3, 3).
    """

    location: Array
    head: Array
    channels: Array

    @classmethod
    def of(cls, live_chains: Sequence[LiveChain], bones: Indices, pose: Pose) -> Self:
        """Return that of the chains of a body, whose bones are these, its root first."""
        skeleton, home = live_chains[0].skeleton, live_chains[0].home
        assert home is not None
        head, adds = skeleton.head_by_location(int(bones[0]))
        location = pose.location[bones].astype(np.float64)
        location[0] = home
        return cls(location, head + adds @ home, np.linalg.inv(adds))

    def moved(self, ways: Array, location: Array | None = None) -> Array:
        """Return location channels (..., k, 3) with roots moved by ways (..., 3) from there.

        Args:
            ways: In the space of the root's parent.
            location: Of all bones, where some slide; None for those that stand.
        """
        location = (self.location if location is None else location).copy()
        location[..., 0, :] += (self.channels @ ways[..., None])[..., 0]
        return location
