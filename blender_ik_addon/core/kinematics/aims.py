"""What effectors aim at besides their positions: poles of limbs, and turns of tip bones.

Layout as in ``arrays``; rows of an output are radians times what a radian weighs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..algebra import rotation, turns
from ..algebra.arithmetic import ARRAYS, Array
from ..algebra.arrays import cross, dot, norm, reject
from ..algebra.nested import Rows
from ..algebra.vectors import NO_DIRECTION
from ..model.topology import Topology
from .bend_plane import Pole, plan_bend
from .posed import Posed
from .start_pose import compile_start_poses

# A bulge smaller than this share of the limb has no side.
NO_SIDE = 1e-6


class Bulges(NamedTuple):
    """How P limbs bulge from their chords, shapes (P, 3, B).

    Attributes:
        chord: Unit directions from the limbs' roots to their targets.
        side: To which they shall bend.
        offset: From the roots to the means of the inner joints.
        aside: The part of that across the chord.
        inverse: One by its square, zero where it has no side, shape (P, B).
    """

    chord: Array
    side: Array
    offset: Array
    aside: Array
    inverse: Array


@dataclass(frozen=True)
class Limbs(Rows):
    """The limbs of P effectors in the start poses of B trees; of a chain the whole chain.

    Attributes:
        bones: Of each limb, two or more.
        effectors: The effector of each limb.
        chord: Unit directions from the limbs' roots to effectors, (P, 3, B).
        side: To which they bend, shape (P, 3, B).
        reach: Shape (P, B).
    """

    bones: tuple[tuple[int, ...], ...]
    effectors: tuple[int, ...]
    chord: Array
    side: Array
    reach: Array

    def take_effectors(self, effectors: Sequence[int]) -> Limbs:
        """Return the limbs of some of the effectors."""
        rows = [row for row, effector in enumerate(self.effectors) if effector in effectors]
        return Limbs(
            tuple(self.bones[row] for row in rows),
            tuple(self.effectors[row] for row in rows),
            self.chord[rows],
            self.side[rows],
            self.reach[rows],
        )


def compile_limbs(topology: Topology, posed: Posed, hints: Array) -> Limbs:
    """Return the limbs of trees.

    Args:
        topology: How the bones hang together.
        posed: Where the start poses put them.
        hints: Where they bend if they are straight, zero for no hint, shape (n, 3, B).
    """
    bones, effectors, starts = [], [], []
    for effector, limb in enumerate(topology.limbs):
        tip = posed.tips[effector]
        if (norm(tip - posed.heads[limb[-1]]) <= NO_DIRECTION).all():
            # A bone whose head is the effector does not bend to its pole.
            limb = limb[:-1]
        points = np.concatenate((posed.heads[list(limb)], tip[None]))
        if len(limb) > 1 and (norm(np.diff(points, axis=0)) > NO_DIRECTION).all():
            bones.append(limb)
            effectors.append(effector)
            starts.append(compile_start_poses(points, hints[list(limb)].sum(axis=0)))
    empty = np.empty((0, *posed.tips.shape[1:]))
    return Limbs(
        tuple(bones),
        tuple(effectors),
        np.array([start.chord for start in starts]) if starts else empty,
        np.array([start.side for start in starts]) if starts else empty,
        np.array([start.reach * start.unit for start in starts]) if starts else empty[:, 0],
    )


@dataclass(frozen=True)
class Poles(Rows):
    """The poles of P limbs in each of B trees.

    Attributes:
        limbs: The limbs.
        target: Of the effectors, shape (P, 3, B).
        position: Of the poles, shape (P, 3, B).
        angle: Radians about the chord, shape (P, B).
        sign: -1 where limbs are flipped to the other side, shape (B,).
    """

    limbs: Limbs
    target: Array
    position: Array
    angle: Array
    sign: Array

    @property
    def roots(self) -> list[int]:
        """The first bone of each limb."""
        return [limb[0] for limb in self.limbs.bones]

    def find_frames(self, heads: Array) -> tuple[Array, Array]:
        """Return the chords of limbs and the sides that they shall bend to, (P, 3, B) each."""
        root = heads[self.roots]
        known = self.__dict__.get("_known")
        if known is not None and np.array_equal(known[0], root):
            # The roots of limbs that hang on no other bone never move.
            found: tuple[Array, Array] = known[1]
            return found
        limbs, _, trees = self.limbs.chord.shape
        flat = np.concatenate
        pole = Pole(
            is_set=np.ones(limbs * trees, dtype=np.bool_),
            position=flat(self.position - root, axis=-1),
            angle=self.angle.reshape(-1),
        )
        plan = plan_bend(
            ARRAYS,
            flat(self.limbs.chord, axis=-1),
            flat(self.limbs.side, axis=-1),
            self.limbs.reach.reshape(-1),
            flat(self.target - root, axis=-1),
            pole,
        )
        chord, side, _ = (np.reshape(axis, (3, limbs, trees)).swapaxes(0, 1) for axis in plan.frame)
        self.__dict__["_known"] = root, (chord, side * self.sign)
        return chord, side * self.sign

    def measure(self, heads: Array) -> Bulges:
        """Return how limbs with heads (n, 3, B) bulge from their chords."""
        known: tuple[Array | None, Bulges | None] = self.__dict__.get("_measured", (None, None))
        if known[0] is heads and known[1] is not None:
            return known[1]
        chord, side = self.find_frames(heads)
        offset = np.array(
            [heads[list(limb[1:])].mean(axis=0) - heads[limb[0]] for limb in self.limbs.bones]
        )
        aside = reject(offset, chord)
        square = dot(aside, aside)
        inverse = self._divide(1.0, square)
        found = Bulges(chord, side, offset, aside, inverse)
        self.__dict__["_measured"] = heads, found
        return found

    def _divide(self, x: float, square: Array) -> Array:
        """Return x / square; zero for a bulge without a side."""
        has_side = square > (NO_SIDE * self.limbs.reach) ** 2
        return np.where(has_side, x / np.where(has_side, square, 1.0), 0.0)

    def find_angles(self, heads: Array) -> Array:
        """Return by how much limbs are turned past their poles, (P, B); heads are (n, 3, B)."""
        chord, side, _, aside, inverse = self.measure(heads)
        angle = np.arctan2(dot(cross(side, aside), chord), dot(side, aside))
        return np.where(inverse > 0.0, angle, 0.0)

    def face(self, posed: Posed, turn: Array) -> Array:
        """Return turns (n, 4, B) of which the limbs' roots have turned limbs toward their poles."""
        angle, chord = self.find_angles(posed.heads), self.measure(posed.heads).chord
        roots, faced = self.roots, turn.copy()
        back = np.einsum("pijb,pib->pjb", posed.turn_axes[roots], -angle[:, None] * chord)
        faced[roots] = turns.multiply(turns.from_vectors(back), turn[roots])
        return faced

    def find_inner_slopes(self, heads: Array) -> Array:
        """Return how angles past poles grow with the means of inner joints, shape (P, 3, B)."""
        chord, _, _, aside, inverse = self.measure(heads)
        return cross(chord, aside) * inverse[:, None]

    def find_root_slopes(self, heads: Array) -> Array:
        """Return how angles past poles grow with the limbs' roots, as vectors from there on.

        They are vectors to what stands still, to the pole and to the target, with which the chord
        turns, shape (P, 3, B).
        """
        root, (chord, _, offset, _, _) = heads[self.roots], self.measure(heads)
        distance = np.maximum(norm(self.target - root), NO_SIDE * self.limbs.reach)
        to_pole = self.position - root
        aside = reject(to_pole, chord)
        pole = cross(chord, aside) * self._divide(1.0, dot(aside, aside))[:, None]
        along, pole_along = (dot(each, chord) / distance for each in (offset, to_pole))
        slopes = -along[:, None] * self.find_inner_slopes(heads)
        return slopes - (1.0 - pole_along)[:, None] * pole


