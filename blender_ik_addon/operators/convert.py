"""The operator that converts Blender's IK constraints to chains, and chains to constraints."""

from __future__ import annotations

from typing import cast

import bpy
from bpy.props import BoolProperty, EnumProperty

from ..core.model.message import Message
from ..properties.chain_lists import activate_chain_of
from ..properties.chains import active_armature, active_chain, chain_key
from ..properties.conversion import Conversion, to_chains, to_constraints
from ..rig.reading.refusals import listed
from ..rig.reading.spec import Anchor
from . import selection
from .base import SKIP_SAVE, ChainOperator

DIRECTIONS = (
    ("TO_CHAINS", "To Chains", "Replace IK constraints with chains"),
    ("TO_CONSTRAINTS", "To Constraints", "Replace chains with IK constraints"),
)


class POSE_OT_chain_ik_convert(ChainOperator):
    """Replace IK constraints of the selected bones with chains, or chains with IK constraints.

    Settings, keys and drivers are converted too. A report lists everything that cannot be
    converted, and the change of the pose.
    """

    bl_label = "Convert Chains"

    direction: EnumProperty(
        name="Direction",
        description="Direction of the conversion",
        items=DIRECTIONS,
        options=SKIP_SAVE,
    )
    use_all: BoolProperty(
        name="All",
        description="Convert all constraints or chains of the armature",
        options=SKIP_SAVE,
    )

    problems = (selection.problem_of_armature,)

    def act(self, context: bpy.types.Context) -> set[str]:
        owner = cast(bpy.types.Object, active_armature(context))
        depsgraph = context.evaluated_depsgraph_get()
        is_to_chains = self.direction == "TO_CHAINS"
        if is_to_chains:
            bones = None if self.use_all else selection.selected_bones(context, owner)
            done = to_chains(depsgraph, owner, bones)
            bone = context.active_pose_bone
            if bone is not None and bone.id_data == owner:
                activate_chain_of(owner, Anchor(owner, bone.name))
        else:
            indices = None if self.use_all else self._selected(context, owner)
            done = to_constraints(depsgraph, owner, indices)
        return self._report(done, is_to_chains=is_to_chains)

    def _selected(self, context: bpy.types.Context, owner: bpy.types.Object) -> list[int]:
        """Return the indices of the selected chains; in object mode that of the active chain."""
        if selection.shows_bones(context):
            return [chain_key(chain)[1] for chain in selection.selected_chains(context, owner)]
        active = active_chain(context)
        return [] if active is None else [chain_key(active)[1]]

    def _report(self, done: Conversion, *, is_to_chains: bool) -> set[str]:
        if not (done.count or done.rekeyed):
            for problem in done.problems or [self._no_work_text(is_to_chains=is_to_chains)]:
                self.refuse(problem)
            return {"CANCELLED"}
        # The status bar shows the last report, so a change of the pose comes last.
        if done.count:
            self.tell(_converted_in_words(done.count, is_to_chains=is_to_chains))
        if done.rekeyed:
            names = listed([f"'{name}'" for name in done.rekeyed])
            text = "Keys of constraints that the library has replaced now animate {names}"
            self.tell(text, names=names)
        self.warn_of_readers(done.readers)
        for problem in (*done.problems, *done.remarks):
            self.warn(problem)
        return {"FINISHED"}

    def _no_work_text(self, *, is_to_chains: bool) -> str:
        if not is_to_chains:
            if self.use_all:
                return "This armature has no chain."
            return "No selected bone belongs to a chain: select a bone of a chain in pose mode."
        if self.use_all:
            return "No bone of this armature has an IK constraint."
        return "No selected bone has an IK constraint: select the bones that have one in pose mode."


def _converted_in_words(count: int, *, is_to_chains: bool) -> str:
    if is_to_chains:
        one, many = "Converted 1 constraint to a chain", "Converted {count} constraints to chains"
    else:
        one, many = "Converted 1 chain to a constraint", "Converted {count} chains to constraints"
    return Message(one if count == 1 else many, count=count)
