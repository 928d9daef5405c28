"""Chains of any bones: rolls, tails, locations, branches, inheritance, parents that move."""

import itertools

import bpy
import numpy as np
import pytest
from mathutils import Vector

from tests.blender.setups import rigs, scaled_rigs
from tests.helpers import make_rng

MISS = 1e-6
SCALES = ("FULL", "FIX_SHEAR", "ALIGNED", "AVERAGE", "NONE", "NONE_LEGACY")
INHERITED = list(itertools.product(SCALES, (True, False)))
SOLVERS = ("TWO_BONE", "FABRIK", "CCD", "NEWTON")

every_solver = pytest.mark.parametrize("solver", SOLVERS)


def bones_of(solver):
    return 2 if solver == "TWO_BONE" else 4


def follow_reachable(ob, bones, rng, solver="NEWTON", **settings):
    point = scaled_rigs.reachable_point(ob, bones, rng)
    tolerance = 1e-7 * scaled_rigs.limb_length(ob, bones)
    return scaled_rigs.follow(ob, bones, point, solver=solver, tolerance=tolerance, **settings)


def assert_reached(ob, bones, chain, target):
    miss = scaled_rigs.miss(ob, bones, target)
    assert miss <= MISS, f"missed by {miss:.3g} of the limb: {chain.status}"
    assert chain.status.startswith("Reached"), chain.status


@pytest.mark.every_case
@every_solver
@pytest.mark.parametrize("kind", ["connected", "tails aside", "located", "located in parents"])
def test_target_is_reached_with_any_rolls_tails_and_locations(solver, kind):
    rng = make_rng(1)
    spread = 0.0 if kind == "connected" else 0.5
    ob, bones = scaled_rigs.random_rig(rng, bones_of(solver), spread=spread)
    if kind.startswith("located"):
        is_local = kind == "located"
        scaled_rigs.set_bones(ob, ob.data.bones.keys(), use_local_location=is_local)
        for bone in ob.pose.bones:
            bone.location = rng.uniform(-0.4, 0.4, 3)
    assert_reached(ob, bones, *follow_reachable(ob, bones, rng, solver))


@pytest.mark.parametrize("count", [2, 5])
def test_a_chain_in_the_middle_of_a_rig_drives_only_its_own_bones(count):
    ob = rigs.make_rig(rigs.zigzag(9))
    rigs.turn_bones(ob, seed=5, angle=0.2)
    bones = [f"Bone.{i}" for i in range(7 - count, 7)]
    before = rigs.rotations(ob)
    chain, target = follow_reachable(ob, bones, make_rng(count))
    assert_reached(ob, bones, chain, target)
    after = rigs.rotations(ob)
    assert {name for name in after if after[name] != before[name]} == set(bones)


@pytest.mark.parametrize("count", [0, 12])
def test_a_chain_count_of_zero_or_beyond_the_root_ends_at_the_root(count):
    ob = rigs.make_rig(rigs.zigzag(5))
    before = rigs.rotations(ob)
    target = rigs.make_empty("Target", (1.0, 1.0, 2.5))
    rigs.add_chain(ob, "Bone.4", target, chain_count=count, tolerance=1e-7)
    scaled_rigs.update()
    assert scaled_rigs.miss(ob, list(before), target) <= MISS
    assert all(rigs.rotations(ob)[name] != before[name] for name in before)


def test_chains_on_all_branches_of_a_rig_reach_at_once():
    ob = rigs.make_rig(rigs.zigzag(4), name="Tree")
    targets = []
    for i, side in enumerate([(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0.3)]):
        heads = [Vector((0, 0, 4)) + Vector(side) * step for step in range(4)]
        bones = rigs.add_bones(ob, heads, prefix=f"Branch{i}", parent="Bone.3")
        targets.append((bones, rigs.make_empty(f"Target {i}", heads[1] + Vector((0, 0, -1)))))
    for bones, target in targets:
        rigs.add_chain(ob, bones[-1], target, chain_count=3, tolerance=1e-6)
    root = rigs.make_empty("Root Target", (0.4, 0.3, 3.2))
    rigs.add_chain(ob, "Bone.3", root, tolerance=1e-6)
    scaled_rigs.update()
    assert [chain.status[:7] for chain in ob.chain_ik.chains] == ["Reached"] * 5
    for bones, target in targets:
        assert scaled_rigs.miss(ob, bones, target) <= MISS
    assert scaled_rigs.miss(ob, [f"Bone.{i}" for i in range(4)], root) <= MISS


