"""Blender's IK constraints become chains and back: poses stay, lost settings are reported."""

import re

import bpy
import numpy as np
import pytest

from tests.blender.keying.converted_rigs import (
    CLOSE,
    FRAMES,
    Limb,
    assert_played,
    constrain,
    ik_constraints,
    played,
    roll_across,
    settings_of,
    to_chains,
    to_constraints,
    two_limbs,
)
from tests.blender.setups import rigs, scaled_rigs
from tests.helpers import make_rng

OTHER_BENDS = "the tip is the same, but the bends differ"


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", ["constraint", "knee", "chain", "flipped chain"])
def test_every_joint_of_two_bones_stays_where_it_is_wherever_the_target_is(seed, kind):
    limb = Limb(seed)
    if kind == "knee":
        # The second bone is a hinge across the bend, with limits.
        roll_across(limb, lambda bone, across: bone.vector.cross(across))
        knee = limb.ob.pose.bones[limb.bones[1]]
        knee.rotation_mode, knee.rotation_euler = "XYZ", (0.2, 0.0, 0.0)
        knee.lock_ik_y = knee.lock_ik_z = knee.use_ik_limit_x = True
        rigs.change(knee, ik_min_x=-2.9, ik_max_x=2.9)
    if is_chain := "chain" in kind:
        limb.add_chain(use_flip_bend=kind == "flipped chain")
    else:
        limb.constrain()
    rng, root = make_rng(7), rigs.head(limb.ob, limb.bones[0])
    points = rng.normal(size=(4, 3))
    points *= limb.length * rng.uniform(0.5, 0.9, (4, 1)) / np.linalg.norm(points, axis=1)[:, None]
    frames = (FRAMES[0], FRAMES[2], FRAMES[3], FRAMES[4])
    rigs.key(limb.target, "location", dict(zip(frames, points + root, strict=True)))
    expected = played(limb)
    turned = rigs.pose(limb.ob)[:, :3, :3]
    (to_constraints if is_chain else to_chains)(limb.ob)
    assert len(ik_constraints(limb.ob)) == is_chain != len(limb.ob.chain_ik.chains)
    if not is_chain:
        assert limb.chain.solver == "TWO_BONE"
        assert limb.chain.use_limits
        if kind == "constraint":
            # A straight knee may bend to either side with the same joints.
            np.testing.assert_allclose(rigs.pose(limb.ob)[:, :3, :3], turned, atol=2e-5)
    assert_played(limb, expected)


@pytest.mark.parametrize(
    ("count", "use_pole", "direction"),
    [
        (3, True, "TO_CHAINS"),
        (10, False, "TO_CHAINS"),
        (3, False, "TO_CONSTRAINTS"),
        (10, True, "TO_CONSTRAINTS"),
    ],
)
def test_long_chains_keep_their_tip_and_tell_how_far_their_joints_are_apart(
    count, use_pole, direction, capfd
):
    limb = Limb(3, count, use_pole=use_pole)
    limb.add(direction, name="Tail")
    before = limb.joints()
    capfd.readouterr()
    limb.convert(direction)
    text = capfd.readouterr().out
    gaps = np.linalg.norm(limb.joints() - before, axis=1)
    assert gaps[-1] <= CLOSE * limb.length
    assert f"Warning: Chain 'Tail' ({count} bones): {OTHER_BENDS}: joints are up to" in text
    (most,) = re.findall(r"joints are up to ([\d.]+) m apart\.", text)
    assert float(most) == pytest.approx(gaps.max(), rel=0.06)


def test_where_the_constraint_stops_short_the_tip_is_told_as_well(capfd):
    # The target lies on the axis of the straight chain, so the constraint finds no bend.
    ob = rigs.make_rig([(0.0, 0.0, z) for z in range(4)])
    constrain(ob, "Bone.2", rigs.make_empty("Target", (0.0, 0.0, 1.5)), name="Leg")
    to_chains(ob, "Bone.2")
    text = capfd.readouterr().out
    assert "Warning: Chain 'Leg' (3 bones): the tip is 1.5 m off, joints are up to 1.5 m" in text


@pytest.mark.parametrize("uses_4d_locks", [False, True])
@pytest.mark.parametrize("mode", ["QUATERNION", "AXIS_ANGLE", "ZXY"])
def test_locked_rotations_that_the_constraint_turned_are_unlocked(mode, uses_4d_locks, capfd):
    limb = Limb(3, use_pole=False)
    above = limb.ob.pose.bones[limb.bones[0]].parent
    for bone in (above, *(limb.ob.pose.bones[name] for name in limb.bones)):
        rigs.change(bone, rotation_mode=mode, lock_rotation=(True,) * 3, lock_rotation_w=True)
        rigs.change(bone, lock_rotations_4d=uses_4d_locks)
    limb.constrain()
    before = limb.joints()
    to_chains(limb.ob)
    assert "Warning: Unlocked the rotation of 2 bones, because" in capfd.readouterr().out
    assert limb.max_gap(before) <= CLOSE
    rigs.change(limb.target, location=rigs.head(limb.ob, limb.bones[0]) + 0.3 * limb.length)
    assert scaled_rigs.miss(limb.ob, limb.bones, limb.target) <= CLOSE
    assert all(above.lock_rotation), "a bone that the chain does not turn was unlocked"


