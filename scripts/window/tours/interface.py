"""The pictures of docs/interface.md; each is the part of the window that the page tells of."""

from __future__ import annotations

from functools import partial

import bpy
import numpy as np
from mathutils import Vector

from demo import pictures
from window import figure
from window.driver import REDRAW, Session, read_pixels, select_bones
from window.figure import rig
from window.shown import open_preferences, unfold
from window.tour import Tour

LANGUAGE = "zh_HANS"
# The scale of the interface at which all of the sidebar is seen.
WHOLE_SIDEBAR = 0.78
# Left, bottom, width and height in pixels, from the lower left corner of the window.
Box = tuple[int, int, int, int]
# Where a menu or popover opens, with room around it, and the room that each of them takes.
POPUP = (520, 470)
ROOM = {
    "popover": (-200, -200, 400, 260),
    "menu": (-260, -450, 340, 520),
    "pie": (-330, -200, 660, 400),
}
ALL = (Vector((0.25, 0.0, 1.1)), 2.3)
NEAR_TAIL = (Vector((-0.25, 0.0, 1.15)), 1.1)
# Pixels above the preferences of the extension, where its folder is told.
FILE_PATH = 165


class Steps(Tour):
    """Every method takes a picture or two."""

    ui_scale = 1.0

    def steps(self) -> Session:
        """Yield the seconds to wait, from the first step to the last."""
        yield from self.begin()
        yield from self.draw_chains()
        yield from self.open_menus()
        yield from self.show_panels()
        yield from self.compare()
        yield from self.show_bone()
        yield from self.show_preferences()

    def begin(self) -> Session:
        """Install the zip, and build a figure with an arm, a leg and a tail."""
        yield from self.install()
        unfold(bpy.types.BONE_PT_inverse_kinematics, are_ours_open=False)
        with self.viewport.context():
            figure.build()
        yield REDRAW
        yield from self.show_tab(70)

    def draw_chains(self) -> Session:
        """Take the overlay alone, then the gizmos of the arm, with its elbow as active bone."""
        space = self.viewport.area.spaces.active
        bpy.data.objects["Arm Target"].location = (0.75, -0.25, 1.25)
        select_bones(rig(), "Arm.1")
        self.viewport.look(*ALL, figure.ANGLES)
        space.show_gizmo = False
        yield REDRAW
        self.take_region("overlay", "WINDOW")
        space.show_gizmo = True
        bpy.data.objects["Arm Target"].location = figure.TARGETS["Arm"]
        self.viewport.look(*figure.NEAR_ARM)
        yield REDRAW
        self.take_region("gizmos", "WINDOW")

    def open_menus(self) -> Session:
        """Take the popover of overlays, the entries in the menu of the pose, and the pie."""
        calls = {
            "popover": partial(bpy.ops.wm.call_panel, name="VIEW3D_PT_overlay_chain_ik"),
            "menu": partial(bpy.ops.wm.call_menu, name="VIEW3D_MT_pose_ik"),
            "pie": partial(bpy.ops.wm.call_menu_pie, name="VIEW3D_MT_chain_ik_pie"),
        }
        (x, y) = POPUP
        for name, call in calls.items():
            yield from self.viewport.pop_up(POPUP, call)
            left, bottom, width, height = ROOM[name]
            self.take(name, (x + left, y + bottom, width, height))
            self.viewport.press("ESC")
            yield REDRAW

    def show_panels(self) -> Session:
        """Take the sidebar, in English and in another language."""
        view = bpy.context.preferences.view
        english = view.language
        for name, language in (("panels", english), ("language", LANGUAGE)):
            view.language, view.ui_scale = language, WHOLE_SIDEBAR
            view.use_translate_interface = True
            yield REDRAW
            self.take_region(name, "UI")
        view.language, view.ui_scale = english, 1.0
        yield REDRAW

    def compare(self) -> Session:
        """Press Compare Solvers for the whole tail; ghosts of all poses are drawn."""
        tail = rig().chain_ik.chains["Tail"]
        tail.chain_count, tail.bone = 3, "Tail.2"
        bpy.data.objects["Tail Target"].location = (-0.3, -0.15, 1.3)
        rig().chain_ik.active_index = rig().chain_ik.chains.find("Tail")
        select_bones(rig(), "Tail.2")
        self.viewport.look(*NEAR_TAIL, figure.ANGLES)
        yield from self.viewport.widen_sidebar(110)
        yield from self.press_button("compare")
        yield from self.finish("compare")
        yield from self.viewport.scroll("UI", pages=6)
        region = self.viewport.region("UI")
        self.take("compare", (0, region.y, region.x + region.width, region.height))

    def show_bone(self) -> Session:
        """Turn the viewport into a Properties editor with the tab of the arm's first bone."""
        with self.viewport.context():
            select_bones(rig(), "Arm.0")
        yield from self.viewport.open_properties("BONE", 0.7)
        yield from self.viewport.scroll("WINDOW", pages=6)
        self.take_region("bone", "WINDOW")

    def show_preferences(self) -> Session:
        """Turn the other editor into the preferences, and unfold those of the extension."""
        self.viewport.kind = "VIEW_3D"
        yield from open_preferences(self.viewport)
        yield from self.viewport.scroll("WINDOW", pages=6)
        # Where this machine has put the extension is nobody's business.
        region = self.viewport.region("WINDOW")
        self.take("preferences", (region.x, region.y, region.width, region.height - FILE_PATH))

    def take_region(self, name: str, kind: str) -> None:
        """Take a region of the editor, without what lies over it at its right."""
        region = self.viewport.region(kind)
        right = region.x + region.width
        if self.viewport.kind == "VIEW_3D" and kind == "WINDOW":
            right = self.viewport.region("UI").x
        self.take(name, (region.x, region.y, right - region.x, region.height))

    def take(self, name: str, box: Box) -> None:
        """Take a part of the window."""
        path, (left, bottom, width, height) = self.picture(f"interface_{name}"), box
        part = np.ones((height, width, 4), dtype=np.float32)
        part[..., :3] = read_pixels(path)[bottom : bottom + height, left : left + width, :3]
        pictures.save([[part]], path)
