"""Tour of a day's work: set up, pose, animate, switch, bake; undo all of it, and redo it.

Then the baked animation is a clip: its feet are planted, and it is baked as a clip; both are
stopped, undone and redone. It takes a picture of docs/workflow.md and those of docs/clips.md.
"""

import bpy
import numpy as np
from mathutils import Vector

from window import character
from window.character import HANDS, TORSO, Place, check_reached, check_same, play_through, pose, rig
from window.driver import REDRAW, Session, check, check_moved, read_pixels, select_bones
from window.tour import Tour, line

LIMBS = {"Arm.L", "Arm.R", "Leg.L", "Leg.R", "Toe.L", "Toe.R", "Spine", "Neck"}
FRAMES = range(1, 92)
GRAB = 81
TO_FK, TO_IK = 60, 75
# Metres: size and place of the box, before the right hand at the end of the walk, and its lift.
BOX, BOX_SIZE, BOX_AT = "Box", 0.2, Vector((-0.3, -1.26, 1.12))
LIFT, TURN = Vector((0.0, 0.12, 0.25)), 0.3
AT_BOX = Place((0.36, -0.3, -0.1))
# More steps than the tour takes; Blender's default is 32.
UNDO_STEPS = 64
VIEW = Vector((0.55, -0.2, 0.95)), 4.0, (1.35, 0.0, 0.65)
FEET_VIEW = Vector((0.35, -0.75, 0.45)), 2.2, (1.1, 0.0, 0.75)
# Least number of pixels that the dots below the feet change.
MIN_DOT_PIXELS = 20


def frames_up_to(last: int) -> list[int]:
    """Return the frames just before a switch, and some of those before them."""
    return [*range(FRAMES[0], last - 3, 10), *range(last - 3, last + 1)]