def test_a_muted_constraint_gives_its_chain_the_pole_angle_without_being_solved():
    limb = Limb(2)
    limb.constrain()
    expected = limb.joints()
    limb.constraint.mute = True
    to_chains(limb.ob, limb.bones[-1])
    assert limb.chain.mute
    rigs.change(limb.chain, mute=False)
    assert limb.max_gap(expected) <= CLOSE


@pytest.mark.parametrize(
    ("scale", "influence"),
    [(1.0, 0.0), (1.0, 0.4), ((-1.0, 1.0, 1.0), 1.0), (-2.0, 1.0), ((0.5, 1.0, 2.0), 1.0)],
    ids=str,
)
def test_with_a_pole_the_objects_scale_and_a_part_of_the_influence_make_no_difference(
    scale, influence
):
    limb = Limb(3)
    rigs.change(limb.ob, scale=scale if isinstance(scale, tuple) else (scale,) * 3)
    limb.constrain(influence=influence)
    before = limb.joints()
    for convert_limb in (to_chains, to_constraints):
        convert_limb(limb.ob)
        assert limb.max_gap(before) <= CLOSE


@pytest.mark.parametrize("use_rotation", [False, True])
def test_a_constraint_without_its_tip_ends_where_it_did_and_turns_the_bone_that_it_turned(
    use_rotation,
):
    limb = Limb(1, 4, use_pole=False)
    limb.ob.pose.bones[limb.bones[-1]].rotation_mode = "QUATERNION"
    posed = rigs.evaluated(limb.ob)
    limb.target.matrix_world = posed.matrix_world @ posed.pose.bones[limb.bones[-2]].matrix
    rigs.change(limb.target, location=rigs.tail(limb.ob, limb.bones[-2]) + 0.05)
    limb.constrain(use_tail=False, use_rotation=use_rotation, chain_count=3)
    end = rigs.tail(limb.ob, limb.bones[-2])
    turned = rigs.pose(limb.ob)[3, :3, :3]
    to_chains(limb.ob, limb.bones[-1])
    assert (limb.chain.bone, limb.chain.use_tail) == (
        (limb.bones[-2], True) if use_rotation else (limb.bones[-1], False)
    )
    gap = np.linalg.norm(rigs.tail(limb.ob, limb.bones[-2]) - end) / limb.length
    assert gap <= CLOSE
    if use_rotation:
        np.testing.assert_allclose(rigs.pose(limb.ob)[3, :3, :3], turned, atol=2e-5)


def test_targets_and_poles_that_are_bones_go_along():
    ob = rigs.make_rig()
    for name, place in (("Goal", (0.6, 0.5, 1.2)), ("Aim", (2.0, -1.0, 1.0))):
        rigs.add_bones(ob, [place, np.add(place, (0.0, 0.0, 0.3))], prefix=name)
    constraint = constrain(ob, "Bone.1", ob, ob, subtarget="Goal.0", pole_subtarget="Aim.0")
    rigs.change(constraint, chain_count=2)
    before = rigs.pose(ob)
    to_chains(ob, "Bone.1")
    chain = ob.chain_ik.chains[0]
    assert (chain.target, chain.subtarget) == (ob, "Goal.0")
    assert (chain.pole_target, chain.pole_subtarget) == (ob, "Aim.0")
    rigs.assert_same_pose(ob, before, 2e-3)
    to_constraints(ob)
    (constraint,) = ik_constraints(ob)
    assert (constraint.subtarget, constraint.pole_subtarget) == ("Goal.0", "Aim.0")
    rigs.assert_same_pose(ob, before, 2e-3)


@pytest.mark.parametrize("is_muted", [False, True])
def test_constraints_that_share_a_bone_become_one_tree_and_both_arrive(is_muted, capfd):
    ob = rigs.make_rig([(0, 0, 0), (0, -0.1, 1), (0.6, 0, 1.7)])
    rigs.add_bones(ob, [(0, -0.1, 1), (-0.6, 0, 1.7)], prefix="Other", parent="Bone.0")
    tips = {tip: rigs.make_empty(tip, rigs.tail(ob, tip)) for tip in ("Bone.1", "Other.0")}
    for tip, target in tips.items():
        mute = is_muted and tip == "Other.0"
        constrain(ob, tip, target, chain_count=2, weight=0.5, mute=mute)
    rigs.updated()
    to_chains(ob)
    chains = ob.chain_ik.chains
    assert [(chain.name, chain.weight) for chain in chains] == [("Bone.1", 0.5), ("Other.0", 0.5)]
    assert [chain.mute for chain in chains] == [False, is_muted]
    # A muted one takes a solver that can share bones once it is unmuted.
    assert chains[1].solver == "NEWTON"
    for chain in chains:
        chain.mute, chain.solver = False, "NEWTON" if is_muted else chain.solver
    for tip, target in tips.items():
        rigs.assert_reaches(ob, tip, target)


