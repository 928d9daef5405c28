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
    """What one chain in one dependency graph remembers of one moment.

    Attributes:
        skeleton: Of the bones that it drove.
        frame: With subframe.
        kept: What was kept then.
    """

    skeleton: Skeleton
    frame: float
    kept: Kept


History = tuple[Memento[Kept], ...]
"""What it remembers of the last moments, oldest first, all of one skeleton."""


def before(history: History[Kept], skeleton: Skeleton, moment: Moment) -> Memento[Kept] | None:
    """Return what a moment follows on, its own frame or one not long ago; None after a jump.

    The first frame of the scene set again is one as well, for from there on the motion is to be the
    same each time. Whole frames before it lead on to it; what is looked at around it does not.

    Args:
        history: What the chain remembers.
        skeleton: The bones as they are now.
        moment: When.
    """
    if not history or history[-1].skeleton is not skeleton:
        return None
    last = history[-1]
    if moment.frame < last.frame < moment.frame + LOOKED_AHEAD:
        earlier = [each for each in history if each.frame <= moment.frame]
        if not earlier:
            return None
        last = earlier[-1]
    if moment.is_new and moment.frame == moment.first < last.frame + LOOKED_AHEAD:
        return None
    seconds = (moment.frame - last.frame) * moment.seconds
    return last if 0.0 <= seconds <= max(LONGEST_STEP, moment.seconds) else None


def remembered(
    history: History[Kept], skeleton: Skeleton, moment: Moment, kept: Kept
) -> History[Kept]:
    """Return what a chain remembers with one moment more; the arguments are as for ``before``."""
    known = [each for each in history if each.skeleton is skeleton]
    # Those of one frame ago and later can be come back to.
    recent = [each for each in known if 0.0 < moment.frame - each.frame < LOOKED_AHEAD]
    return (*recent, Memento(skeleton, moment.frame, kept))
