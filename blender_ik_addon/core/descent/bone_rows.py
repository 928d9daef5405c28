"""Forward kinematics of trees with the chains first, as in ``algebra.chains_first``."""

from __future__ import annotations

import numpy as np

from ..algebra import turns
from ..algebra.arithmetic import Array, Counts, Flags
from ..algebra.chains_first import apply, chains_first, chains_last, flatten, skew, turn_by
from ..algebra.nested import Rows, take_rows
from ..kinematics.kinematic_tree import KinematicTree
from ..kinematics.posed import Posed
from ..kinematics.swing_twist import join_swing_twist
from .posed_rows import PosedRows


class BoneRows(Rows):
    """The bones of B trees, with their poses, outputs and derivatives."""

    def __init__(self, tree: KinematicTree, slide: Array) -> None:
        """Compile trees with constant slides (n, B)."""
        self.tree, self._slide, heads = tree, slide, tree.slide_heads(slide)
        self._offsets, self._heads = chains_first(tree.joints.offsets), chains_first(heads)
        arms = np.concatenate((heads[tree.topology.children_of_bones], tree.ends))
        self._arms, self._sqrt_weights = chains_first(arms), chains_first(tree.sqrt_weights)
        shares = tree.topology.is_on_path[:, :, None] * tree.sqrt_weights
        self._shares = chains_first(shares).swapaxes(1, 2)[..., None, None]
        self._is_plain = bool((shares == 1.0).all())
        self.joints = tree.joints.rows
        # Rows of the outputs of effectors, and of turns of tips, which come last.
        effectors, tips = 3 * len(tree.ends), None if tree.aims is None else tree.aims.tips
        tip_rows = 0 if tips is None else 3 * len(tips.bones)
        self._curved_rows = np.r_[:effectors, tree.row_count - tip_rows : tree.row_count]
        self._curve_shares = np.repeat((1.0, 0.5), (effectors, tip_rows))
        turning = tree.topology.turns_bone
        # Which joints turn which other joints; a joint turns itself by half.
        order = turning + 0.5 * np.eye(len(turning))
        if tree.topology.floats:
            # A first bone that floats moves all bones and turns none.
            order[0] = 0.0
        self._turn_order = np.kron(order, np.ones((3, 3)))
        # A single tree is computed as two rows: NumPy adds the numbers of one row in another order.
        self._aims = tree.aims
        if tree.aims is not None and len(self._heads) == 1:
            self._aims = tree.aims.take(np.zeros(2, dtype=np.int64))

    def pose(self, turn: Array, place: Array | None = None) -> PosedRows:
        """Return the poses of bones with turns of the joints.

        Args:
            turn: Turns inside the ranges of the joints, shape (B, n, 4).
            place: As ``PosedRows.place``.
        """
        topology, count = self.tree.topology, turn.shape[1]
        matrices = turns.to_matrices(turn[..., None])[..., 0]
        whole = self._offsets @ matrices
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
        frames = whole @ matrices.swapaxes(-1, -2)
        is_rigid = self.tree.joints.is_rigid
        inverse = frames.swapaxes(-1, -2) if is_rigid else np.linalg.inv(frames)
        return PosedRows(turn, matrices, frames, inverse, points, place)

    def apply_move(self, posed: PosedRows, move: Array) -> PosedRows:
        """Return the poses after moves (B, n, 3), with the joints clamped to their ranges."""
        turn, place = turn_by(posed.turn, move), posed.place
        if place is not None:
            turn[:, 0], place = posed.turn[:, 0], place + move[:, 0]
        if self.joints.has_edges:
            turn = join_swing_twist(self.joints.split_swing_twist(turn), 2)
        return self.pose(turn, place)

    def take(self, rows: Counts | Flags) -> BoneRows:
        """Return the bones of some trees."""
        return BoneRows(self.tree.take(rows), take_rows(self._slide, rows))

    def find_output(self, posed: PosedRows) -> Array:
        """Return the outputs of the trees, as in ``KinematicTree``, shape (B, rows)."""
        tips = posed.points[:, len(self.tree.heads) :]
        tips = tips if self._is_plain else tips * self._sqrt_weights[..., None]
        output = tips.reshape(len(tips), -1)
        if self._aims is None:
            return output
        aimed = self._aims.find_output(self._posed(posed))
        return np.concatenate((output, self._trees_first(aimed)), axis=1)

    def find_jacobian(self, posed: PosedRows) -> Array:
        """Return the derivatives of the outputs by the turns of the joints, shape (B, rows, 3 n).

        The columns of a first bone that floats have the derivatives by its place.
        """
        count, topology, points = len(self.tree.heads), self.tree.topology, posed.points
        tips = points[:, count:, None]
        if topology.unturned:
            tips = points[:, topology.moving_points[:, count:]].swapaxes(1, 2)
        moved = posed.move_by_turns(tips - points[:, None, :count])
        if topology.floats:
            moved[:, :, 0] = self.tree.reach[:, None, None, None] * np.eye(3)
        if not self._is_plain:
            moved *= self._shares
        jacobian = flatten(moved)
        if self._aims is None:
            return jacobian
        slopes = self._trees_first(self._aims.find_jacobian(self._posed(posed)).swapaxes(0, 1))
        if topology.floats:
            slopes[:, :, 0] *= self.tree.reach[:, None, None]
        return np.concatenate((jacobian, slopes.reshape(*slopes.shape[:2], -1)), axis=1)

    def _posed(self, posed: PosedRows) -> Posed:
        """Return the poses as aims take them."""
        arrays = [posed.points, posed.frames, posed.turn_matrices, posed.inverse]
        if len(posed.turn) == 1:
            arrays = [np.concatenate((array, array)) for array in arrays]
        points, frames, matrices, inverse = map(chains_last, arrays)
        return Posed(frames, matrices, points, self.tree.joints.is_rigid, inverse)

    def _trees_first(self, aimed: Array) -> Array:
        """Return arrays (..., B) of aims with the trees first."""
        return chains_first(aimed[..., : len(self._heads)])

    def curve_outputs(
        self,
        posed: PosedRows,
        force: Array,
        jacobian: Array,
        weight: tuple[Array, Array] | None = None,
    ) -> Array:
        """Return the negative second derivatives of the work of a force on outputs, (B, 3 n, 3 n).

        For turns of tips they are half of what ``curve_work`` returns: the rotation vector of a
        turn a after a turn b is a + b + a x b / 2. That holds at the target.

        Args:
            posed: Poses of the bones.
            force: Force on the outputs, shape (B, rows).
            jacobian: Derivatives of the outputs, shape (B, rows, 3 n).
            weight: A further pull (B, 3), and the derivatives of the point it pulls, (B, 3, 3 n).
        """
        pulls = force.take(self._curved_rows, axis=1) * self._curve_shares
        pulled = [
            (pulls, jacobian.take(self._curved_rows, axis=1)),
            *([] if weight is None else [weight]),
        ]
        bent: Array | float = 0.0
        if self._aims is not None and self._aims.poles is not None:
            pole_pulls, bent = self._curve_poles(posed, force)
            pulled.append(pole_pulls)
        pulls, moved = (np.concatenate(arrays, axis=1) for arrays in zip(*pulled, strict=True))
        return self.curve_work(posed, pulls.reshape(len(force), -1, 3), moved) - bent

    def _curve_poles(self, posed: PosedRows, force: Array) -> tuple[tuple[Array, Array], Array]:
        """Return the pulls of poles at the means of inner joints, and the curvature of the means.

        The pulls have shape (B, 3 P), with the derivatives of the means (B, 3 P, 3 n); the second
        derivatives of the poles' outputs by the means are (B, 3 n, 3 n) by turns.
        """
        assert self._aims is not None
        curved = self._aims.find_pole_curvature(self._posed(posed))
        levers, slopes, bends = map(self._trees_first, curved)
        first = 3 * len(self.tree.ends)
        by_pole = force[:, first : first + slopes.shape[1], None]
        moved = flatten(posed.move_by_turns(levers.swapaxes(1, 2)))
        by_mean = moved.reshape(*slopes.shape, -1)
        bent = (by_mean.swapaxes(2, 3) @ (by_pole[..., None] * bends) @ by_mean).sum(axis=1)
        return ((by_pole * slopes).reshape(len(force), -1), moved), bent

    def curve_work(self, posed: PosedRows, pulls: Array, moved: Array) -> Array:
        """Return the negative second derivatives of the work of pulls, (B, 3 n, 3 n).

        A turn about a joint i above j turns the direction in which turns about j move a point. For
        frames F and a pull f on a point with derivatives C_j by the turns of j, the second
        derivative is -[F_i^T f] F_i^-1 C_j; for a joint with itself it is the symmetric half.

        Args:
            posed: Poses of the bones.
            pulls: Pulls on points, shape (B, p, 3).
            moved: Derivatives of the points by turns of the joints, shape (B, 3 p, 3 n).

        Source: derived for this project, and tested against differences in
        tests/core/equilibrium/test_potential_energy.py.
        """
        local_pulls = (pulls[:, :, None, None] @ posed.frames[:, None])[..., 0, :]
        crossed = skew(local_pulls) @ posed.inverse[:, None]
        left = crossed.transpose(0, 2, 3, 1, 4).reshape(len(moved), moved.shape[2], -1)
        half = (left @ moved) * self._turn_order
        whole: Array = half + half.swapaxes(1, 2)
        return whole