@every_solver
def test_without_use_tail_the_tips_head_comes_to_the_target(solver):
    rng = make_rng(2)
    ob, bones = scaled_rigs.random_rig(rng, bones_of(solver) + 1)
    point = scaled_rigs.reachable_point(ob, bones[:-1], rng)
    # The next bone's head is not the tail before it here, but a point that turns with it.
    reach = scaled_rigs.limb_length(ob, bones)
    target = rigs.make_empty("Target", rigs.head(ob, bones[0]) * 0.3 + point * 0.7)
    tip_before = rigs.rotations(ob)[bones[-1]]
    chain = rigs.add_chain(
        ob,
        bones[-1],
        target,
        use_tail=False,
        chain_count=len(bones) - 1,
        solver=solver,
        tolerance=1e-7 * reach,
    )
    scaled_rigs.update()
    gap = np.linalg.norm(rigs.head(ob, bones[-1]) - rigs.position(target))
    assert gap <= MISS * reach, chain.status
    assert rigs.rotations(ob)[bones[-1]] == tip_before


@pytest.mark.every_case
@pytest.mark.parametrize("number", range(len(INHERITED)), ids=map(str, INHERITED))
def test_target_is_reached_in_every_mode_of_inheritance(number):
    scale, turns = INHERITED[number]
    rng, solver = make_rng(number), ("TWO_BONE", "NEWTON")[(number // 2 + number) % 2]
    ob, bones = scaled_rigs.random_rig(rng, bones_of(solver))
    scaled_rigs.set_bones(ob, ob.data.bones.keys(), inherit_scale=scale, use_inherit_rotation=turns)
    for i, bone in enumerate(ob.pose.bones):
        bone.scale = (1.0 + 0.2 * (i % 2),) * 3
    scaled_rigs.turn(ob, ["Bone.0", "Bone.1"], rng, 0.6)
    assert_reached(ob, bones, *follow_reachable(ob, bones, rng, solver))


@pytest.mark.parametrize("seed", range(4))
def test_target_is_reached_where_every_bone_inherits_in_its_own_way(seed):
    rng = make_rng(seed)
    ob, bones = scaled_rigs.random_rig(rng, 6)
    for bone in ob.data.bones:
        bone.inherit_scale = rng.choice(SCALES)
        bone.use_inherit_rotation = rng.random() < 0.5
    scaled_rigs.turn(ob, ob.pose.bones.keys(), rng, 0.4)
    assert_reached(ob, bones, *follow_reachable(ob, bones, rng))


@every_solver
def test_animated_parents_carry_the_chain_on_every_frame(solver):
    rng = make_rng(9)
    ob, bones = scaled_rigs.random_rig(rng, bones_of(solver))
    turns = {1.0: (1.0, 0.0, 0.0, 0.0), 20.0: (0.95, 0.2, -0.2, 0.1)}
    rigs.key(ob, 'pose.bones["Bone.1"].rotation_quaternion', turns)
    rigs.key(ob, "location", {1.0: (0.0, 0.0, 0.0), 20.0: (0.2, -0.2, 0.1)})
    chain, target = follow_reachable(ob, bones, rng, solver)
    heads = set()
    for frame in (1, 5, 12, 20, 3):
        bpy.context.scene.frame_set(frame)
        heads.add(tuple(rigs.head(ob, bones[0]).round(3)))
        assert scaled_rigs.miss(ob, bones, target) <= 2.0 * MISS, chain.status
    assert len(heads) == 5, "the parents do move"


def test_a_hinge_stays_a_hinge_when_a_pole_swings_the_arm_around():
    ob = rigs.make_rig([(0, 0, 0), (0, -0.3, 1), (0, 0, 2)], rolls=[0.0, 0.0])
    pole = rigs.make_empty("Pole", (0.0, -3.0, 1.0))
    bones = ["Bone.0", "Bone.1"]
    _, target = scaled_rigs.follow(ob, bones, np.array([0.0, 0.0, 1.4]), pole_target=pole)
    # The arm is planar at rest, in the plane X = 0, so its elbow turns about its own X alone.
    for angle in np.linspace(0.0, 2.0 * np.pi, 13):
        pole.location = (3.0 * np.sin(angle), -3.0 * np.cos(angle), 1.0)
        target.location = (0.4 * np.sin(2.0 * angle), 0.3 * np.cos(angle), 1.2)
        scaled_rigs.update()
        turn = np.array(ob.pose.bones["Bone.1"].rotation_quaternion)
        np.testing.assert_allclose(turn[2:], 0.0, atol=1e-6)
        elbow = rigs.tail(ob, "Bone.0")
        chord = rigs.position(target)
        normal = np.cross(chord, rigs.position(pole))
        assert abs(elbow @ normal / np.linalg.norm(normal)) <= 1e-5
        # The roll of the upper arm follows: the hinge axis is across the plane of the bend.
        hinge = rigs.pose(ob)[0][:3, 0]
        assert abs(hinge @ normal / np.linalg.norm(normal)) == pytest.approx(1.0, abs=1e-5)
