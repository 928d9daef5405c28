"""Chains that share bones, solved as one tree: what Blender's evaluated bones say of it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.blender.setups import jointed_rigs, rigs, scaled_rigs, tree_rigs

SEEDS = (1, 2, 3)


@pytest.mark.parametrize("solver", tree_rigs.SOLVERS)
@pytest.mark.parametrize("make", tree_rigs.RIGS.values(), ids=tree_rigs.RIGS.keys())
def test_all_targets_that_can_be_reached_together_are(make, solver):
    rig = make()
    rig.follow(solver=solver)
    for seed in SEEDS:
        rig.place(seed)
        rig.assert_reached()
        for name in rig.tips:
            assert rig.chain(name).status.startswith("Reached"), rig.chain(name).status


@pytest.mark.parametrize("modes", ["XYZ", "ZYX", "AXIS_ANGLE"])
def test_every_rotation_mode_is_written(modes):
    rig = tree_rigs.make_y(modes=modes)
    rig.follow()
    rig.place(1)
    rig.assert_reached()


@pytest.mark.usefixtures("space_of_trees")
@pytest.mark.parametrize("scale", [(0.01, 0.01, 0.01), (-1, 1, 1), (-0.8, 1.3, 1.0)])
def test_any_scale_of_the_object_is_exact(scale):
    rig = tree_rigs.make_body()
    rig.ob.scale, rig.ob.rotation_euler, rig.ob.location = scale, (0.3, 0.2, -0.5), (1, 2, -1)
    rigs.updated()
    rig.follow()
    rig.length *= max(abs(each) for each in scale)
    for seed in SEEDS:
        rig.place(seed, angle=0.3)
        rig.assert_reached(2e-6)


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


def assert_followed(rig: tree_rigs.Rig, left: tuple[float, ...], right: tuple[float, ...]) -> None:
    """Have chains go a step, and check that they do."""
    rigs.updated()
    rig.follow()
    for name, step in (("Left", left), ("Right", right)):
        rig.target(name).location = np.array(rig.target(name).location) + step
    rig.assert_reached(3e-6)


@pytest.mark.parametrize(
    ("inherit", "scale"),
    [
        ("FULL", (1.2, 0.9, 1.1)),
        ("NONE", (1.2, 1.2, 1.2)),
        ("ALIGNED", (1.2, 0.9, 1.1)),
        ("AVERAGE", (1.2, 0.9, 1.1)),
    ],
)
def test_scaled_parents_are_exact_whatever_bones_inherit(inherit, scale):
    rig = tree_rigs.make_y(has_root=True)
    rig.ob.pose.bones["Root.0"].scale = scale
    for bone in rig.ob.data.bones:
        bone.inherit_scale = inherit
    rig.ob.pose.bones["Trunk.1"].scale = (1.3, 0.8, 1.1)
    rig.ob.pose.bones["Left.0"].location = (0.1, 0.05, -0.1)
    assert_followed(rig, (-0.2, 0.3, -0.1), (0.3, -0.2, 0.1))


@pytest.mark.usefixtures("space_of_trees")
def test_bones_that_inherit_in_different_ways_under_a_sheared_parent_are_exact():
    rig = tree_rigs.make_y(has_root=True)
    rig.ob.pose.bones["Root.0"].scale = (1.6, 0.8, 1.1)
    ways = {"Left.0": "AVERAGE", "Left.1": "NONE", "Right.0": "ALIGNED", "Right.1": "FIX_SHEAR"}
    for name, inherit in ways.items():
        rig.ob.data.bones[name].inherit_scale = inherit
    rig.ob.pose.bones["Trunk.1"].scale = (0.8, 1.1, 1.4)
    assert_followed(rig, (-0.4, 0.5, -0.2), (0.4, 0.4, 0.1))


def test_unconnected_bones_may_stand_anywhere_on_their_parents():
    rig = tree_rigs.make_hand()
    for finger in range(5):
        rig.ob.pose.bones[f"Finger{finger}.0"].location = (0.02 * finger, 0.03, 0.05)
    rigs.updated()
    rig.follow()
    rig.ob.pose.bones["Finger1.0"].location = (0.03, 0.0, 0.02)
    for name in rig.tips:
        rig.target(name).location.z -= 0.1
    rig.assert_reached()


def limit_all(rig):
    for bone in rig.ob.pose.bones:
        for axis, (low, high) in {"x": (-50, 70), "y": (-20, 30), "z": (-40, 35)}.items():
            setattr(bone, f"use_ik_limit_{axis}", True)
            setattr(bone, f"ik_min_{axis}", np.radians(low))
            setattr(bone, f"ik_max_{axis}", np.radians(high))


def assert_limits_hold(rig):
    for bone in rig.ob.pose.bones:
        local = jointed_rigs.local(rig.ob, bone.name)
        swing = jointed_rigs.swing(local)
        sides = np.array([local[2, 1], 0.0, -local[0, 1]])
        size = np.linalg.norm(sides)
        half = np.sin(swing / 2) * sides / size if size > 0.0 else sides
        ends = [
            np.sin(np.radians(high if value > 0 else -low) / 2)
            for value, (low, high) in ((half[0], (-50, 70)), (half[2], (-40, 35)))
        ]
        inside = np.hypot(half[0] / ends[0], half[2] / ends[1])
        assert inside <= 1.0 + 3e-6, (bone.name, inside)
        twist = np.degrees(jointed_rigs.twist(local))
        assert -20.0001 <= twist <= 30.0001, (bone.name, twist)


@pytest.mark.usefixtures("space_of_trees")
@pytest.mark.parametrize(
    ("make", "solver"),
    [
        (tree_rigs.make_y, "FABRIK"),
        (tree_rigs.make_hand, "NEWTON"),
        (tree_rigs.make_body, "FABRIK"),
    ],
)
def test_limits_hold_and_targets_inside_of_them_are_reached(make, solver):
    rig = make()
    limit_all(rig)
    rig.follow(solver=solver)
    for seed in SEEDS:
        rig.place(seed, angle=0.2)
        rig.assert_reached()
        assert_limits_hold(rig)
    for name in rig.tips:
        rig.target(name).location.x += 1.5
    rigs.updated()
    assert_limits_hold(rig)


def test_a_limit_that_holds_back_is_named():
    rig = tree_rigs.make_y()
    rig.follow()
    for bone in ("Trunk.0", "Trunk.1", "Left.0"):
        rig.ob.pose.bones[bone].lock_ik_x = True
        rig.ob.pose.bones[bone].lock_ik_y = True
        rig.ob.pose.bones[bone].lock_ik_z = True
    elbow = rig.ob.pose.bones["Left.1"]
    elbow.use_ik_limit_x = elbow.use_ik_limit_z = True
    elbow.ik_min_x = elbow.ik_min_z = -0.1
    elbow.ik_max_x = elbow.ik_max_z = 0.1
    rig.target("Left").location = (0.4, 0.3, 1.5)
    rigs.updated()
    assert "Left.1" in rig.chain("Left").status
    assert rig.chain("Right").status.startswith("Reached")


def test_own_joints_of_any_chain_hold_on_shared_bones():
    rig = tree_rigs.make_y()
    rig.follow()
    jointed_rigs.give(rig.chain("Right"), "Trunk.1", "HINGE_X", x=(10, 40))
    rig.chain("Right").id_data.update_tag()
    rig.place(2)
    rigs.updated()
    angle = jointed_rigs.about(jointed_rigs.local(rig.ob, "Trunk.1"), "x")
    assert np.radians(10) - 1e-6 <= angle <= np.radians(40) + 1e-6


def test_targets_out_of_reach_settle_by_weight():
    rig = tree_rigs.make_y()
    rig.follow()
    rig.target("Left").location = (2.0, 0.0, 1.0)
    rig.target("Right").location = (-2.0, 0.0, 1.0)
    rigs.updated()
    even = rig.gaps()
    assert even["Left"] == pytest.approx(even["Right"], abs=1e-4)
    rig.chain("Left").weight = 0.25
    rigs.updated()
    gaps = rig.gaps()
    assert gaps["Right"] < even["Right"] - 0.05 < even["Left"] < gaps["Left"]
    for name in rig.tips:
        assert rig.chain(name).residual == pytest.approx(gaps[name], abs=1e-5)
    assert rig.chain("Left").status == "Outweighed by Right: " + rig.chain("Left").status[-9:]


def bulge(ob, upper, lower):
    """Return the elbow's offset from the line from shoulder to hand."""
    head, middle, end = rigs.head(ob, upper), rigs.tail(ob, upper), rigs.tail(ob, lower)
    way = (end - head) / np.linalg.norm(end - head)
    return (middle - head) - way * ((middle - head) @ way), head, way


