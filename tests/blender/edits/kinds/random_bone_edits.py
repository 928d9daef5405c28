"""Edits of bones: posed, renamed, made and deleted, and all options that posing knows."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from mathutils import Quaternion, Vector

from tests.blender.edits.random_draws import AXIS, FLAG, SCALE, SEED, THING, edit, setters
from tests.blender.edits.random_scene import (
    OF_BONE,
    OF_OWN_BONES,
    OF_RIG,
    angles,
    any_object,
    bone_of,
    enter,
    leave_modes,
    picked,
)
from tests.blender.setups import rigs
from tests.helpers import make_rng

NAMES = st.sampled_from(("Bone.0", "Bone.1", "Bone.2", "Beside.0", "A", "Zed", 'B "c" \\'))
INHERIT = st.sampled_from(("FULL", "FIX_SHEAR", "ALIGNED", "AVERAGE", "NONE", "NONE_LEGACY"))
OPTIONS = st.sampled_from(("use_inherit_rotation", "use_local_location", "use_relative_parent"))
TIES = st.sampled_from(
    ("COPY_LOCATION", "COPY_ROTATION", "CHILD_OF", "LIMIT_ROTATION", "LIMIT_SCALE", "IK")
)
RANGES = st.sampled_from(((-0.5, 0.5), (0.0, 1.5), (-3.2, 3.2), (-1.0, 0.0), (0.0, 0.0)))
MOST_BONES = 8
OF_OWN_BONE = {**OF_OWN_BONES, "bone": OF_BONE["bone"]}

setters(
    OF_BONE,
    scale_bone={"scale": SCALE},
    set_rotation_mode={"rotation_mode": st.sampled_from(rigs.ROTATION_MODES)},
    set_ik_stretch={"ik_stretch": st.sampled_from((0.0, 0.1, 1.0))},
)
setters(OF_OWN_BONE, set_inherit_scale={"bone.inherit_scale": INHERIT})


@edit(OF_BONE, turn=SEED)
def turn_bone(bone, turn):
    quaternion = Quaternion(Vector(make_rng(turn).normal(size=3)), float(angles(turn)[0]))
    if bone.rotation_mode == "QUATERNION":
        bone.rotation_quaternion = quaternion
    elif bone.rotation_mode == "AXIS_ANGLE":
        axis, angle = quaternion.to_axis_angle()
        bone.rotation_axis_angle = (angle, *axis)
    else:
        bone.rotation_euler = angles(turn)


@edit(OF_BONE, place=SEED)
def move_bone(bone, place):
    bone.location = 0.2 * angles(place)


@edit(OF_RIG)
def unscale_bones(ob):
    for bone in ob.pose.bones:
        bone.scale = (1.0, 1.0, 1.0)


@edit(OF_BONE, axis=st.integers(0, 3), value=FLAG)
def lock_rotation(bone, axis, value):
    if axis == 3:
        bone.lock_rotations_4d = bone.lock_rotation_w = value
    else:
        bone.lock_rotation[axis] = value


@edit(OF_BONE, axis=AXIS, value=FLAG, of=st.sampled_from(("location", "scale")))
def lock_other_channel(bone, axis, value, of):
    getattr(bone, f"lock_{of}")[axis] = value


@edit(OF_BONE, axis=AXIS, range_=RANGES, value=FLAG)
def limit_bone(bone, axis, range_, value):
    name = "xyz"[axis]
    setattr(bone, f"use_ik_limit_{name}", value)
    setattr(bone, f"ik_min_{name}", range_[0])
    setattr(bone, f"ik_max_{name}", range_[1])


@edit(OF_BONE, axis=AXIS, value=FLAG)
def lock_ik(bone, axis, value):
    setattr(bone, f"lock_ik_{'xyz'[axis]}", value)


@edit(OF_BONE, axis=AXIS, value=st.sampled_from((0.0, 0.5, 0.99)))
def stiffen_bone(bone, axis, value):
    setattr(bone, f"ik_stiffness_{'xyz'[axis]}", value)


@edit(OF_OWN_BONES, value=FLAG)
def rest_or_pose(ob, value):
    ob.data.pose_position = "POSE" if value else "REST"


@edit(OF_BONE, j=THING, other=THING, tie=TIES, on_bone=FLAG)
def tie_bone(bone, j, other, tie, on_bone):
    target = any_object(j)
    if len(bone.constraints) > 2:
        return
    constraint = bone.constraints.new(tie)
    if hasattr(constraint, "target"):
        constraint.target = target
        target_bone = bone_of(target, other)
        if on_bone and target_bone is not None:
            constraint.subtarget = target_bone.name
    if tie == "LIMIT_ROTATION":
        constraint.use_limit_x = True


@edit(OF_BONE, which=THING, what=st.sampled_from(("remove", "mute", "influence")))
def untie_bone(bone, which, what):
    constraint = picked(bone.constraints, which)
    if constraint is None:
        return
    if what == "remove":
        bone.constraints.remove(constraint)
    elif what == "mute":
        constraint.mute = not constraint.mute
    else:
        constraint.influence = 0.5


@edit(OF_OWN_BONE, name=NAMES)
def rename_bone(ob, bone, name):
    if ob.mode != "EDIT":
        bone.name = name


@edit(OF_OWN_BONE, option=OPTIONS, value=FLAG)
def set_bone_option(bone, option, value):
    setattr(bone.bone, option, value)


@edit(OF_RIG, bone=THING, seed=SEED, is_connected=FLAG)
def add_bone(ob, bone, seed, is_connected):
    if not enter(ob, "EDIT"):
        return
    bones = ob.data.edit_bones
    above = picked(bones, bone)
    if len(bones) < MOST_BONES:
        added = bones.new("Added")
        added.head = (0.0, 0.0, 0.0) if above is None else above.tail
        added.tail = added.head + Vector(make_rng(seed).uniform(0.1, 0.8, 3))
        added.parent = above
        added.use_connect = is_connected and above is not None
    leave_modes()


@edit(OF_RIG, bone=THING)
def delete_bone(ob, bone):
    if len(ob.data.bones) > 1 and enter(ob, "EDIT"):
        ob.data.edit_bones.remove(picked(ob.data.edit_bones, bone))
        leave_modes()


@edit(OF_RIG, bone=THING, seed=SEED)
def shape_bone(ob, bone, seed):
    if ob.data.bones and enter(ob, "EDIT"):
        shaped = picked(ob.data.edit_bones, bone)
        shaped.tail += Vector(np.round(make_rng(seed).uniform(-0.2, 0.2, 3), 2))
        shaped.roll += 0.1 * (seed % 5)
        leave_modes()


@edit(OF_RIG, bone=THING, other=THING, is_connected=FLAG)
def hang_bone_elsewhere(ob, bone, other, is_connected):
    if not ob.data.bones or not enter(ob, "EDIT"):
        return
    bones = ob.data.edit_bones
    child, above = picked(bones, bone), picked(bones, other)
    if above == child or above in child.children_recursive:
        above = None
    child.use_connect = False
    child.parent = above
    child.use_connect = is_connected and above is not None
    leave_modes()
