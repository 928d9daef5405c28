"""Edits that are taken back: several at once, with keyed settings and armatures as own targets."""

from __future__ import annotations

import os

import bpy
from hypothesis import strategies as st

from tests.blender.edits import random_saving
from tests.blender.edits.kinds.random_round_trips import Snapshot, settle
from tests.blender.edits.random_scene import SEED, edit, press
from tests.helpers import make_rng

UNDOABLE = (
    *("move_target", "turn_bone", "set_number", "set_flag", "mute_chain", "set_solver"),
    *("key_setting", "key_influence", "key_bone", "drive_setting", "aim_at_own_bone"),
    *("rename_bone", "rename_object", "add_chain", "remove_chain", "hide_object"),
    *("add_joint", "set_joint", "limit_bone", "add_view_layer", "set_start"),
)
CHANGES = st.integers(1, 5)


def changes_of(count: int, seed: int) -> list[str]:
    """Return the names of edits that are taken back."""
    return make_rng(seed).choice(UNDOABLE, count).tolist()


class UndoEdits:
    """Undo and redo."""

    @edit(count=CHANGES, seed=SEED)
    def undo_and_redo(self, count, seed):
        """Make changes with a step each, take all back, and make them again."""
        changes = changes_of(count, seed)
        self.leave_modes()
        settle()
        press(bpy.ops.ed.undo_push, message="before")
        shown = [Snapshot()]
        for number, name in enumerate(changes):
            self.carry_out_within(name, f"{seed} {number}")
            settle()
            press(bpy.ops.ed.undo_push, message=name)
            shown.append(Snapshot())
        # Steps of undo keep what files keep.
        exempt = set.union(random_saving.with_unsaved(), *(each.exempt for each in shown))
        last = len(changes)
        for step, operator in (
            *((step, bpy.ops.ed.undo) for step in reversed(range(last))),
            *((step, bpy.ops.ed.redo) for step in range(1, last + 1)),
        ):
            press(operator)
            settle()
            shown[step].exempt = exempt
            shown[step].check(f"undo and redo of {changes}, at {step}")

    @edit(count=CHANGES, seed=SEED, times=st.integers(1, 4))
    def undo_often(self, count, seed, times):
        """Go back and forth in a row, without an update between: Blender must stay up."""
        changes = changes_of(count, seed)
        press(bpy.ops.ed.undo_push, message="before")
        for number, name in enumerate(changes):
            self.carry_out_within(name, f"{seed} {number}")
            press(bpy.ops.ed.undo_push, message=name)
        for _ in range(times):
            for operator in (bpy.ops.ed.undo, bpy.ops.ed.redo):
                for _ in changes:
                    press(operator)
        press(bpy.ops.ed.undo)

    @edit()
    def _go_down(self):
        """Drawn only where it is asked for: shows that a process that goes down is told."""
        os.abort()
