"""The operator that switches the space of a control from a frame on."""

from __future__ import annotations

from typing import cast

import bpy
from bpy.props import EnumProperty, StringProperty

from ...core.model.message import Message
from ...properties.chains import active_chain, owner_of
from ...properties.controls.space_names import check_space_name, space_name, space_names
from ...rig.controls.control_spaces import label
from ...rig.keying.playing import preserve_frame
from ...rig.tools.move_by_location import check_movable
from ...rig.tools.space_keys import key_space
from .. import selection
from ..base import SKIP_SAVE, ChainOperator
from .matched_chains import OptionalFrameRange, new_interpolation

CONTROLS = (
    ("TARGET", "Target", "Control that the tip of the chain follows"),
    ("POLE", "Pole", "Control that the chain bends toward"),
)


def search_spaces(
    operator: bpy.types.Operator, context: bpy.types.Context | None, text: str
) -> list[str]:
    """Return the spaces that the control of an operator can have and whose names match a text."""
    settings = None if context is None else active_chain(context)
    which = cast(POSE_OT_chain_ik_switch_space, operator).which
    return [] if settings is None else space_names(settings, which, text)


class POSE_OT_chain_ik_switch_space(OptionalFrameRange, ChainOperator):
    """Let the target or pole of the active chain move with another bone or object.

    This begins at the present frame. The control stays in place, and keys are set so that it does
    not pop. Its later keys are relative to the new space.
    """

    bl_label = "Switch Space"

    which: EnumProperty(
        name="Control",
        description="Control of the chain to switch",
        items=CONTROLS,
        options=SKIP_SAVE,
    )
    space: StringProperty(
        name="Space",
        description="A bone of the armature, or an object. Empty: the armature object for a"
        " control bone, the world for an empty",
        search=search_spaces,
        search_options=set(),
        options=SKIP_SAVE,
    )

    @classmethod
    def problem(cls, context: bpy.types.Context) -> str:
        problem = super().problem(context)
        return problem or selection.problem_of_pose(owner_of(selection.chain(context)))

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        if not self.properties.is_property_set("space"):
            self.space = space_name(selection.chain(context), self.which)
        # The dialog shows the ends of the range before ``act`` runs.
        self.frames(selection.scene_of(context))
        return self.ask(context)

    def act(self, context: bpy.types.Context) -> None:
        settings, scene = selection.chain(context), selection.scene_of(context)
        control, space = check_space_name(settings, self.which, self.space)
        check_movable(control, self.which.lower(), scene)
        frame = scene.frame_current
        frames = self.frames(scene) if self.use_range else range(frame, frame + 1)
        interpolation = new_interpolation(context)
        with preserve_frame(scene):
            has_changed = key_space(control, space, frames, scene, interpolation)
        if has_changed:
            self.warn_of_sharing(control.object)
        name = self.space or Message("World")
        text = "{control}: {name} from frame {first} on"
        if not has_changed:
            text = "{control}: {name} acts here already, so nothing has changed"
        elif len(frames) > 1:
            text = "{control}: {name} from frame {first} to {last}"
        self.tell(text, control=label(control), name=name, first=frames[0], last=frames[-1])