@dataclass(frozen=True)
class Tips(Rows):
    """The turns that the bones of T effectors shall have taken.

    Attributes:
        bones: Shape (T,).
        effectors: Shape (T,).
        turn: From the start pose wxyz, shape (T, 4, B).
        start: The axes of the bones in the start pose, shape (T, 3, 3, B).
    """

    bones: tuple[int, ...]
    effectors: tuple[int, ...]
    turn: Array
    start: Array

    @cached_property
    def _back(self) -> Array:
        """The inverses of the wanted axes, shape (T, B, 3, 3)."""
        wanted = np.einsum("tijb,tjkb->tbik", turns.to_matrices(self.turn), self.start)
        return np.linalg.inv(wanted)

    def find_turns_past(self, posed: Posed) -> Array:
        """Return the turns that bones are past their wanted orientations, vectors (T, 3, B)."""
        present = posed.whole[list(self.bones)].transpose(0, 3, 1, 2)
        past = rotation.quaternion_from_matrix(present @ self._back)
        return turns.to_vectors(np.moveaxis(past, -1, 1))

    def take_share(self, posed: Posed, share: float) -> Tips:
        """Return tips that turn a share of the way from where they stand."""
        left = turns.from_vectors((1.0 - share) * self.find_turns_past(posed))
        return Tips(self.bones, self.effectors, turns.multiply(left, self.turn), self.start)


