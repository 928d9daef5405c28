"""Bodies that go along with dragged limbs: pinned feet stay, and how often limbs arrive."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Vector

from tests.blender.body import human_bodies as bodies
from tests.blender.setups import rigs
from tests.blender.setups.jointed_rigs import add_joint
from tests.blender.setups.saved_rigs import opened
from tests.blender.setups.selecting import press

MAX_STEP = 0.04
"""Limit of a body's step per 0.05 of a limb's influence, as a share of the height."""


def slip(before: dict[str, np.ndarray], after: dict[str, np.ndarray]) -> float:
    return max(float(np.abs(after[name] - before[name]).max()) for name in bodies.FEET)


@pytest.mark.parametrize(
    ("name", "pull"), [("Hips", 0.0), ("Hips", 0.9), ("Spine", 0.5), ("Leg.L", 0.0)]
)
def test_pinned_feet_stay_whatever_the_pull_of_their_chain_and_of_what_carries_others(
    body, name, pull
):
    chains = body.chain_ik.chains
    chains["Hips"].priority, chains["Spine"].priority = 2, 3 - (name == "Spine")
    chains[name].pull = pull
    before = bodies.places(body)
    bodies.move(body, "Torso", (0.0, 0.0, 0.3))
    bodies.move(body, "Spine Target", (0.0, 0.0, 0.3))
    assert slip(before, bodies.places(body)) <= bodies.PIN_TOLERANCE


def test_a_first_step_that_would_take_too_much_force_leaves_no_body_at_rest(body):
    """Once the hands seemed to hold this body back by a gap of zero, and it stayed upright."""
    shown = []
    for forward in (-0.233, -0.234):
        bodies.move(body, "Neck Target", (-0.039, forward, -0.61))
        shown.append(bodies.places(body))
    assert bodies.farthest(*shown) < 0.01


def test_a_body_never_depends_on_the_pose_before(body):
    # Within reach, out of it, and back.
    offsets = (0.0, 0.0, -0.2), bodies.AWAY, (0.0, 0.0, -0.2)
    shown: dict[str, list[dict[str, np.ndarray]]] = {}
    for start in ("KEYED", "CURRENT"):
        for name in ("Arm.L", "Spine"):
            body.chain_ik.chains[name].start_from = start
        shown[start] = []
        for offset in offsets:
            bodies.move(body, "Arm Target.L", offset)
            shown[start].append(bodies.places(body))
            body.update_tag()
            assert bodies.farthest(shown[start][-1], bodies.places(body)) == 0.0
    for one, other in zip(*shown.values(), strict=True):
        assert bodies.farthest(one, other) == 0.0


def test_as_the_body_fades_out_limbs_are_left_to_themselves_steadily(body):
    body.chain_ik.chains["Hips"].priority = 2
    before, slips = bodies.places(body), []
    bodies.move(body, "Torso", (0.0, 0.0, 0.3))
    for influence in (1.0, 0.999, 0.99, 0.9):
        rigs.change(body.chain_ik.body, influence=influence)
        slips.append(slip(before, bodies.places(body)))
    assert slips[0] <= bodies.PIN_TOLERANCE
    assert max(slips[1:]) < 0.3
    assert slips[1] < 0.02 * 0.3
    assert slips == sorted(slips)
    statuses = {chain.name: chain.status for chain in body.chain_ik.chains}
    assert statuses["Leg.L"].startswith("Part of the way because of influence")


@pytest.mark.parametrize(("name", "pair"), [("Arm.L", True), ("Leg.L", False)])
def test_as_a_limb_fades_out_the_body_goes_steadily_to_where_it_is_without_it(body, name, pair):
    bodies.move(body, "Arm Target.L", bodies.AWAY)
    if pair:
        bodies.move(body, "Arm Target.R", (-bodies.AWAY[0], *bodies.AWAY[1:]))
    chain = body.chain_ik.chains[name]
    bones = [bodies.HIPS, "spine.003", "hand.L", "hand.R", *bodies.FEET]

    def steps(values: Sequence[float]) -> list[float]:
        shown = []
        for chain.influence in values:
            rigs.updated()
            shown.append(bodies.places(body))
        return [max(np.abs(b[n] - a[n]).max() for n in bones) for a, b in pairwise(shown)]

    # Near full and near zero influence, where goals come and go.
    assert max(steps(np.linspace(1.0, 0.9, 3))) < MAX_STEP
    assert max(steps(np.linspace(0.1, 0.0, 3))) < MAX_STEP
    assert max(steps((0.0, 0.001))) < 1e-3


def test_a_limb_without_pull_leaves_the_hips_where_they_are(body):
    chain, before = body.chain_ik.chains["Arm.L"], bodies.places(body)[bodies.HIPS]
    bodies.move(body, "Arm Target.L", (0.4, -0.5, 0.3))
    for pull, priority in ((1.0, 3), (0.0, 3), (0.0, 2), (1.0, 2)):
        rigs.change(chain, pull=pull, priority=priority)
        moved = np.abs(bodies.places(body)[bodies.HIPS] - before).max()
        assert moved > 5e-3 if pull else moved < 1e-3


def test_props_of_several_rigs_are_solved_without_a_floor_with_one_and_where_they_carry_it():
    props = []
    for index in range(3):
        ob = rigs.make_rig(rigs.ARM)
        ob.location.x = 3.0 * index
        target = rigs.make_empty(location=(3.0 * index + 0.6, 0.5, 1.2))
        props.append((rigs.add_chain(ob, "Bone.1", target), ob, target))
        rigs.add_bones(ob, np.array(rigs.ARM) + np.array([0.0, 2.0, 0.0]), prefix="Hip")
        ob.chain_ik.body.root, ob.chain_ik.body.use_body = "Hip.0", True
        if index:
            ob.chain_ik.body.floor = floor = rigs.link(bpy.data.objects.new("Ground", None))
    rigs.change(floor, parent=ob, parent_type="BONE", parent_bone="Bone.1")
    for chain, ob, target in props:
        assert chain.status.startswith("Reached"), chain.status
        assert "No bone of the body carries this chain, so it is solved by itself" in chain.status
        assert np.linalg.norm(rigs.tail(ob, "Bone.1") - rigs.position(target)) < 1e-4


@pytest.mark.parametrize("height", [4.4, 4.9])
@pytest.mark.parametrize("how", ["stretches", "slides"])
def test_a_lone_limb_of_a_body_stretches_or_slides_below_bones_that_carry_it(how, height):
    ob = rigs.make_armature()
    rigs.add_bones(ob, rigs.zigzag(5), is_connected=False)
    ob.pose.bones["Bone.3"].ik_stretch = 0.5
    target = rigs.make_empty(location=(0.6, 0.1, height))
    chain = rigs.add_chain(ob, "Bone.4", target, chain_count=2, use_stretch=how == "stretches")
    if how == "slides":
        add_joint(chain, "Bone.4", "BALL", use_slide=True, slide_min=-0.3, slide_max=0.3)
    rigs.updated()
    before = rigs.matrices(ob)
    rigs.change(ob.chain_ik.body, root="Bone.0", use_body=True)
    assert chain.status.startswith("Reached"), chain.status
    assert bodies.farthest(before, rigs.matrices(ob)) < 1e-5, "the body need not go along"


def test_limbs_of_a_body_grow_where_they_would_by_themselves_and_hold_nothing_back(rigify):
    ob = bodies.make_human()
    grown = {"Arm.L": "upper_arm.L", "Leg.L": "shin.L", "Leg.R": "thigh.R", "Spine": "spine.002"}
    for name, bone in grown.items():
        ob.chain_ik.chains[name].use_stretch = True
        ob.pose.bones[bone].ik_stretch = 0.5
    bodies.move(ob, "Arm Target.L", bodies.AWAY)
    bodies.move(ob, "Arm Target.R", (0.1, 0.0, 0.1))
    bodies.move(ob, "Spine Target", (0.0, 0.0, 0.1))
    before = bodies.places(ob)
    press(bpy.ops.pose.chain_ik_body, control="BONE")
    assert bodies.farthest(before, bodies.places(ob)) < bodies.PLACE_TOLERANCE
    bodies.move(ob, "Torso", (0.0, 0.0, 0.1))
    risen = bodies.places(ob)[bodies.HIPS] - before[bodies.HIPS]
    assert np.abs(risen * bodies.height(ob) - (0.0, 0.0, 0.1)).max() < 1e-4
    for offset in ((0.1, 0.0, 0.1), (0.0, 0.0, 0.2), (-0.1, -0.1, 1.0)):
        bodies.move(ob, "Arm Target.R", offset)
        for name in ("Arm.R", "Arm.L", "Leg.L", "Leg.R"):
            chain = ob.chain_ik.chains[name]
            assert chain.status.startswith("Reached"), (name, chain.status)
            assert target_gap(ob, chain) < 1e-4
        # No chain corrects the foot that a longer shin has moved.
        assert ob.chain_ik.chains["Toe.L"].status.startswith("Out of reach by 0.0")
    rigs.change(ob.chain_ik.body, use_body=False)
    rigs.change(ob.chain_ik.chains["Arm.L"], mute=True)
    assert ob.pose.bones["upper_arm.L"].scale.y == 1.0


@pytest.mark.parametrize("negative_scale", ["MIRROR", "KEEP"])
@pytest.mark.parametrize("scale", [(-1.0, 1.0, 1.0), (1.0, 1.2, 0.8)])
def test_limbs_that_reach_stand_as_they_do_without_a_body(body, scale, negative_scale):
    for chain in body.chain_ik.chains:
        chain.negative_scale = negative_scale
    rigs.change(body, scale=scale)
    bodies.move(body, "Arm Target.L", (-0.1, -0.1, -0.1))
    bodies.move(body, "Arm Target.R", (0.1, 0.0, 0.05))
    assert bodies.all_reach(body)
    inside = bodies.places(body)
    rigs.change(body.chain_ik.body, use_body=False)
    assert bodies.farthest(bodies.places(body), inside) < bodies.PLACE_TOLERANCE


DRAG_COUNT = 8
# Tolerances of pinned feet: a share of the height, and radians.
MAX_FOOT_SHIFT, MAX_FOOT_TURN = 2e-5, 1e-4
# Smallest share of drags that arrive, by chain, while all except pins give way to it.
MIN_ARRIVAL_SHARES = {"Arm.L": 0.75, "Neck": 0.35}
# Seed and number of the random offsets.
RANDOM_OFFSETS = [
    pytest.param(3, 8, id="few"),
    pytest.param(32, 500, marks=pytest.mark.exhaustive, id="many"),
]
PINNED = {"one leg": ["Leg.L"], "scaled unevenly": ["Leg.L", "Leg.R"]}


def offsets(count: int, seed: int = 3) -> list[Vector]:
    """Return offsets in all directions, uniformly, with lengths of 0.1 to 0.9 scene units."""
    rng = np.random.default_rng(seed)
    drawn = [(rng.normal(size=3), rng.uniform(0.1, 0.9)) for _ in range(count)]
    return [Vector(axis * size / np.linalg.norm(axis)) for axis, size in drawn]


def feet(ob: bpy.types.Object) -> list[Matrix]:
    bones = rigs.evaluated(ob).pose.bones
    return [bones[name].matrix.copy() for name in bodies.FEET if name in bones]


def drag(ob: bpy.types.Object, offset: Vector, name: str = "Arm.L") -> bool:
    """Drag a chain's control; return whether the chain arrives, and check that status agrees."""
    chain = ob.chain_ik.chains[name]
    bodies.move(ob, chain.subtarget, offset)
    is_there = target_gap(ob, chain) < 1e-4
    assert is_there == chain.status.startswith("Reached"), chain.status
    return is_there


