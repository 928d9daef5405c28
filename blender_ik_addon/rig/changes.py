"""What has to be written for an armature object."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .rig_state import RigState


@dataclass(frozen=True)
class Change:
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


def joined(changes: list[Change]) -> Change:
    """Return changes of one armature object as one."""
    return Change(
        changes[0].state,
        np.concatenate([change.bones for change in changes]),
        np.concatenate([change.modes for change in changes]),
        np.concatenate([change.channels for change in changes]),
    )
