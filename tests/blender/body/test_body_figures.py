"""What Rigify's human keeps while its hands are dragged: pins, and how often a hand arrives."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Vector

from tests.blender.body.human_bodies import FORMS, STILL, make_human
from tests.blender.body.reaching_bodies import channels, most_changed
from tests.blender.controls.test_character_clips import human, metarig  # noqa: F401
from tests.blender.setups import rigs
from tests.blender.setups.selecting import press

DRAGS = 60
# Feet stay to this share of the height, and to so many radians.
PLACE, TURN = 2e-5, 1e-4
# Drags of a hand arrive that often while the other hand is free.
ARRIVED = 0.75
FEET = ("foot.L", "foot.R")
PINNED = {"one leg": ["Leg.L"], "scaled unevenly": ["Leg.L", "Leg.R"]}


def add_hips(ob: bpy.types.Object) -> None:
    """Give the hips a control of their own, and a chain that follows it."""
    bpy.ops.object.mode_set(mode="EDIT")
    bones = ob.data.edit_bones
    hips, torso = bones["spine"], bones.new("Torso")
    torso.matrix, torso.length = hips.matrix, hips.length
    target = bones.new("MCH-Torso")
    target.head, target.tail = hips.tail, hips.tail + 0.3 * (hips.tail - hips.head)
    target.roll, target.parent = hips.roll, torso
    bpy.ops.object.mode_set(mode="POSE")
    hips = ob.pose.bones["spine"]
    for constraint in list(hips.constraints):
        hips.constraints.remove(constraint)
    for bone in ob.pose.bones:
        for constraint in bone.constraints:
            if constraint.type == "ARMATURE":
                for each in constraint.targets:
                    if each.subtarget == "spine":
                        each.subtarget = "MCH-Torso"
    chain = ob.chain_ik.chains.add()
    chain.name, chain.bone, chain.chain_count = "Hips", "spine", 1
    chain.use_rotation, chain.target, chain.subtarget = True, ob, "MCH-Torso"


@pytest.fixture
def body(human: bpy.types.Object) -> bpy.types.Object:  # noqa: F811
    """The human as a whole body, both feet pinned."""
    add_hips(human)
    human.chain_ik.body.use_body = True
    for chain in human.chain_ik.chains:
        chain.use_pin = chain.name.startswith("Leg")
    rigs.updated()
    return human


def ways(count: int) -> list[Vector]:
    """Return ways to all sides alike, of 0.1 to 0.9 scene units."""
    rng = np.random.default_rng(3)
    drawn = [(rng.normal(size=3), rng.uniform(0.1, 0.9)) for _ in range(count)]
    return [Vector(way * size / np.linalg.norm(way)) for way, size in drawn]


def feet(ob: bpy.types.Object) -> list[Matrix]:
    bones = rigs.evaluated(ob).pose.bones
    return [bones[name].matrix.copy() for name in FEET if name in bones]


def drag(ob: bpy.types.Object, way: Vector) -> bool:
    """Drag the left hand, and tell whether it arrives."""
    control = ob.pose.bones["Arm Target.L"]
    control.location = control.bone.matrix_local.to_3x3().inverted() @ way
    rigs.updated()
    chain = ob.chain_ik.chains["Arm.L"]
    return str(chain.status).startswith("Reached")


def slips(before: list[Matrix], after: list[Matrix]) -> tuple[float, float]:
    """Return how far feet have moved at most, and turned in radians."""
    moved = max((b.translation - a.translation).length for b, a in zip(before, after, strict=True))
    axes = [np.array(b.to_3x3()) - np.array(a.to_3x3()) for b, a in zip(before, after, strict=True)]
    return moved, float(max(np.linalg.norm(each) for each in axes) / np.sqrt(2.0))


@pytest.mark.parametrize("is_free", [False, True], ids=["all limbs", "other hand muted"])
def test_pinned_feet_stay_wherever_a_hand_is_dragged(body, is_free):
    body.chain_ik.chains["Arm.R"].mute = is_free
    rigs.updated()
    stood, height = feet(body), max(bone.head_local.z for bone in body.data.bones)
    arrived, moved, turned = [], 0.0, 0.0
    for way in ways(DRAGS):
        arrived.append(drag(body, way))
        now = slips(stood, feet(body))
        moved, turned = max(moved, now[0]), max(turned, now[1])
    print(f"arrived {np.mean(arrived):.1%}, moved {moved / height:.1e}, turned {turned:.1e}")
    print("short:", np.flatnonzero(~np.array(arrived)))
    assert moved < PLACE * height
    assert turned < TURN
    assert not is_free or np.mean(arrived) >= ARRIVED


def left_out(ob: bpy.types.Object) -> float:
    """Return how far the left hand is from its target, in scene units."""
    owner = rigs.evaluated(ob)
    hand, target = (owner.pose.bones[name].head for name in ("hand.L", "Arm Target.L"))
    return float((owner.matrix_world @ hand - owner.matrix_world @ target).length)


@pytest.mark.parametrize("form", FORMS)
def test_pinned_feet_of_other_forms_stay_and_a_hand_arrives_or_says_what_keeps_it(rigify, form):
    ob = make_human(form=form)
    bare = channels(ob)
    press(bpy.ops.pose.chain_ik_body)
    assert [each.name for each in ob.chain_ik.chains if each.use_pin] == PINNED[form]
    stood, height = feet(ob), max(bone.head_local.z for bone in ob.data.bones)
    arrived, moved, turned, hips = [], 0.0, 0.0, 0.0
    for way in ways(DRAGS):
        arrived.append(drag(ob, way))
        now = slips(stood, feet(ob))
        moved, turned = max(moved, now[0]), max(turned, now[1])
        status = ob.chain_ik.chains["Arm.L"].status
        assert left_out(ob) < 1e-4 if arrived[-1] else status.startswith(("Held", "Outweighed"))
        hips = max(hips, ob.pose.bones["spine"].location.length)
    print(f"arrived {np.mean(arrived):.1%}, moved {moved / height:.1e}, turned {turned:.1e}")
    assert moved < PLACE * height
    assert turned < TURN
    assert any(arrived)
    assert hips > 0.05
    drag(ob, Vector((0.0, 0.0, 0.0)))
    ob.chain_ik.body.use_body = False
    rigs.updated()
    body = {name: held for name, held in bare.items() if ob.data.bones[name].use_deform}
    after = channels(ob)
    assert most_changed(body, {name: after[name] for name in body}) <= STILL