def target_gap(ob: bpy.types.Object, chain: bpy.types.PropertyGroup) -> float:
    owner = rigs.evaluated(ob)
    end, target = owner.pose.bones[chain.bone].tail, owner.pose.bones[chain.subtarget].head
    return float((owner.matrix_world @ end - owner.matrix_world @ target).length)


def assert_feet_stay(ob: bpy.types.Object, start: list[Matrix]) -> None:
    for before, after in zip(start, feet(ob), strict=True):
        assert (before.translation - after.translation).length < MAX_FOOT_SHIFT * bodies.height(ob)
        axes = np.array(before.to_3x3()) - np.array(after.to_3x3())
        assert np.linalg.norm(axes) / np.sqrt(2.0) < MAX_FOOT_TURN


@pytest.mark.parametrize(("seed", "count"), RANDOM_OFFSETS)
@pytest.mark.parametrize("name", ["Hips", *MIN_ARRIVAL_SHARES])
def test_pinned_feet_stay_wherever_a_part_is_dragged(body, name, seed, count):
    rigs.change(body.chain_ik.chains[name], priority=1)
    start, arrived = feet(body), []
    for offset in offsets(count, seed):
        arrived.append(drag(body, offset, name))
        assert_feet_stay(body, start)
    if name == "Hips":
        # They arrive if both legs are long enough for hips that do not turn.
        bones = body.data.bones
        legs = [(bones[f"thigh.{side}"], bones[f"shin.{side}"]) for side in "LR"]
        assert arrived == [
            all((a.head_local + way - b.tail_local).length <= a.length + b.length for a, b in legs)
            for way in offsets(count, seed)
        ]
    else:
        assert np.mean(arrived) >= MIN_ARRIVAL_SHARES[name]


