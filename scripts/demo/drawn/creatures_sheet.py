"""The contact sheet of the creatures: each in five moments, its target and where that went."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from demo.acts import ACTS, Act
from demo.drawn.drawing import BACKGROUND, FLOOR, LIGHT
from demo.drawn.octahedra import Stick, shaded
from demo.drawn.projection import Camera
from demo.drawn.sheet import DOTS_PER_INCH, MARGIN, QUIET, RULE, STRIP_WIDTH, TEXT
from figures import shrinking

Array = npt.NDArray[np.float64]

HEADING_HEIGHT, CAPTION_HEIGHT = 0.55, 0.4
# Height of a cell by its width.
SHAPE = 0.72
# Frames that the trail behind a target shows.
TRAIL = 40
THICKNESS = 4.5


def draw(played: dict[str, dict], path: Path) -> None:
    """Write the contact sheet.

    Args:
        played: By creature: poses by frame as heads and tails, and milliseconds a frame.
        path: A PNG file.
    """
    cell = STRIP_WIDTH / len(ACTS[0].drawn)
    strip = HEADING_HEIGHT + SHAPE * cell + CAPTION_HEIGHT
    width, height = STRIP_WIDTH + 2 * MARGIN, len(ACTS) * strip + 2 * MARGIN
    figure = Figure(figsize=(width, height), facecolor=BACKGROUND)
    FigureCanvasAgg(figure)
    page = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(0, height))
    page.axis("off")
    for row, act in enumerate(ACTS):
        top = height - MARGIN - row * strip
        page.plot((MARGIN, MARGIN + STRIP_WIDTH), (top, top), color=RULE, linewidth=1.2)
        heading = f"{act.heading}; {played[act.name]['milliseconds']:.1f} ms a frame"
        page.text(MARGIN, top - 0.16, heading, color=TEXT, fontsize=17, va="top")
        bottom = top - HEADING_HEIGHT - SHAPE * cell
        for column, frame in enumerate(act.drawn):
            left = MARGIN + column * cell
            box = (left / width, bottom / height, cell / width, SHAPE * cell / height)
            axes = figure.add_axes(box)
            _draw_pose(axes, act, played[act.name]["poses"][str(frame)], frame)
            page.text(
                left + 0.5 * cell,
                bottom - 0.15,
                f"frame {frame}",
                color=QUIET,
                fontsize=14,
                ha="center",
                va="center",
            )
    figure.savefig(path, dpi=DOTS_PER_INCH)
    shrinking.shrink(path, path)


def _draw_pose(axes: Axes, act: Act, bones: list[list[list[float]]], frame: int) -> None:
    camera = Camera(position=np.array(act.view[0]), aim=np.array(act.view[1]))
    axes.set_xlim(-act.width / 2, act.width / 2)
    axes.set_ylim(-SHAPE * act.width / 2, SHAPE * act.width / 2)
    axes.axis("off")
    _draw_floor(axes, camera, act)
    root, tip = (np.array(to_rgb(colour)) for colour in act.colours)
    shares = np.linspace(0.0, 1.0, len(bones))
    triangles, colours = [], []
    for (head, tail), share in zip(bones, shares):
        stick = Stick(np.array(head), np.array(tail), root + share * (tip - root), THICKNESS)
        faces = stick.triangles()
        triangles.append(faces)
        colours.append(shaded(faces, stick.colour, LIGHT, camera.axes[2]))
    flat, depth = camera.project(np.concatenate(triangles))
    shades = np.concatenate(colours)
    _draw_shadow(axes, camera, np.concatenate(triangles))
    order = np.argsort(-depth.mean(axis=1))
    faces = PolyCollection(
        flat[order], facecolors=shades[order], edgecolors=shades[order], linewidths=0.5
    )
    axes.add_collection(faces)
    _draw_target(axes, camera, act, frame)


def _draw_floor(axes: Axes, camera: Camera, act: Act) -> None:
    x, y, _ = act.view[1]
    half = 0.6 * act.width
    ticks, fine = np.linspace(-half, half, 13), np.linspace(-half, half, 49)
    lines = [np.stack((np.full(49, t), fine, np.zeros(49)), axis=1) for t in ticks]
    lines += [line[:, [1, 0, 2]] for line in lines]
    pieces = np.concatenate([np.stack((line[:-1], line[1:]), axis=1) for line in lines])
    distance = np.linalg.norm(pieces.mean(axis=1), axis=1)
    fade = 0.7 * np.clip(1.0 - distance / half, 0.0, 1.0)
    shown = camera.project(pieces + np.array((x, y, 0.0)))[0]
    colours = np.column_stack((np.tile(to_rgb(FLOOR), (len(pieces), 1)), fade))
    axes.add_collection(LineCollection(shown, colors=colours, linewidths=1.0))


def _draw_shadow(axes: Axes, camera: Camera, triangles: Array) -> None:
    flat = triangles.copy()
    flat[..., 2] = 0.0
    axes.add_collection(PolyCollection(camera.project(flat)[0], facecolors=(0.0, 0.0, 0.0, 0.35)))


def _draw_target(axes: Axes, camera: Camera, act: Act, frame: int) -> None:
    way = np.array([act.target(each) for each in range(max(1, frame - TRAIL), frame + 1)])
    shown = camera.project(way)[0]
    steps = np.linalg.norm(np.diff(way, axis=0), axis=1)
    # A leap leaves no trail.
    pieces = np.stack((shown[:-1], shown[1:]), axis=1)[steps < 2.0]
    tip = to_rgb(act.colours[1])
    fade = np.linspace(0.0, 0.9, len(pieces))
    colours = [(*tip, alpha) for alpha in fade]
    axes.add_collection(LineCollection(pieces, colors=colours, linewidths=2.2))
    x, y = shown[-1]
    for size, alpha in ((420, 0.1), (200, 0.2)):
        axes.scatter(x, y, s=size, color=act.colours[1], alpha=alpha, linewidths=0, zorder=5)
    axes.scatter(x, y, s=60, facecolors="none", edgecolors="white", linewidths=1.8, zorder=6)
    axes.scatter(x, y, s=10, color="white", linewidths=0, zorder=6)
