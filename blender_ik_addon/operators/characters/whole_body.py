"""The operator that makes one body of the chains of a character."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import bpy
from bpy.props import BoolProperty, EnumProperty

from ...core.model.message import Message
from ...preferences.addon import CONTROLS, preferences
from ...properties.chains import active_armature, chains_of
from ...properties.controls.torso import hang_hips, has_torso, hips_of_body, pin_legs
from ...rig.anatomy.free_bones import free_bones
from ...rig.anatomy.limbs import Limb, find_limbs
from ...rig.controls.control_spaces import is_keyed
from ...rig.keying.keys import check_keyable
from ...rig.keying.unplayed_keys import check_unstretched
from ...rig.planning.known_skeletons import skeleton_of
from ...rig.reading.spec import Anchor
from ...rig.tools.controls import torso_control
from .. import selection
from ..base import ChainOperator
from ..controls import choose_control, make_controls


def make_body(
    context: bpy.types.Context,
    owner: bpy.types.Object,
    limbs: Sequence[Limb],
    kind: str,
    *,
    use_pins: bool,
) -> str:
    """Make one body of all chains under the hips, which get a control; return a summary in words.

    Nothing moves if all targets are reached. ``limbs`` are all limbs of the body, and ``kind`` is
    that of the control, "BONE" or "EMPTY".

    Raises:
        IKError: If a body is impossible, or there is one already; then nothing has changed.
    """
    hips = hips_of_body(owner, limbs)
    if not has_torso(owner, hips):
        scene, view_layer = selection.scene_of(context), selection.view_layer_of(context)
        if is_keyed(Anchor(owner, hips)):
            # The control is keyed where the hips are.
            check_unstretched(scene)
            if kind == "BONE":
                check_keyable(owner)
        (torso,) = make_controls(context, owner, [torso_control(owner, hips, limbs)], kind)
        # Blender must evaluate the new control before it gets a space.
        view_layer.update()
        hang_hips(owner, hips, torso, scene, view_layer, preferences(context))
    if use_pins:
        pin_legs(owner, limbs)
    body = owner.chain_ik.body
    body.root, body.use_body = hips, True
    pinned = [chain.name for chain in chains_of(owner) if chain.use_pin]
    return Message(
        "Whole body under '{hips}', pinned: {pinned}",
        hips=hips,
        pinned=", ".join(pinned) or Message("none"),
    )


class POSE_OT_chain_ik_body(ChainOperator):
    """Solve all chains of the armature as one body.

    If a limb cannot reach its target, the body moves along, but pinned limbs stay. The hips get a
    control, the torso. The pose does not change if all targets are reached.
    """

    bl_label = "Make Whole Body"

    control: EnumProperty(
        name="Control",
        description="Kind of the control of the hips. The preferences decide until you choose here",
        items=CONTROLS,
    )
    use_pins: BoolProperty(
        name="Pin Legs",
        description="Pin the targets of legs. Feet stay in place when something pulls at the body",
        default=True,
    )

    problems = (selection.problem_of_controls, selection.problem_of_chain)

    def act(self, context: bpy.types.Context) -> None:
        owner = cast(bpy.types.Object, active_armature(context))
        choose_control(self, context)
        skeleton = skeleton_of(owner)
        limbs = find_limbs(skeleton, free_bones(owner, skeleton))
        self.tell(make_body(context, owner, limbs, self.control, use_pins=self.use_pins))
