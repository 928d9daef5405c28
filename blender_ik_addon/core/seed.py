"""Where NEWTON starts: the swung start pose, mixed with an even arc as far as the task bends it.

NEWTON changes the pose as little as it can; from the swung pose alone a long way in would crumple
the chain. The arc spreads the bend over all joints. It depends on the start pose and the target
only, so the same frame always gives the same pose.
"""

from __future__ import annotations

import numpy as np

from .bend import Bend, even_steps
from .start import Start
from .vectors import Array, across, laid, norm, smoothstep, unit

# Newton's method on the turn of an even bend: steps that make it finer than a seed needs.
EVEN_STEPS, UNEVEN_STEPS = 3, 6
# The first guess stays off the closing turn by this factor: the chord has no slope there.
INSIDE = 0.95
# Nearer to full reach than this share of the chain the first guess is exact, and better than a
# step whose terms cancel.
NEARLY_STRAIGHT = 1e-5
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


def natural(start: Start, distance: Array, axes: int = 3) -> Array:
    """Return the start of NEWTON.

    Args:
        start: Start poses.
        distance: From root to target, within reach, shape (B,).
        axes: How many of the axes chord, side and normal to tell the directions in: two for
            chains that lie in the planes of their bends.

    Returns:
        Unit directions, shape (n, axes, B); the effector is near the target, not on it.

    Source: derived for this project; smoothness is measured in tests/core/test_continuity.py.
    """
    arc = even_bend(start, distance)
    share = _share_of_arc(start, distance, arc)
    mixed = (1.0 - share) * start.directions[:, :axes]
    mixed[:, :2] += share * arc
    length = norm(mixed)
    has_direction = length > 1e-14
    if has_direction.all():
        return mixed / length[:, None, :]
    spatial = np.concatenate((arc, np.zeros_like(mixed[:, 2:])), axis=1)
    return unit(mixed, spatial)


def _share_of_arc(start: Start, distance: Array, arc: Array) -> Array:
    """Return how much of the arc is mixed into start poses, shape (B,)."""
    reach = start.reach
    is_far = smoothstep(np.abs(distance - start.distance) / reach, 0.0, FULL_MIX_CHANGE)
    # Near the ends of reach few poses are left, and the bent one is among them.
    to_fold = np.where(start.least > 0.0, (distance - start.least) / reach, 1.0)
    to_end = np.minimum(to_fold, (reach - distance) / reach)
    is_at_end = 1.0 - smoothstep(to_end, 0.0, NEARLY_AT_END)
    led = 1.0 - (1.0 - is_at_end) * (1.0 - start.ruled_by_longest)
    share = is_far * (ARC_SHARE + (1.0 - ARC_SHARE) * led)
    wanted = np.abs(np.einsum("nb,nb->b", start.after, arc[:, 1]))
    enough = np.maximum(STRAIGHT_AGAINST_ARC * wanted, 1e-12 * reach)
    is_bent = smoothstep(start.bulge, 0.0, enough)
    mixed: Array = 1.0 - (1.0 - share) * is_bent
    return mixed


def even_bend(start: Start, distance: Array) -> Array:
    """Return chains bent evenly to a distance: directions along chord and side, (n, 2, B).

    Chains take the same turn at every joint; the turn fits the distance, or nearly where lengths
    differ and the chain has to close. A chain whose longest segment outreaches the rest together
    becomes a triangle of that segment, the rest laid straight, and the chord, exactly.
    """
    lengths, longest = start.lengths, start.longest
    rest = start.reach - longest
    turn = even_steps(len(lengths)) * _even_turn(start, distance)
    is_ruled = longest >= rest
    has_ruled = bool(is_ruled.any())
    if has_ruled:
        cosine = (longest**2 + rest**2 - distance**2) / (2.0 * longest * np.maximum(rest, 1e-300))
        corner = np.pi - np.arccos(np.clip(cosine, -1.0, 1.0))
        is_longest = np.arange(len(lengths))[:, None] == np.argmax(lengths, axis=0)
        turn = np.where(is_ruled, np.where(is_longest, 0.0, corner), turn)
    x, y = np.cos(turn), np.sin(turn)
    along, aside = np.einsum("nb,nb->b", lengths, x), np.einsum("nb,nb->b", lengths, y)
    size = np.hypot(along, aside)
    is_open = size > 1e-12
    if is_open.all():
        along, aside = along / size, aside / size
    else:
        size = np.where(is_open, size, 1.0)
        along, aside = np.where(is_open, along / size, 1.0), np.where(is_open, aside / size, 0.0)
    planar = np.empty((len(lengths), 2, len(distance)))
    planar[:, 0], planar[:, 1] = x * along + y * aside, y * along - x * aside
    if has_ruled:
        planar[:, 1] *= np.where(is_ruled & (planar[0, 1] < 0.0), -1.0, 1.0)
    return planar


def _even_turn(start: Start, distance: Array) -> Array:
    """Return the turn per joint whose arc has the given chord, or the nearest there is, (B,)."""
    count = len(start.lengths)
    if count == 1:
        return np.zeros_like(distance)
    ratio = distance / start.reach
    missing = np.maximum(1.0 - ratio, 0.0)
    near = 6.0 / (1.0 - 1.0 / count**2)
    half = np.sqrt(missing * (near + (np.pi**2 - near) * missing))
    can_step = missing > NEARLY_STRAIGHT
    can_all = bool(can_step.all())
    for _ in range(EVEN_STEPS):
        part = half / count
        error = np.sin(half) - ratio * count * np.sin(part)
        rate = np.cos(half) - ratio * np.cos(part)
        step = error / (rate if can_all else np.where(can_step, rate, 1.0))
        half = half - (step if can_all else np.where(can_step, step, 0.0))
    turn: Array = 2.0 * half / count
    uneven = start.uneven
    if uneven.any():
        turn[uneven] = _uneven_turn(start.take(uneven), distance[uneven], turn[uneven])
    return turn


def _uneven_turn(start: Start, distance: Array, guess: Array) -> Array:
    """Return the turn as above for uneven lengths, from that of even ones.

    Newton's method inside of a bracket, on the root of what the chord is longer than it can get:
    there it has a slope, while the chord itself has none.
    """
    steps = even_steps(len(start.lengths))
    least = np.abs(np.einsum("nb,nb->b", start.lengths, np.exp(1j * steps * start.closing)))
    low, high = np.zeros_like(guess), start.closing
    turn = np.minimum(guess, INSIDE * high)
    wanted = np.sqrt(np.maximum(distance - least, 0.0))
    for _ in range(UNEVEN_STEPS):
        segments = start.lengths * np.exp(1j * steps * turn)
        chord, rate = segments.sum(axis=0), (1j * steps * segments).sum(axis=0)
        size = np.abs(chord)
        root = np.sqrt(np.maximum(size - least, 0.0))
        is_low = root > wanted
        low, high = np.where(is_low, turn, low), np.where(is_low, high, turn)
        slope = (np.conj(chord) * rate).real / np.maximum(2.0 * size * root, 1e-12)
        following = turn - (root - wanted) / np.where(slope < 0.0, slope, -1e-300)
        is_inside = (following >= low) & (following <= high)
        turn = np.where(is_inside, following, 0.5 * (low + high))
    return np.where(distance > least, turn, start.closing)


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
    """Return the joints (n + 1, d, B) of unit directions (n, d, B) laid end to end."""
    return laid(lengths[:, None, :] * directions)
