"""FABRIK and CCD: what the bare algorithms do, sweep after sweep."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from blender_ik_addon.core import Solver

from . import poses


def draw_fabrik(path: Path) -> None:
    """Draw one iteration in two sweeps, and how slow it becomes toward full reach."""
    figure, (left, middle, right) = poses.sheet((1.0, 1.0, 1.5))
    chain, goal = poses.make_bent(4, 0.3), poses.goal_at(0.6, 0.3)
    start = chain.joint_positions
    lengths, inward = np.linalg.norm(np.diff(start, axis=0), axis=1), start.copy()
    inward[-1] = goal.target_position
    for joint in range(len(lengths) - 1, -1, -1):
        way = inward[joint] - inward[joint + 1]
        inward[joint] = inward[joint + 1] + lengths[joint] * way / np.linalg.norm(way)
    outward = poses.pose_after(chain, goal, Solver.FABRIK, 1)
    for axes, title, before, after in (
        (left, "1. inward, from the target", start, inward),
        (middle, "2. outward, from the root", inward, outward),
    ):
        poses.picture_of(axes, title, goal)
        poses.bones(axes, before, colour=poses.GHOST)
        poses.bones(axes, after, colour=poses.COLOURS[Solver.FABRIK])
    ten = poses.make_bent()
    curves = {}
    for share, colour in ((0.7, "#f6c28b"), (0.9, "#e07a1f"), (0.99, "#8a4300")):
        far = poses.goal_at(share * np.sin(0.8), share * np.cos(0.8))
        name = f"target at {share:g} of full reach"
        curves[name] = (poses.gaps(ten, far, Solver.FABRIK, 120), colour)
    poses.residuals(right, curves, "Ten bones: slower toward full reach")
    poses.save(figure, path)


def draw_ccd(path: Path) -> None:
    """Draw the curl near the tip beside Newton's even bend."""
    figure, (left, middle, right) = poses.sheet((1.0, 1.0, 1.5))
    chain, goal = poses.make_bent(), poses.goal_at(0.62, 0.35)
    for axes, title, counts in ((left, "after 1 and 2", (1, 2)), (middle, "done", (200,))):
        poses.picture_of(axes, title, goal)
        poses.bones(axes, chain.joint_positions, colour=poses.GHOST)
        for count, colour in zip(counts, ("#a8d3b2", poses.COLOURS[Solver.CCD])[-len(counts) :]):
            poses.bones(axes, poses.pose_after(chain, goal, Solver.CCD, count), colour=colour)
    for solver in (Solver.CCD, Solver.FABRIK, Solver.NEWTON):
        joints = poses.pose_after(chain, goal, solver, 400)
        steps = np.diff(joints, axis=0)
        angles = np.degrees(np.abs(np.diff(np.unwrap(np.arctan2(steps[:, 2], steps[:, 0])))))
        right.plot(
            range(1, len(angles) + 1), angles, "-o", markersize=3,
            color=poses.COLOURS[solver], label=poses.NAMES[solver],
        )  # fmt: skip
    poses.graph_of(right, "Where the bend goes", "joint, from the root to the tip", "bend, degrees")
    poses.save(figure, path)
