"""Chains as drawings: what they are made of, and how they look."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from blender_ik_addon.core import Chain, Goal, SolveOptions, Solver, solve

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