def test_bones_that_may_grow_go_on_growing():
    limb = Limb(2, reach=(1.2, 1.3))
    for bone in limb.bones:
        limb.ob.pose.bones[bone].ik_stretch = 0.5
    limb.constrain()
    assert scaled_rigs.miss(limb.ob, limb.bones, limb.target) <= CLOSE
    to_chains(limb.ob, limb.bones[-1])
    assert limb.chain.use_stretch
    assert scaled_rigs.miss(limb.ob, limb.bones, limb.target) <= CLOSE
    to_constraints(limb.ob)
    assert limb.constraint.use_stretch
    assert scaled_rigs.miss(limb.ob, limb.bones, limb.target) <= CLOSE


ROUND_TRIPS: tuple[dict[str, object], ...] = (
    {"name": 'Arm "left"', "pole_angle": 0.0},
    {"mute": True, "chain_count": 0},
    {"influence": 0.375, "use_tail": False},
    {"use_rotation": True, "orient_weight": 0.25, "weight": 0.5, "iterations": 20},
    {"use_rotation": True, "orient_weight": 0.01, "weight": 0.01},
    {"pole_angle": np.pi},
)


@pytest.mark.parametrize("use_pole", [False, True])
@pytest.mark.parametrize("settings", ROUND_TRIPS, ids=str)
def test_there_and_back_a_constraint_has_the_same_settings_again(settings, use_pole, capfd):
    limb = Limb(5, 2, use_pole=use_pole)
    turned = rigs.rotations(limb.ob)
    limb.constrain(**settings)
    # Without its tip, a constraint turns the parent; another bone then holds the constraint.
    before, joints = settings_of(limb.constraint), limb.joints()
    to_chains(limb.ob)
    assert "use_rotation" in settings or "use_tail" in settings or limb.max_gap(joints) <= CLOSE
    assert not ik_constraints(limb.ob)
    assert limb.chain.name == (limb.chain.bone if before["name"] == "IK" else before["name"])
    to_constraints(limb.ob)
    after = settings_of(limb.constraint)
    if settings.get("pole_angle") == np.pi:
        # A half turn one way is a half turn the other way.
        after["pole_angle"] = before["pole_angle"] = abs(after["pole_angle"])
    assert after == before
    assert limb.max_gap(joints) <= CLOSE
    if use_pole:
        # The rotation channels under the constraint are the ones from before.
        assert rigs.rotations(limb.ob) == turned
        assert ("Warning" in capfd.readouterr().out) == ("use_rotation" in settings)
    assert not limb.ob.chain_ik.chains


def test_the_chain_of_the_active_bone_is_the_active_chain_afterwards():
    ob = two_limbs()
    to_chains(ob)
    assert bpy.context.active_pose_bone.name == "Left.0"
    assert ob.chain_ik.chains[ob.chain_ik.active_index].name == "Left"


def test_what_has_no_counterpart_is_told_by_name(capfd):
    limb = Limb(3)
    limb.constrain(name="Arm", reference_axis="TARGET", lock_location_x=False)
    to_chains(limb.ob)
    text = "Warning: Chain 'Arm': a chain has no Axis Reference, no Lock X Pos; they were dropped."
    assert text in capfd.readouterr().out
    for settings, text in (
        ({"soft_distance": 0.1}, "no Soft Distance; it was dropped."),
        (
            {"solver": "FABRIK", "start_from": "REST", "tolerance": 0.01, "negative_scale": "KEEP"},
            "no Solver, no Tolerance, no Start From, no Negative Scale; they were dropped.",
        ),
        ({"use_stretch": True, "use_keep_volume": True}, "no Keep Volume; it was dropped."),
    ):
        rigs.change(limb.chain, **settings)
        to_constraints(limb.ob)
        assert f"Warning: Chain 'Arm': the constraint has {text}" in capfd.readouterr().out
        to_chains(limb.ob)


def test_while_live_is_off_it_says_that_chains_stand_still(capfd):
    limb = Limb(3)
    limb.constrain()
    bpy.context.scene.chain_ik.use_live = False
    before = limb.joints()
    to_chains(limb.ob)
    output = capfd.readouterr().out
    assert "Live is off, so chains stand still: switch it on." in output
    assert "apart" not in output
    rigs.change(bpy.context.scene.chain_ik, use_live=True)
    assert limb.max_gap(before) <= 1e-3