class Steps(Tour):
    """Steps of a day's work."""

    beginning: dict[str, object]

    def begin(self) -> Session:
        bpy.context.preferences.edit.undo_steps = UNDO_STEPS
        yield from self.add_metarig(VIEW)
        yield from self.note_step("Begin")
        self.beginning = character.read_file()

    def set_up(self) -> Session:
        """Press Set Up Limbs; remove the right arm's chain, and mirror the left one."""
        before = pose()
        yield from self.set_up_limbs()
        self._check_set_up(before, "After the set-up")
        self.picture("1_set_up")
        self._activate("Arm.R")
        yield from self.press_button("remove", "EXEC_DEFAULT", delete_controls=True)
        self._activate("Arm.L")
        yield from self.press_button("mirror")
        # Select another bone, so that the click on a hand changes the selection.
        select_bones(rig(), TORSO)
        self._check_set_up(before, "After mirroring")

    def pose_hand(self) -> Session:
        """Click the left hand's control, press G and move the mouse."""
        yield from self._pull(HANDS[0], Vector((0.0, 0.0, 0.35)))
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
        yield from self.drop()
        status = rig().chain_ik.chains["Arm.L"].status
        check(status.startswith("This chain poses forearm.L"), status)
        self.picture("3_turned_by_hand")

    def crouch(self) -> Session:
        """Pull the torso down with the mouse: hands and feet stay. Then key a crouch."""
        ends = "hand.L", "hand.R", "foot.L", "foot.R", "toe.L", "toe.R"
        before = pose(*ends)
        yield from self._pull(TORSO, Vector((0.0, 0.0, -0.3)))
        check_same(pose(*ends), before, "With the torso pulled down, of hands and feet,")
        self.picture("4_crouch")
        yield from character.key_motion(self, character.CROUCH)

    def kick(self) -> Session:
        """Key a kick of the right foot; the left one stays on the floor."""
        yield from character.key_motion(self, character.KICK)
        feet = play_through(range(min(character.KICK), max(character.KICK) + 1), "foot.L", "toe.L")
        check_same(feet, feet[:1], "In the kick, of the left foot,")

    def walk(self) -> Session:
        """Put the hands in the space of the chest, and key two steps with Foot Roll."""
        bpy.context.scene.frame_set(min(character.WALK))
        for name in ("Arm.L", "Arm.R"):
            yield from self._switch_space(name, character.CHEST)
        yield from character.key_motion(self, character.WALK)
        for name, frames in character.PLANTED_FRAMES.items():
            toes = play_through(frames, name)
            check_same(toes, toes[:1], f"While the foot rolls, of {name},")
        self.picture("5_walk")

    def pick_up(self) -> Session:
        """Reach for a box, switch the hand's space to it, and lift it."""
        yield from character.key_motion(self, {GRAB: {HANDS[1]: AT_BOX}})
        with self.viewport.context():
            bpy.ops.object.mode_set(mode="OBJECT")
            bpy.ops.mesh.primitive_cube_add(size=BOX_SIZE, location=BOX_AT)
            bpy.context.object.name = BOX
            bpy.context.view_layer.objects.active = rig()
            bpy.ops.object.mode_set(mode="POSE")
        yield from self._switch_space("Arm.R", BOX)
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
        yield from self.note_step("Lift the Box")
        self.picture("6_picked_up")

    def switch(self) -> Session:
        """In the middle of the shot switch to FK, pose a bone, and switch back."""
        before = play_through(frames_up_to(TO_FK))
        yield from self._switch_to("FK")
        check_same(play_through(frames_up_to(TO_FK)), before, "Up to the switch to FK")
        bpy.context.scene.frame_set(TO_IK - 4)
        forearm = rig().pose.bones["forearm.L"]
        forearm.rotation_mode = "QUATERNION"
        forearm.rotation_quaternion.rotate(Vector((1, 0, 0)).rotation_difference((0.9, 0.3, 0.3)))
        forearm.keyframe_insert("rotation_quaternion")
        before = play_through(frames_up_to(TO_IK))
        yield from self._switch_to("IK")
        check_same(play_through(frames_up_to(TO_IK)), before, "Up to the switch to IK")
        self.picture("7_switched")

    def bake(self) -> Session:
        """Bake all chains; what plays is the same."""
        before = play_through(FRAMES)
        frames = {"frame_start": FRAMES[0], "frame_end": FRAMES[-1]}
        yield from self.press_button("bake", "EXEC_DEFAULT", which="ALL", mute=True, **frames)
        check(all(chain.mute for chain in rig().chain_ik.chains), "Not all chains are muted.")
        check_same(play_through(FRAMES), before, "Baked,")
        self.picture("8_baked")

    def undo_and_redo(self) -> Session:
        """Press Ctrl Z back to the beginning of the day, and redo it all with Ctrl Shift Z."""
        if self.is_fine:
            # No page shows pictures of it, and in fine pictures a step takes long to draw.
            return
        yield from self.rest_mouse()
        yield from self.note_step("End")
        states = [character.read_file()]
        while states[-1] != self.beginning:
            left = min((character.find_changes(state, self.beginning) for state in states), key=len)
            check(len(states) < UNDO_STEPS, f"Undo gives all back but {', '.join(left[:8])}.")
            yield from self.viewport.undo()
            states.append(character.read_file())
        self.picture("9_undone")
        for expected in states[-2::-1]:
            yield from self.viewport.undo(is_redone=True)
            character.check_file(expected, "Redone")
        self.picture("10_redone")

    def plant(self) -> Session:
        """Press Plant Feet and Esc, then press it again; show and hide the dots below the feet."""
        scene, fcurves = bpy.context.scene, character.curves(rig())
        # In a recorded motion only bones have keys, so remove those of the targets.
        for curve in [curve for curve in fcurves if "Target" in curve.data_path]:
            fcurves.remove(curve)
        for name in character.FEET:
            rig().pose.bones[name].matrix_basis.identity()
        for chain in rig().chain_ik.chains:
            chain.mute = not chain.name.startswith(("Leg", "Toe"))
        scene.frame_start, scene.frame_end = FRAMES[0], FRAMES[-1]
        scene.frame_set(FRAMES[0])
        yield from self.select(rig(), character.FEET[0])
        recorded = character.read_file()
        yield from self._stop_and_finish("plant", "clips_1_plant")
        for frame in reversed(FRAMES):
            scene.frame_set(frame)
            chains = [rig().chain_ik.chains[name] for name in ("Leg.L", "Leg.R")]
            if all(chain.planted == "FOOT" for chain in chains):
                break
        self.viewport.look(*FEET_VIEW)
        pictures = []
        for is_shown, name in ((True, "clips_2_planted"), (False, "without_dots")):
            scene.chain_ik.overlay.show_contacts = is_shown
            yield REDRAW
            pictures.append(read_pixels(self.picture(name)))
        scene.chain_ik.overlay.show_contacts = True
        changed = int((np.abs(pictures[0] - pictures[1]).max(axis=-1) > 0.1).sum())
        check(changed >= MIN_DOT_PIXELS, f"Dots change {changed} pixels only.")
        scene.frame_set(FRAMES[0])
        yield REDRAW
        yield from character.undo_and_redo(self, recorded)

    def bake_clip(self) -> Session:
        """Bake all chains as a clip, after a bake that is stopped."""
        planted = character.read_file()
        yield from self._stop_and_finish("bake", "clips_3_bake", which="ALL", method="CLIP")
        check(all(chain.mute for chain in rig().chain_ik.chains), "Not all chains are muted.")
        yield from character.undo_and_redo(self, planted)

    def _stop_and_finish(self, name: str, picture: str, **settings: str) -> Session:
        """Press a button and Esc, then press it again; the status bar shows the progress."""
        yield from self.rest_mouse()
        before, quiet = character.read_file(), self._read_hints("before")
        yield from self.start(name, picture, **settings)
        yield from self.stop(name)
        character.check_file(before, "Stopped")
        is_same = (self._read_hints("stopped") == quiet).all()
        check(is_same, f"The status bar is not what it was before {name}.")
        yield from self.start(name, **settings)
        yield REDRAW
        busy = self._read_hints("during")
        if self.is_running(name):
            check((busy != quiet).any(), f"The status bar does not say that {name} goes on.")
        else:
            # A quick operator may end before the picture is taken.
            check(name == "plant", "The bake has ended before it was seen at work.")
        yield from self.finish(name)

    def _read_hints(self, name: str) -> np.ndarray:
        """Return the pixels of the hints in the status bar; reports are further to the right."""
        return read_pixels(self.picture(name))[:20, :250]

    def _check_set_up(self, before: np.ndarray, when: str) -> None:
        """Check that all limbs have chains, and that the chains have not changed the pose."""
        names = {chain.name for chain in rig().chain_ik.chains}
        check(names == LIMBS, f"{when} there are {sorted(names)}.")
        check_same(pose(), before, when)
        check_reached(when)

    def _pull(self, name: str, way: Vector) -> Session:
        """Click a control, press G, move the mouse and click; all chains reach their targets."""
        yield from self.select(rig(), name)
        # The rig is at the world's origin.
        start = rig().pose.bones[name].head.copy()
        yield from self.grab(line(start, start + way, 2))
        yield from self.drop()
        check_moved(rig().pose.bones[name].head, start, 0.2, f"With the mouse {name}")
        check_reached(f"With {name} moved")

    def _switch_space(self, chain: str, space: str) -> Session:
        """Switch the space of a target at this frame; earlier frames play as before."""
        frames = frames_up_to(bpy.context.scene.frame_current)
        before = play_through(frames)
        self._activate(chain)
        yield from self.press_button("switch_space", "EXEC_DEFAULT", which="TARGET", space=space)
        check_same(play_through(frames), before, f"Up to the switch of {chain} to {space}")

    def _switch_to(self, side: str) -> Session:
        """Switch the left arm to FK at frame ``TO_FK``, or to IK at frame ``TO_IK``."""
        self._activate("Arm.L")
        bpy.context.scene.frame_set(TO_FK if side == "FK" else TO_IK)
        yield from self.press_button("switch", to=side)

    def _activate(self, chain: str) -> None:
        """Make a chain the active one, as a click on its control does."""
        rig().chain_ik.active_index = rig().chain_ik.chains.find(chain)
        select_bones(rig(), rig().chain_ik.chains[chain].subtarget)
