"""No bone leaves its IK limits, whatever it is asked: read back from Blender's own matrices."""

from __future__ import annotations

import bpy
import numpy as np
import numpy.typing as npt
import pytest
from mathutils import Quaternion

from blender_ik_addon.core import JointKind
from tests.blender.setups import rigs, scaled_rigs
from tests.core.limited_rigs import FREE_AXES, violation
from tests.helpers import make_rng

pytestmark = pytest.mark.slow

Array = npt.NDArray[np.float64]
K = JointKind
# Radians.
EXACT = 1e-6
SOLVERS = ("NEWTON", "FABRIK", "CCD")
# The turns of a float32 matrix that was multiplied and inverted are worth that much.
BY_SCALE = 4e-6
ARM = (
    (K.BALL, ((-90, 90), (-60, 60), (-90, 90))),
    (K.HINGE_X, ((0, 150),)),
    (K.SWING, ((-40, 40), (-60, 60))),
)
TAIL = ((K.BALL, ((-30, 30), (-20, 20), (-30, 30))),) * 6
SPIDER = (
    (K.HINGE_Y, ((-70, 70),)),
    (K.HINGE_X, ((-60, 60),)),
    (K.HINGE_X, ((-120, 0),)),
    (K.HINGE_Z, ((-90, 10),)),
)
ODD = (
    (K.ELBOW_X, ((-50, 100), (-40, 40))),
    (K.FIXED, ()),
    (K.ELBOW_Z, ((-30, 30), (-100, 10))),
    (K.SWING, ((0, 50), (-60, 0))),
)
LIMBS = {"arm": ARM, "tail": TAIL, "spider": SPIDER, "odd": ODD}
every_limb = pytest.mark.parametrize("limb", LIMBS)
every_solver = pytest.mark.parametrize("solver", SOLVERS)


def limit(pose_bone: bpy.types.PoseBone, kind: JointKind, ranges: tuple) -> None:
    """Set a bone's locks and limits for IK, degrees."""
    for axis, letter in enumerate("xyz"):
        setattr(pose_bone, f"lock_ik_{letter}", axis not in FREE_AXES[kind])
    for axis, (low, high) in zip(FREE_AXES[kind], ranges, strict=True):
        letter = "xyz"[axis]
        setattr(pose_bone, f"use_ik_limit_{letter}", True)
        setattr(pose_bone, f"ik_min_{letter}", np.radians(low))
        setattr(pose_bone, f"ik_max_{letter}", np.radians(high))


def edges(pose_bone: bpy.types.PoseBone) -> tuple[Array, Array]:
    """Return the ranges as Blender stores them, radians."""
    has = np.array([getattr(pose_bone, f"use_ik_limit_{axis}") for axis in "xyz"])
    low = np.array([getattr(pose_bone, f"ik_min_{axis}") for axis in "xyz"])
    high = np.array([getattr(pose_bone, f"ik_max_{axis}") for axis in "xyz"])
    return np.where(has, low, -np.inf), np.where(has, high, np.inf)


def local_matrix(pose_bone: bpy.types.PoseBone) -> Array:
    """Return the bone's turn from rest in its own axes, from evaluated matrices."""
    rest, pose = np.array(pose_bone.bone.matrix_local), np.array(pose_bone.matrix)
    if pose_bone.parent is not None:
        above = np.array(pose_bone.parent.bone.matrix_local)
        rest = np.linalg.solve(above, rest)
        pose = np.linalg.solve(np.array(pose_bone.parent.matrix), pose)
    turn = np.linalg.solve(rest, pose)[:3, :3]
    return turn / np.linalg.norm(turn, axis=0)


def quaternion(turn: Array) -> Array:
    """Return the quaternion of a nearly orthogonal matrix, from its largest part."""
    m = turn
    squares = np.array(
        [
            1.0 + m[0, 0] + m[1, 1] + m[2, 2],
            1.0 + m[0, 0] - m[1, 1] - m[2, 2],
            1.0 - m[0, 0] + m[1, 1] - m[2, 2],
            1.0 - m[0, 0] - m[1, 1] + m[2, 2],
        ]
    )
    rows = np.array(
        [
            [squares[0], m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]],
            [m[2, 1] - m[1, 2], squares[1], m[0, 1] + m[1, 0], m[0, 2] + m[2, 0]],
            [m[0, 2] - m[2, 0], m[0, 1] + m[1, 0], squares[2], m[1, 2] + m[2, 1]],
            [m[1, 0] - m[0, 1], m[0, 2] + m[2, 0], m[1, 2] + m[2, 1], squares[3]],
        ]
    )
    row = rows[np.argmax(squares)]
    return row / np.linalg.norm(row)


def violations(ob: bpy.types.Object, limb: tuple) -> Array:
    """Return how far each evaluated bone lies outside its limits, radians."""
    posed = rigs.evaluated(ob).pose.bones
    return np.array(
        [
            violation(kind, quaternion(local_matrix(posed[i])), *edges(posed[i]))
            for i, (kind, _) in enumerate(limb)
        ]
    )


def make_limb(limb: tuple, modes: str = "QUATERNION") -> tuple[bpy.types.Object, list[str]]:
    """Return an armature with a limited limb at rest, askew, and its bones' names."""
    count = len(limb)
    rolls = list(make_rng(5).uniform(-3.0, 3.0, count))
    ob = rigs.make_rig(rigs.zigzag(count, seed=3), rolls=rolls, modes=modes)
    for pose_bone, (kind, ranges) in zip(ob.pose.bones, limb, strict=True):
        limit(pose_bone, kind, ranges)
    return ob, [f"Bone.{i}" for i in range(count)]


