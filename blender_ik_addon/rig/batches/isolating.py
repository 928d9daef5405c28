"""Solve chains or trees together; where one cannot be solved the others still are."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ...core import IKError
from ...core.algebra.arithmetic import Indices


def solve_again(
    rows: Indices, solve: Callable[[Indices], object], failed: Mapping[int, str]
) -> dict[int, str]:
    """Solve rows as ``solve_each`` does; return what is wrong then with all rows, by row.

    Args:
        rows: Which.
        solve: As there.
        failed: What could not be solved until now. Of the rows asked for that goes apart, so that
            the others need no second call.
    """
    if not failed:
        return solve_each(rows, solve)
    is_doubtful = np.isin(rows, list(failed))
    left = {row: text for row, text in failed.items() if row not in rows}
    return left | solve_each(rows[~is_doubtful], solve) | solve_each(rows[is_doubtful], solve)


def solve_each(rows: Indices, solve: Callable[[Indices], object]) -> dict[int, str]:
    """Solve rows in few calls; return what is wrong with those that cannot be solved, by row.

    Args:
        rows: Which.
        solve: Solves some of them in one call; raises ``IKError`` if one of them cannot be solved.
    """
    if not len(rows):
        return {}
    try:
        solve(rows)
    except IKError as error:
        if len(rows) == 1:
            return {int(rows[0]): str(error)}
        half = len(rows) // 2
        return solve_each(rows[:half], solve) | solve_each(rows[half:], solve)
    return {}
