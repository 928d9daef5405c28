"""Use one rig in two windows of Blender, which show other view layers, then other scenes.

A target is dragged in one window after the other. At every step status, residual and pose of both
windows are compared with what Blender has evaluated there.
"""

from __future__ import annotations

from dataclasses import dataclass

import bpy
from mathutils import Vector

from examples.parts.rigs import Bone, add_empty, add_rig, hang_chain
from window.driver import REDRAW, Session, Viewport, check, check_moved, check_near
from window.tour import Tour, clear_scene, line

RIG, TARGET = "Arm", "Target"
BONES = {
    "Upper": Bone((0.0, 0.0, 0.0), (0.0, 0.1, 1.0), "", None),
    "Lower": Bone((0.0, 0.1, 1.0), (0.0, 0.0, 2.0), "Upper", None),
}
BY_HAND = (0.98, 0.0, 0.0, 0.2)
VIEW = Vector((0.0, 0.0, 1.0)), 6.0, (1.57, 0.0, 0.0)
START, TOO_FAR = Vector((0.6, 0.0, 1.2)), Vector((0.0, 0.0, 2.6))
LEFT, RIGHT = Vector((-0.7, 0.0, 1.0)), Vector((0.7, 0.0, 0.9))
FRAME = 21
POSED_ELSEWHERE = "Not solved here: another scene or window"
# Metres. Blender stores float32; a solve accepts 1e-5.
SAME = 2e-5


@dataclass(frozen=True)
class Shown:
    """What a window shows of the arm.

    Attributes:
        elbow: The head of its tip bone.
        gap: From its effector to the target, as Blender has evaluated them.
        residual: The same, as the chain says.
        status: The chain's status line.
    """

    elbow: Vector
    gap: float
    residual: float
    status: str

    def check_true(self, when: str) -> None:
        """Check that the chain says what is to be seen."""
        if self.status.startswith(POSED_ELSEWHERE):
            check_near(self.residual, -1.0, 0.0, f"{when}, a residual that is not known")
            return
        check_near(self.gap, self.residual, SAME, f"{when}, the residual of '{self.status}'")
        is_right = self.status.startswith("Reached") == (self.gap <= SAME)
        check(is_right, f"{when}, the gap is {self.gap:.2g} m, and it says '{self.status}'.")

    def check_status(self, start: str, where: str) -> None:
        """Check how the status line begins."""
        check(self.status.startswith(start), f"{where} it says '{self.status}'.")


def make_arm() -> None:
    """Add an arm of two bones that is posed by hand, and a chain with its target."""
    rig = add_rig(RIG, BONES)
    rig.pose.bones[0].rotation_quaternion = BY_HAND
    hang_chain(rig, RIG, "Lower", add_empty(TARGET, START, 1.0), chain_count=2)


def select_target(view_layer: bpy.types.ViewLayer) -> None:
    """Select the target in a view layer, and nothing else."""
    target = bpy.data.objects[TARGET]
    for ob in view_layer.objects:
        ob.select_set(ob == target, view_layer=view_layer)
    view_layer.objects.active = target
    bpy.ops.ed.undo_push(message="Select Target")


