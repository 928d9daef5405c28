"""Which way a chain bends: its chord, the side of its bulge, and the turn of the chain as a whole.

All arrays follow the layout of ``vectors``; points are relative to the root.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import vectors
from .rotation import multiply
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
    """How chains shall lie for their targets: the frame that the start pose's frame turns to.

    Attributes:
        chord: Unit directions from root to target, shape (3, B).
        side: Unit directions across the chord that the chains bend toward, shape (3, B).
        normal: Their products, shape (3, B).
        rotation_wxyz: Turns of the chains as a whole from start pose to chord and side before
            any flip, shape (B, 4).
    """

    chord: Array
    side: Array
    normal: Array
    rotation_wxyz: Array

    def placed(self, local: Array) -> Array:
        """Return points (..., 3, B), told in this frame, along the axes of the start pose."""
        x, y, z = local[..., :1, :], local[..., 1:2, :], local[..., 2:, :]
        points: Array = x * self.chord + y * self.side + z * self.normal
        return points

    def local(self, points: Array) -> Array:
        """Return points (..., 3, B) told in this frame."""
        return np.stack([dot(points, axis) for axis in (self.chord, self.side, self.normal)], -2)


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

    def take(self, chains: vectors.Counts | Flags) -> Pole:
        """Return the poles of some of the chains."""
        return Pole(self.is_set[chains], self.position[:, chains], self.angle[chains])


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
    start_chord: Array, start_side: Array, reach: Array, target: Array, pole: Pole | None
) -> Bend:
    """Return how chains shall lie for their targets.

    The start pose is swung about the root until its chord points at the target (opposite
    directions: in the plane of the bend), then turned about the chord until its side faces the
    pole. A target on the root leaves the chord as it was. A pole on the chord's line gives no
    side: there the swung start pose keeps its own.

    Args:
        start_chord: Unit vectors, shape (3, B).
        start_side: Unit vectors across it, shape (3, B).
        reach: Sums of the lengths, shape (B,).
        target: Relative to the roots, shape (3, B).
        pole: None where no chain has one.

    Source: derived for this project after the two-bone construction in common use; continuity
    and covariance are proved in tests/core/test_continuity.py and test_covariance.py.
    """
    distance = norm(target)
    is_at_root = distance < AT_ROOT * reach
    if is_at_root.any():
        chord = np.where(is_at_root, start_chord, target / np.where(is_at_root, 1.0, distance))
    else:
        chord = target / distance
    side, rotation = _swung(start_chord, start_side, chord)
    if pole is not None:
        angle = _swivel(pole, chord, side)
        half = 0.5 * angle
        swivel = vectors.rows(np.cos(half), *(chord * np.sin(half)))
        rotation = multiply(swivel, rotation)
        side = side * np.cos(angle) + cross(chord, side) * np.sin(angle)
    return Bend(chord, side, cross(chord, side), rotation)


def _swung(start_chord: Array, start_side: Array, chord: Array) -> tuple[Array, Array]:
    """Return the sides (3, B) of start poses swung onto their chords, and the swings (B, 4)."""
    cosine = dot(start_chord, chord)
    is_obtuse = cosine < 0.0
    source, side = start_chord, start_side
    has_obtuse = bool(is_obtuse.any())
    if has_obtuse:
        # Nearly opposite vectors tell their common axis badly. A half turn about whatever axis
        # across the chord lies nearest, and the small rotation that is left, meet it exactly.
        normal = cross(start_chord, start_side)
        axis = unit(across(cross(start_chord, chord), start_chord), normal)
        source = np.where(is_obtuse, -start_chord, start_chord)
        side = np.where(is_obtuse, 2.0 * axis * dot(axis, start_side) - start_side, start_side)
        cosine = np.abs(cosine)
    side = side - (source + chord) * (dot(chord, side) / (1.0 + cosine))
    half = np.sqrt(0.5 * (1.0 + cosine))
    rotation = vectors.rows(half, *(cross(source, chord) / (2.0 * half)))
    if has_obtuse:
        half_turn = vectors.rows(np.zeros_like(half), *axis)
        rotation = np.where(is_obtuse[:, None], multiply(rotation, half_turn), rotation)
    return side, rotation


def _swivel(pole: Pole, chord: Array, swung_side: Array) -> Array:
    """Return the turns about the chord that bring swung sides to their poles, (B,)."""
    distance = norm(pole.position)
    part = across(pole.position, chord)
    sine = norm(part) / np.where(distance > 0.0, distance, 1.0)
    share = smoothstep(sine, POLE_GIVES_NO_SIDE, POLE_RULES)
    # Blending the angle, not the directions: those of a pole that the chord has just passed are
    # opposite, and their mean would vanish on the most usual path, in the plane of the bend.
    angle = np.arctan2(dot(cross(swung_side, part), chord), dot(swung_side, part))
    angle = np.where(angle < JUST_OPPOSITE, angle + 2.0 * np.pi, angle)
    return np.where(pole.is_set, share * angle + pole.angle, 0.0)


def bulge_of_frame(local: Array) -> Array:
    """Return the mean offset (2, B) of inner joints from the chord in the frame of a bend."""
    inner = local[1:-1, 1:]
    offset: Array = inner.mean(axis=0) if len(inner) else np.zeros(local.shape[1:])[1:]
    return offset


def swivelled(local: Array, pole: Pole, reach: Array) -> Array:
    """Return poses of chains with poles turned about their chords so that they bend to their side.

    Poses without a bulge (straight, or S-shaped with both halves alike) stay as they are.

    Args:
        local: Joints in the frame of the bend, shape (n + 1, 3, B).
        pole: Tells which chains have one.
        reach: Sums of the lengths, shape (B,).
    """
    y, z = bulge_of_frame(local)
    size = np.hypot(y, z)
    has_side = pole.is_set & (size > AT_ROOT * reach)
    divisor = np.where(has_side, size, 1.0)
    cosine, sine = np.where(has_side, y / divisor, 1.0), np.where(has_side, z / divisor, 0.0)
    turned = local.copy()
    turned[:, 1] = cosine * local[:, 1] + sine * local[:, 2]
    turned[:, 2] = cosine * local[:, 2] - sine * local[:, 1]
    return turned


def mirrored(local: Array, use_flip: Flags) -> Array:
    """Return flagged poses mirrored across their chords, so that they bend to the other side.

    Args:
        local: Joints in the frame of the bend, shape (n + 1, 3, B).
        use_flip: Shape (B,).
    """
    y, z = bulge_of_frame(local)
    size = np.hypot(y, z)
    has_side = size > vectors.NO_DIRECTION
    divisor = np.where(has_side, size, 1.0)
    y, z = np.where(has_side, y / divisor, 1.0), np.where(has_side, z / divisor, 0.0)
    twice = np.where(use_flip, 2.0 * (local[:, 1] * y + local[:, 2] * z), 0.0)
    reflected = local.copy()
    reflected[:, 1] -= twice * y
    reflected[:, 2] -= twice * z
    return reflected


def even_steps(count: int) -> Array:
    """Return how often each segment is turned against the middle of the chain, shape (n, 1)."""
    steps: Array = (0.5 * (count - 1) - np.arange(count, dtype=np.float64))[:, None]
    return steps
