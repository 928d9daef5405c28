"""The operators that write the motion of chains to keyframes, and to motion paths."""

from __future__ import annotations

from collections.abc import Container

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty

from ..properties.chains import ChainGroup, body_of, chain_key, chains_of, owner_of
from ..properties.records import belongs_to_body, chain_spec, live_rigs, specs_to_bake
from ..rig.clips.whole_clip_bake import Baked, ClipBake, Keying, bake
from ..rig.keying.baking import find_still_chains, may_move, may_pose, mute_permanently
from ..rig.keying.motion_paths import fill, frames_to_play, has_paths, traced
from ..rig.keying.unplayed_keys import STRETCHED_TIME, is_time_stretched
from ..rig.reading.refusals import IN_EDIT_MODE
from . import selection
from .base import SHARED_BY_BAKE, SKIP_SAVE, Stepwise, chains_in_words

WHICH = (
    ("ACTIVE", "Active", "Bake the active chain"),
    (
        "SELECTED",
        "Selected",
        "Bake the chains of the selected bones, targets and poles of this armature",
    ),
    ("ALL", "All", "Bake all live chains of the armature"),
)
NOTHING_TO_BAKE = {
    "ACTIVE": "Chain '{name}' is muted, so it moves nothing: unmute it to bake it.",
    "SELECTED": "No live chain is selected: select a bone or the target of each chain to bake.",
    "ALL": "No chain of this armature is live: unmute the chains to bake.",
}
ACTIONS = (
    ("ACTIVE", "Active", "Key into the action of the armature; it gets one if it has none"),
    ("NEW", "New", "Key into a copy of the action, and keep the action as it is"),
)
METHODS = (
    ("FRAMES", "Frames", "Key each frame as it plays", 0),
    (
        "CLIP",
        "Clip",
        "Improve all frames together. Joints move smoothly, and jump only where the targets"
        " require it",
        1,
    ),
)

NO_PATHS = (
    "No bone and no object of this scene has a motion path: calculate paths first, in Pose >"
    " Motion Paths or Object > Animation."
)
NO_CHAINS = (
    "No armature of this scene has a chain, so Blender's own motion paths are already correct."
)


class FrameRange:
    """The frame range of an operator."""

    frame_start: IntProperty(
        name="Start Frame",
        description="First frame of the range. Initially the scene's first frame",
        options=SKIP_SAVE,
    )
    frame_end: IntProperty(
        name="End Frame",
        description="Last frame of the range. Initially the scene's last frame",
        options=SKIP_SAVE,
    )

    def frames(self, scene: bpy.types.Scene) -> range:
        """Return the frames of the range; an unset end becomes the scene's."""
        for name in ("frame_start", "frame_end"):
            if not self.properties.is_property_set(name):
                setattr(self, name, getattr(scene, name))
        return range(self.frame_start, self.frame_end + 1)


class ClipOperator(FrameRange, Stepwise):
    """The base of operators on chains and a frame range; a subclass adds the property ``which``."""

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        self.frames(selection.scene_of(context))
        if bpy.app.background:
            return self.execute(context)
        self._is_interactive = True
        return self.ask(context)

    def requested_chains(self, context: bpy.types.Context, active: ChainGroup) -> list[int]:
        """Return the indices of the chains that ``which`` requests."""
        chains = chains_of(owner_of(active)) if self.which == "ALL" else [active]
        if self.which == "SELECTED":
            chains = selection.selected_chains(context, owner_of(active))
        return [chain_key(settings)[1] for settings in chains]


def proposed_chains(context: bpy.types.Context) -> str:
    """Return the chains that the dialog proposes: all of a body, as one baked alone leaves it."""
    owner = owner_of(selection.chain(context))
    if body_of(owner) is not None:
        return "ALL"
    return "SELECTED" if len(selection.selected_chains(context, owner)) > 1 else "ACTIVE"


