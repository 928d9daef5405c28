"""Spaces of controls: a control moves with one space at a time, or with none.

Each space is a constraint of Blender on the control, with an influence of 0 or 1, so a file plays
without the extension as far as targets are concerned. If no space is active, the space is the
*World*: that of the object, or that of the armature of a bone. A bone moves with another bone of
its armature by an Armature constraint, which is relative to the rest pose and stores nothing. It
moves with anything else by Child Of, whose inverse is set by the matrices of both at creation.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any, NamedTuple

import bpy
import numpy as np
from mathutils import Matrix

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array
from ..planning.checks import bone_not_finite, is_flat
from ..reading.anchors import SPACE, space_of
from ..reading.animation import animated_bones, curves
from ..reading.channels import MODE_NUMBERS, property_of_mode
from ..reading.dependencies import Dependencies
from ..reading.refusals import RigError
from ..reading.spec import Anchor
from ..reading.world import array_of, channels_of, matrix_of, not_finite

# Minimum influence of an active space. It is 0 or 1 unless somebody has set it by hand.
ACTING = 0.5
# Minimum difference of effects; a smaller one moves a control by less than Blender stores.
MIN_EFFECT = 1e-7
# Tolerance of two spaces that carry a control alike, for the rounding of Blender's numbers. If ten
# times larger, a control would be seen to move when one space replaces the other.
SIMILAR_EFFECT = 1e-6
# Tolerance, in radians, between the rest pose of a bone and that of a bone made like it, for the
# rounding of heads, tails and rolls: 2.4e-5 for bones nearly along -Y, whose rolls are the least
# exact. If ten times smaller, every second torso would carry by Child Of, which ignores rest poses.
SIMILAR_REST = 1e-4


class Mover(NamedTuple):
    """A chain that moves bones.

    Attributes:
        object: Its armature object.
        bones: Names of the bones that it writes, root first.
        anchors: Objects and bones that it follows.
    """

    object: bpy.types.Object
    bones: list[str]
    anchors: list[Anchor]


def label(anchor: Anchor) -> str:
    """Return the name of an object or a bone for messages."""
    return anchor.bone or anchor.object.name


def constraints_of(control: Anchor) -> list[bpy.types.Constraint]:
    """Return the spaces of a control, in the order in which Blender evaluates them.

    Raises:
        RigError: If its bone does not exist.
    """
    return [space for space in channels_of(control).constraints if space.name.startswith(SPACE)]


def active_space(control: Anchor) -> bpy.types.Constraint | None:
    """Return the active space of a control; None for the world."""
    return next((constraint for constraint in constraints_of(control) if _acts(constraint)), None)


def is_lost(constraint: bpy.types.Constraint) -> bool:
    """Return whether the object or bone of a space does not exist any more."""
    space = space_of(constraint)
    return space is None or not anchor_exists(space)


def anchor_exists(anchor: Anchor) -> bool:
    """Return whether an object or bone still exists."""
    return not anchor.bone or anchor.bone in anchor.object.pose.bones


def spaces_of(control: Anchor) -> list[Anchor]:
    """Return the objects and bones of a control's spaces that still exist."""
    spaces = map(space_of, constraints_of(control))
    return [space for space in spaces if space is not None and anchor_exists(space)]


def set_space(control: Anchor, space: Anchor | None) -> None:
    """Make a space of a control, or the world, the active one; the control stays where it is.

    Raises:
        RigError: If the space has no finite matrix, or is flat.
    """
    before = total_effect(control)
    new_space = None if space is None else add_space(control, space)
    for constraint in constraints_of(control):
        constraint.influence = float(constraint == new_space)
    if not _are_same(before, total_effect(control), MIN_EFFECT, control):
        place(control, before @ unconstrained(control))


