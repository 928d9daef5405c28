"""Chains with joints one by one, in floats: bent as free ones bend, or swept, then NEWTON.

Only what arrives so is solved here. All the rest is left to ``joint_positions``, which would do the
same first and goes on; so a pose does not depend on which of the two has found it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..algebra import quaternions
from ..algebra.arithmetic import FLOATS, Array, Counts, Number
from ..algebra.nested import to_floats
from ..algebra.quaternions import Quaternion
from ..algebra.vectors import Vector, add, cross, norm, reject, scale, subtract
from ..kinematics.aims import NO_SIDE
from ..kinematics.bend_plane import plan_bend
from ..kinematics.bones import Targets
from ..kinematics.compiled_bones import compile_bones
from ..kinematics.kinematic_tree import KinematicTree
from ..kinematics.start_pose import StartPose
from ..kinematics.task import (
    AT_REACH,
    FINEST_TOLERANCE,
    Task,
    accept_distance,
    ask_each,
    relate_to_root,
)
from ..model.goals import Goals
from ..model.options import SolveOptions, Solver
from ..model.solutions import Solutions
from ..model.status import name_outcome
from ..solvers import newton_bones
from ..solvers.newton_bones import JointedBones, Side, Stance
from ..solvers.newton_directions import FIRST_DAMPING
from . import joint_run
from .iteration import Progress, Work, iterate
from .joint_run import AIM_TOLERANCE, AIM_WEIGHTS, ENOUGH, ENOUGH_TO_AIM, NEAR
from .restarts import ASIDE
from .sweeps import MOST_SWEEPS, SWEPT, sweep_bones
from .unconstrained_start import ON_LINE, LoneStart, UnconstrainedStart, bend_alone, is_straight

NEWTON = replace(joint_run.NEWTON, step=newton_bones.step)
AIMING = replace(joint_run.AIMING, step=newton_bones.step)


class LoneChain(NamedTuple):
    """One chain with joints: its start pose and bones, and where these begin, inside their ranges.

    What it bends from, in the units of the bones; and what the joints count from.
    """

    start: StartPose
    bones: JointedBones
    begun: Stance
    bends_from: LoneStart
    zero: tuple[Quaternion, ...]
    can_swivel: bool


class Begun(NamedTuple):
    """Turns of joints that are no start poses, (n, 4, B), and the iterations used, (B,)."""

    turn: Array
    used: Counts


class _Tried(NamedTuple):
    """A stance, the iterations used, and whether it is the solution; None where it is no start.

    And whether the target is out of reach.
    """

    stance: Stance
    used: int
    has_arrived: bool | None
    is_far: bool = False


class LonePose(NamedTuple):
    """Joints in armature space, local rotations, the distance left, iterations, and the status."""

    joints: list[Vector]
    rotations: list[Quaternion]
    residual: float
    iterations: int
    code: Number


def compile_lone_chains(
    starts: tuple[StartPose, ...], tree: KinematicTree, begun: Array, run: UnconstrainedStart
) -> tuple[LoneChain, ...] | None:
    """Return chains one by one; None for such as floats do not know."""
    joints = tree.joints
    if tree.slide_axes is not None or joints.has_stiffness or tree.topology.unturned:
        return None
    chains, found = compile_bones(tree, is_few=True), []
    if not all(chain.is_rigid for chain in chains):
        return None
    for row, (start, chain) in enumerate(zip(starts, chains, strict=True)):
        is_lock = joints.is_held[..., row].tolist()
        locks = tuple(
            tuple(edge for edge in range(3) if bone.joint is not None and flags[edge])
            for bone, flags in zip(chain.bones, is_lock, strict=True)
        )
        bones = JointedBones(chain, locks)
        begin = newton_bones.stand(bones, to_floats(begun, row))
        found.append(
            LoneChain(
                start, bones, begin, run.alone(row), to_floats(joints.zero, row), tree.can_swivel
            )
        )
    return tuple(found)


def solve_alone(
    chains: tuple[LoneChain, ...], goals: Goals, options: SolveOptions
) -> tuple[list[tuple[Counts, Solutions]], list[tuple[Counts, Begun | None]]]:
    """Return rows that have arrived, with their solutions; and others, from where to go on.

    None stands for the start.
    """
    tasks = list(ask_each(goals, options, len(chains)))
    is_blended = tasks[0].pole is not None and options.orient_weight < 1.0
    if is_blended or tasks[0].tip is not None or tasks[0].soft_distance is not None:
        return [], [(np.arange(len(chains)), None)]
    tried = [_try(*each, options.solver) for each in zip(chains, tasks, strict=True)]
    arrived, stopped, fresh = (
        np.array(
            [row for row, each in enumerate(tried) if each.has_arrived is flag], dtype=np.int64
        )
        for flag in (True, False, None)
    )
    found: list[tuple[Counts, Solutions]] = []
    left: list[tuple[Counts, Begun | None]] = []
    if arrived.size:
        poses = [_pose(chains[row], tasks[row], tried[row]) for row in arrived]
        found.append((arrived, _record(poses)))
    if stopped.size:
        turns = [tried[row].stance.pose.rotations for row in stopped]
        used = np.array([tried[row].used for row in stopped])
        left.append((stopped, Begun(np.array(turns).transpose(1, 2, 0).copy(), used)))
    if fresh.size:
        left.append((fresh, None))
    return found, left


def _pose(chain: LoneChain, task: Task, tried: _Tried) -> LonePose:
    """Return the pose of a chain whose effector has arrived, in armature space."""
    m, start = FLOATS, chain.start
    joints = [add(scale(point, start.unit), start.root) for point in tried.stance.pose.points]
    residual = norm(m, subtract(joints[-1], task.target))
    accepted = accept_distance(m, task.tolerance, start.reach * start.unit, task.target)
    is_too_near = norm(m, subtract(task.target, start.root)) < start.least * start.unit
    code = name_outcome(m, residual, accepted, tried.is_far, is_too_near)
    zeros = zip(chain.zero, tried.stance.pose.rotations, strict=True)
    turned = [quaternions.multiply(zero, turn) for zero, turn in zeros]
    return LonePose(joints, turned, residual, tried.used, code)


def _try(chain: LoneChain, task: Task, solver: Solver) -> _Tried:
    """Bend or sweep a chain toward its target, and bend it to the side of its pole."""
    start, reach = chain.start, chain.bones.chain.reach
    task = asked = relate_to_root(FLOATS, start, task.target, task)
    stance, used, is_swept = chain.begun, 0, solver in SWEPT
    distance = norm(FLOATS, task.target)
    is_far = distance >= reach * (1.0 - AT_REACH)
    if distance > reach:
        near = scale(task.target, reach / distance)
        task = replace(task, target=near, tolerance=FINEST_TOLERANCE * reach)
    accepted = max(task.tolerance, NEAR * reach)
    is_fresh = stance.find_gap(task.target) > accepted
    if is_swept:
        off = norm(FLOATS, reject(task.target, start.chord))
        if is_far or (
            is_straight(start, stays_near=task.stays_near) and off < ON_LINE * start.reach
        ):
            return _Tried(stance, used, None)
        stance, used = _sweep(chain, task, solver)
    elif is_fresh:
        stance = newton_bones.stand(chain.bones, bend_alone(chain.bends_from, asked))
    side = None if task.pole is None else _find_side(start, task)
    if side is not None:
        stance, used = _aim(chain, side, task, stance, used, is_fresh=is_fresh)
    gap = stance.find_gap(task.target)
    if is_far and gap > accepted:
        return _Tried(stance, used, None)
    if gap > (task.tolerance if is_swept and side is None else accepted):
        cap, begun = min(task.iterations, used + ENOUGH), stance
        stance, used = _iterate(chain.bones, task, stance, used, cap)
        if stance.find_gap(task.target) > accepted:
            # Where the pole leads astray, the way without it is looked for from the start.
            return _Tried(begun, used, False if side is None else None)
    is_aside = side is not None and abs(side.measure(stance.pose.points)[0]) > ASIDE
    return _Tried(stance, used, not (is_aside and chain.can_swivel), is_far)


def _sweep(chain: LoneChain, task: Task, solver: Solver) -> tuple[Stance, int]:
    """As ``sweep_joints``, of one chain."""
    asked = Targets((task.target,)), task.tolerance, min(task.iterations, MOST_SWEEPS)
    pose, used = sweep_bones(FLOATS, solver, chain.bones.chain, chain.begun.pose, *asked)
    return newton_bones.stand(chain.bones, pose.rotations), used


def _iterate(
    bones: JointedBones, task: Task, stance: Stance, used: int, cap: int
) -> tuple[Stance, int]:
    """Repeat steps toward the target, and to the side of the bones."""
    state = stance, FIRST_DAMPING, None
    begun = Progress(state, state, stance.find_gap(task.target), used)
    method = NEWTON if bones.side is None else AIMING
    found = iterate(FLOATS, method, Work(bones, task.target, task.tolerance, cap), begun)
    return found.best[0], found.used


def _find_side(start: StartPose, task: Task) -> Side:
    """Return the side of the pole, in radians."""
    bend = plan_bend(FLOATS, start.chord, start.side, start.reach, task.target, task.pole)
    side = scale(bend.side, -1.0 if task.use_flip else 1.0)
    return Side(side, cross(bend.chord, side), (NO_SIDE * start.reach) ** 2, 1.0)


def _aim(
    chain: LoneChain, side: Side, task: Task, stance: Stance, used: int, *, is_fresh: bool
) -> tuple[Stance, int]:
    """As ``Run.aim``: bring the effector to its target and the bend to its side, as far as can."""
    reach = chain.bones.chain.reach
    for weight, enough in zip(AIM_WEIGHTS, ENOUGH_TO_AIM, strict=True):
        bones = chain.bones._replace(side=side._replace(weight=weight * reach))
        finest = min(task.tolerance, AIM_TOLERANCE * weight * reach)
        is_led = is_fresh or weight == AIM_WEIGHTS[-1]
        cap = min(task.iterations, used + enough) if is_led else used
        asked, stance = replace(task, tolerance=finest), bones.measure(stance)
        stance, used = _iterate(bones, asked, stance, used, cap)
        if stance.find_gap(task.target) <= finest:
            break
    return chain.bones.measure(stance), used


def _record(poses: list[LonePose]) -> Solutions:
    count, bones = len(poses), len(poses[0].rotations)
    return Solutions(
        joint_positions=np.array([pose.joints for pose in poses]),
        chain_rotation_wxyz=np.array([quaternions.IDENTITY] * count),
        tip_rotation_wxyz=None,
        residual=np.array([pose.residual for pose in poses]),
        iterations=np.array([pose.iterations for pose in poses], dtype=np.int64),
        status_code=np.array([pose.code for pose in poses], dtype=np.int8),
        local_rotations_wxyz=np.array([pose.rotations for pose in poses]),
        slides=np.zeros((count, bones)),
        holds=np.zeros((count, bones, 3), dtype=np.bool_),
        tip_gap=np.zeros(count),
    )
