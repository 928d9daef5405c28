"""``rig.reading.spaces`` against Blender: the evaluated ``PoseBone.matrix`` is the reference.

Blender evaluates a pose in float32, one step of which is 1.2e-7, and rounds after every product.
The figures below are a few such steps, relative to the largest number in the matrix at hand; 2000
bones of each mode stay below four fifths of them. Where a parent is sheared, straightening it
divides by the sine of its narrowest angle, so ``FORWARD`` is multiplied by its condition number.
"""

from typing import NamedTuple

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from blender_ik_addon.core.algebra import rotation
from blender_ik_addon.rig.planning.known_skeletons import skeleton_of
from blender_ik_addon.rig.reading import spaces
from blender_ik_addon.rig.reading.spaces import InheritScale
from tests.blender.setups import rigs
from tests.helpers import Array

FORWARD = 4.5e-7  # one bone under the parent that Blender shows
INVERSE = 1e-6  # its rotation back, as matrix entries
HEAD = 5e-7  # its head

every_mode = pytest.mark.parametrize("mode", list(InheritScale), ids=lambda mode: mode.name)


class Rig(NamedTuple):
    """The pose that Blender evaluates, and inputs and heads of ``spaces``; rows are bones."""

    frames: spaces.ParentFrames
    rotation: Array
    scale: Array
    heads: Array
    pose: Array
    parent_pose: Array


def read(ob: bpy.types.Object) -> Rig:
    rigs.updated()
    skeleton, bones = skeleton_of(ob), ob.pose.bones
    pose = np.array([bone.matrix for bone in bones])
    above = np.where((skeleton.parents < 0)[:, None, None], np.eye(4), pose[skeleton.parents])
    heads = skeleton.heads(np.arange(len(bones)), np.array([bone.location for bone in bones]))
    return Rig(
        spaces.parent_frames(above[:, :3, :3], skeleton.frames),
        # Normalised and turned into a matrix in float32, as Blender does on the way to a pose.
        np.array([bone.rotation_quaternion.normalized().to_matrix() for bone in bones]),
        np.array([bone.scale for bone in bones]),
        spaces.transform_point(above, heads),
        pose,
        above,
    )


def build(rng: np.random.Generator, settings, chains: int = 8) -> bpy.types.Object:
    """Build chains of 4 to 6 bones; ``settings(depth)`` returns how a bone inherits."""
    armature_object = rigs.make_armature()
    armature = armature_object.data
    rigs.enter(armature_object, "EDIT")
    for chain in range(chains):
        parent = None
        for depth in range(4 + chain % 3):
            mode, turns, local_location, connected = settings(depth)
            bone = armature.edit_bones.new(f"{chain}.{depth}")
            bone.parent = parent
            bone.head = rng.normal(size=3) + (np.zeros(3) if parent is None else parent.tail)
            if connected and parent is not None:
                bone.head, bone.use_connect = parent.tail, True
            bone.tail = np.array(bone.head) + random_direction(rng) * rng.uniform(0.3, 1.5)
            bone.roll = rng.uniform(-np.pi, np.pi)
            bone.inherit_scale, bone.use_inherit_rotation = InheritScale(mode).name, turns
            bone.use_local_location = local_location
            parent = bone
    bpy.ops.object.mode_set(mode="OBJECT")
    for pose_bone in armature_object.pose.bones:
        pose_bone.rotation_quaternion = random_direction(rng, axes=4)
        pose_bone.scale = rng.choice([-1.0, 1.0], 3) * rng.uniform(0.5, 2.0, 3)
        pose_bone.location = rng.normal(size=3)
    return armature_object


def random_direction(rng: np.random.Generator, *shape: int, axes: int = 3) -> Array:
    vector = rng.normal(size=(*shape, axes))
    return vector / np.linalg.norm(vector, axis=-1, keepdims=True)


