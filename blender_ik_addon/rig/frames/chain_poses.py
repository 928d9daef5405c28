"""Posed chains and trees, and how to take some of many, and put them back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Indices
from ...core.algebra.nested import are_all
from ...core.model.options import SolveOptions
from ...core.model.records import Record as CoreRecord
from ..planning.hanging import Hanging

Rows = Indices | slice
Record = TypeVar("Record")

# What takes some of its rows itself.
OF_CORE: Any = (CoreRecord, SolveOptions)

# What float32 matrices of parents leave of lengths, as a share of the chain.
LENGTHS_AGREE = 1e-6


def take_rows(record: Record, rows: Rows, count: int | None = None) -> Record:
    """Return an array, or a record of arrays, with some of its rows; what is no array stays so.

    Of so many, if that is known: all of them are the record itself.
    """
    own: Any = record
    if count is not None and not isinstance(rows, slice) and are_all(rows, count):
        return record
    if isinstance(own, np.ndarray):
        own = own[rows]
    elif isinstance(own, OF_CORE):
        own = own.take(rows)
    elif isinstance(own, tuple):
        own = getattr(own, "_make", tuple)([take_rows(each, rows) for each in own])
    elif hasattr(own, "__dataclass_fields__") and not isinstance(own, Hanging):
        own = object.__new__(type(own))
        for name in own.__dataclass_fields__:
            own.__dict__[name] = take_rows(getattr(record, name), rows)
    taken: Record = own
    return taken


def put_rows(record: Record, rows: Indices, part: Any) -> Record:
    """Return an array, or a record of arrays, with others in some rows; what is no array stays."""
    own: Any = record
    if isinstance(own, np.ndarray) and part is not None:
        own = own.copy()
        own[rows] = part
    elif hasattr(own, "__dataclass_fields__"):
        own = object.__new__(type(own))
        for name in own.__dataclass_fields__:
            own.__dict__[name] = put_rows(getattr(record, name), rows, getattr(part, name))
    put: Record = own
    return put


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

    def put(self, rows: Indices, others: ChainPoses) -> ChainPoses:
        """Return these poses with others in some rows."""
        return put_rows(self, rows, others)


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
