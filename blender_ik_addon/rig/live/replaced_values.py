"""Values of armature objects that renders and exports replace, and that are given back."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field

import bpy
import numpy as np

from ..reading.animation import animated_paths
from ..reading.update import Update
from .animated_values import RigValues


@dataclass
class _Replaced:
    """Values of an armature object.

    Attributes:
        object: The original object.
        scene_uid: Session uid of the scene of the render or export.
        before: The values that were replaced.
        after: The values that the last update of the graph has left.
    """

    object: bpy.types.Object
    scene_uid: int
    before: RigValues
    after: RigValues

    def give_back(self) -> None:
        """Write the former values to the object, and tag it; keep what was changed since.

        Raises:
            ReferenceError: If the object was removed.
        """
        before, after = self.before, self.after
        present = RigValues.read(self.object, before.properties)
        # After edit mode the bones may be others.
        if present.channels["scale"].size != before.channels["scale"].size:
            return
        channels = {
            name: np.where(values == after.channels[name], before.channels[name], values)
            for name, values in present.channels.items()
        }
        # Only what differs: Blender rounds custom properties that are read by their path.
        properties = {
            key: before.properties[key]
            for key, value in present.properties.items()
            if value == after.properties.get(key) != before.properties[key]
        }
        RigValues(channels, properties).write(self.object)
        self.object.update_tag()


@dataclass
class ReplacedValues:
    """Values that updates of separate graphs have replaced, by armature object.

    Renders and exports write the values of their frames to the originals. The user's unkeyed
    changes would be lost there: no new frame of a viewport need follow.
    """

    _by_uid: dict[int, _Replaced] = field(default_factory=dict)

    def copy_animated(self, original: bpy.types.Object, update: Update) -> None:
        """Copy all animated values of a hidden graph to an object, before a chain writes to it.

        Renders, and exports to Alembic or USD, evaluate a separate dependency graph; scripts that
        set a frame evaluate the graphs of all view layers. Blender copies animated values to the
        originals only in graphs that a viewport has shown. A write to any channel of the original
        copies all of it into the hidden graph, with values of another frame: every other animated
        channel would freeze, also settings of chains.
        """
        paths, uid = animated_paths(original), original.session_uid
        if update.is_separate and uid not in self._by_uid:
            present = RigValues.read(original, paths)
            self._by_uid[uid] = _Replaced(original, update.scene.session_uid, present, present)
        RigValues.read(original.evaluated_get(update.depsgraph), paths).write(original)

    def note_after(self, uids: set[int]) -> None:
        """Note the values that an update leaves on armature objects with these session uids."""
        for replaced in filter(None, map(self._by_uid.get, uids)):
            replaced.after = RigValues.read(replaced.object, replaced.before.properties)

    def give_back(self) -> None:
        """Write the replaced values to their objects, and tag these; skip removed objects."""
        # A copy, as in ``forget``.
        for replaced in list(self._by_uid.values()):
            with suppress(ReferenceError):
                replaced.give_back()
        self.clear()

    def forget(self, scene: bpy.types.Scene) -> None:
        """Forget the values of a scene whose new frame has set them anew."""
        # A copy: a render may note values in another thread at the same time.
        for uid, replaced in list(self._by_uid.items()):
            if replaced.scene_uid == scene.session_uid:
                self._by_uid.pop(uid, None)

    def clear(self) -> None:
        """Forget all values."""
        self._by_uid.clear()