@pytest.mark.parametrize("form", bodies.FORMS)
def test_pinned_feet_of_other_forms_stay_and_a_hand_arrives_or_says_what_keeps_it(rigify, form):
    ob = opened(bodies.make_human, form=form)
    before = rigs.channels(ob)
    press(bpy.ops.pose.chain_ik_body)
    assert [chain.name for chain in ob.chain_ik.chains if chain.use_pin] == PINNED[form]
    start, arrived, hips = feet(ob), [], 0.0
    for offset in offsets(DRAG_COUNT):
        arrived.append(drag(ob, offset))
        assert arrived[-1] or ob.chain_ik.chains["Arm.L"].status.startswith(("Held", "Outweighed"))
        assert_feet_stay(ob, start)
        hips = max(hips, ob.pose.bones["spine"].location.length)
    assert any(arrived)
    assert hips > 0.05
    drag(ob, Vector((0.0, 0.0, 0.0)))
    rigs.change(ob.chain_ik.body, use_body=False)
    body = {name: row for name, row in before.items() if ob.data.bones[name].use_deform}
    assert bodies.farthest(body, rigs.channels(ob)) <= bodies.PLACE_TOLERANCE


@pytest.mark.parametrize("has_shield", [False, True])
def test_limbs_that_a_body_pulls_straight_bend_to_their_sides(body, has_shield):
    """Once they bent slightly to random sides; from that stored pose a limb turned around."""
    if has_shield:
        # A copy: edit mode frees the bones.
        elbow = body.data.bones["upper_arm.L"].tail_local.copy()
        rigs.add_bones(body, [elbow, elbow + Vector((0, 0.1, 0.1))], parent="upper_arm.L")
        rigs.add_chain(body, "Bone.0", rigs.make_empty("Mark", elbow + Vector((0, 0.1, 0.2))))
        body.chain_ik.chains[-1].chain_count = 1
    bodies.move(body, "Arm Target.L", (0.45, -0.4, -0.1))
    before = rigs.matrices(body)
    body.chain_ik.active_index = body.chain_ik.chains.find("Arm.L")
    press(bpy.ops.pose.chain_ik_store)
    after = rigs.matrices(body)
    for name in ("upper_arm.L", "forearm.L"):
        turns = np.array([before[name], after[name]])[:, :3, :3]
        assert np.arccos((np.trace(turns[0].T @ turns[1]) - 1.0) / 2.0) < 0.3, name
