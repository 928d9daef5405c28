"""The figures of the solvers, a sheet each, drawn with Matplotlib from `core`.

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

from blender_ik_addon.core import Chain, Forces, Goal, SolveOptions, Solver, solve

mpl.use("Agg")

Array = npt.NDArray[np.float64]

BONE, GHOST, TARGET, LINE = "#1f4e79", "#9db7d1", "#d1495b", "#8a8a8a"
COLOURS = {
    Solver.NEWTON: "#1f4e79",
    Solver.FABRIK: "#e07a1f",
    Solver.CCD: "#3a8a4d",
    Solver.FORCE: "#8e5ea2",
}
# As the list of solvers names them.
NAMES = dict(zip(COLOURS, ("Newton", "FABRIK", "CCD", "Force")))
_LOOK = {
    **{"font.size": 9, "axes.titlesize": 10, "figure.dpi": 110},
    **{"legend.frameon": False, "legend.fontsize": 8},
}


def make_bent(count: int = 10, bend: float = 0.04) -> Chain:
    """Return a chain of length 1 in the plane of X and Z, upright and bent a little."""
    angles = np.pi / 2 - bend * (np.arange(count) - (count - 1) / 2)
    steps = np.stack([np.cos(angles), np.zeros(count), np.sin(angles)], axis=1) / count
    return Chain(np.vstack([np.zeros(3), np.cumsum(steps, axis=0)]))


def goal_at(x: float, z: float) -> Goal:
    return Goal(np.array([x, 0.0, z]))


def bare(solver: Solver, iterations: int) -> SolveOptions:
    """Return options of the algorithm alone, with so many iterations."""
    return SolveOptions(solver, iterations=iterations, tolerance=1e-12, use_finish=False)


def pose_after(chain: Chain, goal: Goal, solver: Solver, iterations: int) -> Array:
    """Return the joints after so many iterations of the algorithm alone."""
    return solve(chain, goal, bare(solver, iterations)).joint_positions


def gaps(chain: Chain, goal: Goal, solver: Solver, most: int) -> list[float]:
    """Return the distance left to the target after each of so many iterations."""
    return [float(solve(chain, goal, bare(solver, count)).residual) for count in range(1, most + 1)]


def sheet(widths: tuple[float, ...], height: float = 3.4) -> tuple[Figure, list[Axes]]:
    plt.rcParams.update(_LOOK)
    figure, axes = plt.subplots(
        1,
        len(widths),
        figsize=(8.4, height),
        gridspec_kw={"width_ratios": widths},
        layout="constrained",
    )
    return figure, list(np.atleast_1d(axes))


def picture_of(axes: Axes, title: str, goal: Goal | None = None) -> None:
    """Make axes a picture: equal scales, no numbers; a target, and where the chain begins."""
    axes.set_title(title)
    axes.set_aspect("equal", adjustable="datalim")
    axes.axis("off")
    if goal:
        target(axes, goal)
        axes.plot([0.0], [0.0], "^", color="black", markersize=9, zorder=4)


def graph_of(axes: Axes, title: str, xlabel: str, ylabel: str) -> None:
    """Make axes a graph, of what has been drawn."""
    axes.set(title=title, xlabel=xlabel, ylabel=ylabel)
    axes.legend()
    axes.spines[["top", "right"]].set_visible(False)


def bones(axes: Axes, joints: Array, *, colour: str = BONE, label: str = "") -> None:
    """Draw a chain, seen from the front."""
    is_ghost = colour == GHOST
    width, size = (1.4, 2.0) if is_ghost else (2.6, 4.0)
    axes.plot(
        joints[:, 0], joints[:, 2], "-o", color=colour, linewidth=width, markersize=size,
        label=label or None, zorder=2 if is_ghost else 3,
    )  # fmt: skip


def target(axes: Axes, goal: Goal) -> None:
    x, _, z = goal.target_position
    axes.plot([x], [z], "s", color=TARGET, markersize=8, markerfacecolor="none", zorder=4)


def residuals(axes: Axes, curves: dict[str, tuple[list[float], str]], title: str) -> None:
    """Draw what is left to the target against the iterations."""
    for name, (values, colour) in curves.items():
        shown = np.maximum(values, 1e-13)
        axes.semilogy(range(1, len(shown) + 1), shown, "-", color=colour, label=name)
    axes.axhline(1e-5, color=LINE, linewidth=0.8, linestyle="--")
    axes.text(axes.get_xlim()[1], 1.3e-5, "tolerance ", ha="right", color=LINE, fontsize=8)
    graph_of(axes, title, "iterations", "distance left (chain length 1)")
    axes.set_ylim(2e-14, 1e4)
    axes.legend(loc="upper right", ncols=1 if len(curves) < 4 else 2)


def save(figure: Figure, path: Path) -> None:
    """Write a figure; the same figure gives the same file."""
    figure.savefig(path, facecolor="white", metadata={"Software": None})
    plt.close(figure)


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
    figure, (left, right) = sheet((1.0, 1.25))
    goal = goal_at(0.62, 0.42)
    joints = solve(_limb(), goal, SolveOptions(Solver.TWO_BONE)).joint_positions
    picture_of(left, "The closed form: a triangle", Goal(joints[-1]))
    start, elbow, end = joints[:, [0, 2]]
    along = (end - start) / np.linalg.norm(end - start)
    foot = start + (elbow - start) @ along * along
    angles = np.linspace(-0.6, 2.0, 80)
    for size in (sum(LENGTHS), LENGTHS[0] - LENGTHS[1]):
        left.plot(size * np.cos(angles), size * np.sin(angles), ":", color=LINE)
    left.plot(*np.stack([start, end], axis=1), "--", color=LINE)
    left.plot(*np.stack([foot, elbow], axis=1), "-", color=TARGET, linewidth=1.2)
    bones(left, joints)
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
        angles = [_knee(distance, soft) for distance in distances]
        right.plot(distances, angles, color=colour, label=name)
    right.axvline(1.0, color=LINE, linewidth=0.8, linestyle="--")
    title = "Soft Distance takes the pop out of the elbow"
    distance = "distance of the target (full reach is 1)"
    graph_of(right, title, distance, "bend of the elbow, degrees")
    save(figure, path)


def draw_newton(path: Path) -> None:
    """Draw a ten-bone chain on its way, and what each solver has left after each iteration."""
    figure, (left, right) = sheet((1.0, 1.25))
    chain, goal = make_bent(), goal_at(0.62, 0.35)
    picture_of(left, "Ten bones, after one iteration and done", goal)
    bones(left, chain.joint_positions, colour=GHOST, label="start pose")
    for count, colour in ((1, "#f2b5a7"), (8, BONE)):
        joints = pose_after(chain, goal, Solver.NEWTON, count)
        name = "done" if count == 8 else f"after {count}"
        bones(left, joints, colour=colour, label=name)
    left.legend(loc="lower right")
    far = goal_at(0.7, 0.66)
    curves = {NAMES[solver]: (gaps(chain, far, solver, 60), COLOURS[solver]) for solver in NAMES}
    residuals(right, curves, "A target at 0.96 of full reach")
    save(figure, path)


def draw_fabrik(path: Path) -> None:
    """Draw one iteration in two sweeps, and how slow it becomes toward full reach."""
    figure, (left, middle, right) = sheet((1.0, 1.0, 1.5))
    chain, goal = make_bent(4, 0.3), goal_at(0.6, 0.3)
    start = chain.joint_positions
    lengths, inward = np.linalg.norm(np.diff(start, axis=0), axis=1), start.copy()
    inward[-1] = goal.target_position
    for joint in range(len(lengths) - 1, -1, -1):
        way = inward[joint] - inward[joint + 1]
        inward[joint] = inward[joint + 1] + lengths[joint] * way / np.linalg.norm(way)
    outward = pose_after(chain, goal, Solver.FABRIK, 1)
    for axes, title, before, after in (
        (left, "1. inward, from the target", start, inward),
        (middle, "2. outward, from the root", inward, outward),
    ):
        picture_of(axes, title, goal)
        bones(axes, before, colour=GHOST)
        bones(axes, after, colour=COLOURS[Solver.FABRIK])
    ten = make_bent()
    curves = {}
    for share, colour in ((0.7, "#f6c28b"), (0.9, "#e07a1f"), (0.99, "#8a4300")):
        far = goal_at(share * np.sin(0.8), share * np.cos(0.8))
        name = f"target at {share:g} of full reach"
        curves[name] = (gaps(ten, far, Solver.FABRIK, 120), colour)
    residuals(right, curves, "Ten bones: slower toward full reach")
    save(figure, path)


def draw_ccd(path: Path) -> None:
    """Draw the curl near the tip beside Newton's even bend."""
    figure, (left, middle, right) = sheet((1.0, 1.0, 1.5))
    chain, goal = make_bent(), goal_at(0.62, 0.35)
    for axes, title, counts in ((left, "after 1 and 2", (1, 2)), (middle, "done", (200,))):
        picture_of(axes, title, goal)
        bones(axes, chain.joint_positions, colour=GHOST)
        for count, colour in zip(counts, ("#a8d3b2", COLOURS[Solver.CCD])[-len(counts) :]):
            bones(axes, pose_after(chain, goal, Solver.CCD, count), colour=colour)
    for solver in (Solver.CCD, Solver.FABRIK, Solver.NEWTON):
        joints = pose_after(chain, goal, solver, 400)
        steps = np.diff(joints, axis=0)
        angles = np.degrees(np.abs(np.diff(np.unwrap(np.arctan2(steps[:, 2], steps[:, 0])))))
        right.plot(
            range(1, len(angles) + 1), angles, "-o", markersize=3,
            color=COLOURS[solver], label=NAMES[solver],
        )  # fmt: skip
    graph_of(right, "Where the bend goes", "joint, from the root to the tip", "bend, degrees")
    save(figure, path)


