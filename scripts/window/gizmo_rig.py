"""The rig on which gizmos are dragged and clicked: two arms, that follow empties and bones."""

from __future__ import annotations

import bpy
from mathutils import Vector

from examples.parts.rigs import Bone, add_empty, add_rig, hang_chain
from window.driver import check_near, select_bones
from window.tour import clear_scene

RIG = "Gizmo Rig"
# Metres: float32.
SAME_PLACE = 1e-6
EMPTIES = {"Target.L": (0.45, -0.1, 0.8), "Pole.L": (0.4, -0.5, 0.5)}

Places = dict[str, Vector]


def rig() -> bpy.types.Object:
    """Return the rig. By name: undo replaces all references."""
    return bpy.data.objects[RIG]


def build() -> None:
    """Make a rig of two arms in pose mode: one follows empties, the other bones of the rig."""
    clear_scene()
    bones = {
        "Target.R": Bone((-0.4, 0.0, 0.8), (-0.4, 0.1, 0.8), "", None),
        "Pole.R": Bone((-0.4, -0.5, 0.5), (-0.4, -0.4, 0.5), "", None),
    }
    for side, x in (("L", 0.4), ("R", -0.4)):
        bones[f"Upper.{side}"] = Bone((x, 0.0, 0.0), (x, -0.05, 0.5), "", None)
        bones[f"Lower.{side}"] = Bone((x, -0.05, 0.5), (x, 0.0, 1.0), f"Upper.{side}", None)
    arms = add_rig(RIG, bones)
    arms.data.display_type = "OCTAHEDRAL"
    bpy.ops.object.mode_set(mode="POSE")
    # Their parent is mirrored and scaled.
    parent = add_empty("Mirrored", (0.0, 0.0, 0.0), 1.0)
    parent.scale, parent.rotation_euler = (1.5, -1.0, 0.7), (0.3, 0.2, 0.4)
    bpy.context.view_layer.update()
    for name, place in EMPTIES.items():
        empty = add_empty(name, parent.matrix_world.inverted() @ Vector(place), 0.04)
        empty.parent = parent
    for side, holders in (("L", [bpy.data.objects[name] for name in EMPTIES]), ("R", [arms] * 2)):
        ends = {"subtarget": f"Target.{side}", "pole_subtarget": f"Pole.{side}"}
        ends |= {"solver": "TWO_BONE", "pole_target": holders[1]}
        hang_chain(arms, f"Arm.{side}", f"Lower.{side}", holders[0], **ends)
    select_bones(arms, "Upper.L")
    arms.chain_ik.active_index = 0


def places(side: str) -> Places:
    """Return where what belongs to an arm was evaluated last, by name; evaluates nothing."""
    graph = bpy.context.view_layer.depsgraph
    arms = rig().evaluated_get(graph)
    world, bones = arms.matrix_world, arms.pose.bones
    upper, lower = bones[f"Upper.{side}"], bones[f"Lower.{side}"]
    found = {"Root": world @ upper.head, "Elbow": world @ lower.head, "Tip": world @ lower.tail}
    for word in ("Target", "Pole"):
        name = f"{word}.{side}"
        if name in bones:
            found[word] = world @ bones[name].head
        else:
            found[word] = bpy.data.objects[name].evaluated_get(graph).matrix_world.translation
    return {name: place.copy() for name, place in found.items()}


def check_same(side: str, before: Places, when: str) -> None:
    """Check that nothing of an arm has moved."""
    now = places(side)
    for name, place in before.items():
        check_near(now[name], place, SAME_PLACE, f"{when} {name}")
