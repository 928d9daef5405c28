"""States of dragged chains: start, result, and what they remember."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...core.algebra.arithmetic import Array, Flags
from ...core.model.status import Codes
from ..reading.batch_record import BatchRecord


@dataclass(frozen=True)
class DragState(BatchRecord):
    """State of b dragged chains at full influence, and the channels that they show.

    Channels of chains that have been dragged are float32, as Blender stores them.

    Attributes:
        turns: Local rotations wxyz from which the next drag starts, shape (b, k, 4).
        location: Location channels of the roots, shape (b, 3).
        whole: Rotation channels at full influence, to stay near to and for locks, (b, k, 4).
        shown: Rotation channels as written, shape (b, k, 4).
        shown_location: Location channels of the roots as written, shape (b, 3).
        codes: Last results, indices into ``core.STATUSES``, shape (b,); -1 for a chain without one.
            A chain with a result was dragged with the same inputs already, and stays: otherwise a
            chain that cannot reach its target would creep on.
        holds: Whether limits about X, Y and Z held each bone back, shape (b, k, 3).
        home: Location channels of the roots without chains, shape (b, 3); of a start they are read
            only for partial influence.
        inputs: Inputs of the last drags besides the state, as bytes to compare, shape (b,).
    """

    turns: Array
    location: Array
    whole: Array
    shown: Array
    shown_location: Array
    codes: Codes
    holds: Flags
    home: Array
    inputs: npt.NDArray[np.object_]
