"""Chains with joints one by one, in floats: bent like free chains, or swept, then NEWTON.

Only chains that arrive this way are solved here. ``joint_positions`` solves all others, by the same
first steps and further ones. So a pose does not depend on which of the two has found it.
"""

from __future__ import annotations

import enum
import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..algebra import quaternions, turns
from ..algebra.arithmetic import FLOATS, Array, Counts
from ..algebra.chains_first import chains_last
from ..algebra.nested import to_floats
from ..algebra.quaternions import Quaternion
from ..algebra.vectors import ZERO, Vector, add, cross, norm, scale, subtract
from ..kinematics.aims import Limbs
from ..kinematics.bend_plane import Pole, plan_bend
from ..kinematics.bones import Targets
from ..kinematics.compiled_bones import compile_bones
from ..kinematics.kinematic_tree import KinematicTree
from ..kinematics.reach import REACH_TOLERANCE, measure_reach, soften_target
from ..kinematics.start_pose import StartPose, faces_by_bone
from ..kinematics.task import FINEST_TOLERANCE, Task, find_arm, make_float_tasks, relate_to_root
from ..model.goals import Goals
from ..model.options import SolveOptions, Solver
from ..model.solutions import Solutions
from ..solvers import newton_bones
from ..solvers.newton_bones import BendSide, BonesState, JointedBones, TipTurn
from ..solvers.newton_directions import FIRST_DAMPING
from . import joint_run
from .bend_starts import BendStart, FloatBendStart, bend_in_floats, is_in_line
from .free_chains import SolvedChain, join_solved, measure_outcome, record_solved
from .iteration import Progress, Work, iterate
from .joint_run import (
    AIM_TOLERANCE,
    AIM_WEIGHTS,
    ARRIVAL_TOLERANCE,
    MAX_AIM_ITERATIONS,
    MAX_NEWTON_ITERATIONS,
    MIN_MOVE_GAIN,
)
from .restarts import SIDE_TOLERANCE
from .sweeps import MOST_SWEEPS, SWEPT, sweep_bones

NEWTON = replace(joint_run.NEWTON, step=newton_bones.step)
AIMING = replace(joint_run.AIMING, step=newton_bones.step)
TURNING = replace(joint_run.TURNING, step=newton_bones.step)


class FloatLimb(NamedTuple):
    """The count of the bones that bend to a pole, and values in floats as in ``Limbs``."""

    bone_count: int
    chord: Vector
    side: Vector
    carried_side: Vector
    reach: float


class FloatChain(NamedTuple):
    """A chain with joints in floats: its start pose, bones, and their start state inside ranges.

    Also the start that it bends from, in the units of the bones, the rotations that joints count
    from, the rotation of the last bone in the start pose, which may be outside of ranges, its limb,
    the same where the tip takes a rotation, and the distances that ranges leave.
    """

    start: StartPose
    bones: JointedBones
    start_state: BonesState
    bend_start: FloatBendStart
    zero: tuple[Quaternion, ...]
    tip_start: Quaternion
    can_swivel: bool
    limb: FloatLimb | None
    stem: FloatLimb | None
    nearest: float
    farthest: float


class WarmStart(NamedTuple):
    """Turns of joints to go on from, (n, 4, B), and the iterations used so far, (B,)."""

    turn: Array
    used: Counts


class _Use(enum.Enum):
    """What the state of a trial is good for."""

    SOLUTION = enum.auto()
    WARM_START = enum.auto()
    NOTHING = enum.auto()


class _Trial(NamedTuple):
    """A state, the iterations used, its use, and what the outcome says.

    That is whether the target is too far, its soft shift, and the radians left to a tip's goal.
    """

    state: BonesState
    iterations: int
    use: _Use
    is_too_far: bool = False
    soft_shift: float | None = None
    tip_gap: float = 0.0


