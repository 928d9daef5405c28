"""Blender's IK constraints become chains, and chains constraints, without the pose moving."""

from __future__ import annotations

import re

import addon_utils
import bpy
import numpy as np
import pytest

from tests.blender.keying.converted_rigs import (
    CLOSE,
    Limb,
    assert_played,
    constrain,
    convert,
    ik_constraints,
    planar,
    played,
    settings_of,
    to_chains,
    to_constraints,
)
from tests.blender.setups import rigs, scaled_rigs
from tests.blender.setups.keyed_limbs import strip_of
from tests.blender.setups.selecting import press, select_bones
from tests.helpers import make_rng

SEEDS = range(8)
OTHER_BENDS = "the tip is the same, but the bends differ"
# Nearer to the line from root to target than this, a pole of ours gives no side, or a part of it.
OFF_THE_CHORD = np.radians(12.0)


def is_off_the_chord(limb: Limb) -> bool:
    """Tell whether a limb's pole tells its side clearly."""
    root = rigs.head(limb.ob, limb.bones[0])
    ways = [rigs.position(each) - root for each in (limb.target, limb.pole)]
    cosine = ways[0] @ ways[1] / np.prod(np.linalg.norm(ways, axis=1))
    return abs(cosine) < np.cos(OFF_THE_CHORD)


def places(limb: Limb, count: int = 4) -> list[np.ndarray]:
    """Return points in reach of a limb, none of them on the line to its pole."""
    rng, root, found = make_rng(7), rigs.head(limb.ob, limb.bones[0]), []
    while len(found) < count:
        way = rng.normal(size=3)
        way *= limb.length * rng.uniform(0.5, 0.9) / np.linalg.norm(way)
        limb.target.location = root + way
        scaled_rigs.update()
        if limb.pole is None or is_off_the_chord(limb):
            found.append(root + way)
    return found


def shown(limb: Limb, points: list[np.ndarray]) -> list[np.ndarray]:
    """Return the joints of a limb as they are shown for each place of its target."""
    found = []
    for point in points:
        limb.target.location = point
        scaled_rigs.update()
        found.append(limb.joints())
    return found


