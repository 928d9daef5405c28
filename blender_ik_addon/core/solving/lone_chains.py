"""Chains with joints one by one, in floats: bent as free ones bend, then NEWTON.

Only what arrives soon is solved so. All the rest is left to ``joint_positions``, which would do the
same first; so a pose does not depend on which of the two has found it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..algebra import quaternions
from ..algebra.arithmetic import FLOATS, Array, Counts, Number
from ..algebra.nested import to_floats
from ..algebra.quaternions import Quaternion
from ..algebra.vectors import Vector, add, cross, norm, scale, subtract
from ..kinematics.aims import NO_SIDE
from ..kinematics.bend_plane import plan_bend
from ..kinematics.compiled_bones import compile_bones
from ..kinematics.kinematic_tree import KinematicTree
from ..kinematics.start_pose import StartPose
from ..model.goals import Goals
from ..model.options import SolveOptions
from ..model.solutions import Solutions
from ..model.status import name_outcome
from ..solvers import newton_bones
from ..solvers.newton_bones import JointedBones, Side, Stance
from ..solvers.newton_directions import FIRST_DAMPING
from .iteration import Method, Progress, Work, iterate, stands_still
from .joint_run import (
    AIM_TOLERANCE,
    AIM_WEIGHTS,
    ENOUGH,
    ENOUGH_TO_AIM,
    NEAR,
    SLOW,
    leave_at,
)
from .restarts import ASIDE
from .task import AT_REACH, Task, accept_distance, ask_each, relate_to_root
from .unconstrained_start import LoneStart, UnconstrainedStart, bend_alone

# What comes nearer slowly is not soon there.
CLOSING = Method(newton_bones.step, is_damped=True, is_hopeless=leave_at(SLOW))
AIMING = Method(newton_bones.step, is_damped=True, is_hopeless=stands_still)


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
) -> tuple[Solutions | None, Counts]:
    """Return the poses of chains that arrive soon, None if there are none; and all other rows."""
    left, tasks = np.arange(len(chains)), list(ask_each(goals, options, len(chains)))
    is_blended = tasks[0].pole is not None and options.orient_weight < 1.0
    if is_blended or tasks[0].tip is not None or tasks[0].soft_distance is not None:
        return None, left
    poses = list(map(_pose, chains, tasks))
    found = [pose for pose in poses if pose is not None]
    left = np.array([row for row, pose in enumerate(poses) if pose is None], dtype=np.int64)
    return _record(found) if found else None, left


def _pose(chain: LoneChain, task: Task) -> LonePose | None:
    """Return the pose that brings the effector to its target; None where it does not soon."""
    start = chain.start
    m, unit = FLOATS, start.unit
    related = relate_to_root(m, start, task.target, task)
    distance = norm(m, related.target)
    found = _reach(chain, related) if distance < start.reach * (1.0 - AT_REACH) else None
    if found is None:
        return None
    stance, used = found
    joints = [add(scale(point, unit), start.root) for point in stance.pose.points]
    residual = norm(m, subtract(joints[-1], task.target))
    accepted = accept_distance(m, task.tolerance, start.reach * unit, task.target)
    code = name_outcome(m, residual, accepted, False, distance < start.least)
    zeros = zip(chain.zero, stance.pose.rotations, strict=True)
    turned = [quaternions.multiply(zero, turn) for zero, turn in zeros]
    return LonePose(joints, turned, residual, used, code)


def _reach(chain: LoneChain, task: Task) -> tuple[Stance, int] | None:
    """Return a stance at a target that is relative to the root, and the iterations used."""
    target, accepted = task.target, max(task.tolerance, NEAR * chain.start.reach)
    stance, used = chain.begun, 0
    is_fresh = stance.find_gap(target) > accepted
    if is_fresh:
        stance = newton_bones.stand(chain.bones, bend_alone(chain.bends_from, task))
    side = None if task.pole is None else _find_side(chain.start, task)
    if side is not None:
        stance, used = _aim(chain, side, task, stance, is_fresh=is_fresh)
    if stance.find_gap(target) > accepted:
        cap = min(task.iterations, used + ENOUGH)
        stance, used = _iterate(CLOSING, chain.bones, task, stance, used, cap)
        if stance.find_gap(target) > accepted:
            return None
    if side is not None and chain.can_swivel:
        past, _ = side.measure(stance.pose.points)
        return None if abs(past) > ASIDE else (stance, used)
    return stance, used


def _iterate(
    method: Method, bones: JointedBones, task: Task, stance: Stance, used: int, cap: int
) -> tuple[Stance, int]:
    """Repeat steps toward the target, and to the side of the bones."""
    state = stance, FIRST_DAMPING, None
    begun = Progress(state, state, stance.find_gap(task.target), used)
    found = iterate(FLOATS, method, Work(bones, task.target, task.tolerance, cap), begun)
    return found.best[0], found.used


def _find_side(start: StartPose, task: Task) -> Side:
    """Return the side of the pole, in radians."""
    bend = plan_bend(FLOATS, start.chord, start.side, start.reach, task.target, task.pole)
    side = scale(bend.side, -1.0 if task.use_flip else 1.0)
    return Side(side, cross(bend.chord, side), (NO_SIDE * start.reach) ** 2, 1.0)


def _aim(
    chain: LoneChain, side: Side, task: Task, stance: Stance, *, is_fresh: bool
) -> tuple[Stance, int]:
    """As ``Run.aim``: bring the effector to its target and the bend to its side, as far as can."""
    used, reach = 0, chain.bones.chain.reach
    for weight, enough in zip(AIM_WEIGHTS, ENOUGH_TO_AIM, strict=True):
        bones = chain.bones._replace(side=side._replace(weight=weight * reach))
        finest = min(task.tolerance, AIM_TOLERANCE * weight * reach)
        is_led = is_fresh or weight == AIM_WEIGHTS[-1]
        cap = min(task.iterations, used + enough) if is_led else used
        asked, stance = replace(task, tolerance=finest), bones.measure(stance)
        stance, used = _iterate(AIMING, bones, asked, stance, used, cap)
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