def one_mode(mode, turns=True, rng: np.random.Generator | None = None):
    """Return settings of bones of one mode under sheared parents, which inherit everything.

    With random numbers some are connected, and some have their locations in their parents' axes.
    """

    def settings(depth: int):
        local, connected = (True, False) if rng is None else map(bool, rng.integers(2, size=2))
        inherits = (InheritScale.FULL, True) if depth in (1, 4) else (mode, turns)
        return (*inherits, local, connected)

    return settings


def stretch(parent_pose: Array) -> Array:
    axes = parent_pose[:, :3, :3]
    return np.linalg.cond(axes / np.linalg.norm(axes, axis=-2, keepdims=True))


def relative(difference: Array, *sizes: Array) -> Array:
    largest = np.max([np.abs(size).reshape(len(size), -1).max(axis=1) for size in sizes], axis=0)
    return np.abs(difference).reshape(len(difference), -1).max(axis=1) / largest


@pytest.mark.every_case
@every_mode
@pytest.mark.parametrize("turns", [True, False])
def test_pose_head_and_rotation_are_what_blender_shows(mode, turns):
    rng = np.random.default_rng([1, mode, turns])
    rig = read(build(rng, one_mode(mode, turns, rng), chains=16))
    pose = spaces.pose_from_local(rig.frames, rig.rotation, rig.scale)
    shown = rig.pose[:, :3, :3]
    assert np.max(relative(pose - shown, shown) / stretch(rig.parent_pose)) < FORWARD
    assert np.max(relative(rig.heads - rig.pose[:, :3, 3], rig.pose, rig.parent_pose)) < HEAD
    local = spaces.local_from_pose(rig.frames, shown, rig.scale)
    assert np.max(np.abs(local - rig.rotation)) < INVERSE
    # A bone that is turned in armature space keeps its Y direction.
    turn = rotation.matrix_from_quaternion(rotation.between(*random_direction(rng, 2)))
    turned = turn @ shown
    local = spaces.local_from_pose(rig.frames, turned, rig.scale)
    y, goal = spaces.pose_from_local(rig.frames, local, rig.scale)[..., 1], turned[..., 1]
    lengths = np.linalg.norm(y, axis=-1) * np.linalg.norm(goal, axis=-1)
    assert np.max(np.abs(np.sum(y * goal, axis=-1) / lengths - 1.0)) < 1e-12
    assert np.max(np.abs(np.linalg.det(local) - 1.0)) < 1e-12


@every_mode
@pytest.mark.parametrize("shear", [0.95e-4, 1.05e-4, 1e-3, 0.99])
def test_shear_is_straightened_from_where_blender_starts(mode, shear):
    armature_object = build(np.random.default_rng(7), one_mode(mode), chains=1)
    root, middle, bone = armature_object.pose.bones[:3]
    for pose_bone in (root, middle, bone):
        pose_bone.rotation_quaternion = (1.0, 0.0, 0.0, 0.0)
        pose_bone.scale = (1.0, 1.0, 1.0)
    # A scale along the diagonal between the middle bone's X and Z shears these axes.
    long = np.sqrt((1.0 + shear) / (1.0 - shear))
    diagonal = Matrix.Rotation(np.pi / 4.0, 4, "Y")
    root.matrix_basis = Matrix.Diagonal((long, 1.0, 1.0, 1.0))
    rest = root.bone.matrix_local.to_3x3().inverted() @ middle.bone.matrix_local.to_3x3()
    middle.rotation_quaternion = (rest.inverted() @ diagonal.to_3x3()).to_quaternion()
    rig = read(armature_object)
    x, _, z = np.moveaxis(rig.pose[1, :3, :3] / np.linalg.norm(rig.pose[1, :3, :3], axis=0), -1, 0)
    assert abs(x @ z) == pytest.approx(shear, rel=0.02)
    pose = spaces.pose_from_local(rig.frames, rig.rotation, rig.scale)
    error = relative(pose - rig.pose[:, :3, :3], rig.pose[:, :3, :3])
    assert np.max(error / stretch(rig.parent_pose)) < FORWARD