def add_space(
    control: Anchor, space: Anchor, effect: Array | None = None, tolerance: float = SIMILAR_EFFECT
) -> Any:
    """Return the constraint of a control's space; create it, inactive, if it does not exist.

    ``effect`` is the required one of a new constraint now, as ``effect_of``, shape (4, 4). By
    default a bone of the same armature is relative to rest, anything else to the present matrices.
    The tolerance to the effect of a constraint relative to rest is in radians.

    Raises:
        RigError: If nothing can move with the space in its present pose.
    """
    space_matrix = _space_matrix(space)
    matching = (owned for owned in constraints_of(control) if space_of(owned) == space)
    if (existing := next(matching, None)) is not None:
        return existing
    is_same_armature = bool(control.bone) and control.object == space.object
    # An Armature constraint follows the bends of a bone with segments: use Child Of for these.
    use_rest = is_same_armature and space.object.data.bones[space.bone].bbone_segments == 1
    if use_rest and effect is not None:
        use_rest = _are_same(_from_rest(space), effect, tolerance, space)
    constraints = channels_of(control).constraints
    new: Any = constraints.new("ARMATURE") if use_rest else constraints.new("CHILD_OF")
    new.influence, new.name = 0.0, f"{SPACE} {label(space)}"
    target = new.targets.new() if use_rest else new
    target.target, target.subtarget = space.object, space.bone
    if use_rest:
        return new
    # Child Of on a bone starts in the space of its armature and ends in world space.
    start = array_of(control.object.matrix_world) if control.bone else np.eye(4)
    if is_same_armature and effect is None:
        space_matrix, start = array_of(space.object.data.bones[space.bone].matrix_local), np.eye(4)
    inverse = np.linalg.solve(space_matrix, start if effect is None else start @ effect)
    new.inverse_matrix = Matrix(inverse.tolist())
    return new


def replace_space(constraint: bpy.types.Constraint, control: Anchor, space: Anchor) -> None:
    """Replace one space of a control by another one that carries it alike.

    The control stays where it is, and keys of the influence stay.

    Raises:
        RigError: If nothing can move with the new space in its present pose.
    """
    before = total_effect(control)
    # A control with keys cannot be moved back, so it needs the smaller tolerance.
    tolerance = SIMILAR_EFFECT if is_keyed(control) else SIMILAR_REST
    new = add_space(control, space, effect_of(control, constraint), tolerance)
    new.influence, new.mute = constraint.influence, constraint.mute
    constraints, name = channels_of(control).constraints, constraint.name
    constraints.move(constraints.find(new.name), constraints.find(name))
    constraints.remove(constraint)
    # Keys find the constraint by its name, and follow when the name changes.
    new.name = name
    new.name = f"{SPACE} {label(space)}"
    if not is_keyed(control) and not _are_same(before, total_effect(control), MIN_EFFECT, control):
        place(control, before @ unconstrained(control))


def controls_with_space(space: Anchor) -> list[tuple[Anchor, bpy.types.Constraint]]:
    """Return the controls with a space of an object or bone, and the constraints of these."""
    return [
        (control, constraint)
        for control in objects_and_bones()
        for constraint in constraints_of(control)
        if space_of(constraint) == space
    ]


def objects_and_bones() -> Iterator[Anchor]:
    """Yield all objects of the file and their bones, which may all have spaces."""
    for owner in bpy.data.objects:
        yield Anchor(owner)
        yield from (Anchor(owner, bone.name) for bone in (owner.pose.bones if owner.pose else ()))


def remove_space(control: Anchor, constraint: bpy.types.Constraint) -> None:
    """Remove a space of a control, which stays where it is."""
    if _acts(constraint):
        set_space(control, None)
    channels_of(control).constraints.remove(constraint)


