"""Chains that share bones, solved as one tree, checked on Blender's evaluated bones."""

import bpy
import numpy as np
import pytest

from blender_ik_addon.core import JointKind
from tests.blender.joints.test_limits_held import limit, violations
from tests.blender.setups import jointed_rigs, rigs, scaled_rigs, tree_rigs
from tests.blender.setups.selecting import select_objects
from tests.core.chains import pole_error_degrees

SEEDS = (1, 3)


@pytest.mark.parametrize("solver", tree_rigs.SOLVERS)
@pytest.mark.parametrize("make", tree_rigs.RIGS.values(), ids=tree_rigs.RIGS.keys())
def test_targets_that_can_be_reached_together_are_all_reached(make, solver):
    rig = make().follow(solver=solver)
    for seed in SEEDS:
        rig.place(seed)
        rig.assert_reached()
        for name in rig.tips:
            assert rig.chain(name).status.startswith("Reached"), rig.chain(name).status


@pytest.mark.usefixtures("space_of_trees")
@pytest.mark.parametrize(
    ("bones", "has_pole", "solver"),
    [
        (("Trunk.1",), False, "NEWTON"),
        (("Left.0",), True, "FABRIK"),
        (("Trunk.1", "Left.1", "Right.0"), True, "NEWTON"),
    ],
)
def test_bones_that_do_not_inherit_rotation_are_exact(bones, has_pole, solver):
    rig = tree_rigs.make_y()
    scaled_rigs.set_bones(rig.ob, bones, use_inherit_rotation=False)
    rig.follow(solver=solver)
    if has_pole:
        rig.chain("Left").pole_target = rigs.make_empty("Pole", (-1.0, -3.0, 2.0))
    for seed in SEEDS:
        rig.place(seed, angle=0.3)
        rig.assert_reached()


@pytest.mark.usefixtures("space_of_trees")
def test_bones_that_inherit_in_different_ways_under_a_sheared_parent_are_exact():
    rig = tree_rigs.make_y(has_root=True)
    rig.ob.pose.bones["Root.0"].scale = (1.6, 0.8, 1.1)
    modes = {"Left.0": "AVERAGE", "Left.1": "NONE", "Right.0": "ALIGNED", "Right.1": "FIX_SHEAR"}
    for name, mode in modes.items():
        rig.ob.data.bones[name].inherit_scale = mode
    rig.ob.pose.bones["Trunk.1"].scale = (0.8, 1.1, 1.4)
    rigs.change(rig.ob.pose.bones["Left.0"], location=(0.1, 0.05, -0.1))
    rig.follow(chain_count=4)
    for name, step in (("Left", (-0.4, 0.5, -0.2)), ("Right", (0.4, 0.4, 0.1))):
        rig.target(name).location = np.array(rig.target(name).location) + step
    rig.assert_reached(3e-6)
    # What moves the shared bone moves the tree.
    rig.ob.pose.bones["Root.0"].rotation_quaternion = (0.98, 0.1, 0.1, 0.0)
    rig.assert_reached(3e-6)
    rig.ob.location = (0.1, 0.0, 0.05)
    rig.assert_reached(3e-6)


@pytest.mark.usefixtures("space_of_trees")
@pytest.mark.parametrize(
    ("make", "solver"), [(tree_rigs.make_y, "FABRIK"), (tree_rigs.make_body, "NEWTON")]
)
def test_limits_hold_and_targets_inside_of_them_are_reached(make, solver):
    rig = make()
    ranges = [(JointKind.BALL, ((-50, 70), (-20, 30), (-40, 35)))] * len(rig.ob.pose.bones)
    for bone, (kind, edges) in zip(rig.ob.pose.bones, ranges, strict=True):
        limit(bone, kind, edges)
    rig.follow(solver=solver)
    for seed in SEEDS:
        rig.place(seed, angle=0.2)
        rig.assert_reached()
        assert violations(rig.ob, ranges).max() <= 4e-6
    for name in rig.tips:
        rig.target(name).location.x += 1.5
    rigs.updated()
    assert violations(rig.ob, ranges).max() <= 4e-6


