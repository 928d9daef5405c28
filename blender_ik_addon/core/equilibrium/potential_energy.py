"""The potential energy of poses: springs bent beyond their slack, and weight lifted.

Layout as in ``arrays``, in the units of the start poses. Turns of joints act before their own, as
everywhere in ``kinematic_tree``: a small turn d makes exp(d) R of a joint's R.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..algebra import turns
from ..algebra.arithmetic import Array, Flags
from ..algebra.arrays import dot, skew
from ..algebra.nested import Rows
from ..kinematics.kinematic_tree import TURN, KinematicTree
from ..kinematics.posed import move_by_turns
from ..model.forces import Forces, StepMode
from ..solvers.kkt_system import add_blocks, curve_work

# At its hard limit a spring is so many times stiffer, plus one. It must stay finite: targets that
# only the limits reach would never be reached.
GROWTH = 9.0
# Less room than this, in radians, between slack and limit is none to grow in.
NO_ROOM = 1e-3
# Below this angle a series replaces the cotangent.
SMALL_ANGLE = 1e-2


@dataclass(frozen=True)
class PotentialEnergy(Rows):
    """The springs and the weight of B chains of n bones, compiled.

    Attributes:
        rest: Turns where springs rest, shape (n, 4, B).
        rest_axes: The same as matrices, shape (n, 3, 3, B).
        stiffness: Shape (n, B).
        slack_low: Least turns from rest that cost nothing, shape (n, 3, B).
        slack_high: Greatest ones.
        growth_low: How stiffness grows below the slack, per square radian, shape (n, 3, B).
        growth_high: The same above it.
        borne: The mass that each segment lifts: half of its own and all beyond, shape (n, B).
        gravity: Pull of a mass of one, shape (3, B).
        mode: As ``Forces``, like the gain.
        gain: None for steps that are stable by themselves.
        has_own_rest: Whether springs rest elsewhere than in the start poses.
    """

    rest: Array
    rest_axes: Array
    stiffness: Array
    slack_low: Array
    slack_high: Array
    growth_low: Array
    growth_high: Array
    borne: Array
    gravity: Array
    mode: StepMode
    gain: float | None
    has_own_rest: bool

    @property
    def acts(self) -> Flags:
        """Whether anything acts at all, shape (B,)."""
        has_weight = (self.gravity != 0.0).any(axis=0) & (self.borne > 0.0).any(axis=0)
        acts: Flags = has_weight | (self.stiffness > 0.0).any(axis=0)
        return acts

    @property
    def only_settles(self) -> Flags:
        """Of which chains only the equilibrium matters, not the way there, shape (B,).

        A gain, or the classic step, is set to see what it does.
        """
        has_own_step = self.gain is not None or self.mode is StepMode.CLASSIC
        return self.acts & (not has_own_step)


class EnergyAt:
    """The energy of chains at one pose, and its derivatives by turns of the joints.

    Of a rotation vector v from rest a turn d before the joint's makes v + J d, where
    J = 1 - [v]/2 + c [v][v] with c as ``_cotangents`` returns it.

    Source: derived for this project, and tested against differences in
    tests/core/equilibrium/test_potential_energy.py.
    """

    def __init__(self, energy: PotentialEnergy, chain: KinematicTree, state: Array) -> None:
        """Take states of chains, as ``kinematic_tree`` describes them."""
        self._energy, self._chain, self._posed = energy, chain, chain.posed(state)
        self._bent = turns.to_vectors(
            turns.multiply(turns.conjugate(energy.rest), state[:-1, :TURN])
        )
        # How far springs are bent beyond their slack. One without slack acts where it rests, too.
        low, high = energy.slack_low, energy.slack_high
        self._excess = self._bent - np.clip(self._bent, low, high)
        self._acts = (self._excess != 0.0) | (low >= high)

    @property
    def total(self) -> Array:
        """The energy, shape (B,)."""
        energy, square = self._energy, self._excess * self._excess
        springs = 0.5 * square * (1.0 + 0.5 * self._growth * square)
        total: Array = np.einsum("nib,nb->b", springs, energy.stiffness)
        return total - dot(energy.gravity, self._lifted.sum(axis=0))

    @cached_property
    def _lifted(self) -> Array:
        """Segments (n, 3, B), each as often as the mass that it bears."""
        return np.diff(self._posed.points, axis=0) * self._energy.borne[:, None, :]

    @cached_property
    def _mass_jacobian(self) -> Array:
        """How masses times places move with turns of the joints, shape (n, 3, 3, B)."""
        borne = _sum_from(self._lifted)
        if (topology := self._chain.topology).unturned:
            # What a bone carries that it does not turn moves with the first head there.
            beyond = np.concatenate((borne, np.zeros_like(borne[:1])))
            borne = borne - beyond[topology.held[:, -1]]
        levers = self._posed.express(borne)
        return move_by_turns(self._posed.frames, levers[:, None])[:, 0]

    @property
    def slope(self) -> Array:
        """The first derivatives, shape (n, 3, B)."""
        weight = np.einsum("kb,nkcb->ncb", self._energy.gravity, self._mass_jacobian)
        slope: Array = self._resistance[0] - weight
        return slope

    def curve(self, jacobian: Array, force: Array) -> Array:
        """Return the second derivatives less those of a force's work on outputs, (B, 3 n, 3 n).

        That of the first three outputs; the curvature of aims is left out.

        Args:
            jacobian: Of the outputs, shape (n, k, 3, B).
            force: Shape (k, B).
        """
        pulls = np.stack((self._energy.gravity, force[:3]))
        moved = np.concatenate((self._mass_jacobian, jacobian[:, :3]), axis=1)
        whole = curve_work(self._posed, pulls, moved, self._chain.topology.turns)
        add_blocks(whole, self._resistance[1])
        return whole

    @cached_property
    def _resistance(self) -> tuple[Array, Array]:
        """How springs resist turns, (n, 3, B), and how that changes, (n, 3, 3, B).

        The second derivatives are those along the geodesics exp(t d) R, made symmetric. With
        [a][b] = b a^T - a.b and [a x b] = b a^T - a b^T what comes of the change of J needs no
        matrix product but the last.
        """
        axes = self._energy.rest_axes
        vector = np.einsum("nijb,njb->nib", axes, self._bent)
        rate, over = _cotangents(self._bent)
        rate, square = rate[:, None, None], vector[:, :, None] * vector[:, None]
        square -= dot(vector, vector)[:, None, None] * _EYE
        log_jacobian = _EYE - 0.5 * skew(vector) + rate * square
        own = np.einsum("njib,njkb->nikb", axes, log_jacobian)
        square, stiffness = self._growth * self._excess**2, self._energy.stiffness[:, None]
        pull = stiffness * self._excess * (1.0 + square)
        steep = stiffness * np.where(self._acts, 1.0 + 3.0 * square, 0.0)
        slope = np.einsum("nijb,nib->njb", own, pull)
        force = np.einsum("nijb,njb->nib", axes, pull)
        along = dot(vector, force)
        aside = vector * along[:, None] - force * dot(vector, vector)[:, None]
        outer = force[:, :, None] * vector[:, None]
        inner = rate * (outer.swapaxes(1, 2) - 2.0 * outer) - 0.5 * skew(force)
        inner += (rate[:, 0, 0] * along)[:, None, None] * _EYE
        inner += over[:, None, None] * aside[:, :, None] * vector[:, None]
        whole = np.einsum("nijb,njkb->nikb", inner, log_jacobian)
        whole += np.einsum("nijb,nikb->njkb", own * steep[:, :, None], own)
        return slope, 0.5 * (whole + whole.swapaxes(1, 2))

    @property
    def _growth(self) -> Array:
        """How stiffness grows on the side that springs are bent to, shape (n, 3, B)."""
        return np.where(self._excess > 0.0, self._energy.growth_high, self._energy.growth_low)


_EYE = np.eye(3)[:, :, None]


def _cotangents(bent: Array) -> tuple[Array, Array]:
    """Return c = (1 - (a/2) cot(a/2)) / a^2 of angles a, and its derivative over a, (n, B)."""
    square = dot(bent, bent)
    is_small = square < SMALL_ANGLE**2
    safe = np.where(is_small, 1.0, square)
    angle = np.sqrt(safe)
    half = 0.5 * angle
    # By half angles the cotangent has no pole up to half a turn and beyond.
    cotangent = np.cos(half) / np.sin(half)
    rate = (1.0 - half * cotangent) / safe
    slope = 0.5 * half * (1.0 + cotangent * cotangent) - 0.5 * cotangent
    over = (slope - 2.0 * angle * rate) / (safe * angle)
    return (
        np.where(is_small, (1.0 + square / 60.0) / 12.0, rate),
        np.where(is_small, (1.0 + square / 21.0) / 360.0, over),
    )


def compile_energy(chain: KinematicTree, forces: Forces, start_turn: Array) -> PotentialEnergy:
    """Return the potential energy of chains.

    Args:
        chain: The chains.
        forces: On B chains.
        start_turn: Their start poses, brought to what the joints allow, shape (n, 4, B).
    """
    rest = start_turn
    if forces.optimum_wxyz is not None:
        rotations = forces.optimum_wxyz
        unit = rotations / np.linalg.norm(rotations, axis=-1, keepdims=True)
        rest = chain.joints.begun(chain.joints.inner(unit))
    at = turns.to_vectors(rest)
    low, high = _bones_first(forces.comfort_low), _bones_first(forces.comfort_high)
    masses = _bones_first(forces.masses)
    return PotentialEnergy(
        rest=rest,
        rest_axes=turns.to_matrices(rest),
        stiffness=_bones_first(forces.stiffness),
        slack_low=low,
        slack_high=high,
        growth_low=_growth(low - (chain.joints.low - at)),
        growth_high=_growth((chain.joints.high - at) - high),
        borne=_sum_from(masses) - 0.5 * masses,
        gravity=_bones_first(forces.gravity) / chain.reach,
        mode=forces.mode,
        gain=forces.gain,
        has_own_rest=forces.optimum_wxyz is not None,
    )


def _growth(room: Array) -> Array:
    """Return how stiffness grows over the rooms (n, 3, B) from slack to limits."""
    has_room = np.isfinite(room) & (room > NO_ROOM)
    return np.where(has_room, GROWTH / np.where(has_room, room, 1.0) ** 2, 0.0)


def _bones_first(rows: Array) -> Array:
    return np.array(np.moveaxis(rows, 0, -1), order="C")


def _sum_from(values: Array) -> Array:
    """Return the sums of values (n, ..., B) from each one to the last."""
    summed: Array = np.cumsum(values[::-1], axis=0)[::-1]
    return summed
