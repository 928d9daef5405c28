"""A body: chains that share bones whose root moves as well as it turns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ..planning.slide import ChainSlide
from .body_floor import AboveFloor
from .body_limbs import BodyLimb
from .driven import BatchKey, Driven
from .floating import Floating


@dataclass(frozen=True, eq=False)
class BodyPlan(Driven):
    """The k bones that the E chains of a body write together.

    Attributes:
        floating: How the root moves.
        limbs: What is solved by itself first.
        standing: What stays above its floor; None without a floor.
    """

    floating: Floating
    limbs: tuple[BodyLimb, ...]
    standing: AboveFloor | None

    @cached_property
    def slide(self) -> ChainSlide | None:
        """How far bones of limbs may slide; the root moves as the body does."""
        limbs = [(limb.rows, limb.driven.slide) for limb in self.limbs]
        sliding = [(rows, own) for rows, own in limbs if own is not None]
        place = self.floating.location, self.floating.head
        return ChainSlide.of_limbs(sliding, *place) if sliding else None

    @cached_property
    def batch_key(self) -> BatchKey:
        """What bodies must have in common to be solved side by side."""
        rows = None if self.standing is None else self.standing.rows
        own = self.priorities, tuple(limb.batch_key for limb in self.limbs), rows
        return super().batch_key._replace(body=own)
