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
        channels: Shape (m, 4).
    """

    state: RigState
    bones: npt.NDArray[np.int64]
    channels: npt.NDArray[np.float32]
