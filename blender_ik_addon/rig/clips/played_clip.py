"""A clip as arrays: where bones and objects are at each frame, and what their channels hold."""

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
    """What has been read at F frames.

    Attributes:
        frames: Which ones.
        poses: Of the armature object.
    """

    def __init__(self, armature_object: bpy.types.Object, anchors: Iterable[Anchor]) -> None:
        """Take what is to be read.

        Args:
            armature_object: The original object.
            anchors: Objects and bones whose places and channels count.
        """
        self.frames: list[int] = []
        self.poses: list[Pose] = []
        self._object = armature_object
        self._anchors = list(dict.fromkeys(anchors))
        self._places: list[Array] = []
        self._bases: list[Array] = []

    def read(self, frame: int) -> None:
        """Note what stands there now.

        Raises:
            RigError: If something has no finite place.
        """
        self.frames.append(frame)
        self.poses.append(read_pose(self._object))
        moved = [channels_of(each) for each in self._anchors]
        shown = [
            each.matrix if isinstance(each, bpy.types.PoseBone) else each.matrix_world
            for each in moved
        ]
        places = np.array([array_of(each) for each in shown])
        self._places.append(places)
        self._bases.append(np.array([array_of(each.matrix_basis) for each in moved]))
        if not np.isfinite(places).all():
            row = int(np.flatnonzero(~np.isfinite(places).all(axis=(1, 2)))[0])
            raise RigError(
                f"The transform of '{label(self._anchors[row])}' is not finite at frame {frame}:"
                " check its keys, drivers and constraints."
            )

    def place(self, anchor: Anchor) -> Array:
        """Return where an object is in the world, or a bone in its armature, shape (F, 4, 4)."""
        row = self._anchors.index(anchor)
        return np.array([places[row] for places in self._places])

    def basis(self, anchor: Anchor) -> Array:
        """Return the matrices that its channels make, shape (F, 4, 4)."""
        row = self._anchors.index(anchor)
        return np.array([bases[row] for bases in self._bases])

    def world(self, anchor: Anchor) -> Array:
        """Return what takes a bone's place to the world; of an object nothing, shape (F, 4, 4)."""
        if not anchor.bone:
            return np.tile(np.eye(4), (len(self.frames), 1, 1))
        return self.place(Anchor(anchor.object))