def test_targets_out_of_reach_settle_by_weight():
    rig = tree_rigs.make_y().follow()
    rig.target("Left").location = (2.0, 0.0, 1.0)
    rigs.change(rig.target("Right"), location=(-2.0, 0.0, 1.0))
    even = rig.gaps()
    assert even["Left"] == pytest.approx(even["Right"], abs=1e-4)
    rigs.change(rig.chain("Left"), weight=0.25)
    gaps = rig.gaps()
    assert gaps["Right"] < even["Right"] - 0.05 < even["Left"] < gaps["Left"]
    for name in rig.tips:
        assert rig.chain(name).residual == pytest.approx(gaps[name], abs=1e-5)
    assert rig.chain("Left").status == "Outweighed by Right: " + rig.chain("Left").status[-9:]


def test_straight_limbs_with_poles_roll_little_while_targets_out_of_reach_move():
    rig = tree_rigs.make_y()
    rig.follow()
    for name, side in (("Left", 1.0), ("Right", -1.0)):
        rig.chain(name).pole_target = rigs.make_empty("Pole", (side, -3.0, 2.0))
        rig.target(name).location = (side, 0.0, 1.0)
    turns = []
    for step in range(10):
        rigs.change(rig.target("Left"), location=(1.0, 0.01 * step, 1.0 + 0.01 * step))
        turns.append(rigs.matrices(rig.ob)["Left.0"][:3, :3])
    assert np.abs(np.diff(turns, axis=0)).max() < 0.02


def test_locked_rotation_channels_stay_and_are_named():
    rig = tree_rigs.make_y(modes="XYZ").follow()
    rig.ob.pose.bones["Trunk.1"].lock_rotation = (True, True, True)
    rig.place(3)
    rigs.updated()
    assert tuple(rig.ob.pose.bones["Trunk.1"].rotation_euler) == (0.0, 0.0, 0.0)
    assert "locked rotation channels" in rig.chain("Left").status


def test_influence_goes_part_of_the_way_and_without_it_a_chain_leaves_the_tree_as_if_muted():
    rig = tree_rigs.make_y().follow()
    rig.place(2)
    turns = []
    for rig.chain("Left").influence in (1.0, 0.4, 0.0):
        rigs.updated()
        assert rig.gaps()["Right"] <= 2e-6
        turns.append(np.linalg.norm(jointed_rigs.local(rig.ob, "Left.0") - np.eye(3)))
    assert turns[0] > turns[1] > 0.01 > 1e-6 > turns[2]
    rigs.change(rig.target("Left"), location=(2.0, 0.0, 0.5))
    assert rig.gaps()["Right"] <= 2e-6
    rig.ob.pose.bones["Left.1"].rotation_quaternion = turned = (0.8, 0.6, 0.0, 0.0)
    rigs.updated()
    assert rig.ob.pose.bones["Left.1"].rotation_quaternion[:] == pytest.approx(turned)
    faded = rigs.pose(rig.ob)
    rigs.change(rig.chain("Left"), mute=True)
    np.testing.assert_array_equal(rigs.pose(rig.ob), faded)


