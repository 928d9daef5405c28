"""Tour for the pictures of docs/interface.md, each a part of the window."""

from __future__ import annotations

import math
from functools import partial

import bpy
import numpy as np
from mathutils import Vector

from examples.parts.rigs import Bone, add_chain_data, add_empty, add_rig
from window.character import rig
from window.driver import REDRAW, Session, read_pixels, select_bones, write_pixels
from window.tour import RIG, Tour, clear_scene, unfold

# Limb -> heads of its bones from the root on, and the last tail; limb -> place of its target.
LIMBS = {
    "Arm": ((0.0, 0.0, 1.5), (0.45, 0.06, 1.42), (0.85, 0.0, 1.42), (1.05, 0.0, 1.42)),
    "Leg": ((0.0, 0.0, 0.95), (0.02, -0.05, 0.5), (0.0, 0.02, 0.08), (0.0, -0.2, 0.0)),
    "Tail": ((-0.1, 0.1, 1.0), (-0.3, 0.15, 1.05), (-0.5, 0.1, 1.15), (-0.6, 0.1, 1.3)),
}
TARGETS = {"Arm": (0.62, -0.3, 1.6), "Leg": (0.18, -0.25, 0.35), "Tail": (-0.75, 0.0, 1.5)}
POLE = (0.5, 0.7, 1.35)
# Bone -> kind of its joint, and ranges in degrees.
LIMITS = {
    "Arm.0": ("BALL", {"x": (-50, 75), "y": (-40, 60), "z": (-70, 45)}),
    "Arm.1": ("ELBOW_X", {"x": (-5, 145), "y": (-80, 80)}),
    "Leg.0": ("CONE", {"y": (-30, 30)}),
    "Leg.1": ("HINGE_X", {"x": (-120, 5)}),
}
ANGLES = (1.35, 0.0, 0.55)
WHOLE_VIEW, ARM_VIEW = (Vector((0.25, 0.0, 1.1)), 2.3), (Vector((0.45, -0.05, 1.5)), 1.15)
TAIL_VIEW = (Vector((-0.25, 0.0, 1.15)), 1.1)
LANGUAGE = "zh_HANS"
# The scale of the interface at which the whole sidebar is visible.
WHOLE_SIDEBAR = 0.78
# Left, bottom, width and height in pixels, from the lower left corner of the window.
Box = tuple[int, int, int, int]
# Pixel at which menus and popovers open, with space around it, and the box of each of them.
POPUP_PIXEL = (520, 470)
BOXES = {
    "popover": (-200, -200, 400, 260),
    "menu": (-260, -450, 340, 520),
    "pie": (-330, -200, 660, 400),
}
# Height in pixels above the preferences of the extension, where Blender shows its folder.
FILE_PATH = 165


def build() -> None:
    """Build an arm with a pole and limits, a leg and a tail, with their chains, in pose mode."""
    clear_scene()
    bones = {
        f"{limb}.{number}": Bone(*ends, f"{limb}.{number - 1}" if number else "", None)
        for limb, joints in LIMBS.items()
        for number, ends in enumerate(zip(joints, joints[1:], strict=False))
    }
    figure = add_rig(RIG, bones)
    figure.data.display_type = "OCTAHEDRAL"
    figure.select_set(True)
    bpy.ops.object.mode_set(mode="POSE")
    for limb, place in TARGETS.items():
        target = add_empty(f"{limb} Target", place, 0.05)
        add_chain_data(figure, limb, f"{limb}.1", target, chain_count=2)
    figure.chain_ik.chains["Arm"].pole_target = add_empty("Arm Pole", POLE, 0.05)
    for bone, (kind, ranges) in LIMITS.items():
        joint = figure.chain_ik.chains[bone.split(".")[0]].joints.add()
        joint.bone, joint.kind, joint.cone_angle = bone, kind, math.radians(50.0)
        for axis, ends in ranges.items():
            setattr(joint, f"use_limit_{axis}", True)
            for end_name, end in zip(("min", "max"), ends, strict=True):
                setattr(joint, f"{end_name}_{axis}", math.radians(end))
    figure.chain_ik.active_index = 0


