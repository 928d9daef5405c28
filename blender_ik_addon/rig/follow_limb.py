"""A live chain that is dragged by itself, bone by bone through any parent matrix."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ..core import IKError
from .changes import Change, OtherChannels
from .following import Dragged, FreePose, Stand, drag
from .limb import Limb
from .moment import Moment
from .onward import Onward, is_near
from .outcome import Outcome
from .rig_state import RigState
from .targets import Target, read_target
from .world import WorldMatrices

Array = npt.NDArray[np.float64]


class FollowLimb:
    """One dragged chain in one dependency graph, and its last solve."""

    def __init__(self, state: RigState, limb: Limb) -> None:
        """Take a chain of an armature object."""
        self.state, self.limb = state, limb
        self._onward = Onward(state, limb)
        self._inputs: tuple[bytes | None, ...] = ()
        self._dragged: Dragged | None = None
        self._error = ""

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
        job, present = self.limb.job, self._onward.present
        try:
            target = read_target(job.object, job.spec, world)
            dragged, is_same = self._drag(present, target, moment)
        except IKError as error:
            self._inputs, self._dragged, self._error = (), None, str(error)
            return None
        written = job.plan.written
        wanted = dragged.outcome.channels.astype(np.float32)
        location = dragged.outcome.others["location"].astype(np.float32)
        self._dragged = dragged
        if is_same and is_foreign(self.state):
            return None
        stand = Stand(dragged.rotations, dragged.location, wanted, location[0])
        self._onward.remember(moment, stand)
        if is_near(present.channels, wanted) and is_near(present.location, location[0]):
            return None
        others = {"location": OtherChannels(written[:1], location[:1])}
        return Change(self.state, written, self.limb.modes, wanted, others)

    def outcome(self, _row: int = 0) -> Outcome | str | None:
        """Return what the last solve did, or what is wrong."""
        return self._error or None if self._dragged is None else self._dragged.outcome

    def _drag(self, present: FreePose, target: Target, moment: Moment) -> tuple[Dragged, bool]:
        """Return the dragged chain, and whether nothing has changed since it was."""
        job, pose = self.limb.job, self._onward.pose
        home, begun = self._onward.home(moment), self._onward.begun(present, moment)
        parent = int(job.skeleton.parents[job.plan.written[0]])
        arrays = (
            pose.world,
            pose.matrices[parent] if parent >= 0 else None,
            target.matrix,
            home.channels,
            home.location,
            begun.rotations,
            begun.location,
        )
        inputs = tuple(None if array is None else array.tobytes() for array in arrays)
        if inputs == self._inputs and self._dragged is not None:
            return self._dragged, True
        dragged = drag(job.skeleton, pose, job.plan, job.spec, target, *begun, home)
        self._inputs = inputs
        return dragged, False
