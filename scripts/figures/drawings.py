"""The figures of the solvers, a sheet each, drawn with Matplotlib from `core`.

python -m figures.drawings ../docs/images      in scripts/, with Matplotlib
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from blender_ik_addon.core import Chain, Forces, Goal, SolveOptions, Solver, solve

from . import poses

LENGTHS = 0.55, 0.45


def _limb() -> Chain:
    return Chain(np.array([[0, 0, 0], [0.05, 0, LENGTHS[0]], [0, 0, sum(LENGTHS)]]))


def _knee(distance: float, soft: float) -> float:
    """Return the angle in degrees by which a limb is bent, for a target at a distance."""
    limb = _limb()
    goal = Goal(np.array([0.0, 0.0, distance * float(limb.max_reach)]))
    options = SolveOptions(Solver.TWO_BONE, soft_distance=soft * float(limb.max_reach))
    upper, lower = np.diff(solve(limb, goal, options).joint_positions, axis=0)
    cosine = upper @ lower / np.linalg.norm(upper) / np.linalg.norm(lower)
    return float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))


def draw_two_bone(path: Path) -> None:
    """Draw the triangle, and how the elbow straightens near full reach."""
    figure, (left, right) = poses.sheet((1.0, 1.25))
    goal = poses.goal_at(0.62, 0.42)
    joints = solve(_limb(), goal, SolveOptions(Solver.TWO_BONE)).joint_positions
    poses.picture_of(left, "The closed form: a triangle", Goal(joints[-1]))
    start, elbow, end = joints[:, [0, 2]]
    along = (end - start) / np.linalg.norm(end - start)
    foot = start + (elbow - start) @ along * along
    angles = np.linspace(-0.6, 2.0, 80)
    for size in (sum(LENGTHS), LENGTHS[0] - LENGTHS[1]):
        left.plot(size * np.cos(angles), size * np.sin(angles), ":", color=poses.LINE)
    left.plot(*np.stack([start, end], axis=1), "--", color=poses.LINE)
    left.plot(*np.stack([foot, elbow], axis=1), "-", color=poses.TARGET, linewidth=1.2)
    poses.bones(left, joints)
    across = elbow - foot
    for text, point in (
        ("$l_1$", (start + elbow) / 2 + 0.3 * across),
        ("$l_2$", (elbow + end) / 2 + 0.25 * across),
        ("$a$", (start + foot) / 2 + 0.16 * across),
        ("$h$", (foot + elbow) / 2 + 0.05 * along),
        ("$D$", (start + end) / 2 - 0.2 * across),
    ):
        left.text(*point, text, fontsize=12, ha="center", va="center")
    distances = np.linspace(0.8, 1.1, 200)
    for soft, colour in ((0.0, poses.TARGET), (0.03, poses.BONE)):
        name = f"Soft Distance {soft:g} of the length" if soft else "no Soft Distance"
        angles = [_knee(distance, soft) for distance in distances]
        right.plot(distances, angles, color=colour, label=name)
    right.axvline(1.0, color=poses.LINE, linewidth=0.8, linestyle="--")
    title = "Soft Distance takes the pop out of the elbow"
    distance = "distance of the target (full reach is 1)"
    poses.graph_of(right, title, distance, "bend of the elbow, degrees")
    poses.save(figure, path)


def draw_newton(path: Path) -> None:
    """Draw a ten-bone chain on its way, and what each solver has left after each iteration."""
    figure, (left, right) = poses.sheet((1.0, 1.25))
    chain, goal = poses.make_bent(), poses.goal_at(0.62, 0.35)
    poses.picture_of(left, "Ten bones, after one iteration and done", goal)
    poses.bones(left, chain.joint_positions, colour=poses.GHOST, label="start pose")
    for count, colour in ((1, "#f2b5a7"), (8, poses.BONE)):
        joints = poses.pose_after(chain, goal, Solver.NEWTON, count)
        name = "done" if count == 8 else f"after {count}"
        poses.bones(left, joints, colour=colour, label=name)
    left.legend(loc="lower right")
    far = poses.goal_at(0.7, 0.66)
    curves = {
        poses.NAMES[solver]: (poses.gaps(chain, far, solver, 60), poses.COLOURS[solver])
        for solver in poses.NAMES
    }
    poses.residuals(right, curves, "A target at 0.96 of full reach")
    poses.save(figure, path)


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


if __name__ == "__main__":
    for solver in ("two_bone", "newton", "fabrik", "ccd", "force", "follow"):
        globals()[f"draw_{solver}"](Path(sys.argv[1]) / f"solver_{solver}.png")
