"""What drags start from, what they lead to, and what chains remember of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...core.algebra.arithmetic import Array, Flags, Indices
from ..reading.channels import Channels
from ..reading.rows import Alike
from .solved import Codes, Solved


class Stand(NamedTuple):
    """What a dragged chain remembers of one moment.

    Attributes:
        turns: Local rotations wxyz without influence, shape (k, 4): it goes on from these.
        location: Of the root, without influence, shape (3,).
        whole: Rotation channels without influence, shape (k, 4).
        channels: Rotation channels as they were written, shape (k, 4).
        written_location: Location channels of the root as they were written, shape (3,).
        inputs: What it depended on, to compare.
        code: How it ended, an index into ``core.STATUSES``.
        holds: Of the segments about X, Y and Z, shape (m, 3): which limits held it back.
    """

    turns: Array
    location: Array
    whole: Channels
    channels: Channels
    written_location: Channels
    inputs: bytes
    code: np.int8
    holds: Flags


@dataclass(frozen=True)
class Begun(Alike):
    """What some of B chains start from, and where they are dragged to: b of them.

    Attributes:
        rows: Which chains, shape (b,).
        targets: World positions of their targets, shape (b, 3).
        turns: Local rotations wxyz, shape (b, k, 4).
        location: Of the roots, shape (b, 3).
        near: Rotation channels to stay near, and that locked ones hold, shape (b, k, 4).
        shown: The same for what influence leaves of them, likewise.
        home: Location of the roots without the chains, shape (b, 3); read where these have
            influence in part only.
        codes: How chains have ended that have been dragged to the same already and are to stay, as
            otherwise one that cannot reach its target creeps on; -1 for others, shape (b,).
        holds: Which limits have held those back, shape (b, m, 3).
    """

    rows: Indices
    targets: Array
    turns: Array
    location: Array
    near: Array
    shown: Array
    home: Array
    codes: Codes
    holds: Flags

    @classmethod
    def anew(
        cls,
        rows: Indices,
        targets: Array,
        turns: Array,
        location: Array,
        near: Array,
        home: Array,
        segments: int,
    ) -> Begun:
        """Return what chains with so many segments start from that have not been dragged yet."""
        codes = np.full(len(rows), -1, dtype=np.int8)
        holds = np.zeros((len(rows), segments, 3), dtype=np.bool_)
        return cls(rows, targets, turns, location, near, near.copy(), home, codes, holds)


class Dragged(NamedTuple):
    """What a drag of b chains led to.

    Attributes:
        solved: What stands on the bones, with influence.
        turns: Local rotations wxyz without, shape (b, k, 4).
        location: Of the roots without, shape (b, 3).
        whole: Rotation channels without, shape (b, k, 4).
        codes: How they have ended without, indices into ``core.STATUSES``, shape (b,).
        holds: Which limits have held them back, as ``core.Solutions``, shape (b, m, 3).
    """

    solved: Solved
    turns: Array
    location: Array
    whole: Array
    codes: Codes
    holds: Flags
