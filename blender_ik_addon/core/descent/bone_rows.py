"""Bones to be posed, with the chains first, as ``algebra.chains_first`` lays arrays out."""

from __future__ import annotations

import numpy as np

from ..algebra import turns
from ..algebra.arithmetic import Array, Counts, Flags
from ..algebra.chains_first import (
    apply,
    chains_first,
    chains_last,
    flatten,
    skew,
    turn_by,
)
from ..algebra.nested import Rows, take_rows
from ..kinematics.kinematic_tree import KinematicTree
from ..kinematics.posed import Posed
from ..kinematics.swing_twist import put_together
from .posed_rows import PosedRows


class BoneRows(Rows):
    """The bones of B trees, to be posed."""

    def __init__(self, tree: KinematicTree, slide: Array) -> None:
        """Take trees, and slides (n, B) that stay."""
        self.tree, self._slide, heads = tree, slide, tree.slide_heads(slide)
        self._offsets, self._heads = chains_first(tree.joints.offsets), chains_first(heads)
        arms = np.concatenate((heads[tree.topology.children_of_bones], tree.ends))
        self._arms, shares = chains_first(arms), tree.topology.moves[:, :, None] * tree.sqrt_weights
        self._roots = chains_first(tree.sqrt_weights)
        self._shares = chains_first(shares).swapaxes(1, 2)[..., None, None]
        self._is_plain = bool((shares == 1.0).all())
        self.joints = tree.joints.rows
        # Of the outputs: effectors, and turns of tips, which come last.
        effectors, tips = 3 * len(tree.ends), None if tree.aims is None else tree.aims.tips
        turned = 0 if tips is None else 3 * len(tips.bones)
        self._curved = np.r_[:effectors, tree.rows - turned : tree.rows]
        self._halves = np.repeat((1.0, 0.5), (effectors, turned))
        turning = tree.topology.turns
        # Which joints turn which others, themselves by half.
        before = turning + 0.5 * np.eye(len(turning))
        if tree.topology.floats:
            # Where all moves along nothing turns the way.
            before[0] = 0.0
        self._before = np.kron(before, np.ones((3, 3)))
        # A single tree is aimed two times: NumPy adds up the numbers of one row in another order.
        self._aims = tree.aims
        if tree.aims is not None and len(self._heads) == 1:
            self._aims = tree.aims.take(np.zeros(2, dtype=np.int64))
        self._known: tuple[PosedRows, Posed] | None = None

    def pose(self, turn: Array, place: Array | None = None) -> PosedRows:
        """Return where turns (B, n, 4) of the joints put the bones.

        Args:
            turn: Inside of their ranges.
            place: As ``PosedRows.place``.
        """
        topology, count = self.tree.topology, turn.shape[1]
        own = turns.to_matrices(turn[..., None])[..., 0]
        whole = self._offsets @ own
        for rows, above in topology.bone_rounds:
            whole[:, rows] = whole[:, above] @ whole[:, rows]
        points = np.empty((len(turn), count + len(self.tree.ends), 3))
        arms = apply(whole[:, topology.carriers], self._arms)
        points[:, topology.roots] = self._heads[:, topology.roots]
        if place is not None:
            points[:, 0] += place * self.tree.reach[:, None]
        inner = arms.shape[1] - len(self.tree.ends)
        points[:, topology.children_of_bones], points[:, count:] = arms[:, :inner], arms[:, inner:]
        for rows, above in topology.point_rounds:
            points[:, rows] += points[:, above]
        frames = whole @ own.swapaxes(-1, -2)
        is_rigid = self.tree.joints.is_rigid
        inverse = frames.swapaxes(-1, -2) if is_rigid else np.linalg.inv(frames)
        return PosedRows(turn, own, frames, inverse, points, place)

    def turn_on(self, posed: PosedRows, move: Array) -> PosedRows:
        """Return where moves (B, n, 3) put the bones, joints brought inside their ranges."""
        turn, place = turn_by(posed.turn, move), posed.place
        if place is not None:
            turn[:, 0], place = posed.turn[:, 0], place + move[:, 0]
        if self.joints.has_edges:
            turn = put_together(self.joints.take_apart(turn), 2)
        return self.pose(turn, place)

    def take(self, rows: Counts | Flags) -> BoneRows:
        """Return the bones of some trees."""
        return BoneRows(self.tree.take(rows), take_rows(self._slide, rows))

    def find_output(self, posed: PosedRows) -> Array:
        """Return the output of the trees, as ``KinematicTree`` has it, shape (B, rows)."""
        tips = posed.points[:, len(self.tree.heads) :]
        tips = tips if self._is_plain else tips * self._roots[..., None]
        output = tips.reshape(len(tips), -1)
        if self._aims is None:
            return output
        aimed = self._aims.find_output(self._posed(posed))
        return np.concatenate((output, self._put_first(aimed)), axis=1)

    def find_jacobian(self, posed: PosedRows) -> Array:
        """Return how outputs change with the turns of the joints, shape (B, rows, 3 n).

        In the columns of a first bone that floats: how they change with its place.
        """
        count, topology, points = len(self.tree.heads), self.tree.topology, posed.points
        tips = points[:, count:, None]
        if topology.unturned:
            tips = points[:, topology.held[:, count:]].swapaxes(1, 2)
        moved = posed.move_by_turns(tips - points[:, None, :count])
        if topology.floats:
            moved[:, :, 0] = self.tree.reach[:, None, None, None] * np.eye(3)
        if not self._is_plain:
            moved *= self._shares
        jacobian = flatten(moved)
        if self._aims is None:
            return jacobian
        slopes = self._put_first(self._aims.find_jacobian(self._posed(posed)).swapaxes(0, 1))
        if topology.floats:
            slopes[:, :, 0] *= self.tree.reach[:, None, None]
        return np.concatenate((jacobian, slopes.reshape(*slopes.shape[:2], -1)), axis=1)

    def _posed(self, posed: PosedRows) -> Posed:
        """Return the same as aims take it; of the last poses it is kept."""
        if self._known is None or self._known[0] is not posed:
            parts: tuple[Array, ...] = posed.points, posed.frames, posed.own, posed.inverse
            if len(posed.turn) == 1:
                parts = tuple(np.concatenate((part, part)) for part in parts)
            points, frames, own, inverse = map(chains_last, parts)
            rows = Posed(frames, own, points, self.tree.joints.is_rigid, inverse)
            self._known = posed, rows
        return self._known[1]

    def _put_first(self, aimed: Array) -> Array:
        """Return what aims (..., B) are, with the trees first."""
        return chains_first(aimed[..., : len(self._heads)])

    def curve_outputs(
        self,
        posed: PosedRows,
        force: Array,
        jacobian: Array,
        weight: tuple[Array, Array] | None = None,
    ) -> Array:
        """Return the second derivatives of the work of a force on outputs, less than zero.

        Of a turn that others turn on it is half of what ``curve_work`` says: of a turn a after a
        turn b the rotation vector is a + b + a x b / 2. That holds for turns that are met.

        Args:
            posed: Where bones are.
            force: Shape (B, rows).
            jacobian: Shape (B, rows, 3 n).
            weight: What pulls besides, (B, 3), and how what it pulls moves, (B, 3, 3 n).
        """
        pulls = force.take(self._curved, axis=1) * self._halves
        given = [
            (pulls, jacobian.take(self._curved, axis=1)),
            *([] if weight is None else [weight]),
        ]
        bent: Array | float = 0.0
        if self._aims is not None and self._aims.poles is not None:
            by_means, bent = self._curve_poles(posed, force)
            given.append(by_means)
        pulls, moved = (np.concatenate(each, axis=1) for each in zip(*given, strict=True))
        return self.curve_work(posed, pulls.reshape(len(force), -1, 3), moved) - bent

    def _curve_poles(self, posed: PosedRows, force: Array) -> tuple[tuple[Array, Array], Array]:
        """Return how poles pull at the means of inner joints, (B, 3 P), and how these move.

        And the second derivatives of what the means' own moves do, (B, 3 n, 3 n).
        """
        assert self._aims is not None
        curved = self._aims.curve_poles(self._posed(posed))
        levers, slopes, bends = map(self._put_first, curved)
        first = 3 * len(self.tree.ends)
        by_pole = force[:, first : first + slopes.shape[1], None]
        moved = flatten(posed.move_by_turns(levers.swapaxes(1, 2)))
        each = moved.reshape(*slopes.shape, -1)
        bent = (each.swapaxes(2, 3) @ (by_pole[..., None] * bends) @ each).sum(axis=1)
        return ((by_pole * slopes).reshape(len(force), -1), moved), bent

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
