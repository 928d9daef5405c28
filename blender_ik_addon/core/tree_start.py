"""Where trees start whose bones lie in one line with their targets: bent a little.

From such a pose no turn leads nearer. What is bent already, or has its target aside, stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from . import turns, vectors
from .algebra.arithmetic import ARRAYS
from .branches import Run
from .kinematics.start_pose import StartPose, compile_start_poses
from .laying import aimed
from .model.options import Solver
from .natural_start import is_straight
from .solving.free_positions import position_joints
from .solving.task import Task
from .vectors import Array, Counts, Flags, across, norm, smoothstep

if TYPE_CHECKING:
    from .branched import Branched, PosedTree

# Straight runs are bent by this share of the way to where they would bend without limits.
NUDGE = 0.1
# From this share of a run's length off its line on a target bends it by itself.
ON_LINE = 0.02
# Iterations for the pose to bend to, which need not be exact.
ENOUGH = 20


@dataclass(frozen=True)
class StraightRun:
    """A run that some trees' start poses have in one line.

    Attributes:
        run: Its bones.
        start: Its start poses, as those of chains.
        is_straight: Which of the trees have it so, shape (B,).
    """

    run: Run
    start: StartPose
    is_straight: Flags

    def take(self, trees: Counts | Flags) -> StraightRun:
        """Return the run of some of the trees."""
        return StraightRun(self.run, self.start.take(trees), self.is_straight[trees])


def straight_runs(tree: Branched, turn: Array, bends: Array) -> tuple[StraightRun, ...]:
    """Return the runs of two bones or more that are straight in some tree.

    Args:
        tree: The trees.
        turn: Of their start poses, shape (n, 4, B).
        bends: Where they bend, zero for no hint, shape (n, 3, B).
    """
    posed = tree.posed(turn)
    found = []
    for run in tree.branches.runs:
        points = _points(run, posed)
        has_lengths = (norm(np.diff(points, axis=0)) > vectors.NO_DIRECTION).all()
        if len(run.bones) > 1 and has_lengths:
            start = compile_start_poses(points, bends[list(run.bones)].sum(axis=0))
            straight = is_straight(start)
            if straight.any():
                found.append(StraightRun(run, start, straight))
    return tuple(found)


def off_the_line(
    tree: Branched, runs: tuple[StraightRun, ...], turn: Array, target: Array
) -> Array:
    """Return turns (n, 4, B) of which no straight run has its target on its own line.

    Args:
        tree: The trees.
        runs: Their straight runs.
        turn: Of their start poses, shape (n, 4, B).
        target: Of the effectors, shape (E, 3, B).

    Source: derived for this project; tests/core/test_tree_reach.py starts from such poses.
    """
    if not runs:
        return turn
    posed = tree.posed(turn)
    bent, square = turn, tree.pull * tree.pull
    for each in runs:
        led, start = list(each.run.led), each.start
        # Where the end of a run shall go is not known inside of a tree: as its effectors go.
        share = square[led] / np.maximum(square[led].sum(axis=0), vectors.NO_DIRECTION)
        way = ((target - posed.tips)[led] * share[:, None]).sum(axis=0)
        place = start.points[-1] + way / start.unit
        off = norm(across(place, start.chord)) / start.reach
        amount = NUDGE * (1.0 - smoothstep(off, 0.0, ON_LINE)) * each.is_straight
        moves = norm(way) > vectors.NO_DIRECTION
        if (amount * moves).any():
            bent = _bent(tree, each, posed, bent, place, amount * moves)
    return tree.clamped(bent)


def _bent(
    tree: Branched, each: StraightRun, posed: PosedTree, turn: Array, place: Array, share: Array
) -> Array:
    """Return turns of which those of a run are shares (B,) nearer to a bend toward a place."""
    start, bones = each.start, list(each.run.bones)
    task = Task(
        target=place,
        pole=None,
        use_flip=None,
        tolerance=1e-3 * start.reach,
        iterations=np.full(len(share), ENOUGH),
    )
    points = position_joints(ARRAYS, start, task, Solver.NEWTON).points * start.unit + start.root
    bent, frame, head = turn.copy(), posed.frames[bones[0]], posed.heads[bones[0]]
    stands = _points(each.run, posed)
    for i, bone in enumerate(bones):
        own = vectors.rotate(vectors.inverses(posed.whole[bone]), stands[i + 1] - stands[i])
        lever = vectors.rotate(turns.matrices(turn[bone]), own)
        wanted = vectors.rotate(vectors.inverses(frame), points[i + 1] - head)
        bent[bone] = aimed(tree.bones, bone, turn[bone], lever, wanted)
        whole = vectors.compose(frame, turns.matrices(bent[bone]))
        head = head + vectors.rotate(whole, own)
        if i + 1 < len(bones):
            frame = vectors.compose(whole, tree.bones.offsets[bones[i + 1]])
    return turns.part_way(turn, bent, share)


def _points(run: Run, posed: PosedTree) -> Array:
    """Return the joints of a run and the mean of its ends, (k + 1, 3, B)."""
    ends = [posed.heads[list(run.children)], posed.tips[list(run.effectors)]]
    return np.concatenate((posed.heads[list(run.bones)], np.concatenate(ends).mean(axis=0)[None]))
