"""Operators on the joints of chains: copy, add, remove, choose by anatomy."""

from __future__ import annotations

import bpy
from bpy.props import EnumProperty, IntProperty

from ..core.model.message import Message
from ..properties.chain_lists import copy_joints, remove_joint
from ..properties.chains import chains_of, owner_of
from ..properties.choices import LABEL_CONTEXT
from ..properties.joints.joint_definitions import copy_bone_settings
from ..properties.joints.selected import JointChanges, copy_joint, set_presets
from ..properties.records import bones_of_chain
from ..rig.anatomy.joint_presets import JointPreset
from . import selection
from .base import ChainOperator

PRESET_TOOLTIPS = {
    JointPreset.KNEE: "Bends from straight to fully folded, by 160 degrees",
    JointPreset.ELBOW: "Bends from straight by 150 degrees, and twists by 80 to either side",
    JointPreset.FINGER: "Curls by 90 to 100 degrees. The first bone of the chain can also spread"
    " to the sides",
    JointPreset.NECK: "Swings by 45 degrees to all sides and twists by 60. Each bone of the chain"
    " gets an equal share, at least a third",
    JointPreset.TAIL: "Swings by 30 degrees to all sides, and twists by 15",
}


def _problem_of_bone(context: bpy.types.Context) -> str:
    bone = owner_of(selection.chain(context)).data.bones.active
    return "" if bone is not None else "Click the bone that should get a joint."


def _problem_of_selection(context: bpy.types.Context) -> str:
    bones = selection.selected_bones(context, owner_of(selection.chain(context)))
    return "" if bones else "In pose mode, select the bones that should get the joint."


def _problem_of_joint(context: bpy.types.Context) -> str:
    chain = selection.chain(context)
    is_chosen = 0 <= chain.active_joint_index < len(chain.joints)
    return "" if is_chosen else "Choose a joint in the list of joints."


def _joint_index(context: bpy.types.Context) -> int:
    """Return the index of the active bone's joint, otherwise of the one in the list; -1 without."""
    chain = selection.chain(context)
    bone = owner_of(chain).data.bones.active
    joints = [i for i, joint in enumerate(chain.joints) if bone and joint.bone == bone.name]
    return joints[0] if joints else -1 if _problem_of_joint(context) else chain.active_joint_index


def _problem_of_source(context: bpy.types.Context) -> str:
    none = "Click a bone that has a joint in this chain, or choose a joint in the list."
    return none if _joint_index(context) < 0 else ""


class POSE_OT_chain_ik_joints_copy(ChainOperator):
    """Copy the IK limits, locks and stiffness of the chain's bones into joints of the chain.

    They replace its present joints, except for slides. The pose does not change.
    """

    bl_label = "Copy Joints from Bones"

    def act(self, context: bpy.types.Context) -> None:
        self.warn_of_readers(copy_joints(selection.chain(context)))


class POSE_OT_chain_ik_joint_add(ChainOperator):
    """Add joints to the chain for its selected bones.

    Each joint starts as a copy of the bone's IK settings.
    """

    bl_label = "Add Joint"

    index: IntProperty(
        name="Chain",
        description="Place in the list of the chain that gets a joint for the active bone, from"
        " 0. -1: the active chain, for all selected bones",
        default=-1,
        options={"HIDDEN", "SKIP_SAVE"},
    )

    problems = (selection.problem_of_chain, _problem_of_bone)

    def act(self, context: bpy.types.Context) -> set[str]:
        chain, owner = selection.chain(context), owner_of(selection.chain(context))
        if self.index != -1:
            if not 0 <= self.index < len(chains_of(owner)):
                return self.refuse(
                    "There is no chain {index}: choose one from the list.", index=self.index
                )
            chain = chains_of(owner)[self.index]
        bones = bones_of_chain(chain)
        selected = selection.selected_bones(context, owner) if self.index == -1 else set()
        if len(selected) < 2:
            selected = {owner.data.bones.active.name}
        inside = [name for name in bones if name in selected]
        if not inside:
            return self.refuse(
                "Bone '{selected}' is not in this chain: click a bone that this chain drives.",
                selected=min(selected),
            )
        with_joints = {joint.bone for joint in chain.joints}
        names = [name for name in inside if name not in with_joints]
        if not names:
            return self.refuse(
                "Bone '{inside}' already has a joint: change this joint in the list.",
                inside=inside[0],
            )
        for name in names:
            copy_bone_settings(chain.joints.add(), owner.pose.bones[name])
        chain.active_joint_index = len(chain.joints) - 1
        owner.update_tag()
        if len(selected) > 1:
            added, outside = len(names), len(selected) - len(inside)
            self.tell("Joints added: {added}", added=added)
            if outside:
                self.tell("Selected bones that are not in this chain: {outside}", outside=outside)
        return {"FINISHED"}