def _pulled(chain: Chain, goal: Goal, springs: Array, weight: float = 0.0) -> Array:
    """Return where a chain of equal masses rests that is pulled to a target."""
    gravity = np.array([0.0, 0.0, -weight])
    pulled = replace(chain, forces=Forces(springs, np.ones(len(springs)), gravity))
    return solve(pulled, goal, SolveOptions(Solver.FORCE)).joint_positions


def draw_force(path: Path) -> None:
    """Draw what springs and weight do to the same chain with the same target."""
    figure, (left, right) = sheet((1.0, 1.0))
    count = 12
    chain, goal = make_bent(count), goal_at(0.55, 0.45)
    picture_of(left, "Springs: where they are stiff, the chain bends less", goal)
    for name, springs, colour in (
        ("stiff at the root", np.linspace(8.0, 0.2, count), BONE),
        ("stiff at the tip", np.linspace(0.2, 8.0, count), "#e07a1f"),
        ("the same all along", np.ones(count), COLOURS[Solver.FORCE]),
    ):
        joints = _pulled(chain, goal, springs)
        bones(left, joints, colour=colour, label=name)
    goal_beside = goal_at(0.75, 0.1)
    picture_of(right, "Weight: the chain hangs between root and target", goal_beside)
    springs = np.full(count, 0.02)
    for weight, colour in (
        (0.0, GHOST),
        (0.3, "#c9a2d6"),
        (3.0, COLOURS[Solver.FORCE]),
    ):
        joints = _pulled(chain, goal_beside, springs, weight)
        name = f"gravity {weight:g}" if weight else "no gravity"
        bones(right, joints, colour=colour, label=name)
    left.legend(loc="lower right")
    right.legend(loc="center")
    save(figure, path)


