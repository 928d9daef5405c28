"""The only player: it plays frames of a scene in order, with its chains live."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress

import bpy

from ...core.model.message import Message
from ..live import live
from ..live.state_backup import back_up_state
from ..posing.outcome import Outcome
from ..reading.animation import animated_paths
from ..reading.refusals import HIDDEN, HIDING, RigError, is_hidden
from ..reading.update import shown_graph

# The last frame that Blender can go to: its MAXFRAME.
MAX_FRAME = 1_048_574


def check_live(scene: bpy.types.Scene) -> None:
    """Raise a ``RigError`` if the chains of a scene are not live."""
    if not scene.chain_ik.use_live:
        raise RigError("Live is off, so no chain moves: turn it on first.")


@contextmanager
def preserve_frame(scene: bpy.types.Scene, *, is_reading: bool = False) -> Iterator[None]:
    """Restore the frame of a scene afterwards, and its former state if the block was interrupted.

    ``is_reading`` restores the former state in any case.
    """
    frame, subframe, before = scene.frame_current, scene.frame_subframe, back_up_state()
    is_complete = False
    try:
        yield
        is_complete = True
    finally:
        with suppress(ReferenceError):
            scene.frame_set(frame, subframe=subframe)
            if is_reading or not is_complete:
                before.restore()


@contextmanager
def live_disabled(scene: bpy.types.Scene) -> Iterator[None]:
    """Prevent the chains of a scene from writing their bones meanwhile."""
    is_live = scene.chain_ik.use_live
    scene.chain_ik.use_live = False
    try:
        yield
    finally:
        with suppress(ReferenceError):
            scene.chain_ik.use_live = is_live


def check_shown(
    scene: bpy.types.Scene, armature_object: bpy.types.Object, frames: Iterable[int]
) -> None:
    """Raise a ``RigError`` if its own animation hides an armature object at any of some frames."""
    if HIDING in animated_paths(armature_object):
        with live_disabled(scene), preserve_frame(scene, is_reading=True):
            for frame in frames:
                scene.frame_set(frame)
                if armature_object.hide_viewport:
                    raise RigError(HIDDEN)


def outcome_in(
    scene: bpy.types.Scene, armature_object: bpy.types.Object, index: int
) -> Outcome | Message | None:
    """Return the outcome or error of a chain in the first view layer of a scene that solves it.

    A pose that may not be evaluated, because the armature object is hidden, is an error.
    """
    for view_layer in scene.view_layers:
        graph, key = shown_graph(scene, view_layer), (armature_object.session_uid, index)
        outcome, depsgraph = live.memory.outcome(graph, key), view_layer.depsgraph
        if outcome is not None and depsgraph is not None:
            is_unknown = is_hidden(armature_object, depsgraph)
            return Message(HIDDEN) if is_unknown else outcome
    return None


def frames_to_evaluate(frames: Sequence[int], first: int, *, goes_on: bool) -> Sequence[int]:
    """Return the frames to play: all from the first one if chains depend on earlier frames."""
    return range(first, frames[-1] + 1) if goes_on else frames


def played(
    scene: bpy.types.Scene, armature_objects: Iterable[bpy.types.Object], frames: Iterable[int]
) -> Iterator[int]:
    """Set frame after frame, in rising order, and yield it once the chains are solved.

    Chains of the armature objects that depend on earlier frames are restarted.
    """
    for armature_object in armature_objects:
        live.memory.restart(armature_object.session_uid)
    for frame in frames:
        scene.frame_set(frame)
        yield frame


def play_unchanged(
    scene: bpy.types.Scene, objects: Sequence[bpy.types.Object], frames: Iterable[int], refusal: str
) -> Iterator[int]:
    """Play frames in rising order as long as the scene is live and watched objects do not change.

    Chains of these that depend on earlier frames start again.

    Raises:
        RigError: If live is off; with the text of the refusal, if an object has changed.
    """
    before = [_fixed_state(candidate) for candidate in objects]
    all_frames = played(scene, objects, frames)
    while True:
        try:
            check_live(scene)
            is_same = [_fixed_state(candidate) for candidate in objects] == before
            frame = next(all_frames, None) if is_same else None
        except ReferenceError:
            is_same = False
        if not is_same:
            raise RigError(refusal)
        if frame is None:
            return
        yield frame


def _fixed_state(candidate: bpy.types.Object) -> object:
    """Return what must not change while frames are played: edit mode, and all names."""
    if candidate.type != "ARMATURE":
        return candidate.name
    chains = [chain.name for chain in candidate.chain_ik.chains]
    return candidate.data.is_editmode, candidate.pose.bones.keys(), chains
