"""Joints clamped by us and by Blender's IK constraint: what the evaluated pose holds is the judge.

The constraint takes up a bone's pose, removes what locked axes do not allow, and clamps what is
left to the limits. With one iteration and the target where the tip lies before the clamp, it does
nothing else: its step is zero. Blender's pose is float32, and near a half turn, where twist, swing
and Euler angles are undefined, that is not enough: such rotations are not drawn (``is_clear``).
Of a turn beyond its range we take the edge that is nearer on the circle, Blender the one that is
nearer on the line: turns where the two differ are judged apart (``is_same_edge``).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Joint:
    """What a bone's IK locks and limits say: radians about x, y, z; infinite without a limit."""

    kind: str
    low: Array
    high: Array


def clamped(rotations: Array, joints: Sequence[Joint]) -> Array:
    """Return the rotations wxyz (n, 4) as the joints let them be."""
    kinds = tuple(JointKind[joint.kind] for joint in joints)
    low, high = (np.array([getattr(joint, edge) for joint in joints]) for edge in ("low", "high"))
    return clamp_rotations(kinds, rotations, low, high)


TOLERANCE = 5e-6  # of quaternions: 1e-5 radians; the worst of 14000 was 6.6e-6 radians
PER_RIG = 40
X, Y, Z = range(3)
FREE_AXES = {
    "BALL": "xyz",
    "SWING": "xz",
    "ELBOW_X": "xy",
    "ELBOW_Z": "yz",
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
every_kind = pytest.mark.parametrize("kind", FREE_AXES)
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
    return Joint(kind, np.where(limited, low, -np.inf), np.where(limited, high, np.inf))


def without_limits(joint: Joint) -> Joint:
    return Joint(joint.kind, np.full(3, -np.inf), np.full(3, np.inf))


def about(axis: int, angle: float) -> Array:
    return rotation.quaternion_from_axis_angle(np.array([angle, *np.eye(3)[axis]]))


def elbow(kind: str, angle: float, twist: float) -> Array:
    return rotation.multiply(about(X if kind == "ELBOW_X" else Z, angle), about(Y, twist))


def elbow_angles(kind: str, quaternion: Array) -> tuple[float, float]:
    """Return angle and twist of an elbow's rotation."""
    w, x, y, z = quaternion
    half = np.arctan2(y, w)
    across = x * np.cos(half) + z * np.sin(half)
    if kind == "ELBOW_Z":
        across = z * np.cos(half) - x * np.sin(half)
    return 2.0 * np.arctan2(across, np.hypot(w, y)), 2.0 * half


def posed_for_blender(kind: str, quaternion: Array) -> Array:
    """Return what to pose for Blender to take up this rotation, which it misreads of a Z elbow."""
    if kind != "ELBOW_Z":
        return quaternion
    angle, twist = elbow_angles(kind, quaternion)
    return elbow(kind, np.arctan2(np.sin(angle) * np.cos(twist), np.cos(angle)), twist)


def some_rotation(kind: str, rng: np.random.Generator) -> Array:
    """Return any rotation, but of an elbow one of its own, twisted by less than 70 degrees."""
    if kind.startswith("ELBOW"):
        return elbow(kind, rng.uniform(-2.7, 2.7), rng.uniform(-1.2, 1.2))
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
    if kind.startswith("ELBOW"):
        angle, twist = elbow_angles(kind, quaternion)
        return {X if kind == "ELBOW_X" else Z: angle, Y: twist}
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

    def set_joint(self, joint: Joint, parent: str = "FIXED") -> None:
        """Set locks and limits of the bone; the one above holds still or turns freely."""
        set_joint(self.root, without_limits(Joint(parent, joint.low, joint.high)))
        set_joint(self.bone, joint)

    def tail(self, quaternion: Array) -> Array:
        """Return where the tail lies with this rotation, under a parent at rest."""
        matrix = self.rest[:3, :3] @ rotation.matrix_from_quaternion(quaternion)
        return self.rest[:3, 3] + matrix[:, 1] * self.bone.bone.length

    def aim(self, start: Array, target: Array, iterations: int = 500) -> None:
        """Pose the bone and place its target, for the next update."""
        self.bone.rotation_quaternion = start
        self.target.location = target
        self.constraint.iterations = iterations

    def solved(self, start: Array, target: Array, iterations: int = 500) -> Array:
        """Return the evaluated rotation of the bone, wxyz."""
        self.aim(start, target, iterations)
        return shown([self])[0]

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
            joint, posed = some_joint(kind, limits, rng), some_rotation(kind, rng)
            unlimited = clamped_one(posed, without_limits(joint))
            if is_same_edge(joint, unlimited):
                break
        bone.set_joint(joint)
        bone.aim(posed_for_blender(kind, posed), bone.tail(unlimited), iterations=1)
        ours.append(clamped_one(posed, joint))
        reached.append(unlimited)
    assert_rotations_close(ours, shown(bones), TOLERANCE)
    if limits != "none" and kind != "FIXED":
        distances = 1.0 - np.abs(np.sum(np.multiply(ours, reached), axis=1))
        assert np.mean(distances > 1e-6) > 0.2, "the limits are put to the test"


@pytest.mark.parametrize("kind", ["HINGE_X", "HINGE_Y", "HINGE_Z"])
def test_a_turn_beyond_a_half_goes_to_the_nearer_edge_for_us_and_not_for_blender(kind: str) -> None:
    rig = ConstrainedBone(is_second=False, is_straight=False)
    axis = "XYZ".index(kind[-1])
    joint = Joint(kind, np.zeros(3), np.full(3, np.radians(150.0)))
    posed = about(axis, np.radians(-150.0))
    rig.set_joint(joint)
    assert_rotations_close(rig.solved(posed, rig.tail(posed), 1), about(axis, 0.0), TOLERANCE)
    assert_rotations_close(clamped_one(posed, joint), about(axis, np.radians(150.0)))


@every_joint
def test_blender_keeps_what_we_clamped(kind: str, limits: str) -> None:
    rng = make_rng(2)
    ours, bones = [], constrained_bones()
    for bone in bones:
        joint, quaternion = some_clamped(kind, limits, rng)
        bone.set_joint(joint)
        bone.aim(posed_for_blender(kind, quaternion), bone.tail(quaternion))
        ours.append(quaternion)
    assert_rotations_close(ours, shown(bones), TOLERANCE)


def some_clamped(kind: str, limits: str, rng: np.random.Generator) -> tuple[Joint, Array]:
    while True:
        joint = some_joint(kind, limits, rng)
        quaternion = clamped_one(some_rotation(kind, rng), joint)
        if is_clear(quaternion):
            return joint, quaternion


@every_joint
def test_whatever_blender_solves_we_leave_as_it_is(kind: str, limits: str) -> None:
    rng = make_rng(3)
    drawn, bones = [], constrained_bones()
    for bone in bones:
        drawn.append(some_joint(kind, limits, rng))
        bone.set_joint(drawn[-1], parent="BALL")
        bone.aim(some_rotation(kind, rng), 2.0 * rng.normal(size=3))
    pairs = [pair for pair in zip(drawn, shown(bones), strict=True) if is_clear(pair[1])]
    assert len(pairs) > 2 * PER_RIG
    joints, blenders = zip(*pairs, strict=True)
    assert_rotations_close(clamped(np.array(blenders), joints), blenders, TOLERANCE)


@every_joint
def test_what_is_clamped_is_not_clamped_again(kind: str, limits: str) -> None:
    rng = make_rng(4)
    joints = [some_joint(kind, limits, rng) for _ in range(500)]
    once = clamped(rotation.normalize(rng.normal(size=(500, 4))), joints)
    np.testing.assert_allclose(np.linalg.norm(once, axis=1), 1.0, atol=1e-12)
    assert_rotations_close(clamped(once, joints), once, 1e-7)


@every_kind
def test_both_quaternions_of_a_rotation_are_clamped_alike(kind: str) -> None:
    rng = make_rng(5)
    joints = [some_joint(kind, "all", rng) for _ in range(500)]
    quaternions = rotation.normalize(rng.normal(size=(500, 4)))
    assert_rotations_close(clamped(-quaternions, joints), clamped(quaternions, joints), 1e-12)


@every_joint
def test_half_turns_are_clamped_to_within_the_limits(kind: str, limits: str) -> None:
    rng = make_rng(6)
    joints = [some_joint(kind, limits, rng) for _ in range(150)]
    quaternions = np.zeros((150, 4))
    quaternions[:, 1:] = np.vstack((np.tile(np.eye(3), (25, 1)), rng.normal(size=(75, 3))))
    quaternions[:, 2] *= np.arange(150) % 2
    quaternions[:, 1] += quaternions[:, 1:].sum(axis=1) == 0.0
    once = clamped(rotation.normalize(quaternions), joints)
    assert np.all(np.isfinite(once))
    assert_rotations_close(clamped(once, joints), once, 1e-7)


@pytest.mark.parametrize("is_second", [False, True], ids=["root", "second"])
def test_a_fixed_bone_drops_its_pose(is_second: bool) -> None:
    rig = ConstrainedBone(is_second=is_second, is_straight=False)
    joint = some_joint("FIXED", "all", make_rng(8))
    posed = some_rotation("FIXED", make_rng(8))
    rig.set_joint(joint)
    at_rest = np.array([1.0, 0.0, 0.0, 0.0])
    assert_rotations_close(rig.solved(posed, rig.tail(posed)), at_rest, TOLERANCE)
    assert_rotations_close(clamped_one(posed, joint), at_rest)


@pytest.mark.parametrize("axis", [X, Z], ids=["x", "z"])
def test_a_swing_with_one_limit_is_limited_by_us_and_not_by_blender(axis: int) -> None:
    rig = ConstrainedBone(is_second=False, is_straight=False)
    low, high = np.full(3, -np.inf), np.full(3, np.inf)
    low[axis], high[axis] = -0.2, 0.2
    joint, posed = Joint("SWING", low, high), about(axis, 1.0)
    rig.set_joint(joint)
    assert_rotations_close(rig.solved(posed, rig.tail(posed), 1), posed, TOLERANCE)
    assert_rotations_close(clamped_one(posed, joint), about(axis, 0.2))


@pytest.mark.parametrize(
    ("kind", "angle", "twist", "blenders_angle"),
    [("ELBOW_X", 30.0, 120.0, -150.0), ("ELBOW_Z", 40.0, 60.0, 59.2095)],
)
def test_a_twisted_elbow_is_misread_by_blender_and_not_by_us(
    kind: str, angle: float, twist: float, blenders_angle: float
) -> None:
    rig = ConstrainedBone(is_second=False, is_straight=False)
    posed, misread = (elbow(kind, *np.radians((a, twist))) for a in (angle, blenders_angle))
    joint = some_joint(kind, "none", make_rng(0))
    rig.set_joint(joint)
    assert_rotations_close(rig.solved(posed, rig.tail(misread), 1), misread, TOLERANCE)
    assert_rotations_close(clamped_one(posed, joint), posed)
