"""A machine that edits a file at random, and looks after every edit whether all still holds."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import bpy
from hypothesis import strategies as st

from tests.blender.edits import random_checks as checks
from tests.blender.edits import random_feet
from tests.blender.edits.kinds.random_body_edits import BodyEdits
from tests.blender.edits.kinds.random_bone_edits import BoneEdits, PoseEdits
from tests.blender.edits.kinds.random_broken_edits import BrokenEdits
from tests.blender.edits.kinds.random_button_edits import ButtonEdits
from tests.blender.edits.kinds.random_chain_edits import ChainEdits
from tests.blender.edits.kinds.random_day_edits import DayEdits
from tests.blender.edits.kinds.random_foot_edits import FootEdits
from tests.blender.edits.kinds.random_gizmo_edits import GizmoEdits
from tests.blender.edits.kinds.random_layer_edits import LayerEdits
from tests.blender.edits.kinds.random_name_edits import NameEdits
from tests.blender.edits.kinds.random_object_edits import ObjectEdits
from tests.blender.edits.kinds.random_round_trips import RoundTrips
from tests.blender.edits.kinds.random_time_edits import FileEdits, TimeEdits
from tests.blender.edits.kinds.random_undo_edits import UndoEdits
from tests.blender.edits.random_output import Output, is_fault
from tests.blender.edits.random_scene import FLAG, SEED, draw, make_scene
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
START = {
    "first": SEED,
    "second": SEED,
    "layers": st.integers(1, 3),
    "is_tree": FLAG,
    "is_limited": FLAG,
    "is_keyed": FLAG,
    "settings": st.sampled_from(
        (
            {},
            {"start_from": "CURRENT"},
            {"solver": "FABRIK"},
            {"influence": 0.4},
            {"solver": "CCD", "start_from": "CURRENT", "influence": 0.7},
            {"weight": 0.3},
        )
    ),
    "feet": st.sampled_from((0, 0, 0, 1, 2)),
}
"""What the scene of a file is drawn of; see ``make_scene``."""


class RandomEdits(
    ObjectEdits,
    LayerEdits,
    PoseEdits,
    BoneEdits,
    BodyEdits,
    NameEdits,
    ChainEdits,
    ButtonEdits,
    DayEdits,
    FootEdits,
    GizmoEdits,
    TimeEdits,
    FileEdits,
    UndoEdits,
    RoundTrips,
    BrokenEdits,
):
    """Two rigs with chains, of which one may have feet, and whatever becomes of them.

    Args:
        seed: Of the scene, and of what is looked at: in one file of three other view layers wait
            until an edit shows them, so that they are not looked at after every edit.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._looks_everywhere = seed % 3 > 0
        self._output = Output()
        self._holder = tempfile.TemporaryDirectory()
        self.folder = self._holder.name
        self.is_undone = self._has_forgotten = False
        self._number = 0
        self._broken: set[tuple[str, str, int]] = set()
        with self._output.collected():
            bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)

    def close(self) -> None:
        self._output.close()
        self._holder.cleanup()

    @classmethod
    def edits(cls) -> dict[str, dict[str, Any]]:
        """Return what is drawn for each edit, by its name."""
        found = {name: getattr(cls, name) for name in dir(cls)}
        return {name: edit.drawn for name, edit in found.items() if hasattr(edit, "drawn")}

    def carry_out_within(self, name: str, seed: str) -> None:
        """Carry out an edit within another one."""
        method = getattr(type(self), name)
        method.__wrapped__(self, **draw(method.drawn, seed))

    def next_number(self) -> int:
        """Return a number that no file has yet."""
        self._number += 1
        return self._number

    def make_rigs(self) -> None:
        with self._output.collected():
            make_scene(**draw(START, f"{self._seed} start"))
        self._look()

    def carry_out(self, method: Callable[..., None], values: dict[str, Any]) -> None:
        """Carry out an edit, update, and look."""
        known, feet = checks.written(), random_feet.mechanisms()
        if method.__name__ not in ("undo", "redo"):
            self.is_undone = False
        with self._output.collected():
            method(self, **values)
            put, placed = checks.poses(), checks.placings()
            bpy.context.view_layer.update()
            shown = checks.poses()
        self._has_forgotten = method.__name__ in FORGETTING
        self._broken |= checks.not_finite(put)
        self._check_output()
        if method.__name__ in HANDLING:
            touched = random_feet.touched(feet)
            assert not touched, f"mechanisms of feet touched: {touched}"
        if method.__name__ not in ANEW:
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