class Steps(Tour):
    """Every method is a step that a person takes."""

    ui_scale = 1.0

    def steps(self) -> Session:
        """Yield the seconds to wait, from the first step to the last."""
        self.viewports = self.first, self.second = self.viewport, Viewport(1)
        self.updates = 0
        yield from self.install()
        yield from self.open_second_window()
        yield from self.drag_in_both()
        yield from self.undo_in_both()
        yield from self.mute()
        yield from self.switch_back()
        yield from self.show_scenes()
        yield from self.show_other_frames()
        yield from self.close_second_window()

    def open_second_window(self) -> Session:
        """Open a window that shows a second view layer beside the first."""
        clear_scene()
        with self.first.context():
            make_arm()
        second = bpy.context.scene.view_layers.new("Second")
        self.first.area.spaces.active.show_region_ui = False
        self.first.look(*VIEW)
        yield REDRAW
        with self.first.context():
            bpy.ops.wm.window_new_main()
        yield REDRAW
        self.second.look(*VIEW)
        self.second.window.view_layer = second
        yield REDRAW
        for viewport in self.viewports:
            select_target(viewport.window.view_layer)
        yield REDRAW
        self.check_alike("After the second window was opened")

    def drag_in_both(self) -> Session:
        """Drag the target to the left in the second window, out of reach in the first."""
        yield from self.drag(self.second, LEFT)
        yield from self.drag(self.first, TOO_FAR)
        for shown in map(self.read, self.viewports):
            shown.check_status("Out of reach", "Out of reach")

    def undo_in_both(self) -> Session:
        """Press Ctrl Z in the second window and Ctrl Shift Z in the first."""
        far = self.read(self.first).elbow
        yield from self.undo(self.second)
        self.check_alike("After undo")
        check_moved(self.read(self.first).elbow, far, 0.1, "With undo the elbow")
        yield from self.undo(self.first, shift=True)
        self.check_alike("After redo")
        check_near(self.read(self.second).elbow, far, SAME, "After redo the elbow")

    def mute(self) -> Session:
        """Mute the chain and unmute it: both windows show the stored pose, then the chain's."""
        solved = self.read(self.first).elbow
        stored = bpy.data.objects[RIG].chain_ik.chains[0].stored_pose
        for is_muted in (True, False):
            bpy.data.objects[RIG].chain_ik.chains[0].mute = is_muted
            yield 2 * REDRAW
            elbows = [self.read(viewport).elbow for viewport in self.viewports]
            left = max((elbow - solved).length for elbow in elbows)
            when = "Muted" if is_muted else "Unmuted"
            check((left > 0.1) is is_muted, f"{when}, the elbow is {left:.2g} m from its pose.")
            check_near(*elbows, SAME, f"{when}, one of the two windows")
        again = bpy.data.objects[RIG].chain_ik.chains[0].stored_pose
        check(again == stored, f"The stored pose was {stored} and is {again}.")

    def switch_back(self) -> Session:
        """Show the first view layer in both windows, and drag."""
        self.second.window.view_layer = self.first.window.view_layer
        yield REDRAW
        self.check_alike("With one view layer in both windows")
        yield from self.drag(self.second, RIGHT)

    def show_scenes(self) -> Session:
        """Show another scene, with the same rig, in the second window, and drag in both."""
        scene = bpy.data.scenes.new("Other")
        for name in (RIG, TARGET):
            scene.collection.objects.link(bpy.data.objects[name])
        self.second.window.scene = scene
        yield REDRAW
        select_target(scene.view_layers[0])
        yield REDRAW
        self.check_alike("With another scene")
        yield from self.drag(self.second, LEFT)

    def show_other_frames(self) -> Session:
        """Set the scenes to other frames: one shows the other's pose and says so, and rests."""
        target = bpy.data.objects[TARGET]
        for frame, place in ((1, RIGHT), (FRAME, LEFT)):
            target.location = place
            target.keyframe_insert("location", frame=frame)
        scenes = [viewport.window.scene for viewport in self.viewports]
        for scene, frame in ((scenes[0], 1), (scenes[1], FRAME), (scenes[0], 5)):
            scene.frame_set(frame)
            yield 2 * REDRAW
            shown = dict(zip(scenes, map(self.read, self.viewports), strict=True))
            for each in shown.values():
                each.check_true(f"At frames {scenes[0].frame_current}, {scenes[1].frame_current}")
            shown[scene].check_status("Reached", "Where the frame was set")
        shown[scenes[1]].check_status(POSED_ELSEWHERE, "In the other scene")
        bpy.app.handlers.depsgraph_update_post.append(self.count)
        yield 2 * REDRAW
        bpy.app.handlers.depsgraph_update_post.remove(self.count)
        check(self.updates == 0, f"Two windows at rest have updated {self.updates} times.")

    def close_second_window(self) -> Session:
        """Close the second window and go on in the first."""
        with self.second.context():
            bpy.ops.wm.window_close()
        self.viewports = (self.first,)
        yield 2 * REDRAW
        self.read(self.first).check_true("After the second window was closed")
        yield from self.drag(self.first, START)
        self.first.window.scene.frame_set(9)
        yield REDRAW
        self.read(self.first).check_status("Reached", "With one window again")

    def drag(self, viewport: Viewport, end: Vector) -> Session:
        """Press G in a window, move the mouse in two steps and click; check both windows."""
        self.viewport, number = viewport, viewport.number + 1
        with viewport.context():
            start = bpy.data.objects[TARGET].matrix_world.translation.copy()
        places = line(start, end, 2)
        yield from self.grab(places, lambda step: self.check_alike(f"Dragged in window {number}"))
        yield from self.drop()
        self.check_alike(f"Dropped in window {number}")
        check_near(bpy.data.objects[TARGET].location, end, 0.02, "The target that was dragged")

    def undo(self, viewport: Viewport, **shift: bool) -> Session:
        """Press Ctrl Z over the view of a window, or Ctrl Shift Z."""
        yield from viewport.point_at(VIEW[0])
        viewport.press("Z", ctrl=True, **shift)
        # Blender draws one window after the other, and updates what is undone after that.
        yield 2 * REDRAW

    def check_alike(self, when: str) -> None:
        """Check that the windows show one pose, and that the chain is right about it in each."""
        shown = [self.read(viewport) for viewport in self.viewports]
        for number, each in enumerate(shown, start=1):
            each.check_true(f"{when}, in window {number}")
        check_near(shown[0].elbow, shown[-1].elbow, SAME, f"{when}, one of the windows")

    def read(self, viewport: Viewport) -> Shown:
        """Return what a window shows. By name: undo replaces all references."""
        depsgraph = viewport.window.view_layer.depsgraph
        rig, target = (bpy.data.objects[name] for name in (RIG, TARGET))
        # The rig stands at the world's origin.
        tip = rig.evaluated_get(depsgraph).pose.bones[1]
        gap = tip.tail - target.evaluated_get(depsgraph).matrix_world.translation
        with viewport.context():
            chain = rig.chain_ik.chains[0]
            return Shown(tip.head.copy(), gap.length, chain.residual, chain.status)

    def count(self, *_arguments: object) -> None:
        """Count an update."""
        self.updates += 1
