"""Drag every gizmo of chains in Blender's window, as a person would; check what each has done.

In pose mode it drags a target and a pole that are empties, turns the pole angle, clicks the handle
of another chain, drags that one's target, a bone, and the ends of limits. Each drag is undone in
one step, and one is given up with Esc. A target is renamed, and its chain follows.
"""

from __future__ import annotations

import contextlib
import io
import math
import sys

import bpy
import numpy as np
from mathutils import Vector

from window.driver import REDRAW, Session, check, check_moved, check_near, select_bones
from window.gizmo_rig import SAME_PLACE, Places, build, check_same, places, rig
from window.tour import MODULE, Tour

# Metres: float32, and a tolerance of 1e-5.
REACHED = 3e-5
MOVED = 10.0 * REACHED
# Pixels that a dragged thing may be off the mouse, and radians that a dial may.
ON_MOUSE, TURNED = 1.5, 0.03
STEPS = 6
TURN = math.radians(40.0)
# As in the package: pixels at an interface scale of one.
DIAL_RADIUS = 0.6 * 75.0
HANDLE = 16
# Beside what the ring is around, so that nothing but the ring is there.
IN_RING = 9


def turned_about(line: Vector, before: Vector, after: Vector) -> float:
    """Return by how much a point has turned about a line through the origin."""
    one, other = (point - point.project(line) for point in (before, after))
    return math.atan2(one.cross(other).dot(line.normalized()), one.dot(other))


