"""A body: chains that share bones, with a root that moves and turns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ...core.algebra.arithmetic import Array
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
        limbs: Limbs that are solved by themselves first.
        above_floor: Points that stay above the floor; None without a floor.
        influence: As of other trees, but chains that pass the bone count with ``shares``.
        carrier_shares: Least influences of the limbs that carry the chains, shape (E,).
        shares: Influences of the chains on the bones that carry them, shape (E,): as
            ``carrier_shares`` if these are less than their own.
        pulls: Shares of the way that the body covers for the chains: the least of their own and
            those of the limbs that carry them, shape (E,).
    """

    floating: Floating
    limbs: tuple[BodyLimb, ...]
    above_floor: AboveFloor | None
    carrier_shares: Array
    shares: Array
    pulls: Array

    @cached_property
    def slide(self) -> ChainSlide | None:
        """How far bones of limbs may slide, and the root with the body; None without slides."""
        limbs = [(limb.rows, limb.driven.slide) for limb in self.limbs]
        sliding = [(rows, slide) for rows, slide in limbs if slide is not None]
        root_place = self.floating.location, self.floating.head
        return ChainSlide.of_limbs(sliding, *root_place) if sliding else None

    @cached_property
    def batch_key(self) -> BatchKey:
        """Key that bodies solved side by side have in common."""
        rows = None if self.above_floor is None else self.above_floor.rows
        of_body = self.priorities, tuple(limb.batch_key for limb in self.limbs), rows
        return super().batch_key._replace(body=of_body)
