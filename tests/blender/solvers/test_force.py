"""Chains that a force pulls: the core's pose on real bones, inside limits, weight along world -Z.

Chains that ease: one motion at every playback and frame rate, and rest at the targets.
"""

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Quaternion

from blender_ik_addon.core import Goal, SolveOptions, Solver, StepMode, solve
from tests.blender.setups import rigs
from tests.blender.setups.pulled_rigs import (
    SETTINGS,
    bone_lengths,
    core_chain,
    core_matrices,
    joints_of,
    make_pulled,
    set_forces,
)
from tests.blender.setups.renders import render_frames
from tests.core.equilibrium.energies import make_forces
from tests.helpers import assert_positions_close

MAX_ERROR = 1e-6  # A share of the chain's length.


def spread(root: float, tip: float, lengths: np.ndarray) -> np.ndarray:
    """Return values at the middles of the bones, interpolated from root to tip, shape (n,)."""
    shares = lengths / lengths.sum()
    return root + (tip - root) * (np.cumsum(shares) - 0.5 * shares)


def solve_in_core(ob, target, *, mode=StepMode.EXACT, gain=None, comfort=(0.0, 0.0), kinds=None):
    """Return the core's chain and solution for a rig at rest with SETTINGS, armature space."""
    lengths = bone_lengths(ob)
    world = rigs.world_matrix(ob)
    down = np.linalg.solve(world[:3, :3], [0.0, 0.0, -1.0])
    forces = make_forces(
        spread(SETTINGS["stiffness_root"], SETTINGS["stiffness_tip"], lengths),
        SETTINGS["mass"] * lengths / lengths.sum(),
        SETTINGS["gravity"] * down / np.linalg.norm(down),
        comfort=np.radians(spread(*comfort, lengths))[:, None],
        mode=mode,
        gain=gain,
    )
    chain = core_chain(ob, forces, kinds)
    place = np.linalg.solve(world, [*rigs.position(target), 1.0])[:3]
    size = np.cbrt(np.linalg.det(world[:3, :3]))
    return chain, solve(chain, Goal(place), SolveOptions(Solver.FORCE, tolerance=1e-5 / size))


def assert_as_core(ob, chain, solution) -> None:
    length = bone_lengths(ob).sum()
    assert_positions_close(joints_of(ob), solution.joint_positions, MAX_ERROR * length)
    matrices = rigs.pose(ob, bpy.context.view_layer.depsgraph)[:, :3, :3]
    expected = core_matrices(chain, solution.local_rotations_wxyz)
    np.testing.assert_allclose(matrices, expected, atol=3e-6)


@pytest.mark.parametrize(("count", "size"), [(2, 1.0), (6, 2.0), (20, 1.0)])
def test_bones_have_the_pose_of_the_core_however_their_armature_is_turned(count, size):
    share = size * count / 6.0
    ob, target, settings = make_pulled(count, (1.8 * share, 2.0 * share, 1.5 * share), **SETTINGS)
    ob.scale = (size,) * 3
    if size != 1.0:
        ob.rotation_euler = (0.8, 0.3, -1.9)
    rigs.updated()
    assert_as_core(ob, *solve_in_core(ob, target))
    rigs.assert_reaches(ob, f"Bone.{count - 1}", target)
    assert settings.status.startswith("Reached"), settings.status
    assert settings.residual <= settings.tolerance


def test_comfort_and_limits_are_about_the_local_axes_of_bones():
    ob, target, _ = make_pulled(5, comfort_root=np.radians(4.0), comfort_tip=0.5, **SETTINGS)
    rigs.limit_bones(ob, x=(-0.7, 0.6), z=(-0.5, 0.8))
    rigs.tagged(ob)
    assert_as_core(ob, *solve_in_core(ob, target, comfort=(4.0, np.degrees(0.5))))


@pytest.mark.parametrize(("mode", "gain"), [("EXACT", 0.1), ("CLASSIC", 0.0), ("CLASSIC", 0.1)])
def test_both_kinds_of_steps_give_the_pose_of_the_core(mode, gain):
    ob, target, settings = make_pulled(4, (1.0, 1.5, 1.5), **SETTINGS)
    set_forces(settings, force_mode=mode, force_gain=gain)
    rigs.updated()
    # Blender stores the gain as float32.
    stored = settings.force.force_gain or None
    assert_as_core(ob, *solve_in_core(ob, target, mode=StepMode(mode), gain=stored))
    rigs.assert_reaches(ob, "Bone.3", target)


