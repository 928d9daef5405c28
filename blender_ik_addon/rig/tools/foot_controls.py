"""The controls of a rolling foot: the pivots between control and ankle, and the toes."""

from __future__ import annotations

from dataclasses import replace

import bpy
import numpy as np

from ...core import IKError
from ...core.algebra.arithmetic import Array
from ..anatomy.bone_names import BodyPart, Side, opposite, read
from ..anatomy.free_bones import free_bones
from ..anatomy.limbs import Limb, LimbKind
from ..anatomy.symmetry import mirrored_in_world
from ..controls.control_sizes import ControlLook
from ..controls.default_poles import Placement, placement
from ..controls.foot_roll import add_channels, add_driver, control_above, mechanism_of, pivots
from ..planning.known_skeletons import skeleton_of
from ..reading.animation import driven_axes
from ..reading.spec import Anchor, ChainSpec
from ..reading.world import ends_of, matrix_of
from .control_bones import look_of_bone, rest_matrices
from .controls import Control, NewChain, control_name, target_control

# Distance of the heel behind the ankle if a foot has no heel bone, as a share of its width.
HEEL_SHARE = 0.5
# Height of the control of the toes above that of the sole, as a share of the latter's height.
TOE_BOX_SHARE = 1.2


def add_foot_roll(
    armature_object: bpy.types.Object, limb: Limb, chain: NewChain, driven: set[str]
) -> list[NewChain]:
    """Return the chain of a leg with pivots for foot roll, and that of its toes if it has any.

    Chains of other limbs, and of feet not drawn at a sole or with bones in other directions, do not
    change. The chain has one control; ``driven`` are the names of bones that chains drive already.
    """
    (control,) = chain.controls
    is_flat = control.look is not None and _is_flat(control.look)
    is_foot = limb.kind is LimbKind.LEG and bool(limb.end) and not limb.is_sideways
    if not (is_foot and is_flat):
        return [chain]
    bones, side = armature_object.pose.bones, read(limb.name).side
    toes = _placed_toes(armature_object, limb, driven)
    ball = None if toes is None else bones[toes[0].bone]
    places = _places(armature_object, control, side, bones[limb.end], ball)
    places["Ankle"] = control.matrix
    words = [*(pivot.word for pivot in pivots(has_ball=ball is not None, outward=1.0)), "Ankle"]
    # From the first pivot to the ankle; each one is the parent of the next.
    pivot_controls = [
        Control(
            control_name(limb.name, w), places[w], control.length, None, control.parent, below=1
        )
        for w in words
    ]
    foot = replace(chain, controls=[control, *pivot_controls])
    if toes is None or ball is None or control.look is None:
        return [foot]
    look = _toe_look(armature_object, control.look, ball)
    # The tip pivot is the parent: toes stay on the floor while the foot turns about the ball.
    below = len(pivot_controls) - words.index("Tip")
    toe_control = replace(target_control(toes[0].name, toes[1], control.parent, look), below=below)
    return [foot, NewChain(*toes, [toe_control])]


def find_missing_toes(
    armature_object: bpy.types.Object, limb: Limb, target: Anchor, driven: set[str]
) -> NewChain | None:
    """Return the chain of the toes that a foot could have but lacks; None otherwise.

    ``target`` is that of the leg's chain, and ``driven`` are the names of bones that chains drive.
    """
    mechanism = mechanism_of(target)
    words = [pivot.word for pivot in pivots(has_ball=True, outward=1.0)]
    if len(mechanism) != len(words) + 1:
        return None
    toes = _placed_toes(armature_object, limb, driven)
    if toes is None:
        return None
    look = look_of_bone(armature_object, control_above(target).bone)
    if look is not None and look.sides.all():
        look = _toe_look(armature_object, look, armature_object.pose.bones[toes[0].bone])
    tip = mechanism[::-1][words.index("Tip")].bone
    control = target_control(toes[0].name, toes[1], tip, look)
    try:
        rest_matrices(armature_object, [control])
    except IKError:
        # A foot with a scale of zero or a pose that is not finite can be no parent.
        return None
    return NewChain(*toes, [control])


def drive_foot(target: Anchor) -> None:
    """Add drivers with which the control of a foot turns the bones between it and its target.

    Keep existing drivers. Bones that Blender's *Symmetrize* makes have none.
    """
    mechanism, control = mechanism_of(target)[::-1], control_above(target)
    if control in (target, *mechanism):
        return
    add_channels(control)
    has_ball = len(mechanism) > len(pivots(has_ball=False, outward=1.0)) + 1
    outward = -1.0 if read(mechanism[-1].bone).side is Side.LEFT else 1.0
    # After the pivots comes the ankle, which nothing drives.
    for anchor, pivot in zip(mechanism, pivots(has_ball=has_ball, outward=outward), strict=False):
        path = anchor.object.pose.bones[anchor.bone].path_from_id("rotation_euler")
        if not driven_axes(anchor.object, path):
            add_driver(anchor, control, pivot)


