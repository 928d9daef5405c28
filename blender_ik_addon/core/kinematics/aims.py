"""The aims of effectors besides positions: poles of limbs, and rotations of tip bones.

Layout as in ``arrays``; rows of an output are radians times their weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..algebra import turns
from ..algebra.arithmetic import ARRAYS, Array
from ..algebra.arrays import cross, dot, norm, reject
from ..algebra.nested import Rows
from ..algebra.vectors import MIN_LENGTH
from ..model.joints import JointKind
from ..model.topology import Topology
from .bend_plane import EXTENDING, MIN_BULGE_SHARE, Facing, Pole, measure_facing, plan_bend
from .posed import Posed
from .start_pose import compile_start_poses, faces_by_bone, find_carried_side

LIMB_ROWS = "bones", "effectors", "root", "chord", "side", "carried_side", "reach"


class Bulges(NamedTuple):
    """The bulges of P limbs from their chords, shapes (P, 3, B).

    Attributes:
        root: Roots of the limbs.
        chord: Unit directions from the roots to the targets.
        sides: Goal directions of the bulges, and those across them and the chords, (P, 2, 3, B).
        offset: Vectors from the roots to the means of the inner joints.
        carried: Unit vectors that the first bones carry, or zero, as ``find_carried_side``.
        facing: How the limbs face the sides, numbers (P, B).
    """

    root: Array
    chord: Array
    sides: Array
    offset: Array
    carried: Array
    facing: Facing

    def sum_sides(self, components: Sequence[Array]) -> Array:
        """Return vectors (P, 3, B) with the given components along both sides, (P, B) each."""
        vectors: Array = np.einsum("spb,psib->pib", np.asarray(components), self.sides)
        return vectors


class PoleCurvature(NamedTuple):
    """The second-order change of the outputs of P poles whose roots stay in place.

    Attributes:
        levers: Vectors from the heads of joints: a turn moves the mean of the inner joints as it
            moves the end of its lever, shape (n, P, 3, B).
        slopes: Derivatives of outputs by the means, shape (P, 3, B).
        bends: Second derivatives of outputs by the means, shape (P, 3, 3, B).
    """

    levers: Array
    slopes: Array
    bends: Array


@dataclass(frozen=True)
class Limbs(Rows):
    """The limbs of P effectors in the start poses of B trees.

    The limb of a chain is all of it, but for a tip that takes a rotation: that does not bend.

    Attributes:
        topology: Hierarchy of the bones.
        bones: Bones of each limb, two or more.
        effectors: The effector of each limb.
        root: Roots of the limbs, shape (P, 3, B).
        chord: Unit directions from the limbs' roots to their ends, (P, 3, B).
        side: Directions to which the limbs bend, shape (P, 3, B).
        carried_side: As ``find_carried_side``, shape (P, 3, B).
        reach: Reaches of the limbs, shape (P, B).
    """

    inherited = ("middles", "shares")
    topology: Topology
    bones: tuple[tuple[int, ...], ...]
    effectors: tuple[int, ...]
    root: Array
    chord: Array
    side: Array
    carried_side: Array
    reach: Array

    @property
    def roots(self) -> list[int]:
        """The first bone of each limb."""
        return [limb[0] for limb in self.bones]

    @cached_property
    def middles(self) -> Array:
        """Coefficients of heads in the vectors from limbs' roots to inner means, shape (P, n)."""
        middles = np.zeros((len(self.bones), len(self.topology.parents)))
        for row, limb in enumerate(self.bones):
            middles[row, limb[0]] = -1.0
            middles[row, list(limb[1:])] = 1.0 / (len(limb) - 1)
        return middles

    @cached_property
    def shares(self) -> tuple[Array, Array]:
        """Coefficients of heads in the levers by which joints move two vectors, (n, P, n) each.

        These lead from the limbs' roots to fixed points, and to the means of the inner joints.
        """
        above = self.topology.is_above[:, None].astype(float)
        to_fixed = self._replace_points(above * np.minimum(np.sign(self.middles), 0.0))
        to_mean = self._replace_points(above * self.middles)
        for shares in (to_fixed, to_mean):
            np.einsum("npn->np", shares)[...] -= shares.sum(axis=2)
        return to_fixed, to_mean

    def _replace_points(self, shares: Array) -> Array:
        """Return coefficients of heads as those of the points in ``Topology.moving_points``."""
        if not self.topology.unturned:
            return shares
        bones = len(shares)
        is_same = self.topology.moving_points[:, :bones, None] == np.arange(bones)
        replaced: Array = np.einsum("npm,nmk->npk", shares, is_same.astype(float))
        return replaced