def copy_spaces(
    source: Anchor, copy: Anchor, chains: Iterable[Mover], renamed: Callable[[str], str] = str
) -> None:
    """Give a control the spaces of another one, with the same active one; it stays where it is.

    Spaces that would make a dependency cycle, with chains that could move one with the other, are
    left out. ``renamed`` maps the name of a bone or object to that of its counterpart.
    """
    known_chains, active = list(chains), active_space(source)
    for constraint in constraints_of(source):
        space = space_of(constraint)
        if space is None or is_lost(constraint):
            continue
        name = renamed(label(space))
        if space.bone:
            twin = Anchor(space.object, name if name in space.object.pose.bones else space.bone)
        else:
            twin = Anchor(bpy.data.objects.get(name) or space.object)
        if not makes_cycle(copy, twin, known_chains):
            add_space(copy, twin)
            if constraint == active:
                set_space(copy, twin)


def is_keyed(control: Anchor) -> bool:
    """Return whether an action animates a control."""
    if control.bone:
        return control.bone in animated_bones(control.object)
    return bool(list(curves(control.object)))


def has_parent(control: Anchor) -> bool:
    """Return whether a control has a parent, which would move it in addition to any space."""
    return channels_of(control).parent is not None


def check_control(control: Anchor) -> None:
    """Raise a ``RigError`` if a control cannot have spaces because it has a parent."""
    parent = channels_of(control).parent
    if parent is not None:
        raise RigError(
            "Control '{control}' has the parent '{name}', so a space would move it twice: clear the"
            " parent first.",
            control=label(control),
            name=parent.name,
        )


def check_space(control: Anchor, space: Anchor, chains: Iterable[Mover]) -> None:
    """Raise a ``RigError`` if a control cannot move with a space."""
    if makes_cycle(control, space, chains):
        raise RigError(
            "Space '{space}' moves with '{control}', or could do so through one of its constraints:"
            " choose another space, or delete that constraint.",
            space=label(space),
            control=label(control),
        )
    _space_matrix(space)


def makes_cycle(control: Anchor, space: Anchor, chains: Iterable[Mover]) -> bool:
    """Return whether a space depends on a control, in any way except by drivers.

    Inactive spaces count: they may be active at other frames, and Blender reports a cycle as well.
    The bones that any of the chains write depend on their targets.
    """
    movers = Dependencies.of(space, use_drivers=False)
    waiting = list(chains)
    while dependent := [chain for chain in waiting if movers.has_any(chain.object, chain.bones)]:
        waiting = [chain for chain in waiting if chain not in dependent]
        for chain in dependent:
            movers.add_anchors(*chain.anchors)
            movers.add_chain(chain.object, chain.bones[0])
    if not control.bone:
        return control.object.session_uid in movers.owners
    is_armature = space.object == control.object and not space.bone
    return is_armature or movers.has_any(control.object, [control.bone])


def unconstrained(control: Anchor) -> Array:
    """Return the matrix (4, 4) of a control by its channels alone, without parent.

    The space is the world for objects, and the armature for bones.
    """
    owner = channels_of(control)
    basis = array_of(owner.matrix_basis)
    if isinstance(owner, bpy.types.PoseBone):
        return array_of(owner.bone.matrix_local) @ basis
    return basis


def total_effect(control: Anchor, deleted: Container[Anchor | None] = ()) -> Array:
    """Return the effect of a control's spaces on its matrix from ``unconstrained``, shape (4, 4).

    Spaces of deleted objects and bones are left out.
    """
    effect = np.eye(4)
    for constraint in constraints_of(control):
        is_left = not is_lost(constraint) and space_of(constraint) not in deleted
        if _acts(constraint) and is_left:
            effect = effect_of(control, constraint) @ effect
    return effect


def _acts(constraint: bpy.types.Constraint) -> bool:
    return not constraint.mute and constraint.influence >= ACTING


def effect_of(control: Anchor, constraint: bpy.types.Constraint) -> Array:
    """Return the effect of one space on a control while it is active, as ``total_effect``."""
    space = space_of(constraint)
    assert space is not None
    if constraint.type == "ARMATURE":
        return _from_rest(space)
    child_of: Any = constraint
    world: Array = matrix_of(space) @ array_of(child_of.inverse_matrix)
    return np.linalg.solve(array_of(control.object.matrix_world), world) if control.bone else world


