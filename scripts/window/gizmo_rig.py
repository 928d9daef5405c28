"""The rig on which gizmos are dragged and clicked: two arms, that follow empties and bones."""

from __future__ import annotations

import bpy
from mathutils import Vector

from window.driver import check, select_bones
from window.tour import clear_scene

RIG = "Gizmo Rig"
# Metres: float32.
SAME_PLACE = 1e-6

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
