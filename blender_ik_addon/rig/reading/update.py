"""One update of one dependency graph: what Blender tells of it, asked for once."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import bpy

from .anchors import shown_everywhere
from .world import uids_in

GraphKey = tuple[object, ...]
"""What tells dependency graphs apart: scene, view layer and mode."""


def graph_key(depsgraph: bpy.types.Depsgraph) -> GraphKey:
    """Return what tells a dependency graph from others."""
    scene, view_layer = depsgraph.scene, depsgraph.view_layer
    assert scene is not None
    return (scene.session_uid, view_layer.name, depsgraph.mode)


def shown_graph(scene: bpy.types.Scene, view_layer: bpy.types.ViewLayer) -> GraphKey:
    """Return what tells the graph from others that viewports show of a view layer."""
    return (scene.session_uid, view_layer.name, "VIEWPORT")


@dataclass(frozen=True)
class Update:
    """One update of one dependency graph.

    Attributes:
        scene: Original scene.
        depsgraph: The graph that has just been evaluated.
        is_new_frame: Whether the evaluation was for a new frame, which resets animated channels.
        kept: Session uids of the armature objects whose animated values have been copied to the
            originals.
    """

    scene: bpy.types.Scene
    depsgraph: bpy.types.Depsgraph
    is_new_frame: bool
    kept: set[int] = field(default_factory=set)

    @cached_property
    def key(self) -> GraphKey:
        """What tells this graph from others."""
        return graph_key(self.depsgraph)

    @cached_property
    def frame(self) -> float:
        """The frame, with subframe."""
        return self.scene.frame_current_final

    @cached_property
    def count(self) -> int:
        """How many data-blocks this evaluation has changed."""
        return len(self.depsgraph.updates)

    @cached_property
    def listed(self) -> frozenset[int]:
        """Session uids of what this evaluation has changed."""
        # Only originals know their uids.
        return frozenset([change.id.original.session_uid for change in self.depsgraph.updates])

    @cached_property
    def listed_armatures(self) -> frozenset[int]:
        """Session uids of the armature objects among them.

        One that moves is listed with its pose: what has moved and nothing else is none.
        """
        if self.has_only_moved:
            return frozenset()
        found = []
        flags = zip(self._flags("transform"), self._flags("geometry"), strict=True)
        for change, (is_moved, is_shaped) in zip(self.depsgraph.updates, flags, strict=True):
            if is_shaped or not is_moved:
                changed = change.id
                if isinstance(changed, bpy.types.Object) and changed.type == "ARMATURE":
                    found.append(changed.original.session_uid)
        return frozenset(found)

    @cached_property
    def posed_armatures(self) -> frozenset[int]:
        """Session uids of those whose bones somebody or a new frame has posed, and no more.

        Whatever else is set has Blender list the object as moved; what is animated besides, as
        shaded. On a new frame bones that somebody sets have it list the armature too.
        """
        if self.has_only_moved or self.depsgraph.mode == "RENDER" or self.has_new_relations:
            return frozenset()
        found = []
        flags = zip(self._flags("transform"), self._flags("shading"), strict=True)
        for change, (is_moved, is_shaded) in zip(self.depsgraph.updates, flags, strict=True):
            is_more = is_moved or (is_shaded and not self.is_new_frame)
            changed = None if is_more else change.id.original
            if isinstance(changed, bpy.types.Object) and changed.type == "ARMATURE":
                if not self.is_new_frame or changed.data.session_uid not in self.listed:
                    found.append(changed.session_uid)
        return frozenset(found)

    def _flags(self, name: str) -> bytearray:
        """Return what every change is flagged with: 1 or 0."""
        # Bytes are counted sooner than NumPy begins, and most updates are of few things.
        flags = bytearray(self.count)
        updates: Any = self.depsgraph.updates
        updates.foreach_get(f"is_updated_{name}", memoryview(flags).cast("?"))
        return flags

    @cached_property
    def has_only_moved(self) -> bool:
        """Whether transforms are all that has changed; whatever hides or shows things is more."""
        return all(
            self._flags(name).count(wanted) == self.count
            for name, wanted in (("transform", 1), ("geometry", 0), ("shading", 0))
        )

    @property
    def tells_of_rigs(self) -> bool:
        """Whether armature objects have neither come nor gone, and are listed if they changed.

        On a new frame Blender lists whatever is animated, settings and visibility too.
        """
        is_render = self.depsgraph.mode == "RENDER"
        is_frame = self.is_new_frame and not is_render and not self.has_new_relations
        return self.has_only_moved or is_frame

    @cached_property
    def has_new_relations(self) -> bool:
        """Whether what depends on what may have changed: then Blender lists the collections too."""
        return self.depsgraph.id_type_updated(id_type="COLLECTION")

    @cached_property
    def present(self) -> frozenset[int]:
        """Session uids of the scene's objects."""
        return uids_in(self.scene)

    @cached_property
    def shown(self) -> frozenset[int]:
        """Session uids of objects that are evaluated in every view layer, viewport and render."""
        return shown_everywhere()

    def ask_for_view_layers(self) -> None:
        """Have Blender tell of changes in view layers of the scene that were never shown so far.

        It calls handlers for graphs that were there when something changed; a view layer has none
        before its first evaluation, which then nobody is told of. Asking for its statistics gives
        it one that is empty, and evaluates nothing.
        """
        if self.depsgraph.mode == "VIEWPORT":
            for view_layer in self.scene.view_layers:
                if view_layer.depsgraph is None and not _is_editing(view_layer):
                    self.scene.statistics(view_layer)

    def evaluate_again(self) -> None:
        """Have the graph take in what has been written since."""
        # A graph with new relations must not be evaluated from inside its own update without a
        # scene tag: 4.2 to 5.0 crash later.
        self.scene.update_tag()
        self.depsgraph.update()


def _is_editing(view_layer: bpy.types.ViewLayer) -> bool:
    """Tell whether a view layer was left in edit mode.

    Loading a file, Blender opens what is edited there only later; statistics before that crash it.
    """
    active = view_layer.objects.active
    return active is not None and active.mode == "EDIT"
