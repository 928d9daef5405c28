"""NEWTON for one chain: its loop and its start, as ``iterate`` and ``seed`` have them for many.

What differs between a chain in space and one that lies in a plane is in ``single_spatial`` and
``single_planar``.
"""

from __future__ import annotations

from math import acos, cos, pi, sin, sqrt
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from . import single_planar, single_spatial
from .newton import (
    DAMPING_DECAY,
    DAMPING_GROWTH,
    FIRST_DAMPING,
    LEAST_DAMPING_AFTER_REJECTION,
    MOST_DAMPING,
)
from .seed import (
    ARC_SHARE,
    EVEN_STEPS,
    FULL_MIX_CHANGE,
    INSIDE,
    NEARLY_AT_END,
    NEARLY_STRAIGHT,
    STRAIGHT_AGAINST_ARC,
    UNEVEN_STEPS,
)
from .single_start import Complex, SingleStart
from .vectors import Array


class Way(Protocol):
    """How the directions of one chain are told, and turned.

    Directions are an array with one row a segment, in the frame of the bend; a gap is the way from
    the effector to the target, in whatever numbers the way computes with.
    """

    def first(self, start: SingleStart) -> npt.NDArray[Any]:
        """Return the directions of the start pose."""

    def mixed(self, start: SingleStart, arc: Complex, share: float) -> npt.NDArray[Any]:
        """Return the start pose mixed with a share of an arc."""

    def gap(
        self, start: SingleStart, directions: npt.NDArray[Any], distance: float
    ) -> tuple[float, Any]:
        """Return how far the effector is from the target, and the gap."""

    def turned(
        self, start: SingleStart, directions: npt.NDArray[Any], gap: Any, regularised: float
    ) -> npt.NDArray[Any]:
        """Return the directions after a step of NEWTON, whose diagonal is raised to a value."""


def solved(
    start: SingleStart, distance: float, tolerance: float, iterations: int
) -> tuple[Array, int]:
    """Return joints in the frame of the bend, shape (n + 1, 3), and the iterations used.

    Args:
        start: The start pose.
        distance: From root to target, within reach.
        tolerance: Accepted distance from effector to target.
        iterations: Cap.
    """
    joints = np.zeros((start.count + 1, 3))
    if start.flat is None:
        directions, used = found(single_spatial, start, distance, tolerance, iterations)
        np.cumsum(directions * start.columns, axis=0, out=joints[1:])
        return joints, used
    flat, used = found(single_planar, start, distance, tolerance, iterations)
    laid = np.cumsum(flat * start.lengths)
    joints[1:, 0], joints[1:, 1] = laid.real, laid.imag
    return joints, used


def found(
    way: Way, start: SingleStart, distance: float, tolerance: float, iterations: int
) -> tuple[npt.NDArray[Any], int]:
    """Return directions that bring the effector to the target, and the iterations used."""
    directions = way.first(start)
    error, gap = way.gap(start, directions, distance)
    if error > tolerance:
        arc = _even_bend(start, distance)
        share = _share_of_arc(start, distance, abs(float(start.after.dot(arc.imag))))
        directions = way.mixed(start, arc, share)
        error, gap = way.gap(start, directions, distance)
    used, damping = 0, FIRST_DAMPING
    while error > tolerance and used < iterations and damping < MOST_DAMPING:
        regularised = start.squares * (1.0 + damping * error / start.reach * (2.0 / 3.0))
        trial = way.turned(start, directions, gap, regularised)
        trial_error, trial_gap = way.gap(start, trial, distance)
        used += 1
        if trial_error < error:
            directions, error, gap = trial, trial_error, trial_gap
            damping *= DAMPING_DECAY
        else:
            damping = max(damping * DAMPING_GROWTH, LEAST_DAMPING_AFTER_REJECTION)
    return directions, used


def _share_of_arc(start: SingleStart, distance: float, wanted: float) -> float:
    reach = start.reach
    is_far = _smooth(abs(distance - start.distance) / reach / FULL_MIX_CHANGE)
    to_fold = (distance - start.least) / reach if start.least > 0.0 else 1.0
    is_at_end = 1.0 - _smooth(min(to_fold, (reach - distance) / reach) / NEARLY_AT_END)
    led = 1.0 - (1.0 - is_at_end) * (1.0 - start.ruled_by_longest)
    share = is_far * (ARC_SHARE + (1.0 - ARC_SHARE) * led)
    is_bent = _smooth(start.bulge / max(STRAIGHT_AGAINST_ARC * wanted, 1e-12 * reach))
    return 1.0 - (1.0 - share) * is_bent


def _smooth(s: float) -> float:
    s = 0.0 if s < 0.0 else 1.0 if s > 1.0 else s
    return s * s * (3.0 - 2.0 * s)


def _even_bend(start: SingleStart, distance: float) -> Complex:
    """Return ``seed.even_bend`` as complex numbers, chord along the real axis, shape (n,)."""
    lengths, longest, rest = start.lengths, start.longest, start.reach - start.longest
    is_ruled = longest >= rest
    if is_ruled:
        cosine = (longest**2 + rest**2 - distance**2) / (2.0 * longest * max(rest, 1e-300))
        turn = np.full(start.count, pi - acos(max(-1.0, min(1.0, cosine))))
        turn[start.first_longest] = 0.0
    else:
        turn = start.steps * _even_turn(start, distance)
    arc: Complex = np.exp(1j * turn)
    chord = complex(lengths.dot(arc))
    size = abs(chord)
    if size > 1e-12:
        arc *= chord.conjugate() / size
    return arc.conj() if is_ruled and arc[0].imag < 0.0 else arc


def _even_turn(start: SingleStart, distance: float) -> float:
    count = start.count
    if count == 1:
        return 0.0
    ratio = distance / start.reach
    missing = max(1.0 - ratio, 0.0)
    near = 6.0 / (1.0 - 1.0 / count**2)
    half = sqrt(missing * (near + (pi**2 - near) * missing))
    if missing > NEARLY_STRAIGHT:
        for _ in range(EVEN_STEPS):
            error = sin(half) - ratio * count * sin(half / count)
            half -= error / (cos(half) - ratio * cos(half / count))
    turn = 2.0 * half / count
    return turn if start.is_even else _uneven_turn(start, distance, turn)


def _uneven_turn(start: SingleStart, distance: float, guess: float) -> float:
    lengths, steps = start.lengths, start.steps
    least = abs(complex(lengths.dot(np.exp(1j * steps * start.closing))))
    if distance <= least:
        return start.closing
    low, high = 0.0, start.closing
    turn = min(guess, INSIDE * high)
    wanted = sqrt(max(distance - least, 0.0))
    for _ in range(UNEVEN_STEPS):
        segments = lengths * np.exp(1j * steps * turn)
        chord, rate = complex(segments.sum()), 1j * complex(steps.dot(segments))
        size = abs(chord)
        root = sqrt(max(size - least, 0.0))
        if root > wanted:
            low = turn
        else:
            high = turn
        slope = (chord.conjugate() * rate).real / max(2.0 * size * root, 1e-12)
        turn -= (root - wanted) / (slope if slope < 0.0 else -1e-300)
        if not low <= turn <= high:
            turn = 0.5 * (low + high)
    return turn
