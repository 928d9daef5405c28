"""Joints that Blender's own limits cannot hold: ranges without rest, cones, ranges from a bone."""

import bpy
import numpy as np
import pytest

from tests.blender.setups import jointed_rigs, rigs
from tests.blender.setups.jointed_rigs import READ_BACK, any_turn, give, tails_at, turn

pytestmark = pytest.mark.slow

STRAIGHT = ((0.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, 1.9))
BENT = (
    (0.0, 0.0, 0.0),
    (0.0, 0.0, 1.0),
    (0.0, -np.sin(np.radians(40)), 1 + np.cos(np.radians(40))),
)
"""A rest pose whose second bone stands 40 degrees off the first."""
SOLVERS = ("TWO_BONE", "FABRIK", "CCD", "NEWTON")
# Ranges on both sides of zero, narrow and wide, and across the half turn.
RANGES = ((10, 90), (-90, -10), (60, 150), (-150, -60), (-35, 70), (100, 260), (-250, -110))


def make_limb(joints=STRAIGHT, **bones):
    return rigs.make_rig(joints, **bones), rigs.make_empty()


def follow(ob, target, tip="Bone.1", **settings):
    return rigs.add_chain(ob, tip, target, **{"solver": "NEWTON", **settings})


def move(target, location) -> None:
    rigs.change(target, location=location)


def assert_within(angle: float, least: float, greatest: float) -> None:
    """Check an angle in radians against a range in degrees, on the circle."""
    middle = np.radians(0.5 * (least + greatest))
    off = (angle - middle + np.pi) % (2.0 * np.pi) - np.pi
    assert abs(off) <= np.radians(0.5 * (greatest - least)) + READ_BACK, np.degrees(angle)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("axis", ["x", "z"])
@pytest.mark.parametrize("limits", RANGES)
def test_a_hinge_keeps_to_its_range_and_reaches_all_that_it_allows(limits, axis, solver):
    ob, target = make_limb()
    chain = follow(ob, target, solver=solver)
    give(chain, "Bone.1", f"HINGE_{axis.upper()}", **{axis: limits})
    for seed, share in enumerate((0.03, 0.3, 0.5, 0.8, 0.97)):
        angle = np.radians(limits[0] + share * (limits[1] - limits[0]))
        move(target, tails_at(ob, [any_turn(seed), turn(axis, angle)], "Bone.1")[0])
        rigs.assert_reaches(ob, "Bone.1", target)
        assert_within(jointed_rigs.about(jointed_rigs.local(ob, "Bone.1"), axis), *limits)


@pytest.mark.parametrize("limits", [(10, 90), (-90, -10)])
def test_a_bone_at_rest_outside_its_range_goes_to_the_end_that_is_nearest(limits):
    ob, target = make_limb()
    chain = follow(ob, target)
    # Ranges that do not count for the kind are not looked at.
    give(chain, "Bone.1", "HINGE_X", x=limits, y=(40, 30), z=(5, 2))
    move(target, (0.0, 0.0, 5.0))
    angle = jointed_rigs.about(jointed_rigs.local(ob, "Bone.1"), "x")
    assert angle == pytest.approx(np.radians(min(limits, key=abs)), abs=READ_BACK)
    assert "Bone.1 X" in chain.status, chain.status


def test_a_cone_opens_as_far_to_one_side_as_to_another():
    """Where Blender's ranges of two axes make an ellipse, those of a cone are one angle."""
    ob, target = make_limb()
    chain = follow(ob, target, chain_count=1)
    give(chain, "Bone.1", "CONE", cone=35)
    for side in np.linspace(0.0, 2.0 * np.pi, 9)[:-1]:
        move(target, (3.0 * np.cos(side), 3.0 * np.sin(side), 1.0))
        held = jointed_rigs.local(ob, "Bone.1")
        assert jointed_rigs.swing(held) == pytest.approx(np.radians(35.0), abs=READ_BACK)
        along = rigs.tail(ob, "Bone.1")[:2]
        assert np.arctan2(*along[::-1]) % (2 * np.pi) == pytest.approx(side, abs=1e-3)


def knee(ob) -> float:
    """Return the angle from thigh to shin about the shin's own X axis, in radians."""
    posed = rigs.evaluated(ob).pose.bones["Bone.1"]
    along, from_thigh = np.array(posed.y_axis), np.array(posed.parent.y_axis)
    return float(
        np.arctan2(np.cross(from_thigh, along) @ np.array(posed.x_axis), along @ from_thigh)
    )


@pytest.mark.parametrize("relative_to", ["PARENT", "CHILD"])
@pytest.mark.parametrize("roll", [0.0, np.pi])
def test_a_knee_bent_at_rest_counts_from_straight(roll, relative_to):
    ob, target = make_limb(BENT, rolls=[roll, roll])
    bpy.context.view_layer.update()
    assert abs(knee(ob)) == pytest.approx(np.radians(40.0), abs=1e-6)
    limits = (0, 150) if knee(ob) > 0.0 else (-150, 0)
    chain = follow(ob, target)
    bone = "Bone.1" if relative_to == "PARENT" else "Bone.0"
    give(chain, bone, "HINGE_X", x=limits, relative_to=relative_to)
    for distance in (1.9999, 1.9, 1.3, 0.6, 2 * np.cos(np.radians(74.9))):
        move(target, turn((1, 1, 0), 0.3) @ (0.0, 0.0, distance))
        rigs.assert_reaches(ob, "Bone.1", target)
        assert abs(jointed_rigs.local(ob, "Bone.1")[0, 0] - 1.0) < READ_BACK, "a hinge"
        assert_within(knee(ob), *limits)
    move(target, (0.0, 0.0, 3.0))
    assert knee(ob) == pytest.approx(0.0, abs=1e-5), "straight, as far as the tip can tell"
    assert_within(knee(ob), *limits)
    move(target, (0.0, 0.0, 0.1))
    assert abs(knee(ob)) == pytest.approx(np.radians(150.0), abs=READ_BACK)


