"""What a clip asks of each of its frames, and how poses are brought to that.

A clip has F frames of k bones. Rotations are local quaternions wxyz, shape (F, k, 4); a small turn
of a bone is a rotation vector in its own axes, after its rotation, shape (F, k, 3).
"""

from __future__ import annotations

from typing import Protocol, Self

import numpy as np

from ..algebra import rotation
from ..algebra.arithmetic import Array, Flags, Indices

# Largest miss of a goal that counts as met, in lengths of the chain and in radians. A tenth of what
# is promised of keys, which are float32.
MET = 1e-6
MOST_STEPS = 20
# A frame whose miss falls by less than to this share in a step does not meet its goals.
LEAST_FALL = 0.9
# The linear model of a step says little beyond this turn, in radians.
LARGEST_TURN = 0.4
# Share of the largest square of a goal's rate below which it cannot be moved. Ten times larger
# leaves limbs out that are nearly straight.
SINGULAR = 1e-9
# How far ranges and locks are probed, in radians: ten times smaller is near to float32's noise.
PROBE = 1e-4
# Share of a turn that ranges or locks take away before its direction counts as blocked.
BLOCKED = 0.05


class Clip(Protocol):
    """The goals of F frames, and what their bones may do."""

    @property
    def is_held(self) -> bool:
        """Whether ranges or locks hold any bone."""

    def measure(self, local: Array) -> tuple[Array, Array]:
        """Return what misses the goals (F, m), and its rates with turns (F, m, k, 3)."""

    def hold(self, local: Array) -> Array:
        """Return rotations as ranges and locks leave them."""

    def take(self, frames: Indices) -> Self:
        """Return some of the frames."""


def turned(local: Array, turns: Array) -> Array:
    """Return rotations turned on by rotation vectors in the bones' own axes."""
    return rotation.normalize(rotation.multiply(local, rotation.quaternion_from_vector(turns)))


def turns_between(one: Array, other: Array) -> Array:
    """Return the rotation vectors that turn rotations into others, the short way."""
    return rotation.vector_from_quaternion(rotation.multiply(rotation.conjugate(one), other))


def free_turns(clip: Clip, local: Array) -> Array:
    """Return projectors (F, k, 3, 3) onto the turns that kinds of joints and locks leave.

    A turn that is blocked to one side only, by the end of a range, stays free.
    """
    free = np.tile(np.eye(3), (*local.shape[:2], 1, 1))
    if not clip.is_held:
        return free
    here = clip.hold(local)
    for number, axis in enumerate(np.eye(3)):
        way = np.broadcast_to(PROBE * axis, (*local.shape[:2], 3))
        ahead, back = (
            turns_between(here, clip.hold(turned(here, sign * way))) for sign in (1.0, -1.0)
        )
        free[..., number] = (ahead - back) / (2.0 * PROBE)
    axes, rates, _ = np.linalg.svd(free)
    axes = axes * (rates > 0.25)[..., None, :]
    projector: Array = axes @ axes.swapaxes(-1, -2)
    return projector


def without_blocked(clip: Clip, local: Array, free: Array, turns: Array) -> Array:
    """Return projectors without the directions in which ranges stop these turns."""
    size = np.linalg.norm(turns, axis=2, keepdims=True)
    way = turns / np.where(size > 0.0, size, 1.0)
    here = clip.hold(local)
    lost = way - turns_between(here, clip.hold(turned(here, PROBE * way))) / PROBE
    lost = np.einsum("fkij,fkj->fki", free, lost)
    length = np.linalg.norm(lost, axis=2, keepdims=True)
    normal = np.where(length > BLOCKED, lost / np.maximum(length, BLOCKED), 0.0)
    found: Array = free - normal[..., None] * normal[..., None, :]
    return found


def meet(clip: Clip, local: Array) -> tuple[Array, Flags]:
    """Return poses turned as little as it takes to meet the goals, and which frames do."""
    part = clip.hold(local) if clip.is_held else local
    found, rows, free = part.copy(), np.arange(len(part)), free_turns(clip, part)
    is_met, before = np.zeros(len(part), dtype=np.bool_), np.full(len(part), np.inf)
    for _ in range(MOST_STEPS):
        misses, rates = clip.measure(part)
        found[rows], largest = part, np.abs(misses).max(axis=1)
        is_met[rows[largest <= MET]] = True
        left = np.flatnonzero((largest > MET) & (largest < LEAST_FALL * before))
        if not left.size:
            break
        rows, part, before = rows[left], part[left], largest[left]
        free, clip = free[left], clip.take(left)
        turns = _least_turns(misses[left], rates[left], free)
        if clip.is_held:
            left_free = without_blocked(clip, part, free, turns)
            turns = _least_turns(misses[left], rates[left], left_free)
        farthest = np.linalg.norm(turns, axis=2).max(axis=1)[:, None, None]
        part = turned(part, turns * np.minimum(1.0, LARGEST_TURN / np.maximum(farthest, 1e-12)))
        part = clip.hold(part) if clip.is_held else part
    return found, is_met


def _least_turns(misses: Array, rates: Array, free: Array) -> Array:
    """Return the least turns (F, k, 3) that undo misses (F, m), to first order."""
    frames, goals, bones, _ = rates.shape
    moving = np.einsum("fmki,fkij->fmkj", rates, free).reshape(frames, goals, -1)
    weights = np.linalg.solve(squared(moving), misses[..., None])
    turns: Array = -(moving.swapaxes(1, 2) @ weights).reshape(frames, bones, 3)
    return turns


def squared(rates: Array) -> Array:
    """Return the squares J J' of rates (F, m, n), with enough slack to be solved, (F, m, m)."""
    square = rates @ rates.swapaxes(1, 2)
    slack = SINGULAR * np.einsum("fmm->f", square) + np.finfo(float).tiny
    found: Array = square + slack[:, None, None] * np.eye(rates.shape[1])
    return found