@dataclass(frozen=True)
class Aims(Rows):
    """What B trees aim at besides positions: first a row a pole, then three a tip.

    Attributes:
        topology: How the bones hang together.
        poles: None for none.
        tips: None for none.
        weight: Of a radian, shape (B,).
        sqrt_weights: Square roots of the effectors' weights, shape (E, B).
    """

    topology: Topology
    poles: Poles | None
    tips: Tips | None
    weight: Array
    sqrt_weights: Array

    def take_share(self, posed: Posed, share: float) -> Aims:
        """Return aims whose tips turn a share of the way from where they stand."""
        if self.tips is None or share == 1.0:
            return self
        return replace(self, tips=self.tips.take_share(posed, share))

    @property
    def rows(self) -> int:
        """The number of rows of the output."""
        poles = 0 if self.poles is None else len(self.poles.limbs.bones)
        return poles + (0 if self.tips is None else 3 * len(self.tips.bones))

    def find_angles_past(self, posed: Posed) -> Array:
        """Return by how much the limbs farthest from their poles are past them, shape (B,)."""
        if self.poles is None:
            return np.zeros(self.weight.size)
        angles: Array = np.abs(self.poles.find_angles(posed.heads)).max(axis=0)
        return angles

    def find_output(self, posed: Posed) -> Array:
        """Return what shall become zero, shape (rows, B)."""
        rows = []
        if self.poles is not None:
            angles = self.poles.find_angles(posed.heads)
            rows.append(self._scale(self.poles.limbs.effectors) * angles)
        if self.tips is not None:
            past = self.tips.find_turns_past(posed) * self._scale(self.tips.effectors)[:, None]
            rows.append(past.reshape(-1, past.shape[-1]))
        return np.concatenate(rows)

    def find_jacobian(self, posed: Posed) -> Array:
        """Return how outputs change with the turns of each joint, shape (n, rows, 3, B)."""
        rows = []
        if self.poles is not None:
            rows.append(self._find_jacobian_of_poles(self.poles, posed))
        if self.tips is not None:
            moves = self.topology.moves[:, self.tips.effectors]
            share = moves[:, :, None] * self._scale(self.tips.effectors)
            of_tips = posed.turn_axes[:, None] * share[:, :, None, None]
            rows.append(of_tips.reshape(len(moves), -1, 3, self.weight.size))
        return np.concatenate(rows, axis=1)

    def _find_jacobian_of_poles(self, poles: Poles, posed: Posed) -> Array:
        """Return how angles past poles change with turns, shape (n, P, 3, B)."""
        parts = [(self._inner_shares, poles.find_inner_slopes(posed.heads))]
        if self._root_shares.any():
            parts.append((self._root_shares, poles.find_root_slopes(posed.heads)))
        effect: Array | float = 0.0
        for weights, slope in parts:
            # A joint moves the joints below it, each by its own lever.
            pulled = np.einsum("nijb,pib->npjb", posed.frames, slope)
            effect = effect + cross(posed.sum_levers(weights), pulled)
        return effect * self._scale(poles.limbs.effectors)[:, None]

    @cached_property
    def _inner_shares(self) -> Array:
        """What each joint adds to offsets through each joint below it, shape (n, P, n)."""
        assert self.poles is not None
        found = self._root_shares.copy()
        for row, limb in enumerate(self.poles.limbs.bones):
            inner = list(limb[1:])
            found[:, row, inner] += self.topology.is_above[:, inner] / len(inner)
        return found

    @cached_property
    def _root_shares(self) -> Array:
        """The same for the vectors from the limbs' roots to anything that stands still."""
        assert self.poles is not None
        count = len(self.topology.parents)
        found = np.zeros((count, len(self.poles.limbs.bones), count))
        for row, limb in enumerate(self.poles.limbs.bones):
            found[:, row, limb[0]] = -1.0 * self.topology.is_above[:, limb[0]]
        return found

    def _scale(self, effectors: tuple[int, ...]) -> Array:
        scale: Array = self.weight * self.sqrt_weights[list(effectors)]
        return scale
