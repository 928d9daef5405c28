"""Handlers of Blender's events that start updates of chains, with a guard against re-entrance."""

from __future__ import annotations

import collections
import logging
import threading
import time
from collections.abc import Callable
from typing import Literal

import bpy

from .events import Handler, has_others, is_foreign, make_handler_registration
from .properties.compared.comparison_results import last_comparison
from .properties.file_format import mark, upgrade
from .properties.records import sync_anchors
from .properties.renaming import follow_listed
from .properties.stored import SOURCE
from .rig.keying.library_changes import follow_library, record_chains
from .rig.live import live
from .rig.live.stopped_drivers import restart_drivers
from .rig.reading.anchors import shown_everywhere
from .rig.reading.animation import held_actions, strips
from .rig.reading.update import Update, graph_key, is_separate
from .rig.tools.overrides import create_setting_groups, give_back_poses, record_poses

_LOG = logging.getLogger(__name__)

# Threads inside an update. It evaluates the graph, and Blender then calls these handlers again. A
# render runs its handlers in a separate thread, at the same time as the viewport.
_busy_threads: set[int] = set()

# Threads that evaluate a graph because of other handlers: so that these can read the results of
# chains, or so that chains follow their changes. Blender also calls the handlers of updates then.
_evaluating_results: set[int] = set()
_evaluating_changes: set[int] = set()

# Count of new frames that handlers respond to, by thread: a handler may set another frame. Updates
# inside still list all changes of these frames.
_new_frames: collections.Counter[int] = collections.Counter()

# Work that waits for the next event: no data is accessible while Blender enables add-ons or reads
# libraries, and in background mode no timer runs.
_waiting: list[Callable[[], None]] = []

# An update without changes of these types cannot move a target or bone, or change a setting.
RELEVANT_TYPES: tuple[Literal["OBJECT", "ARMATURE", "ACTION", "SCENE"], ...] = (
    "OBJECT",
    "ARMATURE",
    "ACTION",
    "SCENE",
)


def _update_chains(
    scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph | None, *, is_new_frame: bool
) -> None:
    thread = threading.get_ident()
    if depsgraph is None or thread in _busy_threads:
        return
    is_shown = not is_separate(depsgraph)
    if is_shown and not scene.chain_ik.use_live:
        follow_listed(depsgraph)
    if not scene.chain_ik.use_live or (is_shown and _is_render_underway(scene)):
        # Changes are not tracked from now on, so the next solve must read everything again.
        live.memory.graphs.clear()
        live.follow_animation(Update(scene, depsgraph, is_new_frame))
        return
    if not is_new_frame and not any(
        depsgraph.id_type_updated(id_type=name) for name in RELEVANT_TYPES
    ):
        return
    _busy_threads.add(thread)
    update = Update(scene, depsgraph, is_new_frame, is_in_new_frame=_new_frames[thread] > 0)
    start_time = time.perf_counter()
    try:
        live.update_chains(update, SOURCE)
    finally:
        _busy_threads.discard(thread)
    if _LOG.isEnabledFor(logging.DEBUG):
        milliseconds = 1e3 * (time.perf_counter() - start_time)
        _LOG.debug("'%s', frame %g: %.3f ms", scene.name, scene.frame_current_final, milliseconds)


def _is_render_underway(scene: bpy.types.Scene) -> bool:
    """Return whether a render thread may write the same data as this update of a viewport."""
    return (
        not bpy.app.background
        and threading.current_thread() is threading.main_thread()
        and bpy.app.is_job_running("RENDER")
        and not scene.render.use_lock_interface
    )


def before_update(scene: bpy.types.Scene, *_arguments: object) -> None:
    """Give back the values that a render or an export has replaced, before anything shows them.

    Blender does not call this for new frames, so not between the frames of a render or an export,
    unless it is called inside: by an update here, or by handlers of others after a new frame.
    """
    do_waiting()
    thread = threading.get_ident()
    is_inside = thread in _busy_threads | _evaluating_results | _evaluating_changes
    if not is_inside and not _new_frames[thread] and not _is_render_underway(scene):
        live.memory.replaced.give_back()


