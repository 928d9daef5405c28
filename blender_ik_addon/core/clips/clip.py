"""The goals of each frame of a clip, and poses that meet them.

A clip has F frames of k bones. Rotations are local quaternions wxyz, shape (F, k, 4); a small turn
of a bone is a rotation vector in its own axes, after its rotation, shape (F, k, 3).
"""

from __future__ import annotations

from typing import Protocol, Self

import numpy as np

from ..algebra import rotation
from ..algebra.arithmetic import Array, Flags, Indices

# Largest miss of a goal that counts as met, in lengths of the chain and in radians. A tenth of the
# error that is promised for keys, which are float32.
GOAL_TOLERANCE = 1e-6
MAX_GOAL_STEPS = 20
# Share of its miss that a frame may keep after a step; one that keeps more does not meet its goals.
MAX_REMAINING = 0.9
# Largest turn of a step, in radians; its linear model is poor beyond it.
MAX_STEP_TURN = 0.4
# Damping of the squares of goal rates, as a share of their trace: goals with smaller rates do not
# move. Ten times larger excludes nearly straight limbs.
SINGULAR_SHARE = 1e-9
# Turn that probes ranges and locks, in radians: ten times smaller is near to float32's noise.
PROBE = 1e-4
# Share of a turn that ranges or locks must remove for its direction to count as blocked.
BLOCKED_SHARE = 0.05


class Clip(Protocol):
    """The goals of F frames, and the ranges and locks of their bones."""

    @property
    def is_held(self) -> bool:
        """Whether any bone has a range or a lock."""

    def measure(self, local: Array) -> tuple[Array, Array]:
        """Return the misses of the goals (F, m), and their derivatives by turns (F, m, k, 3)."""

    def hold(self, local: Array) -> Array:
        """Return rotations clamped to ranges and locks."""

    def take(self, frames: Indices) -> Self:
        """Return the goals of some of the frames."""


def rotate(local: Array, turns: Array) -> Array:
    """Return rotations multiplied by rotation vectors in the axes of the bones."""
    return rotation.normalize(rotation.multiply(local, rotation.quaternion_from_vector(turns)))


def turns_between(one: Array, other: Array) -> Array:
    """Return the shortest rotation vectors from rotations to others, in the axes of the bones."""
    return rotation.vector_from_quaternion(rotation.multiply(rotation.conjugate(one), other))


def project_free(clip: Clip, local: Array) -> Array:
    """Return projectors (F, k, 3, 3) on the turns that kinds of joints and locks leave.

    A turn that is blocked to one side only, by the end of a range, stays free.
    """
    free = np.tile(np.eye(3), (*local.shape[:2], 1, 1))
    if not clip.is_held:
        return free
    here = clip.hold(local)
    for column, axis in enumerate(np.eye(3)):
        probe = np.broadcast_to(PROBE * axis, (*local.shape[:2], 3))
        ahead, back = (
            turns_between(here, clip.hold(rotate(here, sign * probe))) for sign in (1.0, -1.0)
        )
        free[..., column] = (ahead - back) / (2.0 * PROBE)
    axes, rates, _ = np.linalg.svd(free)
    axes = axes * (rates > 0.25)[..., None, :]
    projector: Array = axes @ axes.swapaxes(-1, -2)
    return projector


def remove_blocked(clip: Clip, local: Array, free: Array, turns: Array) -> Array:
    """Return projectors without the directions in which ranges block these turns."""
    angle = np.linalg.norm(turns, axis=2, keepdims=True)
    direction = turns / np.where(angle > 0.0, angle, 1.0)
    here = clip.hold(local)
    lost = direction - turns_between(here, clip.hold(rotate(here, PROBE * direction))) / PROBE
    lost = np.einsum("fkij,fkj->fki", free, lost)
    length = np.linalg.norm(lost, axis=2, keepdims=True)
    normal = np.where(length > BLOCKED_SHARE, lost / np.maximum(length, BLOCKED_SHARE), 0.0)
    projectors: Array = free - normal[..., None] * normal[..., None, :]
    return projectors


def meet(clip: Clip, local: Array) -> tuple[Array, Flags]:
    """Return poses that meet the goals with least turns, and which frames meet them."""
    pose = clip.hold(local) if clip.is_held else local
    result, rows, free = pose.copy(), np.arange(len(pose)), project_free(clip, pose)
    is_met, last_miss = np.zeros(len(pose), dtype=np.bool_), np.full(len(pose), np.inf)
    for _ in range(MAX_GOAL_STEPS):
        misses, rates = clip.measure(pose)
        result[rows], largest = pose, np.abs(misses).max(axis=1)
        is_met[rows[largest <= GOAL_TOLERANCE]] = True
        left = np.flatnonzero((largest > GOAL_TOLERANCE) & (largest < MAX_REMAINING * last_miss))
        if not left.size:
            break
        rows, pose, last_miss = rows[left], pose[left], largest[left]
        free, clip = free[left], clip.take(left)
        turns = solve_least_turns(misses[left], rates[left], free)
        if clip.is_held:
            left_free = remove_blocked(clip, pose, free, turns)
            turns = solve_least_turns(misses[left], rates[left], left_free)
        farthest = np.linalg.norm(turns, axis=2).max(axis=1)[:, None, None]
        pose = rotate(pose, turns * np.minimum(1.0, MAX_STEP_TURN / np.maximum(farthest, 1e-12)))
        pose = clip.hold(pose) if clip.is_held else pose
    return result, is_met


def solve_least_turns(misses: Array, rates: Array, free: Array) -> Array:
    """Return the least turns (F, k, 3) that remove misses (F, m) to first order."""
    frames, goals, bones, _ = rates.shape
    moving = np.einsum("fmki,fkij->fmkj", rates, free).reshape(frames, goals, -1)
    weights = np.linalg.solve(square_damped(moving), misses[..., None])
    turns: Array = -(moving.swapaxes(1, 2) @ weights).reshape(frames, bones, 3)
    return turns


def square_damped(rates: Array) -> Array:
    """Return the damped squares J J' (F, m, m) of rates (F, m, n), which are regular."""
    square = rates @ rates.swapaxes(1, 2)
    damping = SINGULAR_SHARE * np.einsum("fmm->f", square) + np.finfo(float).tiny
    damped: Array = square + damping[:, None, None] * np.eye(rates.shape[1])
    return damped