def compile_limbs(
    topology: Topology,
    kinds: Sequence[JointKind],
    posed: Posed,
    hints: Array,
    *,
    turns_tip: bool,
) -> Limbs:
    """Return the limbs of trees.

    Args:
        topology: Hierarchy of the bones.
        kinds: Their joints.
        posed: Start poses of the bones.
        hints: Bend directions for straight limbs, zero for no hint, shape (n, 3, B).
        turns_tip: Whether the bones of the effectors take rotations.
    """
    bones, effectors, starts, carried = [], [], [], []
    for effector, limb in enumerate(topology.limbs):
        points = np.concatenate((posed.heads[list(limb)], posed.tips[[effector]]))
        if turns_tip or (norm(points[-1] - points[-2]) <= MIN_LENGTH).all():
            # Neither a bone that takes a rotation nor one whose head is the effector bends.
            limb, points = limb[:-1], points[:-1]
        if len(limb) > 1 and (norm(np.diff(points, axis=0)) > MIN_LENGTH).all():
            bones.append(limb)
            effectors.append(effector)
            hint = hints[list(limb)].sum(axis=0)
            starts.append(compile_start_poses(points, hint))
            axes, frames = posed.axes[limb[0]], posed.frames[limb[1]]
            side = find_carried_side(kinds[limb[1]], axes, frames, hint, starts[-1].side)
            carried.append(side)
    shape, roots = (len(starts), *posed.tips.shape[1:]), [limb[0] for limb in bones]
    return Limbs(
        topology,
        tuple(bones),
        tuple(effectors),
        np.reshape(posed.heads[roots], shape),
        np.reshape([start.chord for start in starts], shape),
        np.reshape([start.side for start in starts], shape),
        np.reshape(carried, shape),
        np.reshape([start.reach * start.unit for start in starts], (shape[0], shape[2])),
    )


def pick_limbs(*parts: tuple[Limbs, Sequence[bool]]) -> Limbs:
    """Return the limbs of the effectors that are flagged beside them, all of the same trees."""
    picked = [
        (limbs, row)
        for limbs, flags in parts
        for row, effector in enumerate(limbs.effectors)
        if flags[effector]
    ]
    for limbs, _ in parts:
        if len(picked) == len(limbs.effectors) and all(one is limbs for one, _ in picked):
            return limbs
    rows = [[getattr(limbs, name)[row] for limbs, row in picked] for name in LIMB_ROWS]
    bones, effectors, *arrays = rows
    return Limbs(parts[0][0].topology, tuple(bones), tuple(effectors), *map(np.array, arrays))


