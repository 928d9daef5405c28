"""When to solve: Blender's handlers, a guard against re-entrance, and nothing else."""

from __future__ import annotations

import logging
import threading
import time
from typing import Literal

import bpy

from .events import Handler, has_others, make_handler_registration
from .properties.compared.comparison_results import last_comparison
from .properties.file_format import mark, upgrade
from .properties.records import sync_anchors
from .properties.renaming import follow_listed
from .properties.stored import SOURCE
from .rig.live import live
from .rig.reading.anchors import shown_everywhere
from .rig.reading.update import Update, graph_key
from .rig.tools.overrides import create_setting_groups

_LOG = logging.getLogger(__name__)

# Threads that are inside an update: ours evaluates the graph and is called again by that. A render
# runs its handlers in a thread of its own while the viewport goes on.
_busy: set[int] = set()

# Threads that evaluate a graph for other handlers: for them to find what chains have written, or
# for chains to follow what they have changed. Blender calls the handlers of updates in that.
_settling: set[int] = set()
_taking_in: set[int] = set()

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
    """Solve after something in the scene has changed, unless other handlers may change more."""
    handlers = bpy.app.handlers.depsgraph_update_post
    _stand_around(handlers, on_update, after_update)
    if not has_others(handlers):
        _run_update(scene, depsgraph)


def after_update(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph | None = None) -> None:
    """Solve after handlers of scripts and other add-ons, which may have moved targets.

    If they have, Blender calls this once more, inside, and lists no changes afterward.
    """
    if not has_others(bpy.app.handlers.depsgraph_update_post):
        return
    _evaluate(scene, depsgraph, _taking_in)
    _run_update(scene, depsgraph)


def _run_update(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph | None) -> None:
    if threading.get_ident() not in _settling - _taking_in:
        _run(scene, depsgraph, is_new_frame=False)


def on_frame(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph | None = None) -> None:
    """Solve after animation has been evaluated for a frame: playback, scrubbing, renders."""
    handlers = bpy.app.handlers.frame_change_post
    is_first = _stand_around(handlers, on_frame, after_frame)
    _run(scene, depsgraph, is_new_frame=True)
    if is_first and has_others(handlers):
        # They may read the pose of this frame, and only what they change is left to evaluate.
        _evaluate(scene, depsgraph, _settling)


def after_frame(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph | None = None) -> None:
    """Have what other handlers have changed evaluated: ``on_update`` solves that.

    Blender would evaluate it later, and call no handler.
    """
    if has_others(bpy.app.handlers.frame_change_post):
        _evaluate(scene, depsgraph, _taking_in)


def _stand_around(handlers: list[Handler], first: Handler, last: Handler) -> bool:
    """Move two handlers around all others of an event; return whether the first was first.

    The first one is running. Blender goes on with the one behind it.
    """
    is_first = handlers[0] is first
    if not is_first or handlers[-1] is not last:
        handlers[:] = [first, *[each for each in handlers if each not in (first, last)], last]
    return is_first


def _evaluate(
    scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph | None, reason: set[int]
) -> None:
    """Evaluate what has been changed since, if there are chains."""
    thread = threading.get_ident()
    if depsgraph is None or thread in _busy or thread in _taking_in:
        return
    graph = live.memory.graphs.get(graph_key(depsgraph))
    if graph is None or not graph.rigs:
        return
    reason.add(thread)
    try:
        update, view_layer = Update(scene, depsgraph, is_new_frame=False), bpy.context.view_layer
        if update.has_new_relations:
            update.evaluate_again()
        elif view_layer is not None and depsgraph == view_layer.depsgraph:
            # If nothing has changed, Blender evaluates nothing and calls nobody.
            bpy.context.evaluated_depsgraph_get()
        else:
            depsgraph.update()
    finally:
        reason.discard(thread)


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
        last_comparison(window_manager).forget()
    live.memory.clear()
    _solve_shown()


def on_import(context: bpy.types.BlendImportContext, *_arguments: object) -> None:
    """Bring settings up to date that have been appended or linked from an older file."""
    upgrade(item.id for item in context.import_items if isinstance(item.id, bpy.types.Object))


def on_save(*_arguments: object) -> None:
    """Note that the settings in the file are of this version, and have overrides keep theirs."""
    mark(bpy.data.objects)
    for owner in bpy.data.objects:
        create_setting_groups(owner)


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

_LAST_HANDLERS: dict[str, Handler] = {
    "depsgraph_update_post": after_update,
    "frame_change_post": after_frame,
}


def _forget() -> None:
    for threads in (_busy, _settling, _taking_in):
        threads.clear()


_listen, _stop_listening = make_handler_registration(_HANDLERS, _forget)
_listen_last, _stop_listening_last = make_handler_registration(_LAST_HANDLERS, _forget)


def register() -> None:
    """Listen, and have what stands in the file solved: until something moves no update comes."""
    _listen()
    _listen_last()
    # While add-ons are enabled there is no data. Nothing runs timers in the background.
    if not bpy.app.background:
        bpy.app.timers.register(_solve_shown, first_interval=0.0)


def unregister() -> None:
    """Remove what ``register`` added."""
    if bpy.app.timers.is_registered(_solve_shown):
        bpy.app.timers.unregister(_solve_shown)
    _stop_listening()
    _stop_listening_last()