def do_waiting(*_arguments: object) -> None:
    """Do the work that waits, before Blender evaluates anything."""
    while _waiting:
        _waiting.pop()()


def on_update(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph | None = None) -> None:
    """Solve after a change in the scene, unless other handlers may still change more."""
    handlers = bpy.app.handlers.depsgraph_update_post
    _move_around_others(handlers, on_update, after_update)
    if not has_others(handlers):
        _handle_update(scene, depsgraph)


def after_update(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph | None = None) -> None:
    """Solve after the handlers of scripts and other add-ons, which may have moved targets.

    If they have, the evaluation inside calls this again; afterwards Blender lists no changes.
    """
    if not has_others(bpy.app.handlers.depsgraph_update_post):
        return
    _evaluate(scene, depsgraph, _evaluating_changes)
    _handle_update(scene, depsgraph)


def _handle_update(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph | None) -> None:
    if threading.get_ident() not in _evaluating_results - _evaluating_changes:
        _update_chains(scene, depsgraph, is_new_frame=False)


def on_frame(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph | None = None) -> None:
    """Solve after animation has been evaluated for a frame: playback, scrubbing, renders."""
    handlers = bpy.app.handlers.frame_change_post
    is_first = _move_around_others(handlers, on_frame, after_frame)
    if depsgraph is not None and not is_separate(depsgraph):
        live.memory.replaced.forget(scene)
    _update_chains(scene, depsgraph, is_new_frame=True)
    _new_frames[threading.get_ident()] += 1
    if is_first and has_others(handlers):
        # They may read the pose of this frame. Then only their changes remain to evaluate.
        _evaluate(scene, depsgraph, _evaluating_results)


def after_frame(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph | None = None) -> None:
    """Evaluate the changes of other handlers, so that ``on_update`` solves the chains again.

    Blender would evaluate them later, without a call of any handler.
    """
    try:
        if has_others(bpy.app.handlers.frame_change_post):
            _evaluate(scene, depsgraph, _evaluating_changes)
    finally:
        _new_frames[threading.get_ident()] -= 1


def _move_around_others(handlers: list[Handler], first: Handler, last: Handler) -> bool:
    """Move two handlers before and after those of others; return whether ``first`` was already.

    Blender is calling ``first``. The handlers called so far keep their number, so it continues with
    the right one. Handlers of this extension keep their order: the overlay's must see an update
    before chains add to it.
    """
    place = handlers.index(first)
    foreign = [handler for handler in handlers[:place] if is_foreign(handler)]
    if foreign or handlers[-1] is not last:
        before = [handler for handler in handlers[:place] if handler not in foreign]
        after = [handler for handler in handlers[place + 1 :] if handler is not last]
        handlers[:] = [*before, first, *foreign, *after, last]
    return not foreign


def _evaluate(
    scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph | None, evaluating: set[int]
) -> None:
    """Evaluate the latest changes if the graph has chains, with this thread in ``evaluating``."""
    thread = threading.get_ident()
    if depsgraph is None or thread in _busy_threads or thread in _evaluating_changes:
        return
    graph = live.memory.graphs.get(graph_key(depsgraph))
    if graph is None or not graph.rigs:
        return
    evaluating.add(thread)
    try:
        update, view_layer = Update(scene, depsgraph, is_new_frame=False), bpy.context.view_layer
        if update.has_new_relations:
            update.evaluate_again()
        elif view_layer is not None and depsgraph == view_layer.depsgraph:
            # Without changes, Blender evaluates nothing and calls no handler.
            bpy.context.evaluated_depsgraph_get()
        else:
            depsgraph.update()
    finally:
        evaluating.discard(thread)


