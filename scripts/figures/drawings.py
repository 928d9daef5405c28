"""Figures of the solvers, one sheet per solver, drawn with Matplotlib from results of `core`.

python -m figures.drawings ../docs/images      in scripts/, with Matplotlib
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from blender_ik_addon.core import Chain, Forces, Goal, Solution, SolveOptions, Solver, solve

Array = npt.NDArray[np.float64]

BONE, GHOST, TARGET, LINE = "#1f4e79", "#9db7d1", "#d1495b", "#8a8a8a"
ORANGE, GREEN, VIOLET = "#e07a1f", "#3a8a4d", "#8e5ea2"
# Names as in the list of solvers.
SOLVERS = {
    "Newton": (Solver.NEWTON, BONE),
    "FABRIK": (Solver.FABRIK, ORANGE),
    "CCD": (Solver.CCD, GREEN),
    "Force": (Solver.FORCE, VIOLET),
}
LENGTHS = 0.55, 0.45
LIMB = Chain(np.array([[0, 0, 0], [0.05, 0, LENGTHS[0]], [0, 0, sum(LENGTHS)]]))


def make_bent(count: int = 10, bend: float = 0.04) -> Chain:
    """Return a chain of length 1 in the XZ plane, upright and bent a little."""
    angles = np.pi / 2 - bend * (np.arange(count) - (count - 1) / 2)
    steps = np.stack([np.cos(angles), np.zeros(count), np.sin(angles)], axis=1) / count
    return Chain(np.vstack([np.zeros(3), np.cumsum(steps, axis=0)]))


def goal_at(x: float, z: float) -> Goal:
    return Goal(np.array([x, 0.0, z]))


def iterate(chain: Chain, goal: Goal, solver: Solver, iterations: int) -> Solution:
    """Solve by the algorithm without the finish, with a number of iterations."""
    options = SolveOptions(solver, iterations=iterations, tolerance=1e-12, use_finish=False)
    return solve(chain, goal, options)


def make_sheet(*widths: float, height: float = 3.4) -> tuple[Figure, list[Axes]]:
    size, ratios = (8.4, height), {"width_ratios": widths}
    figure, axes = plt.subplots(
        1, len(widths), figsize=size, gridspec_kw=ratios, layout="constrained", squeeze=False
    )
    return figure, list(axes[0])


def draw(axes: Axes, title: str, goal: Goal, *chains: tuple[Array, str, str]) -> None:
    """Draw target, root and chains from the front; a chain is its joints, colour and name."""
    axes.set_title(title)
    axes.set_aspect("equal", adjustable="datalim")
    axes.axis("off")
    for joints, colour, name in chains:
        width, size = (1.4, 2.0) if colour == GHOST else (2.6, 4.0)
        look = {"color": colour, "linewidth": width, "markersize": size, "label": name or None}
        axes.plot(joints[:, 0], joints[:, 2], "-o", **look)
    axes.plot(*goal.target_position[[0, 2]], "s", color=TARGET, markersize=8, fillstyle="none")
    axes.plot([0.0], [0.0], "^", color="black", markersize=9)


def finish_graph(axes: Axes, title: str, xlabel: str, ylabel: str) -> None:
    """Add title, labels and legend of a graph to axes."""
    axes.set(title=title, xlabel=xlabel, ylabel=ylabel)
    axes.legend()
    axes.spines[["top", "right"]].set_visible(False)


def draw_residuals(
    axes: Axes, title: str, max_iterations: int, *curves: tuple[str, str, Chain, Goal, Solver]
) -> None:
    """Draw the residual after each iteration up to a number; a curve has a name and a colour."""
    counts = range(1, max_iterations + 1)
    for name, colour, *problem in curves:
        distances = [max(float(iterate(*problem, count).residual), 1e-13) for count in counts]
        axes.semilogy(counts, distances, "-", color=colour, label=name)
    axes.axhline(1e-5, color=LINE, linewidth=0.8, linestyle="--")
    axes.text(axes.get_xlim()[1], 1.3e-5, "tolerance ", ha="right", color=LINE, fontsize=8)
    finish_graph(axes, title, "iterations", "distance left (chain length 1)")
    axes.set_ylim(2e-14, 1e4)
    axes.legend(loc="upper right", ncols=1 if len(curves) < 4 else 2)


def _bend(distance: float, soft: float) -> float:
    """Return the bend angle of `LIMB` in degrees for a target at a share of its reach."""
    reach = float(LIMB.max_reach)
    options = SolveOptions(Solver.TWO_BONE, soft_distance=soft * reach)
    joints = solve(LIMB, goal_at(0.0, distance * reach), options).joint_positions
    upper, lower = np.diff(joints, axis=0)
    cosine = upper @ lower / np.linalg.norm(upper) / np.linalg.norm(lower)
    return float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))


def draw_two_bone() -> Figure:
    """Draw the triangle, and how the elbow straightens near full reach."""
    figure, (left, right) = make_sheet(1.0, 1.25)
    joints = solve(LIMB, goal_at(0.62, 0.42), SolveOptions(Solver.TWO_BONE)).joint_positions
    start, elbow, end = joints[:, [0, 2]]
    along = (end - start) / np.linalg.norm(end - start)
    foot = start + (elbow - start) @ along * along
    angles = np.linspace(-0.6, 2.0, 80)
    for size in (sum(LENGTHS), LENGTHS[0] - LENGTHS[1]):
        left.plot(size * np.cos(angles), size * np.sin(angles), ":", color=LINE)
    left.plot(*np.stack([start, end], axis=1), "--", color=LINE)
    left.plot(*np.stack([foot, elbow], axis=1), "-", color=TARGET, linewidth=1.2)
    draw(left, "The closed form: a triangle", Goal(joints[-1]), (joints, BONE, ""))
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
    for soft, colour in ((0.0, TARGET), (0.03, BONE)):
        name = f"Soft Distance {soft:g} of the length" if soft else "no Soft Distance"
        right.plot(distances, [_bend(share, soft) for share in distances], color=colour, label=name)
    right.axvline(1.0, color=LINE, linewidth=0.8, linestyle="--")
    title, distance = "Soft Distance takes the pop out of the elbow", "distance of the target"
    finish_graph(right, title, f"{distance} (full reach is 1)", "bend of the elbow, degrees")
    return figure


def draw_newton() -> Figure:
    """Draw a ten-bone chain during a solve, and the residuals of all solvers by iteration."""
    figure, (left, right) = make_sheet(1.0, 1.25)
    chain, goal, far = make_bent(), goal_at(0.62, 0.35), goal_at(0.7, 0.66)
    one, done = (iterate(chain, goal, Solver.NEWTON, count).joint_positions for count in (1, 8))
    chains = (
        (chain.joint_positions, GHOST, "start pose"),
        (one, "#f2b5a7", "after 1"),
        (done, BONE, "done"),
    )
    draw(left, "Ten bones, after one iteration and done", goal, *chains)
    left.legend(loc="lower right")
    curves = [(name, colour, chain, far, solver) for name, (solver, colour) in SOLVERS.items()]
    draw_residuals(right, "A target at 0.96 of full reach", 60, *curves)
    return figure


def draw_fabrik() -> Figure:
    """Draw one iteration in two sweeps, and the slower convergence toward full reach."""
    figure, (left, middle, right) = make_sheet(1.0, 1.0, 1.5)
    chain, goal = make_bent(4, 0.3), goal_at(0.6, 0.3)
    start = chain.joint_positions
    lengths, inward = np.linalg.norm(np.diff(start, axis=0), axis=1), start.copy()
    inward[-1] = goal.target_position
    for joint in range(len(lengths) - 1, -1, -1):
        direction = inward[joint] - inward[joint + 1]
        inward[joint] = inward[joint + 1] + lengths[joint] * direction / np.linalg.norm(direction)
    outward = iterate(chain, goal, Solver.FABRIK, 1).joint_positions
    draw(left, "1. inward, from the target", goal, (start, GHOST, ""), (inward, ORANGE, ""))
    draw(middle, "2. outward, from the root", goal, (inward, GHOST, ""), (outward, ORANGE, ""))
    curves = [
        (f"target at {share:g} of full reach", colour, make_bent(), far, Solver.FABRIK)
        for share, colour in ((0.7, "#f6c28b"), (0.9, ORANGE), (0.99, "#8a4300"))
        for far in [goal_at(share * np.sin(0.8), share * np.cos(0.8))]
    ]
    draw_residuals(right, "Ten bones: slower toward full reach", 120, *curves)
    return figure


def draw_ccd() -> Figure:
    """Draw the curl near the tip, and compare it with Newton's even bend."""
    figure, (left, middle, right) = make_sheet(1.0, 1.0, 1.5)
    chain, goal = make_bent(), goal_at(0.62, 0.35)
    start = chain.joint_positions, GHOST, ""
    one, two, done = (iterate(chain, goal, Solver.CCD, n).joint_positions for n in (1, 2, 200))
    draw(left, "after 1 and 2", goal, start, (one, "#a8d3b2", ""), (two, GREEN, ""))
    draw(middle, "done", goal, start, (done, GREEN, ""))
    for name in ("CCD", "FABRIK", "Newton"):
        solver, colour = SOLVERS[name]
        steps = np.diff(iterate(chain, goal, solver, 400).joint_positions, axis=0)
        angles = np.degrees(np.abs(np.diff(np.unwrap(np.arctan2(steps[:, 2], steps[:, 0])))))
        right.plot(range(1, 10), angles, "-o", markersize=3, color=colour, label=name)
    finish_graph(right, "Where the bend goes", "joint, from the root to the tip", "bend, degrees")
    return figure