@dataclass(frozen=True)
class Poles(Rows):
    """The poles of P limbs in each of B trees.

    Attributes:
        limbs: The limbs.
        target: Targets of the limbs' ends, shape (P, 3, B).
        position: Positions of the poles, shape (P, 3, B).
        angle: Radians about the chord, shape (P, B).
        sign: -1 for trees whose limbs are flipped to the other side, shape (B,).
        keeps_start: As in ``Pole``.
    """

    limbs: Limbs
    target: Array
    position: Array
    angle: Array
    sign: Array
    keeps_start: bool = False

    def end_before(self, tips: Tips, arms: Array | float = 0.0) -> Poles:
        """Return the poles of limbs that end at the heads of tips, no longer at those of arms."""
        target, change = self.target.copy(), arms - tips.goal_arm
        for row, effector in enumerate(self.limbs.effectors):
            if effector in tips.effectors:
                target[row] += change[tips.effectors.index(effector)]
        return replace(self, target=target)

    def measure(self, posed: Posed) -> Bulges:
        """Return the bulges of limbs from their chords."""
        heads, limbs, roots = posed.heads, self.limbs, self.limbs.roots
        root = heads[roots]
        is_at_start = np.array_equal(root, limbs.root)
        chord, sides = self._start_frames if is_at_start else self._find_frames(root)
        offset = np.einsum("pn,nib->pib", limbs.middles, heads)
        distance, carried = norm(self.target - root), np.zeros_like(offset)
        if (distance > EXTENDING * limbs.reach).any():
            carried = np.einsum("pijb,pjb->pib", posed.axes[roots], self._carried_side)
        bulge, aside = (np.einsum("psib,pib->spb", sides, vector) for vector in (offset, carried))
        components = (bulge[0], bulge[1]), (aside[0], aside[1])
        facing = measure_facing(ARRAYS, *components, limbs.reach, distance)
        return Bulges(root, chord, sides, offset, carried, facing)

    @cached_property
    def _carried_side(self) -> Array:
        """The carried sides, zero for limbs that never face poles with first bones, (P, 3, B)."""
        limbs, keeps = self.limbs, self.keeps_start
        is_faced = [faces_by_bone(len(limb), keeps_start=keeps) for limb in limbs.bones]
        side: Array = limbs.carried_side * np.outer(is_faced, self.sign > 0.0)[:, None]
        return side

    @cached_property
    def _start_frames(self) -> tuple[Array, Array]:
        """The same as ``_find_frames`` of the start poses: most limbs' roots never move."""
        return self._find_frames(self.limbs.root)

    def _find_frames(self, root: Array) -> tuple[Array, Array]:
        """Return the chords of limbs, (P, 3, B), and their sides as in ``Bulges``."""
        limbs, (count, _, trees), flatten = self.limbs, root.shape, np.concatenate
        is_set = np.ones(count * trees, dtype=np.bool_)
        position = flatten(self.position - root, axis=-1)
        pole = Pole(is_set, position, self.angle.reshape(-1), self.keeps_start)
        chord, side = flatten(limbs.chord, axis=-1), flatten(limbs.side, axis=-1)
        target = flatten(self.target - root, axis=-1)
        plan = plan_bend(ARRAYS, chord, side, limbs.reach.reshape(-1), target, pole)
        chord, side = (
            np.reshape(axis, (3, count, trees)).swapaxes(0, 1) for axis in (plan.chord, plan.side)
        )
        side = side * self.sign
        return chord, np.stack((side, cross(chord, side)), axis=1)

    def find_pole_errors(self, posed: Posed) -> Array:
        """Return the angles by which limbs are turned past their poles, radians, shape (P, B)."""
        errors: Array = self.measure(posed).facing.angle
        return errors

    def find_curvature(self, posed: Posed) -> PoleCurvature:
        """Return the second-order change of outputs, as if roots and first bones did not move."""
        at, shares = self.measure(posed), self.limbs.shares[1]
        levers = np.einsum("npm,mib->npib", shares, posed.heads)
        along, across = at.facing.along, at.facing.across
        mixed, squares = along * across, across * across - along * along
        bends = np.array(((2.0 * mixed, squares), (squares, -2.0 * mixed)))
        bends = np.einsum(
            "stpb,psib,ptjb->pijb", bends * at.facing.inverse_square**2, at.sides, at.sides
        )
        return PoleCurvature(levers, at.sum_sides(at.facing.by_bulge), bends)

    def face_poles(self, posed: Posed, turn: Array) -> Array:
        """Return turns (n, 4, B) with each limb turned as a whole toward its pole."""
        limbs, faced = self.limbs, turn.copy()
        free = limbs.topology.unturned
        pairs = [
            (row, b) for row, limb in enumerate(limbs.bones) for b in limb if b in (limb[0], *free)
        ]
        rows, bones = (list(column) for column in zip(*pairs, strict=True))
        back = (-self.find_pole_errors(posed)[:, None] * self.measure(posed).chord)[rows]
        back = np.einsum("pijb,pib->pjb", posed.turn_axes[bones], back)
        faced[bones] = turns.multiply(turns.from_vectors(back), turn[bones])
        return faced

    def find_slopes(self, posed: Posed) -> Array:
        """Return the derivatives of outputs by turns, shape (n, P, 3, B).

        If the first bone floats, its row holds the derivatives by its position.
        """
        at, limbs, (fixed_shares, shares) = self.measure(posed), self.limbs, self.limbs.shares
        by_mean, by_carried = map(at.sum_sides, (at.facing.by_bulge, at.facing.by_carried))
        slopes = self._sum_slopes(posed, np.einsum("npm,mib->npib", shares, posed.heads), by_mean)
        if by_carried.any():
            carries = limbs.topology.turns_bone | np.eye(len(posed.heads), dtype=np.bool_)
            carried = carries[:, limbs.roots, None, None] * at.carried
            slopes += self._sum_slopes(posed, carried, by_carried)
        floats = limbs.topology.floats
        if fixed_shares.any() or floats:
            # A moving root changes the vectors to the pole and to the target, and so the chord.
            distance = np.maximum(norm(self.target - at.root), MIN_BULGE_SHARE * limbs.reach)
            to_pole = self.position - at.root
            aside = reject(to_pole, at.chord)
            square, has_side = dot(aside, aside), at.facing.inverse_square > 0.0
            has_side &= square > (MIN_BULGE_SHARE * limbs.reach) ** 2
            pole = cross(at.chord, aside) * ARRAYS.divide(has_side, square)[:, None]
            vectors = at.offset, at.carried, to_pole
            along, carried_along, pole_along = (dot(v, at.chord) / distance for v in vectors)
            by_root = -along[:, None] * by_mean - carried_along[:, None] * by_carried
            by_root -= (1.0 - pole_along)[:, None] * pole
            levers = np.einsum("npm,mib->npib", fixed_shares, posed.heads)
            slopes += self._sum_slopes(posed, levers, by_root)
            if floats:
                slopes[0] = -by_root
        return slopes

    @staticmethod
    def _sum_slopes(posed: Posed, levers: Array, slopes: Array) -> Array:
        """Return derivatives by turns from those by the ends (P, 3, B) of levers (n, P, 3, B)."""
        pulled = np.einsum("nijb,pib->npjb", posed.frames, slopes)
        return cross(posed.express(levers), pulled)


