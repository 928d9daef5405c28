"""Where NEWTON starts inside of limits: bent as a free chain bends, as far as the joints allow.

The least turns from a start pose bend a long chain unevenly, and find the side that hinges bend to
slowly. A free chain keeps the shape of its start pose, or takes an arc. Its joints' turns, brought
into their ranges one by one, are near the solution, and often are it. From a start pose in one line
with its target no turn leads nearer: there chains, and the runs of trees, are bent a little first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..algebra import arrays, turns
from ..algebra.arithmetic import ARRAYS, Array, Flags
from ..algebra.arrays import norm, reject
from ..algebra.nested import Rows
from ..algebra.vectors import smoothstep
from ..kinematics import joint_limits, limit_edges, swing_twist
from ..kinematics.bend_plane import Pole, plan_bend
from ..kinematics.compiled_joints import CompiledJoints
from ..kinematics.kinematic_tree import TURN, KinematicTree
from ..kinematics.posed import Posed
from ..kinematics.start_pose import StartPose, compile_start_poses, move_joints
from ..model.options import Solver
from ..model.topology import BoneRun
from .free_chains import Positions, position_joints
from .task import Task

# A start pose whose mean offset from its chord is less than this share of the reach is straight.
STRAIGHT = 0.02
# What starts straight with its target on its own line, to this share of the reach, is bent by this
# share of the way where no pose shall lead.
ON_LINE, NUDGE = 0.02, 0.1
# Iterations for the pose that runs of trees are bent to, which need not be exact.
ENOUGH = 20


@dataclass(frozen=True)
class UnconstrainedStart(Rows):
    """What B chains bend from.

    Attributes:
        joints: Of the chains.
        start: The start poses; of straight ones, bent to the middles of their joints' ranges.
        turn: The joints' turns there, whether allowed or not, shape (n, 4, B).
        inner: What expresses a rotation vector in the frame of each joint, (n, 3, 3, B).
        is_straight: Which are straight all the same, and bend to where they stood, shape (B,).
    """

    joints: CompiledJoints
    start: StartPose
    turn: Array
    inner: Array
    is_straight: Flags


@dataclass(frozen=True)
class StraightRuns(Rows):
    """The runs that some start poses of trees have in one line."""

    runs: tuple[StraightRun, ...]


@dataclass(frozen=True)
class StraightRun(Rows):
    """A run of trees that some start poses have in one line.

    Attributes:
        run: Its bones.
        bend: What it bends from.
        is_straight: Which of the trees have it so, shape (B,).
    """

    run: BoneRun
    bend: UnconstrainedStart
    is_straight: Flags


def compile_start(start: StartPose, tree: KinematicTree, start_turn: Array) -> UnconstrainedStart:
    """Return what chains bend from.

    Args:
        start: Start poses.
        tree: The chains.
        start_turn: Their turns, whether the joints allow them or not, shape (n, 4, B).
    """
    straight = is_straight(start)
    if tree.joints.has_stiffness:
        # A stiff joint would have to turn to the middle of its range first.
        straight &= (tree.joints.mobility == 1.0).all(axis=(0, 1))
    turn = np.where(straight, _bend_to_middles(tree.joints, start_turn), start_turn)
    posed = tree.posed(tree.make_state(turn))
    start = move_joints(start, posed.points)
    inner = arrays.invert(posed.turn_axes)
    return UnconstrainedStart(tree.joints, start, turn, inner, is_straight(start))


def find_straight_runs(
    tree: KinematicTree, posed: Posed, turn: Array, bends: Array
) -> StraightRuns:
    """Return the runs of two bones or more that are straight in some tree.

    Args:
        tree: The trees.
        posed: Where their start poses put the bones.
        turn: Of their start poses, shape (n, 4, B).
        bends: Where they bend, zero for no hint, shape (n, 3, B).
    """
    found = []
    for run in tree.topology.runs:
        bones = list(run.bones)
        ends = np.concatenate((posed.heads[list(run.children)], posed.tips[list(run.effectors)]))
        points = np.concatenate((posed.heads[bones], ends.mean(axis=0)[None]))
        has_lengths = (norm(np.diff(points, axis=0)) > arrays.NO_DIRECTION).all()
        if len(bones) > 1 and has_lengths:
            start = compile_start_poses(points, bends[bones].sum(axis=0))
            straight = is_straight(start)
            if straight.any():
                inner = arrays.invert(posed.turn_axes[bones])
                joints = tree.joints.take_bones(bones)
                never = np.zeros_like(straight)
                bend = UnconstrainedStart(joints, start, turn[bones], inner, never)
                found.append(StraightRun(run, bend, straight))
    return StraightRuns(tuple(found))


def is_straight(start: StartPose) -> Flags:
    """Tell which start poses lie on one line, nearly."""
    straight: Flags = start.bulge < STRAIGHT * start.reach
    return straight


def bend_as_free(bend: UnconstrainedStart, task: Task) -> Array:
    """Return the turns (n, 4, B), whatever their ranges, that lead chains toward their targets.

    Source: derived for this project; tested in tests/core/solving/limits/test_smoothness.py and
    test_limited_reach.py.
    """
    start = bend.start
    asked = task
    if task.pole is None and bend.is_straight.any():
        # Straight chains bend to where they stood: that turns their roots least.
        ahead = Pole(bend.is_straight, start.points[-1], np.zeros(len(bend.is_straight)))
        asked = replace(task, pole=ahead)
    free = position_joints(ARRAYS, start, asked, Solver.NEWTON)
    moved = _turn_on_parents(bend, task, free)
    local = np.einsum("nijb,njb->nib", bend.inner, turns.to_vectors(moved))
    if bend.joints.has_stiffness:
        weights = limit_edges.weigh_axes(bend.turn, bend.joints.readiness)
        local = np.einsum("nijb,njb->nib", weights, local)
    turned = turns.multiply(turns.from_vectors(local), bend.turn)
    return joint_limits.keep_hinge_angles(bend.joints.kinds, turned)


def nudge_chains(
    bend: UnconstrainedStart, start: StartPose, tree: KinematicTree, standing: Array, task: Task
) -> Array:
    """Return states (n + 1, C, B) of which none is straight and has its target on its own line.

    What is bent already, has its target aside, or slides, stays.

    Args:
        bend: What the chains bend from.
        start: Their start poses.
        tree: The chains.
        standing: The states of their start poses, shape (n + 1, C, B).
        task: What is asked for.
    """
    share = _find_share(start, task.target) * is_straight(start) * ~tree.joints.slides
    if len(standing) == 2 or not share.any():
        return standing
    bent = tree.joints.clamped(bend_as_free(bend, task))
    turn = turns.interpolate(standing[:-1, :TURN], bent, share)
    return tree.make_state(tree.joints.clamped(turn), standing[:-1, TURN])


def nudge_runs(
    tree: KinematicTree, straight: StraightRuns, standing: Array, target: Array
) -> Array:
    """Return states (n + 1, C, B) of which no straight run has its target on its own line.

    Args:
        tree: The trees.
        straight: Their straight runs.
        standing: The states of their start poses, shape (n + 1, C, B).
        target: Rows of the output, shape (3 E, B).

    Source: derived for this project; tests/core/solving/test_tree_reach.py starts from such poses.
    """
    if not straight.runs:
        return standing
    posed, turn = tree.posed(standing), standing[:-1, :TURN].copy()
    toward = tree.unweigh(target) - posed.tips
    weights = np.ones((len(toward), 1)) if tree.sqrt_weights is None else tree.sqrt_weights**2
    for each in straight.runs:
        led, start, bones = list(each.run.led), each.bend.start, list(each.run.bones)
        # Where the end of a run shall go is not known inside of a tree: as its effectors go.
        share = weights[led] / np.maximum(weights[led].sum(axis=0), arrays.NO_DIRECTION)
        offset = (toward[led] * share[:, None]).sum(axis=0)
        place = start.points[-1] + offset / start.unit
        amount = _find_share(start, place) * each.is_straight
        amount *= norm(offset) > arrays.NO_DIRECTION
        if amount.any():
            tolerance, caps = 1e-3 * start.reach, np.full(len(amount), ENOUGH)
            bent = bend_as_free(each.bend, Task(place, None, None, tolerance, caps))
            turn[bones] = turns.interpolate(turn[bones], bent, amount)
    return tree.clamp_state(turn)


def _find_share(start: StartPose, target: Array) -> Array:
    """Return the share of the way to bend, for a target so far off the chord's line, (B,)."""
    off = norm(reject(target, start.chord)) / start.reach
    share: Array = NUDGE * (1.0 - smoothstep(ARRAYS, off, 0.0, ON_LINE))
    return share


