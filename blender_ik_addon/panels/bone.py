"""The tab of a bone in the Properties editor: what it may do in the chains that drive it."""

from __future__ import annotations

from typing import cast

import bpy

from ..properties import (
    ChainSettings,
    JointSettings,
    active_chain,
    bones_of_chain,
    chain_key,
    chains_of,
)
from ..translations import translate
from .joint_fields import draw_joint


class BONE_PT_chain_ik(bpy.types.Panel):
    """The joints of a bone, below Blender's own settings of it for IK."""

    bl_label = "Chain IK"
    bl_space_type = "PROPERTIES"
    bl_region_type = "WINDOW"
    bl_context = "bone"
    bl_parent_id = "BONE_PT_inverse_kinematics"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return bool(_chains_of_bone(context))

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        for chain in _chains_of_bone(context):
            column = layout.column()
            column.active = not chain.mute
            column.label(text=chain.name, translate=False, icon="CON_KINEMATIC")
            _draw_chain(column, chain, context.bone.name)


def _chains_of_bone(context: bpy.types.Context) -> list[ChainSettings]:
    """Return the chains that drive the bone of the tab, the active chain first."""
    owner, bone = context.object, context.bone
    # A pinned bone of another armature is not what the button would add a joint for.
    if owner is None or owner != context.active_object or bone is None:
        return []
    chains, active = cast("list[ChainSettings]", chains_of(owner)), active_chain(context)
    driving = [chain for chain in chains if bone.name in bones_of_chain(chain)]
    return sorted(driving, key=lambda chain: chain != active)


def _draw_chain(layout: bpy.types.UILayout, chain: ChainSettings, bone: str) -> None:
    joints = _joints_of_bone(chain, bone)
    if not chain.use_limits:
        layout.label(text="Limits are off in this chain", icon="INFO")
    held = layout.column()
    held.active = chain.use_limits
    for joint in joints:
        if joint.bone != bone:
            held.label(text=translate(f"Held by the joint of {joint.bone}"), translate=False)
        draw_joint(held, joint, chain)
    if not joints:
        held.label(text="Uses the locks and limits above")
    if all(joint.bone != bone for joint in joints):
        held.operator("pose.chain_ik_joint_add", icon="ADD").index = chain_key(chain)[1]


def _joints_of_bone(chain: ChainSettings, bone: str) -> list[JointSettings]:
    """Return the joints that a bone has in a chain, and those that hold it from its parent."""
    bones = bones_of_chain(chain)
    before = bones[max(bones.index(bone) - 1, 0)]
    return [
        joint
        for joint in chain.joints
        if joint.bone == bone or (joint.bone == before and joint.relative_to == "CHILD")
    ]


register, unregister = bpy.utils.register_classes_factory((BONE_PT_chain_ik,))
