"""Solve chains or trees together; if one cannot be solved, still solve the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ...core import IKError
from ...core.algebra.arithmetic import Indices
from ...core.model.message import Message


def solve_rows(
    rows: Indices, solve: Callable[[Indices], object], failed: Mapping[int, Message]
) -> dict[int, Message]:
    """Solve rows as ``solve_split``, failed ones apart; return the errors of all rows, by row.

    ``failed`` are errors of the last solves. Their rows go in a call apart, to spare others a
    second.
    """
    if not failed:
        return solve_split(rows, solve)
    has_failed = np.isin(rows, list(failed))
    others = {row: text for row, text in failed.items() if row not in rows}
    return others | solve_split(rows[~has_failed], solve) | solve_split(rows[has_failed], solve)


def solve_split(rows: Indices, solve: Callable[[Indices], object]) -> dict[int, Message]:
    """Solve rows in one call, or after an error in halves; return the errors, by row.

    ``solve`` raises an ``IKError`` if any of its rows cannot be solved.
    """
    if not len(rows):
        return {}
    try:
        solve(rows)
    except IKError as error:
        if len(rows) == 1:
            return {int(rows[0]): error.message}
        half = len(rows) // 2
        return solve_split(rows[:half], solve) | solve_split(rows[half:], solve)
    return {}
