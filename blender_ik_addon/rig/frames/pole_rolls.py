"""Rolls of straight limbs of trees toward their poles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...core import Goals, SolveOptions
from ...core.algebra import rotation
from ...core.algebra.arithmetic import ARRAYS
from ...core.algebra.vectors import MIN_LENGTH, smoothstep
from ...core.kinematics.bend_plane import Pole, find_bend, plan_bend
from .chain_frames import ChainFrames
from .chain_poses import ChainPoses

# Angles between two segments in radians: a limb counts as straight up to the first and as bent from
# the second on.
STRAIGHT_ANGLE, BENT_ANGLE = 0.03, 0.1


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
    roll here. Bent limbs are not rolled; in between the roll fades out. The chain is the number of
    one that has a pole and a limb of two bones or more.

    Source: derived for this project, tested in tests/blender/trees/test_trees.py.
    """
    assert goals.pole_position is not None
    limb = frames.hanging.limb(chain)
    first, path = limb[0], [*limb, frames.hanging.count + chain]
    points = solved.joints[:, path] - solved.joints[:, [first]]
    reach = np.linalg.norm(np.diff(points, axis=1), axis=2).sum(axis=1)
    # The angle of two bones of one length whose ends are that far apart.
    gap = np.maximum(0.0, 1.0 - np.linalg.norm(points[:, -1], axis=1) / reach)
    shares = 1.0 - smoothstep(ARRAYS, np.sqrt(8.0 * gap), STRAIGHT_ANGLE, BENT_ANGLE)
    rows = np.flatnonzero(shares)
    if not rows.size:
        return solved
    count = len(shares)
    angle = np.broadcast_to(np.asarray(goals.pole_angle), goals.target_position.shape[:2])
    flip = np.where(np.broadcast_to(options.use_flip_bend, count), np.pi, 0.0)
    position = goals.pole_position[:, chain] - solved.joints[:, first]
    pole = Pole(True, position[rows].T, (angle[:, chain] + flip)[rows], options.keeps_start)
    limb_points = (start.joints[rows][:, path] - start.joints[rows][:, [first]]).transpose(1, 2, 0)
    hint, inner = frames.natural_sides(start)[rows, first].T, limb_points[1:-1].mean(axis=0)
    chord, side, _ = find_bend(ARRAYS, limb_points[1], limb_points[-1], inner, reach[rows], hint)
    plan = plan_bend(ARRAYS, chord, side, reach[rows], points[rows, -1].T, pole)
    # Normals of the planes that limbs bend in: of start poses, and for poles, (b, 3).
    start_normals = np.cross(np.array(chord), np.array(side), axis=0).T
    before, after = start.matrices[rows, first], solved.matrices[rows, first]
    normals = (after @ np.linalg.pinv(before) @ start_normals[..., None])[..., 0]
    goal_normals = np.array(plan.normal).T
    # A turn about its own line moves no joint of a straight limb.
    axes = points[rows, 1]
    axes = axes / np.maximum(np.linalg.norm(axes, axis=1, keepdims=True), MIN_LENGTH)
    sines = (axes * np.cross(normals, goal_normals)).sum(axis=1)
    rolls = shares[rows] * np.arctan2(sines, (normals * goal_normals).sum(axis=1))
    turns = rotation.quaternion_from_axis_angle(np.column_stack((rolls, axes)))
    matrices = solved.matrices.copy()
    matrices[rows, first] = rotation.matrix_from_quaternion(turns) @ after
    return replace(solved, matrices=matrices)
