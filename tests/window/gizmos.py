"""Tour that drags and clicks gizmos of chains in Blender's window, checks the result and undoes it.

One arm follows empties, the other one bones of the rig; tests/blender/gizmos test the rest.
"""

import math
import sys

import bpy
import numpy as np
from mathutils import Vector

from examples.parts import human
from window.character import rig
from window.driver import REDRAW, Session, check, check_near
from window.tour import MODULE, RIG, Tour, clear_scene

TARGET = "hand Target.R"
VIEW = Vector((0.0, 0.2, 1.2)), 2.0, (1.3, 0.0, 3.5)
# Metres: float32, and a tolerance of 1e-5.
SAME_PLACE, REACHED = 1e-6, 3e-5
MOVED = 10.0 * REACHED
# Tolerances: pixels between a dragged control and the mouse; radians of a dragged limit.
MAX_PIXELS, LIMIT_TOLERANCE = 1.5, 0.03
STEPS, TURN = 6, math.radians(40.0)
# Sizes of the package: pixels at an interface scale of 1.
DIAL_RADIUS, HANDLE = 0.6 * 75.0, 16

Places = dict[str, Vector]


def places(side: str) -> Places:
    """Return evaluated points of an arm, by name, without a new evaluation."""
    graph, chain = bpy.context.view_layer.depsgraph, rig().chain_ik.chains[f"Arm.{side}"]
    bones = rig().evaluated_get(graph).pose.bones
    # The rig is at the world's origin.
    points = {"Root": bones[f"upper_arm.{side}"].head, "Elbow": bones[f"forearm.{side}"].head}
    points["Tip"] = bones[f"forearm.{side}"].tail
    for word, holder, bone in (
        ("Target", chain.target, chain.subtarget),
        ("Pole", chain.pole_target, chain.pole_subtarget),
    ):
        matrix = holder.evaluated_get(graph).matrix_world
        points[word] = bones[bone].head if bone else matrix.translation
    return {name: place.copy() for name, place in points.items()}


