"""Chains that a force pulls: the core's pose on real bones, limits held, weight along world -Z."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Quaternion

from blender_ik_addon.core import (
    Chain,
    Goal,
    SolveOptions,
    Solver,
    StepMode,
    bone_rotations,
    solve,
)
from blender_ik_addon.core.algebra import rotation
from tests.blender.setups import rigs
from tests.blender.setups.pulled_rigs import (
    SETTINGS,
    bone_lengths,
    core_chain,
    core_matrices,
    give,
    joints_of,
    make_pulled,
)
from tests.core.equilibrium.energies import make_forces
from tests.helpers import assert_positions_close

OF_LENGTH = 1e-6


def along(root: float, tip: float, lengths: np.ndarray) -> np.ndarray:
    """Return values between those of root and tip, at the middles of the bones."""
    shares = lengths / lengths.sum()
    return root + (tip - root) * (np.cumsum(shares) - 0.5 * shares)


def expected(ob, target, *, mode=StepMode.EXACT, gain=None, comfort=(0.0, 0.0), kinds=None):
    """Return the core's solution of a rig at rest with SETTINGS, in armature space."""
    lengths = bone_lengths(ob)
    world = rigs.world_matrix(ob)
    down = np.linalg.solve(world[:3, :3], [0.0, 0.0, -1.0])
    forces = make_forces(
        along(SETTINGS["stiffness_root"], SETTINGS["stiffness_tip"], lengths),
        SETTINGS["mass"] * lengths / lengths.sum(),
        SETTINGS["gravity"] * down / np.linalg.norm(down),
        comfort=np.radians(along(*comfort, lengths))[:, None],
        mode=mode,
        gain=gain,
    )
    chain = core_chain(ob, forces, kinds)
    place = np.linalg.solve(world, [*rigs.position(target), 1.0])[:3]
    size = np.cbrt(np.linalg.det(world[:3, :3]))
    return chain, solve(chain, Goal(place), SolveOptions(Solver.FORCE, tolerance=1e-5 / size))


def assert_as_core(ob, chain, solution) -> None:
    length = bone_lengths(ob).sum()
    assert_positions_close(joints_of(ob), solution.joint_positions, OF_LENGTH * length)
    matrices = rigs.pose(ob, bpy.context.view_layer.depsgraph)[:, :3, :3]
    wanted = core_matrices(chain, solution.local_rotations_wxyz)
    np.testing.assert_allclose(matrices, wanted, atol=3e-6)


@pytest.mark.parametrize(("count", "size"), [(2, 1.0), (6, 2.0), (20, 1.0)])
def test_bones_stand_as_the_core_says_however_their_armature_is_turned(count, size):
    share = size * count / 6.0
    ob, target, settings = make_pulled(count, (1.8 * share, 2.0 * share, 1.5 * share), **SETTINGS)
    ob.scale = (size,) * 3
    if size != 1.0:
        ob.rotation_euler = (0.8, 0.3, -1.9)
    rigs.updated()
    assert_as_core(ob, *expected(ob, target))
    rigs.assert_reaches(ob, f"Bone.{count - 1}", target)
    assert settings.status.startswith("Reached"), settings.status
    assert settings.residual <= settings.tolerance


def test_bone_rotations_of_a_chain_without_joints_lead_to_its_joints():
    joints = rigs.zigzag(4)
    chain = Chain(joints, forces=make_forces(np.ones(4), np.ones(4), [0.0, 0.0, -1.0]))
    solution = solve(chain, Goal(np.array([1.0, 1.5, 1.5])), SolveOptions(Solver.FORCE))
    turned = rotation.rotate(bone_rotations(chain, solution), np.diff(joints, axis=0))
    np.testing.assert_allclose(np.cumsum(turned, axis=0), solution.joint_positions[1:], atol=1e-9)


def test_comfort_and_limits_are_the_bones_own_axes():
    ob, target, _ = make_pulled(5, comfort_root=np.radians(4.0), comfort_tip=0.5, **SETTINGS)
    for bone in ob.pose.bones:
        bone.use_ik_limit_x = bone.use_ik_limit_z = True
        bone.ik_min_x, bone.ik_max_x, bone.ik_min_z, bone.ik_max_z = -0.7, 0.6, -0.5, 0.8
    ob.update_tag()
    rigs.updated()
    assert_as_core(ob, *expected(ob, target, comfort=(4.0, np.degrees(0.5))))


@pytest.mark.parametrize(("mode", "gain"), [("EXACT", 0.1), ("CLASSIC", 0.0), ("CLASSIC", 0.1)])
def test_both_kinds_of_steps_stand_as_the_core_says(mode, gain):
    ob, target, settings = make_pulled(4, (1.0, 1.5, 1.5), **SETTINGS)
    give(settings, force_mode=mode, force_gain=gain)
    rigs.updated()
    # Blender stores the gain as float32.
    stored = settings.force.force_gain or None
    assert_as_core(ob, *expected(ob, target, mode=StepMode(mode), gain=stored))
    rigs.assert_reaches(ob, "Bone.3", target)


def test_under_uneven_scale_the_effort_is_least_in_the_world():
    """No small turn of a bone that keeps the effector in place brings the limb lower."""
    ob, target, _ = make_pulled(3, (0.9, 0.4, 1.2), gravity=5.0, stiffness_root=0.0)
    give(ob.chain_ik.chains[0], stiffness_tip=0.0)
    ob.matrix_world = Matrix.Rotation(0.7, 4, "X") @ Matrix.Diagonal((1.0, 2.0, 0.6, 1.0))
    rigs.updated()
    rigs.assert_reaches(ob, "Bone.2", target)
    joints = joints_of(ob)
    world = rigs.world_matrix(ob)[:3, :3]
    lengths = bone_lengths(ob)

    def height(points):
        return lengths @ (0.5 * (points[1:] + points[:-1]) @ world[2])

    def turned(points, angle):
        """Return the joints with the two inner ones turned about the line between their ends."""
        axis = (points[-1] - points[0]) / np.linalg.norm(points[-1] - points[0])
        turn = np.array(Quaternion(axis, angle).to_matrix())
        return points[0] + (points - points[0]) @ turn.T

    standing = height(joints)
    for angle in (-0.1, -0.02, 0.02, 0.1):
        assert height(turned(joints, angle)) > standing - 1e-5


def test_springs_rest_in_the_stored_pose_so_a_target_at_its_tip_moves_nothing():
    ob = rigs.make_rig(rigs.zigzag(5))
    rigs.turn_bones(ob)
    pose = rigs.pose(ob)
    target = rigs.make_empty("Target", rigs.tail(ob, "Bone.4"))
    rigs.add_chain(ob, "Bone.4", target, solver="FORCE")
    rigs.updated()
    rigs.assert_same_pose(ob, pose, 1e-5)
