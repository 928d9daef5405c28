"""Drag every gizmo of chains in Blender's window, as a person would; check what each has done.

    BLENDER_USER_RESOURCES=$(mktemp -d) blender --factory-startup --enable-event-simulate \
        --python scripts/window/gizmo_tour.py -- dist/chain_ik-*.zip out/gizmos

In pose mode it drags a target and a pole that are empties, turns the pole angle, clicks the handle
of another chain, drags that one's target, a bone, and the ends of limits. Each drag is undone in
one step, and one is given up with Esc. A target is renamed, and its chain follows. Each step leaves
a picture in the folder; the exit code is 1, after a sentence, if something is not as it should be.
"""

from __future__ import annotations

import contextlib
import io
import math
import sys
from pathlib import Path

import bpy
import numpy as np
from mathutils import Vector

# Blender puts the folder of a script that it runs on no path.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from window.driver import REDRAW, Session, Viewport, check, play, read_paths, select_bones
from window.opening import MODULE, clear_scene, install

RIG = "Gizmo Rig"
# Metres: float32, and a tolerance of 1e-5.
REACHED, SAME_PLACE = 3e-5, 1e-6
# Pixels that a dragged thing may be off the mouse, and radians that a dial may.
ON_MOUSE, TURNED = 1.5, 0.03
STEPS = 6
TURN = math.radians(40.0)
# As in the package: pixels at an interface scale of one.
DIAL_RADIUS = 0.6 * 75.0
HANDLE = 16

Places = dict[str, Vector]


def build() -> None:
    """Make a rig of two arms in pose mode: one follows empties, the other bones of the rig."""
    clear_scene()
    rig = bpy.data.objects.new(RIG, bpy.data.armatures.new(RIG))
    bpy.context.scene.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    for side, x in (("L", 0.4), ("R", -0.4)):
        joints = [Vector((x, y, z)) for y, z in ((0.0, 0.0), (-0.05, 0.5), (0.0, 1.0))]
        upper, lower = (rig.data.edit_bones.new(f"{name}.{side}") for name in ("Upper", "Lower"))
        upper.head, upper.tail, lower.tail = joints
        lower.parent, lower.use_connect = upper, True
    for name, place in (("Target", (-0.4, 0.0, 0.8)), ("Pole", (-0.4, -0.5, 0.5))):
        bone = rig.data.edit_bones.new(f"{name}.R")
        bone.head, bone.tail = place, Vector(place) + Vector((0.0, 0.1, 0.0))
    bpy.ops.object.mode_set(mode="POSE")
    empties = hang_empties({"Target.L": (0.45, -0.1, 0.8), "Pole.L": (0.4, -0.5, 0.5)})
    for side, holders in (("L", empties), ("R", [rig, rig])):
        chain = rig.chain_ik.chains.add()
        chain.name, chain.solver = f"Arm.{side}", "TWO_BONE"
        chain.target, chain.pole_target = holders
        chain.subtarget, chain.pole_subtarget = f"Target.{side}", f"Pole.{side}"
        chain.bone = f"Lower.{side}"
    select_bones(rig, "Upper.L")
    rig.chain_ik.active_index = 0


def hang_empties(wanted: dict[str, tuple[float, float, float]]) -> list[bpy.types.Object]:
    """Return empties at places of the scene, under a parent that is mirrored and scaled."""
    parent = bpy.data.objects.new("Mirrored", None)
    parent.scale, parent.rotation_euler = (1.5, -1.0, 0.7), (0.3, 0.2, 0.4)
    bpy.context.scene.collection.objects.link(parent)
    bpy.context.view_layer.update()
    empties = []
    for name, place in wanted.items():
        empty = bpy.data.objects.new(name, None)
        empty.empty_display_size, empty.parent = 0.04, parent
        empty.location = parent.matrix_world.inverted() @ Vector(place)
        bpy.context.scene.collection.objects.link(empty)
        empties.append(empty)
    return empties


