"""Take pictures of the overlay in Blender's window: both themes, small and large interface.

    BLENDER_USER_RESOURCES=$(mktemp -d) blender --factory-startup --enable-event-simulate \
        --python scripts/window/overlay_pictures.py -- dist/chain_ik-*.zip out/overlay

It installs the extension, builds an arm with a pole and limits, a leg with limits and a tail whose
target is out of reach, and leaves one picture of each state in each look. Needs what
scripts/window/window_tour.py needs.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import bpy
from mathutils import Vector

# Blender puts the folder of a script that it runs on no path.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from window.driver import (
    REDRAW,
    Session,
    Viewport,
    play,
    read_paths,
    select_bones,
    use_theme,
)
from window.opening import clear_scene, install

# By name: heads from the root down, and the last tail.
LIMBS = {
    "Arm": ((0.0, 0.0, 1.5), (0.45, 0.06, 1.42), (0.85, 0.0, 1.42), (1.05, 0.0, 1.42)),
    "Leg": ((0.0, 0.0, 0.95), (0.02, -0.05, 0.5), (0.0, 0.02, 0.08), (0.0, -0.2, 0.0)),
    "Tail": ((-0.1, 0.1, 1.0), (-0.3, 0.15, 1.05), (-0.5, 0.1, 1.15), (-0.6, 0.1, 1.3)),
}
TARGETS = {"Arm": (0.62, -0.3, 1.6), "Leg": (0.18, -0.25, 0.35), "Tail": (-0.75, 0.0, 1.5)}
POLE = (0.5, 0.7, 1.35)
LOOKS = (("dark", 1.0), ("dark", 2.0), ("light", 1.0), ("light", 2.0))
ANGLES = (1.35, 0.0, 0.55)
NEAR_ARM, NEAR_LEG = (Vector((0.4, 0.0, 1.45)), 1.5), (Vector((0.05, 0.0, 0.55)), 1.7)
ALL = (Vector((0.3, 0.0, 1.15)), 2.9)
FAR = Vector((1.25, -0.35, 1.75))


def build() -> bpy.types.Object:
    """Return an armature object with two limbs and their chains."""
    clear_scene()
    rig = bpy.data.objects.new("Figure", bpy.data.armatures.new("Figure"))
    bpy.context.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    rig.select_set(True)
    bpy.ops.object.mode_set(mode="EDIT")
    for limb, joints in LIMBS.items():
        above = None
        for number, (head, tail) in enumerate(zip(joints[:-1], joints[1:], strict=True)):
            bone = rig.data.edit_bones.new(f"{limb}.{number}")
            bone.head, bone.tail = head, tail
            bone.parent, bone.use_connect = above, above is not None
            above = bone
    bpy.ops.object.mode_set(mode="POSE")
    for limb in LIMBS:
        chain = rig.chain_ik.chains.add()
        chain.name = limb
        chain.target = make_empty(f"{limb} Target", TARGETS[limb])
        chain.chain_count = 2
        chain.bone = f"{limb}.1"
    arm, leg, _ = rig.chain_ik.chains
    arm.pole_target = make_empty("Arm Pole", POLE)
    add_limits(arm, leg)
    rig.chain_ik.active_index = 0
    return rig


def make_empty(name: str, place: tuple[float, float, float]) -> bpy.types.Object:
    """Return a linked empty."""
    ob = bpy.data.objects.new(name, None)
    ob.empty_display_size = 0.05
    ob.location = place
    bpy.context.collection.objects.link(ob)
    return ob


def add_limits(arm: bpy.types.PropertyGroup, leg: bpy.types.PropertyGroup) -> None:
    """Limit shoulder and elbow of the arm, hip and knee of the leg."""
    for chain, bone, kind, ranges in (
        (arm, "Arm.0", "BALL", {"x": (-50, 75), "y": (-40, 60), "z": (-70, 45)}),
        (arm, "Arm.1", "ELBOW_X", {"x": (-5, 145), "y": (-80, 80)}),
        (leg, "Leg.0", "CONE", {"y": (-30, 30)}),
        (leg, "Leg.1", "HINGE_X", {"x": (-120, 5)}),
    ):
        joint = chain.joints.add()
        joint.bone, joint.kind = bone, kind
        joint.cone_angle = math.radians(50.0)
        for axis, ends in ranges.items():
            setattr(joint, f"use_limit_{axis}", True)
            for word, end in zip(("min", "max"), ends, strict=True):
                setattr(joint, f"{word}_{axis}", math.radians(end))


def dress(theme: str, scale: float) -> None:
    """Choose a theme and the scale of the interface."""
    use_theme(theme)
    bpy.context.preferences.view.ui_scale = scale


class Pictures:
    """The session."""

    def __init__(self, zip_path: Path, folder: Path) -> None:
        self.zip_path, self.folder = zip_path, folder
        self.viewport = Viewport()

    def steps(self) -> Session:
        """Yield the seconds to wait."""
        yield from install(self.viewport, self.zip_path)
        with self.viewport.context():
            rig = build()
        self.viewport.area.spaces.active.show_region_ui = False
        for theme, scale in LOOKS:
            dress(theme, scale)
            yield REDRAW
            for name, index, arm_at, view in (
                ("arm", 0, None, NEAR_ARM),
                ("leg", 1, None, NEAR_LEG),
                ("far", 0, FAR, ALL),
            ):
                bpy.data.objects["Arm Target"].location = arm_at or Vector(TARGETS["Arm"])
                rig.chain_ik.active_index = index
                select_bones(rig, rig.chain_ik.chains[index].bone)
                self.viewport.look(*view, ANGLES)
                yield REDRAW
                print(name, [chain.status for chain in rig.chain_ik.chains])
                self.viewport.take_picture(self.folder / f"{theme}_{scale:.0f}_{name}.png")
        yield from self.show_popover()
        print(f"The pictures are in {self.folder}.")

    def show_popover(self) -> Session:
        """Open the popover of the overlays in pose mode and object mode."""
        for mode in ("POSE", "OBJECT"):
            dress("dark", 1.0)
            with self.viewport.context():
                bpy.ops.object.mode_set(mode=mode)
                bpy.ops.wm.call_panel(name="VIEW3D_PT_overlay", keep_open=True)
            yield REDRAW
            self.viewport.take_picture(self.folder / f"popover_{mode.lower()}.png")
            self.viewport.press("ESC")
            yield REDRAW


if __name__ == "__main__":
    play(Pictures(*read_paths("the zip, a folder for pictures")).steps())