def _is_flat(look: ControlLook) -> bool:
    """Return whether a control is drawn as a level box at the sole, not along its bone."""
    is_level = abs(look.matrix[2, 1]) <= 1e-6 * look.sides[1]
    return bool(look.shape == "CUBE" and look.sides.all() and is_level)


def _placed_toes(
    armature_object: bpy.types.Object, limb: Limb, driven: set[str]
) -> tuple[ChainSpec, Placement] | None:
    """Return the chain of a leg's toes and the placement of its control.

    None unless a chain can drive exactly one toe bone of its foot.
    """
    skeleton = skeleton_of(armature_object)
    is_free = free_bones(armature_object, skeleton)
    children = [child.name for child in armature_object.pose.bones[limb.end].children]
    toes = [
        name
        for name in children
        if read(name).part is BodyPart.TOE
        and not read(name).is_helper
        and name not in driven
        and is_free[skeleton.index[name]]
    ]
    if len(toes) != 1:
        return None
    spec = ChainSpec(limb.name.replace("Leg", "Toe"), toes[0], chain_count=1, use_rotation=True)
    try:
        return spec, placement(armature_object, spec)
    except IKError:
        return None


def _places(
    armature_object: bpy.types.Object,
    control: Control,
    side: Side,
    foot: bpy.types.PoseBone,
    toe: bpy.types.PoseBone | None,
) -> dict[str, Array]:
    """Return the matrices (4, 4) of a foot's pivots by name, world space, turned as its sole."""
    assert control.look is not None
    sole = control.look
    frame = np.eye(4)
    frame[:3, :3] = sole.matrix[:3, :3] / sole.sides
    width, length, height = sole.sides
    ankle = np.linalg.inv(frame) @ control.matrix
    start = np.linalg.inv(frame) @ sole.matrix
    middle, back, bottom = start[0, 3], start[1, 3], start[2, 3] - height / 2.0
    # Negative scale shows the left foot on the right, and its bones turn the other way as well.
    is_left = (side is Side.LEFT) == (not armature_object.matrix_world.is_negative)
    edge = -width / 2.0 if is_left else width / 2.0
    ball = back + 0.7 * length
    heels = _heels(armature_object, foot) @ frame[:3, 1]
    heel = float(np.min(heels)) if heels.size else min(back, ankle[1, 3] - HEEL_SHARE * width)
    points = {
        "Outer": (middle + edge, ball, bottom),
        "Inner": (middle - edge, ball, bottom),
        "Heel": (middle, heel, bottom),
        "Tip": (middle, back + length, bottom),
    }
    if toe is not None:
        points["Ball"] = tuple(frame[:3, :3].T @ ends_of(armature_object, [toe])[0])
    places = {}
    for name, point in points.items():
        places[name] = frame.copy()
        places[name][:3, 3] = frame[:3, :3] @ np.array(point)
    return places


def _heels(armature_object: bpy.types.Object, foot: bpy.types.PoseBone) -> Array:
    """Return the ends of the heel bones of a foot, world space, shape (n, 3)."""
    heels = [bone for bone in foot.children_recursive if "heel" in read(bone.name).words]
    points = ends_of(armature_object, heels)
    return points[np.isfinite(points).all(axis=1)]


def _toe_look(
    armature_object: bpy.types.Object, sole: ControlLook, toe: bpy.types.PoseBone
) -> ControlLook:
    """Return the display of the control of toes: a box above that of the sole."""
    forward = sole.matrix[:3, 1] / sole.sides[1]
    start = float((ends_of(armature_object, [toe])[0] - sole.matrix[:3, 3]) @ forward)
    matrix = sole.matrix.copy()
    matrix[:3, 3] += start * forward + TOE_BOX_SHARE * sole.matrix[:3, 2]
    matrix[:3, 1] *= max(1.0 - start / sole.sides[1], 0.1)
    return ControlLook("CUBE", matrix)


def mirrored_foot(
    armature_object: bpy.types.Object, target: Anchor, other: str, length: float
) -> list[Control]:
    """Return the control bones with which the foot of the other side rolls as this one.

    ``target`` is the ankle of this side, ``other`` the control bone of the other side, and
    ``length`` that of the chain.
    """
    return [
        Control(
            opposite(bone.bone),
            mirrored_in_world(armature_object, matrix_of(bone)),
            length,
            None,
            other,
            below=min(i, 1),
        )
        for i, bone in enumerate(mechanism_of(target)[::-1])
    ]
