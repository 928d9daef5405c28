"""Slides of bones along themselves, by the joints that their chain gives them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Self

import numpy as np

from ...core.algebra.arithmetic import Array, Flags, Indices
from ..reading.animation import driven_bones
from ..reading.batch_record import BatchRecord
from ..reading.channels import read_flags
from ..reading.refusals import RigError
from ..reading.skeleton import Skeleton
from .joints_of_chain import slide_ranges
from .order import PlannedChain

# Components of a slide axis below this are float32 noise around zero: their channel is not written.
MIN_AXIS_COMPONENT = 1e-6


@dataclass(frozen=True)
class ChainSlide(BatchRecord):
    """Ranges and axes of the slides of the k written bones of one chain, or of B chains.

    A slide is counted in the unit of the bone's location channels, along the Y axis of its rest
    pose. It moves the head, whatever the bone's own rotation is.

    Attributes:
        low: Least slides, shape (..., k).
        high: Greatest slides, shape (..., k); zero, as the least, if a bone does not slide.
        axes: Change of the location channels for a slide of one, shape (..., k, 3).
        heads: The same of the heads, in the pose space of the parents, shape (..., k, 3).
        home: Location channels without any slide, shape (..., k, 3).
        root: Head of the root without any slide, in its parent's space, shape (..., 3).
        connected: For one chain: names of bones that shall slide but are connected.
        locked: Names of bones that shall slide and whose location is locked.
    """

    low: Array
    high: Array
    axes: Array
    heads: Array
    home: Array
    root: Array
    connected: tuple[str, ...] = ()
    locked: tuple[str, ...] = ()

    @classmethod
    def of_limbs(
        cls, limbs: Sequence[tuple[Indices, ChainSlide]], home: Array, root: Array
    ) -> Self:
        """Return the slides of the k bones of a body, whose first bone moves with the body.

        Limbs come with the rows of their bones. ``home`` and ``root`` are as in the record.
        """
        count, home = len(home), home.copy()
        low, high, axes, heads = *np.zeros((2, count)), *np.zeros((2, count, 3))
        body_slide = cls(low, high, axes, heads, home, root)
        for rows, limb_slide in limbs:
            is_sliding = _may_slide(limb_slide.low, limb_slide.high) & (rows > 0)
            for name in ("low", "high", "axes", "heads", "home"):
                getattr(body_slide, name)[rows[is_sliding]] = getattr(limb_slide, name)[is_sliding]
        return body_slide

    def of_first(self, count: int) -> ChainSlide:
        """Return the slides of the first ``count`` bones of one chain."""
        names = ("low", "high", "axes", "heads", "home")
        return replace(self, **{name: getattr(self, name)[:count] for name in names})

    @property
    def moves_root(self) -> Flags:
        """Whether the head of the chain's first bone slides, shape (...)."""
        return self.axes[..., 0, :].any(axis=-1)

    def location(self, slides: Array) -> Array:
        """Return the location channels (..., k, 3) of slides (..., k)."""
        return self.home + self.axes * slides[..., None]

    def slides_at(self, location: Array) -> Array:
        """Return the slides (..., k) of location channels (..., k, 3)."""
        # Axes are unit vectors, as columns of a rotation, or zero.
        slides: Array = ((location - self.home) * self.axes).sum(axis=-1)
        return np.where(self.high > self.low, slides, 0.0)

    def within(self, slides: Array) -> Array:
        """Return slides (..., k) brought into their ranges."""
        return np.clip(slides, self.low, self.high)


def slide_axes(skeleton: Skeleton, bones: Indices) -> Array:
    """Return the change of the location channels of bones for a slide of one, shape (m, 3)."""
    along = skeleton.offsets[bones][:, :3, 1]
    along = np.where(np.abs(along) < MIN_AXIS_COMPONENT, 0.0, along)
    is_local = skeleton.use_local_location[bones]
    return np.where(is_local[:, None], np.array([0.0, 1.0, 0.0]), along)


def chain_slide(chain: PlannedChain, ranges: Array, home: Array, present: Array) -> ChainSlide:
    """Return the slides of the written bones of a chain in ranges, as from ``slide_ranges``.

    ``home`` are the location channels without any slide, shape (k, 3). Channels that no slide moves
    keep their ``present`` values, shape (k, 3).
    """
    skeleton, written = chain.skeleton, chain.plan.written
    low, high = ranges.T
    shall_slide = _may_slide(low, high)
    axes = slide_axes(skeleton, written)
    locks = read_flags(chain.object.pose.bones, "lock_location", 3)[written]
    connected = shall_slide & skeleton.is_connected[written]
    locked = shall_slide & ~connected & (locks & (axes != 0.0)).any(axis=1)
    slides = shall_slide & ~connected & ~locked
    names = chain.plan.names
    home = np.where(slides[:, None] & (axes != 0.0), home, present)
    return ChainSlide(
        low=np.where(slides, low, 0.0),
        high=np.where(slides, high, 0.0),
        axes=np.where(slides[:, None], axes, 0.0),
        heads=np.where(slides[:, None], skeleton.offsets[written][:, :3, 1], 0.0),
        home=home,
        root=skeleton.heads(written[:1], home[:1])[0],
        connected=tuple(names[i] for i in np.flatnonzero(connected)),
        locked=tuple(names[i] for i in np.flatnonzero(locked)),
    )


def _may_slide(low: Array, high: Array) -> Flags:
    """Return which bones slide, or have a fixed slide, by their ranges."""
    slides: Flags = (low < high) | (low != 0.0)
    return slides


def check_drivers(chain: PlannedChain) -> None:
    """Raise a ``RigError`` if a bone that slides has a driver on its location."""
    ranges = slide_ranges(chain.plan, chain.spec)
    if ranges is None:
        return
    names = compress(chain.plan.names, ranges.any(axis=1))
    if driven := driven_bones(chain.object, "location").intersection(names):
        raise RigError(
            "Bone '{driven}' has a driver on its location, which always wins: remove the driver, or"
            " switch Slide off in the bone's joint.",
            driven=min(driven),
        )
