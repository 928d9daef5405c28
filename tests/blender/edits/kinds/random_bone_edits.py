"""Edits of bones: poses, names, new and deleted bones, and all options of posing."""

import numpy as np
from mathutils import Quaternion, Vector

from tests.blender.edits import random_scene as scene
from tests.blender.edits import random_values as draw
from tests.blender.edits.random_draws import Lookup, add_setters, edit
from tests.blender.edits.random_scene import EDITABLE_BONES, OF_BONE, OF_RIG, enter, leave_modes
from tests.blender.setups import rigs
from tests.helpers import make_rng

NAMES = draw.sampled(("Bone.0", "Bone.1", "Bone.2", "Beside.0", "A", "Zed", 'B "c" \\'))
OPTIONS = draw.one_of("use_inherit_rotation use_local_location use_relative_parent")
TIES = draw.one_of("COPY_LOCATION COPY_ROTATION CHILD_OF LIMIT_ROTATION LIMIT_SCALE IK")
RANGES = draw.sampled(((-0.5, 0.5), (0.0, 1.5), (-3.2, 3.2), (-1.0, 0.0), (0.0, 0.0)))
XYZ = draw.sampled("xyz")
MAX_BONES = 8
EDITABLE_BONE = {**EDITABLE_BONES, "bone": OF_BONE["bone"]}

add_setters(
    OF_BONE,
    move_bone=("location", Lookup(lambda number, _: 0.2 * scene.angles(number), draw.SEED)),
    scale_bone=("scale", draw.SCALE),
    set_rotation_mode=("rotation_mode", draw.sampled(rigs.ROTATION_MODES)),
    set_ik_stretch=("ik_stretch", draw.sampled((0.0, 0.1, 1.0))),
    lock_ik=("lock_ik_{}", XYZ, draw.FLAG),
    stiffen_bone=("ik_stiffness_{}", XYZ, draw.sampled((0.0, 0.5, 0.99))),
    lock_other_channel=("lock_{}.{}", draw.one_of("location scale"), draw.AXIS, draw.FLAG),
)
add_setters(
    EDITABLE_BONE,
    set_inherit_scale=(
        "bone.inherit_scale",
        draw.one_of("FULL FIX_SHEAR ALIGNED AVERAGE NONE NONE_LEGACY"),
    ),
    set_bone_option=("bone.{}", OPTIONS, draw.FLAG),
)
add_setters(EDITABLE_BONES, rest_or_pose=("data.pose_position", draw.one_of("POSE REST")))


@edit(OF_BONE, turn=draw.SEED)
def turn_bone(bone, turn):
    quaternion = Quaternion(Vector(make_rng(turn).normal(size=3)), float(scene.angles(turn)[0]))
    if bone.rotation_mode == "QUATERNION":
        bone.rotation_quaternion = quaternion
    elif bone.rotation_mode == "AXIS_ANGLE":
        axis, angle = quaternion.to_axis_angle()
        bone.rotation_axis_angle = (angle, *axis)
    else:
        bone.rotation_euler = scene.angles(turn)


@edit(OF_RIG)
def unscale_bones(ob):
    for bone in ob.pose.bones:
        bone.scale = (1.0, 1.0, 1.0)


@edit(OF_BONE, axis=draw.integers(0, 3), value=draw.FLAG)
def lock_rotation(bone, axis, value):
    if axis == 3:
        bone.lock_rotations_4d = bone.lock_rotation_w = value
    else:
        bone.lock_rotation[axis] = value


@edit(OF_BONE, axis=draw.AXIS, range_=RANGES, value=draw.FLAG)
def limit_bone(bone, axis, range_, value):
    name = "xyz"[axis]
    setattr(bone, f"use_ik_limit_{name}", value)
    setattr(bone, f"ik_min_{name}", range_[0])
    setattr(bone, f"ik_max_{name}", range_[1])


@edit(OF_BONE, j=draw.THING, other=draw.THING, tie=TIES, on_bone=draw.FLAG)
def tie_bone(bone, j, other, tie, on_bone):
    target = scene.any_object(j)
    if len(bone.constraints) > 2:
        return
    constraint = bone.constraints.new(tie)
    if hasattr(constraint, "target"):
        constraint.target = target
        target_bone = scene.bone_of(target, other)
        if on_bone and target_bone is not None:
            constraint.subtarget = target_bone.name
    if tie == "LIMIT_ROTATION":
        constraint.use_limit_x = True


@edit(OF_BONE, which=draw.THING, what=draw.sampled(("remove", "mute", "influence")))
def untie_bone(bone, which, what):
    constraint = scene.pick(bone.constraints, which)
    if constraint is None:
        return
    if what == "remove":
        bone.constraints.remove(constraint)
    elif what == "mute":
        constraint.mute = not constraint.mute
    else:
        constraint.influence = 0.5


@edit(EDITABLE_BONE, name=NAMES)
def rename_bone(ob, bone, name):
    if ob.mode != "EDIT":
        bone.name = name


@edit(OF_RIG, bone=draw.THING, seed=draw.SEED, is_connected=draw.FLAG)
def add_bone(ob, bone, seed, is_connected):
    if not enter(ob, "EDIT"):
        return
    bones = ob.data.edit_bones
    above = scene.pick(bones, bone)
    if len(bones) < MAX_BONES:
        added = bones.new("Added")
        added.head = (0.0, 0.0, 0.0) if above is None else above.tail
        added.tail = added.head + Vector(make_rng(seed).uniform(0.1, 0.8, 3))
        added.parent = above
        added.use_connect = is_connected and above is not None
    leave_modes()


@edit(OF_RIG, bone=draw.THING)
def delete_bone(ob, bone):
    if len(ob.data.bones) > 1 and enter(ob, "EDIT"):
        ob.data.edit_bones.remove(scene.pick(ob.data.edit_bones, bone))
        leave_modes()


@edit(OF_RIG, bone=draw.THING, seed=draw.SEED)
def shape_bone(ob, bone, seed):
    if ob.data.bones and enter(ob, "EDIT"):
        shaped = scene.pick(ob.data.edit_bones, bone)
        shaped.tail += Vector(np.round(make_rng(seed).uniform(-0.2, 0.2, 3), 2))
        shaped.roll += 0.1 * (seed % 5)
        leave_modes()


@edit(OF_RIG, bone=draw.THING, other=draw.THING, is_connected=draw.FLAG)
def hang_bone_elsewhere(ob, bone, other, is_connected):
    if not ob.data.bones or not enter(ob, "EDIT"):
        return
    bones = ob.data.edit_bones
    child, above = scene.pick(bones, bone), scene.pick(bones, other)
    if above == child or above in child.children_recursive:
        above = None
    child.use_connect = False
    child.parent = above
    child.use_connect = is_connected and above is not None
    leave_modes()
