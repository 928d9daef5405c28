"""Records of arrays with one row for each chain: select, replace and join rows."""

from __future__ import annotations

from collections.abc import Sequence
from types import NoneType
from typing import Any, Self, TypeVar

import numpy as np

from ...core.algebra.arithmetic import Indices
from ...core.algebra.nested import are_all
from ...core.model.options import SolveOptions
from ...core.model.records import Record as CoreRecord
from ...core.model.records import join_records

Rows = Indices | slice
Record = TypeVar("Record")

# Classes of the core that select their rows themselves.
CORE_RECORDS: Any = (CoreRecord, SolveOptions)
# Fields of single things that many do not have.
LEFT_OUT = (tuple, NoneType)


class BatchRecord:
    """A record of B similar things, as chains: its arrays have one row for each.

    Fields may be such records, and tuples of them. Other values hold for all rows.
    """

    def take(self, rows: Rows) -> Self:
        """Return some of the rows; the record itself if these are all."""
        is_all = rows == slice(None) if isinstance(rows, slice) else are_all(rows, self._count)
        return self if is_all else self._take(rows)

    def put(self, rows: Indices, others: Self) -> Self:
        """Return the record with rows replaced by others."""
        return put_rows(self, rows, others)

    def _take(self, rows: Rows) -> Self:
        record, fields = object.__new__(type(self)), self.__dict__
        for name in self.__dataclass_fields__:
            value = fields[name]
            is_array = isinstance(value, np.ndarray)
            record.__dict__[name] = value[rows] if is_array else take_rows(value, rows)
        return record

    @property
    def _count(self) -> int:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                return len(value)
            if isinstance(value, BatchRecord):
                return value._count
        return 0


def take_rows(record: Record, rows: Rows) -> Record:
    """Return some rows of an array, or of a record or tuple of arrays."""
    result: Any = record
    if result is None:
        return record
    if isinstance(result, np.ndarray):
        result = result[rows]
    elif isinstance(result, BatchRecord):
        result = result._take(rows)
    elif isinstance(result, CORE_RECORDS):
        result = result.take(rows)
    elif isinstance(result, tuple):
        result = getattr(result, "_make", tuple)([take_rows(value, rows) for value in result])
    taken: Record = result
    return taken


def put_rows(record: Record, rows: Indices, others: Any) -> Record:
    """Return an array or a record with some rows replaced; values other than arrays stay."""
    result: Any = record
    if isinstance(result, np.ndarray) and others is not None:
        result = result.copy()
        result[rows] = others
    elif isinstance(result, BatchRecord | CoreRecord):
        fields, result = result.__dict__, object.__new__(type(result))
        for name in result.__dataclass_fields__:
            result.__dict__[name] = put_rows(fields[name], rows, others.__dict__[name])
    replaced: Record = result
    return replaced


def joined(parts: Sequence[Record]) -> Record:
    """Return records of arrays, joined row after row."""
    return parts[0] if len(parts) == 1 else join_records(parts)


def stacked(records: Sequence[Record | None]) -> Record | None:
    """Return one record of the records of single things; it has no tuples of names, nor None."""
    present: list[Any] = [record for record in records if record is not None]
    if not present:
        return None
    names = type(present[0]).__dataclass_fields__
    columns = {name: [getattr(one, name) for one in present] for name in names}
    arrays = {name: rows for name, rows in columns.items() if not isinstance(rows[0], LEFT_OUT)}
    result: Record = type(present[0])(**{name: np.array(rows) for name, rows in arrays.items()})
    return result
