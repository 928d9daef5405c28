"""A clip as arrays: the places and channels of bones and objects at each frame."""

from __future__ import annotations

from collections.abc import Iterable

import bpy
import numpy as np

from ...core.algebra.arithmetic import Array
from ..controls.control_spaces import label
from ..reading.channels import Pose, read_pose
from ..reading.refusals import RigError
from ..reading.spec import Anchor
from ..reading.world import array_of, channels_of


class PlayedClip:
    """The places, channels and poses that were read at F frames.

    Attributes:
        frames: Numbers of the frames.
        poses: Poses of the armature object, one per frame.
    """

    def __init__(self, armature_object: bpy.types.Object, anchors: Iterable[Anchor]) -> None:
        """Take the original armature object, and the objects and bones to read."""
        self.frames: list[int] = []
        self.poses: list[Pose] = []
        self._object = armature_object
        self._anchors = list(dict.fromkeys(anchors))
        self._places: list[Array] = []
        self._bases: list[Array] = []

    def read(self, frame: int) -> None:
        """Read the present frame.

        Raises:
            RigError: If an object or a bone has no finite place.
        """
        self.frames.append(frame)
        self.poses.append(read_pose(self._object))
        owners = [channels_of(owner) for owner in self._anchors]
        matrices = [
            owner.matrix if isinstance(owner, bpy.types.PoseBone) else owner.matrix_world
            for owner in owners
        ]
        places = np.array([array_of(owner) for owner in matrices])
        self._places.append(places)
        self._bases.append(np.array([array_of(owner.matrix_basis) for owner in owners]))
        if not np.isfinite(places).all():
            row = int(np.flatnonzero(~np.isfinite(places).all(axis=(1, 2)))[0])
            raise RigError(
                "The transform of '{anchors}' is not finite at frame {frame}: check its keys,"
                " drivers and constraints.",
                anchors=label(self._anchors[row]),
                frame=frame,
            )

    def place(self, anchor: Anchor) -> Array:
        """Return the matrices of an object in the world, or a bone in its armature, (F, 4, 4)."""
        row = self._anchors.index(anchor)
        return np.array([places[row] for places in self._places])

    def basis(self, anchor: Anchor) -> Array:
        """Return the matrices of an object's or a bone's channels, shape (F, 4, 4)."""
        row = self._anchors.index(anchor)
        return np.array([bases[row] for bases in self._bases])

    def world(self, anchor: Anchor) -> Array:
        """Return matrices from ``place`` to the world, identity for an object, shape (F, 4, 4)."""
        if not anchor.bone:
            return np.tile(np.eye(4), (len(self.frames), 1, 1))
        return self.place(Anchor(anchor.object))
