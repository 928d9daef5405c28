"""Install the zip and use it in Blender's window, as a person would; check every step.

    BLENDER_USER_RESOURCES=$(mktemp -d) blender --factory-startup --enable-event-simulate \
        --python scripts/window/window_tour.py -- dist/chain_ik-*.zip out/window

It installs the extension, adds Rigify's metarig, puts a chain with control bones on its left arm,
drags the target with the mouse in pose mode, drops it, undoes, redoes, flips the bend, mutes,
unmutes, and bakes, at first until Esc. Each step leaves a picture in the folder. The exit code is
1, after a sentence, if the arm does not do what it should.

Needs an X screen (1600 x 900 is right; a virtual one will do), the program `import` of
ImageMagick, and an empty folder for Blender's user files, so that nobody's own Blender is changed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import bpy
from mathutils import Vector

# Blender puts the folder of a script that it runs on no path.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from window.character import curves
from window.driver import (
    MOMENT,
    REDRAW,
    Session,
    Viewport,
    check,
    play,
    read_paths,
    read_status_bar,
    select_bones,
)
from window.opening import RIG, add_metarig, install, show_tab

ROOT, TIP, HAND = "upper_arm.L", "forearm.L", "hand.L"

# Metres. Blender stores float32; a solve accepts 1e-5.
REACHED = 2e-5
SAME_PLACE = 1e-6

# The picture: a README shows it at half its size, so that the text has to be large. The rig is seen
# from its front and left; the sidebar hides a quarter of the view, so the centre is beside the rig.
UI_SCALE = 1.2
VIEW = Vector((0.40, 0.0, 1.45)), 1.7, (1.45, 0.0, 0.4)
DRAG_TO = Vector((0.52, 0.0, 1.72))
DRAG_STEPS = 8
BAKED_FRAMES = 100


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

    def __str__(self) -> str:
        """Return positions in metres."""
        named = {"target": self.target, "elbow": self.elbow, "wrist": self.wrist}
        texts = (
            f"{name} ({', '.join(f'{value:.4f}' for value in point)})"
            for name, point in named.items()
            if point is not None
        )
        return f"{', '.join(texts)}  {self.status}"

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


def count_keys(rig: bpy.types.Object) -> set[int]:
    """Return how many keys the curves of an object have."""
    return {len(curve.keyframe_points) for curve in curves(rig)}


class Tour:
    """The session; every method is a step that a person takes."""

    def __init__(self, zip_path: Path, folder: Path) -> None:
        self.zip_path, self.folder = zip_path, folder
        self.viewport = Viewport()

    def steps(self) -> Session:
        """Yield the seconds to wait, from the first step to the last."""
        yield from self.install()
        yield from self.add_rig()
        rest = read_arm()
        yield from self.add_chain(rest)
        yield from self.select_target()
        yield from self.drag_target()
        dropped = read_arm()
        yield from self.undo_and_redo(rest, dropped)
        yield from self.flip_and_mute(rest, dropped)
        yield from self.bake()
        print(f"The window tour passed; pictures are in {self.folder}.")

    def install(self) -> Session:
        """Install the zip and switch it on."""
        yield from install(self.viewport, self.zip_path, UI_SCALE)

    def add_rig(self) -> Session:
        """Replace the startup scene by Rigify's human metarig and look at its left arm."""
        yield from add_metarig(self.viewport, VIEW)

    def add_chain(self, rest: Arm) -> Session:
        """Select upper arm, forearm and hand, and press the sidebar's plus."""
        rig = bpy.data.objects[RIG]
        with self.viewport.context():
            bpy.ops.object.mode_set(mode="POSE")
            select_bones(rig, ROOT, TIP, HAND)
            bpy.ops.ed.undo_push(message="Select Bones")
        yield from show_tab(self.viewport)
        with self.viewport.context():
            bpy.ops.pose.chain_ik_add("INVOKE_DEFAULT", True)
        yield REDRAW
        (chain,) = bpy.data.objects[RIG].chain_ik.chains
        check(chain.chain_count == 2, f"The chain has {chain.chain_count} bones instead of two.")
        check(chain.solver == "TWO_BONE", f"The solver of two bones is {chain.solver}.")
        check(chain.pole_subtarget != "", "The chain has no pole.")
        check(chain.use_rotation, "The hand does not take the target's rotation.")
        self.note("1_added").check_same_pose(rest, "After the chain was added")
        read_arm().check_reached("After the chain was added")

    def select_target(self) -> Session:
        """Select the control bone of the hand; the armature stays in pose mode."""
        rig = bpy.data.objects[RIG]
        with self.viewport.context():
            select_bones(rig, rig.chain_ik.chains[0].subtarget)
            bpy.ops.ed.undo_push(message="Select Target")
        yield REDRAW

    def drag_target(self) -> Session:
        """Press G, move the mouse, and click; the arm follows every move."""
        start = read_arm().target
        (x, y), (x_end, y_end) = map(self.viewport.pixel_of, (start, DRAG_TO))
        yield from self.viewport.drag([(x, y)], button="")
        self.viewport.press("G")
        yield REDRAW
        for step in range(1, DRAG_STEPS + 1):
            part = step / DRAG_STEPS
            pixel = round(x + part * (x_end - x)), round(y + part * (y_end - y))
            yield from self.viewport.drag([pixel], button="")
            yield REDRAW
            read_arm().check_reached(f"At step {step} of the drag")
        moved = (read_arm().target - start).length
        check(moved > 0.2, f"The mouse has moved the target by {moved:.2g} m only.")
        self.note("2_dragging")
        self.viewport.press("LEFTMOUSE")
        yield REDRAW
        self.note("3_dropped").check_reached("After the drop")

    def undo_and_redo(self, rest: Arm, dropped: Arm) -> Session:
        """Press Ctrl Z, then Ctrl Shift Z."""
        yield from self.viewport.undo()
        undone = self.note("4_undone")
        undone.check_same_pose(rest, "After undo")
        undone.check_reached("After undo")
        yield from self.viewport.undo(is_redone=True)
        redone = self.note("5_redone")
        redone.check_same_pose(dropped, "After redo")
        redone.check_reached("After redo")

    def flip_and_mute(self, rest: Arm, dropped: Arm) -> Session:
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
        read_arm().check_same_pose(dropped, "After Flip Bend was on and off")
        bpy.data.objects[RIG].chain_ik.chains[0].mute = True
        yield REDRAW
        self.note("8_muted").check_same_pose(rest, "Muted,")
        bpy.data.objects[RIG].chain_ik.chains[0].mute = False
        yield REDRAW
        self.note("9_unmuted").check_same_pose(dropped, "Unmuted,")
        yield MOMENT

    def bake(self) -> Session:
        """Press Bake and stop it; press it again and wait; then change a setting at the bottom."""
        rig = bpy.data.objects[RIG]
        first = bpy.context.scene.frame_current
        yield from self.press_bake(BAKED_FRAMES, answer="ESC")
        yield REDRAW
        check(rig.animation_data is None, "A dialog that was closed has baked.")
        self.note("10_before_bake")
        yield from self.press_bake(BAKED_FRAMES * 100)
        yield from self.wait_until(lambda: bpy.context.scene.frame_current > first + 1)
        check(bpy.context.scene.frame_current > first + 1, "Bake plays no frames.")
        check(self.is_busy(), "Bake has ended before it could be stopped.")
        self.note("11_baking")
        self.viewport.press("ESC")
        yield REDRAW
        self.note("12_stopped")
        check(not self.is_busy(), "Esc has not stopped the bake.")
        check(bpy.context.scene.frame_current == first, "Esc has left another frame.")
        check(rig.animation_data is None, "Esc has left keys.")
        before, during, after = (
            read_status_bar(self.folder / f"{name}.png")
            for name in ("10_before_bake", "11_baking", "12_stopped")
        )
        check((during != before).any(), "The status bar does not say that Bake goes on.")
        check((after == before).all(), "The status bar is not what it was before Bake.")
        yield from self.press_bake(BAKED_FRAMES)
        yield from self.wait_until(lambda: not self.is_busy())
        rig = bpy.data.objects[RIG]
        check(count_keys(rig) == {BAKED_FRAMES}, f"Bake has set {count_keys(rig)} keys.")
        check(rig.chain_ik.chains[0].mute, "The chain is not muted after the bake.")
        with self.viewport.context():
            bpy.context.window_manager.operators[-1].properties.step = BAKED_FRAMES
            bpy.ops.ed.undo_redo()
        yield REDRAW
        found = count_keys(bpy.data.objects[RIG])
        check(found == {2}, f"With another step Bake has set {found} keys.")

    def press_bake(self, last: int, answer: str = "RET") -> Session:
        """Press the button, and a key on what it asks."""
        yield from self.viewport.drag([self.viewport.pixel_of(DRAG_TO)], button="")
        with self.viewport.context():
            bpy.ops.pose.chain_ik_bake("INVOKE_DEFAULT", True, frame_start=1, frame_end=last)
        yield REDRAW
        self.viewport.press(answer)

    def wait_until(self, is_so: Callable[[], bool]) -> Session:
        """Wait until something is so, or for too long."""
        for _ in range(50):
            yield REDRAW
            if is_so():
                return

    def is_busy(self) -> bool:
        """Tell whether an operator holds the window."""
        return len(self.viewport.window.modal_operators) > 0

    def note(self, name: str) -> Arm:
        """Take the picture of a step, print where the arm is, and return it."""
        self.viewport.take_picture(self.folder / f"{name}.png")
        arm = read_arm()
        print(f"{name:12} {arm}")
        return arm


def main() -> None:
    """Read the arguments and start the session."""
    play(Tour(*read_paths("the zip, a folder for pictures")).steps())


if __name__ == "__main__":
    main()
