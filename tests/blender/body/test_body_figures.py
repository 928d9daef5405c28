"""What Rigify's human keeps while it is dragged: pins, and how often what is dragged arrives."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Vector

from tests.blender.body.human_bodies import FORMS, STILL, height, make_human, move
from tests.blender.body.reaching_bodies import FEET, channels, most_changed
from tests.blender.setups import rigs
from tests.blender.setups.saved_rigs import opened
from tests.blender.setups.selecting import press

DRAGS = 10
# Feet stay to this share of the height, and to so many radians.
PLACE, TURN = 2e-5, 1e-4
# Chains that are dragged, and how often they arrive while all but pins give way to them.
ARRIVED = {"Arm.L": 0.75, "Neck": 0.35}
# Where ways are drawn from, and how many are.
DRAWN = [
    pytest.param(3, 8, id="few"),
    pytest.param(32, 500, marks=pytest.mark.exhaustive, id="many"),
]
PINNED = {"one leg": ["Leg.L"], "scaled unevenly": ["Leg.L", "Leg.R"]}


def ways(count: int, seed: int = 3) -> list[Vector]:
    """Return ways to all sides alike, of 0.1 to 0.9 scene units."""
    rng = np.random.default_rng(seed)
    drawn = [(rng.normal(size=3), rng.uniform(0.1, 0.9)) for _ in range(count)]
    return [Vector(way * size / np.linalg.norm(way)) for way, size in drawn]


def feet(ob: bpy.types.Object) -> list[Matrix]:
    bones = rigs.evaluated(ob).pose.bones
    return [bones[name].matrix.copy() for name in FEET if name in bones]


def drag(ob: bpy.types.Object, way: Vector, name: str = "Arm.L") -> bool:
    """Drag the control of a chain, and tell whether it arrives, as its status does."""
    chain = ob.chain_ik.chains[name]
    move(ob, chain.subtarget, way)
    is_there = left_out(ob, chain) < 1e-4
    assert is_there == chain.status.startswith("Reached"), chain.status
    return is_there


def left_out(ob: bpy.types.Object, chain: bpy.types.PropertyGroup) -> float:
    """Return how far a chain's end is from its target, in scene units."""
    owner = rigs.evaluated(ob)
    end, target = owner.pose.bones[chain.bone].tail, owner.pose.bones[chain.subtarget].head
    return float((owner.matrix_world @ end - owner.matrix_world @ target).length)


def legs_reach(ob: bpy.types.Object, way: Vector) -> bool:
    """Tell whether both legs are long enough for hips that go a way and do not turn."""
    legs = [[ob.data.bones[f"{bone}.{side}"] for bone in ("thigh", "shin")] for side in "LR"]
    return all(
        (thigh.head_local + way - shin.tail_local).length <= thigh.length + shin.length
        for thigh, shin in legs
    )


def assert_stand(ob: bpy.types.Object, stood: list[Matrix]) -> None:
    """Check that feet have neither moved nor turned."""
    for before, after in zip(stood, feet(ob), strict=True):
        assert (before.translation - after.translation).length < PLACE * height(ob)
        axes = np.array(before.to_3x3()) - np.array(after.to_3x3())
        assert np.linalg.norm(axes) / np.sqrt(2.0) < TURN


@pytest.mark.parametrize(("seed", "count"), DRAWN)
@pytest.mark.parametrize("is_first", [False, True], ids=["as set up", "priority 1"])
@pytest.mark.parametrize("name", ["Hips", *ARRIVED])
def test_pinned_feet_stay_wherever_a_part_is_dragged(body, name, is_first, seed, count):
    if is_first:
        body.chain_ik.chains[name].priority = 1
        rigs.updated()
    stood, arrived = feet(body), []
    for way in ways(count, seed):
        arrived.append(drag(body, way, name))
        assert_stand(body, stood)
    if is_first and name == "Hips":
        assert arrived == [legs_reach(body, way) for way in ways(count, seed)]
    elif is_first:
        assert np.mean(arrived) >= ARRIVED[name]


@pytest.mark.parametrize("form", FORMS)
def test_pinned_feet_of_other_forms_stay_and_a_hand_arrives_or_says_what_keeps_it(rigify, form):
    ob = opened(make_human, form=form)
    bare = channels(ob)
    press(bpy.ops.pose.chain_ik_body)
    assert [each.name for each in ob.chain_ik.chains if each.use_pin] == PINNED[form]
    stood, arrived, hips = feet(ob), [], 0.0
    for way in ways(DRAGS):
        arrived.append(drag(ob, way))
        status = ob.chain_ik.chains["Arm.L"].status
        assert arrived[-1] or status.startswith(("Held", "Outweighed"))
        assert_stand(ob, stood)
        hips = max(hips, ob.pose.bones["spine"].location.length)
    assert any(arrived)
    assert hips > 0.05
    drag(ob, Vector((0.0, 0.0, 0.0)))
    ob.chain_ik.body.use_body = False
    rigs.updated()
    body = {name: held for name, held in bare.items() if ob.data.bones[name].use_deform}
    after = channels(ob)
    assert most_changed(body, {name: after[name] for name in body}) <= STILL
