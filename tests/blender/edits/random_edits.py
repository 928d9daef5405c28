"""A machine that edits a file at random, and looks after every edit whether all still holds."""

from __future__ import annotations

import tempfile
from typing import Any

import bpy

from tests.blender.edits import random_checks as checks
from tests.blender.edits import random_feet
from tests.blender.edits.kinds import (  # noqa: F401  they add the edits
    random_bone_edits,
    random_button_edits,
    random_chain_edits,
    random_object_edits,
    random_round_trips,
    random_time_edits,
)
from tests.blender.edits.random_draws import EDITS, draw
from tests.blender.edits.random_output import Output, is_fault
from tests.blender.edits.random_scene import START, make_scene
from tests.blender.edits.random_truth import untrue

# Edits that replace what there was, so that nothing of before can be compared.
ANEW = {
    *("undo", "redo", "save_and_load", "register_again", "exchange_data", "set_frame"),
    *("bake", "bake_by_steps", "switch_modes_and_undo"),
    *("undo_and_redo", "undo_often", "save_load_and_play", "play_in_any_order"),
}
# Those after which nobody knows what has changed.
FORGETTING = {
    *("undo", "redo", "save_and_load", "register_again", "switch_modes_and_undo"),
    *("undo_and_redo", "undo_often", "save_load_and_play"),
}
# Buttons that move controls: never what stands between the control of a foot and its target.
HANDLING = {
    *("match", "switch", "switch_space", "drag_control", "turn_dial"),
    *("mirror", "set_up_limbs", "remove_with_controls", "make_body_by_button"),
}
TAGS = 2
"""How often all armatures are tagged: what creeps less than rounding would hide in one."""


class RandomEdits:
    """Two rigs with chains, of which one may have feet, and whatever becomes of them.

    Args:
        seed: Of the scene, and of what is looked at: in one file of three other view layers wait
            until an edit shows them, so that they are not looked at after every edit.

    Attributes:
        folder: For files.
        is_undone: Whether nothing has changed since a step was undone.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._looks_everywhere = seed % 3 > 0
        self._output = Output()
        self._holder = tempfile.TemporaryDirectory()
        self.folder = self._holder.name
        self.is_undone = self._has_forgotten = False
        self._broken: set[tuple[str, str, int]] = set()
        with self._output.collected():
            bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)

    def close(self) -> None:
        self._output.close()
        self._holder.cleanup()

    def make_rigs(self) -> None:
        with self._output.collected():
            make_scene(draw(START, f"{self._seed} start"))
        self._look()

    def carry_out(self, name: str, /, **values: Any) -> None:
        """Carry out an edit, update, and look."""
        known, feet = checks.written(), random_feet.mechanisms()
        if name not in ("undo", "redo"):
            self.is_undone = False
        with self._output.collected():
            EDITS[name].carry_out(self, values)
            put, placed = checks.poses(), checks.placings()
            bpy.context.view_layer.update()
            shown = checks.poses()
        self._has_forgotten = name in FORGETTING
        self._broken |= checks.not_finite(put)
        self._check_output()
        if name in HANDLING:
            touched = random_feet.touched(feet)
            assert not touched, f"mechanisms of feet touched: {touched}"
        if name not in ANEW:
            moved = checks.moved_without_a_chain(put, shown, known)
            assert not moved, f"moved without a chain: {moved}"
            moved = checks.moved_objects(placed, checks.placings())
            assert not moved, f"moved objects: {moved}"
        self._look()

    def _look(self) -> None:
        """Check what has to be true of what is shown, in all view layers."""
        # What an edit has broken may stay where it is, and comes back with the stored pose.
        broken = checks.not_finite(checks.poses()) - self._broken
        assert not broken, f"not finite: {broken}"
        self._look_here("")
        shown, scene = bpy.context.view_layer.name, bpy.context.scene
        others = [layer.name for layer in scene.view_layers if layer.name != shown]
        if not self._looks_everywhere or not others:
            return
        for name in (*others, shown):
            with self._output.collected():
                bpy.context.window.view_layer = scene.view_layers[name]
                bpy.context.view_layer.update()
            self._look_here(f" in view layer '{name}'")

    def _look_here(self, where: str) -> None:
        """Check what chains say, and that a tag moves nothing."""
        false = untrue(bpy.context.scene)
        assert not false, f"untrue{where}: {false}"
        shown = checks.poses()
        with self._output.collected():
            for _ in range(TAGS):
                checks.tag_all()
        self._check_output()
        exempt, again = checks.without_rest(), checks.with_history()
        if self._has_forgotten:
            exempt |= checks.with_locks()
        moved = checks.not_stable(shown, checks.poses(), exempt, again)
        assert not moved, f"moved by a tag{where}: {moved}"

    def _check_output(self) -> None:
        text = self._output.taken()
        assert not is_fault(text), text
