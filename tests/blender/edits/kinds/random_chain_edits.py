"""Edits of chains: added, removed, set, given joints and creatures, by scripts and by buttons."""

from __future__ import annotations

import bpy
from hypothesis import strategies as st

from tests.blender.edits.random_scene import (
    FLAG,
    THING,
    any_object,
    armature,
    bone_of,
    chain_of,
    edit,
    other_object,
    picked,
)
from tests.blender.setups import rigs

SOLVERS = st.sampled_from(("NEWTON", "TWO_BONE", "FABRIK", "CCD", "FORCE", "FOLLOW"))
STARTS = st.sampled_from(("KEYED", "REST", "CURRENT"))
KINDS = st.sampled_from(
    ("BALL", "CONE", "HINGE_X", "HINGE_Y", "HINGE_Z", "ELBOW_X", "ELBOW_Z", "SWING", "FIXED")
)
FLAGS = st.sampled_from(
    (
        "use_flip_bend",
        "use_tail",
        "use_rotation",
        "use_twist_spread",
        "use_finish",
        "use_limits",
        "use_stretch",
        "use_keep_volume",
    )
)
NUMBERS = st.sampled_from(
    (
        ("influence", 0.0),
        ("influence", 0.5),
        ("influence", 0.1),
        ("influence", 0.9),
        ("influence", 1.0),
        ("pole_angle", 0.0),
        ("pole_angle", 1.0),
        ("pole_angle", -3.0),
        ("pole_mode", "FOLLOW"),
        ("pole_mode", "FOLLOW"),
        ("pole_mode", "TARGET"),
        ("pole_lean", -1.0),
        ("pole_lean", 0.0),
        ("orient_weight", 0.0),
        ("orient_weight", 0.5),
        ("orient_weight", 1.0),
        ("iterations", 1),
        ("iterations", 8),
        ("iterations", 500),
        ("tolerance", 0.0),
        ("tolerance", 0.01),
        ("tolerance", 1e-5),
        ("weight", 0.0),
        ("weight", 0.3),
        ("weight", 1.0),
        ("soft_distance", 0.0),
        ("soft_distance", 0.2),
        ("soft_distance", 10.0),
        ("max_bend", 0.3),
        ("chain_count", 0),
        ("chain_count", 1),
        ("chain_count", 2),
        ("chain_count", 3),
        ("chain_count", 300),
        ("negative_scale", "KEEP"),
        ("negative_scale", "MIRROR"),
        ("follow_lead", "ROOT"),
        ("follow_lead", "TIP"),
        ("use_anchor", True),
        ("use_anchor", False),
    )
)
FORCES = st.sampled_from(
    (
        ("stiffness_root", 0.0),
        ("stiffness_root", 3.0),
        ("stiffness_tip", 0.2),
        ("comfort_root", 0.3),
        ("comfort_tip", 0.0),
        ("mass", 0.0),
        ("mass", 2.0),
        ("gravity", 0.0),
        ("gravity", 1.0),
        ("force_mode", "CLASSIC"),
        ("force_mode", "EXACT"),
        ("force_gain", 0.3),
        ("use_gradual", True),
        ("use_gradual", False),
        ("fastest", 1.0),
        ("creature", ""),
    )
)
JOINT_VALUES = st.sampled_from(
    (
        ("use_limit_x", True),
        ("use_limit_y", True),
        ("use_limit_z", True),
        ("min_x", -0.5),
        ("max_x", 0.5),
        ("min_x", 1.0),
        ("min_z", 0.2),
        ("max_z", 2.0),
        ("cone_angle", 0.3),
        ("stiffness_x", 0.9),
        ("use_slide", True),
        ("use_slide", False),
        ("slide_max", 0.3),
        ("slide_min", -0.2),
        ("relative_to", "PARENT"),
        ("relative_to", "CHILD"),
        ("relative_to", "REST"),
    )
)
MOST_CHAINS = 4


def tell(ob: bpy.types.Object) -> None:
    """Tell Blender what it does not notice: a script has removed or moved what is in a list."""
    ob.update_tag()


def has_own_list(ob: bpy.types.Object) -> bool:
    """Tell whether Blender lets scripts remove from lists of an object: not what is linked."""
    return ob.library is None and ob.override_library is None


