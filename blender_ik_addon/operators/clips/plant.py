"""The operator that keeps feet and hands where they stand in a clip."""

from __future__ import annotations

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty

from ...properties.chains import body_of, owner_of
from ...properties.records import plantable
from ...rig.clips.planted_clip import PlantedClip, PlantingOptions
from ...rig.clips.planting import free_root, plant
from .. import selection
from ..bake import ClipOperator
from ..base import SKIP_SAVE

WHICH = (
    ("ACTIVE", "Active", "Plant the active chain"),
    (
        "SELECTED",
        "Selected",
        "Plant the chains of the selected bones, targets and poles of this armature",
    ),
    ("ALL", "All", "Plant all chains of the armature, including muted ones"),
)


class POSE_OT_chain_ik_plant(ClipOperator):
    """Find the frames of the range in which feet and hands stand.

    Key targets, poles and hips so that they do not slide. The original clip is kept in a separate
    action, and each run starts from it.
    """

    bl_label = "Plant Feet"

    which: EnumProperty(
        name="Chains", description="Chains to plant", items=WHICH, default="ALL", options=SKIP_SAVE
    )
    use_hips: BoolProperty(
        name="Adjust Hips",
        description="Lower the hips where a leg would otherwise be straighter than in the clip",
        default=True,
        options=SKIP_SAVE,
    )
    use_pins: BoolProperty(
        name="Key Pins",
        description="Also key the pins of a whole body, so that a foot is pinned while it stands",
        options=SKIP_SAVE,
    )
    relative_to: StringProperty(
        name="Relative To",
        description="Moving object that the feet stand on, for example a raft. Empty: the world",
        options=SKIP_SAVE,
    )

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        for name in ("which", "frame_start", "frame_end", "use_hips"):
            layout.prop(self, name)
        owner = owner_of(selection.chain(context))
        if body_of(owner) is not None:
            layout.prop(self, "use_pins")
        layout.prop(owner.chain_ik.body, "floor")
        layout.prop_search(self, "relative_to", selection.scene_of(context), "objects")

    def act(self, context: bpy.types.Context) -> set[str]:
        scene, active = selection.scene_of(context), selection.chain(context)
        self._owner = owner_of(active)
        chains, problems = plantable(self._owner, self.requested_chains(context, active), scene)
        for problem in problems:
            self.warn(problem)
        platform = scene.objects.get(self.relative_to)
        if self.relative_to and platform is None:
            return self.refuse(
                "There is no object '{relative_to}' in the scene: choose another one in Relative"
                " To.",
                relative_to=self.relative_to,
            )
        body, frames = self._owner.chain_ik.body, self.frames(scene)
        root = free_root(self._owner, body.root)
        inputs = frames, body.floor, platform, root, self.use_hips
        # Without a body, pins have no effect.
        planting = PlantingOptions(*inputs, self.use_pins and body_of(self._owner) is not None)
        work = plant(scene, self._owner, chains, planting)
        return self.start(context, work, len(frames))

    def finish(self, _context: bpy.types.Context, planted: PlantedClip) -> None:
        """Warn of problems, and report the number of planted contacts of each chain."""
        for sentence in planted.sentences():
            self.warn(sentence)
        chains = self._owner.chain_ik.chains
        counts = planted.counts().items()
        told = ", ".join(f"{chains[index].name} {count}" for index, count in counts)
        self.tell("Contacts planted: {told}", told=told)