@pytest.mark.parametrize("use_flip_bend", [False, True])
@pytest.mark.parametrize("place", [(1.0, 3.0, 1.0), (0.5, -3.0, 0.5), (0.8, 0.5, 4.0)])
def test_limbs_bend_to_their_poles(place, use_flip_bend):
    rig = tree_rigs.make_y()
    rig.follow()
    rig.target("Left").location = (0.5, 0.2, 1.3)
    rig.chain("Left").use_flip_bend = use_flip_bend
    rig.chain("Left").pole_target = rigs.make_empty("Pole", place)
    rig.assert_reached()
    side, head, way = bulge(rig.ob, "Left.0", "Left.1")
    wanted = np.array(place) - head
    wanted -= way * (wanted @ way)
    if use_flip_bend:
        wanted = -wanted
    cosine = side @ wanted / np.linalg.norm(side) / np.linalg.norm(wanted)
    assert np.arccos(np.clip(cosine, -1, 1)) <= 1e-3


@pytest.mark.parametrize("use_tail", [True, False])
def test_tips_take_the_rotation_of_their_targets(use_tail):
    rig = tree_rigs.make_body()
    settings = {"use_rotation": True, "use_tail": use_tail}
    rig.follow(**settings)
    for name, tip in rig.tips.items():
        place = rigs.tail(rig.ob, tip) if use_tail else rigs.head(rig.ob, tip)
        rig.target(name).location = np.add(place, (-0.15 * np.sign(place[0]), -0.1, 0.1))
        rig.target(name).rotation_euler = (0.4, -0.3, 0.6 if name == "Arm.L" else -2.0)
    rigs.updated()
    for name, tip in rig.tips.items():
        end = rigs.tail(rig.ob, tip) if use_tail else rigs.head(rig.ob, tip)
        assert np.linalg.norm(end - rigs.position(rig.target(name))) <= 2e-6
        posed = np.array(rigs.evaluated(rig.ob).pose.bones[tip].matrix)[:3, :3]
        wanted = rigs.world_matrix(rig.target(name))[:3, :3]
        np.testing.assert_allclose(posed, wanted, atol=1e-5)