def places(side: str) -> Places:
    """Return where what belongs to an arm was evaluated last, by name; evaluates nothing."""
    graph = bpy.context.view_layer.depsgraph
    rig = bpy.data.objects[RIG].evaluated_get(graph)
    bones = rig.pose.bones
    found = {
        "Root": rig.matrix_world @ bones[f"Upper.{side}"].head,
        "Elbow": rig.matrix_world @ bones[f"Lower.{side}"].head,
        "Tip": rig.matrix_world @ bones[f"Lower.{side}"].tail,
    }
    for word in ("Target", "Pole"):
        name = f"{word}.{side}"
        if name in bones:
            found[word] = rig.matrix_world @ bones[name].head
        else:
            matrix = bpy.data.objects[name].evaluated_get(graph).matrix_world
            found[word] = matrix.translation.copy()
    return found


def check_same(now: Places, before: Places, when: str) -> None:
    """Check that nothing of an arm has moved."""
    moved = {name: (now[name] - before[name]).length for name in before}
    worst = max(moved, key=moved.__getitem__)
    check(moved[worst] <= SAME_PLACE, f"{when} {worst} is {moved[worst]:.2g} m from where it was.")


def turned_about(line: Vector, before: Vector, after: Vector) -> float:
    """Return by how much a point has turned about a line through the origin."""
    one, other = (point - point.project(line) for point in (before, after))
    return math.atan2(one.cross(other).dot(line.normalized()), one.dot(other))


