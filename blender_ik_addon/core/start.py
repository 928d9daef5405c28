"""Start poses of chains, compiled: what a solve needs of them whatever its target.

A start pose is described in its own frame: X along its chord, Y to the side that it bends to. A
solve then lays that frame along the new chord, so nothing of the pose is turned joint by joint.
Chains are moved to their roots and scaled by a power of two, which rounds nothing, so that their
length lies between one half and one. Layout as in ``vectors``.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from . import bend, reach, vectors
from .vectors import Array, Counts, Flags, norm, smoothstep

# Lengths that differ by less than this share of the chain bend as if they were equal; float32, in
# which bones are stored, lets equal ones differ by some 1e-7. Only seeds depend on it.
EVEN = 1e-6
# Joints that are off the plane of the bend by less than this share of the chain are so by rounding.
IN_PLANE = 1e-14


@dataclass(frozen=True)
class Start:
    """B start poses of chains of n segments.

    Attributes:
        root: The chains' roots, armature space, shape (3, B).
        unit: Length of one unit of everything below in armature space, shape (B,).
        points: Joints relative to the root, shape (n + 1, 3, B).
        lengths: Shape (n, B).
        reach: Sums of the lengths, shape (B,).
        least: Distances below which the chains cannot fold, shape (B,).
        chord: Unit vectors from root to effector, shape (3, B).
        side: Unit vectors across the chord to where the chains bend, shape (3, B).
        directions: Unit directions of the segments in the frame of chord, side and their
            product, shape (n, 3, B).
        distance: From root to effector, shape (B,).
        bulge: Size of the mean offset of the inner joints from the chord, shape (B,).
        closing: Turn at every joint beyond which an even bend opens again, shape (B,).
    """

    root: Array
    unit: Array
    points: Array
    lengths: Array
    reach: Array
    least: Array
    chord: Array
    side: Array
    directions: Array
    distance: Array
    bulge: Array
    closing: Array

    @cached_property
    def off_plane(self) -> Array:
        """How far joints are off the planes of their bends at most, by the lengths, shape (B,)."""
        normal = vectors.cross(self.chord, self.side)
        most: Array = np.abs(vectors.dot(self.points, normal)).max(axis=0) / self.reach
        return most

    @cached_property
    def is_flat(self) -> bool:
        """Whether all of the chains lie in the planes of their bends, to the last digits."""
        return bool((self.off_plane < IN_PLANE).all())

    @cached_property
    def longest(self) -> Array:
        """The greatest lengths, shape (B,)."""
        greatest: Array = self.lengths.max(axis=0)
        return greatest

    @cached_property
    def uneven(self) -> Flags:
        """Which chains have lengths that differ by more than storing them makes them, (B,)."""
        return is_uneven(self.lengths, self.reach)

    @cached_property
    def ruled_by_longest(self) -> Array:
        """How much one long segment leaves the others few ways round it, 0 to 1, shape (B,)."""
        rest = np.maximum(self.reach - self.longest, 1e-300)
        return smoothstep(self.longest / rest, 0.5, 1.0)

    @cached_property
    def after(self) -> Array:
        """Lengths by share of the inner joints beyond: what offsets count in their mean, (n, B)."""
        count = len(self.lengths)
        inner = np.maximum(count - 1.0 - np.arange(count), 0.0) / max(count - 1, 1)
        weighted: Array = inner[:, None] * self.lengths
        return weighted

    def take(self, chains: Counts | Flags) -> Start:
        """Return some of the chains, as an index picks along the last axis."""
        return Start(*(vectors.taken(getattr(self, field.name), chains) for field in fields(self)))


def started(joints: Array, hint: Array) -> Start:
    """Return compiled start poses.

    Args:
        joints: Armature space, shape (n + 1, 3, B).
        hint: Where straight chains bend, shape (3, B); zero for no hint.
    """
    root = joints[0]
    _, exponent = np.frexp(norm(np.diff(joints, axis=0)).sum(axis=0))
    unit = np.ldexp(1.0, exponent)
    return _described(root, unit, (joints - root) / unit, hint)


def reposed(start: Start, points: Array) -> Start:
    """Return start poses with their joints elsewhere, (n + 1, 3, B), in the same units."""
    return _described(start.root, start.unit, points, start.side)


def _described(root: Array, unit: Array, points: Array, hint: Array) -> Start:
    lengths = norm(np.diff(points, axis=0))
    most = reach.max_reach(lengths)
    chord, side = bend.start_bend(points, most, hint)
    frame = np.stack((chord, side, np.cross(chord, side, axis=0)))
    segments = np.diff(points, axis=0) / lengths[:, None, :]
    return Start(
        root=root,
        unit=unit,
        points=points,
        lengths=lengths,
        reach=most,
        least=reach.min_reach(lengths),
        chord=chord,
        side=side,
        directions=np.einsum("kib,nib->nkb", frame, segments),
        distance=norm(points[-1]),
        bulge=norm(bend.bulge(points, chord)),
        closing=_closing_turn(lengths, most),
    )


def is_uneven(lengths: Array, most: Array) -> Flags:
    """Tell which lengths (n, B) differ by more than a share of their sums (B,)."""
    differ: Flags = np.ptp(lengths, axis=0) > EVEN * most
    return differ


def _closing_turn(lengths: Array, most: Array) -> Array:
    """Return the turn at every joint that brings the effector nearest to the root, shape (B,).

    A full turn shared out closes chains of equal segments; uneven ones may not close at all.
    """
    count = len(lengths)
    full: Array = np.full(lengths.shape[1], 2.0 * np.pi / count)
    are_uneven = is_uneven(lengths, most)
    if not are_uneven.any():
        return full
    uneven = lengths[:, are_uneven]
    low, high = np.zeros(uneven.shape[1]), full[are_uneven]
    steps = 1j * bend.even_steps(count)
    for _ in range(30):
        middle = 0.5 * (low + high)
        segments = uneven * np.exp(steps * middle)
        chord, rate = segments.sum(axis=0), (steps * segments).sum(axis=0)
        is_closing = (np.conj(chord) * rate).real < 0.0
        low, high = np.where(is_closing, middle, low), np.where(is_closing, high, middle)
    full[are_uneven] = low
    return full
