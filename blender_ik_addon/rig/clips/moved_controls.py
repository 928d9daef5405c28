"""The channels that bring controls to where they belong in each frame of a clip."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import bpy
import numpy as np

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array
from ..controls.control_spaces import acting
from ..keying.keys import ChannelKeys
from ..reading.anchors import space_of
from ..reading.channels import (
    CHANNEL_SIZES,
    MODE_NUMBERS,
    QUATERNION,
    channels_of,
    property_of_mode,
)
from ..reading.spec import Anchor
from ..reading.world import channels_of as holder_of
from .played_clip import PlayedClip

Moves = Mapping[Anchor, Array]
"""How objects and bones move from where the clip has them, world space, (F, 4, 4) each."""


def carriers_of(anchor: Anchor) -> Iterator[Anchor]:
    """Yield what an object or a bone goes along with: parents, or the space that acts."""
    carrier: Anchor | None = anchor
    while carrier is not None:
        parent = holder_of(carrier).parent
        if isinstance(parent, bpy.types.PoseBone):
            carrier = Anchor(carrier.object, parent.name)
        elif parent is not None:
            on_bone = carrier.object.parent_type == "BONE"
            carrier = Anchor(parent, carrier.object.parent_bone if on_bone else "")
        else:
            space = acting(carrier)
            carrier = None if space is None else space_of(space)
        if carrier is not None:
            yield carrier


def carried_by(anchor: Anchor, moves: Moves) -> Array | None:
    """Return how something is moved by what it goes along with; None if that stays."""
    return next((moves[each] for each in carriers_of(anchor) if each in moves), None)


def keys_of(
    clip: PlayedClip,
    anchor: Anchor,
    place: Array,
    carrying: Array | None,
    *,
    with_turns: bool = True,
) -> list[ChannelKeys]:
    """Return the keys that bring an object or a bone to places; its scale stays.

    What lies between its channels and its place is read from the clip, so that any parents and
    spaces will do.

    Args:
        clip: As it was played.
        anchor: The object or bone.
        place: World matrices, shape (F, 4, 4).
        carrying: How what it goes along with moves, world space, shape (F, 4, 4); None if it stays.
        with_turns: Whether to turn it as well.
    """
    moved, world = holder_of(anchor), clip.world(anchor)
    basis = clip.basis(anchor)
    above = world @ clip.place(anchor) @ np.linalg.inv(basis)
    if carrying is not None:
        above = carrying @ above
    found = np.linalg.inv(above) @ place
    frames = np.array(clip.frames, dtype=np.float64)
    keys = [
        ChannelKeys(anchor.bone, "location", axis, frames, found[:, axis, 3]) for axis in range(3)
    ]
    if with_turns:
        mode = MODE_NUMBERS[moved.rotation_mode]
        prop, values = property_of_mode(mode), _turns(found, mode)
        keys += [
            ChannelKeys(anchor.bone, prop, row, frames, values[:, row])
            for row in range(CHANNEL_SIZES[prop])
        ]
    return keys


def _turns(matrices: Array, mode: int) -> Array:
    """Return rotation channels (F, 4) of a mode, each the nearest to those before it."""
    turns, before = rotation.orientation(matrices[:, :3, :3]), np.zeros((1, 4))
    if mode == QUATERNION:
        return rotation.without_flips(rotation.quaternion_from_matrix(turns))
    found = np.empty((len(turns), 4))
    for row, turn in enumerate(turns):
        before = channels_of(turn[None], np.array([mode]), before)
        found[row] = before[0]
    return found
