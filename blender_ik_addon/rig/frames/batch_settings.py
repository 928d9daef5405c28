"""What chains or trees alike are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...core import Forces, SolveOptions
from ...core.algebra.arithmetic import Array
from ...core.model.options import BY_CHAIN
from ..reading.chain_plan import ChainPlan
from ..reading.channels import quaternions_of
from ..reading.rows import Rows
from ..reading.spec import ChainSpec
from ..trees.driven import Driven
from .bone_channels import BoneChannels
from .carried_sides import CarriedSides
from .chain_joints import ChainJoints
from .twist_rows import twist_spread


@dataclass(frozen=True)
class BatchSettings(BoneChannels):
    """The settings of B chains, or trees of E chains, alike, of k written bones. One row each.

    Attributes:
        like: The first one: what all have in common, but for indices and numbers.
        start: Local rotations to start from wxyz, shape (B, k, 4).
        options: With tolerance and soft distance in scene units.
        tolerance: Accepted distances in scene units, shape (B, E).
        pole_angle: Radians; flips of trees are in it, shape (B, E).
        shares: Influences of the chains, the least of their bones', shape (B, E).
        weights: Of the effectors, shape (B, E).
        carried: The sides that go along with root and target; None where none do.
    """

    like: Driven
    start: Array
    options: SolveOptions
    tolerance: Array
    pole_angle: Array
    shares: Array
    weights: Array
    carried: CarriedSides | None

    @classmethod
    def of(cls, driven: Sequence[Driven]) -> BatchSettings:
        """Return the settings of chains or trees that have the same key."""
        first, each = driven[0], [own.options for own in driven]
        by_chain: Any = {name: np.array([getattr(own, name) for own in each]) for name in BY_CHAIN}
        specs = [own.specs for own in driven]
        pole_angle = np.array([[spec.pole_angle for spec in own] for own in specs])
        if first.is_tree:
            # The options of a tree hold for all of its chains.
            flips = [[bool(spec.options.use_flip_bend) for spec in own] for own in specs]
            pole_angle = pole_angle + np.pi * np.array(flips)
        influence = np.array([own.influence for own in driven])
        shares = [influence[:, list(rows)].min(axis=1) for rows in first.hanging.rows]
        local = quaternions_of(
            np.concatenate([own.start for own in driven]), np.tile(first.modes, len(driven))
        )
        return cls(
            modes=first.modes,
            stored=np.array([own.stored for own in driven]),
            influence=influence,
            locks=np.array([own.locks for own in driven]),
            uses_4d_locks=np.array([own.uses_4d_locks for own in driven]),
            joints=ChainJoints.of([own.joints for own in driven]),
            spread=twist_spread(driven),
            like=first,
            start=local.reshape(len(driven), -1, 4),
            options=replace(
                each[0],
                **by_chain,
                keeps_start=bool(first.is_current.any()),
            ),
            tolerance=np.array([[float(spec.options.tolerance) for spec in own] for own in specs]),
            pole_angle=pole_angle,
            shares=np.stack(shares, axis=1),
            weights=np.array([own.weights for own in driven]),
            carried=_carried(driven),
        )

    def __len__(self) -> int:
        """Return the number of chains or trees."""
        return len(self.shares)

    @property
    def spec(self) -> ChainSpec:
        """The settings of the first chain."""
        return self.like.specs[0]

    @property
    def plan(self) -> ChainPlan:
        """The bones of the first chain."""
        return self.like.live_chains[0].plan

    @cached_property
    def is_current(self) -> bool:
        """Whether any bones start from what stands there."""
        return bool(self.like.is_current.any())

    @cached_property
    def is_tree(self) -> bool:
        """Whether bones may branch."""
        return self.like.is_tree

    def begun(
        self, rows: Rows, present: Array, known: Array | None, *, goes_on: bool = False
    ) -> Array:
        """Return the local rotations wxyz (b, k, 4) to start from, some of what stands there.

        All of them where the whole pose ``goes_on``; the other arguments are as for ``resumed``.
        """
        if not (self.is_current or goes_on):
            return self.start[rows]
        there = self.resumed(rows, present, known)
        return np.where(self.like.is_current[:, None] | goes_on, there, self.start[rows])

    def near(self, rows: Rows, present: Array) -> Array:
        """Return the rotation channels (b, k, 4) to stay near, which locks hold."""
        stored: Array = self.stored[rows]
        if not self.is_current:
            return stored
        return np.where(self.like.is_current[:, None], present, stored)

    def with_optimum(self, forces: Forces | None, pick: Rows) -> Forces | None:
        """Return forces on some of the chains, whose springs rest in the stored pose if need be."""
        if forces is None or self.joints is None or not self.is_current:
            return forces
        # Springs that rest where the bones stand now would give way at every update.
        zero = self.zero[pick, : forces.shape[-1]]
        return replace(forces, optimum_wxyz=self.joints.take(pick).turns_of(zero))


def _carried(driven: Sequence[Driven]) -> CarriedSides | None:
    """Return the sides that chains carry; those of a tree bend from where they start."""
    if driven[0].is_tree:
        return None
    chains = [own.live_chains[0] for own in driven]
    return CarriedSides.of([(each.plan, each.spec) for each in chains])
