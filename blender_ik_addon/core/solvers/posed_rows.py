"""Where bones stand, with the chains first: the layout of solvers that solve large systems.

Arrays are (B, n, ...), so that every product is one ``matmul``: it takes each chain by itself, and
what becomes of a chain hangs on no other one, a single one included.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..algebra import turns
from ..algebra.arithmetic import Array, Counts, Flags
from ..algebra.nested import Rows, take_rows
from ..kinematics.kinematic_tree import KinematicTree
from ..kinematics.posed import Posed

# Entries of the matrix of a vector product: components, and their signs.
_SKEW = np.array([0, 2, 1, 2, 0, 0, 1, 0, 0])
_SKEW_SIGNS = np.array([0.0, -1.0, 1.0, 1.0, 0.0, -1.0, -1.0, 1.0, 0.0])


def chains_first(values: Array) -> Array:
    """Return an array (..., B) as one (B, ...), contiguous."""
    return np.ascontiguousarray(np.moveaxis(values, -1, 0))


def chains_last(values: Array) -> Array:
    """Return an array (B, ...) as one (..., B), contiguous."""
    return np.ascontiguousarray(np.moveaxis(values, 0, -1))


def skew(vectors: Array) -> Array:
    """Return the matrices (..., 3, 3) of vector products with vectors (..., 3)."""
    entries: Array = vectors.take(_SKEW, axis=-1) * _SKEW_SIGNS
    return entries.reshape(*vectors.shape[:-1], 3, 3)


def apply(matrices: Array, vectors: Array) -> Array:
    """Return the products of matrices (..., i, j) and vectors (..., j)."""
    product: Array = (matrices @ vectors[..., None])[..., 0]
    return product


def measure(vectors: Array) -> Array:
    """Return the lengths (...) of vectors (..., 3)."""
    length: Array = np.sqrt((vectors * vectors).sum(axis=-1))
    return length


def turn_by(turn: Array, move: Array) -> Array:
    """Return turns (B, n, 4) turned on by moves (B, n, 3), to second order as rotation vectors do.

    Source: the Cayley map; a move by m turns by 2 atan(m / 2).
    """
    w, vector, half = turn[..., :1], turn[..., 1:], 0.5 * move
    turned = np.empty_like(turn)
    turned[..., :1] = w - (half * vector).sum(axis=-1, keepdims=True)
    turned[..., 1:] = vector + w * half + apply(skew(half), vector)
    turned /= np.sqrt((turned * turned).sum(axis=-1, keepdims=True))
    return turned


@dataclass(frozen=True)
class PosedRows:
    """Where the bones of B trees stand.

    Attributes:
        turn: Of the joints, shape (B, n, 4).
        own: The same as matrices, shape (B, n, 3, 3).
        frames: In which they act, shape (B, n, 3, 3).
        inverse: Of the frames.
        points: Heads and then effectors, shape (B, n + E, 3).
    """

    turn: Array
    own: Array
    frames: Array
    inverse: Array
    points: Array

    def move_by_turns(self, levers: Array) -> Array:
        """Return how ends of levers (B, q, n, 3) move with turns, shape (B, q, n, 3, 3).

        The last axis is that of the turn, in the frame of the joint.
        """
        local = apply(self.inverse[:, None], levers)
        moved: Array = self.frames[:, None] @ skew(-local)
        return moved

    def put_last(self) -> tuple[Array, ...]:
        """Return the same with chains as the last axis, as one loop carries it."""
        return tuple(np.moveaxis(part, 0, -1) for part in vars(self).values())

    def choose(self, rows: Flags, other: PosedRows) -> PosedRows:
        """Return where the bones stand here where flagged (B,), otherwise those of the other."""
        if rows.all():
            return self
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return PosedRows(*(np.where(_wide(rows, mine), mine, theirs) for mine, theirs in pairs))


def _wide(rows: Flags, values: Array) -> Flags:
    return rows.reshape(-1, *(1,) * (values.ndim - 1))


class BoneRows(Rows):
    """The bones of B trees, to be posed."""

    def __init__(self, tree: KinematicTree, slide: Array) -> None:
        """Take trees, and slides (n, B) that stay."""
        self.tree, self._slide, heads = tree, slide, tree.heads
        if tree.slide_axes is not None:
            heads = heads + tree.slide_axes * slide[:, None]
        self._offsets, self._heads = chains_first(tree.joints.offsets), chains_first(heads)
        arms = np.concatenate((heads[tree.topology.children_of_bones], tree.ends))
        self._arms, shares = chains_first(arms), tree.topology.moves[:, :, None] * tree.sqrt_weights
        self._roots = chains_first(tree.sqrt_weights)
        self._shares = chains_first(shares).swapaxes(1, 2)[..., None, None]
        self._is_plain = bool((shares == 1.0).all())
        turning = tree.topology.turns
        # Which joints turn which others, themselves by half.
        self._before = np.kron(turning + 0.5 * np.eye(len(turning)), np.ones((3, 3)))

    def pose(self, turn: Array) -> PosedRows:
        """Return where turns (B, n, 4) of the joints put the bones."""
        topology, count = self.tree.topology, turn.shape[1]
        own = turns.to_matrices(turn[..., None])[..., 0]
        whole = self._offsets @ own
        for rows, above in topology.bone_rounds:
            whole[:, rows] = whole[:, above] @ whole[:, rows]
        points = np.empty((len(turn), count + len(self.tree.ends), 3))
        arms = apply(whole[:, topology.carriers], self._arms)
        points[:, topology.roots] = self._heads[:, topology.roots]
        inner = arms.shape[1] - len(self.tree.ends)
        points[:, topology.children_of_bones], points[:, count:] = arms[:, :inner], arms[:, inner:]
        for rows, above in topology.point_rounds:
            points[:, rows] += points[:, above]
        frames = whole @ own.swapaxes(-1, -2)
        is_rigid = self.tree.joints.is_rigid
        inverse = frames.swapaxes(-1, -2) if is_rigid else np.linalg.inv(frames)
        return PosedRows(turn, own, frames, inverse, points)

    def turn_on(self, posed: PosedRows, move: Array) -> PosedRows:
        """Return where moves (B, n, 3) put the bones, joints brought inside their ranges."""
        turn, joints = turn_by(posed.turn, move), self.tree.joints
        if joints.has_edges:
            turn = chains_first(joints.clamped(chains_last(turn)))
        return self.pose(turn)

    def take(self, rows: Counts | Flags) -> BoneRows:
        """Return the bones of some trees."""
        return BoneRows(self.tree.take(rows), take_rows(self._slide, rows))

    def find_output(self, posed: PosedRows) -> Array:
        """Return the output of the trees, as ``KinematicTree`` has it, shape (B, rows)."""
        tips = posed.points[:, len(self.tree.heads) :]
        tips = tips if self._is_plain else tips * self._roots[..., None]
        output = tips.reshape(len(tips), -1)
        if (aims := self.tree.aims) is None:
            return output
        return np.concatenate((output, aims.find_output(self._posed(posed)).T), axis=1)

    def find_jacobian(self, posed: PosedRows) -> Array:
        """Return how outputs change with the turns of the joints, shape (B, rows, 3 n)."""
        count, topology, points = len(self.tree.heads), self.tree.topology, posed.points
        tips = points[:, count:, None]
        if topology.unturned:
            tips = points[:, topology.held[:, count:]].swapaxes(1, 2)
        moved = posed.move_by_turns(tips - points[:, None, :count])
        if not self._is_plain:
            moved *= self._shares
        jacobian = flatten(moved)
        if (aims := self.tree.aims) is None:
            return jacobian
        slopes = chains_first(aims.find_jacobian(self._posed(posed)).swapaxes(0, 1))
        return np.concatenate((jacobian, slopes.reshape(*slopes.shape[:2], -1)), axis=1)

    def _posed(self, posed: PosedRows) -> Posed:
        points = chains_last(posed.points)
        heads, tips = np.split(points, [len(self.tree.heads)])
        matrices = chains_last(posed.frames), chains_last(posed.own)
        return Posed(*matrices, heads, tips, self.tree.joints.is_rigid)

    def curve_work(self, posed: PosedRows, pulls: Array, moved: Array) -> Array:
        """Return the second derivatives of the work of pulls, less than zero, (B, 3 n, 3 n).

        Of what a turn about joint j moves, a turn about a joint i that turns j turns the way: for
        frames F, of a pull f on what moves by C_j with the turns of j, the derivative is
        -[F_i^T f] F_i^-1 C_j; for one joint alone the symmetric half of that.

        Args:
            posed: Where bones are.
            pulls: Shape (B, p, 3).
            moved: How what is pulled moves with turns of the joints, shape (B, 3 p, 3 n).

        Source: derived for this project, and tested against differences in
        tests/core/equilibrium/test_potential_energy.py.
        """
        local = (pulls[:, :, None, None] @ posed.frames[:, None])[..., 0, :]
        turned = skew(local) @ posed.inverse[:, None]
        left = turned.transpose(0, 2, 3, 1, 4).reshape(len(moved), moved.shape[2], -1)
        half = (left @ moved) * self._before
        whole: Array = half + half.swapaxes(1, 2)
        return whole


def flatten(moved: Array) -> Array:
    """Return moves (B, q, n, 3, 3) of q points as rows (B, 3 q, 3 n) of a Jacobian."""
    return moved.transpose(0, 1, 3, 2, 4).reshape(len(moved), 3 * moved.shape[1], -1)
