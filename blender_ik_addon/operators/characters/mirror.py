"""The same chain on the other side of a character."""

from __future__ import annotations

from dataclasses import replace

import bpy

from ...properties.chain_lists import add_chain
from ...properties.chains import chains_of, owner_of
from ...properties.controls.space_names import movers
from ...properties.mirroring import check_opposite, copy_mirrored
from ...properties.records import bones_spec, target_and_pole
from ...properties.stored import store
from ...rig.anatomy.bone_names import opposite
from ...rig.anatomy.symmetry import mirrored_in_world
from ...rig.controls.control_spaces import copy_spaces, finite_place, has_parent
from ...rig.controls.default_poles import placement
from ...rig.controls.foot_roll import control_above, is_mechanism, parent_of
from ...rig.reading.spec import Anchor
from ...rig.reading.world import matrix_of
from ...rig.tools.control_bones import look_of_bone
from ...rig.tools.controls import Control, Shape
from ...rig.tools.foot_controls import drive_foot, mirrored_foot
from .. import selection
from ..base import ChainOperator
from ..controls import make_controls, set_parent


class POSE_OT_chain_ik_mirror(ChainOperator):
    """Add the same chain on the other side, with its settings, joints, target and pole.

    Bones of the other side are found by their names, for example with .L and .R.
    """

    bl_label = "Mirror to Other Side"

    problems = (selection.problem_of_controls, selection.problem_of_chain)

    def act(self, context: bpy.types.Context) -> None:
        source = selection.chain(context)
        owner = owner_of(source)
        index = owner.chain_ik.active_index
        check_opposite(source)
        spec, solver = bones_spec(source), source.solver
        length = float(placement(owner, spec).length)
        target, pole = target_and_pole(source)
        for anchor, word in ((target, "target"), (pole, "pole")):
            if anchor is not None:
                finite_place(anchor, word)
        mirrored = replace(
            spec,
            name=opposite(spec.name),
            bone=opposite(spec.bone),
            target=target and _opposite_target(context, owner, target, length),
            pole=pole and _opposite_anchor(context, owner, pole, "SPHERE", length),
        )
        copy = add_chain(owner, mirrored, 0, solver=solver)
        for control, other in ((target, mirrored.target), (pole, mirrored.pole)):
            if control and other and control != other and not has_parent(control_above(other)):
                source_control, copy_control = control_above(control), control_above(other)
                copy_spaces(source_control, copy_control, movers(), opposite)
        left_out = copy_mirrored(chains_of(owner)[index], copy)
        store(copy)
        if left_out:
            names = ", ".join(left_out)
            self.warn("Joints left out because axes differ on the other side: {names}", names=names)


def _opposite_target(
    context: bpy.types.Context, owner: bpy.types.Object, target: Anchor, length: float
) -> Anchor:
    """Return the target of the other side; make it if there is none, with a foot's mechanism."""
    if not is_mechanism(target) or opposite(target.bone) in owner.pose.bones:
        other = _opposite_anchor(context, owner, target, "CUBE", length)
    else:
        control = _opposite_anchor(context, owner, control_above(target), "CUBE", length)
        # Blender must evaluate the new control before it becomes a parent.
        context.view_layer.update()
        bones = mirrored_foot(owner, target, control.bone, length)
        other = make_controls(context, owner, bones, "BONE")[-1]
    drive_foot(other)
    return other


def _opposite_anchor(
    context: bpy.types.Context, owner: bpy.types.Object, anchor: Anchor, shape: Shape, length: float
) -> Anchor:
    """Return the control of the other side; make it if there is none."""
    name = anchor.bone or anchor.object.name
    other, parent = opposite(name), _opposite_pivot(anchor)
    if anchor.bone and other != name and other in anchor.object.pose.bones:
        if parent and anchor.object == owner:
            # Symmetrize does not mirror hidden bones, so toes would hang on the foot of this side.
            set_parent(context, anchor.object, other, parent)
        return Anchor(anchor.object, other)
    if not anchor.bone and other != name and other in context.scene.objects:
        return Anchor(context.scene.objects[other])
    look = look_of_bone(anchor.object, anchor.bone) if anchor.bone else None
    if look is not None:
        look = replace(look, matrix=mirrored_in_world(owner, look.matrix))
    matrix = mirrored_in_world(owner, matrix_of(anchor))
    control = Control(other, matrix, length, shape, parent, look)
    kind = "BONE" if anchor.bone and anchor.object == owner else "EMPTY"
    return make_controls(context, owner, [control], kind)[0]


def _opposite_pivot(control: Anchor) -> str:
    """Return the mirror bone of the mechanism bone that is a control's parent; empty without."""
    parent = parent_of(control)
    if parent is None or not is_mechanism(parent):
        return ""
    other = opposite(parent.bone)
    return other if other in control.object.data.bones else ""
