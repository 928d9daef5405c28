"""Joints clamped by us and by Blender's IK constraint: what the evaluated pose holds is the judge.

The constraint takes up a bone's pose, removes what locked axes do not allow, and clamps what is
left to the limits. With one iteration and the target where the tip lies before the clamp, it does
nothing else: its step is zero. Turns are drawn far from half a turn, where Blender's float32 does
not tell twist, swing and Euler angles well enough, and where it takes the edge that is nearer on
the line, while we take the one that is nearer on the circle: those are judged apart (``APART``).
It misreads elbows that are twisted: tests/core/kinematics/test_limit_edges.py has those alone.
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

TOLERANCE = 5e-6  # of quaternions: 1e-5 radians; the worst of 14000 was 6.6e-6 radians
COUNT = 24
ENDLESS = np.full(3, -np.inf), np.full(3, np.inf)
# A swing with a limit on one axis alone is not here: Blender forgets the limit, see below.
LIMITS = {
    "BALL": ("all", "x", "y", "z", "xz", "symmetric", "one_sided", "x_all_around", "none"),
    "SWING": ("all", "symmetric", "one_sided", "x_all_around", "none"),
    **dict.fromkeys(("HINGE_X", "HINGE_Y", "HINGE_Z", "FIXED"), ("all", "one_sided", "none")),
}


def clamped(kind: str, wxyz: Array, low: Array, high: Array) -> Array:
    return clamp_rotations((JointKind[kind],), wxyz[None], low[None], high[None])[0]


def give(bone: bpy.types.PoseBone, kind: str, low: Array, high: Array) -> None:
    for i, axis in enumerate("xyz"):
        setattr(bone, f"lock_ik_{axis}", i not in FREE_AXES[JointKind[kind]])
        setattr(bone, f"use_ik_limit_{axis}", bool(np.isfinite(high[i])))
        setattr(bone, f"ik_min_{axis}", max(low[i], -np.pi))
        setattr(bone, f"ik_max_{axis}", min(high[i], np.pi))


def some_edges(limits: str, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return radians about x, y, z; infinite without a limit."""
    low, high = -rng.uniform(0.05, 1.2, 3), rng.uniform(0.05, 1.2, 3)
    limited = np.array([limits not in ("x", "y", "z", "xz") or axis in limits for axis in "xyz"])
    if limits == "symmetric":
        low = -high
    elif limits == "one_sided":
        (low if rng.integers(2) else high)[rng.integers(3)] = 0.0
    elif limits == "x_all_around":
        # Not the same as no limit: Z is limited by an ellipse, not by a band.
        low[X], high[X] = -np.pi, np.pi
    elif limits == "none":
        limited[:] = False
    return np.where(limited, low, -np.inf), np.where(limited, high, np.inf)


def constrained(count: int) -> list[bpy.types.Object]:
    """Return rigs of two bones somewhere: the first is fixed, the second has an IK constraint."""
    rng = make_rng(7)
    joints = np.vstack((np.zeros(3), np.cumsum(rng.normal(size=(2, 3)), axis=0)))
    first = rigs.make_rig(joints, rolls=list(rng.uniform(-3.0, 3.0, 2)))
    give(first.pose.bones[0], "FIXED", *ENDLESS)
    first.pose.bones[1].constraints.new("IK").use_stretch = False
    objects = [first, *(rigs.link(first.copy()) for _ in range(count - 1))]
    # Their pose bones know their bones from then on.
    bpy.context.view_layer.update()
    return objects


def aim(ob: bpy.types.Object, posed: Array, target: Array) -> None:
    """Pose the constrained bone and place its target where a rotation has the tail."""
    bone = ob.pose.bones[1]
    bone.rotation_quaternion = posed
    bone.constraints[0].iterations = 1
    (place,) = tails_at(ob, [np.eye(3), rotation.matrix_from_quaternion(target)], "Bone.1")
    bone.constraints[0].target = rigs.make_empty(location=place)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("kind", "limits"), [(kind, limits) for kind, all_ in LIMITS.items() for limits in all_]
)
def test_blender_clamps_a_pose_beyond_its_limits_to_our_rotation(kind: str, limits: str) -> None:
    rng, objects = make_rng(1), constrained(COUNT)
    ours, reached = [], []
    for ob in objects:
        edges, axis = some_edges(limits, rng), rng.normal(size=3)
        turn = axis / np.linalg.norm(axis) * rng.uniform(0.3, 1.4)
        posed = rotation.quaternion_from_vector(turn)
        unlimited = clamped(kind, posed, *ENDLESS)
        give(ob.pose.bones[1], kind, *edges)
        aim(ob, posed, unlimited)
        ours.append(clamped(kind, posed, *edges))
        reached.append(unlimited)
    bpy.context.view_layer.update()
    shown = [rotation.quaternion_from_matrix(local(ob, "Bone.1")) for ob in objects]
    assert_rotations_close(ours, shown, TOLERANCE)
    if limits != "none" and kind != "FIXED":
        distances = 1.0 - np.abs(np.sum(np.multiply(ours, reached), axis=1))
        assert np.mean(distances > 1e-6) > 0.2, "the limits are put to the test"
