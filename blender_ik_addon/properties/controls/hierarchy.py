"""The hierarchy of a body's controls: root, torso, and limbs below what carries them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import bpy

from ...rig.anatomy.free_bones import free_bones
from ...rig.anatomy.hierarchy import Carrier, Trunk, carriers, find_hips
from ...rig.anatomy.limbs import Limb
from ...rig.controls.control_shapes import NAME as SHAPE
from ...rig.controls.control_shapes import shape_of
from ...rig.controls.control_sizes import belt_of
from ...rig.controls.control_spaces import (
    active_space,
    add_space,
    constraints_of,
    has_parent,
    is_keyed,
    is_lost,
    makes_cycle,
    set_space,
    spaces_of,
)
from ...rig.planning.known_skeletons import skeleton_of
from ...rig.reading.skeleton import Skeleton
from ...rig.reading.spec import Anchor
from ...rig.reading.world import matrix_of
from ...rig.tools.control_bones import PALETTE, is_control_bone
from ...rig.tools.fk_ik import ControlGoals, find_moved, match_controls
from ..chains import ChainGroup, chains_of
from ..records import controls_of_chain, existing_controls
from .space_names import movers

LimbControls = Mapping[Limb, Sequence[Anchor]]
"""The target of each limb that has a chain, and its pole if there is one."""


@dataclass(frozen=True)
class BodyTrunk:
    """The bone that carries the limbs of a body, and the root that carries this bone.

    Attributes:
        hips: Name of the bone that carries all limbs.
        root: What carries the hips; None if it does not exist yet.
    """

    hips: str
    root: Anchor | None


def is_control(anchor: Anchor) -> bool:
    """Tell whether an object or a bone was made as a control of chains."""
    return is_control_bone(anchor) if anchor.bone else bool(anchor.object.chain_ik.is_control)


def trunk_of(
    armature_object: bpy.types.Object, limbs: Sequence[Limb], kind: str
) -> BodyTrunk | None:
    """Return what carries a body with these limbs, all that it has; None if nothing can.

    Controls of the kind "EMPTY", not "BONE", go along with the object instead of with a root.
    """
    skeleton = skeleton_of(armature_object)
    is_free = free_bones(armature_object, skeleton)
    index = find_hips(skeleton, is_free, [limb.bones for limb in limbs])
    if index is None:
        return None
    hips = skeleton.names[index]
    is_moved = any(hips in mover.bones for mover in movers() if mover.object == armature_object)
    if is_moved and torso_of(armature_object, hips).bone == hips:
        return None
    known = spaces_of(Anchor(armature_object, hips))
    top = skeleton.names[skeleton.ancestors(index)[-1]]
    if known:
        return BodyTrunk(hips, known[0])
    if top != hips:
        return BodyTrunk(hips, Anchor(armature_object, top))
    if kind == "EMPTY":
        return BodyTrunk(hips, Anchor(armature_object))
    return BodyTrunk(hips, None) if is_free[index] else None


def hips_chain(armature_object: bpy.types.Object, hips: str) -> ChainGroup | None:
    """Return the chain that moves the hips of a body to a control; None if there is none."""
    chains = chains_of(armature_object)
    matching = (chain for chain in chains if (chain.bone, chain.chain_count) == (hips, 1))
    return next(matching, None)


def torso_of(armature_object: bpy.types.Object, hips: str) -> Anchor:
    """Return what users move to move the hips: the control of their chain, or the bone itself."""
    chain = hips_chain(armature_object, hips)
    control = None if chain is None else controls_of_chain(chain)[0]
    return control or Anchor(armature_object, hips)


def controls_of(armature_object: bpy.types.Object, limbs: Sequence[Limb]) -> LimbControls:
    """Return targets and poles of limbs that have chains, as far as they were made as controls."""
    by_limb = {}
    for settings in chains_of(armature_object):
        for limb in limbs:
            if settings.bone in (limb.bones[-1], limb.end):
                by_limb[limb] = [item for item in existing_controls(settings) if is_control(item)]
    return {limb: controls for limb, controls in by_limb.items() if controls}


def lacks_root(armature_object: bpy.types.Object, trunk: BodyTrunk, limbs: Sequence[Limb]) -> bool:
    """Tell whether a body that has all its chains lacks a root, or its controls lack spaces."""
    controls = [anchor for pair in controls_of(armature_object, limbs).values() for anchor in pair]
    return bool(controls) and (trunk.root is None or any(map(_can_get_spaces, controls)))


def hang_controls(
    armature_object: bpy.types.Object,
    skeleton: Skeleton,
    trunk: BodyTrunk,
    controls: LimbControls,
    view_layer: bpy.types.ViewLayer,
) -> int:
    """Give controls of a body the parts that carry them as spaces; return how many. Nothing moves.

    Controls that have a parent or spaces do not change. A control with keys is given its spaces,
    but none of them is switched on unless the first one is the root. The root of the trunk must
    exist. The view layer evaluates the controls of the limbs.
    """
    assert trunk.root is not None
    hips, torso = Anchor(armature_object, trunk.hips), torso_of(armature_object, trunk.hips)
    bone = armature_object.pose.bones[trunk.hips]
    if torso == hips:
        if trunk.root.bone and _can_get_spaces(hips):
            set_space(hips, trunk.root)
        # Users do not pose a bone that other constraints move.
        if bone.custom_shape is None and len(bone.constraints) == len(constraints_of(hips)):
            bone.custom_shape = shape_of("BELT")
            belt = belt_of(armature_object, trunk.hips, list(controls))
            bone.custom_shape_scale_xyz = belt.tolist()
            bone.color.palette = PALETTE
        armature_object.chain_ik.body.root = trunk.hips
    known, count = movers(), 0
    matrices_before: ControlGoals = {}
    places: dict[Carrier, Anchor] = {Trunk.ROOT: trunk.root, Trunk.TORSO: torso}
    places |= {limb: anchors[0] for limb, anchors in controls.items()}
    index = skeleton.index[trunk.hips]
    for limb, along in carriers(skeleton, index, controls).items():
        for control in controls[limb]:
            if _can_get_spaces(control):
                count += 1
                spaces = [places[carrier] for carrier in along]
                fitting = [space for space in spaces if not makes_cycle(control, space, known)]
                for space in fitting:
                    add_space(control, space)
                if fitting and (fitting[0] == trunk.root or not is_keyed(control)):
                    matrices_before[control] = matrix_of(control)
                    set_space(control, fitting[0])
    view_layer.update()
    # The spaces of controls take the scale of the hips only now, which may have moved them.
    if moved := find_moved(matrices_before):
        match_controls(moved, view_layer)
    return count


def _can_get_spaces(control: Anchor) -> bool:
    """Tell whether a control can be given spaces, and has none yet or has lost the acting one."""
    is_free, acting = control.object.is_editable and not has_parent(control), active_space(control)
    return is_free and (is_lost(acting) if acting is not None else not constraints_of(control))


def sharer_of(armature_object: bpy.types.Object) -> bpy.types.Object | None:
    """Return another object that has chains on the same armature; None if there is none."""
    same = (owner for owner in bpy.data.objects if owner.data == armature_object.data)
    return next((owner for owner in same if owner != armature_object and chains_of(owner)), None)


def body_controls(armature_object: bpy.types.Object) -> list[Anchor]:
    """Return the controls of a body that no chain follows: its root, if it was made as a control.

    Empty while another object has chains on the same armature, because it has the same root.
    """
    hips = Anchor(armature_object, armature_object.chain_ik.body.root)
    if sharer_of(armature_object) or hips.bone not in armature_object.pose.bones:
        return []
    return [root for root in spaces_of(hips) if root.bone and is_control(root)]


def forget_body(armature_object: bpy.types.Object) -> None:
    """Clear the body of an armature object, and remove the ring of the torso from its hips."""
    body = armature_object.chain_ik.body
    remove_belt(armature_object.pose.bones.get(body.root))
    body.use_body, body.root = False, ""


def remove_belt(bone: bpy.types.PoseBone | None) -> None:
    """Remove the ring of the torso from a bone, if the bone has it."""
    if bone is not None and bone.custom_shape and bone.custom_shape.name.startswith(SHAPE):
        bone.custom_shape = None
        bone.custom_shape_scale_xyz = (1.0, 1.0, 1.0)
        bone.color.palette = "DEFAULT"
