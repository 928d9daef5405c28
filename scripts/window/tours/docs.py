"""The pictures of docs/quick_start.md, and films for docs/characters.md."""

from __future__ import annotations

from math import cos, pi, sin

import bpy
from mathutils import Vector

from window.character import CROUCH, FEET, HANDS, KICK, TORSO, Place, act, check_reached, put, rig
from window.driver import REDRAW, Session, check, check_moved, select_bones
from window.tour import Tour

ARM = "Arm.L"
WHOLE = Vector((0.55, -0.2, 0.95)), 4.0, (1.35, 0.0, 0.65)
UPPER = Vector((0.45, 0.0, 1.35)), 2.2, (1.4, 0.0, 0.5)
# The path of the hand's target in the moving picture: an ellipse, its radii in metres, from where
# the arm is almost straight toward the shoulder and back.
TO_SHOULDER, ACROSS, STEPS = Vector((-0.096, 0.0, 0.128)), Vector((0.1, 0.0, 0.075)), 16
OUT_OF_REACH, BAKED_TO, LAST_FRAME = (0.32, 0.0, 0.32), (0.1, -0.1, 0.3), 40
# Frames of motions that a page shows side by side, seen from the left and a little from the front.
FILMS = {"crouch": (CROUCH, (1, 5, 7, 11, 16, 20)), "kick": (KICK, (22, 28, 31, 33, 36, 41))}
SIDE = Vector((0.0, -0.25, 0.98)), 3.4, (1.45, 0.0, 1.15)


class Steps(Tour):
    """Each picture is a step of the page."""

    def steps(self) -> Session:
        """Yield the seconds to wait, from the first step to the last."""
        yield from self.install()
        yield from self.add_metarig(WHOLE)
        yield from self.show_tab()
        check(rig().select_get(), "The character is not selected.")
        self.picture("start_1_select")
        yield from self.set_up_limbs()
        with self.viewport.context():
            bpy.ops.pose.select_all(action="DESELECT")
        yield REDRAW
        check(len(rig().chain_ik.chains) == 8, "Not all limbs have got chains.")
        self.picture("start_2_set_up")
        yield from self.drag()
        yield from self.leave_reach()
        yield from self.film()
        yield from self.bake()

    def drag(self) -> Session:
        """Press G on the left hand's target and lead it round."""
        yield from self.select(rig(), HANDS[0])
        self.viewport.look(*UPPER)
        yield REDRAW
        start, turns = self.place(), [2 * pi * step / STEPS for step in range(STEPS)]
        ways = [(1.0 - cos(turn)) * TO_SHOULDER + sin(turn) * ACROSS for turn in turns]

        def look(step: int) -> None:
            # An arm that is nearly straight stays a little short by its soft distance.
            check(self.chain.status.startswith(("Reached", "Kept")), self.chain.status)
            self.picture(f"drag_{step - 1:02}")
            if step == STEPS // 2 + 1:
                check_moved(self.place(), start, 0.2, "With the mouse the target")
                self.picture("start_3_drag")

        yield from self.grab([start, *(start + way for way in ways)], look)
        self.viewport.press("ESC")
        yield REDRAW

    def leave_reach(self) -> Session:
        """Move the target to where the arm does not reach."""
        put(HANDS[0], Place(OUT_OF_REACH))
        yield REDRAW
        check(self.chain.status.startswith("Out of reach by"), self.chain.status)
        self.picture("start_4_status")
        put(HANDS[0], Place())
        yield REDRAW

    def film(self) -> Session:
        """Key a crouch and a kick, and take some of their frames; then all is as it was."""
        space = self.viewport.area.spaces.active
        overlay = bpy.context.scene.chain_ik.overlay
        space.show_region_ui = space.show_gizmo = overlay.show_reach = False
        self.viewport.look(*SIDE)
        for name, (motion, frames) in FILMS.items():
            yield from act(self, motion)
            for number, frame in enumerate(frames):
                bpy.context.scene.frame_set(frame)
                yield REDRAW
                check_reached(f"At frame {frame}")
                self.picture(f"{name}_{number}")
        space.show_region_ui = space.show_gizmo = overlay.show_reach = True
        # Not all of the animation data: drivers roll the feet.
        bpy.data.actions.remove(rig().animation_data.action)
        for name in (TORSO, *HANDS, *FEET):
            put(name, Place())
        yield REDRAW

    def bake(self) -> Session:
        """Key the target at two frames, bake, and look at the keys."""
        scene = bpy.context.scene
        scene.frame_start, scene.frame_end = 1, LAST_FRAME
        for frame, offset in ((1, (0.0, 0.0, 0.0)), (LAST_FRAME, BAKED_TO)):
            put(HANDS[0], Place(offset))
            rig().pose.bones[HANDS[0]].keyframe_insert("location", frame=frame)
        frames = {"frame_start": 1, "frame_end": LAST_FRAME, "step": 4}
        with self.viewport.context():
            bpy.ops.pose.chain_ik_bake(which="ALL", mute=True, **frames)
        check(all(chain.mute for chain in rig().chain_ik.chains), "Not all chains are muted.")
        scene.frame_set(LAST_FRAME // 2)
        select_bones(rig(), "upper_arm.L", "forearm.L")
        with self.viewport.context():
            bpy.ops.screen.area_split(direction="HORIZONTAL", factor=0.25)
        yield REDRAW
        areas = [area for area in self.viewport.window.screen.areas if area.type == "VIEW_3D"]
        min(areas, key=lambda area: area.y).type = "DOPESHEET_EDITOR"
        self.viewport.look(*UPPER)
        yield REDRAW
        self.viewport.kind = "DOPESHEET_EDITOR"
        with self.viewport.context():
            bpy.ops.action.view_all()
        yield REDRAW
        self.picture("start_5_baked")

    @property
    def chain(self) -> bpy.types.PropertyGroup:
        """The left arm's chain."""
        return rig().chain_ik.chains[ARM]

    def place(self) -> Vector:
        """Return where the target of the left hand is; the rig stands at the world's origin."""
        return rig().pose.bones[HANDS[0]].head.copy()
