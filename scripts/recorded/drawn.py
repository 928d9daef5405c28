"""Draw a recorded clip before and after its feet were planted: ways from above, and a film strip.

python -m recorded.drawn ARRAYS.npz PICTURE.png      a Python with Matplotlib
"""

from __future__ import annotations

import sys

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

mpl.use("Agg")

Array = npt.NDArray[np.float64]

BEFORE, AFTER = "#d1495b", "#1f4e79"
KINDS = {1: ("heel", "#5b8def"), 2: ("toe", "#e0a11f"), 3: ("foot", "#3a8a4d")}
FEET = ("LeftFoot", "RightFoot")
FILM = 8
"""Pictures of the strip."""


def draw(arrays: str, picture: str) -> None:
    """Draw one sheet: ways of the toes above, bodies below."""
    clip = np.load(arrays)
    names = clip["names"].tolist()
    figure, (above, below) = plt.subplots(
        2, 1, figsize=(11.0, 8.0), height_ratios=(1.3, 1.0), layout="constrained"
    )
    across, along = axes_of(clip["before"][:, names.index("Hips"), 0])
    for number, name in enumerate(FEET):
        kinds, bone = clip["standing"][number], names.index(name)
        for key, colour, label in (("before", BEFORE, "recorded"), ("after", AFTER, "planted")):
            toe = clip[key][:, bone, 1]
            above.plot(
                toe @ along,
                toe @ across,
                color=colour,
                lw=1.0,
                label=None if number else f"way of the toes, {label}",
            )
        for kind, (word, colour) in KINDS.items():
            spots = clip["after"][kinds == kind, bone, 0 if kind == 1 else 1]
            above.scatter(
                spots @ along,
                spots @ across,
                s=26,
                color=colour,
                zorder=3,
                label=None if number else f"{word} stands",
            )
    above.set_aspect("equal")
    above.set_xlabel("metres, from above")
    above.legend(loc="best", fontsize=8, frameon=False)
    film(below, clip["before"], clip["after"], along)
    figure.savefig(picture, dpi=110)
    print(f"written: {picture}")


def axes_of(way: Array) -> tuple[Array, Array]:
    """Return unit vectors across and along a way on the floor, shape (3,) each."""
    flat = way[:, :2] - way[:, :2].mean(axis=0)
    along = np.linalg.svd(flat, full_matrices=False)[2][0]
    along = along * np.sign((flat[-1] - flat[0]) @ along or 1.0)
    return np.array((-along[1], along[0], 0.0)), np.array((*along, 0.0))


def film(axes: Axes, before: Array, after: Array, along: Array) -> None:
    """Draw bodies side by side, each at its time: the recorded one faint behind the planted one."""
    frames = np.linspace(0, len(before) - 1, FILM).round().astype(int)
    for place, frame in enumerate(frames):
        for joints, colour, width in ((before, BEFORE, 1.0), (after, AFTER, 2.0)):
            ends = joints[frame]
            middle = ends.reshape(-1, 3).mean(axis=0) @ along
            x, z = ends @ along - middle + 1.3 * place, ends[..., 2]
            axes.plot(x.T, z.T, color=colour, lw=width, solid_capstyle="round")
        axes.text(1.3 * place, -0.12, f"frame {frame}", ha="center", fontsize=8)
    axes.axhline(0.0, color="#8a8a8a", lw=0.8)
    axes.set_aspect("equal")
    axes.axis("off")


if __name__ == "__main__":
    draw(*sys.argv[1:])
