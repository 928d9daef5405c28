"""The root of a body, which moves in all directions and turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from ...core.algebra.arithmetic import Array, Indices
from ..planning.live_chain import LiveChain
from ..reading.batch_record import BatchRecord
from ..reading.channels import Pose


@dataclass(frozen=True)
class Floating(BatchRecord):
    """The place of the root without the body, for one body of k bones or for B bodies.

    Attributes:
        location: Location channels of all bones: present ones, but for the root, whose channels
            are those without the body, shape (..., k, 3).
        head: Head of the root in its parent's space, without the body, shape (..., 3).
        channels: Linear maps from moves of the head in its parent's space to changes of location
            channels, shape (..., 3, 3).
    """

    location: Array
    head: Array
    channels: Array

    @classmethod
    def of(cls, live_chains: Sequence[LiveChain], bones: Indices, pose: Pose) -> Self:
        """Return the place of a body's root, from the body's chains and its bones, root first."""
        skeleton, home = live_chains[0].skeleton, live_chains[0].home
        assert home is not None
        head, adds = skeleton.head_by_location(int(bones[0]))
        location = pose.location[bones].astype(np.float64)
        location[0] = home
        return cls(location, head + adds @ home, np.linalg.inv(adds))

    def moved(self, ways: Array, location: Array | None) -> Array:
        """Return location channels (..., k, 3) with the heads of roots moved by vectors (..., 3).

        Args:
            ways: Vectors in the space of the root's parent.
            location: Location channels of all bones, if some slide; None for ``self.location``.
        """
        location = (self.location if location is None else location).copy()
        location[..., 0, :] += (self.channels @ ways[..., None])[..., 0]
        return location
