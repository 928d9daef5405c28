"""Where NEWTON starts: the swung start pose, mixed with an even arc as far as the task bends it.

NEWTON changes the pose as little as it can; from the swung pose alone a long way in would crumple
the chain. The arc spreads the bend over all joints. It depends on the start pose and the target
only, so the same frame always gives the same pose.
"""

from __future__ import annotations

import numpy as np

from . import bend
from .bend import Bend
from .reach import min_reach
from .vectors import Array, across, norm, smoothstep, unit

# Share of the arc in the mix: less leaves zig-zags on the way in, more forgets the start pose.
ARC_SHARE = 0.35
# The arc fades in while the chord's length changes up to this share of the chain.
FULL_MIX_CHANGE = 0.2
# A start pose whose bulge is less than this share of the arc's is too straight to lead the way.
STRAIGHT_AGAINST_ARC = 0.25
# Within this share of the chain's length from full reach, or from the point where its longest
# segment stops it from folding further, the bent pose leads alone.
NEARLY_AT_END = 0.05
# Sideways push, as a share of the chain, that frees FABRIK and CCD from a target on the line of a
# straight chain; both stand still there.
NUDGE = 1e-3


def natural(posed: Array, lengths: Array, target: Array, plan: Bend) -> Array:
    """Return the start of NEWTON.

    Args:
        posed: Start poses already turned to their bend, shape (n + 1, 3, B).
        lengths: Shape (n, B).
        target: Within reach, shape (3, B).
        plan: Chord and side.

    Returns:
        Joints, shape (n + 1, 3, B); the effector is near the target, not on it.

    Source: derived for this project; smoothness is measured in tests/core/test_promises.py.
    """
    reach = lengths.sum(axis=0)
    distance = norm(target)
    bent = even_bend(lengths, distance, plan)
    is_far = smoothstep(np.abs(distance - norm(posed[-1])) / reach, 0.0, FULL_MIX_CHANGE)
    # Near the ends of reach few poses are left, and the bent one is among them.
    least = min_reach(lengths)
    to_fold = np.where(least > 0.0, (distance - least) / reach, 1.0)
    to_end = np.minimum(to_fold, (reach - distance) / reach)
    is_at_end = 1.0 - smoothstep(to_end, 0.0, NEARLY_AT_END)
    # One long segment leaves the others few ways round it.
    longest = lengths.max(axis=0)
    is_ruled = smoothstep(longest / np.maximum(reach - longest, 1e-300), 0.5, 1.0)
    led = 1.0 - (1.0 - is_at_end) * (1.0 - is_ruled)
    share = is_far * (ARC_SHARE + (1.0 - ARC_SHARE) * led)
    present = norm(bend.bulge(posed, plan.chord))
    wanted = norm(bend.bulge(bent, plan.chord))
    is_bent = smoothstep(present, 0.0, np.maximum(STRAIGHT_AGAINST_ARC * wanted, 1e-12 * reach))
    share = 1.0 - (1.0 - share) * is_bent
    swung_directions = np.diff(posed, axis=0) / lengths[:, None, :]
    arc_directions = np.diff(bent, axis=0) / lengths[:, None, :]
    mixed = unit((1.0 - share) * swung_directions + share * arc_directions, arc_directions)
    return from_directions(mixed, lengths)


def even_bend(lengths: Array, distance: Array, plan: Bend) -> Array:
    """Return chains bent evenly to a distance, bulging to their side. Shapes as in ``natural``.

    Chains take the same turn at every joint; the turn fits the distance, or nearly where lengths
    differ and the chain has to close. A chain whose longest segment outreaches the rest together
    becomes a triangle of that segment, the rest laid straight, and the chord, exactly.
    """
    longest, rest = lengths.max(axis=0), lengths.sum(axis=0) - lengths.max(axis=0)
    cosine = (longest**2 + rest**2 - distance**2) / (2.0 * longest * np.maximum(rest, 1e-300))
    corner = np.pi - np.arccos(np.clip(cosine, -1.0, 1.0))
    is_longest = np.arange(len(lengths))[:, None] == np.argmax(lengths, axis=0)
    turned_back = np.where(is_longest, 0.0, corner)
    turn = _even_steps(len(lengths)) * _even_turn(lengths, distance)
    planar = lengths * np.exp(1j * np.where(longest >= rest, turned_back, turn))
    chord = planar.sum(axis=0)
    size = np.abs(chord)
    planar = planar * np.where(size > 1e-12, np.conj(chord) / np.maximum(size, 1e-12), 1.0)
    is_reversed = (longest >= rest) & (planar[0].imag < 0.0)
    planar = np.where(is_reversed, np.conj(planar), planar)
    segments = planar.real[:, None, :] * plan.chord + planar.imag[:, None, :] * plan.side
    return np.concatenate((np.zeros_like(segments[:1]), np.cumsum(segments, axis=0)))


def _even_turn(lengths: Array, distance: Array) -> Array:
    """Return the turn per joint whose arc has the given chord, or the nearest there is, (B,).

    Bisection between none and that of a regular polygon, where arcs of equal lengths close: 30
    halvings are far finer than a seed needs.
    """
    count = len(lengths)
    low: Array = np.zeros_like(distance)
    high: Array = np.full_like(distance, 2.0 * np.pi / count)
    steps = 1j * _even_steps(count)
    for _ in range(30):
        middle = 0.5 * (low + high)
        segments = lengths * np.exp(steps * middle)
        chord, rate = segments.sum(axis=0), (steps * segments).sum(axis=0)
        # Uneven lengths may not close: then the arc of the shortest chord is the nearest.
        is_low = (np.abs(chord) > distance) & ((np.conj(chord) * rate).real < 0.0)
        low, high = np.where(is_low, middle, low), np.where(is_low, high, middle)
    return low


def _even_steps(count: int) -> Array:
    """Return how often each segment is turned against the middle of the chain, shape (n, 1)."""
    steps: Array = (0.5 * (count - 1) - np.arange(count, dtype=np.float64))[:, None]
    return steps


def nudged(points: Array, lengths: Array, target: Array, plan: Bend) -> Array:
    """Return poses of which none has all inner joints on the line from root to target.

    The push to the side is what is missing to ``NUDGE``, so it comes in without a jump.
    """
    reach = lengths.sum(axis=0)
    count = len(lengths)
    if count == 1:
        return points
    off_line = norm(across(points[1:-1], plan.chord)).max(axis=0)
    missing = np.maximum(0.0, NUDGE * reach - off_line)
    profile = np.sin(np.pi * np.arange(count + 1) / count)[:, None, None]
    pushed = points + profile * missing * plan.side
    directions = unit(np.diff(pushed, axis=0), np.diff(points, axis=0) / lengths[:, None, :])
    return np.where(missing > 0.0, from_directions(directions, lengths), points)


def from_directions(directions: Array, lengths: Array) -> Array:
    """Return the joints (n + 1, 3, B) of unit directions (n, 3, B) laid end to end."""
    segments = lengths[:, None, :] * directions
    return np.concatenate((np.zeros_like(segments[:1]), np.cumsum(segments, axis=0)))