def test_a_wrist_that_takes_rotation_and_fingers_that_go_on_from_it_agree():
    rig = tree_rigs.make_hand()
    rig.follow()
    place = np.array((0.1, 0.9, 0.3))
    place *= rig.ob.data.bones["Wrist.0"].length / np.linalg.norm(place)
    target = rigs.make_empty("Wrist", place)
    target.rotation_euler = (0.2, 0.1, 0.3)
    wrist = rigs.add_chain(
        rig.ob, "Wrist.1", target, name="Wrist", use_tail=False, use_rotation=True, tolerance=1e-7
    )
    rigs.updated()
    matrix = rigs.world_matrix(target)
    for name, tip in rig.tips.items():
        # Where a hand so turned carries its fingers, a little bent.
        rest = np.linalg.solve(
            np.array(rig.ob.data.bones["Wrist.1"].matrix_local),
            np.append(rig.ob.data.bones[tip].tail_local, 1.0),
        )
        rig.target(name).location = (matrix @ rest)[:3] + np.array((0.0, -0.03, -0.05))
    rig.assert_reached(2e-6)
    assert np.linalg.norm(rigs.head(rig.ob, "Wrist.1") - rigs.position(target)) <= 3e-6
    assert wrist.status.startswith("Reached"), wrist.status
    posed = np.array(rigs.evaluated(rig.ob).pose.bones["Wrist.1"].matrix)[:3, :3]
    np.testing.assert_allclose(posed, rigs.world_matrix(target)[:3, :3], atol=1e-4)


def test_locked_rotation_channels_stay_and_are_named():
    rig = tree_rigs.make_y(modes="XYZ")
    rig.follow()
    rig.ob.pose.bones["Trunk.1"].lock_rotation = (True, True, True)
    rig.place(3)
    rigs.updated()
    assert tuple(rig.ob.pose.bones["Trunk.1"].rotation_euler) == (0.0, 0.0, 0.0)
    assert "locked rotation channels" in rig.chain("Left").status


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_influence_goes_part_of_the_way_and_own_bones_of_a_faded_chain_stay(share):
    rig = tree_rigs.make_y()
    rig.follow()
    rig.chain("Left").influence = share
    rig.place(2)
    rigs.updated()
    assert rig.gaps()["Right"] <= 2e-6
    own = jointed_rigs.local(rig.ob, "Left.0")
    rig.chain("Left").influence = 1.0
    rigs.updated()
    full = jointed_rigs.local(rig.ob, "Left.0")
    if share == 0.0:
        np.testing.assert_allclose(own, np.eye(3), atol=1e-6)
    else:
        assert 0.0 < np.linalg.norm(own - np.eye(3)) < np.linalg.norm(full - np.eye(3))