def _are_same(first: Array, second: Array, tolerance: float, anchor: Anchor) -> bool:
    """Return whether two effects on an anchor are the same, up to rounding of large coordinates."""
    scale = max(1.0, *np.abs(matrix_of(anchor)[:3, 3]).tolist())
    if anchor.bone:
        rest = array_of(anchor.object.data.bones[anchor.bone].matrix_local)
        scale = max(scale, *np.abs(rest[:3, 3]).tolist())
    difference = np.abs(first - second)[:3] / (1.0, 1.0, 1.0, scale)
    return bool(difference.max() <= tolerance)


def _from_rest(space: Anchor) -> Array:
    """Return the matrix (4, 4) from the rest pose to the present pose of a bone."""
    bone = space.object.pose.bones[space.bone]
    return array_of(bone.matrix) @ np.linalg.inv(array_of(bone.bone.matrix_local))


def move_to(anchor: Anchor, matrix: Array) -> None:
    """Move an object or a bone to a world matrix without scale; its own scale does not change.

    Its orientation (``rotation.orientation``) becomes that of the matrix, also with negative scale.
    """
    if anchor.bone:
        matrix = np.linalg.inv(array_of(anchor.object.matrix_world)) @ matrix
    place(anchor, matrix)


def place(anchor: Anchor, matrix: Array, effect: Array | None = None) -> None:
    """Move an object or a bone to a matrix (4, 4) through its active space; its scale stays.

    The orientation becomes that of the matrix even if the space is sheared: the Y axis, and the
    plane of Y and Z, are shown as in the matrix. That is in world space, for bones in the space of
    their armature. ``effect`` is that of its spaces, shape (4, 4); by default the present one.
    """
    owner = channels_of(anchor)
    effect = total_effect(anchor) if effect is None else effect
    scale = owner.scale.copy()
    _, y, z = np.where(np.array(scale) < 0.0, -1.0, 1.0)
    channel_matrix = np.linalg.inv(effect) @ matrix
    channel_matrix[:3, :3] = rotation.orientation(channel_matrix[:3, :3]) * np.array([y * z, y, z])
    before = _rotation(owner)
    if isinstance(owner, bpy.types.PoseBone):
        owner.matrix = Matrix(channel_matrix.tolist())
    else:
        owner.matrix_world = Matrix(channel_matrix.tolist())
    owner.scale = scale
    if before is not None:
        # Write the same rotation close to the former values, so that nothing spins between keys.
        after = _rotation(owner)
        after.make_compatible(before)
        setattr(owner, rotation_property(owner), after)


def rotation_property(owner: bpy.types.Object | bpy.types.PoseBone) -> str:
    """Return the name of the rotation property of an object or a bone."""
    return property_of_mode(MODE_NUMBERS[owner.rotation_mode])


def _rotation(owner: bpy.types.Object | bpy.types.PoseBone) -> Any:
    """Return a copy of the rotation; None in axis-angle mode, which has no compatible form."""
    if owner.rotation_mode == "AXIS_ANGLE":
        return None
    return getattr(owner, rotation_property(owner)).copy()


def _space_matrix(space: Anchor) -> Array:
    """Return the matrix (4, 4) of a space, world space."""
    matrix = finite_place(space, "space")
    if is_flat(matrix):
        raise RigError(
            "Space '{space}' has a scale of zero, so nothing can follow it: choose another space.",
            space=label(space),
        )
    return matrix


def finite_place(anchor: Anchor, word: str) -> Array:
    """Return the matrix (4, 4) of an object or a bone, world space; ``word`` is for messages.

    Raises:
        RigError: If the bone does not exist, or the matrix is not finite.
    """
    matrix = matrix_of(anchor)
    if not np.isfinite(matrix).all():
        raise bone_not_finite(anchor.bone) if anchor.bone else not_finite(anchor, word)
    return matrix
