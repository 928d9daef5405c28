"""Moments of updates, for chains that depend on time."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from .update import Update


class Moment(NamedTuple):
    """Moment of an update.

    Attributes:
        frame: Frame of the scene, with subframe.
        animation_frame: Frame at which curves are evaluated: with Time Stretching another one.
        seconds: Duration of one frame in the time of the animation, which Time Stretching slows.
        first: Frame at which the scene starts.
        is_new: Whether Blender has just gone to this frame.
        is_auto_keying: Whether Blender keys the poses of the user.
        is_first: Whether no earlier update is known (undo, loading): chains may have left the pose.
        restored_uids: Session uids of armature objects with bones whose pose chains have restored
            since the last update; such a change is not one of the user.
    """

    frame: float
    animation_frame: float
    seconds: float
    first: float
    is_new: bool
    is_auto_keying: bool
    is_first: bool
    restored_uids: Collection[int]


def moment_of(
    update: Update, *, is_first: bool = False, restored_uids: Collection[int] = ()
) -> Moment:
    """Return the moment of an update; the arguments are as in ``Moment``."""
    scene = update.scene
    render = scene.render
    first = scene.frame_preview_start if scene.use_preview_range else scene.frame_start
    frame = scene.frame_current + scene.frame_subframe
    seconds = render.fps_base / render.fps * render.frame_map_old / render.frame_map_new
    is_auto_keying = scene.tool_settings.use_keyframe_insert_auto
    is_new = update.is_new_frame
    return Moment(
        frame, update.frame, seconds, first, is_new, is_auto_keying, is_first, restored_uids
    )
