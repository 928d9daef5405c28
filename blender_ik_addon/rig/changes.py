"""What has to be written for an armature object."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .rig_state import RigState


class Change(NamedTuple):
    """Rotation channels that differ from what stands there.

    Attributes:
        state: The armature object.
        bones: Indices, shape (m,).
        modes: Their rotation modes, shape (m,).
        channels: Shape (m, 4).
    """

    state: RigState
    bones: npt.NDArray[np.int64]
    modes: npt.NDArray[np.int32]
    channels: npt.NDArray[np.float32]


def joined(one: Change, other: Change) -> Change:
    """Return two changes of one armature object as one."""
    return Change(
        one.state,
        np.concatenate((one.bones, other.bones)),
        np.concatenate((one.modes, other.modes)),
        np.concatenate((one.channels, other.channels)),
    )
