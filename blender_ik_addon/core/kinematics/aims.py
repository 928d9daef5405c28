"""What effectors aim at besides their positions: poles of limbs, and turns of tip bones.

Layout as in ``arrays``; rows of an output are radians times what a radian weighs.
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
from ..algebra.vectors import NO_DIRECTION
from ..model.topology import Topology
from .bend_plane import Pole, plan_bend
from .posed import Posed
from .start_pose import compile_start_poses

# A bulge smaller than this share of the limb has no side.
NO_SIDE = 1e-6
# A vector a quarter turn on from another one has its parts along two axes, exchanged, times these.
_ACROSS = np.array([-1.0, 1.0])[:, None]


class Bulges(NamedTuple):
    """How P limbs bulge from their chords, shapes (P, 3, B).

    Attributes:
        posed: Where the bones stand.
        root: The limbs' roots.
        chord: Unit directions from there to their targets.
        sides: To which they shall bend, and across that and the chord, shape (P, 2, 3, B).
        offset: From the roots to the means of the inner joints.
        parts: Of that along the sides, shape (P, 2, B).
        inverse: One by the square of both, zero where limbs have no side, shape (P, B).
    """

    posed: Posed
    root: Array
    chord: Array
    sides: Array
    offset: Array
    parts: Array
    inverse: Array


class PoleCurvature(NamedTuple):
    """How the outputs of P poles change to second order, from poses in which their roots stay.

    Attributes:
        levers: From the heads of joints to what moves with them: turns move the means of inner
            joints as they move the ends of these, shape (n, P, 3, B).
        slopes: How outputs change with the means, shape (P, 3, B).
        bends: How that changes with them, shape (P, 3, 3, B).
    """

    levers: Array
    slopes: Array
    bends: Array


@dataclass(frozen=True)
class Limbs(Rows):
    """The limbs of P effectors in the start poses of B trees; of a chain the whole chain.

    Attributes:
        topology: How the bones hang together.
        bones: Of each limb, two or more.
        effectors: The effector of each limb.
        chord: Unit directions from the limbs' roots to effectors, (P, 3, B).
        side: To which they bend, shape (P, 3, B).
        reach: Shape (P, B).
    """

    inherited = ("middles", "shares")
    topology: Topology
    bones: tuple[tuple[int, ...], ...]
    effectors: tuple[int, ...]
    chord: Array
    side: Array
    reach: Array

    def take_effectors(self, flags: Sequence[bool] | None) -> Limbs:
        """Return the limbs of flagged effectors; None flags all."""
        if flags is None:
            return self
        rows = [row for row, effector in enumerate(self.effectors) if flags[effector]]
        return Limbs(
            self.topology,
            tuple(self.bones[row] for row in rows),
            tuple(self.effectors[row] for row in rows),
            self.chord[rows],
            self.side[rows],
            self.reach[rows],
        )

    @cached_property
    def middles(self) -> Array:
        """What each joint adds to the ways from the limbs' roots to the means of inner joints."""
        middles = np.zeros((len(self.bones), len(self.topology.parents)))
        for row, limb in enumerate(self.bones):
            middles[row, limb[0]] = -1.0
            middles[row, list(limb[1:])] = 1.0 / (len(limb) - 1)
        return middles

    @cached_property
    def shares(self) -> tuple[Array, Array]:
        """What each joint adds by the heads below it, and by its own, to such ways, (n, P, n).

        To those from the limbs' roots to what stands still, and to the means of the inner joints.
        """
        above = self.topology.is_above[:, None].astype(float)
        still = self._held(above * np.minimum(np.sign(self.middles), 0.0))
        inner = self._held(above * self.middles)
        for shares in (still, inner):
            np.einsum("npn->np", shares)[...] -= shares.sum(axis=2)
        return still, inner

    def _held(self, shares: Array) -> Array:
        """Return shares of heads as shares of what moves as they do when each bone turns."""
        if not self.topology.unturned:
            return shares
        bones = len(shares)
        is_held = self.topology.held[:, :bones, None] == np.arange(bones)
        held: Array = np.einsum("npm,nmk->npk", shares, is_held.astype(float))
        return held


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
    shape = len(starts), *posed.tips.shape[1:]
    return Limbs(
        topology,
        tuple(bones),
        tuple(effectors),
        np.reshape([start.chord for start in starts], shape),
        np.reshape([start.side for start in starts], shape),
        np.reshape([start.reach * start.unit for start in starts], (shape[0], shape[2])),
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
        keeps_start: As ``Pole`` has it.
    """

    limbs: Limbs
    target: Array
    position: Array
    angle: Array
    sign: Array
    keeps_start: bool = False

    def measure(self, posed: Posed) -> Bulges:
        """Return how limbs bulge from their chords; what was measured last is kept."""
        known: Bulges | None = self.__dict__.get("_measured")
        if known is not None and known.posed is posed:
            return known
        heads, bones = posed.heads, self.limbs.bones
        root = heads[[limb[0] for limb in bones]]
        if known is not None and np.array_equal(known.root, root):
            # The roots of limbs that hang on no other bone never move.
            chord, sides = known.chord, known.sides
        else:
            chord, sides = self._find_frames(root)
        offset = np.einsum("pn,nib->pib", self.limbs.middles, heads)
        parts = np.einsum("psib,pib->psb", sides, offset)
        inverse = self._invert(dot(parts, parts))
        bulges = Bulges(posed, root, chord, sides, offset, parts, inverse)
        self.__dict__["_measured"] = bulges
        return bulges

    def _find_frames(self, root: Array) -> tuple[Array, Array]:
        """Return the chords of limbs, (P, 3, B), and their sides as ``Bulges`` has them."""
        limbs, (count, _, trees), flat = self.limbs, root.shape, np.concatenate
        is_set = np.ones(count * trees, dtype=np.bool_)
        position = flat(self.position - root, axis=-1)
        pole = Pole(is_set, position, self.angle.reshape(-1), self.keeps_start)
        chord, side = flat(limbs.chord, axis=-1), flat(limbs.side, axis=-1)
        target = flat(self.target - root, axis=-1)
        plan = plan_bend(ARRAYS, chord, side, limbs.reach.reshape(-1), target, pole)
        chord, side = (
            np.reshape(axis, (3, count, trees)).swapaxes(0, 1) for axis in (plan.chord, plan.side)
        )
        side = side * self.sign
        return chord, np.stack((side, cross(chord, side)), axis=1)

    def _invert(self, square: Array) -> Array:
        """Return one by squares of vectors (P, B); zero for vectors without a side."""
        has_side = square > (NO_SIDE * self.limbs.reach) ** 2
        return np.where(has_side, 1.0 / np.where(has_side, square, 1.0), 0.0)

    def find_past(self, posed: Posed) -> Array:
        """Return by how many radians limbs are turned past their poles, shape (P, B)."""
        at = self.measure(posed)
        return np.where(at.inverse > 0.0, np.arctan2(at.parts[:, 1], at.parts[:, 0]), 0.0)

    def _find_shares(self, at: Bulges) -> Array:
        """Return how outputs change with the parts of bulges, shape (P, 2, B)."""
        shares: Array = at.parts[:, ::-1] * at.inverse[:, None] * _ACROSS
        return shares

    def find_curvature(self, posed: Posed) -> PoleCurvature:
        """Return how outputs change to second order; that roots move is left out."""
        at, shares = self.measure(posed), self.limbs.shares[1]
        levers = np.einsum("npm,mib->npib", shares, posed.heads)
        slopes = np.einsum("psb,psib->pib", self._find_shares(at), at.sides)
        along, across = at.parts.swapaxes(0, 1)
        both, unlike = along * across, across * across - along * along
        bends = np.array(((2.0 * both, unlike), (unlike, -2.0 * both))) * at.inverse**2
        bends = np.einsum("stpb,psib,ptjb->pijb", bends, at.sides, at.sides)
        return PoleCurvature(levers, slopes, bends)

    def face(self, posed: Posed, turn: Array) -> Array:
        """Return turns (n, 4, B) of which limbs have turned as a whole toward their poles."""
        limbs, faced = self.limbs, turn.copy()
        kept = limbs.topology.unturned
        led = [
            (row, b) for row, limb in enumerate(limbs.bones) for b in limb if b in (limb[0], *kept)
        ]
        rows, bones = (list(each) for each in zip(*led, strict=True))
        back = (-self.find_past(posed)[:, None] * self.measure(posed).chord)[rows]
        back = np.einsum("pijb,pib->pjb", posed.turn_axes[bones], back)
        faced[bones] = turns.multiply(turns.from_vectors(back), turn[bones])
        return faced

    def find_slopes(self, posed: Posed) -> Array:
        """Return how outputs change with turns, shape (n, P, 3, B).

        Where the first bone floats, its row tells how they change with its place.
        """
        at, limbs, (still_shares, shares) = self.measure(posed), self.limbs, self.limbs.shares
        by_parts = self._find_shares(at)
        inner = np.einsum("psb,psib->pib", by_parts, at.sides)
        slopes = self._sum_slopes(posed, shares, inner)
        floats = limbs.topology.floats
        if still_shares.any() or floats:
            # As the roots move, so do the ways to the pole and to the target, along which the
            # chord lies.
            distance = np.maximum(norm(self.target - at.root), NO_SIDE * limbs.reach)
            to_pole = self.position - at.root
            aside = reject(to_pole, at.chord)
            turned = (by_parts * at.parts[:, ::-1] * _ACROSS).sum(axis=1)
            pole = cross(at.chord, aside) * (turned * self._invert(dot(aside, aside)))[:, None]
            along, pole_along = (dot(way, at.chord) / distance for way in (at.offset, to_pole))
            of_root = -along[:, None] * inner - (1.0 - pole_along)[:, None] * pole
            slopes += self._sum_slopes(posed, still_shares, of_root)
            if floats:
                slopes[0] = -of_root
        return slopes

    @staticmethod
    def _sum_slopes(posed: Posed, shares: Array, slopes: Array) -> Array:
        """Return what slopes (P, 3, B) make of turns: joints move those below by their levers."""
        levers = np.einsum("npm,mib->npib", shares, posed.heads)
        pulled = np.einsum("nijb,pib->npjb", posed.frames, slopes)
        return cross(posed.express(levers), pulled)


@dataclass(frozen=True)
class Tips(Rows):
    """The turns that the bones of T effectors shall have taken.

    Attributes:
        bones: Shape (T,).
        effectors: Shape (T,).
        turn: From the start pose wxyz, shape (T, 4, B).
        back: The inverses of the bones' axes in the start pose, shape (T, 3, 3, B).
    """

    bones: tuple[int, ...]
    effectors: tuple[int, ...]
    turn: Array
    back: Array

    def find_turns_past(self, posed: Posed) -> Array:
        """Return the turns that bones are past their wanted orientations, vectors (T, 3, B)."""
        bones = list(self.bones)
        whole = np.einsum("tijb,tjkb->tikb", posed.frames[bones], posed.own[bones])
        past = np.einsum("tijb,tjkb->tikb", whole, self._home)
        return turns.to_vectors(turns.from_matrices(past))

    @cached_property
    def _home(self) -> Array:
        """What brings axes that are turned as wanted to no turn at all, shape (T, 3, 3, B)."""
        home: Array = np.einsum("tijb,tkjb->tikb", self.back, turns.to_matrices(self.turn))
        return home


@dataclass(frozen=True)
class Aims(Rows):
    """What B trees aim at besides positions: first a row a pole, then three a tip.

    Attributes:
        topology: How the bones hang together.
        poles: None for none.
        tips: None for none.
        weight: Of a radian, shape (B,).
        sqrt_weights: Square roots of the effectors' weights, shape (E, B).
        moves: Which bones move which effectors, shape (n, E, 1).
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
        left = turns.from_vectors((1.0 - share) * self.tips.find_turns_past(posed))
        return replace(self, tips=replace(self.tips, turn=turns.multiply(left, self.tips.turn)))

    @property
    def effectors(self) -> tuple[int, ...]:
        """The effector of each row of the output."""
        poles = () if self.poles is None else self.poles.limbs.effectors
        tips = () if self.tips is None else self.tips.effectors
        return *poles, *(effector for effector in tips for _ in range(3))

    @cached_property
    def _scale(self) -> Array:
        """What radians are multiplied by, shape (rows, B)."""
        scale: Array = self.weight * self.sqrt_weights[list(self.effectors)]
        return scale

    @property
    def rows(self) -> int:
        """The number of rows of the output."""
        return len(self._scale)

    def find_output(self, posed: Posed) -> Array:
        """Return what shall become zero, shape (rows, B)."""
        rows = [] if self.poles is None else [self.poles.find_past(posed)]
        if self.tips is not None:
            past = self.tips.find_turns_past(posed)
            rows.append(past.reshape(-1, past.shape[-1]))
        return np.concatenate(rows) * self._scale

    def curve_poles(self, posed: Posed) -> PoleCurvature:
        """Return how the first rows, those of the poles, change to second order."""
        assert self.poles is not None
        levers, slopes, bends = self.poles.find_curvature(posed)
        scale = self._scale[: len(slopes)]
        return PoleCurvature(levers, slopes * scale[:, None], bends * scale[:, None, None])

    def find_jacobian(self, posed: Posed) -> Array:
        """Return how outputs change with the turns of each joint, shape (n, rows, 3, B)."""
        rows = [] if self.poles is None else [self.poles.find_slopes(posed)]
        if self.tips is not None:
            moves = self.topology.turns | np.eye(len(posed.heads), dtype=np.bool_)
            turned = posed.turn_axes[:, None] * moves[:, self.tips.bones, None, None, None]
            rows.append(turned.reshape(len(turned), -1, 3, turned.shape[-1]))
        return np.concatenate(rows, axis=1) * self._scale[:, None]
