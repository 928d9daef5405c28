"""A clip whose feet skate, in Blender's window: planted, stopped, undone, redone, baked as a clip.

The pictures of docs/clips.md are made so.
"""

from __future__ import annotations

import bpy
import numpy as np
from mathutils import Vector

from window import character
from window.character import FEET, TORSO, Motion, Place, rig
from window.driver import REDRAW, Session, check, read_pixels
from window.tour import Tour

# Metres: how long a step is, how far a standing foot skates, how high the other one is lifted.
STEP, SKATE, LIFT = 0.6, 0.05, 0.12
HALF, STEPS = 12, 5
FRAMES = range(1, 1 + HALF * STEPS)
# Pixels that dots change at the least.
SEEN = 20
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

    seen_at_work: list[str]

    def record(self) -> Session:
        """Have the bones walk as a recorded body does: they alone have keys."""
        self.seen_at_work = []
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
        """Press Plant Feet and Esc, and again; see the dots below feet, and switch them off."""
        recorded = character.read_file()
        yield from self._stop_and_finish("plant", "clips_1_plant")
        for frame in reversed(FRAMES):
            bpy.context.scene.frame_set(frame)
            chains = [rig().chain_ik.chains[name] for name in ("Leg.L", "Leg.R")]
            if all(chain.planted == "FOOT" for chain in chains):
                break
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
        yield from character.undo_and_redo(self, recorded)

    def bake(self) -> Session:
        """Bake all chains as a clip, stopped at first."""
        planted = character.read_file()
        settings = {"which": "ALL", "method": "CLIP"}
        yield from self._stop_and_finish("bake", "clips_3_bake", **settings)
        check("bake" in self.seen_at_work, "The bake has ended before it was seen at work.")
        check(all(chain.mute for chain in rig().chain_ik.chains), "Not all chains are muted.")
        yield from character.undo_and_redo(self, planted)

    def _stop_and_finish(self, name: str, picture: str, **settings: str) -> Session:
        """Press a button and Esc, which leaves nothing, and again; the status bar tells of it."""
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
        # Short work may be done before the picture is taken.
        if self.is_running(name):
            self.seen_at_work.append(name)
            check((busy != quiet).any(), f"The status bar does not say that {name} goes on.")
        yield from self.finish(name)

    def _read_hints(self, name: str) -> np.ndarray:
        """Return the pixels of the hints in the status bar; reports come further to the right."""
        return read_pixels(self.picture(name))[:20, :250]