@pytest.mark.parametrize("scale", [(-1.0, 1.0, 1.0), (0.5, 2.0, 1.3), (100.0, 100.0, 100.0)])
def test_joints_hold_on_scaled_and_mirrored_objects(scale):
    ob, target = make_limb(BENT)
    ob.scale = scale
    chain = follow(ob, target, tolerance=1e-5 * max(scale))
    give(chain, "Bone.1", "HINGE_X", x=(-150, -10), relative_to="PARENT")
    shin = turn("x", np.radians(-70.0))
    for seed in range(4):
        move(target, scale * tails_at(ob, [any_turn(seed), shin], "Bone.1")[0])
        assert chain.status.startswith("Reached"), chain.status
        assert_within(knee(ob), -150, -10)


def test_an_own_joint_counts_instead_of_the_limits_locks_and_stiffness_of_its_bone():
    ob, target = make_limb()
    bone = ob.pose.bones["Bone.1"]
    bone.lock_ik_y = bone.lock_ik_z = bone.use_ik_limit_x = True
    bone.ik_min_x, bone.ik_max_x, bone.ik_stiffness_x = 0.0, 0.2, 0.9
    chain = follow(ob, target)
    move(target, (0.3, 0.2, 0.9))
    assert "Bone.1 X" in chain.status, chain.status
    give(chain, "Bone.1", "BALL")
    bpy.context.view_layer.update()
    rigs.assert_reaches(ob, "Bone.1", target)
    chain.joints.remove(0)
    rigs.tagged(ob)
    assert "Bone.1 X" in chain.status, chain.status
    give(chain, "Bone.1", "FIXED")
    rigs.change(chain, use_limits=False)
    rigs.assert_reaches(ob, "Bone.1", target)


def test_a_stiff_joint_turns_less_and_just_as_a_stiff_bone_does():
    turned, poses = [], []
    for name, own, stiffness in (("Free", 0, 0), ("Own", 0.9, 0), ("Bone's", 0, 0.9)):
        ob, target = make_limb(rigs.zigzag(3), name=name)
        for axis in "xyz":
            setattr(ob.pose.bones["Bone.1"], f"ik_stiffness_{axis}", stiffness)
        chain = follow(ob, target, "Bone.2")
        if own:
            give(chain, "Bone.1", "BALL", **{f"stiffness_{axis}": own for axis in "xyz"})
        move(target, (0.9, 0.4, 1.6))
        rigs.assert_reaches(ob, "Bone.2", target)
        turned.append(jointed_rigs.swing(jointed_rigs.local(ob, "Bone.1")))
        poses.append(rigs.pose(ob))
    assert turned[1] < 0.5 * turned[0]
    np.testing.assert_array_equal(poses[1], poses[2])


@pytest.mark.parametrize("influence", [1e-6, 0.3])
def test_influence_stays_inside_a_range_that_leaves_out_rest(influence):
    ob, target = make_limb(BENT)
    chain = follow(ob, target, influence=influence)
    sign = 1 if knee(ob) > 0.0 else -1
    limits = sorted((60 * sign, 90 * sign))
    give(chain, "Bone.1", "HINGE_X", x=limits, relative_to="PARENT")
    move(target, (0.4, 0.3, 1.2))
    assert_within(knee(ob), *limits)


@pytest.mark.parametrize("relative_to", ["REST", "PARENT"])
def test_a_tip_beyond_the_effector_turns_as_far_as_its_cone_lets_it(relative_to):
    ob, target = make_limb(np.vstack((BENT, (0.5, -1.2, 2.4))))
    target.rotation_euler = (1.5, 0.4, 2.0)
    chain = follow(ob, target, "Bone.2", use_rotation=True, use_tail=False)
    give(chain, "Bone.2", "CONE", cone=25, y=(-10, 10), relative_to=relative_to)
    for location in ((0.5, 0.6, 0.9), (0.2, -0.9, 0.8)):
        move(target, location)
        np.testing.assert_allclose(rigs.head(ob, "Bone.2"), location, atol=rigs.REACHED)
        if relative_to == "PARENT":
            swung = jointed_rigs.bend_from_parent(ob, "Bone.2")
        else:
            swung = jointed_rigs.swing(jointed_rigs.local(ob, "Bone.2"))
        assert swung == pytest.approx(np.radians(25.0), abs=READ_BACK)
        assert chain.status.endswith(", as its own joint holds it"), chain.status
    rigs.change(chain, use_tail=True)
    rigs.assert_reaches(ob, "Bone.2", target)
    assert "degrees off the target's, as position and joints come first" in chain.status


def test_a_joint_of_a_bone_outside_the_chain_waits_and_the_status_tells():
    ob, target = make_limb(rigs.zigzag(3))
    rigs.add_bones(ob, np.add(rigs.ARM, (2.0, 0.0, 0.0)), prefix="Other")
    chain = follow(ob, target, "Bone.2")
    for bone in ("Bone.0", "Other.0"):
        give(chain, bone, "FIXED")
    rigs.change(chain, chain_count=2)
    assert "have no effect: Bone.0, Other.0" in chain.status
    chain.joints.remove(1)
    chain.chain_count = 3
    move(target, (0.5, 0.3, 1.4))
    assert "no effect" not in chain.status
    assert jointed_rigs.swing(jointed_rigs.local(ob, "Bone.0")) < 1e-6, "it counts again"
