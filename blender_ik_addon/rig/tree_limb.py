"""Live chains that share bones, solved together as one tree."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ..core import IKError
from .chain_frames import part_way
from .changes import Change
from .channels import Pose, matrices_of
from .checks import check_shape
from .errors import RigError
from .limb import Limb
from .limb_batch import CURRENT_NOISE
from .moment import Moment
from .outcome import Outcome
from .rig_state import RigState
from .targets import Target, read_target
from .tree_outcome import NO_WEIGHT, tree_outcomes, written_tree
from .tree_plan import planned_tree
from .tree_pose import framed_tree
from .tree_solving import TreeStart, solved_tree, tree_start
from .world import WorldMatrices

Array = npt.NDArray[np.float64]


class TreeLimb:
    """The live chains of one tree in one dependency graph, and their last solve.

    Attributes:
        state: Their armature object.
        limbs: The chains, in the order of its list.
    """

    def __init__(self, state: RigState, limbs: tuple[Limb, ...]) -> None:
        """Compile the chains of an armature object that share bones."""
        assert state.pose is not None
        self.state, self.limbs = state, limbs
        self._plan = planned_tree(limbs, state.pose, state.joints)
        self._start: TreeStart | None = None
        self._start_inputs: tuple[bytes, ...] = ()
        self._inputs: tuple[bytes | None, ...] = ()
        self._channels: Array | None = None
        self._outcomes: list[Outcome | str | None] = [None] * len(limbs)

    def change(
        self, world: WorldMatrices, _moment: Moment, is_foreign: Callable[[RigState], bool]
    ) -> Change | None:
        """Solve if the input has changed; return what is not as it should be.

        Args:
            world: Where targets and poles are.
            is_foreign: Whether an armature object stands as another window's graph wrote it.
        """
        plan, pose = self._plan, self.state.pose
        assert pose is not None
        start = np.where(plan.is_current[:, None], pose.rotation[plan.bones], plan.start)
        targets, errors = self._targets(world)
        inputs = (*_inputs(pose, targets), start.tobytes())
        own = self._inputs_of_start(pose, start)
        is_same = inputs == self._inputs and own == self._start_inputs
        if not is_same or self._channels is None:
            try:
                self._solve(pose, targets, start, own)
            except IKError as error:
                self._inputs, self._channels = (), None
                self._outcomes = [errors.get(i, str(error)) for i in range(len(self.limbs))]
                return None
        self._inputs = inputs
        for i, text in errors.items():
            self._outcomes[i] = text
        # What only chains without a target drive stays as it stands.
        sound = [rows for rows, target in zip(plan.rows, targets, strict=True) if target]
        rows = np.unique(np.concatenate(sound))
        assert self._channels is not None
        wanted = self._channels[rows].astype(np.float32)
        bones = plan.bones[rows]
        noise = np.where(plan.is_current[rows], CURRENT_NOISE, 0.0)[:, None]
        # Written so that NaN on the bones counts as different.
        stands = bool((np.abs(pose.channels[bones] - wanted) <= noise).all())
        if stands or (is_same and is_foreign(self.state)):
            return None
        return Change(self.state, bones, plan.modes[rows], wanted)

    def outcome(self, row: int) -> Outcome | str | None:
        """Return what the last solve did to a chain, or what is wrong with it."""
        return self._outcomes[row]

    def _targets(self, world: WorldMatrices) -> tuple[list[Target | None], dict[int, str]]:
        """Return what the chains follow, None where it cannot be followed, and why."""
        targets: list[Target | None] = []
        errors: dict[int, str] = {}
        for i, limb in enumerate(self.limbs):
            try:
                targets.append(read_target(limb.job.object, limb.job.spec, world))
            except IKError as error:
                targets.append(None)
                errors[i] = str(error)
        return targets, errors

    def _inputs_of_start(self, pose: Pose, start: Array) -> tuple[bytes, ...]:
        root = int(self._plan.bones[0])
        parent = int(self.limbs[0].job.skeleton.parents[root])
        above = pose.matrices[parent] if parent >= 0 else np.eye(4)
        return above.tobytes(), pose.matrices[root][:3, 3].tobytes(), start.tobytes()

    def _solve(
        self, pose: Pose, targets: list[Target | None], start: Array, own: tuple[bytes, ...]
    ) -> None:
        plan, world = self._plan, pose.world
        check_shape(world)
        if self._start is None or own != self._start_inputs:
            self._start = self._started(pose, start)
            self._start_inputs = own
        is_sound = np.array([target is not None for target in targets])
        weights = plan.weights * is_sound
        if not weights.any():
            raise RigError(NO_WEIGHT)
        frame = self._start.frame
        solved = solved_tree(self._start, world, targets, weights)
        written = written_tree(frame, pose, solved, start)
        self._channels = written[0]
        self._outcomes = [*tree_outcomes(frame, world, targets, weights, solved, written)]

    def _started(self, pose: Pose, start: Array) -> TreeStart:
        """Return the start pose.

        What stands there now is, with influence, a share of the last solution: the solve goes on
        from the whole of it, as for chains by themselves.
        """
        plan, frame = self._plan, framed_tree(self._plan, pose)
        rotations = matrices_of(start, plan.modes)
        zero = matrices_of(plan.stored, plan.modes)
        for row in np.flatnonzero(plan.is_current & (plan.influence < 1.0)).tolist():
            share = float(plan.influence[row])
            rotations[row] = zero[row]
            if share > 0.0:
                whole = matrices_of(start[[row]], plan.modes[[row]])[0]
                rotations[row] = part_way(zero[row], whole, 1.0 / share)
        return tree_start(frame, rotations)


def _inputs(pose: Pose, targets: list[Target | None]) -> tuple[bytes | None, ...]:
    """Return what a solve depends on besides the chains and their start, to compare."""
    arrays: list[Array | None] = [pose.world]
    for target in targets:
        if target is None:
            arrays.append(None)
        else:
            arrays += [target.matrix, target.pole, target.unmirrored]
    return tuple(None if array is None else array.tobytes() for array in arrays)
