"""The panel of a bone in the Properties editor: its joints in the chains that drive it."""

from __future__ import annotations

from typing import cast

import bpy

from ..core.model.message import Message
from ..properties.chains import active_chain, chain_key, chains_of
from ..properties.joints.joint_definitions import JointSettings
from ..properties.records import bones_of_chains
from ..properties.settings import ChainSettings
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
        for chain, bones in _chains_of_bone(context):
            column = layout.column()
            column.active = not chain.mute
            column.label(text=chain.name, translate=False, icon="CON_KINEMATIC")
            _draw_chain(column, chain, bones, context.bone.name)


def _chains_of_bone(context: bpy.types.Context) -> list[tuple[ChainSettings, list[str]]]:
    """Return the chains that drive the bone of the tab, active one first, with their bones."""
    owner, bone = context.object, context.bone
    # The tab may be pinned to a bone of another armature, which the button would not change.
    if owner is None or owner != context.active_object or bone is None:
        return []
    # This runs at every redraw, so the bones of all chains are read at once.
    chains, active = cast("list[ChainSettings]", chains_of(owner)), active_chain(context)
    pairs = zip(chains, bones_of_chains(owner), strict=True)
    driving = [(chain, bones) for chain, bones in pairs if bone.name in bones]
    return sorted(driving, key=lambda pair: pair[0] != active)


def _draw_chain(
    layout: bpy.types.UILayout, chain: ChainSettings, bones: list[str], bone: str
) -> None:
    joints = _joints_of_bone(chain, bones, bone)
    if not chain.use_limits:
        layout.label(text="Limits are off in this chain", icon="INFO")
    column = layout.column()
    column.active = chain.use_limits
    for joint in joints:
        if joint.bone != bone:
            column.label(
                text=translate(Message("Limited by the joint of {bone}", bone=joint.bone)),
                translate=False,
            )
        draw_joint(column, joint, chain)
    if not joints:
        column.label(text="Uses the locks and limits above")
    if all(joint.bone != bone for joint in joints):
        column.operator("pose.chain_ik_joint_add", icon="ADD").index = chain_key(chain)[1]


def _joints_of_bone(chain: ChainSettings, bones: list[str], bone: str) -> list[JointSettings]:
    """Return the joints that a bone has in a chain, and those that hold it from its parent."""
    above = bones[max(bones.index(bone) - 1, 0)]
    return [
        joint
        for joint in chain.joints
        if joint.bone == bone or (joint.bone == above and joint.relative_to == "CHILD")
    ]
