"""Rolls of straight limbs of trees toward their poles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...core import Goals, SolveOptions
from ...core.algebra import rotation
from ...core.algebra.arithmetic import ARRAYS, Array
from ...core.algebra.vectors import MIN_LENGTH, smoothstep
from ...core.kinematics.bend_plane import Pole, find_bend, plan_bend
from .bend_sides import BENT_ANGLE, STRAIGHT_ANGLE
from .chain_frames import ChainFrames
from .chain_poses import ChainPoses


def roll_straight_limbs(
    frames: ChainFrames,
    start: ChainPoses,
    solved: ChainPoses,
    goals: Goals,
    options: SolveOptions,
    chain: int,
) -> ChainPoses:
    """Return solved poses with the first bones of straight limbs rolled to face their poles.

    A straight limb has no side that a solve could turn toward the pole, so its roll is rounding
    error. A chain that is solved by itself turns its start pose as a whole; the same turn gives the
    roll here. Bent limbs are not rolled; in between the roll fades out.

    Args:
        frames: The trees.
        start: Start poses.
        solved: Solved poses.
        goals: Goals of the trees, with poles.
        options: Options of the trees.
        chain: Number of a chain that has a pole and a limb of two bones or more.

    Source: derived for this project, tested in tests/blender/trees/test_trees.py.
    """
    limb = frames.hanging.limb(chain)
    points = solved.joints[:, [*limb, frames.hanging.count + chain]]
    reach = np.linalg.norm(np.diff(points, axis=1), axis=2).sum(axis=1)
    straightness = _straightness(points[:, -1] - points[:, 0], reach)
    rows = np.flatnonzero(straightness)
    if not rows.size:
        return solved
    matrices = solved.matrices.copy()
    inputs = frames.take(rows), start.take(rows), solved.take(rows)
    rolls, axes = _find_rolls(*inputs, goals.take(rows), options.take(rows), chain)
    rolls = rolls * straightness[rows]
    turns = rotation.quaternion_from_axis_angle(np.column_stack((rolls, axes)))
    matrices[rows, limb[0]] = rotation.matrix_from_quaternion(turns) @ matrices[rows, limb[0]]
    return replace(solved, matrices=matrices)


def _find_rolls(
    frames: ChainFrames,
    start: ChainPoses,
    solved: ChainPoses,
    goals: Goals,
    options: SolveOptions,
    chain: int,
) -> tuple[Array, Array]:
    """Return the rolls (B,) of first bones to their poles in radians, and their axes (B, 3)."""
    assert goals.pole_position is not None
    limb = frames.hanging.limb(chain)
    first, rows = limb[0], [*limb, frames.hanging.count + chain]
    starts, ends = (pose.joints[:, rows] - pose.joints[:, rows[:1]] for pose in (start, solved))
    points, end = starts.transpose(1, 2, 0), ends[:, -1]
    reach = np.linalg.norm(np.diff(ends, axis=1), axis=2).sum(axis=1)
    hint = frames.natural_sides(start)[:, first].T
    inner = points[1:-1].mean(axis=0)
    chord, side, _ = find_bend(ARRAYS, points[1], points[-1], inner, reach, hint)
    position = goals.pole_position[:, chain] - solved.joints[:, first]
    angle = np.broadcast_to(np.asarray(goals.pole_angle), goals.target_position.shape[:2])
    angle = angle[:, chain] + np.where(options.use_flip_bend, np.pi, 0.0)
    pole = Pole(True, position.T, angle, options.keeps_start)
    goal_normal = np.array(plan_bend(ARRAYS, chord, side, reach, end.T, pole).normal).T
    start_axes, solved_axes = (pose.matrices[:, first] for pose in (start, solved))
    start_normal = np.cross(np.array(chord), np.array(side), axis=0).T[..., None]
    normal = (solved_axes @ np.linalg.pinv(start_axes) @ start_normal)[..., 0]
    # A turn about its own line moves no joint of a straight limb.
    size = np.linalg.norm(ends[:, 1], axis=1, keepdims=True)
    axis = ends[:, 1] / np.maximum(size, MIN_LENGTH)
    sine = (axis * np.cross(normal, goal_normal)).sum(axis=1)
    return np.arctan2(sine, (normal * goal_normal).sum(axis=1)), axis


def _straightness(end: Array, reach: Array) -> Array:
    """Return 1 for straight limbs and 0 for bent ones, (B,), from their ends (B, 3)."""
    # The angle by which two bones of one length are bent.
    bend = np.sqrt(8.0 * np.maximum(0.0, 1.0 - np.linalg.norm(end, axis=1) / reach))
    share: Array = 1.0 - smoothstep(ARRAYS, bend, STRAIGHT_ANGLE, BENT_ANGLE)
    return share
