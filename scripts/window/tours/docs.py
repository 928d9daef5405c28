"""Tour for pictures of docs/quick_start.md, and films of docs/characters.md and whole_body.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from math import cos, pi, sin

import bpy
from mathutils import Vector

from examples import climb_a_ladder
from window.character import CROUCH, HANDS, KICK, Place, check_reached, key_motion, move, rig
from window.driver import REDRAW, Session, check, check_moved, select_bones
from window.tour import RIG, Tour, View, clear_scene

ARM = "Arm.L"
WHOLE = Vector((0.55, -0.2, 0.95)), 4.0, (1.35, 0.0, 0.65)
UPPER = Vector((0.45, 0.0, 1.35)), 2.2, (1.4, 0.0, 0.5)
# The path of the hand's target in the animation: an ellipse with radii in metres, from an almost
# straight arm toward the shoulder and back.
TO_SHOULDER, ACROSS, STEPS = Vector((-0.096, 0.0, 0.128)), Vector((0.1, 0.0, 0.075)), 16
OUT_OF_REACH, BAKED_TO, LAST_FRAME = (0.32, 0.0, 0.32), (0.1, -0.1, 0.3), 40
# Motions and their frames that a page shows side by side, from the left and a little in front.
FILMS = {"crouch": (CROUCH, (1, 5, 7, 11, 16, 20)), "kick": (KICK, (22, 28, 31, 33, 36, 41))}
SIDE = Vector((0.0, -0.25, 0.98)), 3.4, (1.45, 0.0, 1.15)
# Places of the control of a dog's hips, from standing to sitting.
SITTING = Place(), Place((0.0, 0.03, -0.22), -18.0), Place((0.0, 0.02, -0.42), -36.0)
DOG_VIEW = Vector((0.0, 0.2, 0.5)), 3.0, (1.42, 0.0, 1.2)
LADDER_VIEW = Vector((0.0, -0.25, 1.3)), 3.9, (1.4, 0.0, 2.25)
# All four hold on; left hand off, right foot off, right hand off, left foot off; one rung higher.
CLIMBING = (1, 5, 13, 21, 29, 33)


class Steps(Tour):
    """Steps that take the pictures of a page and the frames of films."""

    def set_up(self) -> Session:
        """Add a character, and press Set Up Limbs."""
        yield from self.add_metarig(WHOLE)
        self.picture("start_1_select")
        yield from self.set_up_limbs()
        with self.viewport.context():
            bpy.ops.pose.select_all(action="DESELECT")
        yield REDRAW
        check(len(rig().chain_ik.chains) == 8, "Not all limbs have got chains.")
        self.picture("start_2_set_up")

    def drag(self) -> Session:
        """Press G on the left hand's target, move it around, then put it out of the arm's reach."""
        chain, hand = rig().chain_ik.chains[ARM], rig().pose.bones[HANDS[0]]
        yield from self.select(rig(), HANDS[0])
        self.viewport.look(*UPPER)
        yield REDRAW
        start, angles = hand.head.copy(), [2 * pi * step / STEPS for step in range(STEPS)]
        offsets = [(1.0 - cos(angle)) * TO_SHOULDER + sin(angle) * ACROSS for angle in angles]

        def look(step: int) -> None:
            # The soft distance keeps an almost straight arm a little short of its target.
            check(chain.status.startswith(("Reached", "Kept")), chain.status)
            self.picture(f"drag_{step - 1:02}")
            if step == STEPS // 2 + 1:
                check_moved(hand.head, start, 0.2, "With the mouse the target")
                self.picture("start_3_drag")

        yield from self.grab([start, *(start + offset for offset in offsets)], look)
        self.viewport.press("ESC")
        yield REDRAW
        move(HANDS[0], Place(OUT_OF_REACH))
        yield REDRAW
        status = rig().chain_ik.chains[ARM].status
        check(status.startswith("Out of reach by"), status)
        self.picture("start_4_status")

    def bake(self) -> Session:
        """Key the target at two frames, bake, and look at the keys."""
        scene = bpy.context.scene
        scene.frame_start, scene.frame_end = 1, LAST_FRAME
        for frame, offset in ((1, (0.0, 0.0, 0.0)), (LAST_FRAME, BAKED_TO)):
            move(HANDS[0], Place(offset))
            rig().pose.bones[HANDS[0]].keyframe_insert("location", frame=frame)
        frames = {"frame_start": 1, "frame_end": LAST_FRAME, "step": 4}
        yield from self.press_button("bake", "EXEC_DEFAULT", which="ALL", mute=True, **frames)
        scene.frame_set(LAST_FRAME // 2)
        select_bones(rig(), "upper_arm.L", "forearm.L")
        with self.viewport.context():
            bpy.ops.screen.area_split(direction="HORIZONTAL", factor=0.25)
        yield REDRAW
        areas = [area for area in self.viewport.window.screen.areas if area.type == "VIEW_3D"]
        keys = min(areas, key=lambda area: area.y)
        keys.type = self.viewport.kind = "DOPESHEET_EDITOR"
        yield REDRAW
        with self.viewport.context():
            bpy.ops.action.view_all()
        yield REDRAW
        self.picture("start_5_baked")
        self.viewport.kind = "VIEW_3D"
        with bpy.context.temp_override(window=self.viewport.window, area=keys):
            bpy.ops.screen.area_close()
        yield REDRAW

    def film_motions(self) -> Session:
        for name, (motion, frames) in FILMS.items():
            yield from self.add_metarig(SIDE)
            yield from self.set_up_limbs()
            yield from key_motion(self, motion)
            yield from self._film(name, SIDE, frames, bpy.context.scene.frame_set)

    def sit(self) -> Session:
        """Make a whole body of a dog, and film it while its hips move down and back."""
        yield from self.add_metarig(DOG_VIEW, "basic_quadruped")
        yield from self.set_up_limbs(use_body=True)
        yield from self.select(rig(), "Torso")
        yield from self._film("whole_body_sit", DOG_VIEW, SITTING, partial(move, "Torso"))

    def climb(self) -> Session:
        """Film the example of a ladder."""
        clear_scene()
        with self.viewport.context():
            ladder = climb_a_ladder.build()
            bpy.context.view_layer.objects.active = ladder
        ladder.name = RIG
        yield from self.set_mode("POSE")
        yield from self.select(rig(), "Torso")
        self.viewport.area.spaces.active.shading.color_type = "MATERIAL"
        yield from self._film(
            "whole_body_climb", LADDER_VIEW, CLIMBING, bpy.context.scene.frame_set
        )

    def _film(
        self, name: str, view: View, frames: Iterable[object], show: Callable[[object], object]
    ) -> Session:
        """Take frames of a film of the character alone; check that every chain reaches."""
        space, overlay = self.viewport.area.spaces.active, bpy.context.scene.chain_ik.overlay
        space.show_region_ui = space.show_gizmo = overlay.show_reach = False
        space.overlay.show_relationship_lines = False
        self.viewport.look(*view)
        for number, frame in enumerate(frames):
            show(frame)
            yield REDRAW
            check_reached(f"{name}, picture {number}")
            self.picture(f"{name}_{number}")
        space.show_region_ui = space.show_gizmo = overlay.show_reach = True
        yield REDRAW
