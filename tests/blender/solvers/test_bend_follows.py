"""Bend *With Body*: the bend side follows the root and half of the target's turn."""

import math

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Quaternion

from blender_ik_addon.rig.controls.default_poles import _find_zeros
from tests.blender.setups import rigs
from tests.blender.setups.selecting import press, select_bones
from tests.core.chains import side_of, unit
from tests.helpers import make_rng

UPPER, LOWER, HAND, CHEST = "A.0", "A.1", "A.2", "Bone.0"
BONES = (CHEST, UPPER, LOWER, HAND)
JOINTS = ((0.2, 0.0, 1.5), (0.5, 0.08, 1.45), (0.8, 0.0, 1.45), (0.9, 0.0, 1.4))


def make_body(**settings) -> tuple[bpy.types.Object, bpy.types.PropertyGroup]:
    """Return an armature with a chest and an arm, and the chain of the arm; target at the hand."""
    ob = rigs.make_rig([(0, 0, 1), (0, 0, 1.5)])
    rigs.add_bones(ob, JOINTS, prefix="A", parent=CHEST)
    target = rigs.make_empty("Target")
    settings = {"pole_mode": "FOLLOW", "use_rotation": True, "rotation_bone": "AUTO"} | settings
    chain = rigs.add_chain(ob, LOWER, target, chain_count=2, **settings)
    rigs.change(target, matrix_world=hand_matrix(ob))
    return ob, chain


def hand_matrix(ob: bpy.types.Object) -> Matrix:
    return ob.matrix_world @ ob.pose.bones[HAND].matrix


def local_matrices(ob: bpy.types.Object) -> np.ndarray:
    """Return the local matrices of the arm's bones, shape (3, 4, 4)."""
    bones = rigs.evaluated(ob).pose.bones
    return np.array([bones[name].matrix_basis for name in (UPPER, LOWER, HAND)])


def elbow_place(ob: bpy.types.Object) -> np.ndarray:
    return np.array(rigs.evaluated(ob).pose.bones[LOWER].head)


def bend_side(ob: bpy.types.Object) -> np.ndarray:
    """Return the unit vector across the chord to the elbow, armature space."""
    bones = rigs.evaluated(ob).pose.bones
    joints = np.array([bones[UPPER].head, bones[LOWER].head, bones[LOWER].tail])
    return unit(side_of(joints, joints[-1]))


# No limited chain starts from Current: it would keep the roll of earlier poses, as without a pole.
@pytest.mark.parametrize(
    ("is_limited", "start_from"), [(False, "KEYED"), (False, "CURRENT"), (True, "KEYED")]
)
@pytest.mark.parametrize("solver", rigs.SOLVERS)
@pytest.mark.parametrize("seed", range(2))
def test_a_limb_and_its_target_that_are_turned_together_keep_their_bend(
    seed, solver, is_limited, start_from
):
    rng = make_rng(seed)
    ob, chain = make_body(solver=solver, start_from=start_from)
    for name in (UPPER, LOWER) if is_limited else ():
        ob.pose.bones[name].use_ik_limit_x = True
    target = bpy.data.objects["Target"]
    rigs.change(target, matrix_world=Matrix.Translation((-0.25, -0.3, 0.1)) @ target.matrix_world)
    assert chain.status.startswith("Reached")
    before, chest = local_matrices(ob), ob.pose.bones[CHEST]
    home = chest.matrix.copy()
    chest.rotation_quaternion = Quaternion(rng.normal(size=4)).normalized()
    rigs.change(chest, location=rng.normal(size=3))
    rigs.change(target, matrix_world=chest.matrix @ home.inverted() @ target.matrix_world)
    np.testing.assert_allclose(local_matrices(ob), before, atol=5e-4)


@pytest.mark.parametrize("turn", [-110, 40])
@pytest.mark.parametrize("scale", [(1, 1, 1), (1, 1.001, 1)], ids=["rigid", "uneven"])
def test_half_of_the_hand_s_turn_about_the_arm_goes_to_the_elbow(turn, scale):
    ob, _ = make_body()
    rigs.change(ob, scale=scale)
    target, start_side = bpy.data.objects["Target"], bend_side(ob)
    bones = ob.pose.bones
    axis = (bones[LOWER].tail - bones[UPPER].head).normalized()
    place = target.matrix_world.copy()
    turned = Matrix.Rotation(math.radians(turn), 4, axis) @ place
    turned.translation = place.translation
    rigs.change(target, matrix_world=turned)
    expected = np.array(Matrix.Rotation(math.radians(turn / 2), 3, axis)) @ start_side
    np.testing.assert_allclose(bend_side(ob), expected, atol=3e-3)