class Steps(Tour):
    """Steps that each take one or two pictures."""

    ui_scale = 1.0

    def draw_chains(self) -> Session:
        """Take the overlay alone, then the gizmos of the arm with the elbow as active bone."""
        unfold(bpy.types.BONE_PT_inverse_kinematics, are_ours_open=False)
        with self.viewport.context():
            build()
        yield REDRAW
        yield from self.show_tab(70)
        space = self.viewport.area.spaces.active
        bpy.data.objects["Arm Target"].location = (0.75, -0.25, 1.25)
        select_bones(rig(), "Arm.1")
        self.viewport.look(*WHOLE_VIEW, ANGLES)
        space.show_gizmo = False
        yield REDRAW
        self._take_region("overlay", "WINDOW")
        space.show_gizmo = True
        bpy.data.objects["Arm Target"].location = TARGETS["Arm"]
        self.viewport.look(*ARM_VIEW, ANGLES)
        yield REDRAW
        self._take_region("gizmos", "WINDOW")

    def open_menus(self) -> Session:
        """Take the popover of overlays, the entries in the pose menu, and the pie menu."""
        calls = {
            "popover": partial(bpy.ops.wm.call_panel, name="VIEW3D_PT_overlay_chain_ik"),
            "menu": partial(bpy.ops.wm.call_menu, name="VIEW3D_MT_pose_ik"),
            "pie": partial(bpy.ops.wm.call_menu_pie, name="VIEW3D_MT_chain_ik_pie"),
        }
        x, y = POPUP_PIXEL
        for name, call in calls.items():
            yield from self.viewport.pop_up(POPUP_PIXEL, call)
            left, bottom, width, height = BOXES[name]
            self._take(name, (x + left, y + bottom, width, height))
            self.viewport.press("ESC")
            yield REDRAW

    def show_panels(self) -> Session:
        """Take the sidebar in English and in another language."""
        view = bpy.context.preferences.view
        english = view.language
        for name, language in (("panels", english), ("language", LANGUAGE)):
            view.language, view.ui_scale = language, WHOLE_SIDEBAR
            view.use_translate_interface = True
            yield REDRAW
            self._take_region(name, "UI")
        view.language, view.ui_scale = english, 1.0
        yield REDRAW

    def compare(self) -> Session:
        """Press Compare Solvers for the whole tail, which draws ghosts of all poses."""
        tail = rig().chain_ik.chains["Tail"]
        tail.chain_count, tail.bone = 3, "Tail.2"
        bpy.data.objects["Tail Target"].location = (-0.3, -0.15, 1.3)
        rig().chain_ik.active_index = rig().chain_ik.chains.find("Tail")
        select_bones(rig(), "Tail.2")
        self.viewport.look(*TAIL_VIEW, ANGLES)
        yield from self.viewport.widen_sidebar(110)
        yield from self.press_button("compare")
        yield from self.finish("compare")
        yield from self.viewport.scroll("UI", pages=6)
        region = self.viewport.region("UI")
        self._take("compare", (0, region.y, region.x + region.width, region.height))

    def show_bone(self) -> Session:
        """Split off a Properties editor with the tab of the arm's first bone."""
        with self.viewport.context():
            select_bones(rig(), "Arm.0")
            bpy.ops.screen.area_split(direction="VERTICAL", factor=0.7)
        yield REDRAW
        area = min(self.viewport.window.screen.areas, key=lambda area: area.width)
        area.type = self.viewport.kind = "PROPERTIES"
        yield REDRAW
        area.spaces.active.context = "BONE"
        yield REDRAW
        yield from self.viewport.scroll("WINDOW", pages=6)
        self._take_region("bone", "WINDOW")

    def show_preferences(self) -> Session:
        """Turn the other editor into the preferences, and expand those of the extension."""
        self.viewport.kind = "VIEW_3D"
        yield from self.open_preferences()
        yield from self.viewport.scroll("WINDOW", pages=6)
        # Cut off the folder of the extension, which is private.
        region = self.viewport.region("WINDOW")
        self._take("preferences", (region.x, region.y, region.width, region.height - FILE_PATH))

    def _take_region(self, name: str, kind: str) -> None:
        """Take a region of the editor, without the sidebar over its right part."""
        region = self.viewport.region(kind)
        right = region.x + region.width
        if self.viewport.kind == "VIEW_3D" and kind == "WINDOW":
            right = self.viewport.region("UI").x
        self._take(name, (region.x, region.y, right - region.x, region.height))

    def _take(self, name: str, box: Box) -> None:
        path, (left, bottom, width, height) = self.picture(f"interface_{name}"), box
        part = np.ones((height, width, 4), dtype=np.float32)
        part[..., :3] = read_pixels(path)[bottom : bottom + height, left : left + width, :3]
        write_pixels(part, path)
