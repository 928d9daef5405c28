"""Skeletons of other programs whose bones do not end where the next ones begin."""

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Vector

from tests.blender.operators.test_straight_limbs import LIMBS, SIDES, make_person
from tests.blender.setups import rigs
from tests.blender.setups.selecting import press
from tests.helpers import make_rng

pytestmark = [pytest.mark.slow, pytest.mark.oldest]

setup = bpy.ops.pose.chain_ik_setup
WAYS = {"Arm": (-0.1, -0.2, 0.15), "Leg": (0.05, -0.2, 0.2), "Spine": (0.0, -0.1, -0.05)}


def lay_aside(ob: bpy.types.Object) -> None:
    """Have all bones keep their heads and lie along axes across those that they had."""
    rng = make_rng(3)
    with rigs.editing(ob) as bones:
        for bone in bones:
            bone.use_connect = False
        for bone in bones:
            way = bone.tail - bone.head
            bone.tail = bone.head + way.cross(Vector(rng.normal(size=3))).normalized() * way.length


def shorten(ob: bpy.types.Object) -> None:
    """Have all bones end before the next ones, as importers leave those with twist bones."""
    with rigs.editing(ob) as bones:
        for bone in bones:
            bone.use_connect = False
        for bone in bones:
            bone.tail = bone.head.lerp(bone.tail, 0.45)


def heads(ob: bpy.types.Object) -> dict[str, np.ndarray]:
    return {bone.name: rigs.head(ob, bone.name) for bone in ob.pose.bones}


@pytest.mark.parametrize("use_body", [False, True])
@pytest.mark.parametrize("leave", [lay_aside, shorten])
def test_limbs_reach_with_the_heads_of_hands_and_feet_as_if_bones_ended_there(leave, use_body):
    found = []
    for is_imported in (False, True):
        ob = make_person(0.4)
        if is_imported:
            leave(ob)
        before = heads(ob)
        # Spines reach with the tail of the chest, which lies aside: only limbs are compared.
        press(setup, control="BONE", use_body=use_body, kinds={"ARM", "LEG"})
        rigs.updated()
        assert all(chain.status.startswith("Reached") for chain in ob.chain_ik.chains)
        for name, head in before.items():
            np.testing.assert_allclose(rigs.head(ob, name), head, atol=2e-6)
        for side, x in SIDES.items():
            for limb in ("Arm", "Leg"):
                control = ob.pose.bones[f"{limb} Target.{side}"]
                way = Vector(WAYS[limb]) * Vector((x, 1.0, 1.0))
                rigs.change(control, matrix=Matrix.Translation(way) @ control.matrix)
        assert all(chain.status.startswith("Reached") for chain in ob.chain_ik.chains)
        found.append({name: rigs.head(ob, name) for name in before})
        bpy.data.objects.remove(ob)
    for name, head in found[0].items():
        np.testing.assert_allclose(found[1][name], head, atol=2e-5, err_msg=name)


@pytest.mark.parametrize("leave", [lay_aside, shorten])
def test_hands_and_feet_take_the_turns_of_their_controls(leave):
    ob = make_person()
    leave(ob)
    press(setup, control="BONE", use_limits=True, kinds={"ARM", "LEG"})
    chains, has_axes = ob.chain_ik.chains, leave is shorten
    assert {name for name, _ in LIMBS} == set(chains.keys())
    assert all(bool(chain.joints) == has_axes for chain in chains)
    assert ("Foot Roll" in ob.pose.bones["Leg Target.L"]) == has_axes
    for chain in chains:
        control, tip = ob.pose.bones[chain.subtarget.replace("Ankle", "Target")], chain.bone
        assert (chain.use_tail, chain.use_rotation) == (False, True)
        turn = Matrix.Rotation(0.3, 4, "Z")
        before = rigs.matrices(ob)[tip][:3, :3]
        place = Matrix.Translation(control.matrix.translation)
        rigs.change(control, matrix=place @ turn @ place.inverted() @ control.matrix)
        after = rigs.matrices(ob)[tip][:3, :3]
        np.testing.assert_allclose(after, np.array(turn.to_3x3()) @ before, atol=1e-4)
