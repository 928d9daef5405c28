"""Histories of chains that continue from their last poses: states at earlier moments.

Each dependency graph has its memory, so frames in order move alike in viewports, renders and bakes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from ..reading.moment import Moment
from ..reading.skeleton import Skeleton

State = TypeVar("State")

# Playback may leave out frames to keep up. A step over more time than this, in seconds, is a jump:
# the chain starts again. A step of one frame is never a jump, however long it is.
MAX_STEP_SECONDS = 0.25
# Renders with motion blur look ahead of a frame and return, by less than this number of frames.
LOOK_AHEAD_FRAMES = 1.0


@dataclass(frozen=True)
class Memento(Generic[State]):
    """State of one chain in one dependency graph at one moment.

    Attributes:
        skeleton: Skeleton of the driven bones.
        frame: Frame of the scene, with subframe.
        state: The remembered state.
    """

    skeleton: Skeleton
    frame: float
    state: State


History = tuple[Memento[State], ...]
"""The remembered states of a chain, oldest first, all of one skeleton."""


def find_last(history: History[State], skeleton: Skeleton, moment: Moment) -> Memento[State] | None:
    """Return the state that a moment continues from; None after a jump.

    It is of the moment's own frame or of a recent one. A step to the first frame of the scene is a
    jump too, so that the motion from there on is the same each time; only a step from one frame or
    more before it is not.
    """
    if not history or history[-1].skeleton is not skeleton:
        return None
    last = history[-1]
    if moment.frame < last.frame < moment.frame + LOOK_AHEAD_FRAMES:
        earlier = [memento for memento in history if memento.frame <= moment.frame]
        if not earlier:
            return None
        last = earlier[-1]
    if moment.is_new and moment.frame == moment.first < last.frame + LOOK_AHEAD_FRAMES:
        return None
    seconds = (moment.frame - last.frame) * moment.seconds
    return last if 0.0 <= seconds <= max(MAX_STEP_SECONDS, moment.seconds) else None


def add_moment(
    history: History[State], skeleton: Skeleton, moment: Moment, state: State
) -> History[State]:
    """Return a history with the state of one more moment."""
    same = [memento for memento in history if memento.skeleton is skeleton]
    # Motion blur may return to these: they are less than one frame old.
    recent = [memento for memento in same if 0.0 < moment.frame - memento.frame < LOOK_AHEAD_FRAMES]
    return (*recent, Memento(skeleton, moment.frame, state))
