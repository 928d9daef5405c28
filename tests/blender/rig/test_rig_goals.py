"""What a chain follows: objects with parents, bones of this and other rigs, and their rotation."""

import itertools

import numpy as np
import pytest
from mathutils import Quaternion

from tests.blender.setups import rigs, scaled_rigs
from tests.blender.setups.oriented import axes_of_bone, axes_of_object, turned_target
from tests.helpers import make_rng

MISS = 1e-6
SOLVERS = ("TWO_BONE", "FABRIK", "CCD", "NEWTON")

every_solver = pytest.mark.parametrize("solver", SOLVERS)


def limb_of(solver, *, extra=0, seed=0):
    return scaled_rigs.random_rig(make_rng(seed), (2 if solver == "TWO_BONE" else 4) + extra)


def chain_to(ob, bones, target, **settings):
    settings = {"chain_count": len(bones), "tolerance": 1e-7, **settings}
    chain = rigs.add_chain(ob, bones[-1], target, **settings)
    scaled_rigs.update()
    return chain


def assert_on(ob, bones, point, chain, bound=MISS):
    gap = np.linalg.norm(rigs.tail(ob, bones[-1]) - point) / scaled_rigs.limb_length(ob, bones)
    assert gap <= bound, f"missed by {gap:.3g} of the limb: {chain.status}"


@every_solver
def test_target_may_be_an_object_under_scaled_and_turned_parents(solver):
    ob, bones = limb_of(solver)
    point = scaled_rigs.reachable_point(ob, bones, make_rng(1))
    above = scaled_rigs.sheared_parent((0.5, 2.0, 1.0), Quaternion((1, 1, 0), 0.7))
    scaled_rigs.update()
    local = scaled_rigs.world_of(above).inverted() @ rigs.Vector(point)
    target = rigs.make_empty("Target", local, parent=above)
    chain = chain_to(ob, bones, target, solver=solver)
    assert_on(ob, bones, rigs.position(target), chain)
    above.parent.location.x += 0.1
    scaled_rigs.update()
    assert_on(ob, bones, rigs.position(target), chain)


@every_solver
def test_target_may_be_a_bone_of_another_armature(solver):
    ob, bones = limb_of(solver)
    point = scaled_rigs.reachable_point(ob, bones, make_rng(1))
    leader = rigs.make_rig(name="Leader")
    leader.rotation_euler = (0.4, 0.2, -0.5)
    leader.scale = (-0.5, 0.5, 0.5)
    scaled_rigs.update()
    leader.location = point - rigs.head(leader, "Bone.1")
    chain = chain_to(ob, bones, leader, subtarget="Bone.1", solver=solver)
    assert_on(ob, bones, rigs.head(leader, "Bone.1"), chain)
    leader.pose.bones["Bone.0"].rotation_quaternion = Quaternion((1, 0, 0), 0.3)
    scaled_rigs.update()
    assert_on(ob, bones, rigs.head(leader, "Bone.1"), chain)


@every_solver
def test_target_may_be_a_bone_of_the_same_armature(solver):
    ob, bones = limb_of(solver)
    point = scaled_rigs.reachable_point(ob, bones, make_rng(1))
    rigs.add_bones(ob, [point, np.add(point, (0, 0, 0.3))], prefix="Control")
    chain = chain_to(ob, bones, ob, subtarget="Control.0", solver=solver)
    assert_on(ob, bones, rigs.head(ob, "Control.0"), chain)
    ob.pose.bones["Control.0"].location = (-0.05, 0.1, -0.1)
    ob.scale = (1.0, -2.0, 0.5)
    scaled_rigs.update()
    assert_on(ob, bones, rigs.head(ob, "Control.0"), chain)


def test_target_may_be_a_bone_that_another_chain_moves():
    ob = rigs.make_rig(rigs.zigzag(4))
    rigs.add_bones(ob, [(1, 0, 0), (1.2, 0, 1), (1, 0, 2), (1, 0, 3)], prefix="Follower")
    lead = rigs.make_empty("Lead", (0.6, 0.4, 2.0))
    # The follower stands first in the list and still has to be solved second.
    chain = rigs.add_chain(ob, "Follower.2", ob, subtarget="Bone.3", tolerance=1e-6)
    rigs.add_chain(ob, "Bone.3", lead, tolerance=1e-6)
    for x in (0.6, 0.2, 0.9):
        lead.location.x = x
        scaled_rigs.update()
        assert scaled_rigs.miss(ob, [f"Bone.{i}" for i in range(4)], lead) <= MISS
        assert_on(ob, [f"Follower.{i}" for i in range(3)], rigs.head(ob, "Bone.3"), chain)


@every_solver
@pytest.mark.parametrize("seed", range(3))
def test_with_rotation_and_tail_the_tip_takes_it_and_its_tail_is_on_the_target(solver, seed):
    ob, bones = limb_of(solver, extra=1, seed=seed)
    point = rigs.tail(ob, bones[-1]) * 0.5 + rigs.head(ob, bones[0]) * 0.5
    target = turned_target(point, seed)
    chain = chain_to(ob, bones, target, use_rotation=True, solver=solver)
    assert_on(ob, bones, point, chain)
    np.testing.assert_allclose(axes_of_bone(ob, bones[-1]), axes_of_object(target), atol=2e-6)


