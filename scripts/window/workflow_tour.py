"""A day in Blender's window: set up, pose, animate, switch, bake; undo all of it, and redo it.

    BLENDER_USER_RESOURCES=$(mktemp -d) blender --factory-startup --enable-event-simulate \
        --python scripts/window/workflow_tour.py -- dist/chain_ik-*.zip out/workflow

Every step leaves a picture in the folder; those of docs/workflow.md are made so. The exit code is
1, after a sentence, if a chain misses, or anything pops or is lost. It needs what window_tour.py
needs.
"""

from __future__ import annotations

import sys
from pathlib import Path

import bpy
import numpy as np
from mathutils import Vector

# Blender puts the folder of a script that it runs on no path.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from window.character import (
    CHEST,
    CROUCH,
    HANDS,
    KICK,
    STANDING,
    TORSO,
    WALK,
    Place,
    act,
    check_reached,
    check_same,
    differing,
    play_through,
    pose,
    read_file,
    rest_mouse,
    rig,
)
from window.driver import REDRAW, Session, Tour, check, play, read_paths, select_bones
from window.opening import add_metarig, be_quick, install, show_tab

LIMBS = {"Arm.L", "Arm.R", "Leg.L", "Leg.R", "Toe.L", "Toe.R", "Spine", "Neck"}
FRAMES = range(1, 92)
TO_CHEST, GRAB = min(WALK), 81
TO_FK, TO_IK = 60, 75
# Metres: where the box is, before the right hand at the end of the walk, and how it is lifted.
BOX, BOX_SIZE, BOX_AT = "Box", 0.2, Vector((-0.3, -1.26, 1.12))
LIFT, TURN = Vector((0.0, 0.12, 0.25)), 0.3
AT_BOX = Place((0.36, -0.3, -0.1))
# More than a day has; Blender keeps 32.
UNDO_STEPS = 64
VIEW = Vector((0.55, -0.2, 0.95)), 4.0, (1.35, 0.0, 0.65)


def frames_up_to(last: int) -> list[int]:
    """Return the frames just before a switch, and some of those before them."""
    return [*range(FRAMES[0], last - 3, 10), *range(last - 3, last + 1)]


