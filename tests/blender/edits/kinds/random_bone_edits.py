"""Edits of bones: posed, renamed, made and deleted, and all options that posing knows."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from mathutils import Quaternion, Vector

from tests.blender.edits.random_scene import (
    AXIS,
    FLAG,
    SCALE,
    SEED,
    THING,
    angles,
    any_object,
    armature,
    bone_of,
    edit,
    enter,
    picked,
)
from tests.blender.setups import rigs
from tests.helpers import make_rng

BONE_NAMES = st.sampled_from(("Bone.0", "Bone.1", "Bone.2", "Beside.0", "A", "Zed", 'B "c" \\'))
INHERIT = st.sampled_from(("FULL", "FIX_SHEAR", "ALIGNED", "AVERAGE", "NONE", "NONE_LEGACY"))
OPTIONS = st.sampled_from(("use_inherit_rotation", "use_local_location", "use_relative_parent"))
TIES = st.sampled_from(
    ("COPY_LOCATION", "COPY_ROTATION", "CHILD_OF", "LIMIT_ROTATION", "LIMIT_SCALE", "IK")
)
RANGES = ((-0.5, 0.5), (0.0, 1.5), (-3.2, 3.2), (-1.0, 0.0), (0.0, 0.0))
MOST_BONES = 8


class PoseEdits:
    """What is done to pose bones."""

    @edit(i=THING, bone=THING, turn=SEED)
    def turn_bone(self, i, bone, turn):
        pose_bone = bone_of(armature(i), bone)
        if pose_bone is None:
            return
        quaternion = Quaternion(Vector(make_rng(turn).normal(size=3)), float(angles(turn)[0]))
        if pose_bone.rotation_mode == "QUATERNION":
            pose_bone.rotation_quaternion = quaternion
        elif pose_bone.rotation_mode == "AXIS_ANGLE":
            axis, angle = quaternion.to_axis_angle()
            pose_bone.rotation_axis_angle = (angle, *axis)
        else:
            pose_bone.rotation_euler = angles(turn)

    @edit(i=THING, bone=THING, place=SEED)
    def move_bone(self, i, bone, place):
        if (pose_bone := bone_of(armature(i), bone)) is not None:
            pose_bone.location = 0.2 * angles(place)

    @edit(i=THING, bone=THING, scale=SCALE)
    def scale_bone(self, i, bone, scale):
        if (pose_bone := bone_of(armature(i), bone)) is not None:
            pose_bone.scale = scale

    @edit(i=THING)
    def unscale_bones(self, i):
        ob = armature(i)
        for pose_bone in ob.pose.bones if ob is not None else ():
            pose_bone.scale = (1.0, 1.0, 1.0)

    @edit(i=THING, bone=THING, mode=st.sampled_from(rigs.ROTATION_MODES))
    def set_rotation_mode(self, i, bone, mode):
        if (pose_bone := bone_of(armature(i), bone)) is not None:
            pose_bone.rotation_mode = mode

    @edit(i=THING, bone=THING, axis=st.integers(0, 3), value=FLAG)
    def lock_rotation(self, i, bone, axis, value):
        pose_bone = bone_of(armature(i), bone)
        if pose_bone is None:
            return
        if axis == 3:
            pose_bone.lock_rotations_4d = pose_bone.lock_rotation_w = value
        else:
            pose_bone.lock_rotation[axis] = value

    @edit(i=THING, bone=THING, axis=AXIS, value=FLAG, of=st.sampled_from(("location", "scale")))
    def lock_other_channel(self, i, bone, axis, value, of):
        if (pose_bone := bone_of(armature(i), bone)) is not None:
            getattr(pose_bone, f"lock_{of}")[axis] = value

    @edit(i=THING, bone=THING, axis=AXIS, range_=st.sampled_from(RANGES), value=FLAG)
    def limit_bone(self, i, bone, axis, range_, value):
        pose_bone = bone_of(armature(i), bone)
        if pose_bone is None:
            return
        name = "xyz"[axis]
        setattr(pose_bone, f"use_ik_limit_{name}", value)
        setattr(pose_bone, f"ik_min_{name}", range_[0])
        setattr(pose_bone, f"ik_max_{name}", range_[1])

    @edit(i=THING, bone=THING, axis=AXIS, value=FLAG)
    def lock_ik(self, i, bone, axis, value):
        if (pose_bone := bone_of(armature(i), bone)) is not None:
            setattr(pose_bone, f"lock_ik_{'xyz'[axis]}", value)

    @edit(i=THING, bone=THING, axis=AXIS, value=st.sampled_from((0.0, 0.5, 0.99)))
    def stiffen_bone(self, i, bone, axis, value):
        if (pose_bone := bone_of(armature(i), bone)) is not None:
            setattr(pose_bone, f"ik_stiffness_{'xyz'[axis]}", value)

    @edit(i=THING, bone=THING, value=st.sampled_from((0.0, 0.1, 1.0)))
    def set_ik_stretch(self, i, bone, value):
        if (pose_bone := bone_of(armature(i), bone)) is not None:
            pose_bone.ik_stretch = value

    @edit(i=THING, value=FLAG)
    def rest_or_pose(self, i, value):
        ob = armature(i)
        if ob is not None and ob.data.is_editable:
            ob.data.pose_position = "POSE" if value else "REST"

    @edit(i=THING, bone=THING, j=THING, other=THING, tie=TIES, on_bone=FLAG)
    def tie_bone(self, i, bone, j, other, tie, on_bone):
        pose_bone, target = bone_of(armature(i), bone), any_object(j)
        if pose_bone is None or len(pose_bone.constraints) > 2:
            return
        constraint = pose_bone.constraints.new(tie)
        if hasattr(constraint, "target"):
            constraint.target = target
            target_bone = bone_of(target, other)
            if on_bone and target_bone is not None:
                constraint.subtarget = target_bone.name
        if tie == "LIMIT_ROTATION":
            constraint.use_limit_x = True

    @edit(i=THING, bone=THING, which=THING, what=st.sampled_from(("remove", "mute", "influence")))
    def untie_bone(self, i, bone, which, what):
        pose_bone = bone_of(armature(i), bone)
        constraint = picked(pose_bone.constraints, which) if pose_bone is not None else None
        if constraint is None:
            return
        if what == "remove":
            pose_bone.constraints.remove(constraint)
        elif what == "mute":
            constraint.mute = not constraint.mute
        else:
            constraint.influence = 0.5


class BoneEdits:
    """What is done to the bones themselves."""

    @edit(i=THING, bone=THING, name=BONE_NAMES)
    def rename_bone(self, i, bone, name):
        ob = armature(i)
        pose_bone = bone_of(ob, bone)
        if pose_bone is not None and ob.data.is_editable and ob.mode != "EDIT":
            pose_bone.name = name

    @edit(i=THING, bone=THING, value=INHERIT)
    def set_inherit_scale(self, i, bone, value):
        pose_bone = bone_of(armature(i), bone)
        if pose_bone is not None and pose_bone.id_data.data.is_editable:
            pose_bone.bone.inherit_scale = value

    @edit(i=THING, bone=THING, option=OPTIONS, value=FLAG)
    def set_bone_option(self, i, bone, option, value):
        pose_bone = bone_of(armature(i), bone)
        if pose_bone is not None and pose_bone.id_data.data.is_editable:
            setattr(pose_bone.bone, option, value)

    @edit(i=THING, bone=THING, seed=SEED, is_connected=FLAG)
    def add_bone(self, i, bone, seed, is_connected):
        ob = armature(i)
        if ob is None or not enter(ob, "EDIT"):
            return
        bones = ob.data.edit_bones
        above = picked(bones, bone)
        if len(bones) < MOST_BONES:
            added = bones.new("Added")
            added.head = (0.0, 0.0, 0.0) if above is None else above.tail
            added.tail = added.head + Vector(make_rng(seed).uniform(0.1, 0.8, 3))
            added.parent = above
            added.use_connect = is_connected and above is not None
        self.leave_modes()

    @edit(i=THING, bone=THING)
    def delete_bone(self, i, bone):
        ob = armature(i)
        if ob is None or len(ob.data.bones) < 2 or not enter(ob, "EDIT"):
            return
        ob.data.edit_bones.remove(picked(ob.data.edit_bones, bone))
        self.leave_modes()

    @edit(i=THING, bone=THING, seed=SEED)
    def shape_bone(self, i, bone, seed):
        ob = armature(i)
        if ob is None or not ob.data.bones or not enter(ob, "EDIT"):
            return
        shaped = picked(ob.data.edit_bones, bone)
        shaped.tail += Vector(np.round(make_rng(seed).uniform(-0.2, 0.2, 3), 2))
        shaped.roll += 0.1 * (seed % 5)
        self.leave_modes()

    @edit(i=THING, bone=THING, other=THING, is_connected=FLAG)
    def hang_bone_elsewhere(self, i, bone, other, is_connected):
        ob = armature(i)
        if ob is None or not ob.data.bones or not enter(ob, "EDIT"):
            return
        bones = ob.data.edit_bones
        child, above = picked(bones, bone), picked(bones, other)
        if above == child or above in child.children_recursive:
            above = None
        child.use_connect = False
        child.parent = above
        child.use_connect = is_connected and above is not None
        self.leave_modes()
