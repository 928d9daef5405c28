"""NEWTON's step for one chain that lies in a plane, where it stays: directions as complex numbers.

It is the step of ``newton.step``. The sums over the squares of the components of segments s are the
real and the imaginary part of the sum of s^2, and the Cayley transform turns a direction by a
number over its conjugate.

Source: derived for this project; tests/core/test_planar.py holds it to the step in space.
"""

from __future__ import annotations

import numpy as np

from .single_start import Complex, SingleStart
from .vectors import NO_DIRECTION


def first(start: SingleStart) -> Complex:
    """Return the unit directions of the start pose, shape (n,)."""
    assert start.flat is not None
    return start.flat


def mixed(start: SingleStart, arc: Complex, share: float) -> Complex:
    """Return the directions of the start pose mixed with a share of an arc, shape (n,)."""
    blend: Complex = first(start) * (1.0 - share)
    blend += share * arc
    size = np.abs(blend)
    if size.min() > NO_DIRECTION:
        blend /= size
        return blend
    has_direction = size > NO_DIRECTION
    return np.where(has_direction, blend / np.where(has_direction, size, 1.0), arc)


def gap(start: SingleStart, directions: Complex, distance: float) -> tuple[float, complex]:
    """Return the distance from effector to target, and the way there."""
    way = distance - complex(start.complex_lengths.dot(directions))
    return abs(way), way


def turned(start: SingleStart, directions: Complex, gap: complex, regularised: float) -> Complex:
    """Return the directions after a step, shape (n,)."""
    segments = start.complex_lengths * directions
    square = complex(segments.dot(segments))
    xx = regularised - 0.5 * (start.squares + square.real)
    yy = regularised - 0.5 * (start.squares - square.real)
    xy = -0.5 * square.imag
    trace = xx + yy + regularised
    divisor = max(regularised * (xx * yy - xy * xy), 1e-15 * trace * trace * trace)
    x, y = gap.real * regularised / divisor, gap.imag * regularised / divisor
    # Of l q only the part across the segment is left, and a half of it is what h is raised by.
    across = segments.conj()
    across *= 0.5 * complex(yy * x - xy * y, xx * y - xy * x)
    half = across.imag * 1j
    half += 1.0
    trial: Complex = directions * half
    trial /= half.conj()
    return trial
