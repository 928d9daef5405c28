"""A live chain that is solved by itself, bone by bone through any parent matrix."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ..core import IKError
from .changes import Change, OtherChannels
from .channels import Pose
from .gradual import Eased, Inputs, Step, easing_of, next_step
from .history import before, remembered
from .limb import Limb
from .limb_batch import CURRENT_NOISE
from .moment import Moment
from .outcome import Outcome
from .rig_state import RigState
from .solving import solve_chain
from .spec import StartFrom
from .targets import Target, read_target
from .world import WorldMatrices

Array = npt.NDArray[np.float64]


class LoneLimb:
    """One live chain in one dependency graph, and its last solve."""

    def __init__(self, state: RigState, limb: Limb) -> None:
        """Take a chain of an armature object."""
        self.state, self.limb = state, limb
        self._inputs: Inputs = ()
        self._moment: Moment | None = None
        self._outcome: Outcome | str | None = None

    @property
    def limbs(self) -> tuple[Limb, ...]:
        """The one chain; as a tree has several."""
        return (self.limb,)

    def change(
        self, world: WorldMatrices, moment: Moment, is_foreign: Callable[[RigState], bool]
    ) -> Change | None:
        """Solve if the input has changed; return what is not as it should be.

        Args:
            world: Where target and pole are.
            moment: When the update happens.
            is_foreign: Whether an armature object stands as another window's graph wrote it.
        """
        job, pose = self.limb.job, self.state.pose
        assert pose is not None
        written = job.plan.written
        is_current = job.spec.start_from is StartFrom.CURRENT
        start = pose.rotation[written] if is_current else self.limb.start
        try:
            target = read_target(job.object, job.spec, world)
            inputs = _inputs(self.limb, pose, target, start)
            is_same = inputs == self._inputs and self._is_at(moment)
            if not is_same or not isinstance(self._outcome, Outcome):
                step = self._step(moment, inputs)
                self._outcome = solve_chain(
                    job.skeleton,
                    pose,
                    job.plan,
                    job.spec,
                    target,
                    start,
                    self.limb.stored,
                    self.limb.joints,
                    self.limb.stretch,
                    self.limb.slide,
                    step,
                )
                self._remember(moment, inputs)
        except IKError as error:
            self._inputs, self._outcome = (), str(error)
            return None
        self._inputs, self._moment = inputs, moment
        wanted = self._outcome.channels.astype(np.float32)
        others = {
            name: OtherChannels(written, values.astype(np.float32))
            for name, values in self._outcome.others.items()
        }
        noise = CURRENT_NOISE if is_current else 0.0
        # Written so that NaN on the bones counts as different.
        stands = np.abs(pose.channels[written] - wanted).max() <= noise and all(
            np.abs(getattr(pose, name)[written] - each.values).max() <= noise
            for name, each in others.items()
        )
        if stands or (is_same and is_foreign(self.state)):
            return None
        return Change(self.state, written, self.limb.modes, wanted, others)

    def _is_at(self, moment: Moment) -> bool:
        """Tell whether no time has passed for a chain that eases."""
        known = self._moment
        if known is None or easing_of(self.limb.job.spec) is None:
            return True
        is_begun = moment.is_new and moment.frame == moment.first
        return known.frame == moment.frame and not is_begun

    def _step(self, moment: Moment, inputs: Inputs) -> Step | None:
        job = self.limb.job
        easing = easing_of(job.spec)
        if easing is None:
            return None
        history = self.state.eased.get(job.plan.written.tobytes())
        last = before(history, job.skeleton, moment)
        step = next_step(last, easing, job.spec, moment, inputs)
        known = self._outcome.stepped if isinstance(self._outcome, Outcome) else None
        if known is not None and inputs == self._inputs:
            # It is on its way to the same pose as at the last frame.
            step = step._replace(found=known.found)
        return step

    def _remember(self, moment: Moment, inputs: Inputs) -> None:
        stepped = self._outcome.stepped if isinstance(self._outcome, Outcome) else None
        if stepped is not None:
            job, histories = self.limb.job, self.state.eased
            key, kept = job.plan.written.tobytes(), Eased(inputs, job.spec, stepped)
            histories[key] = remembered(histories.get(key), job.skeleton, moment, kept)

    def outcome(self, _row: int = 0) -> Outcome | str | None:
        """Return what the last solve did, or what is wrong."""
        return self._outcome


def _inputs(limb: Limb, pose: Pose, target: Target, start: Array) -> Inputs:
    """Return everything that a solve depends on besides the chain itself, to compare."""
    root = int(limb.job.plan.segments[0])
    parent = int(limb.job.skeleton.parents[root])
    head: Array | None = pose.matrices[root][:3, 3]
    slides = None
    if limb.slide is not None:
        if limb.slide.moves_root:
            # Written by the chain itself; where it stands without follows from the parent.
            head = None
        if limb.job.spec.start_from is StartFrom.CURRENT:
            slides = pose.location[limb.job.plan.written]
    arrays = (
        pose.world,
        head,
        slides,
        pose.matrices[parent] if parent >= 0 else None,
        target.matrix,
        target.pole,
        target.unmirrored,
        start,
    )
    return tuple(None if array is None else array.tobytes() for array in arrays)
