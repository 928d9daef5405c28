"""Joints clamped by us and by Blender's IK constraint: what the evaluated pose holds is the judge.

The constraint takes up a bone's pose, removes what locked axes do not allow, and clamps what is
left to the limits. With one iteration and the target where the tip lies before the clamp, it does
nothing else: its step is zero. Blender's pose is float32, and near a half turn, where twist, swing
and Euler angles are undefined, that is not enough: such rotations are not drawn (``is_clear``).
It misreads elbows that are twisted: tests/core/kinematics/test_joint_limits.py has those alone.
Of a turn beyond its range we take the edge that is nearer on the circle, Blender the one that is
nearer on the line: turns where the two differ are judged apart (``is_same_edge``).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field

import bpy
import numpy as np
import numpy.typing as npt
import pytest

from blender_ik_addon.core import JointKind
from blender_ik_addon.core.algebra import rotation
from blender_ik_addon.core.kinematics.joint_limits import clamp_rotations
from tests.blender.setups import rigs
from tests.helpers import assert_rotations_close, make_rng

pytestmark = pytest.mark.slow

Array = npt.NDArray[np.float64]


NO_LOW, NO_HIGH = np.full(3, -np.inf), np.full(3, np.inf)


@dataclass(frozen=True)
class Joint:
    """What a bone's IK locks and limits say: radians about x, y, z; infinite without a limit."""

    kind: str
    low: Array = field(default_factory=NO_LOW.copy)
    high: Array = field(default_factory=NO_HIGH.copy)


def clamped(rotations: Array, joints: Sequence[Joint]) -> Array:
    """Return the rotations wxyz (n, 4) as the joints let them be."""
    kinds = tuple(JointKind[joint.kind] for joint in joints)
    low, high = (np.array([getattr(joint, edge) for joint in joints]) for edge in ("low", "high"))
    return clamp_rotations(kinds, rotations, low, high)


TOLERANCE = 5e-6  # of quaternions: 1e-5 radians; the worst of 14000 was 6.6e-6 radians
PER_RIG = 16
X, Y, Z = range(3)
FREE_AXES = {
    "BALL": "xyz",
    "SWING": "xz",
    "HINGE_X": "x",
    "HINGE_Y": "y",
    "HINGE_Z": "z",
    "FIXED": "",
}
# A swing with a limit on one axis alone is not here: Blender forgets the limit, see below.
LIMITS = {
    "BALL": ("all", "x", "y", "z", "xz", "symmetric", "one_sided", "x_all_around", "none"),
    "SWING": ("all", "symmetric", "one_sided", "x_all_around", "none"),
    **{kind: ("all", "one_sided", "none") for kind in FREE_AXES if kind not in ("BALL", "SWING")},
}
every_joint = pytest.mark.parametrize(
    ("kind", "limits"), [(kind, limits) for kind, all_ in LIMITS.items() for limits in all_]
)


def some_joint(kind: str, limits: str, rng: np.random.Generator) -> Joint:
    low, high = -rng.uniform(0.05, 2.6, 3), rng.uniform(0.05, 2.6, 3)
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
    return Joint(kind, np.where(limited, low, NO_LOW), np.where(limited, high, NO_HIGH))


def about(axis: int, angle: float) -> Array:
    return rotation.quaternion_from_axis_angle(np.array([angle, *np.eye(3)[axis]]))


def some_rotation(rng: np.random.Generator) -> Array:
    while not is_clear(quaternion := rotation.normalize(rng.normal(size=4))):
        pass
    return quaternion


def is_clear(quaternion: Array) -> bool:
    """Whether float32 tells twist, swing and Euler angles well enough."""
    w, _, y, _ = quaternion
    matrix = rotation.matrix_from_quaternion(quaternion)
    swing = np.hypot(w, y)
    return abs(w) * swing > 0.06 and swing > 0.25 and np.hypot(matrix[0, 0], matrix[0, 1]) > 0.1


def angles_in_line(kind: str, quaternion: Array) -> dict[int, float]:
    """Return the turns that are limited by an angle each, by axis; a swing is not."""
    if kind in ("SWING", "FIXED"):
        return {}
    axis = Y if kind == "BALL" else "XYZ".index(kind[-1])
    angle = 2.0 * np.arctan2(quaternion[1 + axis], quaternion[0])
    return {axis: (angle + np.pi) % (2.0 * np.pi) - np.pi}


def is_same_edge(joint: Joint, quaternion: Array) -> bool:
    """Whether the nearer edge is the same on the line, where Blender looks, and on the circle."""
    for axis, angle in angles_in_line(joint.kind, quaternion).items():
        below, above = joint.low[axis] - angle, angle - joint.high[axis]
        if below > 0.0 and below > 2.0 * np.pi + angle - joint.high[axis]:
            return False
        if above > 0.0 and above > 2.0 * np.pi - angle + joint.low[axis]:
            return False
    return True


