"""What a chain that goes on from its last pose keeps of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

# Playback may leave out frames to keep up; a longer way forward is a jump.
MOST_FRAMES = 5.0


@dataclass(frozen=True)
class History:
    """The last pose of a chain, before influence.

    Attributes:
        frame: When, with subframe.
        bones: Indices of the written bones, shape (k,).
        rotations: Their local rotations, shape (k, 3, 3).
        location: Location channels of the first of them, shape (3,).
        written: What was written to channels for it: rotations, shape (k, 4), and the location.
    """

    frame: float
    bones: npt.NDArray[np.int64]
    rotations: Array
    location: Array
    written: tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]

    def leads_to(self, frame: float, scene_start: float) -> bool:
        """Tell whether a new frame follows on this one.

        The same frame set again does, but for the scene's start: from there on the motion is to be
        the same each time.
        """
        if frame == self.frame:
            return frame > scene_start
        return self.frame < frame <= self.frame + MOST_FRAMES