def points(ob: bpy.types.Object, count: int, seed: int) -> Array:
    """Return points near and far, world space."""
    rng = make_rng(seed)
    length = len(ob.pose.bones)
    matrix = np.array(ob.matrix_world)
    shares = np.linspace(0.2, 1.3, count)[:, None]
    directions = rng.normal(size=(count, 3)) + np.array([0.0, 0.0, 1.5])
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    return shares * length * directions @ matrix[:3, :3].T + matrix[:3, 3]


def assert_held(
    ob: bpy.types.Object, limb: tuple, solver: str, exact: float = EXACT, **settings: object
) -> None:
    """Assert that no limit is left for any of some targets."""
    bones = [bone.name for bone in ob.pose.bones]
    scaled_rigs.update()
    where = points(ob, 2, seed=9)
    chain, target = scaled_rigs.follow(ob, bones, where[0], solver=solver, **settings)
    moved = 0.0
    for place in where:
        target.location = place
        target.rotation_euler = place
        scaled_rigs.update()
        assert violations(ob, limb).max() <= exact, (place, violations(ob, limb), chain.status)
        moved = max(moved, max(np.abs(local_matrix(b) - np.eye(3)).max() for b in ob.pose.bones))
    assert moved > 0.05, "the limb turns"


@every_limb
@every_solver
def test_limits_hold(limb, solver):
    assert_held(make_limb(LIMBS[limb])[0], LIMBS[limb], solver)


@every_limb
@every_solver
def test_limits_hold_with_a_pole(limb, solver):
    pole = rigs.make_empty("Pole", (3.0, -2.0, 1.0))
    assert_held(make_limb(LIMBS[limb])[0], LIMBS[limb], solver, pole_target=pole, pole_angle=0.7)


@every_solver
@pytest.mark.parametrize("limb", ["arm", "tail"])
@pytest.mark.parametrize("influence", [0.25, 0.7])
def test_limits_hold_on_the_way_by_influence(limb, solver, influence):
    assert_held(make_limb(LIMBS[limb])[0], LIMBS[limb], solver, influence=influence)


@every_limb
@every_solver
def test_limits_hold_where_the_tip_takes_a_rotation(limb, solver):
    assert_held(make_limb(LIMBS[limb])[0], LIMBS[limb], solver, use_rotation=True)


@every_limb
@pytest.mark.parametrize("solver", ["FABRIK", "CCD"])
def test_limits_hold_after_three_iterations(limb, solver):
    assert_held(make_limb(LIMBS[limb])[0], LIMBS[limb], solver, iterations=3)


@pytest.mark.parametrize("mode", rigs.ROTATION_MODES)
@pytest.mark.parametrize("limb", ["arm", "odd"])
def test_limits_hold_in_every_rotation_mode(limb, mode):
    assert_held(make_limb(LIMBS[limb], mode)[0], LIMBS[limb], "NEWTON")


@every_solver
@pytest.mark.parametrize("limb", ["arm", "odd"])
@pytest.mark.parametrize(
    "scale",
    [(-1.0, 1.0, 1.0), (-1.0, -1.0, -1.0), (0.01, 0.01, 0.01), (0.5, 2.0, 1.0)],
    ids=str,
)
def test_limits_hold_on_scaled_and_mirrored_objects(limb, solver, scale):
    ob, _ = make_limb(LIMBS[limb])
    ob.scale, ob.location, ob.rotation_euler = scale, (1.0, 2.0, 3.0), (0.3, 0.4, 0.5)
    assert_held(ob, LIMBS[limb], solver)


@every_limb
@every_solver
def test_limits_hold_on_bones_of_uneven_scale(limb, solver):
    ob, bones = make_limb(LIMBS[limb])
    scaled_rigs.scale_bones(ob, {bone: (1.3, 0.8, 1.1) for bone in bones[:2]})
    assert_held(ob, LIMBS[limb], solver, exact=BY_SCALE)


@every_solver
def test_limits_hold_from_a_pose_that_breaks_them(solver):
    ob, _ = make_limb(ARM)
    ob.pose.bones[1].rotation_quaternion = Quaternion((1.0, 0.0, 0.0), -1.0)
    ob.pose.bones[2].rotation_quaternion = Quaternion((0.0, 1.0, 0.0), 1.0)
    assert_held(ob, ARM, solver)


def test_without_limits_bones_turn_freely_and_by_default_they_do_not():
    ob, bones = make_limb(ARM)
    chain, target = scaled_rigs.follow(ob, bones, np.array([1.5, 0.3, -1.0]))
    assert chain.use_limits
    assert violations(ob, ARM).max() <= EXACT
    chain.use_limits = False
    scaled_rigs.update()
    assert violations(ob, ARM).max() > 0.1
    assert scaled_rigs.miss(ob, bones, target) <= 1e-4


def test_a_chain_without_limits_turns_freely_beside_one_that_has_them() -> None:
    ob, bones = make_limb(TAIL)
    scaled_rigs.follow(ob, bones[:3], np.array([1.5, 0.3, -1.0]), use_limits=False)
    scaled_rigs.follow(ob, bones[3:], np.array([-1.0, 2.0, 0.5]))
    outside = violations(ob, TAIL)
    assert outside[:3].max() > 0.1
    assert outside[3:].max() <= EXACT


def test_a_limit_that_is_set_later_counts_at_the_next_update():
    ob, bones = rigs.make_rig(rigs.zigzag(2, seed=3)), ["Bone.0", "Bone.1"]
    scaled_rigs.follow(ob, bones, np.array([1.0, 0.3, 0.6]))
    limb = ((K.BALL, ()), (K.HINGE_X, ((0, 30),)))
    limit(ob.pose.bones[1], *limb[1])
    ob.update_tag()
    scaled_rigs.update()
    assert violations(ob, limb).max() <= EXACT
