"""The rotation of a target, and the meaning of ``negative_scale``.

The tip takes the rotation, or the hand below it. MIRROR: the pose is the mirror image, elbow
included. KEEP: the elbow goes where it would be without the negative scale, in world space.
"""

import numpy as np
import pytest
from mathutils import Euler, Vector

from tests.blender.setups import rigs, scaled_rigs
from tests.blender.setups.scaled_rigs import axes_of_bone, axes_of_object, turned_target
from tests.helpers import make_rng

MAX_MISS = 1e-6

every_solver = pytest.mark.parametrize("solver", rigs.SOLVERS)


def chain_to(ob, bones, target, **settings):
    settings = {"chain_count": len(bones), "tolerance": 1e-7, **settings}
    chain = rigs.add_chain(ob, bones[-1], target, **settings)
    rigs.updated()
    return chain


def turned_limb(use_tail, solver="NEWTON", scale=(1.0, 1.0, 1.0), seed=0):
    """Return a limb whose tip has its target's rotation, half way between root and old end."""
    count = 3 if solver == "TWO_BONE" else 5
    ob, bones = scaled_rigs.random_rig(make_rng(seed), count)
    rigs.change(ob, scale=scale)
    point = rigs.tail(ob, bones[-1]) * 0.5 + rigs.head(ob, bones[0]) * 0.5
    target = turned_target(point, seed)
    target.scale = (0.3, 0.3, 0.3)
    settings = {"use_rotation": True, "use_tail": use_tail, "solver": solver}
    chain = chain_to(ob, bones, target, chain_count=len(bones) - (not use_tail), **settings)
    gap = np.linalg.norm((rigs.tail if use_tail else rigs.head)(ob, bones[-1]) - point)
    assert gap <= 3.0 * MAX_MISS * scaled_rigs.limb_length(ob, bones), chain.status
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


@pytest.mark.parametrize("use_tail", [True, False])
def test_orient_weight_turns_the_tip_its_share_of_the_way(use_tail):
    ob = rigs.make_rig(rigs.zigzag(4))
    target = turned_target((1.0, 0.8, 1.5))
    settings = {"use_tail": use_tail, "chain_count": 0}
    chain = chain_to(ob, ["Bone.3"], target, **settings)
    end = (rigs.tail if use_tail else rigs.head)(ob, "Bone.3")
    np.testing.assert_allclose(end, rigs.position(target), atol=1e-6)
    assert use_tail or rigs.rotations(ob)["Bone.3"] == (1.0, 0.0, 0.0, 0.0)
    free, gaps = rigs.pose(ob), []
    chain.use_rotation = True
    for weight in (0.0, 0.5, 1.0):
        rigs.change(chain, orient_weight=weight)
        assert chain.status.startswith("Reached"), chain.status
        gaps.append(np.abs(axes_of_bone(ob, "Bone.3") - axes_of_object(target)).max())
        if weight == 0.0:
            np.testing.assert_allclose(rigs.pose(ob), free, atol=1e-6)
    assert gaps[2] <= 2e-6
    assert 0.1 < gaps[1] < gaps[0]


LIMB = ((0.0, 0.0, 0.0), (0.0, -0.1, 1.0), (0.0, 0.0, 2.0), (0.1, 0.0, 2.4))
FORE, HAND = "Bone.1", "Bone.2"


def make_limb(aside=0.0, others=0, *, is_connected=True, tip=FORE, **settings):
    """Return upper arm, forearm and hand, the chain of the first two, and its target."""
    ob = rigs.make_rig(LIMB)
    with rigs.editing(ob) as bones:
        bones[HAND].use_connect = is_connected and not aside
        bones[HAND].head.x += aside
        for number in range(others):
            other = bones.new(f"Other.{number}")
            other.head, other.tail = bones[FORE].tail, bones[FORE].tail + bones[HAND].vector
            other.parent, other.use_connect = bones[FORE], True
    target = turned_target((0.6, 0.5, 1.2))
    values = {"chain_count": 2, "use_rotation": True, "rotation_bone": "AUTO", **settings}
    chain = rigs.add_chain(ob, tip, target, **values)
    rigs.updated()
    return ob, chain, target


@pytest.mark.parametrize("tip", [FORE, HAND])
@pytest.mark.parametrize("solver", [*rigs.SOLVERS, "FORCE"])
def test_the_hand_is_turned_as_the_target_also_where_it_is_the_tip_of_three_bones(solver, tip):
    """The hand begins at the tail of the forearm, and need not be connected."""
    count = 2 if tip == FORE else 3
    ob, chain, target = make_limb(is_connected=False, tip=tip, solver=solver, chain_count=count)
    assert chain.status.startswith("Reached"), chain.status
    rigs.assert_reaches(ob, tip, target)
    np.testing.assert_allclose(axes_of_bone(ob, HAND), axes_of_object(target), atol=2e-6)


@pytest.mark.parametrize("influence", [0.0, 0.5])
def test_the_hand_belongs_to_the_stored_pose_and_to_influence(influence):
    ob = rigs.make_rig(LIMB)
    rigs.turn_bones(ob)
    before = rigs.rotations(ob)
    target = turned_target((0.6, 0.5, 1.2))
    chain = rigs.add_chain(ob, FORE, target, chain_count=2, use_rotation=True, rotation_bone="AUTO")
    rigs.updated()
    assert rigs.rotations(ob)[HAND] != before[HAND]
    rigs.change(chain, influence=influence)
    assert (rigs.rotations(ob)[HAND] == pytest.approx(before[HAND], abs=1e-6)) == (influence == 0.0)
    rigs.change(chain, mute=True)
    assert rigs.rotations(ob) == before


