"""The operator that adds chains for all limbs of a character."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import bpy
import numpy as np
from bpy.props import BoolProperty, EnumProperty, StringProperty

from ...core import IKError
from ...core.model.message import Message, joined
from ...preferences.addon import CONTROLS
from ...properties.chains import active_armature
from ...properties.choices import LABEL_CONTEXT
from ...properties.controls.torso import is_whole_body
from ...rig.anatomy.free_bones import free_bones
from ...rig.anatomy.limb_chains import LIMB_PRESETS
from ...rig.anatomy.limbs import Limb, LimbKind, find_limbs
from ...rig.planning.known_skeletons import skeleton_of
from ...rig.reading.refusals import RigError, listed
from ...rig.tools.control_bones import can_add_bones
from .. import selection
from ..base import SKIP_SAVE, ChainOperator, chains_in_words
from ..controls import NO_BONES, choose_control, search_parents
from ..joints import report_changes
from .limb_set_up import SetUpOptions, add_limbs, with_keyed_bones
from .whole_body import make_body

KINDS = [(kind.name, kind.value, LIMB_PRESETS[kind].word, 2**i) for i, kind in enumerate(LimbKind)]
DEFAULT_KINDS = {kind.name for kind in LimbKind if kind is not LimbKind.FINGER}
SCOPES = (
    ("ALL", "All Limbs", "Every limb of the armature that is found by names and structure"),
    ("SELECTED", "Selected", "The limbs that have a selected bone"),
)


class POSE_OT_chain_ik_setup(ChainOperator):
    """Add chains for the limbs of a whole character."""

    bl_label = "Set Up Limbs"
    bl_description = (
        "Find the limbs of the armature by the names and parents of its bones, and add a chain"
        " with a target to each. Elbows and knees follow by themselves. Controls move with a"
        " root, the torso or each other. The pose does not change"
    )

    scope: EnumProperty(
        name="Limbs", description="Limbs that get chains", items=SCOPES, options=SKIP_SAVE
    )
    kinds: EnumProperty(
        name="Kinds",
        description="Kinds of limbs that get chains",
        translation_context=LABEL_CONTEXT,
        items=KINDS,
        default=DEFAULT_KINDS,
        options={"ENUM_FLAG"},
    )
    control: EnumProperty(
        name="Control",
        description="Kind of the targets and poles. The preferences decide until you choose here",
        items=CONTROLS,
    )
    parent: StringProperty(
        name="Parent",
        description="Parent of all new control bones. With a parent, they get no root and no"
        " spaces. Empty: no parent",
        search=search_parents,
    )
    use_limits: BoolProperty(
        name="Limits",
        description="Limit knees, elbows, fingers, necks and tails to the ranges in anatomy books",
    )

    use_body: BoolProperty(
        name="Whole Body",
        description="Make one body of all chains afterwards. The hips get a control, and the legs"
        " are pinned",
    )

    problems = (selection.problem_of_controls, selection.problem_of_armature)

    def act(self, context: bpy.types.Context) -> set[str]:
        owner = cast(bpy.types.Object, active_armature(context))
        choose_control(self, context)
        skeleton = skeleton_of(owner)
        limbs = find_limbs(skeleton, free_bones(owner, skeleton))
        chosen = self._chosen_limbs(context, owner, limbs)
        if not chosen:
            turned = find_limbs(skeleton, np.ones(len(skeleton.names), dtype=np.bool_))
            raise self._no_limbs(self._chosen_limbs(context, owner, turned))
        makes_body = self.use_body and not is_whole_body(owner)
        options = SetUpOptions(chosen, self.control, self.parent, self.use_limits, makes_body)
        added = add_limbs(context, owner, limbs, options)
        if added.joints is not None:
            report_changes(self, added.joints)
        if self.control == "BONE" and not can_add_bones(owner):
            self.tell(NO_BONES)
        for problem in added.problems:
            (self.warn if added.names else self.refuse)(problem)
        if names := added.names:
            # Not the last one, which may be the chain of a toe.
            owner.chain_ik.active_index = owner.chain_ik.chains.find(names[0])
            chains = chains_in_words(len(names))
            self.tell("Set up {chains}: {names}", chains=chains, names=", ".join(names))
            if keyed := with_keyed_bones(owner, names):
                self.warn(
                    "These chains have keyed bones, but no keyed targets: {keyed}. Press Plant Feet"
                    " to key these targets.",
                    keyed=listed(keyed),
                )
        elif count := added.space_count:
            self.tell("Controls that got spaces: {count}", count=count)
        if makes_body:
            try:
                self.tell(make_body(context, owner, limbs, self.control, use_pins=True))
            except IKError as error:
                if not names:
                    raise
                self.warn(error.message)
        return {"FINISHED"} if names or not added.problems else {"CANCELLED"}

    def _chosen_limbs(
        self, context: bpy.types.Context, owner: bpy.types.Object, all_limbs: Sequence[Limb]
    ) -> list[Limb]:
        """Return the requested limbs."""
        chosen = selection.selected_bones(context, owner)
        return [
            limb
            for limb in all_limbs
            if limb.kind.name in self.kinds
            and (self.scope == "ALL" or not chosen.isdisjoint((*limb.bones, limb.end)))
        ]

    def _no_limbs(self, turned: Sequence[Limb]) -> RigError:
        """Return the refusal without free limbs; some may be turned by constraints or drivers."""
        found = {limb.kind.name for limb in turned}
        kinds = [Message(kind.value) for kind in LimbKind if kind.name in (found or self.kinds)]
        text = (
            "No limb of these kinds ({labels}) was found from bone names and parents: select the"
            " bones of a limb in pose mode and press +."
        )
        if found:
            text = (
                "Constraints or drivers turn the bones of all limbs of these kinds ({labels}): mute"
                " or remove them, or press Bake Action with Visual Keying and Clear Constraints"
                " first."
            )
        return RigError(text, labels=joined(", ", kinds) or Message("none"))
