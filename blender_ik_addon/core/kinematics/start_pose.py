"""Start poses of chains, compiled once for every target.

The frame of a start pose has X along its chord and Y to the side of its bend. A solve turns this
frame to the new chord, so that no joint of the pose must be turned by itself. Points are relative
to the root and scaled by a power of two, which is exact, so that the length of the chain is between
one half and one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..algebra import arrays, turns
from ..algebra.arithmetic import ARRAYS, FLOATS, Arithmetic, Array, Condition, Flags, Number
from ..algebra.arrays import norm, reject
from ..algebra.chains_first import chains_first
from ..algebra.nested import Rows
from ..algebra.vectors import MIN_LENGTH, smoothstep
from ..model.joints import JointKind, Joints, free_joints
from . import bend_plane, reach
from .bend_plane import Base
from .compiled_joints import CompiledJoints
from .joint_limits import BENDING_AXES, HINGES

# Lengths that differ by less than this share of the chain's length count as equal: bones are stored
# in float32, which makes equal ones differ by some 1e-7. Only NEWTON's start pose depends on it.
MAX_EVEN_DIFFERENCE = 1e-6
# Share of the reach: a tip that is nearer to the axis of its base is on it, up to float32 storage.
# Ten times larger, arms that hang down a little off their axis would not turn to their targets.
MAX_ON_AXIS = 1e-5
# A bend direction counts if this share of it is in that plane. With less, limbs that are straight
# at rest and bend across their bend direction leave their poles by 50 degrees near full reach.
MIN_SHARE_IN_PLANE = 0.9


@dataclass(frozen=True)
class StartPose(Rows):
    """The start pose of one chain of n segments, or of B chains.

    Numbers are floats for one chain and arrays (B,) for many. Vectors are tuples of three floats,
    or arrays (3, B). Other arrays have B as their last axis, or no such axis. The root and the
    ``unit`` are in armature space, everything else is in units. Points (n + 1, 3, ...) are relative
    to the root. Directions (n, 3, ...) are those of the segments in the frame of the chord, the
    side of the bend and their product. The chain cannot fold below ``least``. ``distance`` is that
    from root to effector, the bulge that of the inner joints' mean from the chord. ``closing`` is
    the turn at every joint beyond which an even bend opens again; it brings the effector as near as
    ``nearest``.
    """

    root: Any
    unit: Number
    points: Array
    lengths: Array
    reach: Number
    least: Number
    chord: Any
    side: Any
    directions: Array
    distance: Number
    bulge: Number
    closing: Number
    nearest: Number

    @property
    def m(self) -> Arithmetic:
        """The arithmetic of the numbers."""
        return FLOATS if self.lengths.ndim == 1 else ARRAYS

    @cached_property
    def origin(self) -> Array:
        """The root as an array, shape (3, ...)."""
        return np.array(self.root)

    @cached_property
    def newton_terms(self) -> tuple[Any, ...]:
        """Lengths, their squares and the sum of these, the reach, and ones, (n, ...)."""
        squares = self.lengths * self.lengths
        total = self._number(squares.sum(axis=0))
        return self.lengths, squares, total, self.reach, np.ones_like(self.lengths)

    @cached_property
    def is_uneven(self) -> Condition:
        """Whether lengths differ by more than float32 makes them differ."""
        return self._number(np.ptp(self.lengths, axis=0) > MAX_EVEN_DIFFERENCE * self.reach)

    @cached_property
    def pair(self) -> tuple[Number, Number]:
        """The lengths of the first and the last segment."""
        return self._number(self.lengths[0]), self._number(self.lengths[-1])

    @cached_property
    def longest(self) -> Number:
        """The greatest length."""
        return self._number(self.lengths.max(axis=0))

    @cached_property
    def is_longest(self) -> Flags:
        """Whether each segment is the first one of the greatest length, shape (n, ...)."""
        index = np.arange(len(self.lengths)).reshape(-1, *self.lengths.shape[1:] and (1,))
        flags: Flags = index == np.argmax(self.lengths, axis=0)
        return flags

    @cached_property
    def ruled_by_longest(self) -> Number:
        """The degree, 0 to 1, to which the longest segment determines the pose of the others."""
        rest = self.m.maximum(self.reach - self.longest, 1e-300)
        return smoothstep(self.m, self.longest / rest, 0.5, 1.0)

    @cached_property
    def after(self) -> Array:
        """Lengths times the share of inner joints beyond: weights in their mean, (n, ...)."""
        count = len(self.lengths)
        inner = np.maximum(count - 1.0 - np.arange(count), 0.0) / max(count - 1, 1)
        weighted: Array = (inner * self.lengths.T).T
        return weighted

    @cached_property
    def off_chord(self) -> Number:
        """The mean distance of the inner joints from the chord: the bulge of bends to one side."""
        ways = np.cumsum(self.directions[:-1, 1:] * self.lengths[:-1, None], axis=0)
        return self._number(np.hypot(ways[:, 0], ways[:, 1]).sum(axis=0) / max(len(ways), 1))

    @cached_property
    def turns(self) -> Array:
        """The result of ``count_turns``."""
        return count_turns(self.lengths)

    def alone(self, row: int) -> StartPose:
        """Return one of many chains in floats."""
        values: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)[..., row]
            is_array = field.name in ("points", "lengths", "directions")
            values[field.name] = np.ascontiguousarray(value) if is_array else value.tolist()
        for name in ("root", "chord", "side"):
            values[name] = tuple(values[name])
        return StartPose(**values)

    def _number(self, value: Any) -> Any:
        return value.item() if self.lengths.ndim == 1 else value


def compile_start_poses(joints: Array, hint: Array) -> StartPose:
    """Return compiled start poses of joints (n + 1, 3, B), armature space.

    Straight chains bend to the hint (3, B), zero for none.
    """
    root = joints[0]
    _, exponent = np.frexp(norm(np.diff(joints, axis=0)).sum(axis=0))
    unit = np.ldexp(1.0, exponent)
    return describe_start(root, unit, (joints - root) / unit, hint)


def describe_start(root: Array, unit: Array, points: Array, hint: Array) -> StartPose:
    """Return start poses with joints (n + 1, 3, B) in units (B,) from roots (3, B)."""
    lengths = norm(np.diff(points, axis=0))
    most, least = reach.measure_reach(lengths)
    inner = points[1:-1].mean(axis=0) if len(points) > 2 else np.zeros_like(root)
    sides = bend_plane.find_bend(ARRAYS, points[1], points[-1], inner, most, hint)
    chord, side, bulge = np.array(sides[0]), np.array(sides[1]), sides[2]
    closing, nearest = _find_closing_turn(lengths, most)
    frame = np.stack((chord, side, np.cross(chord, side, axis=0)))
    segments = np.diff(points, axis=0) / lengths[:, None, :]
    return StartPose(
        root=root,
        unit=unit,
        points=points,
        lengths=lengths,
        reach=most,
        least=least,
        chord=chord,
        side=side,
        directions=np.einsum("kib,nib->nkb", frame, segments),
        distance=norm(points[-1]),
        bulge=bulge,
        closing=closing,
        nearest=nearest,
    )


def count_turns(lengths: Array) -> Array:
    """Return the numbers of joint turns from an even bend's middle to its segments, (n, any)."""
    count = len(lengths)
    turns: Array = 0.5 * (count - 1) - np.arange(count, dtype=np.float64)
    return turns if lengths.ndim == 1 else turns[:, None]


