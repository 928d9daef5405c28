"""Where a dragged chain goes on from: its last pose, what stands there, or its start."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .channels import Pose, matrices_of
from .following import FreePose, Stand, whole_way
from .history import before, remembered
from .limb import Limb
from .moment import Moment
from .rig_state import RigState
from .start import start_vector

Array = npt.NDArray[np.float64]

# Channels are float32, and Blender gives back what was written: what differs by more was written
# by somebody else.
SAME = 1e-6


class Begun(NamedTuple):
    """What a drag starts from.

    Attributes:
        rotations: Local rotations, shape (k, 3, 3).
        location: Of the root, shape (3,).
        near: Rotation channels to stay near, shape (k, 4).
    """

    rotations: Array
    location: Array
    near: Array


class Onward:
    """One dragged chain in one dependency graph.

    Its history is kept with its armature object, as a chain is compiled anew now and then.
    """

    def __init__(self, state: RigState, limb: Limb) -> None:
        """Take a chain of an armature object."""
        self._state, self._limb = state, limb
        self._key = limb.job.plan.written.tobytes()
        self._home: tuple[tuple[int, float], FreePose] | None = None

    @property
    def pose(self) -> Pose:
        """The pose of the armature object."""
        assert self._state.pose is not None
        return self._state.pose

    @property
    def present(self) -> FreePose:
        """What stands there."""
        pose, written = self.pose, self._limb.job.plan.written
        return FreePose(pose.rotation[written], pose.location[written[0]].copy())

    def begun(self, present: FreePose, moment: Moment) -> Begun:
        """Return what the chain goes on from."""
        last = self._last(present, moment)
        if last is not None:
            return Begun(last.rotations, last.location, last.channels.astype(np.float64))
        modes, home = self._limb.modes, self.home(moment)
        if moment.is_new:
            return Begun(matrices_of(home.channels, modes), home.location, home.channels)
        influence = self._limb.job.spec.influence
        return Begun(*whole_way(present, home, modes, influence), present.channels)

    def remember(self, moment: Moment, stand: Stand) -> None:
        """Keep where the chain has come to."""
        known, skeleton = self._state.dragged, self._limb.job.skeleton
        known[self._key] = remembered(known.get(self._key), skeleton, moment, stand)

    def home(self, moment: Moment) -> FreePose:
        """Return the pose without the chain."""
        key = (self._state.version, moment.frame)
        if self._home is None or self._home[0] != key:
            job, animated = self._limb.job, self._state.animated
            is_at_frame = animated is not None and animated.frame == moment.frame
            location = start_vector(
                job.object,
                job.skeleton,
                self.pose,
                job.plan,
                job.spec,
                moment.frame,
                "location",
                animated.location if animated is not None and is_at_frame else None,
            )
            self._home = key, FreePose(self._limb.stored, location[0])
        return self._home[1]

    def _last(self, present: FreePose, moment: Moment) -> Stand | None:
        """Return the last pose if the chain goes on from it."""
        last = before(self._state.dragged.get(self._key), self._limb.job.skeleton, moment)
        if last is None:
            return None
        stand = last.kept
        # Where a frame is new animation has put keyed channels elsewhere, which tells nothing.
        goes_on = moment.is_new or (
            is_near(present.channels, stand.channels)
            and is_near(present.location, stand.written_location)
        )
        return stand if goes_on else None


def is_near(one: npt.NDArray[np.floating], other: npt.NDArray[np.floating]) -> bool:
    """Tell whether channels are the same but for what float32 leaves; NaN never is."""
    return bool(np.abs(one - other).max() <= SAME)
