"""The smoothest offsets from the keyed pose with which each frame meets its goals.

Idea: Gleicher, "Retargetting Motion to New Characters" (1998): the change to a motion is smooth,
and its details stay.
"""

from __future__ import annotations

import numpy as np

from ..algebra import rotation
from ..algebra.arithmetic import Array, Flags
from .clip import Clip, meet, project_free, remove_blocked, rotate, square_damped, turns_between
from .jumps import PosePath
from .second_differences import solve_smooth, transpose_differences

MAX_ROUNDS = 12
# Largest turn of a joint in a round, in radians.
MAX_STEP = 1.0
# Share of the energy that a round must save, or it is the last.
LEAST_GAIN = 1e-3
# Width of the smoothing at smoothness 0.5, in frames to either side. Ten times more pulls poses far
# from the solved ones.
FRAMES_SMOOTHED = 2.0
# Weight that holds frames around jumps at their path: little, so that they become as smooth as
# possible.
JUMP_WEIGHT = 1e-6
# Count of passes that find the ends of ranges which block a round.
MAX_BLOCKING_PASSES = 2


class SmoothingEnergy:
    """The squares of second differences of offsets, and of weighted turns away from a path."""

    def __init__(self, keyed: Array, path: PosePath, smoothness: float) -> None:
        """Weigh the turns from a path: less for more smoothness, and little around jumps."""
        self._keyed, self._path = rotation.conjugate(keyed), path
        roughness = (1.0 - smoothness) / (max(smoothness, 1e-3) * FRAMES_SMOOTHED)
        self.weight = np.where(path.is_near_jump, JUMP_WEIGHT, max(roughness**4, 1e-6))

    def value(self, local: Array) -> float:
        """Return the energy of poses."""
        second, deviation = self._parts(local)
        weighted = float((self.weight[:, None, None] * deviation * deviation).sum())
        return float((second * second).sum()) + weighted

    def pull(self, local: Array) -> Array:
        """Return the negative gradient by turns of each bone, shape (F, k, 3)."""
        second, deviation = self._parts(local)
        pull: Array = -transpose_differences(second) - self.weight[:, None, None] * deviation
        return pull

    def _parts(self, local: Array) -> tuple[Array, Array]:
        offsets = rotation.multiply(self._keyed, local)
        second = np.diff(turns_between(offsets[:-1], offsets[1:]), axis=0)
        return second, turns_between(self._path.local, local)


def smooth(clip: Clip, keyed: Array, path: PosePath, is_fixed: Flags, smoothness: float) -> Array:
    """Return poses that meet the same goals as those of a path, with smoother offsets.

    Args:
        clip: The goals.
        keyed: Rotations that offsets count from, shape (F, k, 4).
        path: The path to start from.
        is_fixed: Frames that keep their poses, shape (F,).
        smoothness: From 0, around jumps only, to 1.
    """
    energy, local = SmoothingEnergy(keyed, path, smoothness), path.local
    is_still = is_fixed | ~path.is_near_jump if smoothness == 0.0 else is_fixed.copy()
    value = energy.value(local)
    for _ in range(MAX_ROUNDS):
        if is_still.all():
            break
        turns = _solve_round(clip, local, energy, is_still)
        before = value
        value, local, is_still = _search_line(clip, local, energy, turns, is_still, before)
        if value > (1.0 - LEAST_GAIN) * before:
            break
    return local


def _solve_round(clip: Clip, local: Array, energy: SmoothingEnergy, is_still: Flags) -> Array:
    """Return the turns (F, k, 3) of one Newton step that moves no goal."""
    frames, bones, _ = local.shape
    rates, free = clip.measure(local)[1], project_free(clip, local)
    free[is_still] = 0.0
    pull = energy.pull(local).reshape(frames, -1)
    turns = solve_smooth(_keep_goals(rates, free), energy.weight, pull).reshape(frames, bones, 3)
    for _ in range(MAX_BLOCKING_PASSES * clip.is_held):
        left_free = remove_blocked(clip, local, free, turns)
        if (left_free == free).all():
            break
        free = left_free
        turns = solve_smooth(_keep_goals(rates, free), energy.weight, pull)
        turns = turns.reshape(frames, bones, 3)
    return turns


def _keep_goals(rates: Array, free: Array) -> Array:
    """Return projectors (F, 3 k, 3 k) on the free turns that move no goal."""
    frames, goals, bones, _ = rates.shape
    blocks = np.zeros((frames, bones, 3, bones, 3))
    rows = np.arange(bones)
    blocks[:, rows, :, rows] = free.swapaxes(0, 1)
    moving = np.einsum("fmki,fkij->fmkj", rates, free).reshape(frames, goals, -1)
    blocked = moving.swapaxes(1, 2) @ np.linalg.solve(square_damped(moving), moving)
    along: Array = blocks.reshape(frames, 3 * bones, -1) - blocked
    return along


def _search_line(
    clip: Clip, local: Array, energy: SmoothingEnergy, turns: Array, is_still: Flags, least: float
) -> tuple[float, Array, Flags]:
    """Return the energy and the poses after the longest step that lowers it, and the fixed frames.

    Frames that leave their goals are fixed from then on.
    """
    largest = float(np.max(np.linalg.norm(turns, axis=2)))
    share = min(1.0, MAX_STEP / max(largest, MAX_STEP))
    for _ in range(4):
        trial, is_met = meet(clip, rotate(local, share * turns))
        has_left = ~is_met & ~is_still
        trial = np.where((is_met & ~is_still)[:, None, None], trial, local)
        value = energy.value(trial)
        if value < least:
            return value, trial, is_still | has_left
        share *= 0.25
    return least, local, is_still
