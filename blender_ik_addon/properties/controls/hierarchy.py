"""The controls of a body hung on each other: root, torso, and the limbs by what carries them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import bpy
import numpy as np

from ...rig.anatomy.free_bones import free_bones
from ...rig.anatomy.hierarchy import Carrier, Trunk, carriers, find_hips
from ...rig.anatomy.limbs import Limb
from ...rig.controls.control_shapes import NAME as SHAPE
from ...rig.controls.control_shapes import shape_of
from ...rig.controls.control_sizes import belt_of
from ...rig.controls.control_spaces import (
    add_space,
    constraints_of,
    hangs,
    is_keyed,
    makes_ring,
    set_space,
    spaces_of,
)
from ...rig.planning.known_skeletons import skeleton_of
from ...rig.reading.skeleton import Skeleton
from ...rig.reading.spec import Anchor
from ...rig.reading.world import matrix_of
from ...rig.tools.control_bones import PALETTE, is_control_bone
from ...rig.tools.fk_ik import SAME_PLACE, SAME_SHARE, Goals, match_controls
from ..chains import ChainGroup, chains_of
from ..records import controls_of_chain, moved_by_hand
from .space_names import movers

Controls = Mapping[Limb, Sequence[Anchor]]
"""The target, and the pole if there is one, of limbs that have chains."""


@dataclass(frozen=True)
class Trunked:
    """What carries a body.

    Attributes:
        hips: Name of the bone that all limbs hang under.
        root: What carries that; None where it is still to be made.
    """

    hips: str
    root: Anchor | None


def is_control(anchor: Anchor) -> bool:
    """Tell whether an object or a bone was made as a control of chains."""
    return is_control_bone(anchor) if anchor.bone else bool(anchor.object.chain_ik.is_control)


def trunk_of(armature_object: bpy.types.Object, limbs: Sequence[Limb], kind: str) -> Trunked | None:
    """Return what carries a body; None where nothing can.

    Args:
        armature_object: The original object.
        limbs: All limbs of the body.
        kind: What controls are, "BONE" or "EMPTY"; empties go along with the object instead of a
            root of their own.
    """
    skeleton = skeleton_of(armature_object)
    is_free = free_bones(armature_object, skeleton)
    index = find_hips(skeleton, is_free, limbs)
    if index is None:
        return None
    hips = skeleton.names[index]
    is_moved = any(hips in each.bones for each in movers() if each.object == armature_object)
    if is_moved and torso_of(armature_object, hips).bone == hips:
        return None
    known = spaces_of(Anchor(armature_object, hips))
    top = skeleton.names[skeleton.ancestors(index)[-1]]
    if known:
        return Trunked(hips, known[0])
    if top != hips:
        return Trunked(hips, Anchor(armature_object, top))
    if kind == "EMPTY":
        return Trunked(hips, Anchor(armature_object))
    return Trunked(hips, None) if is_free[index] else None


def hips_chain(armature_object: bpy.types.Object, hips: str) -> ChainGroup | None:
    """Return the chain that puts the hips of a body where a control is; None without."""
    chains = chains_of(armature_object)
    own = (each for each in chains if (each.bone, each.chain_count) == (hips, 1))
    return next(own, None)


def torso_of(armature_object: bpy.types.Object, hips: str) -> Anchor:
    """Return what people move for the hips to move: the control of their chain, else the bone."""
    chain = hips_chain(armature_object, hips)
    control = None if chain is None else controls_of_chain(chain)[0]
    return control or Anchor(armature_object, hips)


def controls_of(armature_object: bpy.types.Object, limbs: Sequence[Limb]) -> Controls:
    """Return the controls of the chains that limbs have already, as far as they were made so."""
    found = {}
    for settings in chains_of(armature_object):
        for limb in limbs:
            if settings.bone in (limb.bones[-1], limb.end):
                found[limb] = [each for each in moved_by_hand(settings) if is_control(each)]
    return {limb: controls for limb, controls in found.items() if controls}


def lacks_spaces(controls: Controls) -> bool:
    """Tell whether a control could have spaces and has none."""
    return any(_may_have(each) for anchors in controls.values() for each in anchors)


def hang_controls(
    armature_object: bpy.types.Object,
    skeleton: Skeleton,
    trunk: Trunked,
    controls: Controls,
    view_layer: bpy.types.ViewLayer,
) -> int:
    """Have the controls of a body go along with what carries them; nothing moves.

    Those that have a parent or spaces stay as they are. Where keys move a control, it is given its
    spaces and stays in its own, but for a root that is new.

    Args:
        armature_object: The original object.
        skeleton: Its bones.
        trunk: With the root.
        controls: Of the limbs.
        view_layer: What evaluates them.

    Returns:
        How many controls have got spaces.
    """
    assert trunk.root is not None
    hips, torso = Anchor(armature_object, trunk.hips), torso_of(armature_object, trunk.hips)
    bone = armature_object.pose.bones[trunk.hips]
    if torso == hips:
        if bone.parent is None and trunk.root.bone and not constraints_of(hips):
            set_space(hips, trunk.root)
        # What other constraints move is not posed by hand.
        if bone.custom_shape is None and len(bone.constraints) == len(constraints_of(hips)):
            bone.custom_shape = shape_of("BELT")
            belt = belt_of(armature_object, trunk.hips, list(controls))
            bone.custom_shape_scale_xyz = belt.tolist()
            bone.color.palette = PALETTE
        armature_object.chain_ik.body.root = trunk.hips
    known, count = movers(), 0
    stood: Goals = {}
    places: dict[Carrier, Anchor] = {Trunk.ROOT: trunk.root, Trunk.TORSO: torso}
    places |= {limb: anchors[0] for limb, anchors in controls.items()}
    index = skeleton.index[trunk.hips]
    for limb, along in carriers(skeleton, index, controls).items():
        for control in controls[limb]:
            if _may_have(control):
                count += 1
                spaces = [places[each] for each in along]
                fitting = [each for each in spaces if not makes_ring(control, each, known)]
                for space in fitting:
                    add_space(control, space)
                if fitting and (fitting[0] == trunk.root or not is_keyed(control)):
                    stood[control] = matrix_of(control)
                    set_space(control, fitting[0])
    _put_back(stood, view_layer)
    return count


def _put_back(stood: Goals, view_layer: bpy.types.ViewLayer) -> None:
    """Put controls back that go along with others which take the scale of the hips only now."""
    view_layer.update()
    moved = {
        control: matrix
        for control, matrix in stood.items()
        if not np.allclose(matrix_of(control), matrix, SAME_SHARE, SAME_PLACE)
    }
    if moved:
        match_controls(moved, view_layer)


def _may_have(control: Anchor) -> bool:
    """Tell whether a control can be given spaces, and has none yet."""
    is_free = control.object.is_editable and not hangs(control)
    return is_free and not constraints_of(control)


def sharer_of(armature_object: bpy.types.Object) -> bpy.types.Object | None:
    """Return another object that has chains on the same armature; None without."""
    same = (each for each in bpy.data.objects if each.data == armature_object.data)
    return next((each for each in same if each != armature_object and chains_of(each)), None)


def body_controls(armature_object: bpy.types.Object) -> list[Anchor]:
    """Return the controls of a body that no chain follows: its root, where that was made.

    None while another object has chains on the same armature: it has the same root.
    """
    hips = Anchor(armature_object, armature_object.chain_ik.body.root)
    if sharer_of(armature_object) or hips.bone not in armature_object.pose.bones:
        return []
    return [root for root in spaces_of(hips) if root.bone and is_control(root)]


def forget_body(armature_object: bpy.types.Object) -> None:
    """Take what shows the torso away from the bone of the hips, which are no body any more."""
    body = armature_object.chain_ik.body
    take_belt(armature_object.pose.bones.get(body.root))
    body.use_body, body.root = False, ""


def take_belt(bone: bpy.types.PoseBone | None) -> None:
    """Take the ring of the torso away from a bone, if it has it."""
    if bone is not None and bone.custom_shape and bone.custom_shape.name.startswith(SHAPE):
        bone.custom_shape = None
        bone.custom_shape_scale_xyz = (1.0, 1.0, 1.0)
        bone.color.palette = "DEFAULT"
