"""Records of things alike: arrays with one row each, taken, put back and joined as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, TypeVar

import numpy as np

from ...core.algebra.arithmetic import Indices
from ...core.algebra.nested import are_all
from ...core.model.options import SolveOptions
from ...core.model.records import Record as CoreRecord

Rows = Indices | slice
Record = TypeVar("Record")

# What takes some of its rows itself.
OF_CORE: Any = (CoreRecord, SolveOptions)


class Alike:
    """A record of B things alike, such as chains: its arrays have one row each.

    Fields may be such records, and tuples of them. What else they are holds for all rows.
    """

    def take(self, rows: Rows) -> Self:
        """Return some of them; this record itself where these are all of them."""
        if isinstance(rows, slice):
            return self if rows == slice(None) else take_rows(self, rows)
        return self if are_all(rows, self._count) else take_rows(self, rows)

    def put(self, rows: Indices, others: Self) -> Self:
        """Return these with others in some rows."""
        return put_rows(self, rows, others)

    @property
    def _count(self) -> int:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                return len(value)
            if isinstance(value, Alike):
                return value._count
        return 0


def take_rows(record: Record, rows: Rows) -> Record:
    """Return an array, or a record or tuple of arrays, with some of its rows."""
    own: Any = record
    if isinstance(own, np.ndarray):
        own = own[rows]
    elif isinstance(own, OF_CORE):
        own = own.take(rows)
    elif isinstance(own, tuple):
        own = getattr(own, "_make", tuple)([take_rows(each, rows) for each in own])
    elif isinstance(own, Alike):
        own = object.__new__(type(own))
        for name in own.__dataclass_fields__:
            value = getattr(record, name)
            is_array = isinstance(value, np.ndarray)
            own.__dict__[name] = value[rows] if is_array else take_rows(value, rows)
    taken: Record = own
    return taken


def put_rows(record: Record, rows: Indices, part: Any) -> Record:
    """Return an array, or a record of arrays, with others in some rows; what is no array stays."""
    own: Any = record
    if isinstance(own, np.ndarray) and part is not None:
        own = own.copy()
        own[rows] = part
    elif isinstance(own, Alike | CoreRecord):
        own = object.__new__(type(own))
        for name in own.__dataclass_fields__:
            own.__dict__[name] = put_rows(getattr(record, name), rows, getattr(part, name))
    put: Record = own
    return put


def joined(parts: Sequence[Record]) -> Record:
    """Return records of arrays, such as rest frames, one after the other."""
    if len(parts) == 1:
        return parts[0]
    kind: Any = type(parts[0])
    every: list[Any] = [part.__dict__ for part in parts]
    names = kind.__dataclass_fields__
    record: Record = kind(*[np.concatenate([own[name] for own in every]) for name in names])
    return record


def stacked(records: Sequence[Record | None]) -> Record | None:
    """Return records, one of each thing, as one of all of them; tuples of names are left out."""
    present: list[Any] = [record for record in records if record is not None]
    if not present:
        return None
    columns = {name: [getattr(each, name) for each in present] for name in vars(present[0])}
    arrays = {name: each for name, each in columns.items() if not isinstance(each[0], tuple)}
    found: Record = type(present[0])(**{name: np.array(each) for name, each in arrays.items()})
    return found
