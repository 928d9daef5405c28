"""The channels that move controls to their places in each frame of a clip."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import bpy
import numpy as np

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array
from ..controls.control_spaces import active_space
from ..keying.keys import Channel, ChannelKeys
from ..reading.anchors import space_of
from ..reading.channels import (
    CHANNEL_SIZES,
    MODE_NUMBERS,
    QUATERNION,
    channels_of_matrices,
    property_of_mode,
)
from ..reading.spec import Anchor
from ..reading.world import channels_of as holder_of
from .played_clip import PlayedClip

Moves = Mapping[Anchor, Array]
"""Moves of objects and bones from their places in the clip, world space, (F, 4, 4) each."""


def find_carriers(anchor: Anchor) -> Iterator[Anchor]:
    """Yield the objects and bones that carry an object or a bone: parents, or the acting space."""
    carrier: Anchor | None = anchor
    while carrier is not None:
        parent = holder_of(carrier).parent
        if isinstance(parent, bpy.types.PoseBone):
            carrier = Anchor(carrier.object, parent.name)
        elif parent is not None:
            on_bone = carrier.object.parent_type == "BONE"
            carrier = Anchor(parent, carrier.object.parent_bone if on_bone else "")
        else:
            space = active_space(carrier)
            carrier = None if space is None else space_of(space)
        if carrier is not None:
            yield carrier


def find_carry(anchor: Anchor, moves: Moves) -> Array | None:
    """Return the move (F, 4, 4) of an object or a bone by its carriers; None without one."""
    return next((moves[carrier] for carrier in find_carriers(anchor) if carrier in moves), None)


def make_keys(
    clip: PlayedClip,
    anchor: Anchor,
    place: Array,
    carrying: Array | None,
    *,
    with_turns: bool = True,
) -> list[ChannelKeys]:
    """Return the keys that move an object or a bone to places (F, 4, 4) in world space.

    Its scale stays. The transform between its channels and its place is read from the clip, which
    works for any parents and spaces. ``carrying`` is the move of its carriers, world space, shape
    (F, 4, 4); None if they stay. ``with_turns`` keys its rotation as well.
    """
    moved, world = holder_of(anchor), clip.world(anchor)
    basis = clip.basis(anchor)
    above = world @ clip.place(anchor) @ np.linalg.inv(basis)
    if carrying is not None:
        above = carrying @ above
    bases = np.linalg.inv(above) @ place
    frames = np.array(clip.frames, dtype=np.float64)
    values = {"location": bases[:, :3, 3]}
    if with_turns:
        mode = MODE_NUMBERS[moved.rotation_mode]
        values[property_of_mode(mode)] = _turns(bases, mode)
    return [
        ChannelKeys(Channel(anchor.bone, prop, axis), frames, columns[:, axis])
        for prop, columns in values.items()
        for axis in range(CHANNEL_SIZES[prop])
    ]


def _turns(matrices: Array, mode: int) -> Array:
    """Return rotation channels (F, 4) of a mode, each nearest to the ones before."""
    turns, last = rotation.orientation(matrices[:, :3, :3]), np.zeros((1, 4))
    if mode == QUATERNION:
        return rotation.without_flips(rotation.quaternion_from_matrix(turns))
    channels = np.empty((len(turns), 4))
    for row, turn in enumerate(turns):
        last = channels_of_matrices(turn[None], np.array([mode]), last)
        channels[row] = last[0]
    return channels
