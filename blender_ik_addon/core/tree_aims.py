"""What trees aim at besides the positions of their effectors: poles, and turns of the tip bones.

Layout as in ``vectors``; rows of an output are radians times what a radian weighs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from . import rotation, turns
from .algebra.arithmetic import ARRAYS
from .branches import Branches
from .jointed import NO_SIDE
from .kinematics.bend_plane import Pole, plan_bend
from .posed import turned_outside
from .vectors import Array, Counts, Flags, across, cross, dot, norm, taken

if TYPE_CHECKING:
    from .branched import PosedTree


@dataclass(frozen=True)
class TreePoles:
    """The poles of P limbs in each of B trees.

    Attributes:
        limbs: The bones of each limb, two or more.
        effectors: The effector of each limb.
        chord: Unit directions from the limbs' roots to effectors in the start pose, (P, 3, B).
        side: To which they bend there, shape (P, 3, B).
        reach: Of the limbs, shape (P, B).
        target: Of the effectors, shape (P, 3, B).
        position: Of the poles, shape (P, 3, B).
        angle: Radians about the chord, shape (P, B).
        sign: -1 where limbs are flipped to the other side, shape (B,).
    """

    limbs: tuple[tuple[int, ...], ...]
    effectors: tuple[int, ...]
    chord: Array
    side: Array
    reach: Array
    target: Array
    position: Array
    angle: Array
    sign: Array

    def take(self, trees: Counts | Flags) -> TreePoles:
        """Return those of some of the trees."""
        some = (self.chord, self.side, self.reach, self.target, self.position, self.angle)
        arrays = (taken(each, trees) for each in (*some, self.sign))
        return TreePoles(self.limbs, self.effectors, *arrays)

    @property
    def roots(self) -> list[int]:
        """The first bone of each limb."""
        return [limb[0] for limb in self.limbs]

    def offsets(self, heads: Array) -> Array:
        """Return the ways from the limbs' roots to the means of their inner joints, (P, 3, B)."""
        return np.array(
            [heads[list(limb[1:])].mean(axis=0) - heads[limb[0]] for limb in self.limbs]
        )

    def angles(self, heads: Array) -> tuple[Array, Array]:
        """Return how far limbs are turned past their poles, (P, B), and their chords, (P, 3, B).

        Args:
            heads: Shape (n, 3, B).
        """
        limbs, _, trees = self.chord.shape
        root = heads[self.roots]
        flat = np.concatenate
        pole = Pole(
            is_set=np.ones(limbs * trees, dtype=np.bool_),
            position=flat(self.position - root, axis=-1),
            angle=self.angle.reshape(-1),
        )
        plan = plan_bend(
            ARRAYS,
            flat(self.chord, axis=-1),
            flat(self.side, axis=-1),
            self.reach.reshape(-1),
            flat(self.target - root, axis=-1),
            pole,
        )
        chord, side, _ = plan.frame
        chord = chord.reshape(3, limbs, trees).swapaxes(0, 1)
        side = side.reshape(3, limbs, trees).swapaxes(0, 1) * self.sign
        offset = across(self.offsets(heads), chord)
        angle = np.arctan2(dot(cross(side, offset), chord), dot(side, offset))
        has_side = norm(offset) > NO_SIDE * self.reach
        return np.where(has_side, angle, 0.0), chord

    def faced(self, posed: PosedTree, turn: Array) -> Array:
        """Return turns (n, 4, B) of which the limbs' roots have turned limbs toward their poles."""
        angle, chord = self.angles(posed.heads)
        roots, faced = self.roots, turn.copy()
        axes = turned_outside(posed.frames[roots])
        back = np.einsum("pijb,pib->pjb", axes, -angle[:, None] * chord)
        faced[roots] = turns.multiply(turns.by_vectors(back), turn[roots])
        return faced

    def growths(self, heads: Array, chord: Array) -> tuple[Array, Array]:
        """Return how angles past poles grow with points, (P, 3, B) each.

        Args:
            heads: Shape (n, 3, B).
            chord: Shape (P, 3, B).

        Returns:
            With the mean of the inner joints, and with the way from a limb's root to anything that
            stands still: to its pole, and to its target, with which the chord turns.
        """
        root, found = heads[self.roots], []
        distance = np.maximum(norm(self.target - root), NO_SIDE * self.reach)
        for way in (self.offsets(heads), self.position - root):
            aside = across(way, chord)
            square = dot(aside, aside)
            has_side = square > (NO_SIDE * self.reach) ** 2
            scale = np.where(has_side, 1.0 / np.where(has_side, square, 1.0), 0.0)
            found.append((cross(chord, aside) * scale[:, None], dot(way, chord) / distance))
        (inner, along), (pole, pole_along) = found
        return inner, -along[:, None] * inner - (1.0 - pole_along)[:, None] * pole