class Steps(Tour):
    """Steps that use one or two gizmos."""

    ui_scale = 1.0

    def begin(self) -> Session:
        clear_scene()
        with self.viewport.context():
            person = human.add_person(RIG)
            for side, control in (("L", "EMPTY"), ("R", "BONE")):
                human.add_arm(person, side, control)
        person.chain_ik.active_index = 0
        yield from self.set_mode("POSE")
        yield from self.select(person, "upper_arm.L")
        self.viewport.look(*VIEW)
        yield REDRAW
        self.picture("1_gizmos")

    def drag_left(self) -> Session:
        """Drag target and pole; then the dial of the pole angle, which snaps with Ctrl."""
        for word in ("Target", "Pole"):
            yield from self._drag_control(word, "L")
        before = places("L")
        path = [self.viewport.pixel_of(point) for point in self._ring(before)]
        yield from self.viewport.drag(path, button="LEFTMOUSE", ctrl=True)
        yield REDRAW
        self.picture("3_dial")
        check_near(rig().chain_ik.chains[0].pole_angle, TURN, 1e-4, "With Ctrl the dial")
        yield from self._undo("Turn Pole Angle", before, "L")

    def drag_pole_on_dial(self) -> Session:
        """Drag the pole where it is on the dial: the pole moves, and the dial does not turn."""
        pole = rig().chain_ik.chains[0].pole_target
        before = pole.location.copy()
        pole.location = self._ring(places("L"))[0]
        yield from self.select(rig(), "upper_arm.L")
        yield from self._drag_control("Pole", "L")
        pole = rig().chain_ik.chains[0].pole_target
        pole.location = before
        yield from self.select(rig(), "upper_arm.L")

    def click_handle(self) -> Session:
        """Click the handle of the other chain: it becomes active, and its target is selected."""
        x, y = self.viewport.pixel_of(places("R")["Tip"])
        size = round(HANDLE * bpy.context.preferences.system.ui_scale)
        path = [(x + size + off, y + size + off) for off in (40, 3, 0)]
        yield from self.viewport.drag(path, shift=True)
        yield REDRAW
        self.viewport.press("LEFTMOUSE", shift=True)
        yield REDRAW
        self.picture("4_click")
        selected = {bone.name for bone in bpy.context.selected_pose_bones}
        check(selected == {"upper_arm.L", TARGET}, f"A click has selected {sorted(selected)}.")
        active = rig().chain_ik.active_index
        check(active == 1, f"The handle has made chain {active} the active one.")
        yield from self._drag_control("Target", "R")

    def drag_limit(self) -> Session:
        """Drag the upper end of a joint's limits along its arc; and undo."""
        joint = rig().chain_ik.chains[1].joints.add()
        joint.bone, joint.kind, joint.use_limit_x = "upper_arm.R", "HINGE_X", True
        joint.min_x, joint.max_x = -1.5, 1.0
        yield from self.select(rig(), joint.bone)
        before = places("R")
        find_ends = sys.modules[f"{MODULE}.rig.shapes.limit_ends"].find_ends
        spec = sys.modules[f"{MODULE}.properties.records"].chain_spec(rig().chain_ik.chains[1])
        ends = find_ends(rig(), spec, "upper_arm.R")
        (end,) = (end for end in ends if end.axis == 0 and end.is_max)
        arc = end.points(np.linspace(1.0, 0.4, STEPS + 1))
        pixels = [self.viewport.pixel_of(Vector(point)) for point in arc]
        yield from self.viewport.drag(pixels, button="LEFTMOUSE")
        yield REDRAW
        self.picture("6_limit")
        check_near(rig().chain_ik.chains[1].joints[0].max_x, 0.4, LIMIT_TOLERANCE, "The limit")
        yield from self._undo("Move Limit", before, "R")
        check_near(rig().chain_ik.chains[1].joints[0].max_x, 1.0, 0.0, "After undo the limit")

    def _drag_control(self, word: str, side: str) -> Session:
        """Drag a target or pole: it is under the mouse, the chain follows, one undo is enough."""
        before, active = places(side), bpy.context.active_pose_bone.name
        (x, y), followed = self.viewport.pixel_of(before[word]), 0
        path = [(x - 9 * step, y + 7 * step) for step in range(STEPS)]
        for wait in self.viewport.drag(path, button="LEFTMOUSE"):
            yield wait
            now = places(side)
            moved = (now[word] - before[word]).length > MOVED
            if moved and followed == 0:
                # While the button is pressed, Z must select no axis and undo nothing.
                self.viewport.press("Z", ctrl=True)
            followed += moved and (now["Tip"] - now["Target"]).length <= REACHED
        check(followed > STEPS // 2, f"The chain followed its {word} {followed} times only.")
        yield REDRAW
        place = places(side)[word]
        self.picture(f"2_{word.lower()}_{side}")
        off = Vector(self.viewport.pixel_of(place)) - Vector(path[-1])
        check(off.length <= MAX_PIXELS, f"{word}.{side} is {off.length:.1f} pixels off the mouse.")
        check(bpy.context.mode == "POSE", f"Dragging a {word} has left pose mode.")
        check(bpy.context.active_pose_bone.name == active, "A drag has selected something.")
        yield from self._undo(f"Move {word}", before, side)

    def _undo(self, name: str, before: Places, side: str) -> Session:
        """Check the name of the last step, and that one undo reverts it as a whole."""
        last = bpy.context.window_manager.operators[-1].name
        check(last == name, f"The step is called '{last}' instead of '{name}'.")
        yield from self.viewport.undo()
        for part, place in places(side).items():
            check_near(place, before[part], SAME_PLACE, f"After undo of {name} {part}")

    def _ring(self, at: Places) -> list[Vector]:
        """Return points on the dial, which form the path of the mouse."""
        line = (at["Target"] - at["Root"]).normalized()
        centre = (at["Target"] + at["Root"]) / 2.0
        right = self.viewport.area.spaces.active.region_3d.view_rotation @ Vector((1.0, 0.0, 0.0))
        pixel = [Vector(self.viewport.pixel_of(centre + step * right)) for step in (-0.05, 0.05)]
        size = bpy.context.preferences.system.ui_scale
        radius = DIAL_RADIUS * size * 0.1 / (pixel[1] - pixel[0]).length
        first = (right - right.project(line)).normalized()
        second = line.cross(first)
        angles = np.linspace(0.0, TURN, STEPS)
        return [centre + radius * (first * math.cos(a) + second * math.sin(a)) for a in angles]
