"""The pose that NLA strips give an armature object, known while chains show another one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import bpy
import numpy as np

from ...core.algebra.arithmetic import Array
from ..reading.animation import NlaSettings, nla_settings, strips
from ..reading.channels import Pose, read_pose
from ..reading.skeleton import Skeleton
from ..reading.update import Update

VectorName = Literal["scale", "location"]
ChannelsName = Literal["scale", "location", "rotation"]


@dataclass
class AnimatedPose:
    """The pose that NLA strips give an armature object at one frame, in one dependency graph.

    Blender evaluates animation at new frames and after edits of keys and strips. At all other
    updates, undo included, the channels hold what chains have written. So the pose is read when
    Blender evaluates it, and stays true until then.

    Attributes:
        frame: Frame with subframe.
        pose: The pose; None if it is unknown, or if no strip plays.
        names: Names of its bones.
        nla: Settings of the NLA that gave it; None before the first ``refresh``.
    """

    frame: float = 0.0
    pose: Pose | None = None
    names: tuple[str, ...] = ()
    nla: NlaSettings | None = None

    def refresh(self, armature_object: bpy.types.Object, update: Update) -> None:
        """Read the pose of an original object if this update has evaluated its animation.

        To be called before chains write.
        """
        former, self.nla = self.nla, nla_settings(armature_object)
        has_new_settings = former is not None and former != self.nla
        has_new_keys = not self.nla.actions.isdisjoint(update.edited_actions)
        if not (update.is_new_frame or has_new_settings or has_new_keys):
            return
        self.frame, self.pose = update.frame, None
        evaluated = armature_object.evaluated_get(update.depsgraph)
        if any(strips(armature_object)) and evaluated.is_evaluated and evaluated.pose is not None:
            self.pose, self.names = read_pose(evaluated), tuple(evaluated.data.bones.keys())

    def channels(self, skeleton: Skeleton, frame: float, name: ChannelsName) -> Array | None:
        """Return channels of the n bones of a skeleton at a frame, shape (n, size).

        None if the pose is unknown; NaN for bones that are new since.
        """
        if self.pose is None or self.frame != frame:
            return None
        channels: Array = getattr(self.pose, name)
        if self.names == skeleton.names:
            return channels
        present = np.full((len(skeleton.names), channels.shape[1]), np.nan)
        pairs = [(skeleton.index.get(bone, -1), row) for row, bone in enumerate(self.names)]
        rows = np.array([pair for pair in pairs if pair[0] >= 0], dtype=np.int64).reshape(-1, 2)
        present[rows[:, 0]] = channels[rows[:, 1]]
        return present