@pytest.mark.parametrize("place", [(0.5, 2.0, 1.0), (0.5, -2.0, 1.2)])
def test_an_arm_bends_to_its_pole_even_if_a_chain_of_fingers_continues_it(place):
    rig = tree_rigs.make_body()
    fingers = ((0.75, 0.02, 1.17), (0.79, 0.03, 1.14), (0.83, 0.02, 1.1))
    rigs.add_bones(rig.ob, fingers, prefix="Finger", parent="Arm.L.3")
    rig.tips = {"Finger": "Finger.1", "Arm.R": "Arm.R.3"}
    rig.follow()
    hand = rigs.make_empty("Hand", np.add(rigs.head(rig.ob, "Arm.L.3"), (-0.15, 0.05, 0.1)))
    hand.rotation_euler = (2.0, 0.3, 1.0)
    chain = rigs.add_chain(
        rig.ob, "Arm.L.3", hand, name="Hand", use_tail=False, use_rotation=True, tolerance=1e-7
    )
    rigs.updated()
    chain.pole_target = rigs.make_empty("Pole", place)
    tail = np.linalg.solve(np.array(rig.ob.data.bones["Arm.L.3"].matrix_local), (*fingers[-1], 1.0))
    rigs.updated()
    rig.target("Finger").location = np.add((rigs.world_matrix(hand) @ tail)[:3], (0, 0, 0.002))
    rig.assert_reached(3e-6)
    assert chain.status.startswith("Reached"), chain.status
    joints = np.array([rigs.head(rig.ob, f"Arm.L.{i}") for i in range(4)])
    assert pole_error_degrees(joints, joints[-1], np.array(place)) <= np.degrees(1e-2)


NOISE = 2e-6


@pytest.mark.parametrize("order", [("Left", "Right"), ("Right", "Left")])
def test_chains_muted_one_after_the_other_restore_all_bones(order):
    rig = tree_rigs.make_y()
    rigs.turn_bones(rig.ob, angle=0.2)
    before = rigs.rotations(rig.ob)
    rig.follow()
    rig.place(1)
    rigs.updated()
    # The first chain stores its pose again while the other one drives the bones they share.
    for name, mute in ((order[0], True), (order[0], False), (order[1], True), (order[0], True)):
        rigs.change(rig.chain(name), mute=mute)
        live = [chain for chain in order if not rig.chain(chain).mute]
        assert all(rig.gaps()[chain] <= NOISE for chain in live)
        for bone in (f"{chain}.{i}" for chain in order if chain not in live for i in (0, 1)):
            np.testing.assert_allclose(rigs.rotations(rig.ob)[bone], before[bone], atol=1e-6)
        assert all(rig.chain(chain).status == "Muted" for chain in order if chain not in live)
    for bone, channels in rigs.rotations(rig.ob).items():
        np.testing.assert_allclose(channels, before[bone], atol=1e-6, err_msg=bone)


def test_a_chain_added_to_a_solved_one_restores_the_pose_before_both():
    rig = tree_rigs.make_y()
    rigs.turn_bones(rig.ob, angle=0.2)
    before = rigs.rotations(rig.ob)
    tips = rig.tips
    rig.tips = {"Left": tips["Left"]}
    rig.follow()
    rigs.change(rig.target("Left"), location=(0.3, 0.5, 1.4))
    rig.tips = {"Right": tips["Right"]}
    rig.follow()
    rig.tips = tips
    rig.assert_reached()
    for name in ("Left", "Right"):
        rig.chain(name).mute = True
    rigs.updated()
    for bone, channels in rigs.rotations(rig.ob).items():
        np.testing.assert_allclose(channels, before[bone], atol=1e-6, err_msg=bone)


def test_a_stored_pose_is_stored_for_all_chains_of_the_tree():
    rig = tree_rigs.make_y()
    rigs.turn_bones(rig.ob, angle=0.2)
    rig.follow()
    rig.place(1)
    rigs.mute_all_but(rig.ob)
    rigs.mute_all_but(rig.ob, *rig.ob.chain_ik.chains.keys())
    bpy.context.scene.chain_ik.use_live = False
    rigs.turn_bones(rig.ob, seed=5, angle=0.1)
    posed = rigs.rotations(rig.ob)
    select_objects(active=rig.ob)
    # The other chain restores its pose last.
    rig.ob.chain_ik.active_index = 0
    bpy.ops.pose.chain_ik_store()
    rigs.change(bpy.context.scene.chain_ik, use_live=True)
    rigs.mute_all_but(rig.ob)
    now = rigs.rotations(rig.ob)
    for bone in ("Trunk.0", "Trunk.1", "Left.0", "Left.1"):
        np.testing.assert_allclose(now[bone], posed[bone], atol=1e-6, err_msg=bone)