def _find_closing_turn(lengths: Array, most: Array) -> tuple[Array, Array]:
    """Return the turn at every joint that brings the effector nearest to the root, and how near.

    A full turn, divided among the segments, closes chains of equal segments; others may not close.
    """
    high, steps = np.full_like(most, 2.0 * np.pi / len(lengths)), 1j * count_turns(lengths)
    # Half a turn folds two segments, whatever their lengths.
    is_uneven = (np.ptp(lengths, axis=0) > MAX_EVEN_DIFFERENCE * most) & (len(lengths) > 2)
    low = np.where(is_uneven, 0.0, high)
    for _ in range(30 if (low < high).any() else 0):
        middle = 0.5 * (low + high)
        segments = lengths * np.exp(steps * middle)
        chord, rate = segments.sum(axis=0), (steps * segments).sum(axis=0)
        is_closing = (np.conj(chord) * rate).real < 0.0
        low, high = np.where(is_closing, middle, low), np.where(is_closing, high, middle)
    return low, np.abs((lengths * np.exp(steps * low)).sum(axis=0))


def align_free_joints(start: StartPose) -> Joints:
    """Return free joints of bones that lie along the segments of start poses.

    The bones' Y axes point along the segments. X axes point to the side of the bend and are carried
    from bone to bone the short way. All joints are at zero.

    Args:
        start: Start poses of B chains.
    """
    directions = np.diff(start.points, axis=0) / start.lengths[:, None, :]
    across, previous, frames = arrays.cross(start.side, start.chord), start.chord, []
    frame = np.stack((start.side, start.chord, across), axis=1)
    for direction in directions:
        swing = turns.between(previous, direction, frame[:, 0])
        frame, previous = arrays.compose(turns.to_matrices(swing), frame), direction
        frames.append(frame)
    offsets = np.array(frames)
    offsets[1:] = np.einsum("njib,njkb->nikb", offsets[:-1], offsets[1:])
    joints = make_free_joints(start.points.shape[-1], len(directions))
    return replace(joints, offsets=chains_first(offsets))


