"""Two-Bone: a triangle. Newton: few iterations, and an even bend."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from blender_ik_addon.core import Chain, Goal, SolveOptions, Solver, solve

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
