"""One pose: bones, targets, their paths, a floor."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgb

from demo.drawn.octahedra import Stick, shaded
from demo.drawn.projection import Camera
from demo.limbs import LIMBS
from demo.report import Pose

Array = npt.NDArray[np.float64]

CAMERA = Camera(position=np.array((3.6, -5.8, 2.5)), aim=np.array((-0.13, -0.08, 0.97)))
LIGHT = np.array((-0.35, -0.6, 0.72)) / np.linalg.norm((-0.35, -0.6, 0.72))
# Shadows are shorter than that light would make them: each stays within its cell.
SUN = np.array((-0.02, -0.06, 1.0))

BACKGROUND = "#11151c"
BONE = np.array(to_rgb("#c9d0dc"))
FLOOR = "#3a4556"
SHADOW = "#090c11"

# Bones that say nothing here, or would be too thin or thick beside the others.
LEFT_OUT = ("breast", "heel")
THICKNESS = {"spine.006": 1.5, "spine": 1.25, "foot": 1.3, "toe": 1.3, "hand": 1.0, "palm": 0.35}
THICKNESS |= dict.fromkeys(("thumb", "f_index", "f_middle", "f_ring", "f_pinky"), 0.35)

# How much of the loop the bright part of a path shows.
TRAIL = 0.3


@dataclasses.dataclass(frozen=True)
class Window:
    """The part of the camera's picture that a cell shows, in metres at the camera's aim.

    Attributes:
        width: Centred on the aim.
        height: Of the cell.
        bottom: Its lower edge, above the aim; below zero for under it.
        fade: Height over which the picture comes out of the background at the lower edge.
    """

    width: float
    height: float
    bottom: float
    fade: float = 0.0


def draw_pose(axes: Axes, pose: Pose, paths: dict[str, Array], frame: int, window: Window) -> None:
    """Draw one pose.

    Args:
        axes: Where to; its shape is that of the window.
        pose: Bone name -> head and tail, world space.
        paths: By limb: the positions of its target on every frame, world space, shape (n, 3).
        frame: Number of the frame, from 1.
        window: What to show.
    """
    axes.set_xlim(-window.width / 2, window.width / 2)
    axes.set_ylim(window.bottom, window.bottom + window.height)
    axes.axis("off")
    sticks = _sticks(pose)
    _draw_floor(axes)
    _draw_shadow(axes, sticks)
    _draw_solids(axes, sticks, paths, frame)
    _draw_targets(axes, paths, frame)
    if window.fade:
        _fade_out(axes, window)


def _fade_out(axes: Axes, window: Window) -> None:
    """Lay the background over the lower edge: a body that is cut off shall not look cut off."""
    veil = np.empty((64, 1, 4))
    veil[..., :3] = to_rgb(BACKGROUND)
    veil[..., 3] = np.linspace(1.0, 0.0, 64)[:, None]
    left, right = axes.get_xlim()
    extent = (left, right, window.bottom, window.bottom + window.fade)
    axes.imshow(veil, extent=extent, origin="lower", aspect="auto", zorder=9)
    axes.set_ylim(window.bottom, window.bottom + window.height)


def _sticks(pose: Pose) -> list[Stick]:
    """Return the bones to draw: those of a chain in its colour."""
    colours = {
        name: np.array(to_rgb(limb.colour)) for limb in LIMBS for name in (*limb.bones, limb.end)
    }
    sticks = []
    for name, (head, tail) in pose.items():
        stem = name.split(".")[0]
        if stem not in LEFT_OUT:
            thickness = THICKNESS.get(name, THICKNESS.get(stem, 1.0))
            colour = colours.get(name, BONE)
            sticks.append(Stick(np.array(head), np.array(tail), colour, thickness))
    return sticks


def _draw_floor(axes: Axes) -> None:
    """A patch of light, and a grid that fades with its distance from the figure."""
    turn = np.linspace(0.0, 2.0 * np.pi, 90)
    circle = np.stack((np.cos(turn), np.sin(turn), np.zeros_like(turn)), axis=1)
    for radius in np.linspace(0.15, 0.75, 14):
        disc = CAMERA.project(radius * circle)[0]
        axes.fill(*disc.T, color="white", alpha=0.0045, linewidth=0)
    ticks = np.linspace(-1.2, 1.2, 13)
    fine = np.linspace(-1.2, 1.2, 49)
    lines = [np.stack((np.full(49, t), fine, np.zeros(49)), axis=1) for t in ticks]
    lines += [line[:, [1, 0, 2]] for line in lines]
    pieces = np.concatenate([np.stack((line[:-1], line[1:]), axis=1) for line in lines])
    distance = np.linalg.norm(pieces.mean(axis=1), axis=1)
    fade = np.clip(1.0 - distance / 0.8, 0.0, 1.0)
    colours = np.column_stack((np.tile(to_rgb(FLOOR), (len(pieces), 1)), fade))
    axes.add_collection(LineCollection(CAMERA.project(pieces)[0], colors=colours, linewidths=1.1))


def _draw_shadow(axes: Axes, sticks: list[Stick]) -> None:
    triangles = np.concatenate([stick.triangles() for stick in sticks])
    height = triangles[..., 2].mean(axis=1)
    flat = triangles - SUN * (triangles[..., 2:] / SUN[2])
    flat[..., 2] = 0.0
    # The higher a bone, the softer its shadow.
    strength = 0.85 * np.exp(-height / 0.7)
    colours = np.column_stack((np.tile(to_rgb(SHADOW), (len(flat), 1)), strength))
    axes.add_collection(PolyCollection(CAMERA.project(flat)[0], facecolors=colours))


def _draw_solids(axes: Axes, sticks: list[Stick], paths: dict[str, Array], frame: int) -> None:
    """Bones and paths together, the farthest first: they hide each other as they should."""
    shapes: list[Array] = []
    colours: list[Array] = []
    # Without an edge of their own the background shines through between neighbouring faces.
    seams: list[float] = []
    # Where a path runs over itself the fresh way is on top.
    lifts: list[float] = []
    ground = np.array(to_rgb(BACKGROUND))
    for stick in sticks:
        triangles = stick.triangles()
        shapes += list(triangles)
        colours += list(shaded(triangles, stick.colour, LIGHT, CAMERA.axes[2]))
        seams += [0.5] * len(triangles)
        lifts += [0.0] * len(triangles)
    for limb in LIMBS:
        quads, strength = _ribbon(paths[limb.name], frame)
        shapes += list(quads)
        # Mixed and not transparent: where two pieces overlap they would be brighter.
        colours += list(ground + strength[:, None] * (np.array(to_rgb(limb.colour)) - ground))
        seams += [0.0] * len(quads)
        lifts += list(0.02 * strength)
    projected = [CAMERA.project(shape) for shape in shapes]
    order = np.argsort([lift - depth.mean() for (_, depth), lift in zip(projected, lifts)])
    axes.add_collection(
        PolyCollection(
            [projected[i][0] for i in order],
            facecolors=[colours[i] for i in order],
            edgecolors=[colours[i] for i in order],
            linewidths=[seams[i] for i in order],
        )
    )


def _ribbon(path: Array, frame: int) -> tuple[Array, Array]:
    """Return a closed path as quads that face the camera, and how bright each is.

    The way just gone is bright, the way ahead is faint.
    """
    ends = np.roll(path, -1, axis=0)
    moves = np.linalg.norm(ends - path, axis=1) > 1e-6
    age = (frame - 2 - np.arange(len(path))) % len(path) / len(path)
    fresh = np.clip(1.0 - age / TRAIL, 0.0, 1.0)
    start, end, fresh = path[moves], ends[moves], fresh[moves]
    side = np.cross(end - start, CAMERA.position - start)
    side *= (0.004 + 0.006 * fresh)[:, None] / np.linalg.norm(side, axis=1, keepdims=True)
    quads = np.stack((start - side, end - side, end + side, start + side), axis=1)
    return quads, 0.3 + 0.7 * fresh


def _draw_targets(axes: Axes, paths: dict[str, Array], frame: int) -> None:
    for limb in LIMBS:
        x, y = CAMERA.project(paths[limb.name][frame - 1])[0]
        for size, alpha in ((1000, 0.07), (520, 0.12), (230, 0.22)):
            axes.scatter(x, y, s=size, color=limb.colour, alpha=alpha, linewidths=0, zorder=5)
        axes.scatter(x, y, s=70, facecolors="none", edgecolors="white", linewidths=1.8, zorder=6)
        axes.scatter(x, y, s=12, color="white", linewidths=0, zorder=6)