class GizmoTour:
    """The steps on every gizmo; ``steps`` begins with a new rig, the extension is enabled."""

    def __init__(self, viewport: Viewport, folder: Path) -> None:
        self.viewport, self.folder = viewport, folder

    def steps(self) -> Session:
        """Yield the seconds to wait, from the first step to the last."""
        with self.viewport.context():
            build()
            bpy.ops.ed.undo_push(message="Build")
        self.viewport.look(Vector((0.0, 0.0, 0.55)), 2.6, (1.35, 0.0, 0.5))
        yield REDRAW
        self.note("1_gizmos")
        yield from self.drag_control("Target", "L")
        yield from self.give_up("Target", "L")
        yield from self.drag_control("Pole", "L")
        yield from self.turn_dial()
        yield from self.click_handle()
        yield from self.drag_control("Target", "R")
        yield from self.give_up("Pole", "R")
        yield from self.click_target()
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
            moved = (now[word] - before[word]).length > 10.0 * REACHED
            if moved and followed == 0:
                # No axis, and no undo either, as long as the button is held.
                self.viewport.press("Z", ctrl=True)
            followed += moved and (now["Tip"] - now["Target"]).length <= REACHED
        check(followed > STEPS // 2, f"The chain followed its {word} {followed} times only.")
        yield REDRAW
        now = places(side)
        self.note(f"2_{word.lower()}_{side}")
        off = Vector(self.viewport.pixel_of(now[word])) - Vector(path[-1])
        check(off.length <= ON_MOUSE, f"{word}.{side} is {off.length:.1f} pixels off the mouse.")
        noted = Vector(bpy.context.window_manager.operators[-1].properties.location)
        gap = (noted - now[word]).length
        check(gap <= 10.0 * REACHED, f"Adjust Last Operation is {gap:.2g} m off {word}.{side}.")
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
                gone = (places(side)[word] - before[word]).length
                check(gone > 10.0 * REACHED, f"{word}.{side} has not moved before Esc.")
                self.viewport.press("ESC")
        yield REDRAW
        check_same(places(side), before, f"After Esc on {word}.{side}")
        now = len(bpy.context.window_manager.operators)
        check(now == count, "A drag that was given up is in the history.")

    def turn_dial(self) -> Session:
        """Drag the dial of the pole angle round; with Ctrl it snaps."""
        before = places("L")
        line = before["Target"] - before["Root"]
        for keys, word in (({}, "freely"), ({"ctrl": True}, "in steps")):
            path = [self.viewport.pixel_of(point) for point in self.ring(before)]
            yield from self.viewport.drag(path, button="LEFTMOUSE", **keys)
            yield REDRAW
            self.note(f"3_dial_{word.split()[-1]}")
            angle = bpy.data.objects[RIG].chain_ik.chains[0].pole_angle
            root = before["Root"]
            turned = turned_about(line, before["Elbow"] - root, places("L")["Elbow"] - root)
            check(
                abs(turned - angle) < TURNED, f"The elbow turned by {turned:.3f}, not {angle:.3f}."
            )
            check(abs(angle - TURN) < TURNED, f"The dial turned {word} by {angle:.3f}.")
            steps = math.degrees(angle) / 5.0
            is_snapped = abs(steps - round(steps)) < 1e-4
            check(is_snapped or not keys, f"With Ctrl the angle is {math.degrees(angle):.3f}°.")
            yield from self.undo("Turn Pole Angle", before, "L")

    def click_handle(self) -> Session:
        """Click the handle of the other chain: it becomes the active one, no bone is selected."""
        x, y = self.viewport.pixel_of(places("R")["Tip"])
        size = bpy.context.preferences.system.ui_scale
        spot = (round(x + HANDLE * size), round(y + HANDLE * size))
        yield from self.viewport.drag([spot, spot], button="LEFTMOUSE")
        yield REDRAW
        self.note("4_handle")
        active = bpy.data.objects[RIG].chain_ik.active_index
        check(active == 1, f"The handle has made chain {active} the active one.")
        check(bpy.context.active_pose_bone.name == "Upper.L", "The handle has selected a bone.")

    def click_target(self) -> Session:
        """Click a target that is a bone: that is no drag, so what is there is selected."""
        before = places("R")
        spot = self.viewport.pixel_of(before["Target"])
        yield from self.viewport.drag([spot, spot], button="LEFTMOUSE")
        yield REDRAW
        self.note("5_click")
        name = bpy.context.active_pose_bone.name
        check(name in ("Target.R", "Lower.R"), f"A click on the target has selected {name}.")
        check_same(places("R"), before, "After a click on its target")

    def drag_limit(self) -> Session:
        """Drag the ends of a bone's limits, one past the other."""
        rig = bpy.data.objects[RIG]
        bone = rig.pose.bones["Lower.R"]
        bone.use_ik_limit_x, bone.ik_min_x, bone.ik_max_x = True, -2.0, 0.5
        joint = rig.chain_ik.chains[1].joints.add()
        joint.bone, joint.kind, joint.use_limit_x = "Upper.R", "HINGE_X", True
        joint.min_x, joint.max_x = -1.5, 1.0
        for name, end, wanted, expected in (
            ("Lower.R", "max_x", 1.0, 1.0),
            ("Upper.R", "max_x", 0.4, 0.4),
            ("Upper.R", "max_x", -2.0, -1.5),
        ):
            select_bones(rig, name)
            with self.viewport.context():
                bpy.ops.ed.undo_push(message="Select")
            yield REDRAW
            yield from self.drag_end(name, end, wanted, expected)
            rig = bpy.data.objects[RIG]

    def drag_end(self, bone: str, end: str, wanted: float, expected: float) -> Session:
        """Drag one end along its arc to an angle, and undo."""
        before, start = places("R"), self.limit(bone, end)
        arc = self.arc(bone, "max" in end, np.linspace(start, wanted, STEPS + 1))
        yield from self.viewport.drag(
            [self.viewport.pixel_of(each) for each in arc], button="LEFTMOUSE"
        )
        yield REDRAW
        self.note(f"6_{bone}_{expected:+.1f}")
        now = self.limit(bone, end)
        check(abs(now - expected) < TURNED, f"The limit of {bone} is {now:.3f}, not {expected}.")
        yield from self.undo("Move Limit", before, "R")
        now = self.limit(bone, end)
        check(now == start, f"Undo has left the limit of {bone} at {now:.3f}.")

    def show_large(self) -> Session:
        """Show all of them at twice the size."""
        view = bpy.context.preferences.view
        view.ui_scale *= 2.0
        yield REDRAW
        self.note("7_large")
        view.ui_scale /= 2.0
        yield REDRAW

    def rename(self) -> Session:
        """Give the target of a chain another name with F2; undo and redo it: the chain follows."""
        select_bones(bpy.data.objects[RIG], "Target.R")
        with self.viewport.context():
            bpy.ops.ed.undo_push(message="Select")
        yield from self.viewport.drag([self.viewport.pixel_of(Vector((0.3, 0.0, 0.2)))], button="")
        self.viewport.press("F2")
        yield REDRAW
        self.viewport.type_text("Goal")
        self.note("8_rename")
        self.viewport.press("RET")
        # The field takes its text at one event, and Blender the name at the next.
        yield 2.0 * REDRAW
        self.check_target("Goal", "F2")
        self.viewport.press("Z", ctrl=True)
        yield REDRAW
        self.check_target("Target.R", "undo")
        self.viewport.press("Z", ctrl=True, shift=True)
        yield REDRAW
        self.check_target("Goal", "redo")

    def check_target(self, name: str, when: str) -> None:
        """Check that a bone of this name is there, and that its chain follows it."""
        rig = bpy.data.objects[RIG]
        check(name in rig.pose.bones, f"After {when} no bone is called '{name}'.")
        chain = rig.chain_ik.chains[1]
        check(chain.subtarget == name, f"After {when} the chain follows '{chain.subtarget}'.")
        check(chain.status.startswith("Reached"), f"After {when}: {chain.status}")

    def lose_things(self) -> Session:
        """Take away what gizmos show, one after the other: nothing is printed as an error."""
        said, holder = io.StringIO(), bpy.data.objects
        with contextlib.redirect_stderr(said):
            holder[RIG].chain_ik.chains[1].bone = "Gone"
            yield REDRAW
            holder[RIG].chain_ik.active_index = 0
            holder.remove(holder["Target.L"])
            yield REDRAW
            holder[RIG].chain_ik.chains[0].pole_subtarget = "None"
            holder[RIG].chain_ik.chains[0].pole_target = holder[RIG]
            yield REDRAW
            holder[RIG].chain_ik.chains.remove(0)
            holder[RIG].chain_ik.active_index = 7
            yield REDRAW
            holder.remove(holder[RIG])
            yield REDRAW
        check("Traceback" not in said.getvalue(), f"Gizmos have failed: {said.getvalue()}")

    def limit(self, bone: str, end: str) -> float:
        """Return an end of a bone's range, of the chain's own joint if it has one."""
        rig = bpy.data.objects[RIG]
        own = [joint for joint in rig.chain_ik.chains[1].joints if joint.bone == bone]
        return getattr(own[0], end) if own else getattr(rig.pose.bones[bone], f"ik_{end}")

    def arc(self, bone: str, is_max: bool, angles: np.ndarray) -> list[Vector]:
        """Return where an end would be seen at some angles about X."""
        module = sys.modules
        find_ends = module[f"{MODULE}.rig.shapes.limit_ends"].find_ends
        rig = bpy.data.objects[RIG]
        spec = module[f"{MODULE}.properties"].chain_spec(rig.chain_ik.chains[1])
        (end,) = (
            each for each in find_ends(rig, spec, bone) if each.axis == 0 and each.is_max == is_max
        )
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
        self.viewport.press("Z", ctrl=True)
        yield REDRAW
        check_same(places(side), before, f"After undo of {name}")

    def note(self, name: str) -> None:
        """Take the picture of a step."""
        self.viewport.take_picture(self.folder / f"{name}.png")


def main() -> None:
    """Read the arguments and start the session."""
    zip_path, folder = read_paths("the zip, a folder for pictures")
    viewport = Viewport()

    def session() -> Session:
        yield from install(viewport, zip_path)
        yield from GizmoTour(viewport, folder).steps()
        print(f"The gizmo tour passed; pictures are in {folder}.")

    play(session())


if __name__ == "__main__":
    main()
