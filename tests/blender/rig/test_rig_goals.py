"""What a chain follows: objects with parents, bones of this and other rigs, and their rotation."""

import numpy as np
import pytest
from mathutils import Quaternion

from tests.blender.setups import rigs, scaled_rigs
from tests.blender.setups.scaled_rigs import axes_of_bone, axes_of_object, turned_target
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


def turned_limb(use_tail, solver="NEWTON", scale=(1.0, 1.0, 1.0), seed=0):
    """Return a limb whose tip takes its target's rotation half way to its root."""
    ob, bones = limb_of(solver, extra=1, seed=seed)
    ob.scale = scale
    scaled_rigs.update()
    point = rigs.tail(ob, bones[-1]) * 0.5 + rigs.head(ob, bones[0]) * 0.5
    target = turned_target(point, seed)
    target.scale = (0.3, 0.3, 0.3)
    settings = {"use_rotation": True, "use_tail": use_tail, "solver": solver}
    chain = chain_to(ob, bones, target, chain_count=len(bones) - (not use_tail), **settings)
    gap = np.linalg.norm((rigs.tail if use_tail else rigs.head)(ob, bones[-1]) - point)
    assert gap <= 3.0 * MISS * scaled_rigs.limb_length(ob, bones), chain.status
    assert chain.status.startswith("Reached"), chain.status
    return ob, bones, target


@every_solver
@pytest.mark.parametrize("use_tail", [True, False])
def test_with_rotation_the_tip_takes_it_and_its_end_is_on_the_target(solver, use_tail):
    ob, bones, target = turned_limb(use_tail, solver, seed=1)
    np.testing.assert_allclose(axes_of_bone(ob, bones[-1]), axes_of_object(target), atol=2e-6)


@pytest.mark.parametrize("use_tail", [True, False])
@pytest.mark.parametrize("scale", [(2.0, 2.0, 2.0), (-1.0, -1.0, 1.0), (-1.0, 1.0, 1.0)], ids=str)
def test_rotation_is_matched_under_object_scales_and_its_y_axis_under_mirrored_ones(
    use_tail, scale
):
    ob, bones, target = turned_limb(use_tail, scale=scale)
    if np.prod(scale) > 0.0:
        np.testing.assert_allclose(axes_of_bone(ob, bones[-1]), axes_of_object(target), atol=3e-6)
    y = rigs.tail(ob, bones[-1]) - rigs.head(ob, bones[-1])
    np.testing.assert_allclose(y / np.linalg.norm(y), axes_of_object(target)[:, 1], atol=3e-6)


def away(ob, target):
    """Return the angle between the tip's axes and its target's."""
    turn = axes_of_bone(ob, "Bone.3").T @ axes_of_object(target)
    return np.arccos(np.clip((np.trace(turn) - 1.0) / 2.0, -1.0, 1.0))


@pytest.mark.parametrize("use_tail", [True, False])
def test_orient_weight_turns_the_tip_its_share_of_the_way(use_tail):
    ob = rigs.make_rig(rigs.zigzag(4))
    target = turned_target((1.0, 0.8, 1.5))
    settings = {"use_tail": use_tail, "chain_count": 0}
    chain = chain_to(ob, ["Bone.3"], target, **settings)
    free, turns = rigs.pose(ob), []
    chain.use_rotation = True
    for weight in (0.0, 0.5, 1.0):
        chain.orient_weight = weight
        scaled_rigs.update()
        assert chain.status.startswith("Reached"), chain.status
        turns.append(away(ob, target))
        if weight == 0.0:
            np.testing.assert_allclose(rigs.pose(ob), free, atol=1e-6)
    assert turns[2] == pytest.approx(0.0, abs=2e-3)
    assert 0.0 < turns[1] < turns[0]
