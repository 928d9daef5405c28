"""Chains with forces for the tests of core, and a second way to compute their potential energy."""

import numpy as np
import numpy.typing as npt

from blender_ik_addon.core import Chain, Chains, Forces, Joints, StepMode
from tests.core.chains import ARC_TURN
from tests.core.limited_rigs import Rig, multiply
from tests.helpers import Array


def make_forces(
    stiffness: npt.ArrayLike,
    masses: npt.ArrayLike | None = None,
    gravity: npt.ArrayLike | None = None,
    comfort: npt.ArrayLike = 0.0,
    mode: StepMode = StepMode.EXACT,
    gain: float | None = None,
) -> Forces:
    """Return forces; turns up to ``comfort`` on both sides of the optimum cost nothing."""
    wide = np.broadcast_to(np.asarray(comfort, float), (*np.shape(stiffness), 3))
    return Forces(stiffness, masses, gravity, -wide, wide, mode=mode, gain=gain)


def arc(count: int) -> Array:
    """Return the joints of bones on an arc from the origin, of total length 1."""
    angles = np.arange(count) * ARC_TURN / (count - 1)
    steps = np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=1) / count
    return np.vstack((np.zeros(3), np.cumsum(steps, axis=0)))


def turn_between(a: Array, b: Array) -> Array:
    """Return the shortest turn from quaternion ``a`` to ``b``, axis times angle in axes of a."""
    turn = multiply(a * np.array([1.0, -1.0, -1.0, -1.0]), b)
    w, axis = abs(turn[0]), turn[1:] * np.copysign(1.0, turn[0])
    size = np.linalg.norm(axis)
    return axis * (2.0 * np.arctan2(size, w) / size) if size > 0.0 else 0.0 * axis


def energy_of(rig: Rig, rotations: Array, forces: Forces, optimum: Array) -> float:
    """Return the potential energy of a pose without limits: springs beyond comfort, and weight."""
    points = rig.points(rotations)
    middles = 0.5 * (points[1:] + points[:-1])
    weight = -np.sum(forces.masses * (middles @ forces.gravity)) / rig.length
    springs = 0.0
    for bone, rotation in enumerate(rotations):
        turn = turn_between(optimum[bone], rotation)
        low, high = forces.comfort_low[bone], forces.comfort_high[bone]
        strain = turn - np.clip(turn, low, high)
        springs += 0.5 * forces.stiffness[bone] * (strain @ strain)
    return float(weight + springs)


def many(points: Array, forces: Forces | None, count: int, joints: Joints | None = None) -> Chains:
    """Return ``count`` copies of a chain."""
    one = Chain(points, joints=joints, forces=forces)
    return one.as_batch().take(np.zeros(count, dtype=np.int64))