def draw_follow(path: Path) -> None:
    """Draw a chain whose tip runs along a path: every joint runs after the one before it."""
    figure, (axes,) = sheet((1.0,), 2.3)
    picture_of(axes, "The tip is led along the dotted path; each joint follows the next one")
    ways = np.linspace(0.0, 2.6, 261)
    track = np.stack([ways, np.zeros_like(ways), 0.28 * np.sin(4.2 * ways)], axis=1)
    joints = np.stack([np.linspace(-1.0, 0.0, 11), np.zeros(11), np.zeros(11)], axis=1)
    axes.plot(track[:, 0], track[:, 2], ":", color=LINE)
    paths = [joints]
    for number, point in enumerate(track):
        goal, options = Goal(point), SolveOptions(Solver.FOLLOW)
        joints = solve(Chain(joints), goal, options).joint_positions
        paths.append(joints)
        if number in (90, 180, 260):
            is_last = number == 260
            bones(axes, joints, colour=BONE if is_last else GHOST)
    roots = np.array(paths)[:, 0]
    axes.plot(roots[:, 0], roots[:, 2], "-", color=TARGET, linewidth=1.0)
    axes.text(-0.95, 0.06, "path of the other end", color=TARGET, fontsize=8)
    target(axes, Goal(track[-1]))
    save(figure, path)


if __name__ == "__main__":
    for solver in ("two_bone", "newton", "fabrik", "ccd", "force", "follow"):
        globals()[f"draw_{solver}"](Path(sys.argv[1]) / f"solver_{solver}.png")
