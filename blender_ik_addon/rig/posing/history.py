"""What a chain that goes on from its last pose remembers of the moments before.

Each dependency graph remembers its own, so that frames in order give the same motion in a viewport,
in a render and in a bake.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from ..reading.moment import Moment
from ..reading.skeleton import Skeleton

Kept = TypeVar("Kept")

# Playback may leave out frames to keep up. A step over more time than this, in seconds, is a jump:
# the chain starts again. One frame never is, however slow they go.
LONGEST_STEP = 0.25
# Renders with motion blur look ahead of a frame and come back: by less than this, in frames.
LOOKED_AHEAD = 1.0


@dataclass(frozen=True)
class Memento(Generic[Kept]):
    """What is remembered of one moment: its frame, with subframe, and what was kept then."""

    frame: float
    kept: Kept


@dataclass(frozen=True)
class History(Generic[Kept]):
    """What one chain in one dependency graph remembers.

    Attributes:
        skeleton: Of the bones that it drove.
        mementos: Of the last moments, oldest first; never empty.
    """

    skeleton: Skeleton
    mementos: tuple[Memento[Kept], ...]


def before(
    history: History[Kept] | None, skeleton: Skeleton, moment: Moment
) -> Memento[Kept] | None:
    """Return what a moment follows on, its own frame or one not long ago; None after a jump.

    The first frame of the scene set again is one as well, for from there on the motion is to be the
    same each time. Whole frames before it lead on to it; what is looked at around it does not.

    Args:
        history: What the chain remembers; None for nothing.
        skeleton: The bones as they are now.
        moment: When.
    """
    if history is None or history.skeleton is not skeleton:
        return None
    last = history.mementos[-1]
    if moment.frame < last.frame < moment.frame + LOOKED_AHEAD:
        earlier = [each for each in history.mementos if each.frame <= moment.frame]
        if not earlier:
            return None
        last = earlier[-1]
    if moment.is_new and moment.frame == moment.first < last.frame + LOOKED_AHEAD:
        return None
    seconds = (moment.frame - last.frame) * moment.seconds
    return last if 0.0 <= seconds <= max(LONGEST_STEP, moment.seconds) else None


def remembered(
    history: History[Kept] | None, skeleton: Skeleton, moment: Moment, kept: Kept
) -> History[Kept]:
    """Return what a chain remembers with one moment more; the arguments are as for ``before``."""
    known = () if history is None or history.skeleton is not skeleton else history.mementos
    # Those of one frame ago and later can be come back to.
    recent = [each for each in known if 0.0 < moment.frame - each.frame < LOOKED_AHEAD]
    return History(skeleton, (*recent, Memento(moment.frame, kept)))
