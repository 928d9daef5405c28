"""The settings of similar chains or trees, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...core import Forces, SolveOptions
from ...core.algebra.arithmetic import Array
from ...core.model.options import BY_CHAIN
from ..reading.batch_record import Rows
from ..reading.bone_joints import BoneJoints
from ..reading.chain_plan import ChainPlan
from ..reading.channels import quaternions_of
from ..reading.spec import ChainSpec
from ..trees.driven import Driven
from .bone_channels import BoneChannels
from .carried_sides import CarriedSides
from .twist_rows import twist_spread


@dataclass(frozen=True)
class BatchSettings(BoneChannels):
    """The settings of B similar chains, or trees of E chains, of k written bones, as rows.

    Attributes:
        first: The first chain or tree; the others differ from it only in indices and numbers.
        start: Local rotations of the start pose wxyz, shape (B, k, 4).
        options: Solver options, with tolerance and soft distance in scene units.
        tolerance: Accepted distances in scene units, shape (B, E).
        pole_angle: Pole angles in radians, shape (B, E); those of trees include the flip.
        shares: Influences of the chains: the least influence of their bones, shape (B, E).
        weights: Weights of the effectors, shape (B, E).
        carried: Bend sides that follow root and target; None where the chains have none, and for
            trees, which bend from their start poses.
    """

    first: Driven
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
        first, options = driven[0], [tree.options for tree in driven]
        chains = [(tree.live_chains[0].plan, tree.specs[0]) for tree in driven]
        by_chain: Any = {key: np.array([getattr(one, key) for one in options]) for key in BY_CHAIN}
        specs = [tree.specs for tree in driven]
        pole_angle = np.array([[spec.pole_angle for spec in row] for row in specs])
        if first.is_tree:
            # The options of a tree hold for all of its chains.
            flips = [[bool(spec.options.use_flip_bend) for spec in row] for row in specs]
            pole_angle = pole_angle + np.pi * np.array(flips)
        influence = np.array([tree.influence for tree in driven])
        shares = [influence[:, list(rows)].min(axis=1) for rows in first.hanging.rows]
        local = quaternions_of(
            np.concatenate([tree.start for tree in driven]), np.tile(first.modes, len(driven))
        )
        return cls(
            modes=first.modes,
            stored=np.array([tree.stored for tree in driven]),
            influence=influence,
            locks=np.array([tree.locks for tree in driven]),
            uses_4d_locks=np.array([tree.uses_4d_locks for tree in driven]),
            joints=BoneJoints.of_chains([tree.joints for tree in driven]),
            spread=twist_spread(driven),
            first=first,
            start=local.reshape(len(driven), -1, 4),
            options=replace(options[0], **by_chain, keeps_start=bool(first.is_current.any())),
            tolerance=np.array([[float(spec.options.tolerance) for spec in row] for row in specs]),
            pole_angle=pole_angle,
            shares=np.stack(shares, axis=1),
            weights=np.array([tree.weights for tree in driven]),
            carried=None if first.is_tree else CarriedSides.of(chains),
        )

    def __len__(self) -> int:
        """Return the number of chains or trees."""
        return len(self.shares)

    @property
    def spec(self) -> ChainSpec:
        """The settings of the first chain."""
        return self.first.specs[0]

    @property
    def plan(self) -> ChainPlan:
        """The bones of the first chain."""
        return self.first.live_chains[0].plan

    @cached_property
    def is_current(self) -> bool:
        """Whether any bones start from the present pose."""
        return bool(self.first.is_current.any())

    @cached_property
    def is_tree(self) -> bool:
        """Whether bones may branch."""
        return self.first.is_tree

    def start_rotations(
        self, rows: Rows, present: Array, known: Array | None, *, use_present: bool
    ) -> Array:
        """Return start poses as local rotations wxyz (b, k, 4); arguments as ``recover_solution``.

        Bones with ``is_current`` start from the present pose, all bones if ``use_present``.
        """
        if not (self.is_current or use_present):
            return self.start[rows]
        resumed = self.recover_solution(rows, present, known)
        return np.where(self.first.is_current[:, None] | use_present, resumed, self.start[rows])

    def near(self, rows: Rows, present: Array) -> Array:
        """Return the rotation channels (b, k, 4) to stay near; locked channels keep them."""
        stored: Array = self.stored[rows]
        if not self.is_current:
            return stored
        return np.where(self.first.is_current[:, None], present, stored)

    def with_optimum(self, forces: Forces | None, pick: Rows) -> Forces | None:
        """Return forces on some chains, with stored optima if bones start from the present pose."""
        if forces is None or self.joints is None or not self.is_current:
            return forces
        # Springs that rest in the present pose would give way a little more at every update.
        zero = self.zero[pick, : forces.shape[-1]]
        return replace(forces, optimum_wxyz=self.joints.take(pick).turns_of(zero))