def compile_in_floats(
    starts: tuple[StartPose, ...],
    tree: KinematicTree,
    start_turns: Array,
    tip_axes: Array,
    limbs: tuple[Limbs, Limbs],
    run: BendStart,
) -> tuple[FloatChain, ...] | None:
    """Return chains one by one; None if the float solver does not support them."""
    joints = tree.joints
    if tree.slide_axes is not None or joints.has_stiffness or tree.topology.unturned:
        return None
    chains, result = compile_bones(tree, is_in_floats=True), []
    if not all(chain.is_rigid for chain in chains):
        return None
    tips = turns.from_matrices(tip_axes[None])[0]
    for row, (start, chain) in enumerate(zip(starts, chains, strict=True)):
        is_lock = joints.is_held[..., row].tolist()
        locks = tuple(
            tuple(edge for edge in range(3) if bone.joint is not None and flags[edge])
            for bone, flags in zip(chain.bones, is_lock, strict=True)
        )
        bones = JointedBones(chain, locks)
        state = newton_bones.clamp_state(bones, to_floats(start_turns, row))
        zero, tip_start = (to_floats(part, row) for part in (joints.zero, tips))
        bend_start, can_swivel = run.alone(row), tree.can_swivel
        ends = 0.0, chain.reach
        if (limited := tree.limited) is not None:
            ends = float(limited.nearest[row]), float(tree.farthest[row])
        limb, stem = (_take_limb(part, row) for part in limbs)
        inputs = start, bones, state, bend_start, zero, tip_start, can_swivel, limb, stem
        result.append(FloatChain(*inputs, *ends))
    return tuple(result)


def _take_limb(limbs: Limbs, row: int) -> FloatLimb | None:
    """Return the limb of a chain in floats, None if fewer than two bones bend."""
    if not limbs.effectors:
        return None
    arrays = limbs.chord[0], limbs.side[0], limbs.carried_side[0], limbs.reach[0]
    return FloatLimb(len(limbs.bones[0]), *(to_floats(array, row) for array in arrays))


def solve_joints_in_floats(
    chains: tuple[FloatChain, ...], goals: Goals, options: SolveOptions
) -> tuple[list[tuple[Counts, Solutions]], list[tuple[Counts, WarmStart | None]]]:
    """Return rows that have arrived, with their solutions; and others, with their warm starts.

    A warm start of None is the start pose.
    """
    tasks = list(make_float_tasks(goals, options, len(chains)))
    has_aims = tasks[0].pole is not None or tasks[0].tip is not None
    if has_aims and options.orient_weight < 1.0:
        return [], [(np.arange(len(chains)), None)]
    trials = [_try_in_floats(*inputs, options) for inputs in zip(chains, tasks, strict=True)]
    arrived, warm, cold = (
        np.array([row for row, trial in enumerate(trials) if trial.use is use], dtype=np.int64)
        for use in _Use
    )
    solved: list[tuple[Counts, Solutions]] = []
    open_rows: list[tuple[Counts, WarmStart | None]] = []
    if arrived.size:
        poses = [_pose(chains[row], tasks[row], trials[row]) for row in arrived]
        solved.append((arrived, record_solved(join_solved(poses))))
    if warm.size:
        turns = [trials[row].state.pose.rotations for row in warm]
        used = np.array([trials[row].iterations for row in warm])
        open_rows.append((warm, WarmStart(chains_last(np.array(turns)), used)))
    if cold.size:
        open_rows.append((cold, None))
    return solved, open_rows


def _pose(chain: FloatChain, task: Task, trial: _Trial) -> SolvedChain:
    """Return the pose of a chain whose effector has arrived, in armature space."""
    m, start = FLOATS, chain.start
    joints = [add(scale(point, start.unit), start.root) for point in trial.state.pose.points]
    is_too_near = norm(m, subtract(task.target, start.root)) < start.least * start.unit
    is_out = trial.is_too_far, is_too_near
    outcome = measure_outcome(m, start, task, joints[-1], *is_out, soft_shift=trial.soft_shift)
    zeros = zip(chain.zero, trial.state.pose.rotations, strict=True)
    turned = [quaternions.multiply(zero, turn) for zero, turn in zeros]
    solved = outcome[0], trial.iterations, outcome[1], turned, trial.tip_gap
    return SolvedChain(np.array(joints), quaternions.IDENTITY, *solved)


