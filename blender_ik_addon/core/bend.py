"""Which way a chain bends: its chord, the side of its bulge, and the turn of the chain as a whole.

All arrays follow the layout of ``vectors``; points are relative to the root.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import vectors
from .vectors import Array, Flags, across, cross, dot, norm, smoothstep, unit

# Below this mean offset from the chord, as a share of the chain's length, a start pose counts as
# straight: its side would be noise of float32 storage (1e-7 a bone).
STRAIGHT = 1e-5
# A target nearer to the root than this share of the chain's length gives no direction.
AT_ROOT = 1e-9
# A pole nearer to the chord's line than the first angle gives no side; from the second on it rules
# alone; between, both sides are blended, so that the elbow turns quickly but does not pop.
POLE_GIVES_NO_SIDE = np.sin(np.radians(3.0))
POLE_RULES = np.sin(np.radians(10.0))
# Sides opposite to within rounding are turned into each other the positive way round.
JUST_OPPOSITE = -np.pi + 1e-3


@dataclass(frozen=True)
class Bend:
    """How chains shall lie for their targets.

    Attributes:
        chord: Unit directions from root to target, shape (3, B).
        side: Unit directions across the chord that the chains bend toward, shape (3, B).
        chain_rotation: Turns of the chains as a whole from start pose to chord and side before
            any flip, shape (3, 3, B).
    """

    chord: Array
    side: Array
    chain_rotation: Array


@dataclass(frozen=True)
class Pole:
    """The poles of chains.

    Attributes:
        is_set: Which chains have one, shape (B,).
        position: Relative to the root, shape (3, B).
        angle: Radians about the chord, shape (B,).
    """

    is_set: Flags
    position: Array
    angle: Array


def bulge(points: Array, chord: Array) -> Array:
    """Return the mean offset of the inner joints from the chord's line, shape (3, B)."""
    inner = points[1:-1]
    if not len(inner):
        return np.zeros_like(chord)
    mean: Array = across(inner.mean(axis=0), chord)
    return mean


def bend_side(joint_positions: Array) -> Array | None:
    """Return the unit direction across its chord that one chain bends toward.

    Args:
        joint_positions: Shape (n + 1, 3).

    Returns:
        Shape (3,), None for a chain that is straight or has no side.
    """
    joints = np.asarray(joint_positions, dtype=np.float64)
    points = (joints - joints[0])[:, :, None]
    reach = np.linalg.norm(np.diff(joints, axis=0), axis=1).sum()
    chord = unit(points[-1], unit(points[1], np.zeros((3, 1))))
    offset = bulge(points, chord)
    if norm(offset)[0] <= STRAIGHT * reach:
        return None
    side: Array = (offset / norm(offset))[:, 0]
    return side


def start_bend(points: Array, reach: Array, hint: Array) -> tuple[Array, Array]:
    """Return chord and side of start poses.

    Args:
        points: Joints, shape (n + 1, 3, B).
        reach: Sums of the lengths, shape (B,).
        hint: Where straight chains bend, shape (3, B); zero for no hint.

    Returns:
        Two arrays of unit vectors, shape (3, B): the chord, and the side: of the bulge, else of
        the hint, else of any axis across. A closed chain has no chord; it takes one across its
        bulge, which leaves it as it is when it is solved for its own root.
    """
    first = points[1] / norm(points[1])
    nowhere = np.zeros_like(first)
    is_closed = norm(points[-1]) < AT_ROOT * reach
    inner = points[1:-1].mean(axis=0) if len(points) > 2 else nowhere
    out = unit(inner, first)
    closed_chord = unit(across(unit(hint, nowhere), out), vectors.any_perpendicular(out))
    chord = np.where(is_closed, closed_chord, unit(points[-1], first))
    offset = bulge(points, chord)
    is_straight = norm(offset) < STRAIGHT * reach
    hint_side = unit(across(unit(hint, nowhere), chord), nowhere)
    side = np.where(is_straight, hint_side, unit(offset, hint_side))
    side = np.where(norm(side) > 0.5, side, vectors.any_perpendicular(chord))
    return chord, side


def wanted_bend(
    points: Array,
    reach: Array,
    hint: Array,
    target: Array,
    pole: Pole,
) -> Bend:
    """Return how chains shall lie for their targets.

    The start pose is swung about the root until its chord points at the target (opposite
    directions: in the plane of the bend), then turned about the chord until its side faces the
    pole. A target on the root leaves the chord as it was. A pole on the chord's line gives no
    side: there the swung start pose keeps its own.

    Source: derived for this project after the two-bone construction in common use; continuity
    and covariance are proved in tests/core/test_promises.py.
    """
    start_chord, start_side = start_bend(points, reach, hint)
    is_at_root = norm(target) < AT_ROOT * reach
    chord = np.where(is_at_root, start_chord, unit(target, start_chord))
    swing = vectors.swing(start_chord, chord, half_turn_axis=cross(start_chord, start_side))
    swung_side = vectors.rotate(swing, start_side)
    side = _side_of_pole(pole, chord, swung_side)
    swivel = _turn_about(chord, swung_side, side)
    return Bend(chord, side, chain_rotation=vectors.compose(swivel, swing))


def _turn_about(chord: Array, source: Array, target: Array) -> Array:
    """Return the turns about unit chords that take unit vectors across them to others, (3, 3, B).

    Exactly about the chord, so that what lies on it stays, whatever the rounding of the sides.
    """
    angle = np.arctan2(dot(cross(source, target), chord), dot(source, target))
    return vectors.turn(chord, angle)


def _side_of_pole(pole: Pole, chord: Array, swung_side: Array) -> Array:
    distance = norm(pole.position)
    part = across(pole.position, chord)
    sine = norm(part) / np.where(distance > 0.0, distance, 1.0)
    share = np.where(pole.is_set, smoothstep(sine, POLE_GIVES_NO_SIDE, POLE_RULES), 0.0)
    pole_side = unit(part, swung_side)
    # Blending the angle, not the directions: those of a pole that the chord has just passed are
    # opposite, and their mean would vanish on the most usual path, in the plane of the bend.
    angle = np.arctan2(dot(cross(swung_side, pole_side), chord), dot(swung_side, pole_side))
    angle = np.where(angle < JUST_OPPOSITE, angle + 2.0 * np.pi, angle)
    turned = vectors.rotate(vectors.turn(chord, share * angle + pole.angle), swung_side)
    return np.where(pole.is_set, turned, swung_side)


def swivelled(points: Array, bend: Bend, reach: Array) -> Array:
    """Return solved poses turned about root and effector so that they bend to their side.

    Poses without a bulge (straight, or S-shaped with both halves alike) stay as they are.
    """
    is_closed = norm(points[-1]) < AT_ROOT * reach
    chord = np.where(is_closed, bend.chord, unit(points[-1], bend.chord))
    offset = bulge(points, chord)
    wanted = unit(across(bend.side, chord), bend.side)
    present = unit(offset, wanted)
    has_side = norm(offset) > AT_ROOT * reach
    present = np.where(has_side, present, wanted)
    return vectors.rotate(_turn_about(chord, present, wanted), points)


def mirrored(points: Array, bend: Bend, reach: Array) -> Array:
    """Return solved poses mirrored across their chords, so that they bend to the other side."""
    is_closed = norm(points[-1]) < AT_ROOT * reach
    chord = np.where(is_closed, bend.chord, unit(points[-1], bend.chord))
    side = unit(bulge(points, chord), bend.side)
    reflected: Array = points - 2.0 * side * dot(points, side)[..., None, :]
    return reflected
