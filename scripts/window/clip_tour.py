"""A clip whose feet skate, in Blender's window: planted, stopped, undone, redone, baked as a clip.

    BLENDER_USER_RESOURCES=$(mktemp -d) blender --factory-startup --enable-event-simulate \
        --python scripts/window/clip_tour.py -- dist/chain_ik-*.zip out/clip

Every step leaves a picture in the folder; those of docs/clips.md are made so. The exit code is 1,
after a sentence, if a foot slides, or what was stopped or undone has left anything. It needs what
window_tour.py needs.
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
    FEET,
    TORSO,
    Motion,
    Place,
    act,
    curves,
    differing,
    pose,
    read_file,
    rest_mouse,
    rig,
)
from window.driver import (
    MOMENT,
    REDRAW,
    Session,
    Tour,
    check,
    play,
    read_paths,
    read_pixels,
    select_bones,
)
from window.opening import add_metarig, be_quick, install, show_tab

# Metres: how long a step is, how far a standing foot skates, how high the other one is lifted.
STEP, SKATE, LIFT = 0.6, 0.05, 0.12
HALF, STEPS = 12, 5
FRAMES = range(1, 1 + HALF * STEPS)
# Metres: so much may what stands move in a frame, and bones when they are baked.
STILL, SAME_BAKED = 1e-4, 2e-5
# Pixels that dots change at the least.
SEEN = 20
LONGEST_WAIT = 600
# Seconds: work on a short clip does not take one.
GLANCE = 0.02
# Limbs that are nearly straight stay a little short by their soft distances.
ARRIVED = ("Reached", "Kept", "Turned as")
VIEW = Vector((0.7, -0.5, 0.85)), 4.6, (1.25, 0.0, 0.75)
FEET_VIEW = Vector((0.35, -1.1, 0.45)), 2.2, (1.1, 0.0, 0.75)


def walk() -> Motion:
    """Return a walk of which each foot skates while it stands."""
    motion: Motion = {}
    for number in range(STEPS):
        frame, way = FRAMES[0] + HALF * number, 0.5 * STEP * number
        stands, swings = FEET if number % 2 else FEET[::-1]
        # Where feet are as the swung one leaves the floor; both have skated by then.
        ahead = Place((0.0, -way - 0.25 * STEP, 0.0))
        behind = Place((0.0, -way + 0.25 * STEP - SKATE, 0.0))
        torso = Place((0.0, -way, -0.05))
        motion[frame] = {TORSO: torso, stands: ahead, swings: behind}
        middle = Place((0.0, -way - 0.25 * STEP, LIFT), 15.0)
        skated = Place((0.0, -way - 0.25 * STEP - 0.5 * SKATE, 0.0))
        torso = Place((0.0, -way - 0.25 * STEP, -0.03))
        motion[frame + HALF // 2] = {TORSO: torso, stands: skated, swings: middle}
    return motion


class Clip(Tour):
    """The session; every method is something that people do with a recorded clip."""

    def steps(self) -> Session:
        """Yield the seconds to wait, from the first step to the last."""
        yield from self.begin()
        yield from self.record()
        recorded, way = read_file(), self.play()
        yield from self.open("plant", "clips_1_plant")
        yield from self.stop("plant", recorded)
        yield from self.open("plant")
        yield from self.finish("plant")
        self.check_planted(way)
        yield from self.look_at_dots()
        planted, way = read_file(), self.play()
        yield from self.undo_and_redo(recorded, planted)
        yield from self.open("bake", "clips_3_bake", which="ALL", method="CLIP")
        yield from self.stop("bake", planted)
        yield from self.open("bake", which="ALL", method="CLIP")
        yield from self.finish("bake")
        check(all(chain.mute for chain in rig().chain_ik.chains), "Not all chains are muted.")
        self.check_near(way, SAME_BAKED, "Baked")
        baked = read_file()
        yield from self.undo_and_redo(planted, baked)
        print(f"The clip passed; pictures are in {self.folder}.")

    def begin(self) -> Session:
        """Install the zip, add Rigify's human metarig, and set up its limbs."""
        yield from install(self.viewport, self.zip_path, 1.2)
        yield from add_metarig(self.viewport, VIEW)
        be_quick(self.viewport)
        yield from show_tab(self.viewport)
        with self.viewport.context():
            bpy.ops.pose.chain_ik_setup("INVOKE_DEFAULT", True)
            bpy.ops.object.mode_set(mode="POSE")
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = FRAMES[0], FRAMES[-1]
        yield REDRAW

    def record(self) -> Session:
        """Have the bones walk as a recorded body does: they alone have keys."""
        yield from act(self.viewport, walk())
        with self.viewport.context():
            bpy.ops.pose.chain_ik_bake("EXEC_DEFAULT", True, which="ALL")
        held = curves(rig())
        for curve in [each for each in held if "Target" in each.data_path]:
            held.remove(curve)
        for name in FEET:
            rig().pose.bones[name].matrix_basis.identity()
        bpy.context.scene.frame_set(FRAMES[0])
        with self.viewport.context():
            select_bones(rig(), FEET[0])
            bpy.ops.ed.undo_push(message="Record")
        yield REDRAW

    def open(self, name: str, picture: str = "", **settings: object) -> Session:
        """Press a button, look at its dialog, and start the work."""
        yield from rest_mouse(self.viewport)
        with self.viewport.context():
            operator = getattr(bpy.ops.pose, f"chain_ik_{name}")
            operator("INVOKE_DEFAULT", True, **settings)
        yield REDRAW
        if picture:
            self.picture(picture)
        self.viewport.press("RET")
        for _ in range(LONGEST_WAIT):
            yield GLANCE
            if self.is_running(name):
                return
        check(False, f"Enter has not started {name}.")

    def is_running(self, name: str) -> bool:
        """Tell whether the work of a button goes on."""
        running = [each.bl_idname for each in self.viewport.window.modal_operators]
        return f"POSE_OT_chain_ik_{name}" in running

    def stop(self, name: str, before: dict[str, object]) -> Session:
        """Press Esc while the work goes on: nothing has changed."""
        self.viewport.press("ESC")
        yield REDRAW
        check(not self.is_running(name), f"Esc has not stopped {name}.")
        left = ", ".join(differing(read_file(), before)[:8])
        check(not left, f"Stopped, {name} has changed {left}.")

    def finish(self, name: str) -> Session:
        """Wait until the work is done."""
        for _ in range(LONGEST_WAIT):
            yield MOMENT
            if not self.is_running(name):
                break
        check(not self.is_running(name), f"{name} has not come to its end.")
        yield REDRAW

    def play(self) -> np.ndarray:
        """Return the poses of the body through the clip, shape (f, n, 4, 4)."""
        found = []
        for frame in FRAMES:
            bpy.context.scene.frame_set(frame)
            found.append(pose())
        bpy.context.scene.frame_set(FRAMES[0])
        return np.array(found)

    def check_planted(self, recorded: np.ndarray) -> None:
        """Check that feet stand which skated, and all chains reach."""
        statuses = {chain.name: chain.status for chain in rig().chain_ik.chains}
        short = {name: each for name, each in statuses.items() if not each.startswith(ARRIVED)}
        check(not short, f"Planted: {short}.")
        names = [bone.name for bone in rig().pose.bones if bone.bone.use_deform]
        poses = self.play()
        for side in "LR":
            foot = names.index(f"foot.{side}")
            kinds = self.kinds(f"Leg.{side}")
            stands = (kinds == 3)[1:] & (kinds == 3)[:-1]
            check(stands.sum() > HALF, f"The {side} foot stands in {stands.sum()} frames only.")
            for way, is_planted in ((recorded, False), (poses, True)):
                steps = np.linalg.norm(np.diff(way[:, foot, :3, 3], axis=0), axis=1)[stands]
                is_still = steps.max() <= STILL
                word = "slides" if is_planted else "skated"
                check(is_still == is_planted, f"The {side} foot {word} by {steps.max():.2g} m.")

    def kinds(self, chain: str) -> np.ndarray:
        """Return what of a leg stands at each frame."""
        path = rig().chain_ik.chains[chain].path_from_id("planted")
        curve = next((each for each in curves(rig()) if each.data_path == path), None)
        check(curve is not None, f"Planted of {chain} has no keys.")
        return np.array([round(curve.evaluate(frame)) for frame in FRAMES])

    def look_at_dots(self) -> Session:
        """See the dots below feet that stand, and switch them off."""
        both = (self.kinds("Leg.L") == 3) & (self.kinds("Leg.R") == 3)
        check(bool(both.any()), "There is no frame at which both feet stand.")
        bpy.context.scene.frame_set(FRAMES[int(np.flatnonzero(both)[-1])])
        self.viewport.look(*FEET_VIEW)
        seen = []
        for is_shown in (True, False):
            bpy.context.scene.chain_ik.overlay.show_contacts = is_shown
            yield REDRAW
            name = "clips_2_planted" if is_shown else "without_dots"
            self.picture(name)
            seen.append(read_pixels(self.folder / f"{name}.png"))
        bpy.context.scene.chain_ik.overlay.show_contacts = True
        changed = int((np.abs(seen[0] - seen[1]).max(axis=-1) > 0.1).sum())
        check(changed >= SEEN, f"Dots change {changed} pixels only.")
        bpy.context.scene.frame_set(FRAMES[0])
        yield REDRAW

    def undo_and_redo(self, before: dict[str, object], after: dict[str, object]) -> Session:
        """Press Ctrl Z and Ctrl Shift Z: one step gives all back, and takes all back."""
        for expected, is_redone in ((before, False), (after, True)):
            yield from rest_mouse(self.viewport)
            yield from self.viewport.undo(is_redone=is_redone)
            lost = ", ".join(differing(read_file(), expected)[:8])
            check(not lost, f"{'Re' if is_redone else 'Un'}done, other than before: {lost}.")

    def check_near(self, expected: np.ndarray, most: float, when: str) -> None:
        """Check that the clip plays as it did."""
        worst = float(np.abs(self.play() - expected).max())
        check(worst <= most, f"{when}, the clip differs by {worst:.2g}.")


def main() -> None:
    """Read the arguments and start the session."""
    play(Clip(*read_paths("the zip, a folder for pictures")).steps())


if __name__ == "__main__":
    main()
