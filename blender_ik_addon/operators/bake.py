"""The operator that turns what chains do into keyframes."""

from __future__ import annotations

from typing import cast

import bpy
from bpy.props import BoolProperty, IntProperty

from ..core import IKError
from ..properties import ChainGroup, chain_key, chain_spec, chains_of, owner_of
from ..rig.keying.baking import bake, may_move, mute_for_good
from . import selection
from .chains import ANEW


class POSE_OT_chain_ik_bake(bpy.types.Operator):
    """Key what the active chain does to its bones, frame by frame."""

    bl_idname = "pose.chain_ik_bake"
    bl_label = "Bake"
    bl_description = (
        "Key what the active chain does to its bones, frame by frame. Keys of these bones in the"
        " range are replaced, all others stay"
    )
    bl_options = {"REGISTER", "UNDO"}

    frame_start: IntProperty(
        name="Start Frame", description="First frame; that of the scene by default", options=ANEW
    )
    frame_end: IntProperty(
        name="End Frame", description="Last frame; that of the scene by default", options=ANEW
    )
    use_all: BoolProperty(
        name="All Chains", description="Bake all live chains of the armature", options=ANEW
    )
    mute: BoolProperty(
        name="Mute", description="Mute the chains afterwards, so that the keys play", default=True
    )

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return selection.is_possible(cls, selection.problem_of_chain(context))

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        self._take_range(_scene_of(context))
        if bpy.app.background:
            return self.execute(context)
        return set(context.window_manager.invoke_props_dialog(self))

    def execute(self, context: bpy.types.Context) -> set[str]:
        self._take_range(_scene_of(context))
        active = selection.chain(context)
        owner = owner_of(active)
        wanted = chains_of(owner) if self.use_all else [active]
        chosen = [index for _, index in map(chain_key, wanted) if may_move(owner, index)]
        if not chosen:
            self.report({"ERROR"}, _nothing_to_bake(active, use_all=self.use_all))
            return {"CANCELLED"}
        first, last = self.frame_start, self.frame_end
        try:
            specs = {index: chain_spec(owner.chain_ik.chains[index]) for index in chosen}
            count, baked = bake(_scene_of(context), owner, specs, first, last)
        except IKError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        if self.mute:
            # Playing frames has had Blender look again at every reference from before.
            for index in baked:
                mute_for_good(owner, index)
        bones = f"{count} bone{'s' if count != 1 else ''}"
        self.report({"INFO"}, f"Baked {bones} from frame {first} to {last}")
        return {"FINISHED"}

    def _take_range(self, scene: bpy.types.Scene) -> None:
        for name in ("frame_start", "frame_end"):
            if not self.properties.is_property_set(name):
                setattr(self, name, getattr(scene, name))


def _scene_of(context: bpy.types.Context) -> bpy.types.Scene:
    """Return the scene, which every context with an active object has."""
    return cast(bpy.types.Scene, context.scene)


def _nothing_to_bake(active: ChainGroup, *, use_all: bool) -> str:
    if use_all:
        return "No chain of this armature is live: unmute those to bake."
    return f"Chain '{active.name}' is muted, so it moves nothing: unmute it to bake it."


register, unregister = bpy.utils.register_classes_factory((POSE_OT_chain_ik_bake,))