def _solve_force(chain: Chain, goal: Goal, springs: Array, weight: float = 0.0) -> Array:
    """Return the joints of the resting pose of a chain of equal masses, pulled to a target."""
    forces = Forces(springs, np.ones(len(springs)), np.array([0.0, 0.0, -weight]))
    return solve(replace(chain, forces=forces), goal, SolveOptions(Solver.FORCE)).joint_positions


def draw_force() -> Figure:
    """Draw the effects of springs and of weight on one chain."""
    figure, (left, right) = make_sheet(1.0, 1.0)
    chain, goal, beside_goal = make_bent(12), goal_at(0.55, 0.45), goal_at(0.75, 0.1)
    chains = [
        (_solve_force(chain, goal, np.linspace(*ends, 12)), colour, name)
        for name, ends, colour in (
            ("stiff at the root", (8.0, 0.2), BONE),
            ("stiff at the tip", (0.2, 8.0), ORANGE),
            ("the same all along", (1.0, 1.0), VIOLET),
        )
    ]
    draw(left, "Springs: where they are stiff, the chain bends less", goal, *chains)
    chains = [
        (_solve_force(chain, beside_goal, np.full(12, 0.02), weight), colour, name)
        for name, weight, colour in (
            ("no gravity", 0.0, GHOST),
            ("gravity 0.3", 0.3, "#c9a2d6"),
            ("gravity 3", 3.0, VIOLET),
        )
    ]
    draw(right, "Weight: the chain hangs between root and target", beside_goal, *chains)
    left.legend(loc="lower right")
    right.legend(loc="center")
    return figure


