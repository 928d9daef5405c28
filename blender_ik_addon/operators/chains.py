"""Operators on chains in the list: remove, restore, store, activate."""

from __future__ import annotations

import bpy
from bpy.props import BoolProperty, IntProperty

from ..core import IKError
from ..core.model.message import Message
from ..properties.chain_lists import exclusive_controls, remove_chain, toes_of
from ..properties.chains import active_armature, chain_key, chains_of, owner_of
from ..properties.controls.hierarchy import body_controls, forget_body
from ..properties.records import controls_of_chain
from ..properties.stored import release, store
from ..rig.controls.foot_roll import parent_of
from ..rig.keying.keys import unplayed_actions
from ..rig.reading.refusals import RigError, listed
from ..rig.reading.spec import names_of_chains
from ..rig.tools.space_keys import has_followers
from ..translations import translate
from . import selection
from .base import SKIP_SAVE, ChainOperator
from .controls import delete_controls
from .drags.picking import pick


class POSE_OT_chain_ik_remove(ChainOperator):
    """Remove the active chain and restore the pose that its bones had before."""

    bl_label = "Remove Chain"

    keep_pose: BoolProperty(
        name="Keep Pose",
        description="Keep the pose that the chain gives its bones",
        options=SKIP_SAVE,
    )
    delete_controls: BoolProperty(
        name="Delete Controls",
        description="Also delete the target and the pole if they were made for this chain and no"
        " other chain follows them. With the control of a foot, the chain of its toes is removed"
        " too. Initially on in the dialog",
        options=SKIP_SAVE,
    )

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        if bpy.app.background or not exclusive_controls(selection.chain(context)):
            return self.execute(context)
        self.delete_controls = True
        return self.ask(context)

    def act(self, context: bpy.types.Context) -> None:
        settings = selection.chain(context)
        owner = owner_of(settings)
        _, index = chain_key(settings)
        controls = exclusive_controls(settings) if self.delete_controls else []
        toes = [
            toe
            for toe in toes_of(settings)
            if any(parent_of(control) in controls for control in exclusive_controls(toe))
        ]
        controls += [control for toe in toes for control in exclusive_controls(toe)]
        is_last = self.delete_controls and len(chains_of(owner)) == 1 + len(toes)
        controls += body_controls(owner) if is_last else []
        # These may raise an error, so they come before the first change.
        if controls and (problem := selection.problem_of_controls(context)):
            raise RigError(problem)
        is_carrying = has_followers(controls, selection.scene_of(context))
        # Remove the chain before its toes: if that fails, nothing has changed.
        toe_indices = sorted((chain_key(toe)[1] for toe in toes), reverse=True)
        readers = remove_chain(settings, keep_pose=self.keep_pose)
        for toe_index in toe_indices:
            chain = chains_of(owner)[toe_index - (toe_index > index)]
            readers += remove_chain(chain, keep_pose=self.keep_pose)
        self.warn_of_readers(readers)
        if is_last:
            forget_body(owner)
        bones = {control.bone for control in controls if control.bone}
        if is_carrying and (lost := unplayed_actions(owner, bones)):
            self.warn(
                "Actions that do not play now lose the motion that came from these controls:"
                " {lost}. To keep it, undo, and switch Delete Controls off.",
                lost=listed(lost),
            )
        delete_controls(context, owner, controls)


class POSE_OT_chain_ik_restore(ChainOperator):
    """Mute the active chain and restore the pose that its bones had before it was live."""

    bl_label = "Restore and Mute"

    use_all: BoolProperty(
        name="All Chains", description="Restore all chains of the armature", options=SKIP_SAVE
    )

    def act(self, context: bpy.types.Context) -> set[str]:
        active = selection.chain(context)
        chosen = chains_of(owner_of(active)) if self.use_all else [active]
        problems = []
        for settings in chosen:
            try:
                release(settings)
            except IKError as error:
                problems.append(Message("{name}: {error}", name=settings.name, error=error.message))
            else:
                settings.mute = True
        is_done = len(problems) < len(chosen)
        for problem in problems:
            (self.warn if is_done else self.refuse)(problem)
        return {"FINISHED"} if is_done else {"CANCELLED"}


class POSE_OT_chain_ik_store(ChainOperator):
    """Take the present pose of the active chain's bones as the one to start from and restore."""

    bl_label = "Store Pose"
    bl_description = (
        "Store the present pose of the active chain's bones as the pose to start from and to"
        " restore"
    )

    def act(self, context: bpy.types.Context) -> None:
        settings = selection.chain(context)
        store(settings)
        owner_of(settings).update_tag()


class POSE_OT_chain_ik_activate(ChainOperator):
    """Make a chain of the active armature the active one, and select its target."""

    bl_label = "Activate Chain"

    index: IntProperty(
        name="Index",
        description="Place of the chain in the list, from 0",
        min=0,
        options={*SKIP_SAVE, "HIDDEN"},
    )

    use_extend: BoolProperty(
        name="Extend",
        description="Keep the present selection, like a click with Shift",
        options={*SKIP_SAVE, "HIDDEN"},
    )

    @classmethod
    def description(cls, context: bpy.types.Context, properties: POSE_OT_chain_ik_activate) -> str:
        owner = active_armature(context)
        names = [] if owner is None else names_of_chains(owner)
        if properties.index >= len(names):
            return cls.bl_description
        name = names[properties.index]
        return translate(
            Message("Make '{name}' the active chain, and select its target", name=name), "tooltips"
        )

    problems = (selection.problem_of_owner,)

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        self.use_extend = event.shift
        return self.execute(context)

    def act(self, context: bpy.types.Context) -> set[str]:
        owner = active_armature(context)
        if owner is None or self.index >= len(chains_of(owner)):
            return self.refuse("There is no such chain: choose one in the list.")
        owner.chain_ik.active_index = self.index
        target, _ = controls_of_chain(chains_of(owner)[self.index])
        if target is not None:
            pick(context, target, toggle=self.use_extend)
        return {"FINISHED"}
