"""Offsets from the keyed pose made as smooth as the goals of each frame allow.

Idea: Gleicher, "Retargetting Motion to New Characters" (1998): the change to a motion is smooth,
and its details stay.
"""

from __future__ import annotations

import numpy as np

from ..algebra import rotation
from ..algebra.arithmetic import Array, Flags
from .banded import solve_least, spread_back
from .branches import Path
from .clip import Clip, free_turns, meet, squared, turned, turns_between, without_blocked

MOST_ROUNDS = 12
# The farthest that a round may turn a joint, in radians.
LARGEST_STEP = 1.0
# A round that lowers the energy by less than this share is the last.
LEAST_GAIN = 1e-3
# Frames to either side that smoothness 0.5 takes a shake from. Ten times more pulls poses far from
# those that were solved.
FRAMES_SMOOTHED = 2.0
# What holds frames around jumps where they are, beside frames that nothing holds: their path is to
# be as smooth as it can.
HELD_AROUND_JUMPS = 1e-6
# Passes that find which ends of ranges stop a round.
MOST_BLOCKED = 2


class Energy:
    """The squares of second differences of offsets, and of turns from where frames are held."""

    def __init__(self, keyed: Array, path: Path, smoothness: float) -> None:
        """Hold frames where a path has them, the less the smoother, and less around jumps."""
        self._keyed, self._path = rotation.conjugate(keyed), path
        roughness = (1.0 - smoothness) / (max(smoothness, 1e-3) * FRAMES_SMOOTHED)
        self.weight = np.where(path.is_anew, HELD_AROUND_JUMPS, max(roughness**4, 1e-6))

    def value(self, local: Array) -> float:
        """Return the energy of poses."""
        second, away = self._parts(local)
        held = float((self.weight[:, None, None] * away * away).sum())
        return float((second * second).sum()) + held

    def pull(self, local: Array) -> Array:
        """Return what pulls turns of each bone to less energy, shape (F, k, 3)."""
        second, away = self._parts(local)
        pull: Array = -spread_back(second) - self.weight[:, None, None] * away
        return pull

    def _parts(self, local: Array) -> tuple[Array, Array]:
        offsets = rotation.multiply(self._keyed, local)
        second = np.diff(turns_between(offsets[:-1], offsets[1:]), axis=0)
        return second, turns_between(self._path.local, local)


def smooth(clip: Clip, keyed: Array, path: Path, is_fixed: Flags, smoothness: float) -> Array:
    """Return poses that meet all goals as those of a path do, with smoother offsets.

    Args:
        clip: The goals.
        keyed: Rotations that offsets count from.
        path: To start from.
        is_fixed: Frames that keep their poses.
        smoothness: From 0, around jumps only, to 1.
    """
    energy, local = Energy(keyed, path, smoothness), path.local
    is_still = is_fixed | ~path.is_anew if smoothness == 0.0 else is_fixed.copy()
    known = energy.value(local)
    for _ in range(MOST_ROUNDS):
        if is_still.all():
            break
        turns = _round(clip, local, energy, is_still)
        before = known
        known, local, is_still = _stepped(clip, local, energy, turns, is_still, before)
        if known > (1.0 - LEAST_GAIN) * before:
            break
    return local


def _round(clip: Clip, local: Array, energy: Energy, is_still: Flags) -> Array:
    """Return the turns (F, k, 3) of one step of Newton's method, along the goals."""
    frames, bones, _ = local.shape
    rates, free = clip.measure(local)[1], free_turns(clip, local)
    free[is_still] = 0.0
    pull = energy.pull(local).reshape(frames, -1)
    turns = solve_least(_along_goals(rates, free), energy.weight, pull).reshape(frames, bones, 3)
    for _ in range(MOST_BLOCKED * clip.is_held):
        free = without_blocked(clip, local, free, turns)
        turns = solve_least(_along_goals(rates, free), energy.weight, pull)
        turns = turns.reshape(frames, bones, 3)
    return turns


def _along_goals(rates: Array, free: Array) -> Array:
    """Return projectors (F, 3 k, 3 k) onto the free turns that move no goal."""
    frames, goals, bones, _ = rates.shape
    whole = np.zeros((frames, bones, 3, bones, 3))
    rows = np.arange(bones)
    whole[:, rows, :, rows] = free.swapaxes(0, 1)
    moving = np.einsum("fmki,fkij->fmkj", rates, free).reshape(frames, goals, -1)
    blocked = moving.swapaxes(1, 2) @ np.linalg.solve(squared(moving), moving)
    along: Array = whole.reshape(frames, 3 * bones, -1) - blocked
    return along


def _stepped(
    clip: Clip, local: Array, energy: Energy, turns: Array, is_still: Flags, known: float
) -> tuple[float, Array, Flags]:
    """Return the energy and the poses after the longest step that lowers it, and who stays now.

    Frames that leave their goals stay from then on.
    """
    largest = float(np.max(np.linalg.norm(turns, axis=2)))
    share = min(1.0, LARGEST_STEP / max(largest, LARGEST_STEP))
    for _ in range(4):
        trial, is_met = meet(clip, turned(local, share * turns))
        has_left = ~is_met & ~is_still
        trial = np.where((is_met & ~is_still)[:, None, None], trial, local)
        value = energy.value(trial)
        if value < known:
            return value, trial, is_still | has_left
        share *= 0.25
    return known, local, is_still
