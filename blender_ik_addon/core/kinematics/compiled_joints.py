"""The joints of bones, compiled for solvers: their ranges, locks and mobilities.

Layout as in ``arrays``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..algebra import arrays, turns
from ..algebra.arithmetic import Array, Counts, Flags
from ..algebra.chains_first import chains_first, chains_last
from ..algebra.nested import Rows, transform_leaves
from ..model.joints import JointKind, Joints
from . import joint_limits
from .joint_limits import FREE, HINGES
from .swing_twist import (
    RangeArrays,
    SwingTwistRange,
    TurnParts,
    join_swing_twist,
    split_swing_twist,
    stack_ranges,
)

# Greatest rounding error in products of perpendicular unit axes.
MAX_AXIS_ERROR = 1e-12
# Kinds that lock the same axes in every pose.
AXIS_LOCKING = (*HINGES, JointKind.FIXED)


@dataclass(frozen=True)
class CompiledJoints(Rows):
    """The joints of n bones of B chains or trees.

    Attributes:
        kinds: One per bone.
        offsets: As ``Joints.offsets``, with ``zero`` included, shape (n, 3, 3, B).
        zero: Rotations at turn zero: a local rotation is zero times turn, shape (n, 4, B).
        low: Smallest turns about X, Y and Z, shape (n, 3, B).
        high: Greatest turns, shape (n, 3, B).
        ranges: The same, compiled, with locked axes at zero.
        mobility: Shape (n, 3, B).
        slide_low: Shape (n, B).
        slide_high: Shape (n, B).
    """

    # A chain is solved in the same way whatever other chains are in the record.
    inherited = ("has_edges", "has_stiffness", "is_free", "is_rigid", "held_bones", "axis_shares")
    kinds: tuple[JointKind, ...]
    offsets: Array
    zero: Array
    low: Array
    high: Array
    ranges: SwingTwistRange
    mobility: Array
    slide_low: Array
    slide_high: Array

    def take_bones(self, bones: list[int]) -> CompiledJoints:
        """Return the joints of some of the bones."""
        names = "offsets", "zero", "low", "high", "mobility", "slide_low", "slide_high"
        fields = {name: getattr(self, name)[bones] for name in names}
        kinds = tuple(self.kinds[bone] for bone in bones)
        return CompiledJoints(kinds=kinds, ranges=self.ranges.at(bones), **fields)

    def find_middles(self) -> tuple[Array, Array]:
        """Return the middles and half widths of ranges, radians, shape (n, 3, B) each."""
        ranges = map(joint_limits.lock_axes, self.kinds, self.low, self.high)
        low, high = (np.array(ends) for ends in zip(*ranges, strict=True))
        least, most = joint_limits.find_spans(self.kinds, low, high)
        return 0.5 * (least + most), 0.5 * (most - least)

    @cached_property
    def start_slide(self) -> Array:
        """The slides of start poses, zero brought inside the ranges, shape (n, B)."""
        return np.clip(np.zeros_like(self.slide_low), self.slide_low, self.slide_high)

    @cached_property
    def has_slides(self) -> Flags:
        """Whether each chain has bones that slide, shape (B,)."""
        flags: Flags = (self.slide_high > self.slide_low).any(axis=0)
        return flags

    @cached_property
    def is_unlimited(self) -> Flags:
        """Whether all joints of each chain turn freely, shape (B,)."""
        is_free = ~(np.isfinite(self.low) | np.isfinite(self.high)).any(axis=(0, 1))
        unlimited: Flags = is_free & all(kind is JointKind.BALL for kind in self.kinds)
        return unlimited

    @cached_property
    def is_free(self) -> bool:
        """Whether all joints of all chains turn freely."""
        return bool(self.is_unlimited.all())

    @cached_property
    def is_rigid(self) -> bool:
        """Whether all offsets of all chains are rotations, up to rounding."""
        return bool(self.are_rigid.all())

    @cached_property
    def are_rigid(self) -> Flags:
        """Whether all offsets of each chain are rotations, up to rounding, shape (B,)."""
        products = np.einsum("nkib,nkjb->nijb", self.offsets, self.offsets)
        errors = np.abs(products - np.eye(3)[..., None]).max(axis=(0, 1, 2))
        x, y, z = (self.offsets[:, :, axis] for axis in range(3))
        rigid: Flags = (errors <= MAX_AXIS_ERROR) & (arrays.dot(arrays.cross(x, y), z) > 0.0).all(
            axis=0
        )
        return rigid

    @cached_property
    def has_edges(self) -> bool:
        """Whether any joint has an end to its range, or a lock beyond those of its kind."""
        has_ends = bool((self.ranges.has_ends & ~self.is_held).any())
        return has_ends or self.held_bones.size > 0

    @cached_property
    def is_held(self) -> Flags:
        """Whether each axis is locked, shape (n, 3, B)."""
        return self.ranges.is_held

    @cached_property
    def has_stiffness(self) -> bool:
        """Whether any mobility is below 1."""
        return bool((self.mobility < 1.0).any())

    @cached_property
    def relative_mobility(self) -> Array:
        """Mobilities relative to the greatest one of each chain, shape (n, 3, B)."""
        relative: Array = self.mobility / self.mobility.max(axis=(0, 1))
        return relative

    def to_turns(self, local_wxyz: Array) -> Array:
        """Return local rotations (B, n, 4) as turns (n, 4, B)."""
        return turns.multiply(turns.conjugate(self.zero), np.moveaxis(local_wxyz, 0, -1))

    def to_rotations(self, turn: Array) -> Array:
        """Return turns (n, 4, B) as local rotations (B, n, 4)."""
        return chains_first(turns.multiply(self.zero, turn))

    def clamp_by_kind(self, turn: Array) -> Array:
        """Return any turns (n, 4, B) brought to the kinds and inside the ranges of the joints."""
        rows = (np.moveaxis(array, -1, 0) for array in (turn, self.low, self.high))
        return chains_last(joint_limits.clamp_rotations(self.kinds, *rows))

    def clamped(self, turn: Array) -> Array:
        """Return turns (n, 4, B) brought inside their ranges."""
        return turn if self.is_free else join_swing_twist(self.split_swing_twist(turn), 1)

    @cached_property
    def range_arrays(self) -> RangeArrays:
        """The ranges, stacked to decompose many turns."""
        return stack_ranges(self.ranges)

    def split_swing_twist(self, turn: Array) -> TurnParts:
        """Return turns (n, 4, B) brought inside their ranges, as swing and twist."""
        return split_swing_twist(self.range_arrays, turn.swapaxes(0, 1))

    @cached_property
    def axis_shares(self) -> Array:
        """0 for axes that the kinds of joints lock in every pose, otherwise 1, shape (n, 3, 1)."""
        free = [FREE[kind] if kind in AXIS_LOCKING else (True, True, True) for kind in self.kinds]
        return np.array(free, dtype=np.float64)[..., None]

    @property
    def free_axes(self) -> Counts:
        """Indices of the axes whose share is 1, of three per bone."""
        return np.flatnonzero(self.axis_shares)

    @cached_property
    def held_bones(self) -> Counts:
        """The bones with locks beyond those of their kinds; all locked bones if some are stiff."""
        is_locked_by_kind = np.array([kind in AXIS_LOCKING for kind in self.kinds])
        is_held = self.is_held.any(axis=(1, 2))
        return np.flatnonzero(is_held & (self.has_stiffness | ~is_locked_by_kind))

    @cached_property
    def rows(self) -> JointRows:
        """The joints with the chains first."""
        return JointRows(self)


class JointRows:
    """The joints of B trees with the chains first, in the layout of ``algebra.chains_first``.

    Attributes:
        ranges: Ranges of swing and twist, shape (..., B, n).
        has_room: Whether axes are not locked, shape (B, n, 3).
        is_locked: Whether axes of ``held_bones`` are locked, likewise.
        has_locks: Whether there are such bones.
        has_edges: Whether turns must be decomposed.
    """

    def __init__(self, joints: CompiledJoints) -> None:
        self.has_edges = joints.has_edges or joints.has_stiffness
        self.ranges = stack_ranges(transform_leaves(lambda array: array.T, joints.ranges))
        is_held = np.moveaxis(joints.is_held, -1, 0)
        self.has_room, self.is_locked = ~is_held, np.zeros_like(is_held)
        self.is_locked[:, joints.held_bones] = is_held[:, joints.held_bones]
        self.has_locks = joints.held_bones.size > 0
        self._mobility = chains_first(joints.mobility) if joints.has_stiffness else None
        self._free = joints.axis_shares[None, :, :, 0, None] * np.eye(3)

    def split_swing_twist(self, turn: Array) -> TurnParts:
        """Return turns (B, n, 4) brought inside their ranges, as swing and twist."""
        return split_swing_twist(self.ranges, turn.transpose(2, 0, 1))

    def weigh_axes(self, turn: Array) -> Array:
        """Return mobility matrices of joints without edges, (B, n, 3, 3), at turns (B, n, 4)."""
        if self._mobility is None:
            return self._free
        axes = turns.to_matrices(turn[..., None])[..., 0]
        weighed: Array = (axes * self._mobility[..., None, :]) @ axes.swapaxes(-1, -2)
        return weighed


def compile_joints(joints: Joints, unit: Array) -> CompiledJoints:
    """Return the joints of bones, compiled, with lengths in units (B,)."""
    low, high = chains_last(joints.low), chains_last(joints.high)
    offsets = chains_last(joints.offsets)
    # A floating bone never turns: solvers treat it as any other joint.
    floating = {JointKind.FLOATING: JointKind.BALL}
    kinds = tuple(floating.get(kind, kind) for kind in joints.kinds)
    zero = np.zeros((len(kinds), 4, len(unit)))
    zero[:, 0] = 1.0
    for bone, kind in enumerate(kinds):
        wide = joint_limits.find_wide_middle(kind, low[bone], high[bone])
        if wide is not None:
            axis, middle = wide
            zero[bone] = joint_limits.turn_about(axis, middle)
            offsets[bone] = arrays.compose(offsets[bone], turns.to_matrices(zero[bone]))
            low[bone, axis] -= middle
            high[bone, axis] -= middle
    locked = [joint_limits.lock_axes(*args) for args in zip(kinds, low, high, strict=True)]
    return CompiledJoints(
        kinds=kinds,
        offsets=offsets,
        zero=zero,
        low=low,
        high=high,
        ranges=joint_limits.compile_ranges(*(np.array(ends) for ends in zip(*locked, strict=True))),
        mobility=chains_last(joints.mobility),
        slide_low=chains_last(joints.slide_low) / unit,
        slide_high=chains_last(joints.slide_high) / unit,
    )
