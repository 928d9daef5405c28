"""One update of one dependency graph, with Blender's answers read once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import bpy

from .anchors import shown_everywhere
from .world import uids_in

GraphKey = tuple[object, ...]
"""Key of a dependency graph: scene, view layer, and whether it is separate from these."""


def graph_key(depsgraph: bpy.types.Depsgraph) -> GraphKey:
    """Return the key of a dependency graph."""
    scene, view_layer = depsgraph.scene, depsgraph.view_layer
    assert scene is not None
    return (scene.session_uid, view_layer.name, is_separate(depsgraph))


def is_separate(depsgraph: bpy.types.Depsgraph) -> bool:
    """Return whether a graph is that of a render or an export, not the view layer's own.

    Blender does not copy its state to the originals.
    """
    # The mode does not tell: exports with the settings of the viewport build a graph of its mode.
    return depsgraph != depsgraph.view_layer.depsgraph


def shown_graph(scene: bpy.types.Scene, view_layer: bpy.types.ViewLayer) -> GraphKey:
    """Return the key of the graph that viewports show of a view layer."""
    return (scene.session_uid, view_layer.name, False)


@dataclass(frozen=True)
class Update:
    """One update of one dependency graph.

    Attributes:
        scene: Original scene.
        depsgraph: The graph that has just been evaluated.
        is_new_frame: Whether the evaluation was for a new frame, which resets animated channels.
        is_in_new_frame: Whether it is an update of a handler that responds to a new frame.
        copied_armatures: Session uids of armature objects with animated values on their originals.
    """

    scene: bpy.types.Scene
    depsgraph: bpy.types.Depsgraph
    is_new_frame: bool
    is_in_new_frame: bool = False
    copied_armatures: set[int] = field(default_factory=set)

    @cached_property
    def key(self) -> GraphKey:
        """The key of this graph."""
        return graph_key(self.depsgraph)

    @cached_property
    def is_separate(self) -> bool:
        """Whether it is the graph of a render or an export."""
        return is_separate(self.depsgraph)

    @cached_property
    def frame(self) -> float:
        """The frame at which curves are evaluated, with subframe; Time Stretching maps to it."""
        return self.scene.frame_current_final

    @cached_property
    def count(self) -> int:
        """The number of data-blocks that this evaluation has changed."""
        return len(self.depsgraph.updates)

    @cached_property
    def listed(self) -> frozenset[int]:
        """Session uids of the data-blocks that this evaluation has changed."""
        # Only originals know their uids.
        return frozenset([change.id.original.session_uid for change in self.depsgraph.updates])

    @cached_property
    def listed_armatures(self) -> frozenset[int]:
        """Session uids of the armature objects among them.

        Blender also flags the pose of a moving armature object: what has only moved is none.
        """
        if self.has_only_moved:
            return frozenset()
        uids = []
        for change, is_moved, is_shaped in self._changes("transform", "geometry"):
            if is_shaped or not is_moved:
                changed = change.id
                if isinstance(changed, bpy.types.Object) and changed.type == "ARMATURE":
                    uids.append(changed.original.session_uid)
        return frozenset(uids)

    @cached_property
    def posed_armatures(self) -> frozenset[int]:
        """Session uids of objects whose bones the user or a new frame has posed, and no more.

        For other settings Blender lists the object as moved; for other animation, as shaded. On a
        new frame it lists the armature too if the user sets bones.
        """
        if self.has_only_moved or self.is_separate or self.has_new_relations:
            return frozenset()
        uids = []
        for change, is_moved, is_shaded in self._changes("transform", "shading"):
            is_more = is_moved or (is_shaded and not self.is_new_frame)
            changed = None if is_more else change.id.original
            if isinstance(changed, bpy.types.Object) and changed.type == "ARMATURE":
                if not self.is_new_frame or changed.data.session_uid not in self.listed:
                    uids.append(changed.session_uid)
        return frozenset(uids)

    @cached_property
    def edited_actions(self) -> frozenset[int]:
        """Session uids of actions with edited keys: Blender has evaluated what they animate.

        To be cached before anything is tagged.
        """
        # Blender lists all actions that a new frame plays, in all of its updates.
        if self.is_new_frame or self.is_in_new_frame:
            return frozenset()
        if not self.depsgraph.id_type_updated(id_type="ACTION"):
            return frozenset()
        # A plain tag of a script sets all flags, and evaluates no animation.
        return frozenset(
            [
                change.id.original.session_uid
                for change, is_shaded, is_moved in self._changes("shading", "transform")
                if is_shaded and not is_moved and isinstance(change.id, bpy.types.Action)
            ]
        )

    def _changes(self, *names: str) -> Iterator[tuple[Any, int, int]]:
        """Return all changes, each with two of its flags."""
        return zip(self.depsgraph.updates, *map(self._flags, names), strict=True)

    def _flags(self, name: str) -> bytearray:
        """Return a flag of every change: 1 or 0."""
        # Counting bytes is faster than calling NumPy, and most updates have few changes.
        flags = bytearray(self.count)
        updates: Any = self.depsgraph.updates
        updates.foreach_get(f"is_updated_{name}", memoryview(flags).cast("?"))
        return flags

    @cached_property
    def has_only_moved(self) -> bool:
        """Whether only transforms have changed; hiding and showing is more than that."""
        return all(
            self._flags(name).count(flag) == self.count
            for name, flag in (("transform", 1), ("geometry", 0), ("shading", 0))
        )

    @property
    def tells_of_rigs(self) -> bool:
        """Whether no armature object was added or removed, and changed ones are listed.

        On a new frame Blender lists everything animated, settings and visibility too.
        """
        is_frame = self.is_new_frame and not self.is_separate and not self.has_new_relations
        return self.has_only_moved or is_frame

    @cached_property
    def has_new_relations(self) -> bool:
        """Whether dependencies may have changed: then Blender lists the collections too."""
        return self.depsgraph.id_type_updated(id_type="COLLECTION")

    @cached_property
    def present(self) -> frozenset[int]:
        """Session uids of the scene's objects."""
        return uids_in(self.scene)

    @cached_property
    def shown(self) -> frozenset[int]:
        """Session uids of objects that are evaluated in every view layer, viewport and render."""
        return shown_everywhere()

    def can_pose(self, armature_object: bpy.types.Object) -> bool:
        """Return whether the graph evaluates the pose of an armature object, and shows it."""
        armature = armature_object.data
        # While an armature is edited, all objects that share it show its rest pose.
        is_posed = armature.pose_position == "POSE" and not armature.is_editmode
        is_posed = is_posed and armature_object.pose is not None
        return is_posed and armature_object.evaluated_get(self.depsgraph).is_evaluated

    def ask_for_view_layers(self) -> None:
        """Make Blender report changes in view layers of the scene that were never shown.

        Blender calls handlers for graphs that exist when something changes. A view layer has no
        graph before its first evaluation, which would then not be reported. A request for its
        statistics gives it an empty graph, and evaluates nothing.
        """
        if not self.is_separate:
            for view_layer in self.scene.view_layers:
                if view_layer.depsgraph is None and not _is_editing(view_layer):
                    self.scene.statistics(view_layer)

    def evaluate_again(self) -> None:
        """Evaluate the graph again, with all that has been written since."""
        # A graph with new relations must not be evaluated from inside its own update without a
        # scene tag: 4.2 to 5.0 crash later. In a separate graph the tag would copy the scene again,
        # with values of another frame.
        if self.has_new_relations or not self.is_separate:
            self.scene.update_tag()
        self.depsgraph.update()


def _is_editing(view_layer: bpy.types.ViewLayer) -> bool:
    """Return whether a view layer was left in edit mode.

    When Blender loads a file, it enters edit mode only later; statistics before that crash it.
    """
    active = view_layer.objects.active
    return active is not None and active.mode == "EDIT"