def test_angle_and_flip_turn_the_side_of_the_rest_pose_and_only_the_root_carries_it_along():
    ob, chain = make_body(use_rotation=False)
    side, before = bend_side(ob), elbow_place(ob)
    target = bpy.data.objects["Target"]
    place = target.matrix_world.copy()
    rigs.change(target, matrix_world=place @ Matrix.Rotation(1.2, 4, "X"))
    np.testing.assert_allclose(bend_side(ob), side, atol=1e-5)
    target.matrix_world, chain.use_flip_bend = place, True
    rigs.updated()
    np.testing.assert_allclose(bend_side(ob), -side, atol=1e-5)
    rigs.change(chain, use_flip_bend=False, pole_angle=math.pi)
    np.testing.assert_allclose(bend_side(ob), -side, atol=1e-5)
    chain.pole_angle = 0.0
    ob.pose.bones[UPPER].rotation_quaternion = Quaternion((0, 1, 0), 1.0)
    rigs.key_rotations(ob, 1, [UPPER])
    rigs.go_to(1)
    np.testing.assert_allclose(elbow_place(ob), before, atol=1e-5)
    rigs.change(chain, pole_target=rigs.make_empty("Pole", (0.5, 0.0, 5.0)))
    np.testing.assert_allclose(elbow_place(ob), before, atol=1e-5)
    rigs.change(chain, pole_mode="TARGET")
    assert elbow_place(ob)[2] > before[2] + 0.05


@pytest.mark.parametrize("flip", [False, True])
def test_an_added_pole_keeps_the_bend(flip):
    ob, chain = make_body(use_flip_bend=flip, pole_angle=0.4)
    target = bpy.data.objects["Target"]
    target.matrix_world = target.matrix_world @ Matrix.Rotation(0.7, 4, "Y")
    rigs.shift(target, x=-0.2)
    before = local_matrices(ob)
    select_bones(ob, [LOWER])
    press(bpy.ops.pose.chain_ik_pole_add)
    rigs.updated()
    chain = ob.chain_ik.chains[0]
    assert (chain.pole_mode, chain.pole_angle, chain.use_flip_bend) == ("TARGET", 0.0, flip)
    np.testing.assert_allclose(local_matrices(ob), before, atol=2e-5)


@pytest.mark.parametrize("scale", [(1, 1, 1), (-1, 1, 1), (1, 1.3, 1)], ids=str)
@pytest.mark.parametrize("negative_scale", ["MIRROR", "KEEP"])
@pytest.mark.parametrize("seed", range(2))
def test_snapping_a_target_keeps_the_bend_of_the_pose(seed, negative_scale, scale):
    ob, chain = make_body(use_flip_bend=True, negative_scale=negative_scale, pole_lean=-1.0)
    ob.scale = scale
    chain.mute = True
    rigs.turn_bones(ob, seed, 1.0, BONES)
    before = elbow_place(ob)
    select_bones(ob, [LOWER])
    press(bpy.ops.pose.chain_ik_snap_target)
    rigs.change(ob.chain_ik.chains[0], mute=False)
    assert ob.chain_ik.chains[0].status.startswith("Reached")
    np.testing.assert_allclose(elbow_place(ob), before, atol=2e-5)


def test_of_several_pole_angles_the_nearest_to_that_of_the_pose_before_is_found():
    turns = np.linspace(0.0, 3.0, 13)
    found = _find_zeros(lambda angle: np.sin(2.0 * (angle - turns)), np.zeros(13))
    np.testing.assert_allclose(found, turns, atol=1e-9)


def test_a_pole_in_line_with_the_limb_is_reported():
    ob, chain = make_body(pole_mode="TARGET")
    pole = chain.pole_target = rigs.make_empty("Pole", (0.5, 3.0, 1.5))
    rigs.updated()
    assert "in line" not in chain.status
    bones = ob.pose.bones
    line = bones[LOWER].tail - bones[UPPER].head
    pole.location = bones[UPPER].head + 4.0 * line
    rigs.shift(pole, z=0.02)
    assert chain.status.endswith("move the pole aside, or set Bend to With Body")
    rigs.change(chain, pole_mode="FOLLOW")
    assert "in line" not in chain.status


def test_many_limbs_side_by_side_bend_as_each_does_alone():
    def make(number: int) -> bpy.types.Object:
        ob, chain = make_body()
        chain.target = rigs.make_empty("Target")
        place = hand_matrix(ob)
        place.translation.z += 0.03 * number
        chain.target.matrix_world = place @ Matrix.Rotation(0.2 * number, 4, "Y")
        return ob

    alone = []
    for number in range(10):
        ob = make(number)
        rigs.updated()
        alone.append(local_matrices(ob))
        bpy.data.objects.remove(ob)
    crowd = [make(number) for number in range(10)]
    rigs.updated()
    np.testing.assert_allclose([local_matrices(ob) for ob in crowd], alone, atol=1e-6)
