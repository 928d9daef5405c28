"""Controls are as large as the part of the body that they move, and clear of each other."""

from __future__ import annotations

import itertools

import bpy
import numpy as np
import pytest
from mathutils import Euler, Matrix, Vector

from tests.blender.body.human_bodies import make_character
from tests.blender.controls.rolled import activate, control_of
from tests.blender.operators.test_characters import MOCAP, add_rig
from tests.blender.setups import rigs
from tests.blender.setups.saved_rigs import opened
from tests.blender.setups.selecting import press

setup = bpy.ops.pose.chain_ik_setup
mirror = bpy.ops.pose.chain_ik_mirror

Box = tuple[np.ndarray, np.ndarray]


def drawn(ob: bpy.types.Object, name: str) -> np.ndarray:
    """Return the points that a bone is drawn as, world space."""
    bone = rigs.evaluated(ob).pose.bones[name]
    size = bone.bone.length if bone.use_custom_shape_bone_size else 1.0
    place = Matrix.LocRotScale(
        Vector(bone.custom_shape_translation),
        Euler(bone.custom_shape_rotation_euler),
        size * Vector(bone.custom_shape_scale_xyz),
    )
    matrix = np.array(ob.matrix_world @ bone.matrix @ place)
    points = np.array([vertex.co for vertex in bone.custom_shape.data.vertices])
    return points @ matrix[:3, :3].T + matrix[:3, 3]


def boxes(ob: bpy.types.Object) -> dict[str, Box]:
    """Return the lowest and highest corner of each control of a chain and of the torso."""
    found = {chain.name: drawn(ob, control_of(ob, chain.name)) for chain in ob.chain_ik.chains}
    found["Torso"] = drawn(ob, ob.chain_ik.body.root)
    return {name: (points.min(axis=0), points.max(axis=0)) for name, points in found.items()}


def overlap(first: Box, second: Box, axes: str) -> bool:
    """Tell whether boxes overlap as seen along the axes that are left out."""
    along = ["XYZ".index(axis) for axis in axes]
    return bool(
        np.all(
            np.minimum(first[1], second[1]) > np.maximum(first[0], second[0]),
            where=[axis in along for axis in range(3)],
        )
    )


def side_of(name: str) -> str:
    return name[-1] if name.endswith((".L", ".R")) else ""


def feet(ob: bpy.types.Object) -> list[str]:
    return [chain.name for chain in ob.chain_ik.chains if "Leg" in chain.name]


@pytest.mark.parametrize("name", ["human", "cat", "horse", "bird", "mixamo_names"])
def test_no_control_covers_another_one_and_feet_lie_flat_around_foot_and_toes(rigify, name):
    ob = opened(make_character, name=name)
    found = boxes(ob)
    for one, other in itertools.combinations(found, 2):
        assert not overlap(found[one], found[other], "XYZ"), (one, other)
        # Beside each other, or one behind the other, they cover each other as the body does.
        on_two_legs = name in ("human", *MOCAP)
        if on_two_legs:
            assert not overlap(found[one], found[other], "XZ"), (one, other)
        if side_of(one) == side_of(other):
            assert not overlap(found[one], found[other], "YZ"), (one, other)
    for limb in feet(ob):
        chain = ob.chain_ik.chains[limb]
        points = drawn(ob, control_of(ob, limb))
        low, high = points.min(axis=0), points.max(axis=0)
        foot = next(child for child in ob.pose.bones[chain.bone].children if child.bone.use_deform)
        ends = [
            ob.matrix_world @ end
            for bone in (foot, *foot.children_recursive)
            for end in (bone.head, bone.tail)
            if "MCH" not in bone.name
        ]
        way = np.ptp(np.array(ends), axis=0)
        # Four corners lie in one level, as low as the lowest bone.
        level = np.sort(points[:, 2])[:4]
        np.testing.assert_allclose(level, min(end.z for end in ends), atol=1e-5 * max(way))
        assert high[2] - low[2] <= 0.2 * max(way[:2])
        assert max(way[:2]) <= max((high - low)[:2]) <= 1.5 * max(way[:2])


def test_feet_show_their_heels_and_toes_whichever_way_they_stand(rigify):
    ob = add_rig("human")
    ob.rotation_euler, ob.scale = (0.0, 0.0, 0.7), (2.0, 2.0, 2.0)
    ob.pose.bones["thigh.L"].rotation_mode = "XYZ"
    ob.pose.bones["thigh.L"].rotation_euler = (-0.5, 0.4, 0.3)
    rigs.updated()
    press(setup, control="BONE")
    points = drawn(ob, "Leg Target.L")
    assert len(np.unique(points[:, 2].round(4))) == 2
    toe = np.array(ob.matrix_world @ ob.pose.bones["toe.L"].tail)
    foot = np.array(ob.matrix_world @ ob.pose.bones["foot.L"].head)
    forward = (toe - foot) * (1, 1, 0) / np.linalg.norm((toe - foot)[:2])
    assert (points @ forward).max() > toe @ forward
    heel = np.array(ob.matrix_world @ ob.pose.bones["heel.02.L"].head)
    assert (points @ forward).min() < heel @ forward


def test_boxes_hold_all_bones_of_hands_and_heads(rigify):
    ob = opened(make_character, name="human")
    for limb, bone in (("Arm.L", "hand.L"), ("Arm.R", "hand.R"), ("Neck", "spine.006")):
        control = ob.pose.bones[ob.chain_ik.chains[limb].subtarget]
        to_control = control.matrix.inverted()
        frame = np.array(to_control @ ob.matrix_world.inverted())
        box = drawn(ob, control.name) @ frame[:3, :3].T + frame[:3, 3]
        held = ob.pose.bones[bone]
        for each in (held, *held.children_recursive):
            for end in (each.head, each.tail):
                place = np.array(to_control @ end)
                assert (place > box.min(axis=0)).all()
                assert (place < box.max(axis=0)).all()


def test_controls_that_are_mirrored_are_drawn_as_the_other_ones(rigify):
    ob = opened(make_character, name="human")
    for limb in ("Arm", "Leg"):
        expected = drawn(ob, f"{limb} Target.R")
        activate(ob, f"{limb}.R")
        press(bpy.ops.pose.chain_ik_remove, delete_controls=True)
        activate(ob, f"{limb}.L")
        press(mirror)
        for point in drawn(ob, f"{limb} Target.R"):
            assert np.abs(expected - point).max(axis=1).min() < 1e-5