@every_solver
@pytest.mark.parametrize("seed", range(3))
def test_with_rotation_and_head_the_tip_takes_it_and_its_head_is_on_the_target(solver, seed):
    ob, bones = limb_of(solver, extra=1, seed=seed)
    point = rigs.tail(ob, bones[-1]) * 0.5 + rigs.head(ob, bones[0]) * 0.5
    target = turned_target(point, seed)
    chain = chain_to(
        ob,
        bones,
        target,
        use_rotation=True,
        use_tail=False,
        solver=solver,
        chain_count=len(bones) - 1,
    )
    gap = np.linalg.norm(rigs.head(ob, bones[-1]) - point)
    assert gap <= MISS * scaled_rigs.limb_length(ob, bones), chain.status
    np.testing.assert_allclose(axes_of_bone(ob, bones[-1]), axes_of_object(target), atol=2e-6)


@pytest.mark.parametrize(
    ("use_tail", "scale"),
    list(itertools.product([True, False], [(2.0, 2.0, 2.0), (-1.0, -1.0, 1.0)])),
    ids=str,
)
def test_rotation_is_matched_under_object_scales_that_keep_angles(use_tail, scale):
    ob, bones = limb_of("NEWTON", extra=1)
    ob.scale = scale
    scaled_rigs.update()
    point = rigs.tail(ob, bones[-1]) * 0.5 + rigs.head(ob, bones[0]) * 0.5
    target = turned_target(point)
    target.scale = (0.3, 0.3, 0.3)
    chain = chain_to(
        ob,
        bones,
        target,
        use_rotation=True,
        use_tail=use_tail,
        chain_count=len(bones) - (not use_tail),
    )
    assert chain.status.startswith("Reached"), chain.status
    np.testing.assert_allclose(axes_of_bone(ob, bones[-1]), axes_of_object(target), atol=3e-6)


@pytest.mark.parametrize("use_tail", [True, False])
def test_rotation_under_a_mirrored_object_still_points_the_tip_along_the_targets_y(use_tail):
    ob, bones = limb_of("NEWTON", extra=1)
    ob.scale = (-1.0, 1.0, 1.0)
    scaled_rigs.update()
    point = rigs.tail(ob, bones[-1]) * 0.5 + rigs.head(ob, bones[0]) * 0.5
    target = turned_target(point)
    chain = chain_to(
        ob,
        bones,
        target,
        use_rotation=True,
        use_tail=use_tail,
        chain_count=len(bones) - (not use_tail),
    )
    assert chain.status.startswith("Reached"), chain.status
    y = rigs.tail(ob, bones[-1]) - rigs.head(ob, bones[-1])
    np.testing.assert_allclose(y / np.linalg.norm(y), axes_of_object(target)[:, 1], atol=2e-6)


@pytest.mark.parametrize("use_tail", [True, False])
def test_orient_weight_turns_the_tip_its_share_of_the_way(use_tail):
    turns = []
    for weight in (0.0, 0.5, 1.0):
        ob = rigs.make_rig(rigs.zigzag(4), name=f"Weight {weight}")
        bones = list(ob.pose.bones.keys())
        target = turned_target((1.0, 0.8, 2.0))
        chain = chain_to(
            ob,
            bones,
            target,
            use_rotation=True,
            orient_weight=weight,
            use_tail=use_tail,
            chain_count=0,
        )
        assert chain.status.startswith("Reached"), chain.status
        away = axes_of_bone(ob, bones[-1]).T @ axes_of_object(target)
        turns.append(np.arccos(np.clip((np.trace(away) - 1.0) / 2.0, -1.0, 1.0)))
    assert turns[2] == pytest.approx(0.0, abs=2e-3)
    assert 0.0 < turns[1] < turns[0]


@pytest.mark.parametrize("use_tail", [True, False])
def test_rotation_without_weight_leaves_the_tip_as_it_would_be_without_rotation(use_tail):
    poses = []
    for use_rotation in (False, True):
        ob = rigs.make_rig(rigs.zigzag(4), name=f"Rig {use_rotation}")
        chain = chain_to(
            ob,
            ["Bone.3"],
            turned_target((1.0, 0.8, 1.5)),
            use_rotation=use_rotation,
            orient_weight=0.0,
            use_tail=use_tail,
            chain_count=0,
        )
        assert chain.status.startswith("Reached"), chain.status
        poses.append(rigs.pose(ob))
    np.testing.assert_allclose(poses[1], poses[0], atol=1e-6)


def test_half_the_weight_on_a_tip_held_by_its_head_is_half_the_angle():
    away = []
    for weight in (0.0, 0.5):
        ob = rigs.make_rig(rigs.zigzag(4), name=f"Weight {weight}")
        target = turned_target(rigs.head(ob, "Bone.3"))
        chain_to(
            ob,
            ["Bone.3"],
            target,
            use_rotation=True,
            orient_weight=weight,
            use_tail=False,
            chain_count=0,
        )
        gap = axes_of_bone(ob, "Bone.3").T @ axes_of_object(target)
        away.append(np.arccos((np.trace(gap) - 1.0) / 2.0))
    assert away[1] == pytest.approx(away[0] / 2.0, abs=1e-4)
