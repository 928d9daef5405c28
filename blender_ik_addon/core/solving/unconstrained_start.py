"""Where NEWTON starts inside of limits: bent as a free chain bends, as far as the joints allow.

The least turns from a start pose bend a long chain unevenly, and find the side that hinges bend to
slowly. A free chain keeps the shape of its start pose, or takes an arc. Its joints' turns, brought
into their ranges one by one, are near the solution, and often are it. From a start pose in one line
with its target no turn leads nearer: there runs of bones are bent a little first. A chain is a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..algebra import arrays, matrices, quaternions, turns
from ..algebra.arithmetic import ARRAYS, FLOATS, Array, Flags
from ..algebra.arrays import NO_DIRECTION, cross, norm, reject
from ..algebra.matrices import Matrix
from ..algebra.nested import Rows, to_floats
from ..algebra.quaternions import Quaternion
from ..algebra.vectors import Vector, smoothstep
from ..kinematics import joint_limits, swing_twist
from ..kinematics.bend_plane import Pole, plan_bend
from ..kinematics.compiled_joints import CompiledJoints
from ..kinematics.kinematic_tree import KinematicTree
from ..kinematics.posed import Posed, State
from ..kinematics.start_pose import StartPose, compile_start_poses, describe_start
from ..kinematics.task import Task
from ..model.options import Solver
from ..model.topology import Topology
from .free_chains import position_joints

# A start pose whose mean offset from its chord is less than this share of the reach is straight.
STRAIGHT = 0.02
# What starts straight with its target on its own line, to this share of the reach, is bent by this
# share of the way where no pose shall lead.
ON_LINE, NUDGE = 0.02, 0.1
# What is held at both ends is bent as if these came nearer by this share of the way between them.
NEARER = 0.05
# Iterations for the pose that runs of trees are bent to, which need not be exact.
ENOUGH = 20


@dataclass(frozen=True)
class UnconstrainedStart(Rows):
    """What a run of two bones or more bends from, in B trees.

    Attributes:
        run: Its bones.
        joints: Theirs.
        start: The start poses.
        bent: The same; of straight ones, bent to the middles of their joints' ranges.
        turn: The joints' turns there, whether allowed or not, shape (n, 4, B).
        inner: What expresses a rotation vector in the frame of each joint, less about axes that
            turn less readily, (n, 3, 3, B).
    """

    run: tuple[int, ...]
    joints: CompiledJoints
    start: StartPose
    bent: StartPose
    turn: Array
    inner: Array

    def alone(self, row: int) -> LoneStart:
        """Return what one of the runs bends from, in floats."""
        bent = self.bent
        directions = np.diff(bent.points, axis=0) / bent.lengths[:, None]
        return LoneStart(
            bent.alone(row),
            tuple(joint_limits.HINGES.get(kind) for kind in self.joints.kinds),
            *(to_floats(each, row) for each in (directions, self.turn, self.inner)),
        )


class LoneStart(NamedTuple):
    """What a run of one chain bends from: as ``UnconstrainedStart``, of bones one by one.

    Hinges are the numbers of their axes, None for other joints; directions are those of segments.
    """

    bent: StartPose
    hinges: tuple[int | None, ...]
    directions: tuple[Vector, ...]
    turn: tuple[Quaternion, ...]
    inner: tuple[Matrix, ...]


@dataclass(frozen=True)
class UnconstrainedStarts(Rows):
    """Of chains the whole chain, of trees the runs that some start poses have in one line."""

    runs: tuple[UnconstrainedStart, ...]


def compile_starts(
    tree: KinematicTree,
    posed: Posed,
    turn: Array,
    hints: Array,
    chain: StartPose | None,
    runs: Sequence[tuple[int, ...]],
    *,
    stays_near: bool,
) -> UnconstrainedStarts:
    """Return what chains bend from, or the straight runs of trees.

    Args:
        tree: The chains or trees.
        posed: Where their start poses put the bones.
        turn: The joints' turns there, shape (n, 4, B).
        hints: Where bones bend, zero for no hint, shape (n, 3, B).
        chain: The start poses of chains, in the units of the tree; None for trees.
        runs: Those of the topology that are looked at.
        stays_near: Whether a bend to both sides is no straight pose.
    """
    found = []
    for run in map(partial(_leave_ends, tree.topology, posed), runs):
        if len(run) < 2:
            continue
        points = _find_points(tree, run, posed)
        lengths = norm(np.diff(points, axis=0))
        if (lengths <= NO_DIRECTION).any() or not (chain or _may_be_straight(points, lengths)):
            continue
        start = chain or compile_start_poses(points, hints[list(run)].sum(axis=0))
        straight = is_straight(start, stays_near=stays_near)
        if chain or straight.any():
            found.append(_compile_run(tree, run, start, turn, straight))
    return UnconstrainedStarts(tuple(found))


def _compile_run(
    tree: KinematicTree, run: tuple[int, ...], start: StartPose, turn: Array, straight: Flags
) -> UnconstrainedStart:
    bones, turn = list(run), turn.copy()
    joints = tree.joints.take_bones(bones)
    if joints.has_stiffness:
        # A stiff joint would have to turn to the middle of its range first.
        straight = straight & (joints.mobility == 1.0).all(axis=(0, 1))
    turn[bones] = np.where(straight, _bend_to_middles(joints, turn[bones]), turn[bones])
    posed = tree.pose(turn)
    points = _find_points(tree, run, posed)
    bent = describe_start(start.root, start.unit, (points - points[0]) / start.unit, start.side)
    inner = arrays.invert(posed.turn_axes[bones])
    if joints.has_stiffness:
        axes = turns.to_matrices(turn[bones])
        inner = np.einsum("nikb,nkb,njkb,njlb->nilb", axes, joints.readiness, axes, inner)
    return UnconstrainedStart(run, joints, start, bent, turn[bones], inner)


def _leave_ends(topology: Topology, posed: Posed, run: tuple[int, ...]) -> tuple[int, ...]:
    """Return a run without a bone that floats, and without one that turns about an effector."""
    gaps = norm(posed.tips[list(topology.carried[run[-1]])] - posed.heads[run[-1]])
    is_about = gaps.size > 0 and bool((gaps <= NO_DIRECTION).all())
    return run[topology.floats and run[0] == 0 : len(run) - is_about]


def _find_points(tree: KinematicTree, run: tuple[int, ...], posed: Posed) -> Array:
    """Return the heads of a run and the middle of its ends, shape (n + 1, 3, B)."""
    topology, last = tree.topology, run[-1]
    children, effectors = list(topology.children[last]), list(topology.carried[last])
    ends = np.concatenate((posed.heads[children], posed.tips[effectors]))
    return np.concatenate((posed.heads[list(run)], ends.mean(axis=0)[None]))


def _may_be_straight(points: Array, lengths: Array) -> bool:
    """Tell whether any of the runs of points (n + 1, 3, B) is near to a line, at least in the mean.

    A run that is not needs no start pose.
    """
    chord, mean = points[-1] - points[0], points[1:-1].mean(axis=0) - points[0]
    off = norm(cross(chord, mean))
    return bool((off <= STRAIGHT * norm(chord) * lengths.sum(axis=0)).any())


def is_straight(start: StartPose, *, stays_near: bool) -> Any:
    """Tell which start poses lie on one line, nearly; or, but for those that stay near, to no side.

    Returns:
        Flags of shape (B,), or one of one chain.
    """
    return (start.off_chord if stays_near else start.bulge) < STRAIGHT * start.reach


def bend_as_free(run: UnconstrainedStart, task: Task) -> Array:
    """Return the turns (n, 4, B), whatever their ranges, that lead a run toward its targets.

    Source: derived for this project; tested in tests/core/solving/limits/test_smoothness.py and
    test_reach.py.
    """
    start, stays = run.bent, is_straight(run.bent, stays_near=task.stays_near)
    asked = task
    if task.pole is None and stays.any():
        # Straight runs bend to where they stood: that turns their roots least.
        ahead = Pole(stays, start.points[-1], np.zeros(len(stays)))
        asked = replace(task, pole=ahead)
    free = position_joints(ARRAYS, start, asked, Solver.NEWTON)
    whole = np.array(free.rotation)
    if stays.any():
        # Their side is no bend that they have had: they do not roll toward it.
        plain = plan_bend(ARRAYS, start.chord, start.side, start.reach, task.target, None)
        whole = np.where(stays, np.array(plain.rotation), whole)
    lengths = start.lengths[:, None, :]
    before = arrays.rotate(turns.to_matrices(whole), np.diff(start.points, axis=0) / lengths)
    bones = turns.multiply(turns.between(before, np.diff(free.points, axis=0) / lengths), whole)
    # How each bone turns beyond its parent, along the axes of the start pose.
    moved = bones.copy()
    moved[1:] = turns.multiply(turns.conjugate(bones[:-1]), bones[1:])
    local = np.einsum("nijb,njb->nib", run.inner, turns.to_vectors(moved))
    turned = turns.multiply(turns.from_vectors(local), run.turn)
    return joint_limits.keep_hinge_angles(run.joints.kinds, turned)


def bend_alone(run: LoneStart, task: Task) -> list[Quaternion]:
    """As ``bend_as_free``, of one chain."""
    m, start, asked = FLOATS, run.bent, task
    stays = is_straight(start, stays_near=task.stays_near)
    if stays and task.pole is None:
        asked = replace(task, pole=Pole(True, tuple(start.points[-1].tolist()), 0.0))
    free = position_joints(m, start, asked, Solver.NEWTON)
    whole, turned, back = free.rotation, [], quaternions.IDENTITY
    if stays:
        whole = plan_bend(m, start.chord, start.side, start.reach, task.target, None).rotation
    along = (free.points[1:] - free.points[:-1]) / start.lengths[:, None]
    for hinge, before, after, turn, inner in zip(
        run.hinges, run.directions, along.tolist(), run.turn, run.inner, strict=True
    ):
        swing = quaternions.between(m, quaternions.rotate(whole, before), after)
        orientation = quaternions.multiply(swing, whole)
        moved = quaternions.to_vector(m, quaternions.multiply(back, orientation))
        own = quaternions.from_vector(m, matrices.transform(inner, moved))
        turned.append(quaternions.multiply(own, turn))
        back = quaternions.conjugate(orientation)
        if hinge is not None:
            angle = joint_limits.find_hinge_angle(m, turned[-1], hinge)
            turned[-1] = quaternions.about(m, matrices.IDENTITY[hinge], angle)
    return turned


def bend_straight_runs(
    tree: KinematicTree, state: State, hints: Array, ends: Sequence[int]
) -> Array:
    """Return turns (n, 4, B) of which straight runs that lead to some effectors are bent a little.

    What holds the ends of a straight run leaves it no turn that is small: it looks like a strut.
    They bend as they would for ends a little nearer.

    Args:
        tree: The trees.
        state: Of their joints.
        hints: Where bones bend, zero for no hint, shape (n, 3, B).
        ends: The effectors.

    Source: derived for this project; tests/core/solving/test_body_goals.py starts from such poses.
    """
    turn, moves = state.turn, tree.topology.moves[:, list(ends)]
    led = [run for run in tree.topology.runs if moves[run[-1]].any()]
    starts = compile_starts(tree, state.posed, turn, hints, None, led, stays_near=True)
    bent = turn.copy()
    for run in starts.runs:
        start, bones = run.start, list(run.run)
        stays = is_straight(start, stays_near=True)
        nearer = (1.0 - NEARER) * start.points[-1]
        enough = np.full(nearer.shape[-1], ENOUGH)
        asked = Task(nearer, None, None, 1e-3 * start.reach, enough)
        bent[bones] = np.where(stays, run.joints.clamped(bend_as_free(run, asked)), bent[bones])
    return bent


def nudge_states(
    tree: KinematicTree,
    starts: UnconstrainedStarts,
    state: State,
    target: Array,
    task: Task | None,
    is_fresh: Flags,
) -> State:
    """Return states of which no run is straight and has its target on its own line.

    What is bent already, has its target aside, or slides, stays.

    Args:
        tree: The chains or trees.
        starts: What they bend from.
        state: Their start poses.
        target: Rows of the output, shape (3 E, B).
        task: What is asked of chains; None for trees.
        is_fresh: Which are not at their targets, shape (B,).

    Source: derived for this project; tests/core/solving/test_tree_reach.py starts from such poses.
    """
    if not (starts.runs and is_fresh.any()):
        return state
    turn, slide = state.turn.copy(), state.slide
    toward = tree.unweigh(target) - state.posed.tips
    weights = tree.sqrt_weights**2
    is_nudged = np.zeros(slide.shape[-1], dtype=np.bool_)
    for run in starts.runs:
        start, bones, led = run.start, list(run.run), tree.topology.moves[run.run[-1]]
        asked = task
        if asked is None:
            # Where the end of a run shall go is not known inside of a tree: as its effectors go.
            share = weights[led] / np.maximum(weights[led].sum(axis=0), NO_DIRECTION)
            place = start.points[-1] + (toward[led] * share[:, None]).sum(axis=0) / start.unit
            enough = np.full(place.shape[-1], ENOUGH)
            asked = Task(place, None, None, 1e-3 * start.reach, enough)
        off = norm(reject(asked.target, start.chord)) / start.reach
        amount = (
            NUDGE
            * (1.0 - smoothstep(ARRAYS, off, 0.0, ON_LINE))
            * is_straight(start, stays_near=asked.stays_near)
        )
        amount *= is_fresh & ~tree.joints.slides & (norm(toward[led]) > NO_DIRECTION).any(axis=0)
        if amount.any():
            bent = run.joints.clamped(bend_as_free(run, asked))
            turn[bones] = turns.interpolate(turn[bones], bent, amount)
            is_nudged |= amount > 0.0
    if not is_nudged.any():
        return state
    return tree.clamp_state(turn, slide).choose(is_nudged, state)


def _bend_to_middles(joints: CompiledJoints, start_turn: Array) -> Array:
    """Return turns with all joints but the root in the middles of their swings' ranges."""
    middle, _ = joints.find_middles()
    middle[:, 1] = 0.0
    turn = joints.clamped(turns.from_vectors(middle))
    is_even = (np.abs(middle).max(axis=1) < swing_twist.HELD) & (joints.zero[:, 0] == 1.0)
    turn = np.where(is_even[:, None], start_turn, turn)
    turn[0] = start_turn[0]
    return turn
