"""The potential energy of poses: springs bent beyond their slack, and weight lifted.

In the units of the start poses. Turns of joints act before their own, as everywhere in
``kinematic_tree``: a small turn d makes exp(d) R of a joint's R.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..algebra import turns
from ..algebra.arithmetic import Array, Flags
from ..algebra.chains_first import add_blocks, apply, chains_first, flatten, skew
from ..algebra.nested import Rows
from ..algebra.quaternions import AXES
from ..descent.bone_rows import BoneRows
from ..descent.posed_rows import PosedRows
from ..kinematics.compiled_joints import put_rows_last
from ..kinematics.kinematic_tree import KinematicTree
from ..kinematics.posed import State
from ..model.forces import Forces, StepMode

# At its hard limit a spring is so many times stiffer, plus one. It must stay finite: targets that
# only the limits reach would never be reached.
GROWTH = 9.0
# Less room than this, in radians, between slack and limit is none to grow in.
NO_ROOM = 1e-3
# Below this angle a series replaces the cotangent.
SMALL_ANGLE = 1e-2
# The sine of no turn, to divide by.
NO_SINE = 1e-300


@dataclass(frozen=True)
class PotentialEnergy(Rows):
    """The springs and the weight of B chains of n bones, compiled.

    Attributes:
        rest: Turns where springs rest, shape (n, 4, B).
        rest_axes: The same as matrices, shape (n, 3, 3, B).
        from_rest: Matrices (n, 4, 4, B) that make turns from rest of turns.
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
    from_rest: Array
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


class EnergyRows:
    """The potential energy of B chains, to be measured at poses."""

    def __init__(self, bones: BoneRows, energy: PotentialEnergy) -> None:
        """Take the bones, and what acts on them."""
        self.bones, self.axes = bones, chains_first(energy.rest_axes)
        self.from_rest, self.gravity = chains_first(energy.from_rest), chains_first(energy.gravity)
        self.low, self.high = chains_first(energy.slack_low), chains_first(energy.slack_high)
        self.growth = chains_first(energy.growth_low), chains_first(energy.growth_high)
        self.stiffness = chains_first(energy.stiffness)[..., None]
        self.borne = chains_first(energy.borne)[..., None]
        self.weighs = bool((self.gravity != 0.0).any() and (self.borne > 0.0).any())

    def measure(self, posed: PosedRows, _output: Array | None = None) -> EnergyAt:
        """Return the energy at poses, whatever their outputs are."""
        return EnergyAt(self, posed)


class EnergyAt:
    """The energy of B chains at one pose, and its derivatives by turns of the joints.

    Of a rotation vector v from rest a turn d before the joint's makes v + J d, where
    J = 1 - [v]/2 + c [v][v] with c as ``_cotangents`` returns it.

    Source: derived for this project, and tested against differences in
    tests/core/equilibrium/test_potential_energy.py.
    """

    def __init__(self, energy: EnergyRows, posed: PosedRows) -> None:
        """Take the energy, and where bones stand."""
        self._energy, self._posed = energy, posed
        turned = apply(energy.from_rest, posed.turn)
        w, sines = turned[..., :1], turned[..., 1:]
        sine = np.sqrt((sines * sines).sum(axis=-1, keepdims=True))
        self._angle = 2.0 * np.arctan2(sine, np.abs(w))
        self._bent = sines * np.copysign(self._angle / np.maximum(sine, NO_SINE), w)
        # How far springs are bent beyond their slack, and how much stiffer they are there.
        excess = self._bent - np.clip(self._bent, energy.low, energy.high)
        self._side, square = np.sign(excess), excess * excess
        grown = np.where(excess > 0.0, energy.growth[1], energy.growth[0]) * square
        springs = square * (0.5 + 0.25 * grown) * energy.stiffness
        self.total: Array = springs.reshape(len(w), -1).sum(axis=1)
        if energy.weighs:
            # Segments, each as often as the mass that it bears.
            self._lifted = (posed.points[:, 1:] - posed.points[:, :-1]) * energy.borne
            weight = self._lifted.sum(axis=1) * energy.gravity
            self.total = self.total - weight.sum(axis=1)
        # How low it can get is not known.
        self.is_least: Flags = np.zeros(len(w), dtype=np.bool_)

    def derive(self, jacobian: Array) -> tuple[Array, Callable[[Array], Array]]:
        """Return first derivatives (B, 3 n), and a function that returns second ones.

        From a force (B, rows) on outputs with a Jacobian (B, rows, 3 n) it returns the second
        derivatives of the energy less those of the force's work, (B, 3 n, 3 n), as
        ``BoneRows.curve_outputs`` knows them.
        """
        slope, resistance = self._resist()
        gravity, weight = self._energy.gravity, None
        slope = slope.reshape(len(slope), -1)
        if self._energy.weighs:
            sunk = flatten(self._posed.move_by_turns(self._find_levers()[:, None]))
            slope = slope - (gravity[:, None] @ sunk)[:, 0]
            weight = gravity, sunk

        def curve(force: Array) -> Array:
            whole = self._energy.bones.curve_outputs(self._posed, force, jacobian, weight)
            add_blocks(whole, resistance)
            return whole

        return slope, curve

    def foresee(self, move: Array) -> bool:
        """Derive from now on as springs act after moves (B, n, 3); tell if any act otherwise.

        Some enter their slack or leave it: a step that does not know meets a wall there.
        """
        energy = self._energy
        bent = self._bent + apply(self._own, move)
        side = np.sign(bent - np.clip(bent, energy.low, energy.high))
        side = np.where(energy.low < energy.high, side, self._side)
        is_same = np.array_equal(side, self._side)
        self._side = side
        return not is_same

    def _find_levers(self) -> Array:
        """Return what joints lift, as masses times ways from the joints, shape (B, n, 3)."""
        borne = self._lifted[:, ::-1].cumsum(axis=1)[:, ::-1]
        if (topology := self._energy.bones.tree.topology).unturned:
            # What a bone carries that it does not turn moves with the first head there.
            beyond = np.concatenate((borne, np.zeros_like(borne[:, :1])), axis=1)
            borne = borne - beyond[:, topology.held[:, -1]]
        return borne

    def _resist(self) -> tuple[Array, Array]:
        """Return how springs resist turns, (B, n, 3), and how that changes, (B, n, 3, 3).

        The second derivatives are those along the geodesics exp(t d) R, made symmetric. With
        [a][b] = b a^T - a.b and [a x b] = b a^T - a b^T what comes of the change of J needs no
        matrix product but the last.
        """
        energy, angle = self._energy, self._angle[..., None]
        v = energy.axes @ self._bent[..., None]
        row, (rate, over) = v.swapaxes(-1, -2), _cotangents(angle)
        outer = v * row
        log_jacobian = rate * outer + (1.0 - rate * angle * angle) * _EYE - 0.5 * skew(v[..., 0])
        side, is_above = self._side, self._side > 0.0
        excess = (self._bent - np.where(is_above, energy.high, energy.low)) * (side != 0.0)
        grown = np.where(is_above, *energy.growth[::-1]) * excess * excess
        pull = energy.stiffness * excess * (1.0 + grown)
        f = energy.axes @ pull[..., None]
        slope = (log_jacobian.swapaxes(-1, -2) @ f)[..., 0]
        acts = (side != 0.0) | (energy.low >= energy.high)
        steep = energy.stiffness * acts * (1.0 + 3.0 * grown)
        self._own = own = energy.axes.swapaxes(-1, -2) @ log_jacobian
        along, twist = row @ f, f * row
        inner = rate * (twist.swapaxes(-1, -2) - 2.0 * twist + along * _EYE) - 0.5 * skew(f[..., 0])
        inner += over * (along * outer - angle * angle * twist)
        whole = inner @ log_jacobian + own.swapaxes(-1, -2) @ (steep[..., None] * own)
        return slope, 0.5 * (whole + whole.swapaxes(-1, -2))


