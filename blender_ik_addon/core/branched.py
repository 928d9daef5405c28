"""Trees of jointed bones: where turns put them, and how their effectors answer.

Layout as in ``vectors``, in the units of the start poses, points from the first bone's head. A
*state* is one array (n + 1, C, B), so that the one loop of ``iterate`` carries it: a row a bone
with its turn wxyz, and a last row with the *output*, what of the pose the target is compared with:
three numbers an effector, times the root of its weight, and below them whatever else is aimed at.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from . import turns, vectors
from .branches import Branches
from .jointed import Jointed
from .jointed_chains import jointed_bones
from .kinematics.reach import measure_reach
from .model.joints import JointKind, Joints
from .tree_aims import TreeAims
from .vectors import Array, Counts, Flags, norm, taken

TURN = 4


@dataclass(frozen=True)
class Branched:
    """B trees of n jointed bones and E effectors.

    Attributes:
        branches: How the bones hang together.
        bones: What their joints allow; their segments are not used.
        heads: From the parent's head to the bone's in the posed axes of the parent, for a bone that
            hangs on none its head, shape (n, 3, B).
        ends: From the heads of the effectors' bones to the effectors in the axes of those bones,
            shape (E, 3, B).
        pull: Roots of the effectors' weights, shape (E, B).
        reach: The longest way from a root to an effector along the bones, shape (B,).
        aims: None for the effectors' positions alone.
    """

    branches: Branches
    bones: Jointed
    heads: Array
    ends: Array
    pull: Array
    reach: Array
    aims: TreeAims | None = None

    def take(self, trees: Counts | Flags) -> Branched:
        """Return some of the trees."""
        return Branched(
            branches=self.branches,
            bones=self.bones.take(trees),
            heads=taken(self.heads, trees),
            ends=taken(self.ends, trees),
            pull=taken(self.pull, trees),
            reach=self.reach[trees],
            aims=None if self.aims is None else self.aims.take(trees),
        )

    @cached_property
    def is_free(self) -> bool:
        """Whether all joints turn as they like, none less readily than another."""
        bones = self.bones
        is_ball = all(kind is JointKind.BALL for kind in bones.kinds)
        has_limits = bool(np.isfinite(bones.low).any() or np.isfinite(bones.high).any())
        return is_ball and not has_limits and not bones.has_stiffness

    @property
    def rows(self) -> int:
        """The number of rows of the output."""
        return 3 * len(self.ends) + (0 if self.aims is None else self.aims.rows)

    def clamped(self, turn: Array) -> Array:
        """Return turns (n, 4, B) brought inside their ranges."""
        return turn if self.is_free else self.bones.clamped(turn)

    def state(self, turn: Array) -> Array:
        """Return the state of turns (n, 4, B), with its output."""
        rows = self.rows
        state = np.zeros((len(turn) + 1, max(TURN, rows), turn.shape[-1]))
        state[:-1, :TURN] = turn
        posed = self.posed(turn)
        state[-1, :rows] = self.output(posed)
        # An iteration goes on from the state that the one before has ended with.
        self.__dict__["_last"] = (state, posed)
        return state

    def posed_state(self, state: Array) -> PosedTree:
        """Return where the turns of a state put the bones."""
        known, posed = self.__dict__.get("_last", (None, None))
        return posed if known is state else self.posed(state[:-1, :TURN])

    def posed(self, turn: Array) -> PosedTree:
        """Return where turns (n, 4, B) put the bones."""
        offsets, branches = self.bones.offsets, self.branches
        whole = np.einsum("nijb,njkb->nikb", offsets, turns.matrices(turn))
        for rows, parents in branches.generations:
            whole[rows] = np.einsum("nijb,njkb->nikb", whole[parents], whole[rows])
        before = whole[branches.above]
        before[branches.is_root] = np.eye(3)[:, :, None]
        frames = np.einsum("nijb,njkb->nikb", before, offsets)
        ways = np.einsum("nijb,njb->nib", before, self.heads)
        heads = (branches.carries @ ways.reshape(len(ways), -1)).reshape(ways.shape)
        on = list(branches.effector_bones)
        tips = heads[on] + np.einsum("nijb,njb->nib", whole[on], self.ends)
        return PosedTree(frames, whole, heads, tips)

    def weighted(self, points: Array) -> Array:
        """Return points of the effectors (E, 3, B) as rows of an output, (3 E, B)."""
        rows: Array = (points * self.pull[:, None]).reshape(-1, points.shape[-1])
        return rows

    def output(self, posed: PosedTree) -> Array:
        """Return what the target is compared with, (rows, B)."""
        positions = self.weighted(posed.tips)
        if self.aims is None:
            return positions
        return np.concatenate((positions, self.aims.output(posed)))

    def answers(self, posed: PosedTree) -> Array:
        """Return how outputs change with the turns of each joint, shape (n, rows, 3, B)."""
        count, effectors, trees = len(posed.heads), len(self.ends), self.reach.size
        answers = np.empty((count, self.rows, 3, trees))
        share = self.branches.moves[:, :, None] * self.pull
        moved = posed.moved(posed.tips) * share[:, :, None, None]
        answers[:, : 3 * effectors] = moved.reshape(count, 3 * effectors, 3, trees)
        if self.aims is not None:
            answers[:, 3 * effectors :] = self.aims.answers(posed)
        return answers

    def gaps(self, state: Array, target: Array) -> Array:
        """Return the distances of the effectors from points (E, 3, B), shape (E, B)."""
        return norm(target - self.posed(state[:-1, :TURN]).tips)


@dataclass(frozen=True)
class PosedTree:
    """Where the bones of trees stand.

    Attributes:
        frames: In which each bone's own turn acts, shape (n, 3, 3, B).
        whole: The posed axes of the bones, shape (n, 3, 3, B).
        heads: Shape (n, 3, B).
        tips: The effectors, shape (E, 3, B).
    """

    frames: Array
    whole: Array
    heads: Array
    tips: Array

    def take(self, trees: Counts | Flags) -> PosedTree:
        """Return where the bones of some of the trees stand."""
        arrays = (self.frames, self.whole, self.heads, self.tips)
        return PosedTree(*(taken(each, trees) for each in arrays))

    @cached_property
    def inverse_frames(self) -> Array:
        """Shape (n, 3, 3, B)."""
        return vectors.inverses(self.frames)

    def levers(self, points: Array) -> Array:
        """Return the ways from all heads to points (q, 3, B), in the frames, (n, q, 3, B)."""
        way = points[None] - self.heads[:, None]
        levers: Array = np.einsum("nijb,nqjb->nqib", self.inverse_frames, way)
        return levers

    def moved(self, points: Array) -> Array:
        """Return how points (q, 3, B), carried along, move with turns, (n, q, 3, 3, B).

        The last axis but one is that of the turn, told in the frame of the joint.
        """
        levers = self.levers(points)
        x, y, z = levers[:, :, None, 0], levers[:, :, None, 1], levers[:, :, None, 2]
        frames = self.frames[:, None]
        a, b, c = frames[:, :, :, 0], frames[:, :, :, 1], frames[:, :, :, 2]
        return np.stack((c * y - b * z, a * z - c * x, b * x - a * y), axis=3)


def branched_trees(
    branches: Branches, joints: Joints, head_positions: Array, effector_positions: Array
) -> tuple[Branched, Array, Array]:
    """Return trees as the solvers take them, their units (B,) and their first heads (3, B).

    Args:
        branches: How the bones hang together.
        joints: With B as leading axis.
        head_positions: Shape (B, n, 3).
        effector_positions: Shape (B, E, 3).
    """
    heads = np.ascontiguousarray(np.moveaxis(head_positions, 0, -1))
    tips = np.ascontiguousarray(np.moveaxis(effector_positions, 0, -1))
    root = heads[0]
    lengths = path_lengths(branches, heads, tips)
    _, exponent = np.frexp(lengths.max(axis=0))
    unit = np.ldexp(1.0, exponent)
    heads, tips, reach = (heads - root) / unit, (tips - root) / unit, lengths.max(axis=0) / unit
    bones = jointed_bones(joints, unit, reach)
    tree = Branched(
        branches=branches,
        bones=bones,
        heads=np.zeros_like(heads),
        ends=np.zeros_like(tips),
        pull=np.ones((len(tips), len(unit))),
        reach=reach,
    )
    whole = tree.posed(bones.inner(joints.start_wxyz)).whole
    parents, on = np.array(branches.parents), np.array(branches.effector_bones)
    backward = vectors.inverses(whole)
    is_root = parents < 0
    ways = np.einsum("nijb,njb->nib", backward[parents], heads - heads[parents])
    ends = np.einsum("nijb,njb->nib", backward[on], tips - heads[on])
    tree = replace(tree, heads=np.where(is_root[:, None, None], heads, ways), ends=ends)
    return tree, unit, root


def least_lengths(branches: Branches, heads: Array, tips: Array) -> Array:
    """Return how near to their roots effectors get at the least, (E, B)."""
    least = np.empty((len(tips), tips.shape[-1]))
    for effector, path in enumerate(branches.paths):
        joints = np.concatenate((heads[list(path)], tips[effector][None]))
        least[effector] = measure_reach(norm(np.diff(joints, axis=0)))[1]
    return least


def path_lengths(branches: Branches, heads: Array, tips: Array) -> Array:
    """Return the ways from roots to effectors along the bones, (E, B)."""
    lengths = np.empty((len(tips), tips.shape[-1]))
    for effector, path in enumerate(branches.paths):
        joints = np.concatenate((heads[list(path)], tips[effector][None]))
        lengths[effector] = norm(np.diff(joints, axis=0)).sum(axis=0)
    return lengths
