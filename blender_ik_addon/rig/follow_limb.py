"""A live chain that is dragged: it goes on from its last pose, or starts again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ..core import IKError
from .changes import Change, OtherChannels
from .channels import Pose, matrices_of
from .following import Dragged, FreePose, Stand, drag, whole_way
from .history import before, remembered
from .limb import Limb
from .moment import Moment
from .outcome import Outcome
from .rig_state import RigState
from .start import start_vector
from .targets import Target, read_target
from .world import WorldMatrices

Array = npt.NDArray[np.float64]

# Channels are float32, and Blender gives back what was written: what differs by more was written
# by somebody else.
SAME = 1e-6


class FollowLimb:
    """One dragged chain in one dependency graph, and its last solve.

    Its history is kept with its armature object, as a chain is compiled anew now and then.
    """

    def __init__(self, state: RigState, limb: Limb) -> None:
        """Take a chain of an armature object."""
        self.state, self.limb = state, limb
        self._inputs: tuple[bytes | None, ...] = ()
        self._dragged: Dragged | None = None
        self._error = ""
        self._home: tuple[tuple[int, float], Array] | None = None

    @property
    def limbs(self) -> tuple[Limb, ...]:
        """The one chain; as a tree has several."""
        return (self.limb,)

    def change(
        self, world: WorldMatrices, moment: Moment, is_foreign: Callable[[RigState], bool]
    ) -> Change | None:
        """Drag the chain if its target has moved; return what is not as it should be.

        Args:
            world: Where the target is.
            moment: When the update happens.
            is_foreign: Whether an armature object stands as another window's graph wrote it.
        """
        job, pose = self.limb.job, self.state.pose
        assert pose is not None
        present = _present(pose, job.plan.written)
        try:
            target = read_target(job.object, job.spec, world)
            dragged, is_same = self._drag(pose, present, target, moment)
        except IKError as error:
            self._inputs, self._dragged, self._error = (), None, str(error)
            return None
        written = job.plan.written
        wanted = dragged.outcome.channels.astype(np.float32)
        location = dragged.outcome.others["location"].astype(np.float32)
        self._dragged = dragged
        if is_same and is_foreign(self.state):
            return None
        drags, key = self.state.dragged, written.tobytes()
        kept = Stand(dragged.rotations, dragged.location, wanted, location[0])
        drags[key] = remembered(drags.get(key), job.skeleton, moment, kept)
        # Written so that NaN on the bones counts as different.
        if _is_near(present.channels, wanted) and _is_near(present.location, location[0]):
            return None
        others = {"location": OtherChannels(written[:1], location[:1])}
        return Change(self.state, written, self.limb.modes, wanted, others)

    def outcome(self, _row: int = 0) -> Outcome | str | None:
        """Return what the last solve did, or what is wrong."""
        return self._error or None if self._dragged is None else self._dragged.outcome

    def _drag(
        self, pose: Pose, present: FreePose, target: Target, moment: Moment
    ) -> tuple[Dragged, bool]:
        """Return the dragged chain, and whether nothing has changed since it was."""
        job = self.limb.job
        home = FreePose(self.limb.stored, self._home_location(pose, moment))
        rotations, location, near = self._start(pose, present, home, moment)
        parent = int(job.skeleton.parents[job.plan.written[0]])
        arrays = (
            pose.world,
            pose.matrices[parent] if parent >= 0 else None,
            target.matrix,
            home.channels,
            home.location,
            rotations,
            location,
        )
        inputs = tuple(None if array is None else array.tobytes() for array in arrays)
        if inputs == self._inputs and self._dragged is not None:
            return self._dragged, True
        dragged = drag(
            job.skeleton, pose, job.plan, job.spec, target, rotations, location, near, home
        )
        self._inputs = inputs
        return dragged, False

    def _start(
        self, pose: Pose, present: FreePose, home: FreePose, moment: Moment
    ) -> tuple[Array, Array, Array]:
        """Return rotations, location, and rotation channels near by to start from."""
        last = self._last(present, moment)
        if last is not None:
            return last.rotations, last.location, last.channels.astype(np.float64)
        modes = self.limb.modes
        if moment.is_new:
            return matrices_of(home.channels, modes), home.location, home.channels
        influence = self.limb.job.spec.options.influence
        rotations, location = whole_way(present, home, modes, influence)
        return rotations, location, present.channels

    def _last(self, present: FreePose, moment: Moment) -> Stand | None:
        """Return the last pose if the chain goes on from it."""
        job = self.limb.job
        last = before(self.state.dragged.get(job.plan.written.tobytes()), job.skeleton, moment)
        if last is None:
            return None
        stand = last.kept
        # Where a frame is new animation has put keyed channels elsewhere, which tells nothing.
        goes_on = moment.is_new or (
            _is_near(present.channels, stand.channels)
            and _is_near(present.location, stand.written_location)
        )
        return stand if goes_on else None

    def _home_location(self, pose: Pose, moment: Moment) -> Array:
        key = (self.state.version, moment.frame)
        if self._home is None or self._home[0] != key:
            job, animated = self.limb.job, self.state.animated
            is_at_frame = animated is not None and animated.frame == moment.frame
            location = start_vector(
                job.object,
                job.skeleton,
                pose,
                job.plan,
                job.spec,
                moment.frame,
                "location",
                animated.location if animated is not None and is_at_frame else None,
            )
            self._home = key, location[0]
        return self._home[1]


def _present(pose: Pose, written: npt.NDArray[np.int64]) -> FreePose:
    return FreePose(pose.rotation[written], pose.location[written[0]].copy())


def _is_near(one: npt.NDArray[np.floating], other: npt.NDArray[np.floating]) -> bool:
    return bool(np.abs(one - other).max() <= SAME)
