"""Chains that start from their present pose: new starts, and results that they stay in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.algebra.arithmetic import Array, Flags, Indices
from ...core.model.status import REACHED
from ..posing.base_solve import BaseSolve
from ..posing.frame_solve import FrameSolve
from ..posing.solved import Solved, SolveInputs
from ..reading.channels import Channels
from .batch_rigs import READ_NOISE, BatchRigs
from .changes import ChannelKind

# Angle in radians: a tip that is farther from its goal may turn to it from another pose. It is ten
# times the tolerance of solves.
MAX_TIP_GAP = 1e-4
# How often a chain that has not arrived is solved again from its result.
MAX_REPEATS = 16


class PresentStarts:
    """The starts of B chains or trees of which bones start from their present pose.

    Attributes:
        is_mixed: Whether only some bones do.
    """

    def __init__(
        self, solve: BaseSolve | FrameSolve, rigs: BatchRigs[Any], *, is_even: bool
    ) -> None:
        """Prepare chains or trees, by their compiled solver and their armature objects."""
        settings = solve.settings
        self._settings, self._rigs, self._solve, self._is_even = settings, rigs, solve, is_even
        self._is_current: Flags = settings.first.is_current
        self.is_mixed = not self._is_current.all()
        shape = rigs.present.shape
        # Last start channels, by kind.
        self._last: dict[str, npt.NDArray[np.floating]] = {
            "channels": np.full(shape, np.nan, dtype=np.float32)
        }
        if settings.first.slide is not None:
            self._last["location"] = np.full((*shape[:2], 3), np.nan)
        # Last solutions of chains with partial influence, which show only a share of them.
        self._whole = None if settings.is_whole else np.full(shape, np.nan)

    @property
    def noise(self) -> Array:
        """Largest difference of equal channels, by bone, shape (k, 1)."""
        return np.where(self._is_current, READ_NOISE, 0.0)[:, None]

    def find_new(self, results: Channels, others: Mapping[ChannelKind, Array]) -> Flags:
        """Return which chains are in a pose that is neither their last start nor result, (B,).

        A result does not count as a new start: chains would solve from their results for ever.

        Args:
            results: Last solved rotation channels, shape (B, k, 4); NaN where nothing is solved.
            others: Last solved other channels, by kind.
        """
        solved: dict[Any, npt.NDArray[np.floating]] = {"channels": results, **others}
        is_last_start = np.ones(len(results), dtype=np.bool_)
        is_result = is_last_start.copy()
        for name, values in self._read().items():
            is_last_start &= (values == self._last[name])[:, self._is_current].all(axis=(1, 2))
            # NaN, where nothing has been solved, is close to no value.
            is_near = np.abs(values - solved.get(name, np.nan)) <= READ_NOISE
            is_result &= is_near[:, self._is_current].all(axis=(1, 2))
        return ~is_last_start & ~is_result

    def note_starts(self, inputs: SolveInputs[Any], results: Channels) -> SolveInputs[Any]:
        """Note the starts of some chains; return their inputs with locations and last solutions."""
        rows, present = inputs.rows, self._read()
        for name, values in present.items():
            self._last[name][rows] = values[rows]
        location = present.get("location")
        return inputs._replace(
            location=None if location is None else location[rows].astype(np.float64),
            whole=self._last_solutions(rows, results),
        )

    def store(self, rows: Indices, solved: Solved) -> None:
        """Store the solutions of some chains, of which influence may show only a share."""
        if self._whole is not None:
            self._whole[rows] = solved.whole

    def _read(self) -> dict[str, npt.NDArray[np.floating]]:
        """Return the present channels that chains start from, (B, k, size), by kind."""
        present = self._rigs.present
        return {
            name: present if name == "channels" else self._rigs.gather(name).reshape(last.shape)
            for name, last in self._last.items()
        }

    def _last_solutions(self, rows: Indices, results: Channels) -> Array | None:
        """Return the last solutions (b, k, 4) of unchanged bones; NaN for other bones."""
        if self._whole is None:
            return None
        error = np.abs(self._rigs.present[rows] - results[rows])
        return np.where((error <= READ_NOISE).all(axis=2)[..., None], self._whole[rows], np.nan)

    def stay_or_solve(self, inputs: SolveInputs[Any]) -> Solved:
        """Return trees in their present pose if a solve keeps it; solve others from their starts.

        Only some bones of these trees start from the present pose. Such a start is not the result
        of a solve: from it, a tree at rest would move.
        """
        solved = self._solve.solved(inputs._replace(use_present=True))[0]
        moves = np.abs(solved.channels - inputs.present) > READ_NOISE
        moving = np.flatnonzero(moves.any(axis=(1, 2)))
        if not moving.size:
            return solved
        return solved.put(moving, self._solve.solved(inputs.take(moving))[0])

    def bring_to_rest(self, inputs: SolveInputs[Any], solved: Solved, max_repeats: int) -> Solved:
        """Solve chains that have not arrived from their results until they stay; return all.

        Otherwise they would move at the next update without a change, and after undo and loading.
        This is also true of chains that have arrived without the turn of their tip, and with uneven
        spaces or bones: from another pose, a pole gives another side. A share of a solution that
        limits clamp may never come to rest: then the first solution counts.
        """
        first, shares = solved, self._settings.shares[inputs.rows]
        rows, latest = np.arange(len(inputs.rows)), solved
        for _ in range(max_repeats):
            channels = latest.channels.astype(np.float32).astype(np.float64)
            moves = (np.abs(channels - inputs.present) > READ_NOISE)[:, self._is_current]
            is_off = (latest.status_codes != REACHED) | (latest.tip_gaps > MAX_TIP_GAP)
            may_move = is_off.any(axis=1) | (not self._is_even)
            moving = np.flatnonzero(moves.any(axis=(1, 2)) & may_move)
            if not moving.size:
                break
            location = None if latest.location is None else latest.location[moving]
            # ``use_present``: all bones start from the result, also those that start from keys.
            inputs = inputs.take(moving)._replace(
                present=channels[moving], location=location, use_present=True
            )
            rows, latest = rows[moving], self._solve.solved(inputs)[0]
            solved = solved.put(rows, latest)
        else:
            unsettled = rows[(shares[rows] < 1.0).any(axis=1)]
            solved = solved.put(unsettled, first.take(unsettled))
        return solved
