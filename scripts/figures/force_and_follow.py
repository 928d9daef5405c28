"""Force: poses at rest under springs and weight. Follow: a chain that is dragged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from blender_ik_addon.core import Chain, Forces, Goal, SolveOptions, Solver, solve

from . import poses


def _pulled(chain: Chain, goal: Goal, springs: poses.Array, weight: float = 0.0) -> poses.Array:
    """Return where a chain of equal masses rests that is pulled to a target."""
    gravity = np.array([0.0, 0.0, -weight])
    pulled = replace(chain, forces=Forces(springs, np.ones(len(springs)), gravity))
    return solve(pulled, goal, SolveOptions(Solver.FORCE)).joint_positions


def draw_force(path: Path) -> None:
    """Draw what springs and weight do to the same chain with the same target."""
    figure, (left, right) = poses.sheet((1.0, 1.0))
    count = 12
    chain, goal = poses.make_bent(count), poses.goal_at(0.55, 0.45)
    poses.picture_of(left, "Springs: where they are stiff, the chain bends less", goal)
    for name, springs, colour in (
        ("stiff at the root", np.linspace(8.0, 0.2, count), poses.BONE),
        ("stiff at the tip", np.linspace(0.2, 8.0, count), "#e07a1f"),
        ("the same all along", np.ones(count), poses.COLOURS[Solver.FORCE]),
    ):
        joints = _pulled(chain, goal, springs)
        poses.bones(left, joints, colour=colour, label=name)
    goal_beside = poses.goal_at(0.75, 0.1)
    poses.picture_of(right, "Weight: the chain hangs between root and target", goal_beside)
    springs = np.full(count, 0.02)
    for weight, colour in (
        (0.0, poses.GHOST),
        (0.3, "#c9a2d6"),
        (3.0, poses.COLOURS[Solver.FORCE]),
    ):
        joints = _pulled(chain, goal_beside, springs, weight)
        name = f"gravity {weight:g}" if weight else "no gravity"
        poses.bones(right, joints, colour=colour, label=name)
    left.legend(loc="lower right")
    right.legend(loc="center")
    poses.save(figure, path)


def draw_follow(path: Path) -> None:
    """Draw a chain whose tip runs along a path: every joint runs after the one before it."""
    figure, (axes,) = poses.sheet((1.0,), 2.3)
    poses.picture_of(axes, "The tip is led along the dotted path; each joint follows the next one")
    ways = np.linspace(0.0, 2.6, 261)
    track = np.stack([ways, np.zeros_like(ways), 0.28 * np.sin(4.2 * ways)], axis=1)
    joints = np.stack([np.linspace(-1.0, 0.0, 11), np.zeros(11), np.zeros(11)], axis=1)
    axes.plot(track[:, 0], track[:, 2], ":", color=poses.LINE)
    paths = [joints]
    for number, point in enumerate(track):
        goal, options = Goal(point), SolveOptions(Solver.FOLLOW)
        joints = solve(Chain(joints), goal, options).joint_positions
        paths.append(joints)
        if number in (90, 180, 260):
            is_last = number == 260
            poses.bones(axes, joints, colour=poses.BONE if is_last else poses.GHOST)
    roots = np.array(paths)[:, 0]
    axes.plot(roots[:, 0], roots[:, 2], "-", color=poses.TARGET, linewidth=1.0)
    axes.text(-0.95, 0.06, "path of the other end", color=poses.TARGET, fontsize=8)
    poses.target(axes, Goal(track[-1]))
    poses.save(figure, path)
