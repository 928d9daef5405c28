"""An arm in Blender's window: a chain is added, dragged, undone, flipped, muted and baked.

A picture of docs/workflow.md is made so; tests/window takes the same steps and more.
"""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Vector

from window.character import curves
from window.driver import REDRAW, Session, check, read_pixels, select_bones, wait_until
from window.tour import RIG, Tour, line

ROOT, TIP, HAND = "upper_arm.L", "forearm.L", "hand.L"

# Metres. Blender stores float32; a solve accepts 1e-5.
REACHED = 2e-5
SAME_PLACE = 1e-6

# The rig is seen from its front and left; the sidebar hides a quarter of the view, so the centre is
# beside the rig.
VIEW = Vector((0.40, 0.0, 1.45)), 1.7, (1.45, 0.0, 0.4)
DRAG_TO = Vector((0.52, 0.0, 1.72))
DRAG_STEPS = 8
BAKED_FRAMES = 100
# Pixels, of the hints of the status bar; reports of operators come further to the right.
STATUS_BAR_HEIGHT, STATUS_BAR_WIDTH = 20, 250


@dataclass(frozen=True)
class Arm:
    """Where the arm and its target are, world space.

    Attributes:
        target: The target, None without a chain.
        elbow: The head of the tip bone.
        wrist: Its tail, the effector.
        status: The chain's status line.
    """

    target: Vector | None
    elbow: Vector
    wrist: Vector
    status: str

    def check_reached(self, when: str) -> None:
        """Check that the wrist is on the target."""
        gap = (self.wrist - self.target).length
        check(gap <= REACHED, f"{when} the wrist is {gap:.2g} m from its target.")
        check(self.status.startswith("Reached"), f"{when} the status is '{self.status}'.")

    def check_same_pose(self, other: Arm, when: str) -> None:
        """Check that the bones are where they were."""
        moved = max((self.elbow - other.elbow).length, (self.wrist - other.wrist).length)
        check(moved <= SAME_PLACE, f"{when} the arm is {moved:.2g} m from where it was.")


def read_arm() -> Arm:
    """Return the arm as Blender has evaluated it. By name: undo replaces all references."""
    rig = bpy.data.objects[RIG]
    evaluated = rig.evaluated_get(bpy.context.evaluated_depsgraph_get())
    bones = evaluated.pose.bones
    tip = bones[TIP]
    chains = rig.chain_ik.chains
    return Arm(
        target=evaluated.matrix_world @ bones[chains[0].subtarget].head if chains else None,
        elbow=evaluated.matrix_world @ tip.head,
        wrist=evaluated.matrix_world @ tip.tail,
        status=str(chains[0].status) if chains else "",
    )