def assert_shown(limb: Limb, points: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for joints, wanted in zip(shown(limb, points), expected, strict=True):
        gap = np.linalg.norm(joints - wanted, axis=1).max() / limb.length
        assert gap <= CLOSE, f"joints {gap:.3g} of the length apart: {limb.ob.name}"


@pytest.mark.parametrize("seed", SEEDS)
def test_every_joint_of_two_bones_stays_where_the_constraint_has_it_wherever_the_target_is(seed):
    limb = Limb(seed)
    limb.constrain()
    points = places(limb)
    expected = shown(limb, points)
    to_chains(limb.ob, limb.bones[-1])
    assert not ik_constraints(limb.ob)
    assert limb.chain.solver == "TWO_BONE"
    assert_shown(limb, points, expected)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("use_flip_bend", [False, True])
def test_every_joint_of_two_bones_stays_where_the_chain_has_it_wherever_the_target_is(
    seed, use_flip_bend
):
    limb = Limb(seed)
    limb.add_chain(use_flip_bend=use_flip_bend)
    points = places(limb)
    expected = shown(limb, points)
    to_constraints(limb.ob)
    assert not limb.ob.chain_ik.chains
    assert_shown(limb, points, expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_two_bones_without_a_pole_stay_as_they_are(seed):
    limb = Limb(seed, use_pole=False)
    limb.constrain()
    before = limb.joints()
    to_chains(limb.ob, limb.bones[-1])
    assert limb.apart(before) <= CLOSE
    to_constraints(limb.ob)
    assert limb.apart(before) <= CLOSE


@pytest.mark.parametrize("use_pole", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_rotations_of_two_bones_stay_as_well(seed, use_pole):
    limb = Limb(seed, use_pole=use_pole)
    limb.constrain()
    before = rigs.pose(limb.ob)[:, :3, :3]
    to_chains(limb.ob, limb.bones[-1])
    np.testing.assert_allclose(rigs.pose(limb.ob)[:, :3, :3], before, atol=2e-3)


def told_gaps(text: str) -> list[tuple[float, float | None]]:
    """Return the greatest joint distance in metres of each such message, and that of the tip."""
    number = r"([\d.]+) m"
    found = re.findall(rf"(?:tip is {number} off.*?)?joints are up to {number} apart\.", text)
    return [(float(most), float(tip) if tip else None) for tip, most in found]


@pytest.mark.parametrize("direction", ["TO_CHAINS", "TO_CONSTRAINTS"])
@pytest.mark.parametrize("use_pole", [False, True])
@pytest.mark.parametrize("count", [3, 10])
def test_long_chains_keep_their_tip_and_tell_how_far_their_joints_are_apart(
    count, use_pole, direction, capfd
):
    limb = Limb(3, count, use_pole=use_pole)
    if direction == "TO_CHAINS":
        limb.constrain(name="Tail")
    else:
        limb.add_chain(name="Tail")
    before = limb.joints()
    capfd.readouterr()
    select_bones(limb.ob, [limb.bones[-1]])
    press(convert, direction=direction)
    text = capfd.readouterr().out
    gaps = np.linalg.norm(limb.joints() - before, axis=1)
    assert gaps[-1] <= CLOSE * limb.length
    assert f"Warning: Chain 'Tail' ({count} bones): {OTHER_BENDS}: joints are up to" in text
    ((most, tip),) = told_gaps(text)
    assert tip is None
    assert most == pytest.approx(gaps.max(), rel=0.06)


def test_where_the_constraint_stops_short_the_tip_is_told_as_well(capfd):
    # Straight on its own axis, where the constraint finds no way to bend.
    ob = rigs.make_rig([(0.0, 0.0, z) for z in range(4)])
    constrain(ob, "Bone.2", rigs.make_empty("Target", (0.0, 0.0, 1.5)), name="Leg")
    to_chains(ob, "Bone.2")
    text = capfd.readouterr().out
    assert "Warning: Chain 'Leg' (3 bones): the tip is 1.5 m off, joints are up to 1.5 m" in text


def test_a_muted_constraint_is_told_its_pole_angle_without_ever_being_solved():
    limb = Limb(2)
    limb.constrain()
    expected = limb.joints()
    limb.constraint.mute = True
    to_chains(limb.ob, limb.bones[-1])
    assert limb.chain.mute
    limb.chain.mute = False
    scaled_rigs.update()
    assert limb.apart(expected) <= CLOSE


@pytest.mark.parametrize("influence", [0.0, 0.4])
def test_with_a_pole_part_of_the_influence_is_the_same_part(influence):
    limb = Limb(4)
    limb.constrain(influence=influence)
    before = limb.joints()
    to_chains(limb.ob, limb.bones[-1])
    assert limb.apart(before) <= CLOSE


SCALES = [(-1.0, 1.0, 1.0), (-1.0, -1.0, -1.0), (2.0, 2.0, 2.0), (0.5, 1.0, 2.0)]


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_the_objects_scale_makes_no_difference(scale):
    limb = Limb(3)
    limb.ob.scale = scale
    scaled_rigs.update()
    limb.constrain()
    before = limb.joints()
    to_chains(limb.ob, limb.bones[-1])
    assert limb.apart(before) <= CLOSE
    to_constraints(limb.ob)
    assert limb.apart(before) <= CLOSE


def make_knee(limb: Limb) -> None:
    """Make the second bone a hinge across the bend, with a range."""
    rigs.enter(limb.ob, "EDIT")
    upper, lower = (limb.ob.data.edit_bones[name] for name in limb.bones)
    across = upper.vector.cross(lower.vector)
    for bone in (upper, lower):
        bone.align_roll(bone.vector.cross(across))
    bpy.ops.object.mode_set(mode="OBJECT")
    knee = limb.ob.pose.bones[limb.bones[1]]
    knee.rotation_mode, knee.rotation_euler = "XYZ", (0.2, 0.0, 0.0)
    knee.lock_ik_y = knee.lock_ik_z = knee.use_ik_limit_x = True
    knee.ik_min_x, knee.ik_max_x = -2.9, 2.9
    scaled_rigs.update()


@pytest.mark.parametrize("seed", SEEDS)
def test_knees_with_locks_and_limits_stay_where_they_are(seed):
    limb = Limb(seed)
    make_knee(limb)
    limb.constrain()
    points = places(limb, 2)
    expected = shown(limb, points)
    to_chains(limb.ob, limb.bones[-1])
    assert limb.chain.use_limits
    assert_shown(limb, points, expected)


@pytest.mark.parametrize("use_rotation", [False, True])
def test_a_constraint_without_its_tip_ends_where_it_did_and_turns_the_bone_that_it_turned(
    use_rotation,
):
    limb = Limb(1, 4, use_pole=False)
    for bone in limb.bones[-1:]:
        limb.ob.pose.bones[bone].rotation_mode = "QUATERNION"
    limb.target.matrix_world = (
        scaled_rigs.world_of(limb.ob) @ rigs.evaluated(limb.ob).pose.bones[limb.bones[-2]].matrix
    )
    limb.target.location = rigs.tail(limb.ob, limb.bones[-2]) + 0.05
    scaled_rigs.update()
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
        np.testing.assert_allclose(rigs.pose(limb.ob)[3, :3, :3], turned, atol=5e-3)


def test_a_constraint_without_its_tip_on_a_bone_off_its_parent_ends_at_the_parent():
    ob = rigs.make_rig()
    rigs.add_bones(ob, [(0.0, 0.5, 2.5), (0.0, 0.5, 3.0)], prefix="Hand", parent="Bone.1")
    target = rigs.make_empty()
    constrain(ob, "Hand.0", target, use_tail=False)
    scaled_rigs.update()
    assert scaled_rigs.miss(ob, ["Bone.0", "Bone.1"], target) <= CLOSE
    to_chains(ob, "Hand.0")
    assert ob.chain_ik.chains[0].bone == "Bone.1"
    rigs.assert_reaches(ob, "Bone.1", target)


def test_targets_and_poles_that_are_bones_go_along():
    ob = rigs.make_rig()
    for name, place in (("Goal", (0.6, 0.5, 1.2)), ("Aim", (2.0, -1.0, 1.0))):
        rigs.add_bones(ob, [place, np.add(place, (0.0, 0.0, 0.3))], prefix=name)
    constraint = constrain(ob, "Bone.1", ob, ob, subtarget="Goal.0", pole_subtarget="Aim.0")
    constraint.chain_count = 2
    scaled_rigs.update()
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


def test_arms_on_one_spine_become_one_tree_and_both_arrive(capfd):
    ob = rigs.make_rig(rigs.zigzag(2))
    targets = []
    for i, side in enumerate((-1.0, 1.0)):
        start = np.array(ob.data.bones["Bone.1"].tail_local)
        joints = start + np.cumsum([(0, 0, 0), (side * 0.7, 0.1, 0.4), (side * 0.7, -0.1, 0.4)], 0)
        arm = rigs.add_bones(ob, joints, prefix=f"Arm{i}", parent="Bone.1")
        targets.append(rigs.make_empty(f"T{i}", joints[-1] + (0.1, 0.3, -0.2)))
        constrain(ob, arm[-1], targets[-1], weight=0.5)
    scaled_rigs.update()
    to_chains(ob)
    chains = ob.chain_ik.chains
    assert [chain.solver for chain in chains] == ["NEWTON", "NEWTON"]
    assert [chain.name for chain in chains] == ["IK", "IK.001"]
    assert [chain.weight for chain in chains] == [0.5, 0.5]
    for i, target in enumerate(targets):
        rigs.assert_reaches(ob, f"Arm{i}.1", target)
    assert capfd.readouterr().out.count(OTHER_BENDS) == 2


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


LIMBS = {
    "arm": ("upper_arm", "forearm", (0.3, 1.5, 1.2)),
    "leg": ("thigh", "shin", (0.1, -3.0, 0.5)),
}


@pytest.fixture
def human():
    """Rigify's human with a constraint on each limb and on the spine."""
    addon_utils.enable("rigify", default_set=True)
    bpy.ops.object.armature_human_metarig_add()
    ob = bpy.context.object
    rng = make_rng(3)
    for kind, (_, lower, pole) in LIMBS.items():
        for side in "LR":
            tip = f"{lower}.{side}"
            goal = rigs.make_empty(f"{kind}.{side} goal")
            goal.location = rigs.tail(ob, tip) + rng.uniform(-0.1, 0.1, 3) + (0.0, 0.0, 0.05)
            aim = rigs.make_empty(f"{kind}.{side} aim", pole)
            constrain(ob, tip, goal, aim, chain_count=2, name=f"{kind}.{side}", pole_angle=0.3)
    goal = rigs.make_empty("spine goal", np.add(rigs.tail(ob, "spine.003"), (0.05, 0.02, -0.03)))
    constrain(ob, "spine.003", goal, chain_count=4, name="spine")
    scaled_rigs.update()
    yield ob
    addon_utils.disable("rigify", default_set=True)


def limb_joints(ob: bpy.types.Object, kind: str, side: str) -> np.ndarray:
    upper, lower, _ = LIMBS[kind]
    names = (f"{upper}.{side}", f"{lower}.{side}")
    return np.array([*(rigs.head(ob, name) for name in names), rigs.tail(ob, names[1])])


def test_rigifys_human_keeps_its_pose_there_and_back(human, capfd):
    limbs = [(kind, side) for kind in LIMBS for side in "LR"]
    before = [limb_joints(human, *limb) for limb in limbs]
    spine = rigs.tail(human, "spine.003")
    settings = {each.name: settings_of(each) for each in ik_constraints(human)}
    assert len(settings) == 5

    def assert_there() -> None:
        scaled_rigs.update()
        # Arms hang on the spine, whose tip stays while its bends may not: seen from the shoulder.
        for limb, wanted in zip(limbs, before, strict=True):
            now = limb_joints(human, *limb)
            length = np.linalg.norm(np.diff(wanted, axis=0), axis=1).sum()
            moved = np.linalg.norm(now[0] - wanted[0])
            assert np.linalg.norm(now - wanted, axis=1).max() <= CLOSE * length + 2.0 * moved
        np.testing.assert_allclose(rigs.tail(human, "spine.003"), spine, atol=CLOSE)

    to_chains(human)
    assert not ik_constraints(human)
    assert {chain.name for chain in human.chain_ik.chains} == settings.keys()
    assert_there()
    assert f"(4 bones): {OTHER_BENDS}" in capfd.readouterr().out
    to_constraints(human)
    assert_there()
    assert {each.name: settings_of(each) for each in ik_constraints(human)} == settings


def test_keyed_bones_start_from_their_keys_and_two_without_a_pole_tell_how_far_they_are_apart(
    capfd,
):
    limb = Limb(3, use_pole=False)
    limb.constrain(name="Arm")
    rigs.key_bones(limb.ob)
    rigs.go_to(4)
    before = limb.joints()
    to_chains(limb.ob, limb.bones[-1])
    gap = np.linalg.norm(limb.joints() - before, axis=1).max()
    assert gap > CLOSE * limb.length
    assert f"Chain 'Arm' (2 bones): {OTHER_BENDS}" in capfd.readouterr().out


def test_bones_with_a_pole_play_the_same_over_their_keys():
    limb = planar()
    limb.constrain(pole_angle=0.0)
    for frame, angle in ((1, 0.1), (20, 0.5)):
        for bone in limb.bones:
            posed = limb.ob.pose.bones[bone]
            posed.rotation_mode = "XYZ"
            posed.rotation_euler = (0.0, 0.0, angle if bone == limb.bones[-1] else 0.0)
            posed.keyframe_insert("rotation_euler", frame=frame)
    strip_of(limb.ob)
    expected = played(limb)
    rigs.go_to(1)
    to_chains(limb.ob, limb.bones[-1])
    assert_played(limb, expected)
