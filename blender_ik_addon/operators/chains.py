"""Operators on the list of chains: add, remove, restore, store."""

from __future__ import annotations

from functools import partial
from typing import Literal

import bpy
from bpy.props import BoolProperty, EnumProperty, IntProperty

from ..core import IKError
from ..properties import (
    SOLVERS,
    ChainSettings,
    chains_of,
    free_name,
    is_off_its_keys,
    names_of_chains,
    owner_of,
    release,
    remove_chain,
    shares_bones,
    store,
)
from ..rig.reading.spec import Anchor, ChainSpec
from ..rig.tools.controls import EMPTY_SIZE, Placement, make_empty, move_to, placement
from ..rig.tools.renumbering import is_animated
from . import selection

# Options tell of this selection: what was chosen for the last one is not remembered.
ANEW: set[Literal["SKIP_SAVE"]] = {"SKIP_SAVE"}
AUTOMATIC = ("AUTO", "Automatic", "Two-Bone for two bones of their own, else Newton")


class POSE_OT_chain_ik_add(bpy.types.Operator):
    """Add a chain that ends at the active bone; the pose does not move."""

    bl_idname = "pose.chain_ik_add"
    bl_label = "Add Chain"
    bl_description = (
        "Add a chain that ends at the active bone, without moving the pose. It follows the"
        " selected object, else the other selected bone, else a new empty"
    )
    bl_options = {"REGISTER", "UNDO"}

    chain_count: IntProperty(
        name="Chain Length",
        description="How many bones are driven; 0 for those selected, or all up to the root",
        min=0,
        max=300,
        options=ANEW,
    )
    solver: EnumProperty(
        name="Solver", description="The algorithm", items=(AUTOMATIC, *SOLVERS), options=ANEW
    )
    use_tail: BoolProperty(
        name="Use Tail",
        description="Bring the tip bone's tail to the target",
        default=True,
        options=ANEW,
    )
    use_rotation: BoolProperty(
        name="Rotation", description="Take the target's rotation", options=ANEW
    )
    use_pole: BoolProperty(
        name="Add Pole", description="Add an empty on the bend side as pole", options=ANEW
    )
    use_snap: BoolProperty(
        name="Snap Target",
        description="Move the target to the tip, so that the pose stays as it is",
        default=True,
        options=ANEW,
    )

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return selection.is_possible(cls, selection.problem(context))

    def execute(self, context: bpy.types.Context) -> set[str]:
        selected = selection.read(context)
        owner = selected.armature_object
        wanted = ChainSpec(
            name=free_name(names_of_chains(owner), selected.bone),
            bone=selected.bone,
            chain_count=self.chain_count or selected.chain_count,
            use_tail=self.use_tail,
            use_rotation=self.use_rotation,
            target=selected.target,
        )
        try:
            placed = placement(owner, wanted)
        except IKError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        # Shown afterwards in the panel at the bottom left; the same number gives the same chain.
        self.chain_count = wanted.chain_count
        settings = owner.chain_ik.chains.add()
        owner.chain_ik.active_index = len(owner.chain_ik.chains) - 1
        settings.name = wanted.name
        settings.use_tail = wanted.use_tail
        settings.use_rotation = wanted.use_rotation
        settings.chain_count = wanted.chain_count
        settings.bone = wanted.bone
        is_simple = placed.bone_count == 2 and not shares_bones(settings)
        automatic = "TWO_BONE" if is_simple else "NEWTON"
        settings.solver = automatic if self.solver == AUTOMATIC[0] else self.solver
        self._set_target(context, settings, selected.target, placed)
        if self.use_pole:
            _add_pole(context, settings, placed)
        store(settings)
        if is_off_its_keys(settings):
            self.report(
                {"WARNING"}, "The bones' keyframes differ from their pose: insert keys to keep it."
            )
        if is_animated(owner, owner.chain_ik.active_index):
            self.report(
                {"WARNING"},
                "Keys or drivers of a chain that is gone animate the new one: delete those that are"
                " not for it.",
            )
        return {"FINISHED"}

    def _set_target(
        self,
        context: bpy.types.Context,
        settings: ChainSettings,
        target: Anchor | None,
        placed: Placement,
    ) -> None:
        if target is None:
            name, size = f"{settings.name} Target", EMPTY_SIZE * placed.length
            empty = make_empty(context.scene.collection, name, placed.target, size, "CUBE")
            target = Anchor(empty)
        elif self.use_snap:
            move_to(target, placed.target)
        settings.target = target.object
        settings.subtarget = target.bone


class POSE_OT_chain_ik_remove(bpy.types.Operator):
    """Remove the active chain and give its bones the pose back that they had before."""

    bl_idname = "pose.chain_ik_remove"
    bl_label = "Remove Chain"
    bl_description = "Remove the active chain and give its bones back the pose that they had before"
    bl_options = {"REGISTER", "UNDO"}

    keep_pose: BoolProperty(
        name="Keep Pose", description="Leave the bones as the chain has posed them", options=ANEW
    )

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return selection.is_possible(cls, selection.problem_of_chain(context))

    def execute(self, context: bpy.types.Context) -> set[str]:
        remove = partial(remove_chain, keep_pose=self.keep_pose)
        return selection.change(self, remove, selection.chain(context))


class POSE_OT_chain_ik_restore(bpy.types.Operator):
    """Mute chains and give their bones the pose back that they had before they went live."""

    bl_idname = "pose.chain_ik_restore"
    bl_label = "Restore Pose"
    bl_description = (
        "Mute the active chain and give its bones back the pose that they had before it went live"
    )
    bl_options = {"REGISTER", "UNDO"}

    use_all: BoolProperty(
        name="All Chains", description="Restore all chains of the armature", options=ANEW
    )

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return selection.is_possible(cls, selection.problem_of_chain(context))

    def execute(self, context: bpy.types.Context) -> set[str]:
        active = selection.chain(context)
        chosen = chains_of(owner_of(active)) if self.use_all else [active]
        problems = []
        for settings in chosen:
            try:
                release(settings)
            except IKError as error:
                problems.append(f"{settings.name}: {error}")
            else:
                settings.mute = True
        is_done = len(problems) < len(chosen)
        for problem in problems:
            self.report({"WARNING"} if is_done else {"ERROR"}, problem)
        return {"FINISHED"} if is_done else {"CANCELLED"}


class POSE_OT_chain_ik_store(bpy.types.Operator):
    """Take the present pose of the active chain's bones as the one to start from and restore."""

    bl_idname = "pose.chain_ik_store"
    bl_label = "Store Pose"
    bl_description = (
        "Take the present pose of the active chain's bones as the pose to start from and to restore"
    )
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return selection.is_possible(cls, selection.problem_of_chain(context))

    def execute(self, context: bpy.types.Context) -> set[str]:
        settings = selection.chain(context)
        try:
            store(settings)
        except IKError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        owner_of(settings).update_tag()
        return {"FINISHED"}


def _add_pole(context: bpy.types.Context, settings: ChainSettings, placed: Placement) -> None:
    matrix = placed.target.copy()
    matrix[:3, :3] = 0.0
    matrix[range(3), range(3)] = 1.0
    matrix[:3, 3] = placed.pole
    name, size = f"{settings.name} Pole", EMPTY_SIZE * placed.length
    settings.pole_target = make_empty(context.scene.collection, name, matrix, size, "SPHERE")


classes = (
    POSE_OT_chain_ik_add,
    POSE_OT_chain_ik_remove,
    POSE_OT_chain_ik_restore,
    POSE_OT_chain_ik_store,
)
register, unregister = bpy.utils.register_classes_factory(classes)
