"""A machine that edits a file at random, and looks after every edit whether all still holds."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import bpy
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.blender.edits import random_checks as checks
from tests.blender.edits.random_bone_edits import BoneEdits, PoseEdits
from tests.blender.edits.random_broken_edits import BrokenEdits
from tests.blender.edits.random_chain_edits import ButtonEdits, ChainEdits
from tests.blender.edits.random_day_edits import DayEdits
from tests.blender.edits.random_gizmo_edits import GizmoEdits
from tests.blender.edits.random_object_edits import LayerEdits, ObjectEdits
from tests.blender.edits.random_output import Output, is_fault
from tests.blender.edits.random_scene import SEED, make_limb, place
from tests.blender.edits.random_time_edits import FileEdits, TimeEdits
from tests.blender.setups import rigs

# Edits that replace what there was, so that nothing of before can be compared.
ANEW = {
    *("undo", "redo", "save_and_load", "register_again", "exchange_data", "set_frame"),
    *("bake", "bake_by_steps", "switch_modes_and_undo"),
}


class RandomEdits(
    ObjectEdits,
    LayerEdits,
    PoseEdits,
    BoneEdits,
    ChainEdits,
    ButtonEdits,
    DayEdits,
    GizmoEdits,
    TimeEdits,
    FileEdits,
    BrokenEdits,
    RuleBasedStateMachine,
):
    """Two rigs with a chain each, and whatever becomes of them."""

    def __init__(self) -> None:
        super().__init__()
        self._output = Output()
        self._holder = tempfile.TemporaryDirectory()
        self.folder = self._holder.name
        self.is_undone = False
        self._number = 0
        self._broken: set[tuple[str, str, int]] = set()
        with self._output.collected():
            bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)

    def teardown(self) -> None:
        self._output.close()
        self._holder.cleanup()

    def next_number(self) -> int:
        """Return a number that no file has yet."""
        self._number += 1
        return self._number

    @initialize(first=SEED, second=SEED)
    def make_rigs(self, first: int, second: int) -> None:
        with self._output.collected():
            for name, seed in (("Rig", first), ("Other", second)):
                ob = make_limb(seed, name)
                target = rigs.make_empty(f"{name} Target", place(seed + 1))
                rigs.make_empty(f"{name} Pole", place(seed + 2))
                rigs.add_chain(ob, f"Bone.{seed % 4}", target)
            bpy.context.view_layer.update()
        self._look()

    def carry_out(self, method: Callable[..., None], values: dict[str, Any]) -> None:
        """Carry out an edit, update, and look."""
        known = checks.written()
        if method.__name__ not in ("undo", "redo"):
            self.is_undone = False
        with self._output.collected():
            method(self, **values)
            put, placed = checks.poses(), checks.placings()
            bpy.context.view_layer.update()
            shown = checks.poses()
        self._broken |= checks.not_finite(put)
        self._check_output()
        if method.__name__ not in ANEW:
            moved = checks.moved_without_a_chain(put, shown, known)
            assert not moved, f"moved without a chain: {moved}"
            moved = checks.moved_objects(placed, checks.placings())
            assert not moved, f"moved objects: {moved}"
        self._look()

    def _look(self) -> None:
        """Check what has to be true of what is shown."""
        shown = checks.poses()
        # What an edit has broken may stay where it is, and comes back with the stored pose.
        broken = checks.not_finite(shown) - self._broken
        assert not broken, f"not finite: {broken}"
        untrue = checks.untrue(bpy.context.scene)
        assert not untrue, f"untrue: {untrue}"
        with self._output.collected():
            checks.tag_all()
        self._check_output()
        moved = checks.not_stable(shown, checks.poses())
        assert not moved, f"moved when updated again: {moved}"

    def _check_output(self) -> None:
        text = self._output.taken()
        assert not is_fault(text), text

    @rule()
    def read_afresh(self) -> None:
        """Switch live off and on: what is read afresh gives what was there."""
        scene = bpy.context.scene
        if not scene.chain_ik.use_live:
            return
        self.is_undone = False
        before = checks.poses()
        with self._output.collected():
            scene.chain_ik.use_live = False
            bpy.context.view_layer.update()
            scene.chain_ik.use_live = True
            checks.tag_all()
        self._check_output()
        moved = checks.not_stable(before, checks.poses())
        assert not moved, f"moved by live off and on: {moved}"
