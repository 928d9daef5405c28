"""The poses of a person as SciPy finds them: pins and a goal held, as near to rest as can be.

Coordinates: the place of the root in lengths of the reach; then of each bone that carries an
effector the swing, as sines of half the angle about X and Z, and the twist about Y between them.
Nothing of the core is used but what describes the person.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, minimize

from tests.core.bodies import Array, Person
from tests.core.solving.pulled_bodies import longest_way

# Held rows count as held up to so much, in metres and radians.
HELD = 1e-6
# Starts are drawn from this share of the ranges.
SPREAD = 0.5
MOST_STEPS = 120


@dataclass(frozen=True)
class Peer:
    """What SciPy has found.

    Attributes:
        nearness: Half of the sum of squared turns, and of how far the root has moved in lengths of
            the reach; infinite where nothing holds the goals.
        starts: How many starts have arrived.
    """

    nearness: float
    starts: int

    @property
    def is_reached(self) -> bool:
        """Whether any start has arrived."""
        return self.starts > 0


class PulledPerson:
    """A person with feet pinned in place and turn, and other effectors with targets."""

    def __init__(self, person: Person, target: Array) -> None:
        """Take the person, and places of all effectors (E, 3); the first two are the feet."""
        topology, joints = person.chain.topology, person.chain.joints
        assert topology is not None
        assert joints is not None
        self._target, self._parents = target, topology.parents
        self._effectors = topology.effector_bones
        self._bones = [bone for bone in range(1, len(person.names)) if self._carries(bone)]
        self._arms = person.heads - person.heads[list(self._parents)]
        self._arms[0] = person.heads[0]
        self._ends = person.ends - person.heads[list(self._effectors)]
        self.reach = longest_way(person)
        low, high = (limits[self._bones].copy() for limits in (joints.low, joints.high))
        for limits in (low, high):
            limits[:, ::2] = np.sin(0.5 * limits[:, ::2])
        self._low, self._high = low, high
        free = np.full(3, 3.0)
        self.low = np.concatenate((-free, low.ravel()))
        self.high = np.concatenate((free, high.ravel()))

    def _carries(self, bone: int) -> bool:
        for effector in self._effectors:
            while effector >= 0:
                if effector == bone:
                    return True
                effector = self._parents[effector]
        return False

    def find_gaps(self, u: Array) -> Array:
        """Return what is left of all that is held, shape (..., rows); complex numbers, too."""
        place = self._arms[0] + u[..., :3] * self.reach
        frames = {0: np.broadcast_to(np.array((1.0, 0, 0, 0), u.dtype), (*u.shape[:-1], 4))}
        heads = {0: place}
        for number, bone in enumerate(self._bones):
            parent = self._parents[bone]
            own = _turn(u[..., 3 + 3 * number : 6 + 3 * number])
            heads[bone] = heads[parent] + _rotate(frames[parent], self._arms[bone])
            frames[bone] = _multiply(frames[parent], own)
        ends = [
            heads[bone] + _rotate(frames[bone], end)
            for bone, end in zip(self._effectors, self._ends, strict=True)
        ]
        gaps = [end - target for end, target in zip(ends, self._target, strict=True)]
        gaps += [2.0 * frames[bone][..., 1:] for bone in self._effectors[:2]]
        return np.concatenate(gaps, axis=-1)

    def find_rows(self, u: Array) -> Array:
        """Return how the gaps change, shape (rows, m), by steps along the imaginary axis."""
        step = 1e-30
        found = self.find_gaps(u + 1j * step * np.eye(len(u)))
        rows: Array = found.imag.T / step
        return rows

    def find_room(self, u: Array) -> Array:
        """Return the room that swings have left; below none they are out of range."""
        at = u[3:].reshape(-1, 3)
        ends = np.where(at > 0.0, self._high, self._low)
        room: Array = 1.0 - ((at / ends)[:, ::2] ** 2).sum(axis=1)
        return room

    def find_room_rows(self, u: Array) -> Array:
        """Return how that changes, shape (n, m)."""
        at = u[3:].reshape(-1, 3)
        ends = np.where(at > 0.0, self._high, self._low)
        rows = np.zeros((len(at), len(u)))
        for axis in (0, 2):
            columns = 3 + 3 * np.arange(len(at)) + axis
            rows[np.arange(len(at)), columns] = -2.0 * at[:, axis] / ends[:, axis] ** 2
        return rows

    def find_nearness(self, u: Array) -> tuple[float, Array]:
        """Return how far a pose is from rest, and how that changes."""
        x, t, z = u[3:].reshape(-1, 3).T
        swing, cosine = np.sqrt(np.maximum(1.0 - x * x - z * z, 1e-12)), np.cos(0.5 * t)
        w = np.clip(swing * cosine, -1.0, 1.0)
        half, sine = np.arccos(w), np.sqrt(1.0 - w * w)
        slope = -4.0 * np.where(sine > 1e-8, half / np.maximum(sine, 1e-8), 1.0)
        along = np.stack(
            (-x / swing * cosine, -0.5 * swing * np.sin(0.5 * t), -z / swing * cosine), axis=1
        )
        place = u[:3]
        total = 2.0 * float((half**2).sum()) + 0.5 * float(place @ place)
        return total, np.concatenate((place, (along * slope[:, None]).ravel()))

    def is_held(self, u: Array) -> bool:
        """Tell whether a pose holds all, inside of its ranges."""
        inside = (u >= self.low - HELD).all() and (u <= self.high + HELD).all()
        gap = np.abs(self.find_gaps(u)).max()
        return bool(inside and gap < HELD and self.find_room(u).min() > -HELD)

    def solve(self, starts: int, rng: np.random.Generator) -> Peer:
        """Return the best of several starts: rest, then poses at random."""
        held = {"type": "eq", "fun": self.find_gaps, "jac": self.find_rows}
        room = {"type": "ineq", "fun": self.find_room, "jac": self.find_room_rows}
        best, arrived = np.inf, 0
        for number in range(starts):
            start = np.zeros_like(self.low)
            if number:
                start = SPREAD * rng.uniform(self.low, self.high)
                start[:6] = 0.0
            found = minimize(
                self.find_nearness,
                start,
                jac=True,
                method="SLSQP",
                bounds=Bounds(self.low, self.high),
                constraints=(held, room),
                options={"maxiter": MOST_STEPS, "ftol": 1e-10},
            )
            if self.is_held(found.x):
                best, arrived = min(best, float(found.fun)), arrived + 1
        return Peer(best, arrived)


def _turn(at: Array) -> Array:
    x, t, z = np.moveaxis(at, -1, 0)
    # SciPy also looks past the edges of ranges.
    square = 1.0 - x * x - z * z
    w = np.sqrt(np.where(square.real > 0.0, square, 1e-12))
    c, s = np.cos(0.5 * t), np.sin(0.5 * t)
    turned: Array = np.stack((w * c, x * c - z * s, w * s, z * c + x * s), axis=-1)
    return turned


def _multiply(a: Array, b: Array) -> Array:
    w, v = a[..., :1], a[..., 1:]
    first = w * b[..., :1] - (v * b[..., 1:]).sum(axis=-1, keepdims=True)
    whole: Array = np.concatenate(
        (first, w * b[..., 1:] + b[..., :1] * v + np.cross(v, b[..., 1:])), axis=-1
    )
    return whole


def _rotate(q: Array, arm: Array) -> Array:
    twice = 2.0 * np.cross(q[..., 1:], arm)
    turned: Array = arm + q[..., :1] * twice + np.cross(q[..., 1:], twice)
    return turned