@dataclass(frozen=True)
class Tips(Rows):
    """The goal rotations of the bones of T effectors.

    Attributes:
        bones: Indices of the bones, T of them.
        effectors: Indices of the effectors, likewise.
        turn: Goal rotations from the start pose, wxyz, shape (T, 4, B).
        back: Inverses of the bones' axes in the start pose, shape (T, 3, 3, B).
        arm: From the bones' heads to the effectors in the start pose, shape (T, 3, B).
    """

    bones: tuple[int, ...]
    effectors: tuple[int, ...]
    turn: Array
    back: Array
    arm: Array

    @property
    def goal_arm(self) -> Array:
        """From the bones' heads to the effectors where the goals are met, shape (T, 3, B)."""
        arm: Array = np.einsum("tijb,tjb->tib", turns.to_matrices(self.turn), self.arm)
        return arm

    def find_rotation_errors(self, posed: Posed) -> Array:
        """Return the rotations from the goals to the bones' axes, rotation vectors (T, 3, B)."""
        bones = list(self.bones)
        axes = np.einsum("tijb,tjkb->tikb", posed.frames[bones], posed.turn_matrices[bones])
        error = np.einsum("tijb,tjkb->tikb", axes, self._inverse_goal)
        return turns.to_vectors(turns.from_matrices(error))

    @cached_property
    def _inverse_goal(self) -> Array:
        """The inverses of the bones' axes at their goals, shape (T, 3, 3, B)."""
        inverse: Array = np.einsum("tijb,tkjb->tikb", self.back, turns.to_matrices(self.turn))
        return inverse