def _try_in_floats(chain: FloatChain, task: Task, options: SolveOptions) -> _Trial:
    """Bend or sweep a chain toward its target, to the side of its pole, and turn its tip."""
    start, reach, tip = chain.start, chain.bones.chain.reach, _find_tip_turn(chain, task)
    limb, arm = chain.limb if tip is None else chain.stem, find_arm(FLOATS, start, task)
    task, is_beyond, shift = _soften(start, task)
    full_task, state, used, is_swept = task, chain.start_state, 0, options.solver in SWEPT
    distance = norm(FLOATS, task.target)
    is_too_far = distance >= reach * (1.0 - REACH_TOLERANCE)
    is_near = 0.0 < chain.nearest and distance <= chain.nearest * (1.0 + REACH_TOLERANCE)
    is_far = chain.farthest < reach and distance >= chain.farthest * (1.0 - REACH_TOLERANCE)
    if is_near or is_far:
        # Arrays stretch and fold pairs as far as ranges allow, and name what holds them back.
        return _Trial(state, used, _Use.NOTHING)
    if distance > reach or (is_beyond and is_too_far):
        # A soft target that is out of reach is at full reach up to rounding.
        drawn_in = scale(task.target, reach / distance)
        task = replace(task, target=drawn_in, tolerance=FINEST_TOLERANCE * reach)
    accepted = max(task.tolerance, ARRIVAL_TOLERANCE * reach)
    is_off_target = state.find_error(task.target) > accepted
    if is_swept:
        if is_too_far or is_in_line(chain.bend_start, task):
            return _Trial(state, used, _Use.NOTHING)
        state, used = _sweep(chain, task, options.solver)
    elif is_off_target:
        state = _bend(chain, full_task)
    side = None
    if task.pole is not None and limb is not None:
        side = _find_side(limb, task, task.pole, arm)
    aimed = chain.bones._replace(side=side, tip=tip)
    if has_aims := side is not None or tip is not None:
        state, used, needs_arrays = _aim(aimed, task, state, used, is_off_target=is_off_target)
        if needs_arrays:
            return _Trial(state, used, _Use.NOTHING)
    gap = state.find_error(task.target)
    if is_too_far and gap > accepted:
        return _Trial(state, used, _Use.NOTHING)
    if gap > (accepted if has_aims or not is_swept else task.tolerance):
        warm_start = state
        state, used = _close(chain, task, state, used)
        is_open = state.find_error(task.target) > accepted and used < task.iterations
        if is_open and is_swept and not has_aims:
            bent = _bend(chain, full_task)
            state, used = _close(chain, task, bent, used)
            warm_start = bent if used < task.iterations else warm_start
        if state.find_error(task.target) > accepted:
            # If aims lead to no solution, start again in arrays, which also search without them.
            return _Trial(warm_start, used, _Use.NOTHING if has_aims else _Use.WARM_START)
    if options.keeps_start:
        state = _keep_start(aimed, chain.start_state, state, task.target, accepted)
    is_past_side = side is not None and abs(side.measure(state.pose)[0]) > SIDE_TOLERANCE
    use = _Use.WARM_START if is_past_side and chain.can_swivel else _Use.SOLUTION
    tip_gap = 0.0 if tip is None else norm(FLOATS, tip.measure(state.pose.orientations[-1]))
    return _Trial(state, used, use, is_too_far or is_beyond, shift, tip_gap)


def _keep_start(
    aimed: JointedBones, start: BonesState, state: BonesState, target: Vector, accepted: float
) -> BonesState:
    """Return the start of a chain if the solved pose is not better, as ``keep_starts``."""
    bones = aimed.weigh(AIM_WEIGHTS[-1] * aimed.chain.reach)

    def find_merit(pose: BonesState) -> float:
        past = bones.restate(pose).past_aims
        gap: float = norm(FLOATS, subtract(target, pose.pose.points[-1]))
        return max(gap, accepted) + math.hypot(*past)

    gain = find_merit(start) - find_merit(state)
    return start if gain <= MIN_MOVE_GAIN * aimed.chain.reach else state