class POSE_OT_chain_ik_joint_to_selected(ChainOperator):
    """Copy a joint to the selected bones, also to those of other chains.

    It is the active bone's joint, otherwise the one chosen in the list. Bones of the other side get
    its mirror image.
    """

    bl_label = "Copy Joint to Selected"

    problems = (selection.problem_of_chain, _problem_of_selection, _problem_of_source)

    def act(self, context: bpy.types.Context) -> set[str]:
        chain, index = selection.chain(context), _joint_index(context)
        name = chain.joints[index].bone
        bones = selection.selected_bones(context, owner_of(chain)) - {name}
        if not bones:
            return self.refuse(
                "Only bone '{name}' is selected, and it has the joint: select other bones as well.",
                name=name,
            )
        changes = copy_joint(chain, index, sorted(bones))
        if changes.changed:
            self.tell("The joint of '{name}' was copied", name=name)
        report_changes(self, changes)
        return {"FINISHED"} if changes.changed else {"CANCELLED"}


class POSE_OT_chain_ik_joint_preset(ChainOperator):
    """Give the selected bones joints by anatomy; the pose does not move."""

    bl_label = "Joint by Anatomy"
    bl_description = (
        "Give the selected bones joints with ranges from anatomy books, about the axes of their"
        " bend at rest. A range becomes wider if the present pose is outside it"
    )

    preset: EnumProperty(
        name="Joint",
        description="Body part that the selected bones belong to",
        translation_context=LABEL_CONTEXT,
        items=[(each.name, each.value, about) for each, about in PRESET_TOOLTIPS.items()],
        options={"SKIP_SAVE"},
    )

    problems = (selection.problem_of_chain, _problem_of_selection)

    def act(self, context: bpy.types.Context) -> set[str]:
        chain = selection.chain(context)
        owner, preset = owner_of(chain), JointPreset[self.preset]
        bones = sorted(selection.selected_bones(context, owner))
        changes = set_presets(owner, dict.fromkeys(bones, preset), chain)
        report_changes(self, changes)
        return {"FINISHED"} if changes.changed else {"CANCELLED"}


class POSE_OT_chain_ik_joint_remove(ChainOperator):
    """Remove the joint that is chosen in the list.

    Its bone then uses its own IK settings again.
    """

    bl_label = "Remove Joint"

    problems = (selection.problem_of_chain, _problem_of_joint)

    def act(self, context: bpy.types.Context) -> None:
        self.warn_of_readers(remove_joint(selection.chain(context)))


def report_changes(operator: ChainOperator, changes: JointChanges) -> None:
    """Report the number of new joints, the bones that were left out, and the wider ranges."""
    reporter = operator.warn if changes.changed else operator.refuse
    if changes.changed:
        operator.tell("Joints set: {count}", count=len(changes.changed))
    templates = {
        "without_chain": "Left out because no chain drives these bones: {without_chain}",
        "without_next": (
            "Left out because these bones have no next bone that this joint can hold:"
            " {without_next}"
        ),
        "unlike": "Joints left out because axes differ on the other side: {unlike}",
        "between": (
            "Joints left out because these bones bend about neither X nor Z; recalculate their"
            " roll: {between}"
        ),
        "wider": (
            "Ranges are wider than in anatomy books because the pose is outside those ranges:"
            " {wider}"
        ),
    }
    for name, template in templates.items():
        if bones := getattr(changes, name):
            sentence = Message(template, **{name: ", ".join(bones)})
            reporter(sentence if changes.changed else Message("{sentence}.", sentence=sentence))