def _turn_on_parents(bend: UnconstrainedStart, task: Task, free: Positions) -> Array:
    """Return how each bone turns beyond its parent, along the axes of the start pose."""
    start, whole = bend.start, np.array(free.rotation)
    if bend.is_straight.any():
        # Their side is no bend that they have had: they do not roll toward it.
        plain = plan_bend(ARRAYS, start.chord, start.side, start.reach, task.target, None)
        whole = np.where(bend.is_straight, np.array(plain.rotation), whole)
    lengths = start.lengths[:, None, :]
    before = arrays.rotate(turns.to_matrices(whole), np.diff(start.points, axis=0) / lengths)
    bones = turns.multiply(turns.between(before, np.diff(free.points, axis=0) / lengths), whole)
    moved = bones.copy()
    moved[1:] = turns.multiply(turns.conjugate(bones[:-1]), bones[1:])
    return moved


def _bend_to_middles(joints: CompiledJoints, start_turn: Array) -> Array:
    """Return turns with all joints but the root in the middles of their swings' ranges."""
    rooms = [
        joint_limits.lock_axes(*each)
        for each in zip(joints.kinds, joints.low, joints.high, strict=True)
    ]
    low, high = (np.array(ends) for ends in zip(*rooms, strict=True))
    least, most = joint_limits.find_spans(low, high)
    middle = 0.5 * (least + most)
    middle[:, 1] = 0.0
    turn = joint_limits.clamp_turns(joints.ranges, turns.from_vectors(middle))
    is_even = (np.abs(middle).max(axis=1) < swing_twist.HELD) & (joints.zero[:, 0] == 1.0)
    turn = np.where(is_even[:, None], start_turn, turn)
    turn[0] = start_turn[0]
    return turn