def make_free_joints(chains: int, bones: int) -> Joints:
    """Return free joints whose offsets and start rotations are the identity."""
    start = np.zeros((chains, bones, 4))
    start[..., 0] = 1.0
    return free_joints(np.broadcast_to(np.eye(3), (chains, bones, 3, 3)), start)


def find_carried_side(
    kind: JointKind, axes: Array, frames: Array, hint: Array, side: Array
) -> Array:
    """Return unit directions (3, B) in which limbs bend, in the axes of the first bones.

    They are zero if the second bone does not bend in one plane that the first bone carries, and
    where that plane leads elsewhere.

    Args:
        kind: The joint of the second bone.
        axes: Axes of the first bones, shape (3, 3, B).
        frames: Axes of the second bones before their turns, shape (3, 3, B).
        hint: Bend directions, which are those of the rest pose, or zero, shape (3, B).
        side: Directions to which the limbs bend, where there are no hints, shape (3, B).
    """
    if kind not in BENDING_AXES:
        return np.zeros_like(side)
    side, axis = np.where(norm(hint) > MIN_LENGTH, hint, side), frames[:, BENDING_AXES[kind]]
    side = side / norm(side)
    is_in_plane = norm(reject(side, axis / norm(axis))) >= MIN_SHARE_IN_PLANE
    carried: Array = np.einsum("ijb,jb->ib", arrays.invert(axes), side * is_in_plane)
    return carried


def faces_by_bone(bone_count: int, *, keeps_start: bool) -> bool:
    """Return whether a nearly straight limb that is not flipped faces its pole with its first bone.

    A limb of three or more bones bulges elsewhere too: if each solve starts from the last, it would
    turn on and on. Where a limb is flipped, its first bone carries the opposite side.
    """
    return bone_count == 2 or not keeps_start


def count_base_bones(kinds: Sequence[JointKind]) -> int:
    """Return how many bones of an arm of hinges come before the first that bends.

    At most one of these slews, and the others are fixed. The count is 0 where fewer than two bones
    bend, because no plane leads them to their targets, and where bones beyond twist: the start lies
    in one plane, and rounding would choose their way. Joints of other kinds turn to any side.
    """
    bends = [kind in BENDING_AXES for kind in kinds]
    if sum(bends) < 2 or not all(kind in HINGES or kind is JointKind.FIXED for kind in kinds):
        return 0
    count = bends.index(True)
    twists = [kind is JointKind.HINGE_Y for kind in kinds]
    return 0 if any(twists[count:]) or sum(twists) > 1 else count


def compile_base(
    joints: CompiledJoints, turn: Array, axes: Array, points: Array, count: int
) -> Base | None:
    """Return the base of the first bones of runs; None without any.

    Args:
        joints: The joints of the runs.
        turn: The turns of these joints, shape (n, 4, B).
        axes: Matrices from the joints' rotation vectors to the space of the points, shape
            (n, 3, 3, B).
        points: Points relative to the root, shape (n + 1, 3, B).
        count: Count of bones in the base.
    """
    if not count:
        return None
    kinds = joints.kinds[:count]
    bone = kinds.index(JointKind.HINGE_Y) if JointKind.HINGE_Y in kinds else 0
    pivot, tip, axis = points[bone], points[-1], axes[bone, :, 1] / norm(axes[bone, :, 1])
    angle = 2.0 * np.arctan2(turn[bone, 2], turn[bone, 0])
    # A tip on the axis has no direction from it, and fixed bones no axis.
    length = norm(np.diff(points, axis=0)).sum(axis=0)
    slews = norm(reject(tip - pivot, axis)) > MAX_ON_AXIS * length
    slews &= kinds[bone] is JointKind.HINGE_Y
    low, high = (np.where(slews, ends[bone, 1], angle) for ends in (joints.low, joints.high))
    return Base(bone, points[count], tip, pivot, axis, angle, low, high)
