"""When to solve: Blender's handlers, a guard against re-entrance, and nothing else."""

from __future__ import annotations

import logging
import threading
import time
from typing import Literal

import bpy

from .events import Handler, listening
from .properties.compared.kept import kept_of
from .properties.file_format import mark, upgrade
from .properties.records import sync_anchors
from .properties.renaming import follow_listed
from .properties.stored import SOURCE
from .rig.live import live
from .rig.reading.anchors import shown_everywhere
from .rig.reading.update import Update
from .rig.tools.overrides import make_groups

_LOG = logging.getLogger(__name__)

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
    if depsgraph is None or thread in _busy:
        return
    if depsgraph.mode == "VIEWPORT" and not scene.chain_ik.use_live:
        follow_listed(depsgraph)
    if not scene.chain_ik.use_live or _is_render_underway(scene, depsgraph):
        # What changes now is told to nobody: begin afresh when chains are solved again.
        live.memory.graphs.clear()
        return
    if not is_new_frame and not any(
        depsgraph.id_type_updated(id_type=name) for name in RELEVANT_TYPES
    ):
        return
    _busy.add(thread)
    begun = time.perf_counter()
    try:
        live.update_chains(Update(scene, depsgraph, is_new_frame), SOURCE)
    finally:
        _busy.discard(thread)
    if _LOG.isEnabledFor(logging.DEBUG):
        milliseconds = 1e3 * (time.perf_counter() - begun)
        _LOG.debug("'%s', frame %g: %.3f ms", scene.name, scene.frame_current_final, milliseconds)


def _is_render_underway(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> bool:
    """Tell whether a render thread may be writing the same data as this viewport update."""
    return (
        depsgraph.mode == "VIEWPORT"
        and not bpy.app.background
        and threading.current_thread() is threading.main_thread()
        and bpy.app.is_job_running("RENDER")
        and not scene.render.use_lock_interface
    )


def on_update(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph | None = None) -> None:
    """Solve after something in the scene has changed."""
    _run(scene, depsgraph, is_new_frame=False)


def on_frame(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph | None = None) -> None:
    """Solve after animation has been evaluated for a frame: playback, scrubbing, renders."""
    _run(scene, depsgraph, is_new_frame=True)


def _solve_shown() -> None:
    """Solve what no update has solved yet, in the view layers that are shown."""
    windows = [each for manager in bpy.data.window_managers for each in manager.windows]
    shown = [window.view_layer for window in windows]
    if not shown and bpy.context.view_layer is not None:
        shown.append(bpy.context.view_layer)
    for view_layer in shown:
        _solve(view_layer)


def _solve(view_layer: bpy.types.ViewLayer) -> None:
    # Without a graph there is nothing that the tags below could reach.
    view_layer.update()
    solved = {uid for graph in live.memory.graphs.values() for uid in graph.rigs}
    rigs = [each for each in view_layer.objects if each.type == "ARMATURE"]
    missed = [rig for rig in rigs if rig.session_uid not in solved and rig.chain_ik.chains]
    shown = shown_everywhere() if missed else ()
    for rig in missed:
        if rig.is_editable:
            sync_anchors(rig, shown)
        rig.update_tag(refresh={"DATA"})


def on_undo(*_arguments: object) -> None:
    """Forget what is known of data that has just been replaced by undo or redo.

    Blender evaluates it next and tells ``on_update``. Nothing is read or evaluated before that:
    asked for its graph here, Blender has crashed.
    """
    live.memory.begin_anew()


def on_load(*_arguments: object) -> None:
    """Bring settings of older files up to date, and begin afresh."""
    upgrade(bpy.data.objects)
    for window_manager in bpy.data.window_managers:
        kept_of(window_manager).forget()
    live.memory.clear()
    _solve_shown()


def on_import(context: bpy.types.BlendImportContext, *_arguments: object) -> None:
    """Bring settings up to date that have been appended or linked from an older file."""
    upgrade(item.id for item in context.import_items if isinstance(item.id, bpy.types.Object))


def on_save(*_arguments: object) -> None:
    """Note that the settings in the file are of this version, and have overrides keep theirs."""
    mark(bpy.data.objects)
    for owner in bpy.data.objects:
        make_groups(owner)


_HANDLERS: dict[str, Handler] = {
    "depsgraph_update_post": on_update,
    "frame_change_post": on_frame,
    "load_post": on_load,
    "save_pre": on_save,
    "undo_post": on_undo,
    "redo_post": on_undo,
}
if hasattr(bpy.app.handlers, "blend_import_post"):
    # Not in 4.2, where nothing tells of what is appended.
    _HANDLERS["blend_import_post"] = on_import

_listen, _stop_listening = listening(_HANDLERS, _busy.clear)


def register() -> None:
    """Listen, and have what stands in the file solved: until something moves no update comes."""
    _listen()
    # While add-ons are enabled there is no data. Nothing runs timers in the background.
    if not bpy.app.background:
        bpy.app.timers.register(_solve_shown, first_interval=0.0)


def unregister() -> None:
    """Remove what ``register`` added."""
    if bpy.app.timers.is_registered(_solve_shown):
        bpy.app.timers.unregister(_solve_shown)
    _stop_listening()
