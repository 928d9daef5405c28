"""Joints that the extension and Blender's IK constraint clamp to the same evaluated rotation.

The constraint reads a bone's pose, removes the turns about locked axes, and clamps the rest to the
limits. With one iteration, and the target where the tip lies before the clamp, its step is zero:
it does nothing else. The random turns stay far from half a turn, for two reasons. Near it, float32
is too coarse for twist, swing and Euler angles. Beyond it, Blender takes the edge that is nearer on
the line, the extension the edge that is nearer on the circle. Elbows are missing here, since the
constraint misreads twisted ones: tests/core/kinematics/test_limit_edges.py has them.
"""

import bpy
import numpy as np
import pytest

from blender_ik_addon.core import JointKind
from blender_ik_addon.core.algebra import rotation
from blender_ik_addon.core.kinematics.joint_limits import clamp_rotations
from tests.blender.setups import rigs
from tests.blender.setups.jointed_rigs import local, tails_at
from tests.core.limited_rigs import FREE_AXES, X
from tests.helpers import Array, assert_rotations_close, make_rng

pytestmark = pytest.mark.slow

MAX_DISTANCE = 5e-6  # Between quaternions: 1e-5 radians. The worst of 14000 was 6.6e-6 radians.
COUNT = 24
UNLIMITED = np.full(3, -np.inf), np.full(3, np.inf)
# No swing has a limit on one axis alone: Blender ignores that limit.
LIMITS = {
    "BALL": ("all", "x", "y", "z", "xz", "symmetric", "one_sided", "x_all_around", "none"),
    "SWING": ("all", "symmetric", "one_sided", "x_all_around", "none"),
    **dict.fromkeys(("HINGE_X", "HINGE_Y", "HINGE_Z", "FIXED"), ("all", "one_sided", "none")),
}


def clamp(kind: str, wxyz: Array, low: Array, high: Array) -> Array:
    return clamp_rotations((JointKind[kind],), wxyz[None], low[None], high[None])[0]


def set_joint(bone: bpy.types.PoseBone, kind: str, low: Array, high: Array) -> None:
    for i, axis in enumerate("xyz"):
        setattr(bone, f"lock_ik_{axis}", i not in FREE_AXES[JointKind[kind]])
        setattr(bone, f"use_ik_limit_{axis}", bool(np.isfinite(high[i])))
        setattr(bone, f"ik_min_{axis}", max(low[i], -np.pi))
        setattr(bone, f"ik_max_{axis}", min(high[i], np.pi))


def draw_limits(limits: str, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return random lowest and highest angles about X, Y and Z, radians; infinite if unlimited."""
    low, high = -rng.uniform(0.05, 1.2, 3), rng.uniform(0.05, 1.2, 3)
    limited = np.array([limits not in ("x", "y", "z", "xz") or axis in limits for axis in "xyz"])
    if limits == "symmetric":
        low = -high
    elif limits == "one_sided":
        (low if rng.integers(2) else high)[rng.integers(3)] = 0.0
    elif limits == "x_all_around":
        # This differs from no limit: an ellipse limits Z, not a band.
        low[X], high[X] = -np.pi, np.pi
    elif limits == "none":
        limited[:] = False
    return np.where(limited, low, -np.inf), np.where(limited, high, np.inf)


def make_constrained(count: int) -> list[bpy.types.Object]:
    """Return rigs of two random bones: the first is fixed, the second has an IK constraint."""
    rng = make_rng(7)
    joints = np.vstack((np.zeros(3), np.cumsum(rng.normal(size=(2, 3)), axis=0)))
    first = rigs.make_rig(joints, rolls=list(rng.uniform(-3.0, 3.0, 2)))
    set_joint(first.pose.bones[0], "FIXED", *UNLIMITED)
    first.pose.bones[1].constraints.new("IK").use_stretch = False
    objects = [first, *(rigs.link(first.copy()) for _ in range(count - 1))]
    # Only after an update do the pose bones of the copies know their bones.
    bpy.context.view_layer.update()
    return objects


def aim(ob: bpy.types.Object, posed: Array, target: Array) -> None:
    """Pose the constrained bone, and place its target where a rotation puts the tail."""
    bone = ob.pose.bones[1]
    bone.rotation_quaternion = posed
    bone.constraints[0].iterations = 1
    (tail,) = tails_at(ob, [np.eye(3), rotation.matrix_from_quaternion(target)], "Bone.1")
    bone.constraints[0].target = rigs.make_empty(location=tail)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("kind", "limits"), [(kind, limits) for kind, all_ in LIMITS.items() for limits in all_]
)
def test_blender_clamps_a_pose_beyond_its_limits_to_our_rotation(kind: str, limits: str) -> None:
    rng, objects = make_rng(1), make_constrained(COUNT)
    expected, unlimited_turns = [], []
    for ob in objects:
        ranges, axis = draw_limits(limits, rng), rng.normal(size=3)
        turn = axis / np.linalg.norm(axis) * rng.uniform(0.3, 1.4)
        posed = rotation.quaternion_from_vector(turn)
        unlimited = clamp(kind, posed, *UNLIMITED)
        set_joint(ob.pose.bones[1], kind, *ranges)
        aim(ob, posed, unlimited)
        expected.append(clamp(kind, posed, *ranges))
        unlimited_turns.append(unlimited)
    bpy.context.view_layer.update()
    shown = [rotation.quaternion_from_matrix(local(ob, "Bone.1")) for ob in objects]
    assert_rotations_close(expected, shown, MAX_DISTANCE)
    if limits != "none" and kind != "FIXED":
        distances = 1.0 - np.abs(np.sum(np.multiply(expected, unlimited_turns), axis=1))
        assert np.mean(distances > 1e-6) > 0.2, "the limits are put to the test"
