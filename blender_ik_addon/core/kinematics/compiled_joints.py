"""The joints of bones as solvers take them: how they may turn, and which edges stop them.

Layout as in ``arrays``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..algebra import arrays, turns
from ..algebra.arithmetic import Array, Counts, Flags
from ..algebra.nested import Rows
from ..model.joints import JointKind, Joints
from . import joint_limits, limit_edges
from .joint_limits import FREE, HINGES
from .swing_twist import (
    RangeArrays,
    SwingTwistRange,
    TurnParts,
    put_together,
    stack_ranges,
    take_apart,
)

# What rounding leaves of products of axes at right angles.
ROUNDING = 1e-12
# Kinds that lock axes whatever way their joints are turned.
KNOWN = (*HINGES, JointKind.FIXED)


@dataclass(frozen=True)
class CompiledJoints(Rows):
    """The joints of n bones of B chains or trees.

    Attributes:
        kinds: One a bone.
        offsets: As ``Joints.offsets``, with ``zero`` in them, shape (n, 3, 3, B).
        zero: What joints count from: local rotations are turns from here, shape (n, 4, B).
        low: Shape (n, 3, B).
        high: Shape (n, 3, B).
        ranges: The same, compiled, and without room about locked axes.
        mobility: Shape (n, 3, B).
        slide_low: Shape (n, B).
        slide_high: Shape (n, B).
    """

    # The way that chains are solved stays the same, whichever are taken.
    found = ("has_edges", "has_stiffness", "is_free", "is_rigid", "held_bones", "axis_shares")
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
        rows = {name: getattr(self, name)[bones] for name in names}
        kinds = tuple(self.kinds[bone] for bone in bones)
        return CompiledJoints(kinds=kinds, ranges=self.ranges.at(bones), **rows)

    def find_middles(self) -> tuple[Array, Array]:
        """Return middles of ranges and what is to either side, radians, shape (n, 3, B) each."""
        rooms = map(joint_limits.lock_axes, self.kinds, self.low, self.high)
        low, high = (np.array(ends) for ends in zip(*rooms, strict=True))
        least, most = joint_limits.find_spans(low, high)
        return 0.5 * (least + most), 0.5 * (most - least)

    @cached_property
    def resting_slide(self) -> Array:
        """The slides of start poses, brought to what the joints allow, shape (n, B)."""
        return np.clip(np.zeros_like(self.slide_low), self.slide_low, self.slide_high)

    @cached_property
    def slides(self) -> Flags:
        """Which chains have bones that slide, shape (B,)."""
        slides: Flags = (self.slide_high > self.slide_low).any(axis=0)
        return slides

    @cached_property
    def is_unlimited(self) -> Flags:
        """Which chains have joints that turn freely, all of them, shape (B,)."""
        is_free = ~(np.isfinite(self.low) | np.isfinite(self.high)).any(axis=(0, 1))
        unlimited: Flags = is_free & all(kind is JointKind.BALL for kind in self.kinds)
        return unlimited

    @cached_property
    def is_free(self) -> bool:
        """Whether all joints turn as they like, none less readily than another."""
        return bool(self.is_unlimited.all()) and not self.has_stiffness

    @cached_property
    def is_rigid(self) -> bool:
        """Whether all offsets are rotations, to rounding."""
        products = np.einsum("nkib,nkjb->nijb", self.offsets, self.offsets)
        is_even = np.abs(products - np.eye(3)[..., None]).max() <= ROUNDING
        first, second, third = (self.offsets[:, :, axis] for axis in range(3))
        return bool(is_even and (arrays.dot(arrays.cross(first, second), third) > 0.0).all())

    @cached_property
    def has_edges(self) -> bool:
        """Whether any joint has an end to its range, or a lock that its kind does not tell."""
        has_ends = bool((self.ranges.has_ends & ~self.is_held).any())
        return has_ends or self.held_bones.size > 0

    @cached_property
    def no_edges(self) -> limit_edges.Edges:
        """What joints without edges stand on: nothing."""
        shape = self.low.shape
        off = np.zeros(shape, dtype=np.bool_)
        return limit_edges.Edges(np.zeros((*shape[:2], 3, shape[2])), off)

    @cached_property
    def is_held(self) -> Flags:
        """Which axes have no room, shape (n, 3, B)."""
        return self.ranges.is_held

    @cached_property
    def has_stiffness(self) -> bool:
        """Whether any bone turns less readily than others."""
        return bool((self.mobility < 1.0).any())

    @cached_property
    def readiness(self) -> Array:
        """Mobilities compared with the greatest of each chain, shape (n, 3, B)."""
        relative: Array = self.mobility / self.mobility.max(axis=(0, 1))
        return relative

    def inner(self, local_wxyz: Array) -> Array:
        """Return local rotations (B, n, 4) as turns (n, 4, B)."""
        return turns.multiply(turns.conjugate(self.zero), np.moveaxis(local_wxyz, 0, -1))

    def outer(self, turn: Array) -> Array:
        """Return turns (n, 4, B) as local rotations (B, n, 4)."""
        return np.ascontiguousarray(np.moveaxis(turns.multiply(self.zero, turn), -1, 0))

    def begun(self, turn: Array) -> Array:
        """Return turns (n, 4, B) of any sort brought to what the joints allow."""
        rows = (np.moveaxis(each, -1, 0) for each in (turn, self.low, self.high))
        begun = joint_limits.clamp_rotations(self.kinds, *rows)
        return np.ascontiguousarray(np.moveaxis(begun, 0, -1))

    def clamped(self, turn: Array) -> Array:
        """Return turns (n, 4, B) brought inside their ranges."""
        return turn if self.is_free else put_together(self.take_apart(turn), 1)

    @cached_property
    def range_arrays(self) -> RangeArrays:
        """The ranges, as many turns are taken apart by them."""
        return stack_ranges(self.ranges)

    def take_apart(self, turn: Array) -> TurnParts:
        """Return turns (n, 4, B) brought inside their ranges, taken apart."""
        return take_apart(self.range_arrays, turn.swapaxes(0, 1))

    @cached_property
    def axis_shares(self) -> Array:
        """1 for the axes about which joints turn, as far as their kinds tell, shape (n, 3, 1)."""
        known = [FREE[kind] if kind in KNOWN else (True, True, True) for kind in self.kinds]
        return np.array(known, dtype=np.float64)[..., None]

    @property
    def free_axes(self) -> Counts:
        """Those axes, of three a bone."""
        return np.flatnonzero(self.axis_shares)

    @cached_property
    def held_bones(self) -> Counts:
        """The bones whose locks their kinds do not tell, all locked ones if some are stiff."""
        is_known = np.array([kind in KNOWN for kind in self.kinds])
        is_held = self.is_held.any(axis=(1, 2))
        return np.flatnonzero(is_held & (self.has_stiffness | ~is_known))

    def turned_by(self, turn: Array, edges: limit_edges.Edges | None) -> Callable[[Array], Array]:
        """Return a function of how joints turn under torques (n, any, 3, B), but for their limits.

        Args:
            turn: Shape (n, 4, B).
            edges: As ``standing_edges`` has them.
        """
        if self.has_stiffness or self.held_bones.size:
            mobility = self.mobilities(turn, self.no_edges if edges is None else edges)
            return lambda torques: np.einsum("nkab,nacb->nkcb", torques, mobility)
        if self.axis_shares.all():
            return lambda torques: torques
        return lambda torques: torques * self.axis_shares[:, None]

    def mobilities(self, turn: Array, edges: limit_edges.Edges) -> Array:
        """Return how torques turn the joints but for their limits, shape (n, 3, 3, B)."""
        if self.has_stiffness:
            mobility = limit_edges.weigh_axes(turn, self.mobility)
        else:
            axes = self.axis_shares[..., None] * np.eye(3)[..., None]
            mobility = np.broadcast_to(axes, (len(turn), 3, 3, turn.shape[-1]))
        bones = self.held_bones
        if bones.size:
            mobility = np.array(mobility)
            for edge in range(3):
                mobility[bones] = limit_edges.block_normals(
                    mobility[bones], edges.normals[bones, edge], self.is_held[bones, edge]
                )
        return mobility

    def standing_edges(self, parts: TurnParts) -> limit_edges.Edges | None:
        """Return the edges that joints stand on, locks left out; None where none does.

        ``parts`` are the turns (n, 4, B) taken apart.
        """
        edges = limit_edges.find_edges(self.range_arrays, parts)
        edges = replace(edges, is_on=edges.is_on & ~self.is_held)
        return edges if self.held_bones.size or edges.is_on.any() else None


def compile_joints(joints: Joints, unit: Array) -> CompiledJoints:
    """Return what the joints of bones allow, in units (B,)."""
    low, high = put_rows_last(joints.low), put_rows_last(joints.high)
    offsets = put_rows_last(joints.offsets)
    # What floats never turns: to solvers it is a joint like any other.
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
    rooms = [joint_limits.lock_axes(*each) for each in zip(kinds, low, high, strict=True)]
    return CompiledJoints(
        kinds=kinds,
        offsets=offsets,
        zero=zero,
        low=low,
        high=high,
        ranges=joint_limits.compile_ranges(*(np.array(ends) for ends in zip(*rooms, strict=True))),
        mobility=put_rows_last(joints.mobility),
        slide_low=put_rows_last(joints.slide_low) / unit,
        slide_high=put_rows_last(joints.slide_high) / unit,
    )


def put_rows_last(rows: Array) -> Array:
    """Return what has one row a chain in the layout of the solvers."""
    return np.array(np.moveaxis(rows, 0, -1), order="C")