class ConstrainedBone:
    """A bone with Blender's IK constraint, alone or under one more bone of the chain."""

    def __init__(self, *, is_second: bool, is_straight: bool) -> None:
        count = 1 + is_second
        rng = make_rng(7)
        joints = np.linspace((0.0, 0.0, 0.0), (0.0, 0.0, count), count + 1)
        if not is_straight:
            joints[1:] = np.cumsum(rng.normal(size=(count, 3)), axis=0)
        rolls = np.zeros(count) if is_straight else rng.uniform(-3.0, 3.0, count)
        ob = rigs.make_rig(joints, rolls=rolls)
        ob.pose.bones[-1].constraints.new("IK").use_stretch = False
        self._take(ob)
        self.rest = np.array(self.bone.bone.matrix_local)
        # Blender inverts rest matrices by transposing them.
        np.testing.assert_allclose(self.rest[:3, :3].T @ self.rest[:3, :3], np.eye(3), atol=1e-6)

    def _take(self, ob: bpy.types.Object) -> None:
        self.ob, self.target = ob, rigs.make_empty()
        self.root, self.bone = (ob.pose.bones[i] for i in (0, -1))
        (self.constraint,) = self.bone.constraints
        self.constraint.target = self.target

    def copied(self, count: int) -> list[ConstrainedBone]:
        """Return the same bone in objects of their own."""
        objects = [rigs.link(self.ob.copy()) for _ in range(count)]
        # Their pose bones know their bones from then on.
        bpy.context.view_layer.update()
        found = [copy.copy(self) for _ in objects]
        for each, ob in zip(found, objects, strict=True):
            each._take(ob)
        return found

    def set_joint(self, joint: Joint) -> None:
        """Set locks and limits of the bone; the one above holds still."""
        set_joint(self.root, Joint("FIXED"))
        set_joint(self.bone, joint)

    def tail(self, quaternion: Array) -> Array:
        """Return where the tail lies with this rotation, under a parent at rest."""
        matrix = self.rest[:3, :3] @ rotation.matrix_from_quaternion(quaternion)
        return self.rest[:3, 3] + matrix[:, 1] * self.bone.bone.length

    def aim(self, start: Array, target: Array) -> None:
        """Pose the bone and place its target, for one iteration in the next update."""
        self.bone.rotation_quaternion = start
        self.target.location = target
        self.constraint.iterations = 1

    def shown(self) -> Array:
        """Return the rotation of the bone as evaluated by the last update, wxyz."""
        evaluated = rigs.evaluated(self.ob, bpy.context.view_layer.depsgraph)
        pose = np.array(evaluated.pose.bones[self.bone.name].matrix)[:3, :3]
        above = np.eye(3)
        if self.bone.parent:
            root_pose = np.array(evaluated.pose.bones[self.root.name].matrix)
            above = root_pose[:3, :3] @ np.array(self.root.bone.matrix_local)[:3, :3].T
        return rotation.quaternion_from_matrix(self.rest[:3, :3].T @ above.T @ pose)


def set_joint(bone: bpy.types.PoseBone, joint: Joint) -> None:
    for i, axis in enumerate("xyz"):
        setattr(bone, f"lock_ik_{axis}", axis not in FREE_AXES[joint.kind])
        setattr(bone, f"use_ik_limit_{axis}", bool(np.isfinite(joint.high[i])))
        setattr(bone, f"ik_min_{axis}", max(joint.low[i], -np.pi))
        setattr(bone, f"ik_max_{axis}", min(joint.high[i], np.pi))


def constrained_bones() -> list[ConstrainedBone]:
    """Return bones of four rigs, each in many objects: evaluated together, in one update."""
    firsts = [
        ConstrainedBone(is_second=is_second, is_straight=is_straight)
        for is_second in (False, True)
        for is_straight in (False, True)
    ]
    return [bone for first in firsts for bone in (first, *first.copied(PER_RIG - 1))]


def shown(bones: Sequence[ConstrainedBone]) -> list[Array]:
    """Return the rotations of bones as Blender evaluates them, wxyz."""
    bpy.context.view_layer.update()
    return [bone.shown() for bone in bones]


def clamped_one(quaternion: Array, joint: Joint) -> Array:
    return clamped(quaternion[None], [joint])[0]


@every_joint
def test_blender_clamps_a_pose_beyond_its_limits_to_our_rotation(kind: str, limits: str) -> None:
    rng = make_rng(1)
    ours, reached, bones = [], [], constrained_bones()
    for bone in bones:
        while True:
            joint, posed = some_joint(kind, limits, rng), some_rotation(rng)
            unlimited = clamped_one(posed, Joint(joint.kind))
            if is_same_edge(joint, unlimited):
                break
        bone.set_joint(joint)
        bone.aim(posed, bone.tail(unlimited))
        ours.append(clamped_one(posed, joint))
        reached.append(unlimited)
    assert_rotations_close(ours, shown(bones), TOLERANCE)
    if limits != "none" and kind != "FIXED":
        distances = 1.0 - np.abs(np.sum(np.multiply(ours, reached), axis=1))
        assert np.mean(distances > 1e-6) > 0.2, "the limits are put to the test"


def band(kind: str, axis: int, low: float, high: float) -> Joint:
    """Return a joint with a range about one axis, degrees."""
    joint = Joint(kind)
    joint.low[axis], joint.high[axis] = np.radians((low, high))
    return joint


APART = {
    # Beyond half a turn we take the edge that is nearer on the circle, Blender on the line.
    **{
        kind: (band(kind, axis, 0, 150), *(about(axis, np.radians(a)) for a in (-150, 150, 0)))
        for axis, kind in enumerate(("HINGE_X", "HINGE_Y", "HINGE_Z"))
    },
    # Blender forgets the limit of a swing on one axis alone.
    "swing about x": (band("SWING", X, -9, 9), about(X, 1), about(X, np.radians(9)), about(X, 1)),
    "swing about z": (band("SWING", Z, -9, 9), about(Z, 1), about(Z, np.radians(9)), about(Z, 1)),
}


@pytest.mark.parametrize(("joint", "posed", "ours", "blenders"), APART.values(), ids=APART)
def test_where_blender_clamps_otherwise_we_know_how(
    joint: Joint, posed: Array, ours: Array, blenders: Array
) -> None:
    rig = ConstrainedBone(is_second=False, is_straight=False)
    rig.set_joint(joint)
    rig.aim(posed, rig.tail(posed))
    assert_rotations_close(shown([rig])[0], blenders, TOLERANCE)
    assert_rotations_close(clamped_one(posed, joint), ours)