def test_a_chain_without_influence_leaves_the_tree_as_a_muted_one_does():
    rig = tree_rigs.make_y()
    rig.follow()
    rig.target("Right").location = (-0.6, 0.3, 1.0)
    rig.target("Left").location = (2.0, 0.0, 0.5)
    rig.chain("Left").influence = 0.0
    rigs.updated()
    assert rig.gaps()["Right"] <= 2e-6
    rig.ob.pose.bones["Left.1"].rotation_quaternion = turned = (0.8, 0.6, 0.0, 0.0)
    rigs.updated()
    assert rig.ob.pose.bones["Left.1"].rotation_quaternion[:] == pytest.approx(turned)
    faded = rigs.pose(rig.ob)
    rig.chain("Left").mute = True
    rigs.updated()
    np.testing.assert_array_equal(rigs.pose(rig.ob), faded)


def test_a_limb_turned_to_its_pole_keeps_its_hinge():
    rig = tree_rigs.make_y()
    rig.follow()
    rig.target("Left").location = (0.5, 0.2, 1.3)
    pole = rigs.make_empty("Pole")
    rig.chain("Left").pole_target = pole
    sides = []
    for place in ((0.5, -3.0, 1.2), (0.5, 0.0, 4.0), (0.5, 3.0, 1.2)):
        pole.location = place
        rig.assert_reached()
        side = bulge(rig.ob, "Left.0", "Left.1")[0]
        upper = np.array(rigs.evaluated(rig.ob).pose.bones["Left.0"].matrix)[:3, :3]
        own = upper.T @ side
        sides.append(own / np.linalg.norm(own))
    for side in sides[1:]:
        assert np.arccos(np.clip(side @ sides[0], -1, 1)) < 0.3


def test_a_limb_that_is_no_part_of_the_tree_follows_on_the_moved_tree():
    rig = tree_rigs.make_y()
    rigs.add_bones(rig.ob, np.add(tree_rigs.LEFT, (0.8, 0.0, 0.4)), prefix="Far", parent="Left.1")
    target = rigs.make_empty("Far Target", (1.4, 0.2, 1.6))
    rigs.add_chain(rig.ob, "Far.1", target, name="Far", chain_count=2, solver="TWO_BONE")
    rig.follow()
    rig.place(1, angle=0.3)
    rig.assert_reached()
    target.location = np.add(rigs.head(rig.ob, "Far.0"), (0.3, 0.2, 0.5))
    rig.place(2, angle=0.3)
    rig.assert_reached()
    scaled_rigs.update()
    assert rig.ob.chain_ik.chains["Far"].status.startswith(("Reached", "Out of reach"))
    if rig.ob.chain_ik.chains["Far"].status.startswith("Reached"):
        rigs.assert_reaches(rig.ob, "Far.1", target)


@pytest.mark.parametrize("place", [(0.5, 2.0, 1.0), (0.5, -2.0, 1.2)])
def test_an_arm_bends_to_its_pole_also_where_fingers_go_on_from_its_hand(place):
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
    rest = rig.ob.data.bones["Arm.L.3"].matrix_local
    tail = np.linalg.solve(np.array(rest), (*fingers[-1], 1.0))
    rigs.updated()
    rig.target("Finger").location = np.add((rigs.world_matrix(hand) @ tail)[:3], (0, 0, 0.002))
    rig.assert_reached(3e-6)
    assert chain.status.startswith("Reached"), chain.status
    head = rigs.head(rig.ob, "Arm.L.0")
    way = rigs.head(rig.ob, "Arm.L.3") - head
    way /= np.linalg.norm(way)
    inner = [rigs.head(rig.ob, f"Arm.L.{i}") - head for i in (1, 2)]
    side, wanted = np.mean(inner, axis=0), np.array(place) - head
    side, wanted = (each - way * (each @ way) for each in (side, wanted))
    cosine = side @ wanted / np.linalg.norm(side) / np.linalg.norm(wanted)
    assert np.arccos(np.clip(cosine, -1, 1)) <= 1e-2
