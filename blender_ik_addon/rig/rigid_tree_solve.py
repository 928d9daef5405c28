"""Solve trees of rigid bones side by side: targets in, rotation channels out, nothing else.

As chains of rigid bones, trees are solved in their *bases*, the spaces that their root bones turn
in. The long way of ``tree_solving``, bone by bone through any parent matrix, gives the same and is
what tests/blender/test_trees_rigid.py compares this with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..core import Goals, Solutions, SolveOptions, Status, solve_batch
from ..core.algebra import rotation
from ..core.kinematics.joint_limits import clamp_rotations as clamped
from ..core.model.status import STATUSES
from . import spaces
from .bases import Bases, points_in_base
from .chain_frames import LENGTHS_AGREE
from .chain_settings import rotation_channels
from .rigid_rolls import RigidRolls
from .rigid_tree import RigidTree
from .rigid_tree_start import core_trees, posed_trees, turned_trees, zeros_of
from .tree_plan import NOT_TURNED
from .tree_rolls import limb_root

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.int64]
Pick = slice | Indices

REACHED, USED_UP = (
    np.int8(STATUSES.index(status)) for status in (Status.REACHED, Status.ITERATIONS_USED_UP)
)


@dataclass(frozen=True)
class TreeSolve:
    """Which of B trees to solve, and how.

    Attributes:
        pick: Their rows, b of them, or all.
        bases: Theirs.
        targets: World matrices of the targets, shape (b, E, 4, 4).
        poles: World positions of the poles of the chains that have any, shape (b, P, 3).
        weights: Of the effectors, shape (b, E).
        is_followed: Which chains have all that they follow, shape (E,).
    """

    pick: Pick
    bases: Bases
    targets: Array
    poles: Array
    weights: Array
    is_followed: Flags


@dataclass(frozen=True)
class SolvedTrees:
    """What a solve of b trees of k bones and E chains did.

    Attributes:
        channels: Rotation channels, shape (b, k, 4).
        residuals: From effectors to targets in scene units, shape (b, E).
        iterations: Sweeps used, shape (b,).
        status_codes: Indices into ``core.STATUSES``, shape (b, E).
        holds: As ``core.Solutions``, shape (b, n, 3).
        tip_gaps: Radians, shape (b, E).
    """

    channels: Array
    residuals: Array
    iterations: Indices
    status_codes: npt.NDArray[np.int8]
    holds: Flags
    tip_gaps: Array


class RigidTreeSolve:
    """B trees alike, compiled. Arrays with one row a tree unless said otherwise."""

    def __init__(self, trees: Sequence[RigidTree]) -> None:
        """Compile trees that have the same ``likeness``."""
        self.first, self.like = trees[0], trees[0].plan
        plans = [tree.plan for tree in trees]
        options = [plan.options for plan in plans]
        self.iterations = np.array([int(each.iterations) for each in options])
        self.tolerance = np.array([float(each.tolerance) for each in options])
        self.soft_distance = np.array([float(each.soft_distance) for each in options])
        specs = [[limb.job.spec for limb in plan.limbs] for plan in plans]
        self.accepted = np.array([[float(s.options.tolerance) for s in own] for own in specs])
        self.pole_angle = np.array(
            [[s.pole_angle + np.pi * bool(s.options.use_flip_bend) for s in own] for own in specs]
        )
        self.start = posed_trees(trees)
        self.trees = core_trees(trees, self.start)
        self.zero = zeros_of(trees)
        self.low = np.array([tree.joints.low for tree in trees])
        self.high = np.array([tree.joints.high for tree in trees])
        self.rolls = RigidRolls(trees, self.start) if self.like.joints is None else None
        self.stored = np.array([plan.stored for plan in plans])
        self.roots = [limb_root(self.like, chain) for chain in range(len(self.like.limbs))]

    def solved(self, asked: TreeSolve) -> SolvedTrees:
        """Return what brings some of the trees to their targets."""
        pick, bases = asked.pick, asked.bases
        trees = self.trees if isinstance(pick, slice) else self.trees.take(pick)
        options = SolveOptions(
            solver=self.like.options.solver,
            iterations=self.iterations[pick],
            tolerance=self.tolerance[pick] / bases.unit,
            orient_weight=self.like.options.orient_weight,
            soft_distance=self.soft_distance[pick] / bases.unit,
            use_finish=self.like.options.use_finish,
        )
        wanted = self._wanted(asked)
        goals = self._goals(asked, wanted)
        solutions = solve_batch(trees, goals, options)
        assert solutions.holds is not None
        local, tip_gaps = self._local(asked, solutions, wanted)
        off = solutions.joint_positions[:, self.like.count :] - goals.target_position
        residuals = np.linalg.norm(off @ bases.to_world.transpose(0, 2, 1), axis=2)
        # Less what float32 parents make of a solve that has arrived.
        lengths = self.start.lengths[pick] * bases.unit[:, None]
        has_arrived = residuals - LENGTHS_AGREE * lengths <= self.accepted[pick]
        codes = solutions.status_code
        open_codes = np.where(codes == REACHED, USED_UP, codes)
        return SolvedTrees(
            channels=rotation_channels(local, self.stored[pick], self.like.modes),
            residuals=residuals,
            iterations=solutions.iterations,
            status_codes=np.where(has_arrived, REACHED, open_codes),
            holds=solutions.holds,
            tip_gaps=tip_gaps,
        )

    def _wanted(self, asked: TreeSolve) -> dict[int, Array]:
        """Return the rotations that tips shall take, wxyz (b, 4), by chain."""
        chains = [chain for chain in self.first.turning if asked.is_followed[chain]]
        if not chains:
            return {}
        turns = asked.bases.from_world[:, None, :, :3] @ asked.targets[:, chains, :3, :3]
        wxyz = rotation.quaternion_from_matrix(spaces.orientation(turns))
        return {chain: wxyz[:, i] for i, chain in enumerate(chains)}

    def _goals(self, asked: TreeSolve, wanted: dict[int, Array]) -> Goals:
        """Return the goals in the bases."""
        like, from_world, start = self.like, asked.bases.from_world, self.start
        places = points_in_base(from_world, asked.targets[:, :, :3, 3])
        stays = ~asked.is_followed
        if stays.any():
            places[:, stays] = start.effectors[asked.pick][:, stays]
        poles, has_poles = None, np.zeros(len(stays), dtype=np.bool_)
        if self.first.poled:
            poles, poled = places.copy(), list(self.first.poled)
            has_poles[poled] = asked.is_followed[poled]
            kept = has_poles[poled]
            poles[:, has_poles] = points_in_base(from_world, asked.poles)[:, kept]
        tips, has_tips = None, np.zeros(len(stays), dtype=np.bool_)
        within = [chain for chain in wanted if not like.turns_afterwards(chain)]
        if within:
            tips = np.tile(NOT_TURNED, (*places.shape[:2], 1))
            has_tips[within] = True
            here = rotation.conjugate(start.whole[asked.pick][:, like.carriers[within]])
            there = np.stack([wanted[chain] for chain in within], axis=1)
            tips[:, within] = rotation.multiply(there, here)
        return Goals(
            target_position=places,
            weight=asked.weights,
            pole_position=poles,
            has_pole=has_poles.tolist(),
            pole_angle=self.pole_angle[asked.pick],
            tip_rotation_wxyz=tips,
            has_tip_rotation=has_tips.tolist(),
        )

    def _local(
        self, asked: TreeSolve, solutions: Solutions, wanted: dict[int, Array]
    ) -> tuple[Array, Array]:
        """Return local rotations (b, k, 4), and what tips lack of their orientations (b, E)."""
        pick, count, start = asked.pick, self.like.count, self.start
        local, gaps = start.local[pick].copy(), solutions.tip_gap
        local[:, :count] = solutions.local_rotations_wxyz
        if self.zero is not None:
            local[:, :count] = rotation.multiply(self.zero[pick, :count], local[:, :count])
        after = [chain for chain in wanted if self.like.turns_afterwards(chain)]
        if self.rolls is None and not after:
            return local, gaps
        steps = rotation.multiply(start.offsets[pick], local)
        whole = turned_trees(start.generations, steps)
        if self.rolls is not None:
            poled = [chain for chain in self.first.poled if asked.is_followed[chain]]
            kept = {int(self.like.carriers[chain]) for chain in wanted}
            kept |= {self.roots[chain] for chain in poled}
            local[:, :count], whole[:, :count] = self.rolls.rolled(pick, whole[:, :count], kept)
        if after:
            there = np.stack([wanted[chain] for chain in after], axis=1)
            local, gaps = self._with_tips(pick, local, whole, after, there, gaps.copy())
        return local, gaps

    def _with_tips(
        self, pick: Pick, local: Array, whole: Array, chains: list[int], there: Array, gaps: Array
    ) -> tuple[Array, Array]:
        """Turn the tips of chains beyond their effectors, as far as they may.

        Args:
            pick: Which trees.
            local: Local rotations, shape (b, k, 4); written to.
            whole: Rotations of the posed bones, right for those above the tips, shape (b, k, 4).
            chains: Which.
            there: What their tips shall take, shape (b, m, 4).
            gaps: Of all chains, shape (b, E); written to.
        """
        rows = np.array([int(self.like.rows[chain][-1]) for chain in chains])
        above = whole[:, self.like.parents[rows]]
        frames = rotation.multiply(above, self.start.offsets[pick][:, rows])
        wanted = rotation.multiply(rotation.conjugate(frames), there)
        local[:, rows] = wanted
        if self.like.joints is not None:
            zero = None if self.zero is None else self.zero[pick][:, rows]
            turned = wanted if zero is None else rotation.multiply(rotation.conjugate(zero), wanted)
            kinds = tuple(self.like.joints.kinds[row] for row in rows.tolist())
            held = clamped(kinds, turned, self.low[pick][:, rows], self.high[pick][:, rows])
            local[:, rows] = held if zero is None else rotation.multiply(zero, held)
            left = rotation.multiply(rotation.conjugate(held), turned)
            sine = np.linalg.norm(left[..., 1:], axis=2)
            gaps[:, chains] = 2.0 * np.arctan2(sine, np.abs(left[..., 0]))
        return local, gaps