def draw_follow() -> Figure:
    """Draw a chain whose tip moves along a path: every joint follows the next one."""
    figure, (axes,) = make_sheet(1.0, height=2.3)
    x = np.linspace(0.0, 2.6, 261)
    path = np.stack([x, np.zeros_like(x), 0.28 * np.sin(4.2 * x)], axis=1)
    poses = [np.stack([np.linspace(-1.0, 0.0, 11), np.zeros(11), np.zeros(11)], axis=1)]
    for point in path:
        solution = solve(Chain(poses[-1]), Goal(point), SolveOptions(Solver.FOLLOW))
        poses.append(solution.joint_positions)
    axes.plot(path[:, 0], path[:, 2], ":", color=LINE)
    roots = np.array(poses)[:, 0]
    axes.plot(roots[:, 0], roots[:, 2], "-", color=TARGET, linewidth=1.0)
    axes.text(-0.95, 0.06, "path of the other end", color=TARGET, fontsize=8)
    chains = [(poses[number], GHOST, "") for number in (91, 181)]
    title = "The tip is led along the dotted path; each joint follows the next one"
    draw(axes, title, Goal(path[-1]), *chains, (poses[-1], BONE, ""))
    # Remove the mark of a fixed root.
    axes.lines[-1].remove()
    return figure


if __name__ == "__main__":
    mpl.use("Agg")
    legend = {"legend.frameon": False, "legend.fontsize": 8}
    plt.rcParams.update({"font.size": 9, "axes.titlesize": 10, "figure.dpi": 110, **legend})
    for solver in ("two_bone", "newton", "fabrik", "ccd", "force", "follow"):
        path = Path(sys.argv[1]) / f"solver_{solver}.png"
        # Without the software's name, the same figure gives the same file.
        globals()[f"draw_{solver}"]().savefig(path, metadata={"Software": None})