class POSE_OT_chain_ik_bake(ClipOperator):
    """Key the motion that chains give their bones, frame by frame.

    Keys of these bones in the range are replaced. All other keys stay.
    """

    bl_label = "Bake Chains"

    step: IntProperty(
        name="Step",
        description="Number of frames from one key to the next. 1: each frame is keyed. The last"
        " frame is always keyed, and all frames are played",
        default=1,
        min=1,
        options=SKIP_SAVE,
    )
    which: EnumProperty(name="Chains", description="Chains to bake", items=WHICH, options=SKIP_SAVE)
    action: EnumProperty(
        name="Action", description="Action that gets the keys", items=ACTIONS, options=SKIP_SAVE
    )
    tolerance: FloatProperty(
        name="Tolerance",
        description=(
            "Largest change of the motion where keys are left out. For rotations it is an angle"
            " in radians. For locations and scales it is a share of the bone's length. It holds"
            " at each keyed frame. 0: all keys stay"
        ),
        min=0.0,
        soft_max=0.1,
        step=0.1,
        precision=4,
        options=SKIP_SAVE,
    )
    method: EnumProperty(
        name="Method",
        description="Method of keying: each frame as it plays, or all frames improved together",
        items=METHODS,
        options=SKIP_SAVE,
    )
    smoothness: FloatProperty(
        name="Smoothness",
        description=(
            "Amount of smoothing of the change to the keyed pose. All targets are held. 0: only"
            " frames around jumps change"
        ),
        default=0.5,
        min=0.0,
        max=1.0,
        options=SKIP_SAVE,
    )
    mute: BoolProperty(
        name="Mute",
        description="Mute the chains afterwards, so that the keys play",
        default=True,
        options=SKIP_SAVE,
    )

    _clip: ClipBake | None = None

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        if not self.properties.is_property_set("which"):
            self.which = proposed_chains(context)
        return super().invoke(context, event)

    def draw(self, _context: bpy.types.Context) -> None:
        """Draw the options; those of a clip are greyed out for the other method."""
        self.layout.use_property_split = True
        option_names = (name for name in type(self).__annotations__ if not name.startswith("_"))
        for name in (*FrameRange.__annotations__, *option_names):
            row = self.layout.row()
            row.active = name != "smoothness" or self.method == "CLIP"
            row.prop(self, name)

    def act(self, context: bpy.types.Context) -> set[str]:
        scene, active = selection.scene_of(context), selection.chain(context)
        self._owner = owner_of(active)
        chosen = [i for i in self.requested_chains(context, active) if may_move(self._owner, i)]
        if not chosen:
            return self.refuse(NOTHING_TO_BAKE[self.which], name=active.name)
        frames = self.frames(scene)
        keying = Keying(self.step, self.tolerance, self.action == "NEW")
        specs = specs_to_bake(self._owner, chosen)
        self._clip = None
        if self.method == "CLIP":
            self._clip = ClipBake(scene, self._owner, specs, self.smoothness)
        work = bake(scene, self._owner, specs, frames, keying, self._clip)
        return self.start(context, work, len(frames))

    def finish(self, context: bpy.types.Context, baked: Baked) -> None:
        """Mute the chains, and report what has been baked."""
        frames = range(self.frame_start, self.frame_end + 1)
        if is_time_stretched(selection.scene_of(context)):
            self.warn(STRETCHED_TIME)
        for sentence in () if self._clip is None else self._clip.sentences(frames):
            self.warn(sentence)
        self.warn_of_sharing(self._owner, SHARED_BY_BAKE)
        muted = {
            index: chain_spec(self._owner.chain_ik.chains[index])
            for index in (baked.chains if self.mute else ())
        }
        if still := find_still_chains(selection.scene_of(context), self._owner, muted, frames):
            self.warn(still)
        if muted and baked.gives_way and self._has_live_limbs(muted):
            self.warn(
                "The body gives way in this range, and the limbs that stay live now pull it"
                " differently: undo this, and bake all chains of the body."
            )
        for index in muted:
            # By index, because playing frames makes references invalid.
            mute_permanently(self._owner, index)
        self.tell(
            "Baked {chains} from frame {frame_start} to {frame_end}",
            chains=chains_in_words(len(baked.chains)),
            frame_start=self.frame_start,
            frame_end=self.frame_end,
        )

    def _has_live_limbs(self, baked: Container[int]) -> bool:
        """Return whether limbs of the body stay live after a bake of chains."""
        return any(
            may_pose(self._owner, index) and belongs_to_body(chain)
            for index, chain in enumerate(chains_of(self._owner))
            if index not in baked
        )


class POSE_OT_chain_ik_motion_paths(Stepwise):
    """Update all existing motion paths of the scene with the motion of chains.

    First make the paths with Blender's own buttons, which ignore chains.
    """

    bl_label = "Update Motion Paths"

    @classmethod
    def problem(cls, context: bpy.types.Context) -> str:
        objects = context.scene.objects if context.scene is not None else ()
        rigs = [rig for rig in objects if chains_of(rig)]
        if not rigs:
            return NO_CHAINS
        if any(rig.data.is_editmode for rig in rigs if rig.type == "ARMATURE"):
            return IN_EDIT_MODE
        return "" if any(map(has_paths, objects)) else NO_PATHS

    def act(self, context: bpy.types.Context) -> set[str]:
        scene, evaluate = selection.scene_of(context), context.evaluated_depsgraph_get
        rigs, paths = live_rigs(scene), traced(scene.objects, evaluate())
        if not paths:
            return self.refuse(NO_PATHS)
        frames = frames_to_play(scene, paths, rigs)
        work = fill(scene, paths, [*rigs], frames, evaluate)
        return self.start(context, work, len(frames))

    def finish(self, _context: bpy.types.Context, count: int) -> None:
        """Report the number of filled paths."""
        one, many = "Updated 1 motion path", "Updated {count} motion paths"
        self.tell(one if count == 1 else many, count=count)
