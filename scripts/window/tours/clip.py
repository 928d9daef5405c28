"""A clip whose feet skate, in Blender's window: planted, stopped, undone, redone, baked as a clip.

The pictures of docs/clips.md are made so.
"""

from __future__ import annotations

import bpy
import numpy as np
from mathutils import Vector

from window import character
from window.character import FEET, TORSO, Motion, Place, rig
from window.driver import REDRAW, Session, check, check_near, read_pixels
from window.tour import Tour

# Metres: how long a step is, how far a standing foot skates, how high the other one is lifted.
STEP, SKATE, LIFT = 0.6, 0.05, 0.12
HALF, STEPS = 12, 5
FRAMES = range(1, 1 + HALF * STEPS)
# Metres: so much may what stands move in a frame, and bones when they are baked.
STILL, SAME_BAKED = 1e-4, 2e-5
# Pixels that dots change at the least.
SEEN = 20
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
        # As a foot leaves the floor, when both have skated, and as it is in the air.
        ahead = way + 0.25 * STEP
        behind = ahead - 0.5 * STEP + SKATE
        motion[frame] = {
            TORSO: Place((0.0, -way, -0.05)),
            stands: Place((0.0, -ahead, 0.0)),
            swings: Place((0.0, -behind, 0.0)),
        }
        motion[frame + HALF // 2] = {
            TORSO: Place((0.0, -ahead, -0.03)),
            stands: Place((0.0, -ahead - 0.5 * SKATE, 0.0)),
            swings: Place((0.0, -ahead, LIFT), 15.0),
        }
    return motion


class Steps(Tour):
    """Every method is something that people do with a recorded clip."""

    def record(self) -> Session:
        """Have the bones walk as a recorded body does: they alone have keys."""
        yield from self.add_metarig(VIEW)
        yield from self.set_up_limbs()
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = FRAMES[0], FRAMES[-1]
        yield from character.act(self, walk())
        yield from self.press_button("bake", "EXEC_DEFAULT", which="ALL")
        held = character.curves(rig())
        for curve in [each for each in held if "Target" in each.data_path]:
            held.remove(curve)
        for name in FEET:
            rig().pose.bones[name].matrix_basis.identity()
        bpy.context.scene.frame_set(FRAMES[0])
        yield from self.select(rig(), FEET[0])

    def plant(self) -> Session:
        """Press Plant Feet and Esc, then again: feet stand which skated, and all chains reach."""
        recorded, way = character.read_file(), self._play()
        yield from self.start("plant", "clips_1_plant")
        yield from self.stop("plant")
        character.check_file(recorded, "Stopped")
        yield from self.start("plant")
        yield from self.finish("plant")
        character.check_reached("Planted", ARRIVED)
        planted = self._play()
        names = [bone.name for bone in rig().pose.bones if bone.bone.use_deform]
        for side in "LR":
            foot, kinds = names.index(f"foot.{side}"), self._kinds(f"Leg.{side}")
            stands = (kinds == 3)[1:] & (kinds == 3)[:-1]
            check(stands.sum() > HALF, f"The {side} foot stands in {stands.sum()} frames only.")
            for poses, word in ((way, "skated"), (planted, "slides")):
                steps = np.linalg.norm(np.diff(poses[:, foot, :3, 3], axis=0), axis=1)[stands]
                is_right = (steps.max() <= STILL) == (word == "slides")
                check(is_right, f"The {side} foot {word} by {steps.max():.2g} m.")
        yield from self._look_at_dots()
        yield from character.undo_and_redo(self, recorded)

    def bake(self) -> Session:
        """Bake all chains as a clip, stopped at first; what plays is the same."""
        planted, way = character.read_file(), self._play()
        yield from self.start("bake", "clips_3_bake", which="ALL", method="CLIP")
        yield from self.stop("bake")
        character.check_file(planted, "Stopped")
        yield from self.start("bake", which="ALL", method="CLIP")
        yield from self.finish("bake")
        check(all(chain.mute for chain in rig().chain_ik.chains), "Not all chains are muted.")
        check_near(self._play(), way, SAME_BAKED, "Baked, the clip")
        yield from character.undo_and_redo(self, planted)

    def _play(self) -> np.ndarray:
        """Return the poses of the body through the clip, shape (f, n, 4, 4)."""
        found = character.play_through(FRAMES, says="")
        bpy.context.scene.frame_set(FRAMES[0])
        return found

    def _kinds(self, chain: str) -> np.ndarray:
        """Return what of a leg stands at each frame."""
        path = rig().chain_ik.chains[chain].path_from_id("planted")
        curve = next((each for each in character.curves(rig()) if each.data_path == path), None)
        check(curve is not None, f"Planted of {chain} has no keys.")
        return np.array([round(curve.evaluate(frame)) for frame in FRAMES])

    def _look_at_dots(self) -> Session:
        """See the dots below feet that stand, and switch them off."""
        both = (self._kinds("Leg.L") == 3) & (self._kinds("Leg.R") == 3)
        check(bool(both.any()), "There is no frame at which both feet stand.")
        bpy.context.scene.frame_set(FRAMES[int(np.flatnonzero(both)[-1])])
        self.viewport.look(*FEET_VIEW)
        overlay, seen = bpy.context.scene.chain_ik.overlay, []
        for is_shown, name in ((True, "clips_2_planted"), (False, "without_dots")):
            overlay.show_contacts = is_shown
            yield REDRAW
            seen.append(read_pixels(self.picture(name)))
        overlay.show_contacts = True
        changed = int((np.abs(seen[0] - seen[1]).max(axis=-1) > 0.1).sum())
        check(changed >= SEEN, f"Dots change {changed} pixels only.")
        bpy.context.scene.frame_set(FRAMES[0])
        yield REDRAW
