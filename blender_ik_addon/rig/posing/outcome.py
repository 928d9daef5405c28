"""What one solve did to a chain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ...core import Status
from .reasons import Reasons


@dataclass(frozen=True)
class Outcome:
    """What one solve did.

    Attributes:
        channels: Rotation channels of the plan's written bones, shape (k, 4).
        status: How the solve ended.
        residual: From effector to target on the pose that the channels give, in scene units.
        iterations: Sweeps used.
        has_locks: Whether locked rotation channels kept bones from following.
        held_by: Bones and axes whose limits keep the effector from the target, such as "Knee X".
        tip_gap: Radians that are left to the wanted orientation of the tip.
        why: What the chain was asked, and how its joints stand.
        others: Further channels by property name, shape (k, size); of chains that are dragged the
            location of the root alone.
        lacks_stretch: Whether the chain is to stretch and none of its bones may.
        connected: Bones that are to slide and cannot, as they are connected to their parents.
        location_locked: Bones that are to slide and whose location is locked.
        is_eased: Whether the chain eases toward its target in time.
        tree: Indices of the other chains of the object that it is one tree with.
        outweighed_by: Names of those that keep the effector from the target.
    """

    channels: npt.NDArray[np.float64]
    status: Status
    residual: float
    iterations: int
    has_locks: bool
    held_by: tuple[str, ...] = ()
    tip_gap: float = 0.0
    why: Reasons = field(default_factory=Reasons)
    others: Mapping[str, npt.NDArray[np.float64]] = field(default_factory=dict)
    lacks_stretch: bool = False
    connected: tuple[str, ...] = ()
    location_locked: tuple[str, ...] = ()
    is_eased: bool = False
    tree: tuple[int, ...] = ()
    outweighed_by: tuple[str, ...] = ()
