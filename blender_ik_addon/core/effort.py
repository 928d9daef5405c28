"""The effort of poses: springs bent out of their comfort, and weight lifted.

Layout as in ``vectors``, in the units of the start poses. Turns of joints are told before their
own, as everywhere in ``jointed``: a small turn d makes exp(d) R of a joint's R.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from . import turns, vectors
from .forces import Forces, StepMode
from .jointed import Jointed, Posed, moved_by_turns
from .vectors import Array, Counts, Flags, cross, dot, taken

Sides = npt.NDArray[np.int8]

# At its hard limit a joint resists so many times more than the same angle costs elsewhere, plus
# one. Without end it must not grow: targets that only the limits reach would never be reached.
GROWTH = 9.0
# Bent out of comfort by less than this, in radians, a joint stands on the edge of it.
AT_EDGE = 1e-4
# Less room than this, in radians, between comfort and limit is none to grow in.
NO_ROOM = 1e-3
# Below this angle a series tells what a cotangent cannot.
SMALL_ANGLE = 1e-2


@dataclass(frozen=True)
class Effort:
    """What acts on B chains of n bones, compiled.

    Attributes:
        optimum: Turns where springs rest, shape (n, 4, B).
        stiffness: Shape (n, B).
        low: Of the comfort, shape (n, 3, B).
        high: Shape (n, 3, B).
        growth_low: How resistance grows below the comfort, per square radian, shape (n, 3, B).
        growth_high: The same above it.
        masses: Shape (n, B).
        beyond: Of all bones from each one's end on, shape (n, B).
        gravity: Pull of a mass of one, shape (3, B).
        mode: As ``Forces``, like the gain.
        gain: None for steps that are stable by themselves.
    """

    optimum: Array
    stiffness: Array
    low: Array
    high: Array
    growth_low: Array
    growth_high: Array
    masses: Array
    beyond: Array
    gravity: Array
    mode: StepMode
    gain: float | None

    def take(self, chains: Counts | Flags) -> Effort:
        """Return what acts on some of the chains."""
        some: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            some[field.name] = taken(value, chains) if isinstance(value, np.ndarray) else value
        return Effort(**some)

    @property
    def acts(self) -> Flags:
        """Whether anything acts at all, shape (B,)."""
        has_weight = (self.gravity != 0.0).any(axis=0) & (self.masses > 0.0).any(axis=0)
        acts: Flags = has_weight | (self.stiffness > 0.0).any(axis=0)
        return acts

    def total(self, posed: Posed, turn: Array) -> Array:
        """Return the effort of poses, shape (B,)."""
        bent = self._bent(turn)
        excess, growth = self._excess(bent, self._sides(bent))
        square = excess * excess
        springs = 0.5 * square * (1.0 + 0.5 * growth * square)
        height = dot(self.gravity, vectors.rotate(posed.frames[0], self.moments(posed)[0]))
        total: Array = np.einsum("nib,nb->b", springs, self.stiffness) - height
        return total

    def moments(self, posed: Posed) -> Array:
        """Return, in the frame of each joint, mass times way to it of all beyond, (n, 3, B).

        Suffix sums, tip first: the cost is that of one pass along the bones.
        """
        moments = posed.turned * (0.5 * self.masses + self.beyond)[:, None, :]
        for i in reversed(range(len(posed.links))):
            moments[i] += np.einsum("ijb,jb->ib", posed.links[i], moments[i + 1])
        return moments

    def lifting(self, posed: Posed) -> Array:
        """Return how weight helps turns of the joints, shape (n, 3, B)."""
        lifted: Array = np.einsum("kb,nkcb->ncb", self.gravity, self.lifts(posed))
        return lifted

    def sides(self, turn: Array) -> Sides:
        """Return on which side of their comfort joints stand: -1, 0 inside, or 1, (n, 3, B).

        A comfort without width has no inside.
        """
        return self._sides(self._bent(turn))

    def lifts(self, posed: Posed) -> Array:
        """Return how masses times places move with turns of the joints, shape (n, 3, 3, B)."""
        return moved_by_turns(posed.frames, self.moments(posed))

    def is_at_comfort(self, turn: Array) -> Flags:
        """Tell which joints, about which axes, are hardly bent out of a comfort, (n, 3, B)."""
        bent = self._bent(turn)
        excess, _ = self._excess(bent, self._sides(bent))
        at_edge: Flags = (np.abs(excess) < AT_EDGE) & (self.low < self.high)
        return at_edge

    def spring_curvature(self, turn: Array, sides: Sides) -> Array:
        """Return how the slopes of springs change with turns of their joints, (n, 3, 3, B).

        Args:
            turn: Shape (n, 4, B).
            sides: Those of their comfort on which springs are taken to act, as ``sides``.

        Source: the derivative of ``_spring_slope``, made symmetric, as second derivatives along
        the geodesics exp(t d) R are; derived for this project, and tested against differences in
        tests/core/test_effort.py.
        """
        bent = self._bent(turn)
        excess, growth = self._excess(bent, sides)
        pull = self.stiffness[:, None, :] * excess * (1.0 + growth * excess * excess)
        steep = np.where(sides != 0, 1.0 + 3.0 * growth * excess * excess, 0.0)
        steep = self.stiffness[:, None, :] * steep
        rate, over = _cotangents(bent)
        skew, pulled = _skew(bent), _skew(pull)
        square = np.einsum("nijb,njkb->nikb", skew, skew)
        across = np.eye(3)[:, :, None] + rate[:, None, None, :] * square
        told, given = across - 0.5 * skew, across + 0.5 * skew
        aside = np.einsum("nijb,njb->nib", square, pull)
        twisted = _skew(np.einsum("nijb,njb->nib", skew, pull))
        inner = -0.5 * pulled - rate[:, None, None, :] * (
            twisted + np.einsum("nijb,njkb->nikb", skew, pulled)
        )
        inner += over[:, None, None, :] * aside[:, :, None, :] * bent[:, None, :, :]
        inner += given * steep[:, None, :, :]
        curved = np.einsum("nijb,njkb->nikb", inner, told)
        axes = turns.matrices(self.optimum)
        whole = np.einsum("nijb,njkb,nlkb->nilb", axes, curved, axes)
        curvature: Array = 0.5 * (whole + whole.transpose(0, 2, 1, 3))
        return curvature

    def spring_slope(self, turn: Array, sides: Sides) -> Array:
        """Return how springs resist turns of their joints, shape (n, 3, B).

        The arguments are those of ``spring_curvature``. Of a rotation vector v a turn d before the
        joint's makes v + J d with, for c as ``_cotangents`` tells, J = 1 - [v]/2 + c [v][v].
        """
        bent = self._bent(turn)
        excess, growth = self._excess(bent, sides)
        pull = self.stiffness[:, None, :] * excess * (1.0 + growth * excess * excess)
        rate, _ = _cotangents(bent)
        aside = cross(bent, pull)
        slope = pull + 0.5 * aside + rate[:, None, :] * cross(bent, aside)
        return vectors_at(self.optimum, slope)

    def _bent(self, turn: Array) -> Array:
        """Return the turns from the optimum as rotation vectors in its axes, (n, 3, B)."""
        return turns.vectors_of(turns.multiply(turns.conjugate(self.optimum), turn))

    def _sides(self, bent: Array) -> Sides:
        sides = (bent > self.high).astype(np.int8) - (bent < self.low)
        return np.where((sides == 0) & (self.low == self.high), np.int8(1), sides)

    def _excess(self, bent: Array, sides: Sides) -> tuple[Array, Array]:
        """Return by how much joints are bent out of comfort, and what grows there, (n, 3, B)."""
        is_above = sides > 0
        excess = np.where(sides != 0, bent - np.where(is_above, self.high, self.low), 0.0)
        return excess, np.where(is_above, self.growth_high, self.growth_low)


def vectors_at(turn: Array, vector: Array) -> Array:
    """Return vectors (n, 3, B) told in turned axes as they are outside of the turns (n, 4, B)."""
    turned: Array = np.einsum("nijb,njb->nib", turns.matrices(turn), vector)
    return turned


def compiled(chain: Jointed, forces: Forces, start_turn: Array) -> Effort:
    """Return what acts on chains.

    Args:
        chain: The chains.
        forces: On B chains.
        start_turn: Their start poses, brought to what the joints allow, shape (n, 4, B).
    """
    optimum = start_turn
    if forces.optimum_wxyz is not None:
        rotations = forces.optimum_wxyz
        unit = rotations / np.linalg.norm(rotations, axis=-1, keepdims=True)
        optimum = chain.begun(chain.inner(unit))
    at = turns.vectors_of(optimum)
    low, high = _bones_first(forces.comfort_low), _bones_first(forces.comfort_high)
    masses = _bones_first(forces.masses)
    total = np.cumsum(masses[::-1], axis=0)[::-1]
    return Effort(
        optimum=optimum,
        stiffness=_bones_first(forces.stiffness),
        low=low,
        high=high,
        growth_low=_growth(low - (chain.low - at)),
        growth_high=_growth((chain.high - at) - high),
        masses=masses,
        beyond=total - masses,
        gravity=_bones_first(forces.gravity) / chain.reach,
        mode=forces.mode,
        gain=forces.gain,
    )


def _growth(room: Array) -> Array:
    """Return how resistance grows over the rooms (n, 3, B) from comfort to limits."""
    has_room = np.isfinite(room) & (room > NO_ROOM)
    return np.where(has_room, GROWTH / np.where(has_room, room, 1.0) ** 2, 0.0)


def _bones_first(rows: Array) -> Array:
    return np.array(np.moveaxis(rows, 0, -1), order="C")


def _cotangents(bent: Array) -> tuple[Array, Array]:
    """Return c = (1 - (a/2) cot(a/2)) / a^2 of angles a, and its derivative over a, (n, B)."""
    square = dot(bent, bent)
    is_small = square < SMALL_ANGLE**2
    safe = np.where(is_small, 1.0, square)
    angle = np.sqrt(safe)
    half = 0.5 * angle
    # By half angles the cotangent has no pole up to half a turn and beyond.
    cotangent = np.cos(half) / np.sin(half)
    rate = np.where(is_small, (1.0 + square / 60.0) / 12.0, (1.0 - half * cotangent) / safe)
    slope = 0.5 * half * (1.0 + cotangent * cotangent) - 0.5 * cotangent
    over = np.where(
        is_small,
        (1.0 + square / 21.0) / 360.0,
        (slope - 2.0 * angle * rate) / (safe * angle),
    )
    return rate, over


def _skew(vector: Array) -> Array:
    """Return the matrices (n, 3, 3, B) of vector products with vectors (n, 3, B)."""
    x, y, z = vector[:, 0], vector[:, 1], vector[:, 2]
    zero = np.zeros_like(x)
    rows = (np.stack((zero, -z, y), 1), np.stack((z, zero, -x), 1), np.stack((-y, x, zero), 1))
    return np.stack(rows, axis=1)
