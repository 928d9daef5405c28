"""Operators on the own joints of the active chain: copy, add, remove."""

from __future__ import annotations

import bpy
from bpy.props import IntProperty

from ..properties import (
    ChainGroup,
    bones_of_chain,
    chains_of,
    copy_joints,
    owner_of,
    remove_joint,
    take_over,
)
from . import selection
from .base import ChainOperator


class POSE_OT_chain_ik_joints_copy(ChainOperator):
    """Copy the IK limits, locks and stiffness of the chain's bones into joints of its own."""

    bl_idname = "pose.chain_ik_joints_copy"
    bl_label = "Copy Joints from Bones"
    bl_description = (
        "Copy the IK limits, locks and stiffness of the chain's bones into"
        " joints of the chain. They replace the joints that it has, except for slides; the"
        " pose does not move"
    )
    bl_options = {"REGISTER", "UNDO"}

    def act(self, context: bpy.types.Context) -> set[str]:
        self.warn_of_readers(copy_joints(selection.chain(context)))
        return {"FINISHED"}


class POSE_OT_chain_ik_joint_add(ChainOperator):
    """Add a joint of the chain for the active bone, as a copy of the bone's IK settings."""

    bl_idname = "pose.chain_ik_joint_add"
    bl_label = "Add Joint"
    bl_description = (
        "Give the active bone a joint of its own in the chain, which begins as a copy of the"
        " bone's settings for IK"
    )
    bl_options = {"REGISTER", "UNDO"}

    index: IntProperty(
        name="Chain",
        description="Which chain of the list gets the joint, the first is 0; default -1, the"
        " active chain",
        default=-1,
        options={"HIDDEN", "SKIP_SAVE"},
    )

    @classmethod
    def problem(cls, context: bpy.types.Context) -> str:
        return selection.problem_of_chain(context) or _no_bone(context)

    def act(self, context: bpy.types.Context) -> set[str]:
        chain = _chain_at(context, self.index)
        if chain is None:
            return self.refuse(f"There is no chain {self.index}: choose one of the list.")
        owner = owner_of(chain)
        name = owner.data.bones.active.name
        if name not in bones_of_chain(chain):
            return self.refuse(
                f"Bone '{name}' is not in this chain: click one of the bones that it drives."
            )
        if any(joint.bone == name for joint in chain.joints):
            return self.refuse(f"Bone '{name}' has a joint already: change that one in the list.")
        take_over(chain.joints.add(), owner.pose.bones[name])
        chain.active_joint_index = len(chain.joints) - 1
        owner.update_tag()
        return {"FINISHED"}


class POSE_OT_chain_ik_joint_remove(ChainOperator):
    """Remove the joint chosen in the list; the settings of its bone count again."""

    bl_idname = "pose.chain_ik_joint_remove"
    bl_label = "Remove Joint"
    bl_description = "Remove the joint chosen in the list; the settings of its bone count again"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def problem(cls, context: bpy.types.Context) -> str:
        return selection.problem_of_chain(context) or _no_joint(context)

    def act(self, context: bpy.types.Context) -> set[str]:
        self.warn_of_readers(remove_joint(selection.chain(context)))
        return {"FINISHED"}


def _chain_at(context: bpy.types.Context, index: int) -> ChainGroup | None:
    """Return the chain at an index of the active chain's list; the active one for -1."""
    active = selection.chain(context)
    chains = chains_of(owner_of(active))
    if index == -1:
        return active
    return chains[index] if 0 <= index < len(chains) else None


def _no_bone(context: bpy.types.Context) -> str:
    if owner_of(selection.chain(context)).data.bones.active is None:
        return "Click the bone that shall have a joint, so that it is the active one."
    return ""


def _no_joint(context: bpy.types.Context) -> str:
    chain = selection.chain(context)
    if not 0 <= chain.active_joint_index < len(chain.joints):
        return "Choose a joint in the list of joints."
    return ""


classes = (
    POSE_OT_chain_ik_joints_copy,
    POSE_OT_chain_ik_joint_add,
    POSE_OT_chain_ik_joint_remove,
)
register, unregister = bpy.utils.register_classes_factory(classes)