def test_under_uneven_scale_the_effort_is_least_in_the_world():
    """No small turn of the inner joints, with the effector in place, lowers the limb."""
    ob, target, _ = make_pulled(3, (0.9, 0.4, 1.2), gravity=5.0, stiffness_root=0.0)
    set_forces(ob.chain_ik.chains[0], stiffness_tip=0.0)
    ob.matrix_world = Matrix.Rotation(0.7, 4, "X") @ Matrix.Diagonal((1.0, 2.0, 0.6, 1.0))
    rigs.updated()
    rigs.assert_reaches(ob, "Bone.2", target)
    joints = joints_of(ob)
    world = rigs.world_matrix(ob)[:3, :3]
    lengths = bone_lengths(ob)

    def height(points):
        return lengths @ (0.5 * (points[1:] + points[:-1]) @ world[2])

    def turn_inner_joints(points, angle):
        """Return the joints with the inner ones turned about the line between both ends."""
        axis = (points[-1] - points[0]) / np.linalg.norm(points[-1] - points[0])
        turn = np.array(Quaternion(axis, angle).to_matrix())
        return points[0] + (points - points[0]) @ turn.T

    solved_height = height(joints)
    for angle in (-0.1, -0.02, 0.02, 0.1):
        assert height(turn_inner_joints(joints, angle)) > solved_height - 1e-5


def test_springs_rest_in_the_stored_pose_so_a_target_at_its_tip_moves_nothing():
    ob = rigs.make_rig(rigs.zigzag(5))
    rigs.turn_bones(ob)
    pose = rigs.pose(ob)
    rigs.follow(ob, "Bone.4", rigs.tail(ob, "Bone.4"), solver="FORCE")
    rigs.updated()
    rigs.assert_same_pose(ob, pose, 1e-5)


MAX_DIFFERENCE = 0.02  # A share of the longest path of a joint.
TARGET_PLACE = (1.8, 2.0, 1.5)


def make_easing(count: int = 5, ease: float = 0.25, **force: object):
    """Return an object, its target and its chain with springs, which eases."""
    ob, target, chain = make_pulled(
        count, TARGET_PLACE, stiffness_root=2.0, stiffness_tip=0.5, gravity=0.5, **force
    )
    set_forces(chain, ease=ease, use_gradual=True)
    return ob, target, chain


def key_target(target: bpy.types.Object, rate: int) -> None:
    """Key a target that rests at first, moves for half a second, and rests again."""
    places = ((0.25, TARGET_PLACE), (0.75, (-1.0, 1.5, 2.5)))
    rigs.key(target, "location", {1 + seconds * rate: place for seconds, place in places})


def play(ob: bpy.types.Object, frames: range) -> np.ndarray:
    """Return the joints at frames played in order, shape (f, n + 1, 3)."""
    return np.array([joints_of(ob, rigs.go_to(frame)) for frame in frames])


def test_each_playback_shows_the_same_motion_whatever_was_dragged_before():
    ob, target, _ = make_easing()
    first = play(ob, range(1, 12))
    assert np.abs(np.diff(first, axis=0)).max() > 0.05
    np.testing.assert_array_equal(play(ob, range(1, 12)), first)
    rigs.go_to(1)
    for place in ((-1.0, 0.5, 2.0), (2.0, 2.0, 0.0), TARGET_PLACE):
        rigs.change(target, location=place)
    # Playback begins with the second frame: Blender does not report the first one.
    np.testing.assert_allclose(play(ob, range(2, 12)), first[1:], atol=1e-6)
    rigs.go_to(1)
    start, target.location = joints_of(ob), (-1.0, 0.5, 2.0)
    rigs.updated()
    assert np.abs(joints_of(ob) - start).max() > 0.05
    rigs.go_to(1)
    np.testing.assert_allclose(joints_of(ob), start, atol=1e-6)


