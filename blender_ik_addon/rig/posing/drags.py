"""How chains stand that are dragged: where they start, what that leads to, what they remember."""

from __future__ import annotations

from dataclasses import dataclass

from ...core.algebra.arithmetic import Array, Flags, Indices
from ..reading.rows import Alike
from .solved import Codes


@dataclass(frozen=True)
class Stand(Alike):
    """How b dragged chains stand, without influence but for what is shown.

    Channels of chains that have been dragged are float32, as Blender keeps them.

    Attributes:
        turns: Local rotations wxyz, shape (b, k, 4): they go on from these.
        location: Of the roots, shape (b, 3).
        whole: Rotation channels, to stay near and for locks to hold, shape (b, k, 4).
        shown: Rotation channels as they are written, shape (b, k, 4).
        shown_location: Location channels of the roots as they are written, shape (b, 3).
        codes: How they have ended, indices into ``core.STATUSES``, shape (b,); -1 of those that
            have not. Those that have been dragged to the same already stay: otherwise one that
            cannot reach its target would creep on.
        holds: Of the bones about X, Y and Z, shape (b, k, 3): which limits held them back.
    """

    turns: Array
    location: Array
    whole: Array
    shown: Array
    shown_location: Array
    codes: Codes
    holds: Flags


@dataclass(frozen=True)
class Drag(Alike):
    """What is asked of some of B chains: b of them.

    Attributes:
        rows: Which chains, shape (b,).
        targets: World positions of their targets, shape (b, 3).
        home: Location of the roots without the chains, shape (b, 3); read where these have
            influence in part only.
        start: How they stand.
    """

    rows: Indices
    targets: Array
    home: Array
    start: Stand
