"""Posed chains and trees, and how to take some of them."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar

import numpy as np

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Indices
from ...core.algebra.nested import are_all
from ..planning.hanging import Hanging
from ..reading import spaces

Rows = Indices | slice
Record = TypeVar("Record")

# What float32 matrices of parents leave of lengths, as a share of the chain.
LENGTHS_AGREE = 1e-6


def take_rows(record: Record, rows: Rows, count: int | None = None) -> Record:
    """Return an array, or a record of arrays, with some of its rows; what is not there stays so.

    Of so many, if that is known: all of them are the record itself.
    """
    own: Any = record
    if count is not None and not isinstance(rows, slice) and are_all(rows, count):
        return record
    if isinstance(own, np.ndarray):
        own = own[rows]
    elif isinstance(own, Hanging):
        return record
    elif isinstance(own, tuple):
        own = type(own)([take_rows(each, rows) for each in own])
    elif isinstance(own, spaces.RestFrames):
        own = own.take(rows)
    elif is_dataclass(own) and not isinstance(own, type):
        values = {field.name: take_rows(getattr(own, field.name), rows) for field in fields(own)}
        own = replace(own, **values)
    taken: Record = own
    return taken


@dataclass(frozen=True)
class ChainPoses:
    """Posed chains or trees.

    Attributes:
        rotations: Local rotation matrices, shape (B, k, 3, 3).
        frames: In which they act, shape (B, k, 3, 3).
        matrices: Pose matrices, armature space, shape (B, k, 3, 3).
        joints: Heads of the bones that are solved together, and effectors, armature space,
            shape (B, n + E, 3).
        scale: Scale channels, shape (B, k, 3).
        slides: How far bones have slid, shape (B, k); None where none is to.
    """

    rotations: Array
    frames: Array
    matrices: Array
    joints: Array
    scale: Array
    slides: Array | None = None

    def take(self, rows: Rows) -> ChainPoses:
        """Return the poses of some of the chains."""
        return take_rows(self, rows, len(self.joints))

    def put(self, rows: Rows, others: ChainPoses) -> ChainPoses:
        """Return these poses with others in some rows."""
        values = []
        for field in fields(self):
            own, other = getattr(self, field.name), getattr(others, field.name)
            if own is not None:
                own = own.copy()
                own[rows] = other
            values.append(own)
        return ChainPoses(*values)


def turned_part_way(start: Array, end: Array, share: float | Array) -> Array:
    """Return rotation matrices (..., 3, 3) as ``rotation.interpolate`` does quaternions."""
    if isinstance(share, float) and share == 1.0:
        return end
    one, other = rotation.quaternion_from_matrix(start), rotation.quaternion_from_matrix(end)
    return rotation.matrix_from_quaternion(rotation.interpolate(one, other, share))


def angles_between(one: Array, other: Array) -> Array:
    """Return the angles between rotations wxyz (..., 4), radians."""
    left = rotation.multiply(rotation.conjugate(one), other)
    return 2.0 * np.arctan2(np.linalg.norm(left[..., 1:], axis=-1), np.abs(left[..., 0]))
