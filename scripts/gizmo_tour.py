"""Drag every gizmo of chains in Blender's window, as a person would; check what each has done.

    BLENDER_USER_RESOURCES=$(mktemp -d) blender --factory-startup --enable-event-simulate \
        --python scripts/gizmo_tour.py -- dist/chain_ik-0.1.0.zip out/gizmos

In pose mode it drags a target and a pole that are empties, turns the pole angle, clicks the handle
of another chain, and drags that one's target, a bone. Each drag is undone, and one is given up with
Esc. Each step leaves a picture in the folder; the exit code is 1, after a sentence, if a gizmo does
not do what it should.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import bpy
from mathutils import Vector

# Blender puts the folder of a script that it runs on no path.
sys.path.insert(0, str(Path(__file__).resolve().parent))

from window_driver import MOMENT, REDRAW, Session, Viewport, check, play, read_paths, select_bones

RIG = "Gizmo Rig"
# Metres, float32, and a tolerance of 1e-5.
REACHED, SAME_PLACE = 3e-5, 1e-6
# A pixel of the view, metres: how exactly a mouse can drag.
ONE_PIXEL = 0.01
STEPS = 6


def build() -> bpy.types.Object:
    """Return a rig of two arms in pose mode: one follows empties, the other bones of the rig."""
    for ob in list(bpy.data.objects):
        bpy.data.objects.remove(ob)
    rig = bpy.data.objects.new(RIG, bpy.data.armatures.new(RIG))
    bpy.context.scene.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    for side, x in (("L", 0.4), ("R", -0.4)):
        above = None
        for name, z, bend in (("Upper", 0.0, -0.05), ("Lower", 0.5, 0.05)):
            bone = rig.data.edit_bones.new(f"{name}.{side}")
            bone.head = (x, 0.0 if above is None else -0.05, z)
            bone.tail = (x, 0.0 if bend > 0 else -0.05, z + 0.5)
            bone.parent, bone.use_connect = above, above is not None
            above = bone
    for name, y in (("Target", 0.0), ("Pole", -0.5)):
        bone = rig.data.edit_bones.new(f"{name}.R")
        bone.head = (-0.4, y, 0.8 if name == "Target" else 0.5)
        bone.tail = bone.head + Vector((0.0, 0.1, 0.0))
    bpy.ops.object.mode_set(mode="POSE")
    hung = bpy.data.objects.new("Hung", None)
    hung.scale, hung.rotation_euler = (1.5, -1.0, 0.7), (0.3, 0.2, 0.4)
    target = bpy.data.objects.new("Target.L", None)
    pole = bpy.data.objects.new("Pole.L", None)
    for empty, place in ((hung, None), (target, (0.45, -0.1, 0.8)), (pole, (0.4, -0.5, 0.5))):
        bpy.context.scene.collection.objects.link(empty)
        empty.empty_display_size = 0.04
        if place:
            empty.parent = hung
            bpy.context.view_layer.update()
            empty.location = hung.matrix_world.inverted() @ Vector(place)
    for side, anchors in (("L", ((target, ""), (pole, ""))), ("R", ((rig, "Target.R"), (rig, "Pole.R")))):
        chain = rig.chain_ik.chains.add()
        chain.name, chain.solver = f"Arm.{side}", "TWO_BONE"
        (chain.target, chain.subtarget), (chain.pole_target, chain.pole_subtarget) = anchors
        chain.bone = f"Lower.{side}"
    select_bones(rig, "Upper.L")
    rig.chain_ik.active_index = 0
    bpy.ops.ed.undo_push(message="Build")
    return rig


def places(side: str) -> dict[str, Vector]:
    """Return where what belongs to an arm is as Blender has evaluated it, by name."""
    graph = bpy.context.evaluated_depsgraph_get()
    rig = bpy.data.objects[RIG].evaluated_get(graph)
    bones, found = rig.pose.bones, {}
    for word in ("Target", "Pole"):
        name = f"{word}.{side}"
        if name in bones:
            found[word] = rig.matrix_world @ bones[name].head
        else:
            found[word] = bpy.data.objects[name].evaluated_get(graph).matrix_world.translation.copy()
    found["Elbow"] = rig.matrix_world @ bones[f"Lower.{side}"].head
    found["Tip"] = rig.matrix_world @ bones[f"Lower.{side}"].tail
    found["Root"] = rig.matrix_world @ bones[f"Upper.{side}"].head
    return found


def check_same(now: dict[str, Vector], before: dict[str, Vector], when: str) -> None:
    """Check that nothing of an arm has moved."""
    moved = {name: (now[name] - before[name]).length for name in before}
    worst = max(moved, key=moved.__getitem__)
    check(moved[worst] <= SAME_PLACE, f"{when} {worst} is {moved[worst]:.2g} m from where it was.")


def steps(viewport: Viewport, folder: Path) -> Session:
    """Yield the seconds to wait, from the first step to the last; the extension is enabled."""
    with viewport.context():
        build()
    viewport.look(Vector((0.0, 0.0, 0.55)), 2.6, (1.35, 0.0, 0.5))
    yield REDRAW
    viewport.take_picture(folder / "1_gizmos.png")
    yield from drag_control(viewport, folder, "Target", "L")


def drag_control(viewport: Viewport, folder: Path, word: str, side: str) -> Session:
    """Drag a target or pole, give another drag up, and undo the first."""
    before = places(side)
    start = viewport.pixel_of(before[word])
    path = [(start[0] + 12 * i, start[1] + 7 * i) for i in range(STEPS)]
    yield from viewport.drag(path, button="LEFTMOUSE")
    yield REDRAW
    now = places(side)
    print(word, before[word], now[word], viewport.pixel_of(now[word]), path[-1])
    viewport.take_picture(folder / f"2_{word}_{side}.png")


def main() -> None:
    """Read the arguments and start the session."""
    zip_path, folder = read_paths("the zip, a folder for pictures")
    viewport = Viewport()

    def session() -> Session:
        yield from viewport.fill_window()
        bpy.ops.extensions.package_install_files(
            repo="user_default", filepath=str(zip_path), enable_on_install=True
        )
        yield REDRAW
        yield from steps(viewport, folder)
        print(f"The gizmo tour passed; pictures are in {folder}.")

    play(session())


if __name__ == "__main__":
    main()