_EYE = np.eye(3)


def _cotangents(angle: Array) -> tuple[Array, Array]:
    """Return c = (1 - (a/2) cot(a/2)) / a^2 of angles a, and its derivative over a."""
    is_small, safe = angle < SMALL_ANGLE, np.maximum(angle, SMALL_ANGLE)
    half, square = 0.5 * safe, safe * safe
    # By half angles the cotangent has no pole up to half a turn and beyond.
    cotangent = 1.0 / np.tan(half)
    rate = (1.0 - half * cotangent) / square
    over = (0.5 * (half * (1.0 + cotangent * cotangent) - cotangent) / safe - 2.0 * rate) / square
    square = angle * angle
    return (
        np.where(is_small, (1.0 + square / 60.0) / 12.0, rate),
        np.where(is_small, (1.0 + square / 21.0) / 360.0, over),
    )


def measure_energy(energy: PotentialEnergy, chain: KinematicTree, state: State) -> Array:
    """Return the energy of chains in states, shape (B,)."""
    bones = BoneRows(chain, state.slide)
    return EnergyRows(bones, energy).measure(bones.pose(chains_first(state.turn))).total


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
    at, back = turns.to_vectors(rest), turns.conjugate(rest)
    units = [np.broadcast_to(np.reshape(axis, (4, 1)), rest.shape) for axis in AXES]
    low, high = put_rows_last(forces.comfort_low), put_rows_last(forces.comfort_high)
    masses = put_rows_last(forces.masses)
    return PotentialEnergy(
        rest=rest,
        rest_axes=turns.to_matrices(rest),
        from_rest=np.stack([turns.multiply(back, unit) for unit in units], axis=2),
        stiffness=put_rows_last(forces.stiffness),
        slack_low=low,
        slack_high=high,
        growth_low=_growth(low - (chain.joints.low - at)),
        growth_high=_growth((chain.joints.high - at) - high),
        borne=_sum_from(masses) - 0.5 * masses,
        gravity=put_rows_last(forces.gravity) / chain.reach,
        mode=forces.mode,
        gain=forces.gain,
        has_own_rest=forces.optimum_wxyz is not None,
    )


def _growth(room: Array) -> Array:
    """Return how stiffness grows over the rooms (n, 3, B) from slack to limits."""
    has_room = np.isfinite(room) & (room > NO_ROOM)
    return np.where(has_room, GROWTH / np.where(has_room, room, 1.0) ** 2, 0.0)


def _sum_from(values: Array) -> Array:
    """Return the sums of values (n, ..., B) from each one to the last."""
    summed: Array = np.cumsum(values[::-1], axis=0)[::-1]
    return summed