@pytest.mark.slow
def test_24_and_120_frames_a_second_show_the_same_motion():
    motions = {}
    # Blender divides the frame rate 240 by its base 2.
    for rate, fps, base in ((24, 24, 1.0), (120, 240, 2.0)):
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        bpy.context.scene.render.fps, bpy.context.scene.render.fps_base = fps, base
        ob, target, chain = make_easing(3)
        set_forces(chain, fastest=1.0)
        key_target(target, rate)
        motions[rate] = play(ob, range(1, 2 + rate))[:: rate // 24]
    path = np.linalg.norm(np.diff(motions[120], axis=0), axis=2).sum(axis=0).max()
    assert path > 0.5
    difference = np.linalg.norm(motions[24] - motions[120], axis=2).max()
    assert difference <= MAX_DIFFERENCE * path


def test_a_target_at_rest_is_reached_and_the_chain_rests():
    ob, target, chain = make_easing(ease=0.1)
    motion = play(ob, range(1, 70))
    assert np.abs(np.diff(motion[:10], axis=0)).max() > 0.05
    np.testing.assert_array_equal(motion[-1], motion[-10])
    rigs.assert_reaches(ob, "Bone.4", target, bpy.context.view_layer.depsgraph)
    assert chain.status.startswith("Reached"), chain.status
    eased = rigs.pose(ob)
    rigs.change(chain.force, use_gradual=False)
    rigs.assert_same_pose(ob, eased, 1e-5)


@pytest.mark.parametrize("there", [1, 24, 60])
def test_a_jump_starts_again_from_the_stored_pose(there):
    ob, _, chain = make_easing()
    rigs.change(chain, mute=True)
    stored = rigs.pose(ob)
    rigs.change(chain, mute=False)
    play(ob, range(1, 26))
    rigs.go_to(there)
    rigs.assert_same_pose(ob, stored, 1e-6)


def test_a_render_of_frames_in_order_shows_the_motion(tmp_path):
    ob, target, _ = make_easing(3)
    key_target(target, 24)
    shown = play(ob, range(1, 11))
    rigs.go_to(5)
    name = ob.name

    def read(depsgraph: bpy.types.Depsgraph) -> np.ndarray:
        return rigs.pose(bpy.data.objects[name], depsgraph)

    rendered = render_frames(tmp_path, read, (1, 10))
    heads = np.array([rendered[frame][:, :3, 3] for frame in range(1, 11)])
    np.testing.assert_allclose(heads, shown[:, :-1], atol=1e-6)


def test_while_time_is_stopped_each_drag_counts_as_a_frame_and_nothing_else_does():
    ob, target, _ = make_easing()
    rigs.go_to(20)
    rigs.updated()
    before = rigs.pose(ob)
    gaps = []
    for _ in range(12):
        rigs.shift(target, x=1e-4)
        gaps.append(np.linalg.norm(rigs.tail(ob, "Bone.4") - rigs.position(target)))
    assert np.all(np.diff(gaps) < 0.0)
    assert gaps[-1] < 0.3 * np.linalg.norm(before[-1, :3, 3] - rigs.position(target))
    pose = rigs.pose(ob)
    for _ in range(4):
        rigs.tagged(ob)
        rigs.make_empty("Elsewhere")
        rigs.assert_same_pose(ob, pose, 0.0)


@pytest.mark.slow
def test_keyed_bones_start_from_their_keys_and_go_on():
    ob, target, _ = make_easing(4, ease=0.1)
    rigs.change(ob.chain_ik.chains[0], mute=True)
    rigs.key_bones(ob, frames=(1, 8))
    ob.chain_ik.chains[0].mute = False
    first = play(ob, range(1, 70))
    rigs.assert_reaches(ob, "Bone.3", target, bpy.context.view_layer.depsgraph)
    np.testing.assert_allclose(play(ob, range(1, 12)), first[:11], atol=1e-6)


def test_a_start_from_the_present_pose_does_not_creep():
    ob, _, chain = make_easing()
    rigs.go_to(1)
    chain.start_from = "CURRENT"
    play(ob, range(1, 4))
    assert chain.status.startswith("On its way"), chain.status
    rigs.assert_stays(ob)


def test_limits_hold_on_the_way():
    ob, _, chain = make_easing()
    for bone in ob.pose.bones:
        bone.lock_ik_y = bone.lock_ik_z = bone.use_ik_limit_x = True
        bone.ik_min_x, bone.ik_max_x = -0.3, 0.3
    ob.update_tag()
    for _ in rigs.each_frame(range(1, 40)):
        for bone in ob.pose.bones:
            _, turn_x, turn_y, turn_z = bone.rotation_quaternion
            assert abs(turn_x) <= np.sin(0.15) + 1e-6
            assert max(abs(turn_y), abs(turn_z)) < 1e-6
    assert chain.status.startswith("Held back by the limits"), chain.status


@pytest.mark.slow
def test_bones_that_grow_ease_too():
    ob, target, chain = make_easing(3)
    rigs.set_each(ob.pose.bones, ik_stretch=0.5)
    chain.use_stretch = True
    rigs.change(target, location=(3.0, 3.0, 3.0))
    motion = play(ob, range(1, 90))
    lengths = np.linalg.norm(np.diff(motion, axis=1), axis=2).sum(axis=1)
    assert lengths[0] == pytest.approx(3.0, abs=1e-5)
    assert 3.0 < lengths[4] < lengths[10] < lengths[-1]
    rigs.assert_reaches(ob, "Bone.2", target, bpy.context.view_layer.depsgraph)
