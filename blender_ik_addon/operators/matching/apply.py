"""IK to FK: bones keep the pose that chains give them."""

from __future__ import annotations

import bpy
from bpy.props import BoolProperty

from ...properties.chains import ChainGroup, is_idle
from ...properties.choices import LABEL_CONTEXT
from ...rig.clips.whole_clip_bake import Keying, bake
from ...rig.keying.baking import mute_permanently
from ...rig.keying.unplayed_keys import check_unstretched
from .. import selection
from ..base import SHARED_BY_BAKE, SKIP_SAVE
from .matched_chains import Matching, OptionalFrameRange, new_interpolation


class POSE_OT_chain_ik_apply(OptionalFrameRange, Matching):
    """Keep the pose that chains give their bones, and mute these chains (IK to FK).

    Works on the chains of the selected bones, targets and poles, otherwise on the active chain.
    """

    bl_label = "Apply to Bones"

    use_keys: BoolProperty(
        name="Key",
        description="Key the bones at this frame",
        translation_context=LABEL_CONTEXT,
        options=SKIP_SAVE,
    )

    @classmethod
    def obstacle(cls, settings: ChainGroup) -> str:
        idle = "The chain does not move its bones: unmute it, or raise its influence."
        return super().obstacle(settings) or (idle if is_idle(settings) else "")

    def act(self, context: bpy.types.Context) -> set[str]:
        scene = selection.scene_of(context)
        frames, keying = range(scene.frame_current, scene.frame_current + 1), Keying()
        is_keying = self.use_range or self.use_keys
        if is_keying:
            check_unstretched(scene)
        if self.use_range:
            frames = self.frames(scene)
        else:
            # The last key decides the interpolation of keys that users add later.
            keying = Keying(interpolation=new_interpolation(context))
        chosen = self.choose(
            selection.chosen_chains(context), lambda _: None, lambda toes: not is_idle(toes)
        )
        for owner, specs in chosen.items():
            if is_keying:
                for _ in bake(scene, owner, specs, frames, keying):
                    pass
                self.warn_of_sharing(owner, SHARED_BY_BAKE)
            for index in specs:
                owner.chain_ik.chains[index].stored_pose = ""
                mute_permanently(owner, index)
        return {"FINISHED"} if chosen else {"CANCELLED"}