@dataclass(frozen=True)
class TreeTips:
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

    def take(self, trees: Counts | Flags) -> TreeTips:
        """Return those of some of the trees."""
        return TreeTips(
            self.bones, self.effectors, taken(self.turn, trees), taken(self.start, trees)
        )

    def past(self, posed: PosedTree) -> Array:
        """Return the turns that bones are past their wanted orientations, vectors (T, 3, B)."""
        wanted = np.einsum("tijb,tjkb->tbik", turns.matrices(self.turn), self.start)
        present = posed.whole[list(self.bones)].transpose(0, 3, 1, 2)
        beyond = rotation.quaternion_from_matrix(present @ np.linalg.inv(wanted))
        return turns.vectors_of(np.moveaxis(beyond, -1, 1))


@dataclass(frozen=True)
class TreeAims:
    """What B trees aim at besides positions: first a row a pole, then three a tip.

    Attributes:
        branches: How the bones hang together.
        poles: None for none.
        tips: None for none.
        weight: Of a radian, shape (B,).
        pull: Roots of the effectors' weights, shape (E, B).
    """

    branches: Branches
    poles: TreePoles | None
    tips: TreeTips | None
    weight: Array
    pull: Array

    def take(self, trees: Counts | Flags) -> TreeAims:
        """Return those of some of the trees."""
        return TreeAims(
            self.branches,
            None if self.poles is None else self.poles.take(trees),
            None if self.tips is None else self.tips.take(trees),
            self.weight[trees],
            taken(self.pull, trees),
        )

    @property
    def rows(self) -> int:
        """The number of rows of the output."""
        poles = 0 if self.poles is None else len(self.poles.limbs)
        return poles + (0 if self.tips is None else 3 * len(self.tips.bones))

    def output(self, posed: PosedTree) -> Array:
        """Return what shall become zero, shape (rows, B)."""
        rows = []
        if self.poles is not None:
            rows.append(self._scale(self.poles.effectors) * self.poles.angles(posed.heads)[0])
        if self.tips is not None:
            past = self.tips.past(posed) * self._scale(self.tips.effectors)[:, None]
            rows.append(past.reshape(-1, past.shape[-1]))
        return np.concatenate(rows)

    def answers(self, posed: PosedTree) -> Array:
        """Return how outputs change with the turns of each joint, shape (n, rows, 3, B)."""
        rows = []
        if self.poles is not None:
            rows.append(self._answers_of_poles(self.poles, posed))
        if self.tips is not None:
            turned = turned_outside(posed.frames)[:, None]
            moves = self.branches.moves[:, self.tips.effectors]
            share = moves[:, :, None] * self._scale(self.tips.effectors)
            of_tips = turned * share[:, :, None, None]
            rows.append(of_tips.reshape(len(turned), -1, 3, self.weight.size))
        return np.concatenate(rows, axis=1)

    def _answers_of_poles(self, poles: TreePoles, posed: PosedTree) -> Array:
        """Return how angles past poles change with turns, shape (n, P, 3, B)."""
        chord = poles.angles(posed.heads)[1]
        inner, root = poles.growths(posed.heads, chord)
        effect = np.zeros((len(posed.heads), len(poles.limbs), 3, self.weight.size))
        for of, growth in ((self._inner, inner), (self._root, root)):
            # A joint moves the joints below it, each by its own lever.
            above = of[:, :, :, None, None]
            ways = (posed.heads[None] - posed.heads[:, None])[:, None]
            way = (above * ways).sum(axis=2)
            lever = np.einsum("nijb,npjb->npib", posed.inverse_frames, way)
            pulled = np.einsum("nijb,pib->npjb", posed.frames, growth)
            effect += cross(lever, pulled)
        return effect * self._scale(poles.effectors)[:, None]

    @cached_property
    def _inner(self) -> Array:
        """What each joint adds to offsets through each joint below it, shape (n, P, n)."""
        assert self.poles is not None
        found = self._root.copy()
        for row, limb in enumerate(self.poles.limbs):
            inner = list(limb[1:])
            found[:, row, inner] += self.branches.is_above[:, inner] / len(inner)
        return found

    @cached_property
    def _root(self) -> Array:
        """The same for the ways from the limbs' roots to anything that stands still."""
        assert self.poles is not None
        count = len(self.branches.parents)
        found = np.zeros((count, len(self.poles.limbs), count))
        for row, limb in enumerate(self.poles.limbs):
            found[:, row, limb[0]] = -1.0 * self.branches.is_above[:, limb[0]]
        return found

    def _scale(self, effectors: tuple[int, ...]) -> Array:
        scale: Array = self.weight * self.pull[list(effectors)]
        return scale