def _tag_unsolved(*, has_loaded: bool = False) -> None:
    """Tag the rigs that no update has solved yet, in the view layers that are shown.

    ``has_loaded`` tells that a file has just been loaded.
    """
    do_waiting()
    windows = [window for manager in bpy.data.window_managers for window in manager.windows]
    shown = [window.view_layer for window in windows]
    if not shown and bpy.context.view_layer is not None:
        shown.append(bpy.context.view_layer)
    for view_layer in shown:
        # Without an evaluated graph, the tags below would have no effect.
        view_layer.update()
        solved = {uid for graph in live.memory.graphs.values() for uid in graph.rigs}
        rigs = [owner for owner in view_layer.objects if owner.type == "ARMATURE"]
        unsolved = [rig for rig in rigs if rig.session_uid not in solved and rig.chain_ik.chains]
        always_shown = shown_everywhere() if unsolved else ()
        for rig in unsolved:
            if rig.is_editable:
                sync_anchors(rig, always_shown)
            rig.update_tag(refresh={"DATA"})
            # The file holds the poses of chains, not those of strips. Blender itself evaluates all
            # animation of a loaded file, but no longer after the update above.
            if has_loaded and any(strips(rig)):
                for action, _ in held_actions(rig):
                    action.update_tag(refresh={"TIME"})


def on_undo(*_arguments: object) -> None:
    """Forget everything but the outcomes of chains after undo or redo has replaced data.

    Blender evaluates the data next and calls ``on_update``. Nothing is read or evaluated here:
    access to the graph has crashed Blender.
    """
    live.memory.clear_except_outcomes()


def _record_overrides() -> None:
    record_chains(bpy.data.objects)
    record_poses(bpy.data.objects)


def _follow_library() -> None:
    """Let keys of overrides follow their chains, and give back bones that the library has."""
    scene = bpy.context.scene
    give_back_poses(bpy.data.objects, 0.0 if scene is None else scene.frame_current_final)
    follow_library(bpy.data.objects)
    # Auto Save records nothing, and bones that are given back can be posed from now on.
    record_poses(bpy.data.objects)


def on_load(*_arguments: object) -> None:
    """Upgrade older settings, let overrides follow their libraries, clear memory, and tag rigs."""
    upgrade(bpy.data.objects)
    _waiting.clear()
    _follow_library()
    for window_manager in bpy.data.window_managers:
        last_comparison(window_manager).forget()
    live.memory.clear()
    _tag_unsolved(has_loaded=True)


def before_import(*_arguments: object) -> None:
    """Record the chains of overrides: the import may read their libraries again.

    4.5 reports the start of a library's reload only, so the next event follows it.
    """
    _record_overrides()
    if _follow_library not in _waiting:
        _waiting.append(_follow_library)


def on_import(context: bpy.types.BlendImportContext, *_arguments: object) -> None:
    """Upgrade settings from an older file, and let overrides follow their libraries."""
    upgrade(item.id for item in context.import_items if isinstance(item.id, bpy.types.Object))
    do_waiting()


def on_save(*_arguments: object) -> None:
    """Mark the settings' format, and record overrides with all their groups."""
    mark(bpy.data.objects)
    _record_overrides()
    for owner in bpy.data.objects:
        create_setting_groups(owner)


_HANDLERS: list[tuple[str, Handler]] = [
    ("depsgraph_update_pre", before_update),
    ("depsgraph_update_post", on_update),
    ("depsgraph_update_post", after_update),
    ("frame_change_pre", do_waiting),
    ("frame_change_post", on_frame),
    ("frame_change_post", after_frame),
    ("load_post", on_load),
    ("save_pre", on_save),
    ("undo_post", on_undo),
    ("redo_post", on_undo),
]
if hasattr(bpy.app.handlers, "blend_import_post"):
    # Blender 4.2 has no events for appended data and reloaded libraries.
    _HANDLERS += [("blend_import_pre", before_import), ("blend_import_post", on_import)]


def _forget() -> None:
    for threads in (_busy_threads, _evaluating_results, _evaluating_changes, _new_frames):
        threads.clear()
    _waiting.clear()


_add_handlers, _remove_handlers = make_handler_registration(_HANDLERS, _forget)


def register() -> None:
    """Add the handlers, and tag the rigs of the open file: no update comes without a change.

    Drivers of chain settings in the open file are started again.
    """
    _add_handlers()
    _waiting.append(lambda: restart_drivers(bpy.data.objects))
    if not bpy.app.background:
        bpy.app.timers.register(_tag_unsolved, first_interval=0.0)


def unregister() -> None:
    """Remove the handlers and the timer of ``register``."""
    if bpy.app.timers.is_registered(_tag_unsolved):
        bpy.app.timers.unregister(_tag_unsolved)
    _remove_handlers()