class ChainEdits:
    """What a script does to chains."""

    @edit(i=THING, bone=THING, j=THING)
    def add_chain(self, i, bone, j):
        ob, pose_bone = armature(i), bone_of(armature(i), bone)
        if pose_bone is not None and ob.is_editable and len(ob.chain_ik.chains) < MOST_CHAINS:
            rigs.add_chain(ob, pose_bone.name, other_object(j))

    @edit(i=THING, chain=THING)
    def remove_chain(self, i, chain):
        ob = armature(i)
        if ob is not None and ob.chain_ik.chains and has_own_list(ob):
            ob.chain_ik.chains.remove(chain % len(ob.chain_ik.chains))
            tell(ob)

    @edit(i=THING, chain=THING, other=THING)
    def move_chain(self, i, chain, other):
        ob = armature(i)
        if ob is not None and ob.chain_ik.chains and has_own_list(ob):
            count = len(ob.chain_ik.chains)
            ob.chain_ik.chains.move(chain % count, other % count)
            tell(ob)

    @edit(i=THING, chain=THING, name=st.sampled_from(("Chain", "Arm", "", "Leg")))
    def rename_chain(self, i, chain, name):
        if (settings := chain_of(armature(i), chain)) is not None:
            settings.name = name

    @edit(i=THING, chain=THING, solver=SOLVERS)
    def set_solver(self, i, chain, solver):
        if (settings := chain_of(armature(i), chain)) is not None:
            settings.solver = solver

    @edit(i=THING, chain=THING, start=STARTS)
    def set_start(self, i, chain, start):
        if (settings := chain_of(armature(i), chain)) is not None:
            settings.start_from = start

    @edit(i=THING, chain=THING, j=THING, bone=THING, on_bone=FLAG, word=st.booleans())
    def set_target_or_pole(self, i, chain, j, bone, on_bone, word):
        settings, target = chain_of(armature(i), chain), any_object(j)
        if settings is None:
            return
        pose_bone = bone_of(target, bone) if on_bone else None
        name = "" if pose_bone is None else pose_bone.name
        if word:
            settings.target, settings.subtarget = target, name
        else:
            settings.pole_target, settings.pole_subtarget = target, name

    @edit(i=THING, chain=THING, j=THING)
    def set_plain_pole(self, i, chain, j):
        if (settings := chain_of(armature(i), chain)) is not None:
            settings.pole_target, settings.pole_subtarget = other_object(j), ""

    @edit(i=THING, chain=THING, bone=THING)
    def aim_at_own_bone(self, i, chain, bone):
        """Have a chain follow a bone of its own armature."""
        ob = armature(i)
        settings, pose_bone = chain_of(ob, chain), bone_of(ob, bone)
        if settings is not None and pose_bone is not None:
            settings.target, settings.subtarget = ob, pose_bone.name

    @edit(i=THING, chain=THING)
    def clear_pole(self, i, chain):
        if (settings := chain_of(armature(i), chain)) is not None:
            settings.pole_target = None

    @edit(i=THING, chain=THING, bone=THING)
    def set_tip(self, i, chain, bone):
        settings, pose_bone = chain_of(armature(i), chain), bone_of(armature(i), bone)
        if settings is not None and pose_bone is not None:
            settings.bone = pose_bone.name

    @edit(i=THING, chain=THING, name=FLAGS, value=FLAG)
    def set_flag(self, i, chain, name, value):
        if (settings := chain_of(armature(i), chain)) is not None:
            setattr(settings, name, value)

    @edit(i=THING, chain=THING, value=NUMBERS)
    def set_number(self, i, chain, value):
        if (settings := chain_of(armature(i), chain)) is not None:
            setattr(settings, *value)

    @edit(i=THING, chain=THING, value=FORCES)
    def set_force(self, i, chain, value):
        settings = chain_of(armature(i), chain)
        if settings is not None and settings.solver == "FORCE":
            setattr(settings.force, *value)

    @edit(i=THING, chain=THING, value=FLAG)
    def mute_chain(self, i, chain, value):
        if (settings := chain_of(armature(i), chain)) is not None:
            settings.mute = value

    @edit(i=THING, chain=THING, bone=THING, kind=KINDS)
    def add_joint(self, i, chain, bone, kind):
        settings, pose_bone = chain_of(armature(i), chain), bone_of(armature(i), bone)
        if settings is not None and pose_bone is not None and len(settings.joints) < 3:
            joint = settings.joints.add()
            joint.kind = kind
            joint.bone = pose_bone.name

    @edit(i=THING, chain=THING, joint=THING, value=JOINT_VALUES)
    def set_joint(self, i, chain, joint, value):
        settings = chain_of(armature(i), chain)
        found = picked(settings.joints, joint) if settings is not None else None
        if found is not None:
            setattr(found, *value)
