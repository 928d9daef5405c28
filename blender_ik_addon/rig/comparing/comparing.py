"""One chain solved by every solver; nothing on the rig changes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ...core import IKError, Solver
from ...core.algebra.arithmetic import Array, Indices
from ..clips.hung import turned_under
from ..planning.start_channels import start_vector
from ..posing.outcome import Outcome
from ..reading.chain_plan import joints_in
from ..reading.channels import Pose, matrices_of
from ..reading.refusals import RigError
from ..reading.skeleton import Skeleton
from ..reading.spaces import transform_point
from ..reading.world import WorldMatrices
from ..tools.trial import Trial
from ..tools.wording import outcome_in_words
from ..trees.shared_bones import SOLVERS as SOLVERS_OF_TREES
from .compared import Compared

# Each solver, and whether Newton finishes what FABRIK or CCD leave.
CONTENDERS = (
    (Solver.TWO_BONE, True),
    (Solver.NEWTON, True),
    (Solver.FABRIK, True),
    (Solver.FABRIK, False),
    (Solver.CCD, True),
    (Solver.CCD, False),
    (Solver.FORCE, True),
    (Solver.FOLLOW, True),
)
FROM_PRESENT = "One drag from the present pose"
# The most repeats, and the seconds after which there are no more.
REPEATS, ENOUGH = 8, 0.1


@dataclass(frozen=True)
class Attempt:
    """What one solver makes of a chain.

    Attributes:
        solver: None for Blender's IK constraint.
        use_finish: Whether Newton finishes what FABRIK or CCD leave.
        status: One sentence: how it ended, or why it cannot solve this chain.
        residual: From effector to target on its pose, in scene units; NaN without a pose.
        iterations: How many it took; None if unknown.
        milliseconds: How long the solve takes; NaN without a pose.
        joints: Of that pose, world space, shape (m + 1, 3); (0, 3) without a pose.
    """

    solver: Solver | None
    use_finish: bool
    status: str
    residual: float = math.nan
    iterations: int | None = None
    milliseconds: float = math.nan
    joints: Array = field(default_factory=lambda: np.empty((0, 3)))

    @property
    def is_solved(self) -> bool:
        """Whether there is a pose."""
        return len(self.joints) > 0


def find_home(compared: Compared) -> Pose | None:
    """Return the pose with the root where it is without the chain; None if Follow has not moved it.

    Raises:
        RigError: If no solver can solve the chain, with what to do first.
    """
    trial = tried(compared, Solver.NEWTON)
    chain, pose = trial.live_chain, trial.state.pose.copy()
    if not any(bone.is_dragged for bone in chain.spec.stored_pose):
        return None
    written, frame = chain.plan.written, compared.update.frame
    pose.note("location", written, start_vector(chain, pose, frame, "location", None))
    _pose_bones(chain.skeleton, pose, written)
    return pose


def solve(compared: Compared, home: Pose | None, solver: Solver, *, use_finish: bool) -> Attempt:
    """Return the attempt of a solver."""
    world = WorldMatrices(compared.update.depsgraph)
    try:
        trial = tried(compared, solver, home, use_finish=use_finish)
        seconds = _seconds(lambda: trial.solve(world))
        outcome: Outcome = trial.outcome()
    except IKError as error:
        return Attempt(solver, use_finish, str(error))
    chain, pose = trial.live_chain, trial.state.pose.copy()
    _pose_bones(chain.skeleton, pose, trial.driven.bones)

    def again() -> float:
        trial.start_again()
        return _seconds(lambda: trial.solve(world))

    said = outcome_in_words(outcome, compared.unit)
    return Attempt(
        solver,
        use_finish,
        f"{FROM_PRESENT}. {said}" if solver is Solver.FOLLOW else said,
        outcome.residual,
        outcome.iterations,
        1e3 * quickest(seconds, again),
        transform_point(pose.world, joints_in(chain.plan, pose.matrices)),
    )


def tried(
    compared: Compared, solver: Solver, home: Pose | None = None, *, use_finish: bool = True
) -> Trial:
    """Return a chain as it is with a solver, still to be solved.

    Raises:
        RigError: If that cannot solve it.
    """
    specs = compared.specs_with(solver, use_finish=use_finish)
    home = None if solver is Solver.FOLLOW else home
    trial = Trial(compared.update, compared.object, specs, compared.index, home)
    if trial.refused and solver not in SOLVERS_OF_TREES:
        other, text = next(iter(trial.refused.items()))
        raise RigError(f"Then chain '{compared.specs[other].name}' stands still: {text}")
    return trial


def _pose_bones(skeleton: Skeleton, pose: Pose, bones: Indices) -> None:
    """Put bones where their channels put them under their parents."""
    rotations = matrices_of(pose.rotation, pose.modes)
    for bone in sorted(bones.tolist(), key=lambda bone: len(skeleton.ancestors(bone))):
        parent, row = int(skeleton.parents[bone]), np.array([bone])
        above = np.eye(4) if parent < 0 else pose.matrices[parent]
        turned = turned_under(skeleton, bone, above[None], rotations[row], pose.scale[row])
        head = skeleton.heads(row, pose.location[row])
        pose.matrices[bone, :3, :3] = turned[0]
        pose.matrices[bone, :3, 3] = transform_point(above, head)[0]


def _seconds(done: Callable[[], object]) -> float:
    """Return how long something takes."""
    begun = time.perf_counter()
    done()
    return time.perf_counter() - begun


def quickest(first: float, again: Callable[[], float]) -> float:
    """Return the shortest time of several runs, in seconds; repeated only while that is cheap.

    Args:
        first: The time of the first run.
        again: Runs it once more and returns the time of that.
    """
    times = [first]
    while len(times) <= REPEATS and sum(times) <= ENOUGH:
        times.append(again())
    return min(times)