@dataclass(frozen=True)
class Aims(Rows):
    """The aims of B trees besides positions: one row per pole, then three per tip.

    Attributes:
        topology: Hierarchy of the bones.
        poles: None for no poles.
        tips: None for no rotations of tips.
        weight: Weight of a radian, shape (B,).
        sqrt_weights: Square roots of the effectors' weights, shape (E, B).
    """

    topology: Topology
    poles: Poles | None
    tips: Tips | None
    weight: Array
    sqrt_weights: Array

    def take_share(self, posed: Posed, share: float) -> Aims:
        """Return aims with the goals of tips at a share of the way from the present rotations."""
        if self.tips is None or share == 1.0:
            return self
        rest = turns.from_vectors((1.0 - share) * self.tips.find_rotation_errors(posed))
        tips, poles = replace(self.tips, turn=turns.multiply(rest, self.tips.turn)), self.poles
        if poles is not None:
            poles = poles.end_before(tips, self.tips.goal_arm)
        return replace(self, poles=poles, tips=tips)

    @property
    def effectors(self) -> tuple[int, ...]:
        """The effector of each row of the output."""
        poles = () if self.poles is None else self.poles.limbs.effectors
        tips = () if self.tips is None else self.tips.effectors
        return *poles, *(effector for effector in tips for _ in range(3))

    @cached_property
    def _scale(self) -> Array:
        """Factors of the radians in the output, shape (rows, B)."""
        scale: Array = self.weight * self.sqrt_weights[list(self.effectors)]
        return scale

    @property
    def row_count(self) -> int:
        """The number of rows of the output."""
        return len(self._scale)

    def find_output(self, posed: Posed) -> Array:
        """Return the weighted errors of the aims, shape (rows, B)."""
        rows = [] if self.poles is None else [self.poles.find_pole_errors(posed)]
        if self.tips is not None:
            error = self.tips.find_rotation_errors(posed)
            rows.append(error.reshape(3 * len(error), error.shape[-1]))
        return np.concatenate(rows) * self._scale

    def find_twist(self, posed: Posed, line: Array) -> Array:
        """Return by how much chains along lines (3, B) are twisted past their aim, radians (B,)."""
        if self.tips is None:
            assert self.poles is not None
            past: Array = self.poles.find_pole_errors(posed)[0]
            return past
        w, *xyz = turns.from_vectors(self.tips.find_rotation_errors(posed))[0]
        twist: Array = 2.0 * np.arctan2(dot(np.array(xyz), line), w)
        return twist

    def find_pole_curvature(self, posed: Posed) -> PoleCurvature:
        """Return the second-order change of the first rows, those of the poles."""
        assert self.poles is not None
        levers, slopes, bends = self.poles.find_curvature(posed)
        scale = self._scale[: len(slopes)]
        return PoleCurvature(levers, slopes * scale[:, None], bends * scale[:, None, None])

    def find_jacobian(self, posed: Posed) -> Array:
        """Return the derivatives of outputs by turns of joints, shape (n, rows, 3, B)."""
        rows = [] if self.poles is None else [self.poles.find_slopes(posed)]
        if self.tips is not None:
            is_turned = self.topology.turns_bone | np.eye(len(posed.heads), dtype=np.bool_)
            turned = posed.turn_axes[:, None] * is_turned[:, self.tips.bones, None, None, None]
            rows.append(turned.reshape(len(turned), -1, 3, turned.shape[-1]))
        return np.concatenate(rows, axis=1) * self._scale[:, None]