class Steps(Tour):
    """Every method is a step that a person takes."""

    rest: Arm
    dropped: Arm

    def steps(self) -> Session:
        """Yield the seconds to wait, from the first step to the last."""
        yield from self.install()
        yield from self.add_rig()
        yield from self.add_chain()
        yield from self.drag_target()
        yield from self.undo_and_redo()
        yield from self.flip_and_mute()
        yield from self.bake()

    def add_rig(self) -> Session:
        """Replace the startup scene by Rigify's human metarig and look at its left arm."""
        yield from self.add_metarig(VIEW)
        self.rest = read_arm()

    def add_chain(self) -> Session:
        """Select upper arm, forearm and hand, and press the sidebar's plus."""
        rig = bpy.data.objects[RIG]
        with self.viewport.context():
            bpy.ops.object.mode_set(mode="POSE")
            select_bones(rig, ROOT, TIP, HAND)
            bpy.ops.ed.undo_push(message="Select Bones")
        yield from self.show_tab()
        yield from self.press_button("add")
        (chain,) = bpy.data.objects[RIG].chain_ik.chains
        check(chain.chain_count == 2, f"The chain has {chain.chain_count} bones instead of two.")
        check(chain.solver == "TWO_BONE", f"The solver of two bones is {chain.solver}.")
        check(chain.pole_subtarget != "", "The chain has no pole.")
        check(chain.use_rotation, "The hand does not take the target's rotation.")
        self.note("1_added").check_same_pose(self.rest, "After the chain was added")
        read_arm().check_reached("After the chain was added")

    def drag_target(self) -> Session:
        """Select the hand's control, press G, move the mouse, and click; the arm follows."""
        rig = bpy.data.objects[RIG]
        yield from self.select(rig, rig.chain_ik.chains[0].subtarget)
        start = read_arm().target
        yield from self.grab(
            line(start, DRAG_TO, DRAG_STEPS),
            lambda step: read_arm().check_reached(f"At step {step} of the drag"),
        )
        moved = (read_arm().target - start).length
        check(moved > 0.2, f"The mouse has moved the target by {moved:.2g} m only.")
        self.note("2_dragging")
        yield from self.drop()
        self.dropped = self.note("3_dropped")
        self.dropped.check_reached("After the drop")

    def undo_and_redo(self) -> Session:
        """Press Ctrl Z, then Ctrl Shift Z."""
        yield from self.viewport.undo()
        undone = self.note("4_undone")
        undone.check_same_pose(self.rest, "After undo")
        undone.check_reached("After undo")
        yield from self.viewport.undo(is_redone=True)
        redone = self.note("5_redone")
        redone.check_same_pose(self.dropped, "After redo")
        redone.check_reached("After redo")

    def flip_and_mute(self) -> Session:
        """Switch Flip Bend on and off, then Mute; they are properties of the chain."""
        elbows = {}
        for is_on in (True, False):
            bpy.data.objects[RIG].chain_ik.chains[0].use_flip_bend = is_on
            yield REDRAW
            arm = self.note(f"{6 if is_on else 7}_flip_{'on' if is_on else 'off'}")
            arm.check_reached(f"With Flip Bend {'on' if is_on else 'off'}")
            elbows[is_on] = arm.elbow
        moved = (elbows[True] - elbows[False]).length
        check(moved > 0.1, f"Flip Bend moves the elbow by {moved:.2g} m only.")
        read_arm().check_same_pose(self.dropped, "After Flip Bend was on and off")
        bpy.data.objects[RIG].chain_ik.chains[0].mute = True
        yield REDRAW
        self.note("8_muted").check_same_pose(self.rest, "Muted,")
        bpy.data.objects[RIG].chain_ik.chains[0].mute = False
        yield REDRAW
        self.note("9_unmuted").check_same_pose(self.dropped, "Unmuted,")

    def bake(self) -> Session:
        """Press Bake and stop it, bake, change a setting at the bottom, and undo it."""
        first = bpy.context.scene.frame_current
        yield from self.rest_mouse()
        yield from self.press_button("bake")
        self.viewport.press("ESC")
        yield REDRAW
        check(not self.is_baked(), "A dialog that was closed has baked.")
        before = self.status_bar("10_before_bake")
        yield from self.start("bake", frame_start=1, frame_end=BAKED_FRAMES * 100)
        yield from wait_until(lambda: bpy.context.scene.frame_current > first + 1)
        check(bpy.context.scene.frame_current > first + 1, "Bake plays no frames.")
        during = self.status_bar("11_baking")
        yield from self.stop("bake")
        after = self.status_bar("12_stopped")
        check(bpy.context.scene.frame_current == first, "Esc has left another frame.")
        check(not self.is_baked(), "Esc has left keys.")
        check((during != before).any(), "The status bar does not say that Bake goes on.")
        check((after == before).all(), "The status bar is not what it was before Bake.")
        yield from self.start("bake", frame_start=1, frame_end=BAKED_FRAMES)
        yield from self.finish("bake")
        self.check_keys(BAKED_FRAMES, "Baked")
        check(bpy.data.objects[RIG].chain_ik.chains[0].mute, "The chain is not muted by the bake.")
        with self.viewport.context():
            bpy.context.window_manager.operators[-1].properties.step = BAKED_FRAMES
            bpy.ops.ed.undo_redo()
            # Called by a script it leaves no step that can be undone.
            bpy.ops.ed.undo_push(message="Adjust")
        yield REDRAW
        self.check_keys(2, "Baked with another step")
        yield from self.viewport.undo()
        check(not self.is_baked(), "Undo has left keys.")
        read_arm().check_same_pose(self.dropped, "After undo of the bake")

    def is_baked(self) -> bool:
        """Tell whether the rig has keys."""
        return len(curves(bpy.data.objects[RIG])) > 0

    def check_keys(self, count: int, when: str) -> None:
        """Check how many keys each curve of the rig has."""
        found = {len(curve.keyframe_points) for curve in curves(bpy.data.objects[RIG])}
        check(found == {count}, f"{when}, curves have {found} keys.")

    def status_bar(self, name: str) -> np.ndarray:
        """Take a picture, and return its pixels at the left of the status bar: the hints."""
        self.picture(name)
        pixels = read_pixels(self.folder / f"{name}.png")
        return pixels[:STATUS_BAR_HEIGHT, :STATUS_BAR_WIDTH]

    def note(self, name: str) -> Arm:
        """Take the picture of a step, print where the arm is, and return it."""
        self.picture(name)
        arm = read_arm()
        print(arm)
        return arm
