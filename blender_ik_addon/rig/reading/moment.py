"""When an update happens, and which chains time matters to."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from .update import Update


class Moment(NamedTuple):
    """When an update happens.

    Attributes:
        frame: With subframe.
        seconds: Of one frame.
        first: Frame at which the scene starts.
        is_new: Whether Blender has just gone to this frame.
        is_auto_keying: Whether Blender keys what somebody poses.
        is_first: Whether no update before is known, as after undo and loading: what stands there
            may be what chains have left.
        given_back: Session uids of armature objects with bones that chains have given a pose back
            since the last update: that is no hand.
    """

    frame: float
    seconds: float
    first: float
    is_new: bool
    is_auto_keying: bool
    is_first: bool
    given_back: Collection[int]


def moment_of(
    update: Update, *, is_first: bool = False, given_back: Collection[int] = ()
) -> Moment:
    """Return when an update happens; the arguments are as in ``Moment``."""
    scene = update.scene
    render = scene.render
    first = scene.frame_preview_start if scene.use_preview_range else scene.frame_start
    seconds = render.fps_base / render.fps
    is_auto_keying = scene.tool_settings.use_keyframe_insert_auto
    is_new = update.is_new_frame
    return Moment(update.frame, seconds, first, is_new, is_auto_keying, is_first, given_back)