class Steps(Tour):
    """Every method uses a gizmo or two."""

    ui_scale = 1.0

    def steps(self) -> Session:
        """Yield the seconds to wait, from the first step to the last."""
        yield from self.install()
        with self.viewport.context():
            build()
        yield from self.note_step("Build")
        self.viewport.look(Vector((0.0, 0.0, 0.55)), 2.6, (1.35, 0.0, 0.5))
        yield REDRAW
        self.picture("1_gizmos")
        yield from self.drag_control("Target", "L")
        yield from self.give_up("Target", "L")
        yield from self.drag_control("Pole", "L")
        yield from self.turn_dial()
        yield from self.click_handle()
        yield from self.drag_control("Target", "R")
        yield from self.give_up("Pole", "R")
        yield from self.click_target()
        yield from self.click_object()
        yield from self.open_pie()
        yield from self.drag_limit()
        yield from self.show_large()
        yield from self.rename()
        yield from self.lose_things()

    def drag_control(self, word: str, side: str) -> Session:
        """Drag a target or pole: it is under the mouse, the chain follows, one undo is enough."""
        before, active = places(side), bpy.context.active_pose_bone.name
        path = self.path_from(before[word])
        followed = 0
        for wait in self.viewport.drag(path, button="LEFTMOUSE"):
            yield wait
            now = places(side)
            moved = (now[word] - before[word]).length > MOVED
            if moved and followed == 0:
                # No axis, and no undo either, as long as the button is held.
                self.viewport.press("Z", ctrl=True)
            followed += moved and (now["Tip"] - now["Target"]).length <= REACHED
        check(followed > STEPS // 2, f"The chain followed its {word} {followed} times only.")
        yield REDRAW
        place = places(side)[word]
        self.picture(f"2_{word.lower()}_{side}")
        off = Vector(self.viewport.pixel_of(place)) - Vector(path[-1])
        check(off.length <= ON_MOUSE, f"{word}.{side} is {off.length:.1f} pixels off the mouse.")
        noted = Vector(bpy.context.window_manager.operators[-1].properties.location)
        check_near(noted, place, MOVED, f"Adjust Last Operation of {word}.{side}")
        check(bpy.context.mode == "POSE", f"Dragging a {word} has left pose mode.")
        check(bpy.context.active_pose_bone.name == active, "A drag has selected something.")
        yield from self.undo(f"Move {word}", before, side)

    def give_up(self, word: str, side: str) -> Session:
        """Drag a target or pole and press Esc."""
        before = places(side)
        count = len(bpy.context.window_manager.operators)
        path = self.path_from(before[word])
        for number, wait in enumerate(self.viewport.drag(path, button="LEFTMOUSE")):
            yield wait
            if number == STEPS:
                check_moved(places(side)[word], before[word], MOVED, f"{word}.{side} before Esc")
                self.viewport.press("ESC")
        yield REDRAW
        check_same(side, before, f"After Esc on {word}.{side}")
        now = len(bpy.context.window_manager.operators)
        check(now == count, "A drag that was given up is in the history.")

    def turn_dial(self) -> Session:
        """Drag the dial of the pole angle round; with Ctrl it snaps."""
        before = places("L")
        root, line = before["Root"], before["Target"] - before["Root"]
        for keys, word in (({}, "freely"), ({"ctrl": True}, "in steps")):
            path = [self.viewport.pixel_of(point) for point in self.ring(before)]
            yield from self.viewport.drag(path, button="LEFTMOUSE", **keys)
            yield REDRAW
            self.picture(f"3_dial_{word.split()[-1]}")
            angle = rig().chain_ik.chains[0].pole_angle
            turned = turned_about(line, before["Elbow"] - root, places("L")["Elbow"] - root)
            check_near(turned, angle, TURNED, "The elbow, beside the angle of the dial,")
            check_near(angle, TURN, TURNED, f"The dial, turned {word},")
            steps = math.degrees(angle) / 5.0
            is_snapped = abs(steps - round(steps)) < 1e-4
            check(is_snapped or not keys, f"With Ctrl the angle is {math.degrees(angle):.3f}°.")
            yield from self.undo("Turn Pole Angle", before, "L")

    def click_handle(self) -> Session:
        """Click the handle of the other chain: it becomes active, and its target is selected."""
        x, y = self.viewport.pixel_of(places("R")["Tip"])
        size = bpy.context.preferences.system.ui_scale
        spot = (round(x + HANDLE * size), round(y + HANDLE * size))
        for held in (True, False):
            rig().chain_ik.active_index = 0
            yield from self.click_control(spot, "Upper.L", is_shift_held=held)
            active = rig().chain_ik.active_index
            check(active == 1, f"The handle has made chain {active} the active one.")
        yield from self.move_selected("Target", "R")

    def click_target(self) -> Session:
        """Click beside a target that is a bone, in its ring: that is no drag, so it is selected."""
        before = places("R")
        x, y = self.viewport.pixel_of(before["Target"])
        for held in (True, False):
            select_bones(rig(), "Upper.R")
            yield from self.click_control((x - IN_RING, y), "Upper.R", is_shift_held=held)
            check_same("R", before, "After a click on the ring of its target")
        yield from self.move_selected("Target", "R")

    def click_control(
        self, spot: tuple[int, int], selected: str, *, is_shift_held: bool
    ) -> Session:
        """Click a gizmo: its control is selected, with Shift beside what was selected before."""
        yield REDRAW
        yield from self.viewport.click(spot, shift=is_shift_held)
        yield REDRAW
        self.picture(f"4_click_{selected}_{is_shift_held}")
        found = {bone.name for bone in bpy.context.selected_pose_bones}
        expected = {selected, "Target.R"} if is_shift_held else {"Target.R"}
        check(found == expected, f"A click has selected {sorted(found)}.")
        active = bpy.context.active_pose_bone.name
        check(active == "Target.R", f"A click has made {active} active.")

    def click_object(self) -> Session:
        """Click beside a target that is an object, in its ring, in object mode: it is selected."""
        with self.viewport.context():
            bpy.ops.object.mode_set(mode="OBJECT")
            rig().select_set(True)
            rig().chain_ik.active_index = 0
        yield from self.note_step("Object Mode")
        x, y = self.viewport.pixel_of(places("L")["Target"])
        yield from self.viewport.click((x - IN_RING, y))
        yield REDRAW
        self.picture("5_click_object")
        found = {each.name for each in bpy.context.selected_objects}
        check(found == {"Target.L"}, f"A click on the ring has selected {found}.")
        yield from self.move_selected("Target", "L")
        with self.viewport.context():
            bpy.context.view_layer.objects.active = rig()
            bpy.ops.object.mode_set(mode="POSE")
            rig().chain_ik.active_index = 1
        yield from self.note_step("Pose Mode")

    def move_selected(self, word: str, side: str) -> Session:
        """Press G and move what is selected: that is the control, and the root stays; then undo."""
        before = places(side)
        path = self.path_from(before[word])
        yield from self.viewport.drag(path[:1], button="")
        self.viewport.press("G")
        yield from self.viewport.drag(path[1:], button="")
        yield from self.viewport.click(path[-1])
        yield REDRAW
        now = places(side)
        check_moved(now[word], before[word], MOVED, f"With G {word}.{side}")
        check_near(now["Root"], before["Root"], SAME_PLACE, f"After G the root of {side}")
        yield from self.viewport.undo()
        check_same(side, before, f"After undo of G on {word}.{side}")

    def open_pie(self) -> Session:
        """Press the key of the pie menu, and choose its upper slice: the limb goes to FK."""
        drawn = []
        menu = bpy.types.VIEW3D_MT_chain_ik_pie

        def draw(_menu: bpy.types.Menu, _context: bpy.types.Context) -> None:
            drawn.append(True)

        menu.append(draw)
        x, y = self.viewport.pixel_of(Vector((0.0, 0.0, 0.55)))
        yield from self.viewport.drag([(x, y)], button="")
        self.viewport.press("J")
        yield REDRAW
        yield from self.viewport.drag([(x, y + 4), (x, y + 60)], button="")
        yield REDRAW
        self.picture("5_pie")
        menu.remove(draw)
        check(bool(drawn), "J has not opened the pie menu.")
        yield from self.viewport.click((x, y + 60))
        yield REDRAW
        check_near(rig().chain_ik.chains[1].influence, 0.0, 0.0, "Influence in FK")
        yield from self.viewport.undo()
        check_near(rig().chain_ik.chains[1].influence, 1.0, 0.0, "After undo the influence")

    def drag_limit(self) -> Session:
        """Drag the ends of a bone's limits, one past the other, along their arcs; and undo."""
        bone = rig().pose.bones["Lower.R"]
        bone.use_ik_limit_x, bone.ik_min_x, bone.ik_max_x = True, -2.0, 0.5
        joint = rig().chain_ik.chains[1].joints.add()
        joint.bone, joint.kind, joint.use_limit_x = "Upper.R", "HINGE_X", True
        joint.min_x, joint.max_x = -1.5, 1.0
        for name, goal, expected in (
            ("Lower.R", 1.0, 1.0),
            ("Upper.R", 0.4, 0.4),
            ("Upper.R", -2.0, -1.5),
        ):
            yield from self.select(rig(), name)
            before, start = places("R"), self.upper_limit(name)
            arc = self.arc(name, np.linspace(start, goal, STEPS + 1))
            pixels = [self.viewport.pixel_of(each) for each in arc]
            yield from self.viewport.drag(pixels, button="LEFTMOUSE")
            yield REDRAW
            self.picture(f"6_{name}_{expected:+.1f}")
            check_near(self.upper_limit(name), expected, TURNED, f"The limit of {name}")
            yield from self.undo("Move Limit", before, "R")
            check_near(self.upper_limit(name), start, 0.0, f"After undo the limit of {name}")

    def show_large(self) -> Session:
        """Show all of them at twice the size."""
        view = bpy.context.preferences.view
        view.ui_scale *= 2.0
        yield REDRAW
        self.picture("7_large")
        view.ui_scale /= 2.0
        yield REDRAW

    def rename(self) -> Session:
        """Give the target of a chain another name with F2; undo and redo it: the chain follows."""
        yield from self.select(rig(), "Target.R")
        yield from self.viewport.point_at(Vector((0.3, 0.0, 0.2)))
        self.viewport.press("F2")
        yield REDRAW
        self.viewport.type_text("Goal")
        self.picture("8_rename")
        self.viewport.press("RET")
        # The field takes its text at one event, and Blender the name at the next.
        yield 2.0 * REDRAW
        self.check_target("Goal", "F2")
        yield from self.viewport.undo()
        self.check_target("Target.R", "undo")
        yield from self.viewport.undo(is_redone=True)
        self.check_target("Goal", "redo")

    def check_target(self, name: str, when: str) -> None:
        """Check that a bone of this name is there, and that its chain follows it."""
        check(name in rig().pose.bones, f"After {when} no bone is called '{name}'.")
        chain = rig().chain_ik.chains[1]
        check(chain.subtarget == name, f"After {when} the chain follows '{chain.subtarget}'.")
        check(chain.status.startswith("Reached"), f"After {when}: {chain.status}")

    def lose_things(self) -> Session:
        """Take away what gizmos show, one after the other: nothing is printed as an error."""
        said, holder = io.StringIO(), bpy.data.objects
        with contextlib.redirect_stderr(said):
            rig().chain_ik.chains[1].bone = "Gone"
            yield REDRAW
            rig().chain_ik.active_index = 0
            holder.remove(holder["Target.L"])
            yield REDRAW
            rig().chain_ik.chains[0].pole_subtarget = "None"
            rig().chain_ik.chains[0].pole_target = rig()
            yield REDRAW
            rig().chain_ik.chains.remove(0)
            rig().chain_ik.active_index = 7
            yield REDRAW
            holder.remove(rig())
            yield REDRAW
        check("Traceback" not in said.getvalue(), f"Gizmos have failed: {said.getvalue()}")

    def upper_limit(self, bone: str) -> float:
        """Return the upper end of a bone's range, of the chain's own joint if it has one."""
        own = [joint for joint in rig().chain_ik.chains[1].joints if joint.bone == bone]
        return own[0].max_x if own else rig().pose.bones[bone].ik_max_x

    def arc(self, bone: str, angles: np.ndarray) -> list[Vector]:
        """Return where the upper end would be seen at some angles about X."""
        find_ends = sys.modules[f"{MODULE}.rig.shapes.limit_ends"].find_ends
        spec = sys.modules[f"{MODULE}.properties.records"].chain_spec(rig().chain_ik.chains[1])
        ends = find_ends(rig(), spec, bone)
        (end,) = (each for each in ends if each.axis == 0 and each.is_max)
        return [Vector(point) for point in end.points(angles)]

    def ring(self, at: Places) -> list[Vector]:
        """Return points of the dial that the mouse is to go through."""
        line = (at["Target"] - at["Root"]).normalized()
        centre = (at["Target"] + at["Root"]) / 2.0
        view = self.viewport.area.spaces.active.region_3d.view_rotation
        right = view @ Vector((1.0, 0.0, 0.0))
        pixel = [Vector(self.viewport.pixel_of(centre + step * right)) for step in (-0.05, 0.05)]
        size = bpy.context.preferences.system.ui_scale
        radius = DIAL_RADIUS * size * 0.1 / (pixel[1] - pixel[0]).length
        first = (right - right.project(line)).normalized()
        second = line.cross(first)
        angles = np.linspace(0.0, TURN, STEPS)
        return [centre + radius * (first * math.cos(a) + second * math.sin(a)) for a in angles]

    def path_from(self, place: Vector) -> list[tuple[int, int]]:
        """Return pixels of a drag that begins at a place of the scene."""
        x, y = self.viewport.pixel_of(place)
        return [(x - 9 * i, y - 7 * i) for i in range(STEPS)]

    def undo(self, name: str, before: Places, side: str) -> Session:
        """Check that the last step has a name, and that undo takes it back as a whole."""
        last = bpy.context.window_manager.operators[-1].name
        check(last == name, f"The step is called '{last}' instead of '{name}'.")
        yield from self.viewport.undo()
        check_same(side, before, f"After undo of {name}")
