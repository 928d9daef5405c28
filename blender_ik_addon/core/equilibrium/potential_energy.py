"""The potential energy of poses: springs bent beyond their slack, and weight lifted.

In the units of the start poses. Turns act in the frames of the joints, as everywhere in
``kinematic_tree``: a small turn d changes a joint's rotation R to exp(d) R.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..algebra import turns
from ..algebra.arithmetic import Array, Flags
from ..algebra.chains_first import add_blocks, apply, chains_first, chains_last, flatten, skew
from ..algebra.nested import Rows
from ..algebra.quaternions import BASIS
from ..descent.bone_rows import BoneRows
from ..descent.posed_rows import PosedRows
from ..kinematics.kinematic_tree import KinematicTree
from ..kinematics.posed import State
from ..model.forces import Forces, StepMode

# Growth of a spring's stiffness from its slack to the joint's limit, in multiples of the stiffness.
# It must be finite: otherwise no target could be reached that only joints at their limits reach.
GROWTH = 9.0
# Room between slack and limit, in radians, below which the stiffness does not grow.
MIN_GROWTH_ROOM = 1e-3
# Stiffness within slack against rolls of last bones, which no other force turns, as a share of the
# stiffness beyond. Without any, rounding chose the roll: it jumped by 13 degrees from move to move.
ROLL_STIFFNESS = 2e-4
# Angle in radians below which a series replaces the cotangent.
SMALL_ANGLE = 1e-2
# Smallest divisor in place of the sine of a zero turn.
MIN_SINE = 1e-300


@dataclass(frozen=True)
class PotentialEnergy(Rows):
    """The springs and the weight of B chains of n bones, compiled.

    Attributes:
        rest: Turns at which the springs rest, shape (n, 4, B).
        rest_axes: The rest turns as matrices, shape (n, 3, 3, B).
        from_rest: Matrices (n, 4, 4, B) from turns to turns relative to rest.
        stiffness: Stiffness of the springs, shape (n, B).
        slack_low: Least turns from rest that cost nothing, shape (n, 3, B).
        slack_high: Greatest turns from rest that cost nothing, shape (n, 3, B).
        growth_low: Growth of the stiffness below the slack, per square radian, shape (n, 3, B).
        growth_high: Growth of the stiffness above the slack, likewise.
        carried_mass: Mass on each segment: half of its own and all beyond it, shape (n, B).
        gravity: Pull on a mass of one, shape (3, B).
        mode: As in ``Forces``.
        gain: As in ``Forces``; None for steps that are stable by themselves.
        has_custom_rest: Whether springs rest elsewhere than at the start poses.
    """

    rest: Array
    rest_axes: Array
    from_rest: Array
    stiffness: Array
    slack_low: Array
    slack_high: Array
    growth_low: Array
    growth_high: Array
    carried_mass: Array
    gravity: Array
    mode: StepMode
    gain: float | None
    has_custom_rest: bool

    @property
    def acts(self) -> Flags:
        """Whether a spring or a weight acts on a chain, shape (B,)."""
        has_weight = (self.gravity != 0.0).any(axis=0) & (self.carried_mass > 0.0).any(axis=0)
        acts: Flags = has_weight | (self.stiffness > 0.0).any(axis=0)
        return acts

    @property
    def only_settles(self) -> Flags:
        """Whether only the equilibrium of a chain matters, not the way to it, shape (B,).

        A gain or the classic step is set to see its effect, so these chains take its steps.
        """
        has_custom_step = self.gain is not None or self.mode is StepMode.CLASSIC
        return self.acts & (not has_custom_step)


class EnergyRows:
    """The potential energy of B chains with the chains first, which measures poses."""

    def __init__(self, bones: BoneRows, energy: PotentialEnergy) -> None:
        self.bones, self.axes = bones, chains_first(energy.rest_axes)
        self.from_rest, self.gravity = chains_first(energy.from_rest), chains_first(energy.gravity)
        self.low, self.high = chains_first(energy.slack_low), chains_first(energy.slack_high)
        self.growth = chains_first(energy.growth_low), chains_first(energy.growth_high)
        self.stiffness = chains_first(energy.stiffness)[..., None]
        self.within_slack, ends = np.zeros_like(self.low), list(bones.tree.topology.effector_bones)
        has_slack = self.low[:, ends, 1] < self.high[:, ends, 1]
        self.within_slack[:, ends, 1] = ROLL_STIFFNESS * self.stiffness[:, ends, 0] * has_slack
        self.carried_mass = chains_first(energy.carried_mass)[..., None]
        self.has_weight = bool((self.gravity != 0.0).any() and (self.carried_mass > 0.0).any())

    def measure(self, posed: PosedRows, _output: Array | None = None) -> PotentialEnergyAtPose:
        """Return the energy at poses; outputs are not used."""
        return PotentialEnergyAtPose(self, posed)


class PotentialEnergyAtPose:
    """The energy of B chains at one pose, and its derivatives by turns of the joints.

    A small turn d changes a rotation vector v from rest to v + J d, where
    J = 1 - [v]/2 + c [v][v] with c from ``_cotangents``.

    Source: derived for this project, and tested against differences in
    tests/core/equilibrium/test_potential_energy.py.
    """

    def __init__(self, energy: EnergyRows, posed: PosedRows) -> None:
        self._energy, self._posed = energy, posed
        turned = apply(energy.from_rest, posed.turn)
        w, sines = turned[..., :1], turned[..., 1:]
        sine = np.sqrt((sines * sines).sum(axis=-1, keepdims=True))
        self._angle = 2.0 * np.arctan2(sine, np.abs(w))
        self._bent = sines * np.copysign(self._angle / np.maximum(sine, MIN_SINE), w)
        # The bend of springs beyond their slack, and their growth of stiffness there.
        excess = self._bent - np.clip(self._bent, energy.low, energy.high)
        self._side, square = np.sign(excess), excess * excess
        grown = np.where(excess > 0.0, energy.growth[1], energy.growth[0]) * square
        springs = square * (0.5 + 0.25 * grown) * energy.stiffness
        springs = springs + 0.5 * energy.within_slack * self._bent**2
        self.total: Array = springs.reshape(len(w), -1).sum(axis=1)
        if energy.has_weight:
            # Segments times the mass that they carry.
            self._lifted = (posed.points[:, 1:] - posed.points[:, :-1]) * energy.carried_mass
            weight = self._lifted.sum(axis=1) * energy.gravity
            self.total = self.total - weight.sum(axis=1)
        # The least energy is not known.
        self.is_least: Flags = np.zeros(len(w), dtype=np.bool_)

    def derive(self, jacobian: Array) -> tuple[Array, Callable[[Array], Array]]:
        """Return first derivatives, and a function for second ones, as in ``EnergyAtPose``."""
        slope, resistance = self._derive_springs()
        gravity, weight = self._energy.gravity, None
        slope = slope.reshape(len(slope), -1)
        if self._energy.has_weight:
            weight_jacobian = flatten(self._posed.move_by_turns(self._find_levers()[:, None]))
            slope = slope - (gravity[:, None] @ weight_jacobian)[:, 0]
            weight = gravity, weight_jacobian

        def curve(force: Array) -> Array:
            curvature = self._energy.bones.curve_outputs(self._posed, force, jacobian, weight)
            add_blocks(curvature, resistance)
            return curvature

        return slope, curve

    def foresee(self, move: Array) -> bool:
        """Use in ``derive`` the springs that act after moves (B, n, 3); return if any differ.

        Springs enter or leave their slack: a step that ignores this meets a wall there.
        """
        energy = self._energy
        bent = self._bent + apply(self._bent_jacobian, move)
        side = np.sign(bent - np.clip(bent, energy.low, energy.high))
        side = np.where(energy.low < energy.high, side, self._side)
        is_same = np.array_equal(side, self._side)
        self._side = side
        return not is_same

    def _find_levers(self) -> Array:
        """Return masses times their distances from the joints that lift them, shape (B, n, 3)."""
        lifted = self._lifted[:, ::-1].cumsum(axis=1)[:, ::-1]
        if (topology := self._energy.bones.tree.topology).unturned:
            # A part that a bone carries but does not turn moves with the first head of that part.
            beyond = np.concatenate((lifted, np.zeros_like(lifted[:, :1])), axis=1)
            lifted = lifted - beyond[:, topology.moving_points[:, -1]]
        return lifted

    def _derive_springs(self) -> tuple[Array, Array]:
        """Return first (B, n, 3) and second derivatives (B, n, 3, 3) of the energy of springs.

        The second derivatives are those along the geodesics exp(t d) R, made symmetric. With
        [a][b] = b a^T - a.b and [a x b] = b a^T - a b^T the part from the change of J needs only
        the last matrix product.
        """
        energy, angle = self._energy, self._angle[..., None]
        v = energy.axes @ self._bent[..., None]
        row, (rate, rate_slope) = v.swapaxes(-1, -2), _cotangents(angle)
        outer = v * row
        log_jacobian = rate * outer + (1.0 - rate * angle * angle) * _EYE - 0.5 * skew(v[..., 0])
        side, is_above = self._side, self._side > 0.0
        excess = (self._bent - np.where(is_above, energy.high, energy.low)) * (side != 0.0)
        grown = np.where(is_above, *energy.growth[::-1]) * excess * excess
        pull = energy.stiffness * excess * (1.0 + grown) + energy.within_slack * self._bent
        f = energy.axes @ pull[..., None]
        slope = (log_jacobian.swapaxes(-1, -2) @ f)[..., 0]
        acts = (side != 0.0) | (energy.low >= energy.high)
        stiffness = energy.stiffness * acts * (1.0 + 3.0 * grown) + energy.within_slack
        self._bent_jacobian = jacobian = energy.axes.swapaxes(-1, -2) @ log_jacobian
        along, twist = row @ f, f * row
        inner = rate * (twist.swapaxes(-1, -2) - 2.0 * twist + along * _EYE) - 0.5 * skew(f[..., 0])
        inner += rate_slope * (along * outer - angle * angle * twist)
        whole = inner @ log_jacobian + jacobian.swapaxes(-1, -2) @ (stiffness[..., None] * jacobian)
        return slope, 0.5 * (whole + whole.swapaxes(-1, -2))


_EYE = np.eye(3)


def _cotangents(angle: Array) -> tuple[Array, Array]:
    """Return c = (1 - (a/2) cot(a/2)) / a^2 of angles a, and its derivative over a."""
    is_small, safe = angle < SMALL_ANGLE, np.maximum(angle, SMALL_ANGLE)
    half, square = 0.5 * safe, safe * safe
    # The cotangent of half the angle has no pole up to half a turn and beyond.
    cotangent = 1.0 / np.tan(half)
    rate = (1.0 - half * cotangent) / square
    slope = (0.5 * (half * (1.0 + cotangent * cotangent) - cotangent) / safe - 2.0 * rate) / square
    square = angle * angle
    return (
        np.where(is_small, (1.0 + square / 60.0) / 12.0, rate),
        np.where(is_small, (1.0 + square / 21.0) / 360.0, slope),
    )


def measure_energy(energy: PotentialEnergy, chain: KinematicTree, state: State) -> Array:
    """Return the potential energy of chains in states, shape (B,)."""
    bones = BoneRows(chain, state.slide)
    return EnergyRows(bones, energy).measure(bones.pose(chains_first(state.turn))).total


def compile_energy(chain: KinematicTree, forces: Forces, start_turn: Array) -> PotentialEnergy:
    """Return the potential energy of chains.

    Args:
        chain: The chains.
        forces: Forces on B chains.
        start_turn: Turns of the start poses, inside the ranges of the joints, shape (n, 4, B).
    """
    rest = start_turn
    if forces.optimum_wxyz is not None:
        rotations = forces.optimum_wxyz
        unit = rotations / np.linalg.norm(rotations, axis=-1, keepdims=True)
        rest = chain.joints.clamp_by_kind(chain.joints.to_turns(unit))
    rest_vectors, back = turns.to_vectors(rest), turns.conjugate(rest)
    units = [np.broadcast_to(np.reshape(axis, (4, 1)), rest.shape) for axis in BASIS]
    low, high = chains_last(forces.comfort_low), chains_last(forces.comfort_high)
    masses = chains_last(forces.masses)
    return PotentialEnergy(
        rest=rest,
        rest_axes=turns.to_matrices(rest),
        from_rest=np.stack([turns.multiply(back, unit) for unit in units], axis=2),
        stiffness=chains_last(forces.stiffness),
        slack_low=low,
        slack_high=high,
        growth_low=_find_growth(low - (chain.joints.low - rest_vectors)),
        growth_high=_find_growth((chain.joints.high - rest_vectors) - high),
        carried_mass=np.cumsum(masses[::-1], axis=0)[::-1] - 0.5 * masses,
        gravity=chains_last(forces.gravity) / chain.reach,
        mode=forces.mode,
        gain=forces.gain,
        has_custom_rest=forces.optimum_wxyz is not None,
    )


def _find_growth(room: Array) -> Array:
    """Return the growth of stiffness over the rooms (n, 3, B) from slack to limits."""
    has_room = np.isfinite(room) & (room > MIN_GROWTH_ROOM)
    return np.where(has_room, GROWTH / np.where(has_room, room, 1.0) ** 2, 0.0)