class Day(Tour):
    """The session; every method is something that people do all day."""

    def steps(self) -> Session:
        """Yield the seconds to wait, from the first step to the last."""
        yield from self.begin()
        beginning = read_file()
        yield from self.set_up()
        yield from self.mirror()
        yield from self.pose_hand()
        yield from self.turn_by_hand()
        yield from self.crouch()
        yield from self.kick()
        yield from self.walk()
        yield from self.pick_up()
        yield from self.switch()
        yield from self.bake()
        yield from self.undo_and_redo(beginning)
        yield from self.convert()
        print(f"The day passed; pictures are in {self.folder}.")

    def begin(self) -> Session:
        """Install the zip, and add Rigify's human metarig."""
        bpy.context.preferences.edit.undo_steps = UNDO_STEPS
        yield from install(self.viewport, self.zip_path, 1.2)
        yield from add_metarig(self.viewport, VIEW)
        yield from show_tab(self.viewport)
        with self.viewport.context():
            bpy.ops.ed.undo_push(message="Begin")
        yield REDRAW

    def set_up(self) -> Session:
        """Press Set Up Limbs."""
        before = pose()
        with self.viewport.context():
            bpy.ops.pose.chain_ik_setup("INVOKE_DEFAULT", True)
            bpy.ops.object.mode_set(mode="POSE")
        yield REDRAW
        names = {chain.name for chain in rig().chain_ik.chains}
        check(names == LIMBS, f"Set up {sorted(names)}.")
        check_same(pose(), before, "After the set-up")
        check_reached("After the set-up")
        self.picture("1_set_up")

    def mirror(self) -> Session:
        """Remove the right arm's chain with its controls, and mirror the left one."""
        before = pose()
        self.activate("Arm.R")
        with self.viewport.context():
            bpy.ops.pose.chain_ik_remove("EXEC_DEFAULT", True, delete_controls=True)
            self.activate("Arm.L")
            bpy.ops.pose.chain_ik_mirror("INVOKE_DEFAULT", True)
            # So that a click on a hand is a change.
            select_bones(rig(), TORSO)
        yield REDRAW
        names = {chain.name for chain in rig().chain_ik.chains}
        check(names == LIMBS, f"Mirrored: {sorted(names)}.")
        check_same(pose(), before, "After mirroring")
        check_reached("After mirroring")

    def pose_hand(self) -> Session:
        """Click the left hand's control, press G and move the mouse."""
        yield from self.grab(HANDS[0], Vector((0.0, 0.0, 0.35)))
        active = rig().chain_ik.chains[rig().chain_ik.active_index].name
        check(active == "Arm.L", f"The click made {active} the active chain.")
        self.picture("2_posed")

    def turn_by_hand(self) -> Session:
        """Press R on the forearm, which a chain poses: it goes back, and the status says why."""
        with self.viewport.context():
            select_bones(rig(), "forearm.L")
        x, y = self.viewport.pixel_of(rig().pose.bones["forearm.L"].tail)
        yield from self.viewport.drag([(x, y)], button="")
        self.viewport.press("R")
        yield from self.viewport.drag([(x, y + 40), (x - 30, y + 80)], button="")
        self.viewport.press("LEFTMOUSE")
        yield REDRAW
        status = rig().chain_ik.chains["Arm.L"].status
        check(status.startswith("This chain poses forearm.L"), status)
        self.picture("3_turned_by_hand")
        # No page shows the pictures after this one.
        be_quick(self.viewport)

    def crouch(self) -> Session:
        """Pull the torso down with the mouse: hands and feet stay. Then key a crouch."""
        ends = "hand.L", "hand.R", "foot.L", "foot.R", "toe.L", "toe.R"
        before = pose(*ends)
        yield from self.grab(TORSO, Vector((0.0, 0.0, -0.3)))
        check_same(pose(*ends), before, "With the torso pulled down, of hands and feet,")
        self.picture("4_crouch")
        yield from act(self.viewport, CROUCH)

    def kick(self) -> Session:
        """Key a kick of the right foot; the left one stays on the floor."""
        yield from act(self.viewport, KICK)
        feet = play_through(range(min(KICK), max(KICK) + 1), "foot.L", "toe.L")
        check_same(feet, feet[:1], "In the kick, of the left foot,")

    def walk(self) -> Session:
        """Have the hands go along with the chest, and key two steps with Foot Roll."""
        bpy.context.scene.frame_set(min(WALK))
        for name in ("Arm.L", "Arm.R"):
            yield from self.switch_space(name, CHEST)
        yield from act(self.viewport, WALK)
        for name, frames in STANDING.items():
            toes = play_through(frames, name)
            check_same(toes, toes[:1], f"While the foot rolls, of {name},")
        self.picture("5_walk")

    def pick_up(self) -> Session:
        """Reach for a box, switch the hand's space to it, and lift it."""
        yield from act(self.viewport, {GRAB: {HANDS[1]: AT_BOX}})
        with self.viewport.context():
            bpy.ops.object.mode_set(mode="OBJECT")
            bpy.ops.mesh.primitive_cube_add(size=BOX_SIZE, location=BOX_AT)
            bpy.context.object.name = BOX
            bpy.context.view_layer.objects.active = rig()
            bpy.ops.object.mode_set(mode="POSE")
        yield from self.switch_space("Arm.R", BOX)
        box = bpy.data.objects[BOX]
        for frame, lift in ((GRAB, 0.0), (FRAMES[-1], 1.0)):
            box.location, box.rotation_euler.z = BOX_AT + lift * LIFT, lift * TURN
            box.keyframe_insert("location", frame=frame)
            box.keyframe_insert("rotation_euler", frame=frame)
        held = []
        for frame in range(GRAB, FRAMES[-1] + 1):
            (hand,) = play_through([frame], "hand.R")[0]
            held.append(np.linalg.inv(box.matrix_world) @ hand)
        check_same(np.array(held), held[0], "In the box, of the hand that holds it,")
        with self.viewport.context():
            bpy.ops.ed.undo_push(message="Lift the Box")
        yield REDRAW
        self.picture("6_picked_up")

    def switch(self) -> Session:
        """In the middle of the shot switch to FK, pose a bone, and switch back."""
        before = play_through(frames_up_to(TO_FK))
        yield from self.switch_to("FK")
        check_same(play_through(frames_up_to(TO_FK)), before, "Up to the switch to FK")
        bpy.context.scene.frame_set(TO_IK - 4)
        forearm = rig().pose.bones["forearm.L"]
        forearm.rotation_mode = "QUATERNION"
        forearm.rotation_quaternion.rotate(Vector((1, 0, 0)).rotation_difference((0.9, 0.3, 0.3)))
        forearm.keyframe_insert("rotation_quaternion")
        before = play_through(frames_up_to(TO_IK))
        yield from self.switch_to("IK")
        check_same(play_through(frames_up_to(TO_IK)), before, "Up to the switch to IK")
        self.picture("7_switched")

    def bake(self) -> Session:
        """Bake all chains; what plays is the same."""
        before = play_through(FRAMES)
        with self.viewport.context():
            bpy.ops.pose.chain_ik_bake(
                "EXEC_DEFAULT",
                True,
                which="ALL",
                frame_start=FRAMES[0],
                frame_end=FRAMES[-1],
                mute=True,
            )
        yield REDRAW
        check(all(chain.mute for chain in rig().chain_ik.chains), "Not all chains are muted.")
        check_same(play_through(FRAMES), before, "Baked,")
        self.picture("8_baked")

    def undo_and_redo(self, beginning: dict[str, object]) -> Session:
        """Press Ctrl Z until the file is as it was, and Ctrl Shift Z as often: all is back."""
        yield from rest_mouse(self.viewport)
        with self.viewport.context():
            bpy.ops.ed.undo_push(message="End")
        yield REDRAW
        states = [read_file()]
        while states[-1] != beginning:
            left = min((differing(state, beginning) for state in states), key=len)
            check(len(states) < UNDO_STEPS, f"Undo gives all back but {', '.join(left[:8])}.")
            yield from self.viewport.undo()
            states.append(read_file())
        self.picture("9_undone")
        for expected in states[-2::-1]:
            yield from self.viewport.undo(is_redone=True)
            lost = ", ".join(differing(read_file(), expected)[:8])
            check(not lost, f"Redone, these are not as they were: {lost}.")
        self.picture("10_redone")

    def convert(self) -> Session:
        """Put Blender's IK on the arm of another character, and convert it."""
        with self.viewport.context():
            bpy.ops.object.mode_set(mode="OBJECT")
            rig().hide_set(True)
            bpy.ops.object.armature_human_metarig_add()
            other = bpy.context.active_object
            other.name = "With Blender's IK"
            target = bpy.data.objects.new("Target", None)
            bpy.context.scene.collection.objects.link(target)
            target.empty_display_size = 0.05
            constraint = other.pose.bones["forearm.L"].constraints.new("IK")
            constraint.target, constraint.chain_count = target, 2
            target.location = (0.55, -0.1, 1.45)
            bpy.ops.object.mode_set(mode="POSE")
        yield REDRAW
        before = self.wrist(other.name)
        with self.viewport.context():
            bpy.ops.pose.chain_ik_convert(direction="TO_CHAINS", use_all=True)
        yield REDRAW
        moved = (self.wrist("With Blender's IK") - before).length
        check(moved <= 1e-3, f"Converted, the wrist is {moved:.2g} m off.")
        self.picture("11_converted")

    def wrist(self, name: str) -> Vector:
        """Return where the left forearm of a character ends, world space."""
        ob = bpy.data.objects[name].evaluated_get(bpy.context.evaluated_depsgraph_get())
        return ob.matrix_world @ ob.pose.bones["forearm.L"].tail

    def grab(self, name: str, way: Vector) -> Session:
        """Click a control, press G, move it with the mouse and click; all chains arrive."""
        with self.viewport.context():
            select_bones(rig(), name)
            bpy.ops.ed.undo_push(message="Select")
        yield REDRAW
        start = rig().matrix_world @ rig().pose.bones[name].head
        path = [self.viewport.pixel_of(start + part * way) for part in (0.0, 0.5, 1.0)]
        yield from self.viewport.drag(path[:1], button="")
        self.viewport.press("G")
        yield from self.viewport.drag(path, button="")
        self.viewport.press("LEFTMOUSE")
        yield REDRAW
        moved = (rig().matrix_world @ rig().pose.bones[name].head - start).length
        check(moved > 0.2, f"The mouse has moved {name} by {moved:.2g} m only.")
        check_reached(f"With {name} moved")

    def switch_space(self, chain: str, space: str) -> Session:
        """Switch the space of a target at this frame; up to it everything plays as it did."""
        frames = frames_up_to(bpy.context.scene.frame_current)
        before = play_through(frames)
        self.activate(chain)
        with self.viewport.context():
            bpy.ops.pose.chain_ik_switch_space("EXEC_DEFAULT", True, which="TARGET", space=space)
        yield REDRAW
        check_same(play_through(frames), before, f"Up to the switch of {chain} to {space}")

    def switch_to(self, side: str) -> Session:
        """Switch the left arm to FK or IK at its frame."""
        self.activate("Arm.L")
        bpy.context.scene.frame_set(TO_FK if side == "FK" else TO_IK)
        with self.viewport.context():
            bpy.ops.pose.chain_ik_switch("INVOKE_DEFAULT", True, to=side)
        yield REDRAW

    def activate(self, chain: str) -> None:
        """Make a chain the active one, as a click on its control does."""
        rig().chain_ik.active_index = rig().chain_ik.chains.find(chain)
        select_bones(rig(), rig().chain_ik.chains[chain].subtarget)


def main() -> None:
    """Read the arguments and start the session."""
    play(Day(*read_paths("the zip, a folder for pictures")).steps())


if __name__ == "__main__":
    main()
