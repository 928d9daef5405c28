"""Tour with one rig in two windows of Blender, with different view layers, then different scenes.

It drags a target in one window after the other. At every step it compares status, residual and
pose of both windows with the objects that Blender evaluates there.
"""

import bpy
from mathutils import Vector

from examples.parts.rigs import add_chain_data, add_empty, add_rig, bones_along
from window.driver import REDRAW, Session, Viewport, check, check_moved, check_near
from window.tour import Tour, clear_scene, line

RIG, TARGET = "Arm", "Target"
JOINTS = (0.0, 0.0, 0.0), (0.0, 0.1, 1.0), (0.0, 0.0, 2.0)
BY_HAND = (0.98, 0.0, 0.0, 0.2)
VIEW = Vector((0.0, 0.0, 1.0)), 6.0, (1.57, 0.0, 0.0)
START, TOO_FAR = Vector((0.6, 0.0, 1.2)), Vector((0.0, 0.0, 2.6))
LEFT, RIGHT = Vector((-0.7, 0.0, 1.0)), Vector((0.7, 0.0, 0.9))
POSED_ELSEWHERE = "Not solved here: another scene or window"
# Metres. Blender stores float32; a solve accepts 1e-5.
SAME = 2e-5


class Steps(Tour):
    """Steps of a user with two windows."""

    ui_scale = 1.0

    def open_second_window(self) -> Session:
        """Add an arm that is posed by hand, and open a window with a second view layer of it."""
        self.viewports = self.first, self.second = self.viewport, Viewport(1)
        clear_scene()
        with self.first.context():
            rig = add_rig(RIG, bones_along(("Upper", "Lower"), JOINTS, "", (0.0, -1.0, 0.0)))
            rig.pose.bones[0].rotation_quaternion = BY_HAND
            add_chain_data(rig, RIG, "Lower", add_empty(TARGET, START, 1.0), chain_count=2)
        second = bpy.context.scene.view_layers.new("Second")
        self.first.area.spaces.active.show_region_ui = False
        yield REDRAW
        with self.first.context():
            bpy.ops.wm.window_new_main()
        yield REDRAW
        self.second.window.view_layer = second
        yield REDRAW
        for viewport in self.viewports:
            viewport.look(*VIEW)
            self._select_target(viewport)
        yield REDRAW
        self._check_alike("After the second window was opened")

    def drag_in_both(self) -> Session:
        """Drag the target to the left in the second window, out of reach in the first."""
        yield from self._drag(self.second, LEFT)
        yield from self._drag(self.first, TOO_FAR)
        for viewport in self.viewports:
            self._look(viewport, "Dropped", "Out of reach")

    def undo_in_both(self) -> Session:
        """Press Ctrl Z in the second window and Ctrl Shift Z in the first."""
        far = self._check_alike("Before undo")
        for viewport, is_redone in ((self.second, False), (self.first, True)):
            yield from viewport.point_at(VIEW[0])
            viewport.press("Z", ctrl=True, shift=is_redone)
            # Blender draws one window after the other, and evaluates an undo after that.
            yield 2 * REDRAW
            elbow = self._check_alike("After redo" if is_redone else "After undo")
            if is_redone:
                check_near(elbow, far, SAME, "After redo the elbow")
            else:
                check_moved(elbow, far, 0.1, "With undo the elbow")

    def show_scenes(self) -> Session:
        """Show one view layer in both windows, then another scene with the same rig, and drag."""
        self.second.window.view_layer = self.first.window.view_layer
        yield REDRAW
        self._check_alike("With one view layer in both windows")
        yield from self._drag(self.second, RIGHT)
        scene = bpy.data.scenes.new("Other")
        for name in (RIG, TARGET):
            scene.collection.objects.link(bpy.data.objects[name])
        self.second.window.scene = scene
        yield REDRAW
        self._select_target(self.second)
        yield REDRAW
        self._check_alike("With another scene")
        yield from self._drag(self.second, LEFT)

    def show_other_frames(self) -> Session:
        """Set the scenes to other frames: one shows the other's pose, says so, and rests."""
        target, handlers = bpy.data.objects[TARGET], bpy.app.handlers.depsgraph_update_post
        updates: list[object] = []
        for frame, place in ((1, RIGHT), (21, LEFT)):
            target.location = place
            target.keyframe_insert("location", frame=frame)
        for viewport, frame in ((self.first, 1), (self.second, 21), (self.first, 5)):
            viewport.window.scene.frame_set(frame)
            yield 2 * REDRAW
            for other in self.viewports:
                prefix = "Reached" if other is viewport else ""
                self._look(other, f"With frame {frame} in window {viewport.number}", prefix)
        self._look(self.second, "With two scenes at other frames", POSED_ELSEWHERE)

        def count(*arguments: object) -> None:
            updates.append(arguments)

        handlers.append(count)
        yield 2 * REDRAW
        handlers.remove(count)
        check(not updates, f"Two windows at rest have updated {len(updates)} times.")

    def close_second_window(self) -> Session:
        """Close the second window and go on in the first."""
        with self.second.context():
            bpy.ops.wm.window_close()
        self.viewports = (self.first,)
        yield 2 * REDRAW
        self._look(self.first, "After the second window was closed")
        yield from self._drag(self.first, START)
        self.first.window.scene.frame_set(9)
        yield REDRAW
        self._look(self.first, "With one window again", "Reached")

    def _select_target(self, viewport: Viewport) -> None:
        layer, target = viewport.window.view_layer, bpy.data.objects[TARGET]
        for ob in layer.objects:
            ob.select_set(ob == target, view_layer=layer)
        layer.objects.active = target
        bpy.ops.ed.undo_push(message="Select Target")

    def _drag(self, viewport: Viewport, end: Vector) -> Session:
        """Press G in a window, move the mouse in two steps and click; check both windows."""
        self.viewport, number = viewport, viewport.number
        with viewport.context():
            start = bpy.data.objects[TARGET].matrix_world.translation.copy()
        places = line(start, end, 2)
        yield from self.grab(places, lambda step: self._check_alike(f"Dragged in window {number}"))
        yield from self.drop()
        self._check_alike(f"Dropped in window {number}")
        check_near(bpy.data.objects[TARGET].location, end, 0.02, "The target that was dragged")

    def _check_alike(self, when: str) -> Vector:
        """Check that the windows show the same pose, and return its elbow."""
        elbows = [self._look(viewport, when) for viewport in self.viewports]
        check_near(elbows[0], elbows[-1], SAME, f"{when}, one of the windows")
        return elbows[0]

    def _look(self, viewport: Viewport, when: str, prefix: str = "") -> Vector:
        """Check residual and beginning of the status of the chain in a window; return its elbow."""
        graph, when = viewport.window.view_layer.depsgraph, f"{when}, in window {viewport.number}"
        # By name: undo replaces all references.
        rig, target = (bpy.data.objects[name] for name in (RIG, TARGET))
        # The rig is at the world's origin.
        tip = rig.evaluated_get(graph).pose.bones[1]
        gap = (tip.tail - target.evaluated_get(graph).matrix_world.translation).length
        with viewport.context():
            residual, status = rig.chain_ik.chains[0].residual, rig.chain_ik.chains[0].status
        check(status.startswith(prefix), f"{when} it says '{status}'.")
        if status.startswith(POSED_ELSEWHERE):
            check_near(residual, -1.0, 0.0, f"{when}, a residual that is not known")
        else:
            check_near(gap, residual, SAME, f"{when}, the residual of '{status}'")
            is_right = status.startswith("Reached") == (gap <= SAME)
            check(is_right, f"{when}, the gap is {gap:.2g} m, and it says '{status}'.")
        return tip.head.copy()
