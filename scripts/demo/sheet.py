"""A sheet of poses, rendered by Blender: bones, targets, their paths, and words below."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path

import bpy
from mathutils import Color, Euler, Matrix, Vector

from demo import stage

Points = Sequence[Sequence[float]]

BACKGROUND, FLOOR, TEXT, QUIET = "#11151c", "#232c39", "#eef1f6", "#8e99aa"
PIXELS = 1280
HERE = Matrix()
# Workbench's light leaves white things grey.
EXPOSURE = 1.0
# A sheet is this wide, in units of its own; margins, the heights of words, and of text lines.
WIDTH, MARGIN, HEADING, CAPTION, NOTE, LINE = 16.7, 0.35, 0.27, 0.22, 0.19, 0.45
# A bone is as thick as Blender draws one of this length, and not in proportion: thighs would bury
# the spine.
HALF_WIDTH, TYPICAL_LENGTH = 0.034, 0.29
# Head 0, tail 1, the four corners of the waist.
CORNERS = ((0, 0, 0), (0, 1, 0), *((x, 0.12, z) for x, z in ((1, 0), (0, 1), (-1, 0), (0, -1))))
ROUND = [(math.cos(math.tau * i / 64), math.sin(math.tau * i / 64), 0.0) for i in range(64)]
FACES = [(end, *pair) for end in (0, 1) for pair in ((2, 3), (3, 4), (4, 5), (5, 2))]


@dataclasses.dataclass(frozen=True)
class Bone:
    """One bone to draw, world space."""

    head: Sequence[float]
    tail: Sequence[float]
    colour: str
    thickness: float = 1.0


@dataclasses.dataclass(frozen=True)
class Track:
    """Where a target has gone, and last where it is; the way before that is faint."""

    colour: str
    way: Points
    faint: Points = ()


@dataclasses.dataclass(frozen=True)
class Cell:
    """One pose with the words below it."""

    bones: Sequence[Bone]
    tracks: Sequence[Track]
    caption: str
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Strip:
    """One row of poses.

    Attributes:
        heading: Above it.
        cells: From left to right.
        eye: Where they are seen from, world space.
        aim: What is in the middle of a cell, world space.
        width: Of what a cell shows, metres.
        shape: Height of a cell by its width.
    """

    heading: str
    cells: Sequence[Cell]
    eye: Sequence[float]
    aim: Sequence[float]
    width: float
    shape: float

    @property
    def cell_width(self) -> float:
        """Of one pose on the sheet."""
        return (WIDTH - 2 * MARGIN) / len(self.cells)


class Sheet:
    """A scene seen from above: cells lie side by side, each turned as its camera would see it."""

    def __init__(self) -> None:
        """Begin with an empty file."""
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        self.bone = bpy.data.meshes.new("Bone")
        self.bone.from_pydata(CORNERS, [], FACES)
        self.disc = bpy.data.meshes.new("Disc")
        self.disc.from_pydata(ROUND, [], [range(len(ROUND))])
        self.bottom = -MARGIN

    def add_legend(self, title: str, colours: dict[str, str]) -> None:
        """Write the title, and beside it the names that colours stand for."""
        self._write(title, (MARGIN, self.bottom - 0.35, 0.0), 0.5, TEXT, "LEFT")
        for place, (name, colour) in enumerate(colours.items()):
            x = 8.1 + 1.75 * place
            self._dot((x, self.bottom - 0.24, 0.0), colour, 0.09)
            self._write(name, (x + 0.18, self.bottom - 0.33, 0.0), CAPTION, TEXT, "LEFT")
        self.bottom -= 0.9

    def add(self, strip: Strip) -> None:
        """Lay a row of poses below the others."""
        self.bottom -= LINE
        self._write(strip.heading, (MARGIN, self.bottom, 0.0), HEADING, TEXT, "LEFT")
        height = strip.shape * strip.cell_width
        backward = Vector(strip.eye) - Vector(strip.aim)
        turn = backward.to_track_quat("Z", "Y").to_matrix().to_4x4().inverted()
        scale = Matrix.Scale(strip.cell_width / strip.width, 4)
        seen = scale @ turn @ Matrix.Translation(-Vector(strip.aim))
        for place, cell in enumerate(strip.cells):
            x, y = MARGIN + (place + 0.5) * strip.cell_width, self.bottom - height / 2.0
            self._draw(cell, strip, Matrix.Translation((x, y, 0.0)) @ seen)
            y = self.bottom - height
            self._write(cell.caption, (x, y - 0.25, 9.0), CAPTION, TEXT)
            self._write(cell.note, (x, y - 0.55, 9.0), NOTE, QUIET)
        has_notes = any(cell.note for cell in strip.cells)
        self.bottom -= height + (0.85 if has_notes else LINE)

    def render(self, path: Path) -> None:
        """Write the picture."""
        scene, height = bpy.context.scene, MARGIN - self.bottom
        camera = stage.add_camera(
            Vector((WIDTH / 2, self.bottom / 2 - MARGIN / 2, 0)), 40.0, Euler()
        )
        camera.data.type, camera.data.ortho_scale = "ORTHO", max(WIDTH, height)
        shading = scene.display.shading
        shading.background_type = "VIEWPORT"
        shading.background_color = [each / 2.0**EXPOSURE for each in _linear(BACKGROUND)[:3]]
        scene.render.engine, scene.render.filepath = "BLENDER_WORKBENCH", str(path)
        scene.render.resolution_x = PIXELS
        scene.render.resolution_y = round(PIXELS * height / WIDTH)
        scene.view_settings.view_transform = "Standard"
        scene.view_settings.exposure = EXPOSURE
        scene.render.image_settings.color_mode, scene.render.dither_intensity = "RGB", 0.0
        shading.color_type, shading.show_specular_highlight = "OBJECT", False
        # The same sheet gives the same file, whenever it is made.
        for name in ("date", "time", "render_time"):
            setattr(scene.render, f"use_stamp_{name}", False)
        bpy.ops.render.render(write_still=True)

    def _draw(self, cell: Cell, strip: Strip, place: Matrix) -> None:
        size = strip.width / strip.cell_width
        middle = Matrix.Translation((strip.aim[0], strip.aim[1], 0.0))
        self._show(self.disc, FLOOR, place @ middle @ Matrix.Scale(0.46 * strip.width, 4))
        for bone in cell.bones:
            way = Vector(bone.tail) - Vector(bone.head)
            width = HALF_WIDTH * bone.thickness * (way.length / TYPICAL_LENGTH) ** 0.5
            thick = (width, way.length, width)
            turned = Matrix.LocRotScale(Vector(bone.head), way.to_track_quat("Y", "Z"), thick)
            self._show(self.bone, bone.colour, place @ turned)
        for track in cell.tracks:
            self._line(track.faint, _mixed(track.colour, 0.35), 0.006 * size, place)
            self._line(track.way, track.colour, 0.012 * size, place)
            there = place @ Vector(track.way[-1])
            centre = Vector((there.x, there.y, 8.0))
            self._line([centre + 0.09 * Vector(p) for p in (*ROUND, ROUND[0])], TEXT, 0.016)
            self._dot(centre, TEXT, 0.035)

    def _dot(self, centre: Sequence[float], colour: str, radius: float) -> None:
        place = Matrix.Translation(centre) @ Matrix.Scale(radius, 4)
        self._show(self.disc, colour, place)

    def _line(self, points: Points, colour: str, radius: float, place: Matrix = HERE) -> None:
        if points:
            line = stage.draw_path("", points, colour, radius, is_closed=False)
            self._place(line, colour, place)

    def _write(
        self, words: str, place: Sequence[float], size: float, colour: str, align: str = "CENTER"
    ) -> None:
        data = bpy.data.curves.new("Text", "FONT")
        data.body, data.size, data.align_x = words, 1.3 * size, align
        text = bpy.data.objects.new("Text", data)
        self._place(text, colour, Matrix.Translation(place))

    def _show(self, mesh: bpy.types.Mesh, colour: str, place: Matrix) -> None:
        self._place(bpy.data.objects.new(mesh.name, mesh), colour, place)

    def _place(self, item: bpy.types.Object, colour: str, place: Matrix) -> None:
        item.color = _linear(colour)
        item.matrix_world = place
        stage.move_to_collection(item, "Sheet")


def _mixed(colour: str, share: float) -> str:
    """Return a colour of which only a share is left before the background."""
    pairs = zip(bytes.fromhex(BACKGROUND[1:]), bytes.fromhex(colour[1:]))
    return f"#{bytes(round(a + share * (b - a)) for a, b in pairs).hex()}"


def _linear(colour: str) -> tuple[float, float, float, float]:
    """Return "#rrggbb" as renders take it."""
    red, green, blue = Color(stage.rgba(colour)[:3]).from_srgb_to_scene_linear()
    return red, green, blue, 1.0
