"""The effort of poses: springs bent out of their comfort, and weight lifted.

Layout as in ``vectors``, in the units of the start poses. Turns of joints are told before their
own, as everywhere in ``jointed``: a small turn d makes exp(d) R of a joint's R.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from . import turns
from .kinematics.kinematic_tree import KinematicTree
from .kinematics.posed import Posed, move_by_turns
from .model.forces import Forces, StepMode
from .vectors import Array, Counts, Flags, dot, taken

Sides = npt.NDArray[np.int8]

# At its hard limit a joint resists so many times more than the same angle costs elsewhere, plus
# one. Without end it must not grow: targets that only the limits reach would never be reached.
GROWTH = 9.0
# Bent out of comfort by less than this, in radians, a joint stands on the edge of it.
AT_EDGE = 1e-4
# Less room than this, in radians, between comfort and limit is none to grow in.
NO_ROOM = 1e-3


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
        goes_on: Whether springs rest elsewhere than in the start poses: those are on their way.
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
    goes_on: bool

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
        bent = self.bent(turn)
        excess, growth = self.excess(bent, self._sides(bent))
        square = excess * excess
        springs = 0.5 * square * (1.0 + 0.5 * growth * square)
        height = dot(self.gravity, self._borne(posed).sum(axis=0))
        total: Array = np.einsum("nib,nb->b", springs, self.stiffness) - height
        return total

    def moments(self, posed: Posed) -> Array:
        """Return, in the frame of each joint, mass times way to it of all beyond, (n, 3, B)."""
        return posed.express(np.cumsum(self._borne(posed)[::-1], axis=0)[::-1])

    def _borne(self, posed: Posed) -> Array:
        """Return segments (n, 3, B), each as often as the mass that it bears."""
        segments = np.diff(posed.points, axis=0)
        return segments * (0.5 * self.masses + self.beyond)[:, None, :]

    def lifting(self, posed: Posed) -> Array:
        """Return how weight helps turns of the joints, shape (n, 3, B)."""
        lifted: Array = np.einsum("kb,nkcb->ncb", self.gravity, self.lifts(posed))
        return lifted

    def sides(self, turn: Array) -> Sides:
        """Return on which side of their comfort joints stand: -1, 0 inside, or 1, (n, 3, B).

        A comfort without width has no inside.
        """
        return self._sides(self.bent(turn))

    def lifts(self, posed: Posed) -> Array:
        """Return how masses times places move with turns of the joints, shape (n, 3, 3, B)."""
        return move_by_turns(posed.frames, self.moments(posed)[:, None])[:, 0]

    def is_at_comfort(self, turn: Array) -> Flags:
        """Tell which joints, about which axes, are hardly bent out of a comfort, (n, 3, B)."""
        bent = self.bent(turn)
        excess, _ = self.excess(bent, self._sides(bent))
        at_edge: Flags = (np.abs(excess) < AT_EDGE) & (self.low < self.high)
        return at_edge

    def bent(self, turn: Array) -> Array:
        """Return the turns from the optimum as rotation vectors in its axes, (n, 3, B)."""
        return turns.vectors_of(turns.multiply(turns.conjugate(self.optimum), turn))

    def _sides(self, bent: Array) -> Sides:
        sides = (bent > self.high).astype(np.int8) - (bent < self.low)
        return np.where((sides == 0) & (self.low == self.high), np.int8(1), sides)

    def excess(self, bent: Array, sides: Sides) -> tuple[Array, Array]:
        """Return by how much joints are bent out of comfort, and what grows there, (n, 3, B)."""
        is_above = sides > 0
        excess = np.where(sides != 0, bent - np.where(is_above, self.high, self.low), 0.0)
        return excess, np.where(is_above, self.growth_high, self.growth_low)


def compiled(chain: KinematicTree, forces: Forces, start_turn: Array) -> Effort:
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
        optimum = chain.joints.begun(chain.joints.inner(unit))
    at = turns.vectors_of(optimum)
    low, high = _bones_first(forces.comfort_low), _bones_first(forces.comfort_high)
    masses = _bones_first(forces.masses)
    total = np.cumsum(masses[::-1], axis=0)[::-1]
    return Effort(
        optimum=optimum,
        stiffness=_bones_first(forces.stiffness),
        low=low,
        high=high,
        growth_low=_growth(low - (chain.joints.low - at)),
        growth_high=_growth((chain.joints.high - at) - high),
        masses=masses,
        beyond=total - masses,
        gravity=_bones_first(forces.gravity) / chain.reach,
        mode=forces.mode,
        gain=forces.gain,
        goes_on=forces.optimum_wxyz is not None,
    )


def _growth(room: Array) -> Array:
    """Return how resistance grows over the rooms (n, 3, B) from comfort to limits."""
    has_room = np.isfinite(room) & (room > NO_ROOM)
    return np.where(has_room, GROWTH / np.where(has_room, room, 1.0) ** 2, 0.0)


def _bones_first(rows: Array) -> Array:
    return np.array(np.moveaxis(rows, 0, -1), order="C")