@pytest.mark.parametrize("solver", [*rigs.SOLVERS, "FORCE"])
@pytest.mark.parametrize(("aside", "others"), [(0.1, 0), (0.0, 1)])
def test_two_bones_without_one_hand_reach_and_say_that_none_is_turned(solver, aside, others):
    ob, chain, target = make_limb(aside, others, solver=solver)
    rigs.assert_reaches(ob, FORE, target)
    assert chain.status.startswith("Reached"), chain.status
    assert "no bone takes the target's rotation" in chain.status
    turned = rigs.rotations(ob)
    assert turned[HAND] == (1.0, 0.0, 0.0, 0.0)
    rigs.change(chain, use_rotation=False)
    assert rigs.rotations(ob) == turned
    assert "turned" not in chain.status


ARM = ((0.0, 0.0, 0.0), (1.0, -0.2, 0.0), (2.0, 0.0, 0.0))
REACH = 1.5
CLOSE = 1e-5
MIRRORED = {
    "not": (1.0, 1.0, 1.0),
    "x": (-1.0, 1.0, 1.0),
    "y": (1.0, -1.0, 1.0),
    "z": (1.0, 1.0, -1.0),
    "xyz": (-1.0, -1.0, -1.0),
    # Two negative axes are half a turn, and the same in both settings.
    "xy": (-1.0, -1.0, 1.0),
    "xz": (-1.0, 1.0, -1.0),
}
BONES = ["Bone.0", "Bone.1"]

every_mirror = pytest.mark.parametrize("scale", MIRRORED.values(), ids=MIRRORED.keys())
both_settings = pytest.mark.parametrize("setting", ["MIRROR", "KEEP"])


def elbow_of_arm(
    scale, target=(REACH, 0.0, 0.0), *, pole=None, through_parent=False, turn=(0, 0, 0), **settings
):
    """Return the elbow of an arm with this scale; elbow, target and pole are in world space."""
    ob = rigs.make_rig(ARM)
    ob.rotation_euler = turn
    if through_parent:
        ob.parent = rigs.make_empty("Parent", (0.0, 0.0, 0.0))
    (ob.parent or ob).scale = scale
    if pole is not None:
        settings["pole_target"] = rigs.make_empty("Pole", pole)
    _, empty = scaled_rigs.follow(ob, BONES, np.array(target), **settings)
    assert scaled_rigs.miss(ob, BONES, empty) <= CLOSE
    return rigs.tail(ob, "Bone.0")


@pytest.mark.every_case
@both_settings
@every_solver
@every_mirror
def test_mirror_bends_as_the_mirror_image_and_keep_toward_minus_y_in_the_world(
    scale, solver, setting
):
    target = np.multiply(scale, (REACH, 0.0, 0.0))
    # A parent that mirrors has the same effect as the object.
    above = solver == "CCD"
    elbow = elbow_of_arm(scale, target, solver=solver, negative_scale=setting, through_parent=above)
    is_followed = setting == "MIRROR" or np.prod(scale) > 0.0
    side = scale if is_followed else (scale[0], 1.0, 1.0)
    toward_minus_y = REACH / 2.0, -np.sqrt(1.04 - (REACH / 2.0) ** 2), 0.0
    np.testing.assert_allclose(elbow, np.multiply(toward_minus_y, side), atol=CLOSE)
    if solver == "NEWTON":
        flipped = elbow_of_arm(scale, target, negative_scale=setting, use_flip_bend=True)
        np.testing.assert_allclose(flipped, elbow * (1.0, -1.0, 1.0), atol=CLOSE)


@pytest.mark.parametrize("axis", ["y", "z"])
def test_keep_is_the_unmirrored_arm_however_the_object_is_turned(axis):
    turn = (0.4, -0.7, 1.1)
    target = Euler(turn).to_matrix() @ Vector((1.3, 0.0, 0.0))
    original = elbow_of_arm((1.0, 1.0, 1.0), target, turn=turn)
    elbow = elbow_of_arm(MIRRORED[axis], target, turn=turn, negative_scale="KEEP")
    np.testing.assert_allclose(elbow, original, atol=CLOSE)


@both_settings
@every_solver
@every_mirror
def test_the_elbow_faces_a_pole_in_the_world_in_both_settings(scale, solver, setting):
    pole, target = (0.0, 2.0, -1.0), np.multiply(scale, (REACH, 0.0, 0.0))
    elbow = elbow_of_arm(scale, target, solver=solver, pole=pole, negative_scale=setting)
    toward = np.array(pole) / np.linalg.norm(pole)
    height = np.sqrt(1.04 - (REACH / 2.0) ** 2)
    np.testing.assert_allclose(elbow, target / 2.0 + toward * height, atol=CLOSE)


@both_settings
@every_mirror
def test_the_pole_angle_is_mirrored_with_the_arm_or_turns_as_without_the_mirror(scale, setting):
    is_followed = setting == "MIRROR" or np.prod(scale) > 0.0
    image = np.array(scale if is_followed else (1.0, 1.0, 1.0))
    target, pole = np.multiply(scale, (REACH, 0.0, 0.0)), np.array((0.3, 0.4, 3.0))
    settings = {"pole_angle": 0.6, "negative_scale": setting}
    elbow = elbow_of_arm(scale, target, pole=pole * image, **settings)
    original = elbow_of_arm((1.0, 1.0, 1.0), target * image, pole=pole, **settings)
    np.testing.assert_allclose(elbow, original * image, atol=CLOSE)
