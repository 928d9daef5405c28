"""What has to be written for an armature object."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .rig_state import RigState


class OtherChannels(NamedTuple):
    """Values of a property of pose bones that is no rotation.

    Attributes:
        bones: Indices, shape (m,).
        values: Shape (m, size).
    """

    bones: npt.NDArray[np.int64]
    values: npt.NDArray[np.float32]


NO_OTHERS: Mapping[str, OtherChannels] = MappingProxyType({})


class Change(NamedTuple):
    """Channels that differ from what stands there.

    Attributes:
        state: The armature object.
        bones: Indices, shape (m,).
        modes: Their rotation modes, shape (m,).
        channels: Rotation channels, shape (m, 4).
        others: Further channels by property name, of as many bones as there are.
    """

    state: RigState
    bones: npt.NDArray[np.int64]
    modes: npt.NDArray[np.int32]
    channels: npt.NDArray[np.float32]
    others: Mapping[str, OtherChannels] = NO_OTHERS


def joined(one: Change, other: Change) -> Change:
    """Return two changes of one armature object as one."""
    others = dict(one.others)
    for name, added in other.others.items():
        known = others.get(name)
        pair = (added,) if known is None else (known, added)
        others[name] = OtherChannels(
            np.concatenate([each.bones for each in pair]),
            np.concatenate([each.values for each in pair]),
        )
    return Change(
        one.state,
        np.concatenate((one.bones, other.bones)),
        np.concatenate((one.modes, other.modes)),
        np.concatenate((one.channels, other.channels)),
        others,
    )
