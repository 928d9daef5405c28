"""When to solve: Blender's handlers, a guard against re-entrance, and nothing else."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Literal

import bpy
from bpy.app.handlers import persistent

from .properties import live_chains, sync_anchors, sync_anchors_if_changed
from .rig import live
from .rig.spec import ChainSpec

# Threads that are inside an update: ours evaluates the graph and is called again by that. A render
# runs its handlers in a thread of its own while the viewport goes on.
_busy: set[int] = set()

# An update that touches none of these types cannot have moved a target, a bone or a setting.
RELEVANT_TYPES: tuple[Literal["OBJECT", "ARMATURE", "ACTION", "SCENE"], ...] = (
    "OBJECT",
    "ARMATURE",
    "ACTION",
    "SCENE",
)


def _run(
    scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph | None, *, is_new_frame: bool
) -> None:
    thread = threading.get_ident()
    if depsgraph is None or thread in _busy or not scene.chain_ik.use_live:
        return
    if not is_new_frame and not any(
        depsgraph.id_type_updated(id_type=name) for name in RELEVANT_TYPES
    ):
        return
    if _is_render_underway(scene, depsgraph):
        return
    _busy.add(thread)
    try:
        update = live.Update(scene, depsgraph, is_new_frame)
        live.update_chains(update, _live_rigs(scene, depsgraph))
    finally:
        _busy.discard(thread)


def _is_render_underway(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> bool:
    """Tell whether a render thread may be writing the same data as this viewport update."""
    return (
        depsgraph.mode == "VIEWPORT"
        and not bpy.app.background
        and threading.current_thread() is threading.main_thread()
        and bpy.app.is_job_running("RENDER")
        and not scene.render.use_lock_interface
    )


def _live_rigs(
    scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph
) -> Iterator[tuple[bpy.types.Object, dict[int, ChainSpec]]]:
    # Not the view layer's objects: a rig in an excluded collection still deforms its mesh.
    for candidate in scene.objects:
        if candidate.type != "ARMATURE":
            continue
        if depsgraph.mode == "VIEWPORT" and candidate.is_editable:
            sync_anchors_if_changed(candidate)
        is_posable = candidate.data.pose_position == "POSE" and candidate.mode != "EDIT"
        if is_posable and candidate.chain_ik.chains:
            if candidate.evaluated_get(depsgraph).is_evaluated:
                yield candidate, dict(live_chains(candidate, depsgraph))


@persistent
def on_update(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph | None = None) -> None:
    """Solve after something in the scene has changed."""
    _run(scene, depsgraph, is_new_frame=False)


@persistent
def on_frame(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph | None = None) -> None:
    """Solve after animation has been evaluated for a frame: playback, scrubbing, renders."""
    _run(scene, depsgraph, is_new_frame=True)


@persistent
def on_history(*_arguments: object) -> None:
    """Forget what is known of data that has just been replaced: load, undo, redo."""
    live.memory.clear()
    view_layer = bpy.context.view_layer
    if view_layer is None:
        return
    # Without a graph there is nothing that the tags below could reach.
    view_layer.update()
    for candidate in view_layer.objects:
        if candidate.type == "ARMATURE" and candidate.chain_ik.chains:
            if candidate.is_editable:
                sync_anchors(candidate)
            candidate.update_tag(refresh={"DATA"})


_HANDLERS = {
    "depsgraph_update_post": on_update,
    "frame_change_post": on_frame,
    "load_post": on_history,
    "undo_post": on_history,
    "redo_post": on_history,
}


def register() -> None:
    """Append the handlers."""
    for name, handler in _HANDLERS.items():
        getattr(bpy.app.handlers, name).append(handler)


def unregister() -> None:
    """Remove the handlers."""
    for name, handler in _HANDLERS.items():
        getattr(bpy.app.handlers, name).remove(handler)
    _busy.clear()