def _soften(start: StartPose, task: Task) -> tuple[Task, bool, float | None]:
    """Return a task relative to the root, its target softened, as ``joint_chains``.

    Also whether the target is too far for that, and by which distance it has moved.
    """
    related = relate_to_root(FLOATS, start, task.target, task)
    if task.soft_distance is None:
        return related, False, None
    far, near, tip = start.reach, start.least, ZERO
    if task.tip is not None and len(start.lengths) > 1:
        # A bone that takes a rotation does not bend to the target.
        far, near = map(float, measure_reach(start.lengths[:-1]))
        tip = find_arm(FLOATS, start, task)
    inputs = subtract(related.target, tip), far, near, task.soft_distance / start.unit
    target, shift, is_too_far = soften_target(FLOATS, ZERO, *inputs)
    return replace(related, target=add(target, tip)), is_too_far, shift * start.unit


def _bend(chain: FloatChain, task: Task) -> BonesState:
    """Return the start pose bent like a free chain, inside of ranges."""
    return newton_bones.clamp_state(chain.bones, bend_in_floats(chain.bend_start, task))


def _sweep(chain: FloatChain, task: Task, solver: Solver) -> tuple[BonesState, int]:
    """As ``sweep_joints``, of one chain."""
    inputs = Targets((task.target,)), task.tolerance, min(task.iterations, MOST_SWEEPS)
    pose, used = sweep_bones(FLOATS, solver, chain.bones.chain, chain.start_state.pose, *inputs)
    return newton_bones.clamp_state(chain.bones, pose.rotations), used


def _close(chain: FloatChain, task: Task, state: BonesState, used: int) -> tuple[BonesState, int]:
    """As ``Run.close``, of one chain."""
    cap = min(task.iterations, used + MAX_NEWTON_ITERATIONS)
    return _iterate(chain.bones, task, state, used, cap)


def _iterate(
    bones: JointedBones, task: Task, state: BonesState, used: int, cap: int
) -> tuple[BonesState, int]:
    """Repeat steps toward the target, and to the aims of the bones."""
    damped_state = state, FIRST_DAMPING, None
    start = Progress(damped_state, damped_state, state.find_error(task.target), used)
    method = NEWTON if bones.side is None else AIMING
    if bones.tip is not None:
        method = TURNING
    result = iterate(FLOATS, method, Work(bones, task.target, task.tolerance, cap), start)
    return result.best[0], result.used


def _find_side(limb: FloatLimb, task: Task, pole: Pole, arm: Vector) -> BendSide:
    """Return the side of the pole; angles past it are in radians."""
    end = subtract(task.target, arm)
    bend = plan_bend(FLOATS, limb.chord, limb.side, limb.reach, end, pole)
    side = scale(bend.side, -1.0 if task.use_flip else 1.0)
    is_faced = not task.use_flip and faces_by_bone(limb.bone_count, keeps_start=pole.keeps_start)
    carried = limb.carried_side if is_faced else ZERO
    across = cross(bend.chord, side)
    return BendSide(side, across, carried, limb.bone_count, limb.reach, bend.distance, 1.0)


def _find_tip_turn(chain: FloatChain, task: Task) -> TipTurn | None:
    """Return the goal rotation of the last bone, with errors in radians; None without one."""
    if task.tip is None:
        return None
    return TipTurn(quaternions.conjugate(quaternions.multiply(task.tip, chain.tip_start)), 1.0)


def _aim(
    bones: JointedBones, task: Task, state: BonesState, used: int, *, is_off_target: bool
) -> tuple[BonesState, int, bool]:
    """As ``Run.aim``, of one chain whose aims are in radians.

    Return the state, the iterations used, and whether arrays would go on with the turn of a tip.
    """
    reach, needs_arrays = bones.chain.reach, False
    for weight, most in zip(AIM_WEIGHTS, MAX_AIM_ITERATIONS, strict=True):
        aimed = bones.weigh(weight * reach)
        tolerance = min(task.tolerance, AIM_TOLERANCE * weight * reach)
        is_aimed = is_off_target or weight == AIM_WEIGHTS[-1]
        cap = min(task.iterations, used + most) if is_aimed else used
        aim_task, state = replace(task, tolerance=tolerance), aimed.restate(state)
        state, used = _iterate(aimed, aim_task, state, used, cap)
        is_unmet = state.find_error(task.target) > tolerance
        needs_arrays = is_unmet and is_aimed and bones.tip is not None
        if needs_arrays or not is_unmet:
            break
    return bones._replace(side=None, tip=None).restate(state), used, needs_arrays
