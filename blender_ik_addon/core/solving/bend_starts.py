"""Starts of NEWTON inside of limits: bent like a free chain, as far as the joints allow.

The least turns from a start pose bend a long chain unevenly, and find the side that hinges bend to
slowly. A free chain keeps the shape of its start pose, or takes an arc. Its joints' turns, brought
into their ranges, are near the solution, and often exact. A column that slews, and fixed bones
before the first that bends, stay out of it, or they would lean, and others bend to the wrong
side. From a start pose in one line with its target no turn leads nearer: runs are bent first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..algebra import arrays, matrices, quaternions, turns, vectors
from ..algebra.arithmetic import ARRAYS, FLOATS, Arithmetic, Array, Flags
from ..algebra.arrays import MIN_LENGTH, cross, norm, reject
from ..algebra.matrices import Matrix
from ..algebra.nested import Rows, to_floats
from ..algebra.quaternions import Quaternion
from ..algebra.vectors import Vector, add, smoothstep, subtract
from ..kinematics import joint_limits, swing_twist
from ..kinematics.aims import Aims
from ..kinematics.bend_plane import Base, Pole, plan_bend, slew_base
from ..kinematics.compiled_joints import CompiledJoints
from ..kinematics.kinematic_tree import KinematicTree
from ..kinematics.posed import Posed, State
from ..kinematics.start_pose import (
    StartPose,
    compile_base,
    compile_start_poses,
    count_base_bones,
    describe_start,
)
from ..kinematics.task import Task
from ..model.options import Solver
from ..model.topology import Topology
from .free_chains import position_joints

# Share of the reach: a start pose with a smaller mean offset from its chord is straight.
MAX_STRAIGHT_OFFSET = 0.02
# Share of the reach within which the target is on the line of a straight start pose, and the share
# of the way to the bent pose that such a pose is nudged by.
LINE_OFFSET, NUDGE_SHARE = 0.02, 0.1
# Runs that are held at both ends bend as if these came nearer by this share of their distance.
SHORTENING = 0.05
# Rolls of a limb to its pole: each leaves a hundredth of the angle. Iterations for the bent pose of
# runs of trees, which need not be exact.
MAX_ROLLS, MAX_BEND_ITERATIONS = 3, 20


@dataclass(frozen=True)
class BendStart(Rows):
    """The start of a run of two or more bones that bends like a free chain, in B trees.

    Attributes:
        run: Indices of its bones.
        joints: Their joints.
        base: The bones before the first that bends; None without them, as ``count_base_bones``.
        start: The start poses of the others.
        bent: The same; straight ones are bent to the middles of their joints' ranges.
        turn: The turns of all joints in these, whether allowed or not, shape (n, 4, B).
        inner: Matrices from rotation vectors to the frame of each joint, less about stiffer axes,
            shape (n, 3, 3, B).
    """

    run: tuple[int, ...]
    joints: CompiledJoints
    base: Base | None
    start: StartPose
    bent: StartPose
    turn: Array
    inner: Array

    def from_root(self, point: Array) -> Array:
        """Return a point (3, B) relative to the root, from one relative to the end of the base."""
        return point if self.base is None else self.base.head + point

    def alone(self, row: int) -> FloatBendStart:
        """Return the start of one row, in floats."""
        bent, base = self.bent, self.base
        directions = np.diff(bent.points, axis=0) / bent.lengths[:, None]
        return FloatBendStart(
            None if base is None else Base(base.bone, *(to_floats(part, row) for part in base[1:])),
            self.start.alone(row),
            bent.alone(row),
            tuple(joint_limits.HINGES.get(kind) for kind in self.joints.kinds),
            *(to_floats(array, row) for array in (directions, self.turn, self.inner)),
        )


class FloatBendStart(NamedTuple):
    """The start of a run of one chain: as ``BendStart``, of bones one by one.

    Hinges are the numbers of their axes, None for other joints; directions are those of segments.
    """

    base: Base | None
    start: StartPose
    bent: StartPose
    hinges: tuple[int | None, ...]
    directions: tuple[Vector, ...]
    turn: tuple[Quaternion, ...]
    inner: tuple[Matrix, ...]


@dataclass(frozen=True)
class BendStarts(Rows):
    """The starts of whole chains, or of runs of trees that some start poses have in one line."""

    runs: tuple[BendStart, ...]


def compile_starts(
    tree: KinematicTree,
    posed: Posed,
    turn: Array,
    hints: Array,
    chain: StartPose | None,
    runs: Sequence[tuple[int, ...]],
    *,
    stays_near: bool,
) -> BendStarts:
    """Return the starts of chains, or of the straight runs of trees.

    Args:
        tree: The chains or trees.
        posed: Start poses of their bones.
        turn: The joints' turns in these, shape (n, 4, B).
        hints: Where bones bend, zero for no hint, shape (n, 3, B).
        chain: The start poses of chains, in the units of the tree; None for trees.
        runs: Runs of the topology to compile.
        stays_near: Whether a pose that bends to both sides counts as bent, not as straight.
    """
    starts = []
    for run in map(partial(_leave_ends, tree.topology, posed), runs):
        if len(run) < 2:
            continue
        base_count = count_base_bones([tree.joints.kinds[bone] for bone in run])
        points = _find_points(tree, run, posed)[base_count:]
        lengths = norm(np.diff(points, axis=0))
        if (lengths <= MIN_LENGTH).any() or not (chain or _may_be_straight(points, lengths)):
            continue
        hint = hints[list(run)].sum(axis=0)
        start = chain or compile_start_poses(points, hint)
        if chain and base_count:
            start = describe_start(chain.root, chain.unit, points - points[0], hint)
        is_line = is_straight(start, stays_near=stays_near)
        if chain and tree.limited is not None:
            # A bend that no joint makes does not show to which side joints bend.
            bent_by = tree.farthest - norm(posed.tips[0] - posed.heads[0])
            is_line |= np.abs(bent_by) < 2.0 * MAX_STRAIGHT_OFFSET**2 * tree.reach
        if chain or is_line.any():
            starts.append(_compile_run(tree, run, start, turn, is_line))
    return BendStarts(tuple(starts))


def _compile_run(
    tree: KinematicTree, run: tuple[int, ...], start: StartPose, turn: Array, is_line: Flags
) -> BendStart:
    bones, turn, base_count = list(run), turn.copy(), len(run) - len(start.lengths)
    joints = tree.joints.take_bones(bones)
    if joints.has_stiffness:
        # A stiff joint would have to turn to the middle of its range first.
        is_line = is_line & (joints.mobility == 1.0).all(axis=(0, 1))
    turn[bones] = np.where(is_line, _bend_to_middles(joints, turn[bones], base_count), turn[bones])
    posed = tree.pose(turn)
    points = _find_points(tree, run, posed)
    points = (points - points[0]) / start.unit
    head = points[base_count]
    bent = describe_start(start.root, start.unit, points[base_count:] - head, start.side)
    base = compile_base(joints, turn[bones], posed.turn_axes[bones], points, base_count)
    inner = arrays.invert(posed.turn_axes[bones])
    if joints.has_stiffness:
        axes = turns.to_matrices(turn[bones])
        inner = np.einsum("nikb,nkb,njkb,njlb->nilb", axes, joints.relative_mobility, axes, inner)
    return BendStart(run, joints, base, start, bent, turn[bones], inner)


def _leave_ends(topology: Topology, posed: Posed, run: tuple[int, ...]) -> tuple[int, ...]:
    """Return a run without a bone that floats, and without one that turns about an effector."""
    gaps = norm(posed.tips[list(topology.bone_effectors[run[-1]])] - posed.heads[run[-1]])
    is_about = gaps.size > 0 and bool((gaps <= MIN_LENGTH).all())
    return run[topology.floats and run[0] == 0 : len(run) - is_about]


def _find_points(tree: KinematicTree, run: tuple[int, ...], posed: Posed) -> Array:
    """Return the heads of a run and the middle of its ends, shape (n + 1, 3, B)."""
    topology, last = tree.topology, run[-1]
    children, effectors = list(topology.children[last]), list(topology.bone_effectors[last])
    ends = np.concatenate((posed.heads[children], posed.tips[effectors]))
    return np.concatenate((posed.heads[list(run)], ends.mean(axis=0)[None]))


def _may_be_straight(points: Array, lengths: Array) -> bool:
    """Return whether any run of points (n + 1, 3, B) may be straight; others need no start pose."""
    chord, mean = points[-1] - points[0], points[1:-1].mean(axis=0) - points[0]
    offset_area = norm(cross(chord, mean))
    return bool((offset_area <= MAX_STRAIGHT_OFFSET * norm(chord) * lengths.sum(axis=0)).any())


def is_straight(start: StartPose, *, stays_near: bool) -> Any:
    """Return whether start poses, (B,) or one, are straight, or need not keep their S shape."""
    return (start.off_chord if stays_near else start.bulge) < MAX_STRAIGHT_OFFSET * start.reach


def bend_as_free(run: BendStart, task: Task) -> Array:
    """Return the turns (n, 4, B), whatever their ranges, that bring a run to its targets.

    Source: derived for this project; tested in tests/core/solving/limits/test_smoothness.py.
    """
    start, is_line = run.bent, is_straight(run.bent, stays_near=task.stays_near)
    slew, task = _slew(ARRAYS, run.base, task)
    free_task = task
    if task.pole is None and is_line.any():
        # Straight runs bend toward the start place of their ends: that turns their roots least.
        ahead = Pole(is_line, start.points[-1], np.zeros(len(is_line)))
        free_task = replace(task, pole=ahead)
    free = position_joints(ARRAYS, start, free_task, Solver.NEWTON)
    whole = np.array(free.rotation)
    if is_line.any():
        # Do not roll them toward their side: they have not been bent to it.
        unrolled = plan_bend(ARRAYS, start.chord, start.side, start.reach, task.target, None)
        whole = np.where(is_line, np.array(unrolled.rotation), whole)
    lengths = start.lengths[:, None, :]
    before = arrays.rotate(turns.to_matrices(whole), np.diff(start.points, axis=0) / lengths)
    bones = turns.multiply(turns.between(before, np.diff(free.points, axis=0) / lengths), whole)
    if run.base is not None:
        base_bones = np.zeros((len(run.run) - len(bones), *bones.shape[1:]))
        base_bones[:, 0] = 1.0
        base_bones[run.base.bone :] = slew
        bones = np.concatenate((base_bones, turns.multiply(np.array(slew), bones)))
    return _turn_bones(run.joints, run.turn, run.inner, bones)


def _slew(m: Arithmetic, base: Base | None, task: Task) -> tuple[Quaternion, Task]:
    """Return the turn of a base toward a target, and the task of the bones beyond it.

    Positions of the task are relative to the first bone beyond, turned back by the base's turn.
    """
    if base is None:
        return quaternions.IDENTITY, task
    slew, pole = slew_base(m, base, task.target), task.pole

    def relate(point: Vector) -> Any:
        back = quaternions.unrotate(slew, subtract(point, base.pivot))
        related = subtract(add(back, base.pivot), base.head)
        return related if m is FLOATS else np.array(related)

    if pole is not None:
        pole = pole._replace(position=relate(pole.position))
    return slew, replace(task, target=relate(task.target), pole=pole)


def lay_on_line(
    tree: KinematicTree, state: State, line: Array, is_folded: Flags, aims: Aims | None
) -> State:
    """Return chains whose bones, or pairs that stretch or fold no farther, swing to lines (3, B).

    Then they twist about these as near to their aims as that leads: to the rotation of a tip each
    bone by the same angle from its parent, to a pole as a whole.
    """
    segments = np.diff(state.posed.points, axis=0)
    if (pair := tree.limited) is not None:
        state = tree.make_state(pair.lay_pairs(state.turn, is_folded), state.slide)
        segments = np.diff(state.posed.points, axis=0)
        segments = np.where(pair.is_bent(is_folded), segments.sum(axis=0), segments)
    lengths = norm(segments)[:, None]
    ways = np.where(lengths > MIN_LENGTH, segments / np.maximum(lengths, MIN_LENGTH), line)
    straight = _move(tree, state, turns.between(ways, np.broadcast_to(line, ways.shape)))
    if aims is None:
        return straight
    first, rolls = (0.0, 1) if aims.poles is None else (1.0, MAX_ROLLS)
    shares = np.linspace(first, 1.0, len(ways) + 1)[1:, None, None]
    for _ in range(rolls):
        twist = -aims.find_twist(straight.posed, line)
        straight = _move(tree, straight, turns.from_vectors(shares * (twist * line)))
    return straight


def _move(tree: KinematicTree, state: State, bones: Array) -> State:
    """Return the states of chains after each bone has turned by a rotation, (n, 4, B)."""
    inner = arrays.invert(state.posed.turn_axes)
    turned = _turn_bones(tree.joints, state.turn, inner, bones)
    return tree.clamp_state(turned, state.slide)


def _turn_bones(joints: CompiledJoints, turn: Array, inner: Array, bones: Array) -> Array:
    """Return the turns (n, 4, B), whatever their ranges, after each bone has turned.

    Args:
        joints: The joints.
        turn: Their turns before, shape (n, 4, B).
        inner: Matrices from rotation vectors to the frame of each joint, shape (n, 3, 3, B).
        bones: Rotations of the bones, shape (n, 4, B).
    """
    # Turn of each bone relative to its parent, along the axes of the pose before.
    moved = bones.copy()
    moved[1:] = turns.multiply(turns.conjugate(bones[:-1]), bones[1:])
    local = np.einsum("nijb,njb->nib", inner, turns.to_vectors(moved))
    turned = turns.multiply(turns.from_vectors(local), turn)
    return joint_limits.keep_hinge_angles(joints.kinds, turned)


def bend_in_floats(run: FloatBendStart, task: Task) -> list[Quaternion]:
    """As ``bend_as_free``, of one chain."""
    m, start = FLOATS, run.bent
    slew, task = _slew(m, run.base, task)
    free_task = task
    is_line = is_straight(start, stays_near=task.stays_near)
    if is_line and task.pole is None:
        free_task = replace(task, pole=Pole(True, tuple(start.points[-1].tolist()), 0.0))
    free = position_joints(m, start, free_task, Solver.NEWTON)
    whole, turned, parent_inverse = free.rotation, [], quaternions.IDENTITY
    if is_line:
        whole = plan_bend(m, start.chord, start.side, start.reach, task.target, None).rotation
    along = (free.points[1:] - free.points[:-1]) / start.lengths[:, None]
    bones = []
    for before, after in zip(run.directions, along.tolist(), strict=True):
        swing = quaternions.between(m, quaternions.rotate(whole, before), after)
        bones.append(quaternions.multiply(swing, whole))
    if run.base is not None:
        slewing = len(run.hinges) - len(bones) - run.base.bone
        beyond = [quaternions.multiply(slew, bone) for bone in bones]
        bones = [quaternions.IDENTITY] * run.base.bone + [slew] * slewing + beyond
    for hinge, orientation, turn, inner in zip(run.hinges, bones, run.turn, run.inner, strict=True):
        moved = quaternions.to_vector(m, quaternions.multiply(parent_inverse, orientation))
        local = quaternions.from_vector(m, matrices.transform(inner, moved))
        turned.append(quaternions.multiply(local, turn))
        parent_inverse = quaternions.conjugate(orientation)
        if hinge is not None:
            angle = joint_limits.find_hinge_angle(m, turned[-1], hinge)
            turned[-1] = quaternions.about(m, matrices.IDENTITY[hinge], angle)
    return turned


def is_in_line(run: FloatBendStart, task: Task) -> bool:
    """Return whether ``nudge_states`` would bend the start of a chain."""
    start, (_, task) = run.start, _slew(FLOATS, run.base, task)
    offset = FLOATS.length(*vectors.reject(task.target, start.chord))
    is_line: bool = is_straight(start, stays_near=task.stays_near)
    return is_line and offset < LINE_OFFSET * start.reach


def bend_straight_runs(
    tree: KinematicTree, state: State, hints: Array, ends: Sequence[int]
) -> Array:
    """Return turns (n, 4, B) with straight runs that move some effectors bent a little.

    A straight run that is held at both ends has no small turn: it behaves like a strut. It is bent
    as if its ends were a little nearer.

    Args:
        tree: The trees.
        state: Present state of their joints.
        hints: Where bones bend, zero for no hint, shape (n, 3, B).
        ends: Indices of the effectors.

    Source: derived for this project; tests/core/solving/test_body_goals.py starts from such poses.
    """
    turn, moves = state.turn, tree.topology.is_on_path[:, list(ends)]
    moving_runs = [run for run in tree.topology.runs if moves[run[-1]].any()]
    starts = compile_starts(tree, state.posed, turn, hints, None, moving_runs, stays_near=True)
    bent = turn.copy()
    for run in starts.runs:
        start, bones = run.start, list(run.run)
        is_line = is_straight(start, stays_near=True)
        nearer = run.from_root((1.0 - SHORTENING) * start.points[-1])
        caps = np.full(nearer.shape[-1], MAX_BEND_ITERATIONS)
        task = Task(nearer, None, None, 1e-3 * start.reach, caps)
        bent[bones] = np.where(is_line, run.joints.clamped(bend_as_free(run, task)), bent[bones])
    return bent


def nudge_states(
    tree: KinematicTree,
    starts: BendStarts,
    state: State,
    target: Array,
    task: Task | None,
    is_off_target: Flags,
) -> State:
    """Return states without any run that is straight and has its target on its own line.

    Runs that are bent, have their targets aside, or slide keep their state.

    Args:
        tree: The chains or trees.
        starts: Their starts.
        state: Their start poses.
        target: Rows of the output, shape (3 E, B).
        task: The problem of chains; None for trees.
        is_off_target: Which are not at their targets, shape (B,).

    Source: derived for this project; tests/core/solving/test_tree_reach.py starts from such poses.
    """
    if not (starts.runs and is_off_target.any()):
        return state
    turn, slide = state.turn.copy(), state.slide
    gap = tree.unweigh(target) - state.posed.tips
    weights = tree.sqrt_weights**2
    is_nudged = np.zeros(slide.shape[-1], dtype=np.bool_)
    for run in starts.runs:
        start, bones, ends = run.start, list(run.run), tree.topology.is_on_path[run.run[-1]]
        run_task = task
        if run_task is None:
            # The goal of a run inside a tree is not known: its end moves as its effectors should.
            share = weights[ends] / np.maximum(weights[ends].sum(axis=0), MIN_LENGTH)
            goal = start.points[-1] + (gap[ends] * share[:, None]).sum(axis=0) / start.unit
            goal = run.from_root(goal)
            caps = np.full(goal.shape[-1], MAX_BEND_ITERATIONS)
            run_task = Task(goal, None, None, 1e-3 * start.reach, caps)
        beyond = _slew(ARRAYS, run.base, run_task)[1]
        offset = norm(reject(beyond.target, start.chord)) / start.reach
        amount = (
            NUDGE_SHARE
            * (1.0 - smoothstep(ARRAYS, offset, 0.0, LINE_OFFSET))
            * is_straight(start, stays_near=run_task.stays_near)
        )
        amount *= (
            is_off_target & ~tree.joints.has_slides & (norm(gap[ends]) > MIN_LENGTH).any(axis=0)
        )
        if amount.any():
            bent = run.joints.clamped(bend_as_free(run, run_task))
            turn[bones] = turns.interpolate(turn[bones], bent, amount)
            is_nudged |= amount > 0.0
    if not is_nudged.any():
        return state
    return tree.clamp_state(turn, slide).choose(is_nudged, state)


def _bend_to_middles(joints: CompiledJoints, start_turn: Array, base_count: int) -> Array:
    """Return turns with joints in the middles of the ranges of their swings.

    The base, and the first joint beyond it, stay.
    """
    middle, _ = joints.find_middles()
    middle[:, 1] = 0.0
    turn = joints.clamped(turns.from_vectors(middle))
    is_centred = np.abs(middle).max(axis=1) < swing_twist.LOCKED_WIDTH
    turn = np.where((is_centred & (joints.zero[:, 0] == 1.0))[:, None], start_turn, turn)
    turn[: base_count + 1] = start_turn[: base_count + 1]
    return turn
