"""What one solve did to each chain of a tree: its channels, its gap, and what keeps it away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..core import Status
from . import spaces
from .chain_frames import LENGTHS_AGREE, part_way
from .channels import Pose, channels_of, matrices_of, with_locks
from .outcome import Outcome
from .reasons import reasons_of
from .targets import Target
from .tree_plan import TreePlan
from .tree_pose import TreeFrame, TreePose
from .tree_solving import SolvedTree

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Written = tuple[Array, Flags, TreePose]
"""Rotation channels, which bones locked channels keep from following, what they come to."""

NO_WEIGHT = "No chain of this tree has a weight above zero: raise one."
# Chains that pull less than this share of the hardest pull are not named, and one that weighs less
# than this share of another gives way to it.
HARDLY = 0.01


@dataclass(frozen=True)
class TreeEnd:
    """How a solve of one tree of k bones and E chains ended.

    Attributes:
        channels: Rotation channels, shape (k, 4).
        is_kept: Which bones locked channels keep from following, shape (k,).
        statuses: Of the chains.
        residuals: In scene units, shape (E,).
        iterations: Used for all of them together.
        holds: As ``core.Solution``.
        tip_gaps: Radians that are left to the wanted orientations of tips, shape (E,).
        weights: Of the effectors, shape (E,).
    """

    channels: Array
    is_kept: Flags
    statuses: Sequence[Status]
    residuals: Array
    iterations: int
    holds: Flags
    tip_gaps: Array
    weights: Array

    def outcome(self, plan: TreePlan, chain: int) -> Outcome:
        """Return what the solve did to a chain."""
        rows, status = plan.rows[chain], self.statuses[chain]
        indices = [limb.job.index for limb in plan.limbs]
        joints = None if plan.joints is None else plan.joints.take(rows)
        tip_gap = float(self.tip_gaps[chain])
        return Outcome(
            self.channels[rows],
            status,
            float(self.residuals[chain]),
            self.iterations,
            bool(self.is_kept[rows].any()),
            held_by=_holding(plan, chain, self.holds) if status is Status.LIMITED else (),
            tip_gap=tip_gap,
            why=reasons_of(
                plan.options,
                joints,
                matrices_of(self.channels[rows], plan.modes[rows]),
                int((rows < plan.count).sum()),
                tip_gap,
                is_tip_beyond=plan.turns_afterwards(chain),
            ),
            tree=tuple(index for index in indices if index != indices[chain]),
            outweighed_by=self._outweighing(plan, chain),
        )

    def _outweighing(self, plan: TreePlan, chain: int) -> tuple[str, ...]:
        """Return the names of the chains that pull at bones of a chain, the hardest first.

        One that has arrived pulls only if it is so much heavier that the rest is within tolerance.
        """
        own, pulls = set(plan.rows[chain].tolist()), self.weights * self.residuals
        others = [
            other
            for other in np.argsort(-pulls, kind="stable").tolist()
            if other != chain
            and self.weights[other] > 0.0
            and not own.isdisjoint(plan.rows[other].tolist())
            and (
                self.statuses[other] is not Status.REACHED
                or self.weights[chain] < HARDLY * self.weights[other]
            )
        ]
        hardest = max((pulls[other] for other in others), default=0.0)
        return tuple(
            plan.limbs[other].job.spec.name for other in others if pulls[other] >= HARDLY * hardest
        )


def written_tree(frame: TreeFrame, pose: Pose, solved: SolvedTree, start: Array) -> Written:
    """Return the channels to write, and what they come to.

    Args:
        frame: The tree.
        pose: Of the armature object, with its locks.
        solved: The solved tree.
        start: Rotation channels that it has started from, shape (k, 4).

    Returns:
        Rotation channels (k, 4); which bones locked channels keep from following, (k,); the pose
        that the channels give.
    """
    plan, turned = frame.plan, solved.pose.rotations
    zero = matrices_of(plan.stored, plan.modes)
    for share in np.unique(plan.influence):
        if share < 1.0:
            rows = plan.influence == share
            turned = np.where(rows[:, None, None], part_way(zero, turned, float(share)), turned)
    is_blended = turned is not solved.pose.rotations
    if is_blended and plan.joints is not None:
        turned = plan.joints.clamped(turned)
    near = np.where(plan.is_current[:, None], start, plan.stored)
    free = channels_of(turned, plan.modes, near)
    locks, kinds = pose.locks[plan.bones], pose.uses_4d_locks[plan.bones]
    channels = with_locks(free, plan.modes, near, locks, kinds)
    is_kept = ~np.isclose(channels, free, atol=1e-6).all(axis=1)
    ended = solved.pose
    if is_blended or is_kept.any():
        ended = frame.posed(matrices_of(channels, plan.modes))
    return channels, is_kept, ended


def tree_outcomes(
    frame: TreeFrame,
    world: Array,
    targets: list[Target | None],
    weights: Array,
    solved: SolvedTree,
    written: Written,
) -> list[Outcome]:
    """Return what the solve did to each chain.

    Args:
        frame: The tree.
        world: The armature's world matrix, shape (4, 4).
        targets: Of the chains, None for those that have none to follow now.
        weights: Of the effectors, shape (E,).
        solved: The solved tree.
        written: As ``written_tree`` returns.
    """
    channels, is_kept, ended = written
    plan, holds = frame.plan, solved.solution.holds
    assert holds is not None
    effectors = spaces.transform_point(world, ended.effectors)
    places = [e if t is None else t.matrix[:3, 3] for t, e in zip(targets, effectors, strict=True)]
    residuals = np.linalg.norm(effectors - np.array(places), axis=1)
    exact = residuals - LENGTHS_AGREE * frame.lengths(ended, world[:3, :3])
    end = TreeEnd(
        channels=channels,
        is_kept=is_kept,
        statuses=[
            _status(plan, chain, of_core, float(exact[chain]))
            for chain, of_core in enumerate(solved.solution.statuses)
        ],
        residuals=residuals,
        iterations=solved.solution.iterations,
        holds=holds,
        tip_gaps=solved.tip_gaps,
        weights=weights,
    )
    return [end.outcome(plan, chain) for chain in range(len(plan.limbs))]


def _status(plan: TreePlan, chain: int, of_core: Status, residual: float) -> Status:
    """Return how the solve of a chain ended, by what is left on the bones, in scene units."""
    if residual <= plan.limbs[chain].job.spec.options.tolerance:
        return Status.REACHED
    if np.min(plan.influence[plan.rows[chain]]) < 1.0:
        return Status.BLENDED
    return Status.ITERATIONS_USED_UP if of_core is Status.REACHED else of_core


def _holding(plan: TreePlan, chain: int, holds: Flags) -> tuple[str, ...]:
    """Return the bones and axes of a chain whose limits hold it back, in words, root first."""
    rows = plan.rows[chain][plan.rows[chain] < plan.count]
    return tuple(
        f"{plan.skeleton.names[plan.bones[rows[bone]]]} {'XYZ'[axis]}"
        for bone, axis in np.argwhere(holds[rows]).tolist()
    )
