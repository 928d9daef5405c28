"""What a control goes along with: its spaces, of which at most one acts.

Each space is a constraint of Blender's own on the control, with an influence of 0 or 1, so a file
plays without the extension as far as targets go. No space acting is the *World*: the space of the
object, or of the armature of a bone. Along with another bone of its armature a bone goes by an
Armature constraint, which counts from the rest pose and stores nothing; along with anything else
by Child Of, whose inverse is set where both stand when it is made.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any, NamedTuple

import bpy
import numpy as np
from mathutils import Matrix

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array
from ..planning.checks import bone_not_finite
from ..reading.anchors import SPACE, space_of
from ..reading.animation import animated_bones, curves
from ..reading.channels import MODE_NUMBERS, property_of_mode
from ..reading.dependencies import Dependencies
from ..reading.refusals import RigError
from ..reading.spec import Anchor
from ..reading.world import array_of, channels_of, matrix_of, not_finite

# From this influence on a space acts; it is 0 or 1 unless somebody has set it by hand.
ACTING = 0.5
# A space thinner than this share of its longest side shows no place in it.
FLAT = 1e-6
# What moves a control by less moves it by less than Blender stores.
SAME = 1e-7
# How differently two spaces may move a control that goes along with one instead of the other: what
# Blender's own numbers leave. With ten times more a control would be seen to move.
SAME_CARRYING = 1e-6
# By how much, in radians, the rest pose of a bone differs from that of a bone made after it: what
# Blender's heads, tails and rolls leave, 2.4e-5 for bones nearly along -Y, whose rolls tell least.
# With a tenth, every second torso would carry by Child Of, which knows no rest pose.
SAME_REST = 1e-4


class Mover(NamedTuple):
    """A chain as what moves bones.

    Attributes:
        object: Its armature object.
        bones: Names of the bones that it writes, root first.
        anchors: What it follows.
    """

    object: bpy.types.Object
    bones: list[str]
    anchors: list[Anchor]


def label(anchor: Anchor) -> str:
    """Return what people call an object or a bone."""
    return anchor.bone or anchor.object.name


def constraints_of(control: Anchor) -> list[bpy.types.Constraint]:
    """Return the spaces of a control, in the order in which Blender evaluates them.

    Raises:
        RigError: If its bone is gone.
    """
    return [each for each in channels_of(control).constraints if each.name.startswith(SPACE)]


def acting(control: Anchor) -> bpy.types.Constraint | None:
    """Return the space that a control goes along with now; None for the world."""
    return next((each for each in constraints_of(control) if _acts(each)), None)


def is_lost(constraint: bpy.types.Constraint) -> bool:
    """Tell whether what a space goes along with is gone."""
    space = space_of(constraint)
    return space is None or not is_there(space)


def is_there(anchor: Anchor) -> bool:
    """Tell whether an object or bone still exists."""
    return not anchor.bone or anchor.bone in anchor.object.pose.bones


def spaces_of(control: Anchor) -> list[Anchor]:
    """Return what a control has been given to go along with, as far as it is still there."""
    found = ((space_of(each), is_lost(each)) for each in constraints_of(control))
    return [space for space, is_gone in found if space is not None and not is_gone]


def set_space(control: Anchor, space: Anchor | None) -> None:
    """Have a control go along with something from now on; it stays where it is.

    Args:
        control: The object or bone.
        space: What it goes along with; None for the world.

    Raises:
        RigError: If that has no sound place.
    """
    before = carried(control)
    chosen = None if space is None else add_space(control, space)
    for constraint in constraints_of(control):
        constraint.influence = float(constraint == chosen)
    if not _are_same(before, carried(control), SAME, control):
        place(control, before @ unconstrained(control))


def add_space(
    control: Anchor, space: Anchor, carrying: Array | None = None, nearly: float = SAME_CARRYING
) -> Any:
    """Return the space of a control, made where it has none yet; a new one does not act.

    Args:
        control: The object or bone.
        space: What it goes along with.
        carrying: How a new one would move it now, as ``carrying_of``, shape (4, 4); None for a bone
            as from rest, and for all else as both stand.
        nearly: By how much it may move it differently to count from rest, in radians.

    Raises:
        RigError: If nothing can go along with that as it stands.
    """
    stands = _sound(space)
    known = (each for each in constraints_of(control) if space_of(each) == space)
    if (found := next(known, None)) is not None:
        return found
    is_own = bool(control.bone) and control.object == space.object
    # Segments of a bone bend what an Armature constraint takes along.
    is_simple = is_own and space.object.data.bones[space.bone].bbone_segments == 1
    if is_simple and carrying is not None:
        is_simple = _are_same(_from_rest(space), carrying, nearly, space)
    constraints = channels_of(control).constraints
    made: Any = constraints.new("ARMATURE") if is_simple else constraints.new("CHILD_OF")
    made.influence, made.name = 0.0, f"{SPACE} {label(space)}"
    held = made.targets.new() if is_simple else made
    held.target, held.subtarget = space.object, space.bone
    if is_simple:
        return made
    # On a bone Child Of starts from the space of its armature, and ends in world space.
    start = array_of(control.object.matrix_world) if control.bone else np.eye(4)
    if is_own and carrying is None:
        stands, start = array_of(space.object.data.bones[space.bone].matrix_local), np.eye(4)
    inverse = np.linalg.solve(stands, start if carrying is None else start @ carrying)
    made.inverse_matrix = Matrix(inverse.tolist())
    return made


def replace_space(constraint: bpy.types.Constraint, control: Anchor, space: Anchor) -> None:
    """Have a control go along with something else than by one of its spaces, when that acts.

    It stays where it is, and the keys of the influence stay.

    Raises:
        RigError: If nothing can go along with that as it stands.
    """
    before = carried(control)
    # What keys play cannot be put back to where it was.
    nearly = SAME_CARRYING if is_keyed(control) else SAME_REST
    made = add_space(control, space, carrying_of(control, constraint), nearly)
    made.influence, made.mute = constraint.influence, constraint.mute
    constraints, name = channels_of(control).constraints, constraint.name
    constraints.move(constraints.find(made.name), constraints.find(name))
    constraints.remove(constraint)
    # Keys are found by the name: Blender takes them along when that changes.
    made.name = name
    made.name = f"{SPACE} {label(space)}"
    if not is_keyed(control) and not _are_same(before, carried(control), SAME, control):
        place(control, before @ unconstrained(control))


def along_with(space: Anchor) -> list[tuple[Anchor, bpy.types.Constraint]]:
    """Return the controls that can go along with something, and their spaces that do."""
    return [
        (control, constraint)
        for control in objects_and_bones()
        for constraint in constraints_of(control)
        if space_of(constraint) == space
    ]


def objects_and_bones() -> Iterator[Anchor]:
    """Yield all objects of the file and their bones: whatever may have spaces."""
    for each in bpy.data.objects:
        yield Anchor(each)
        yield from (Anchor(each, bone.name) for bone in (each.pose.bones if each.pose else ()))


def remove_space(control: Anchor, constraint: bpy.types.Constraint) -> None:
    """Take a space away from a control, which stays where it is."""
    if _acts(constraint):
        set_space(control, None)
    channels_of(control).constraints.remove(constraint)


def copy_spaces(
    source: Anchor, copy: Anchor, chains: Iterable[Mover], renamed: Callable[[str], str] = str
) -> None:
    """Give a control the spaces of another one, the same one acting; it stays where it is.

    What would make a ring is left out.

    Args:
        source: The other control.
        copy: The control.
        chains: All that could move one with the other.
        renamed: Tells the name of the bone or object that is meant instead of each.
    """
    known, active = list(chains), acting(source)
    for constraint in constraints_of(source):
        space = space_of(constraint)
        if space is None or is_lost(constraint):
            continue
        name = renamed(label(space))
        if space.bone:
            meant = Anchor(space.object, name if name in space.object.pose.bones else space.bone)
        else:
            meant = Anchor(bpy.data.objects.get(name) or space.object)
        if not makes_ring(copy, meant, known):
            add_space(copy, meant)
            if constraint == active:
                set_space(copy, meant)


def is_keyed(control: Anchor) -> bool:
    """Tell whether an action moves a control."""
    if control.bone:
        return control.bone in animated_bones(control.object)
    return bool(list(curves(control.object)))


def hangs(control: Anchor) -> bool:
    """Tell whether a control has a parent, which would move it beside any space."""
    return channels_of(control).parent is not None


def check_control(control: Anchor) -> None:
    """Raise if a control cannot have spaces, because it hangs under something already.

    Raises:
        RigError: With what to do first.
    """
    parent = channels_of(control).parent
    if parent is not None:
        raise RigError(
            f"Control '{label(control)}' has the parent '{parent.name}', so a space would move it"
            " twice: clear the parent first."
        )


def check_space(control: Anchor, space: Anchor, chains: Iterable[Mover]) -> None:
    """Raise if a control cannot go along with something.

    Raises:
        RigError: With what to do instead.
    """
    if makes_ring(control, space, chains):
        raise RigError(
            f"Space '{label(space)}' moves with '{label(control)}', or could by one of its"
            " constraints: choose another space, or delete that constraint."
        )
    _sound(space)


def makes_ring(control: Anchor, space: Anchor, chains: Iterable[Mover]) -> bool:
    """Tell whether a control moves what it would go along with, in any way but by drivers.

    Spaces count that do not act: they may at other frames, and Blender calls that a ring as well.

    Args:
        control: The object or bone.
        space: What it would go along with.
        chains: All chains; what these write moves with their targets.
    """
    moved_by = Dependencies(use_drivers=False)
    moved_by.add_anchor(space)
    waiting = list(chains)

    def moves_it(chain: Mover) -> bool:
        uid = chain.object.session_uid
        return any((uid, name) in moved_by.points for name in chain.bones)

    while found := [each for each in waiting if moves_it(each)]:
        waiting = [each for each in waiting if each not in found]
        for chain in found:
            for anchor in chain.anchors:
                moved_by.add_anchor(anchor)
            moved_by.add_chain(chain.object, chain.bones[0])
    uid = control.object.session_uid
    if not control.bone:
        return uid in moved_by.owners
    is_carrier = space.object == control.object and not space.bone
    return is_carrier or (uid, control.bone) in moved_by.points


def unconstrained(control: Anchor) -> Array:
    """Return where its channels alone put a control without parent, shape (4, 4).

    Of objects in world space, of bones in the space of their armature.
    """
    moved = channels_of(control)
    basis = array_of(moved.matrix_basis)
    if isinstance(moved, bpy.types.PoseBone):
        return array_of(moved.bone.matrix_local) @ basis
    return basis


def carried(control: Anchor, gone: Container[Anchor | None] = ()) -> Array:
    """Return how its spaces move a control from where its channels put it, shape (4, 4).

    In the space of ``unconstrained``.

    Args:
        control: The object or bone.
        gone: What moves it no more.
    """
    carrying = np.eye(4)
    for constraint in constraints_of(control):
        is_left = not is_lost(constraint) and space_of(constraint) not in gone
        if _acts(constraint) and is_left:
            carrying = carrying_of(control, constraint) @ carrying
    return carrying


def _acts(constraint: bpy.types.Constraint) -> bool:
    return not constraint.mute and constraint.influence >= ACTING


def carrying_of(control: Anchor, constraint: bpy.types.Constraint) -> Array:
    """Return how one space moves a control while it acts, as ``carried``."""
    space = space_of(constraint)
    assert space is not None
    if constraint.type == "ARMATURE":
        return _from_rest(space)
    held: Any = constraint
    moved: Array = matrix_of(space) @ array_of(held.inverse_matrix)
    return np.linalg.solve(array_of(control.object.matrix_world), moved) if control.bone else moved


def _are_same(first: Array, second: Array, nearly: float, anchor: Anchor) -> bool:
    """Tell whether two ways to carry an anchor are the same, its place as far as floats tell."""
    size = max(1.0, *np.abs(matrix_of(anchor)[:3, 3]).tolist())
    if anchor.bone:
        rest = array_of(anchor.object.data.bones[anchor.bone].matrix_local)
        size = max(size, *np.abs(rest[:3, 3]).tolist())
    off = np.abs(first - second)[:3] / (1.0, 1.0, 1.0, size)
    return bool(off.max() <= nearly)


def _from_rest(space: Anchor) -> Array:
    """Return what takes a bone from where it is at rest to where it is, shape (4, 4)."""
    bone = space.object.pose.bones[space.bone]
    return array_of(bone.matrix) @ np.linalg.inv(array_of(bone.bone.matrix_local))


def move_to(anchor: Anchor, matrix: Array) -> None:
    """Move an object or a bone to a world matrix without scale; its own scale stays.

    Its orientation (``rotation.orientation``) becomes that of the matrix, also with negative scale.
    """
    if anchor.bone:
        matrix = np.linalg.inv(array_of(anchor.object.matrix_world)) @ matrix
    place(anchor, matrix)


def place(anchor: Anchor, matrix: Array, carrying: Array | None = None) -> None:
    """Move an object or a bone to a place, through the space that acts; its own scale stays.

    Also where that is sheared, the orientation becomes that of the matrix: its Y and the plane of
    its Y and Z are those that the space shows.

    Args:
        anchor: The object or bone.
        matrix: Of world space, of a bone in the space of its armature, shape (4, 4).
        carrying: How its spaces move it from there, shape (4, 4); None for how they do now.
    """
    moved = channels_of(anchor)
    carrying = carried(anchor) if carrying is None else carrying
    scale = moved.scale.copy()
    _, y, z = np.where(np.array(scale) < 0.0, -1.0, 1.0)
    placed = np.linalg.inv(carrying) @ matrix
    placed[:3, :3] = rotation.orientation(placed[:3, :3]) * np.array([y * z, y, z])
    before = _rotation(moved)
    if isinstance(moved, bpy.types.PoseBone):
        moved.matrix = Matrix(placed.tolist())
    else:
        moved.matrix_world = Matrix(placed.tolist())
    moved.scale = scale
    if before is not None:
        # The same turn, told as near as can be to the one before: between keys nothing spins.
        after = _rotation(moved)
        after.make_compatible(before)
        setattr(moved, rotation_property(moved), after)


def rotation_property(moved: bpy.types.Object | bpy.types.PoseBone) -> str:
    """Return the property of an object or a bone that holds its rotation."""
    return property_of_mode(MODE_NUMBERS[moved.rotation_mode])


def _rotation(moved: bpy.types.Object | bpy.types.PoseBone) -> Any:
    """Return a copy of its rotation; None for axis and angle."""
    if moved.rotation_mode == "AXIS_ANGLE":
        return None
    return getattr(moved, rotation_property(moved)).copy()


def _sound(space: Anchor) -> Array:
    """Return where a space stands, world space, shape (4, 4).

    Raises:
        RigError: If that is nowhere, or so flat that nothing can be placed in it.
    """
    matrix = finite_place(space, "space")
    sides = np.linalg.svd(matrix[:3, :3], compute_uv=False)
    if sides[-1] <= FLAT * sides[0]:
        raise RigError(
            f"Space '{label(space)}' has a scale of zero, so nothing can go along with it:"
            " choose another space."
        )
    return matrix


def finite_place(anchor: Anchor, word: str) -> Array:
    """Return where an object or a bone stands, world space, shape (4, 4).

    Args:
        anchor: The object or bone.
        word: What it is, such as "target".

    Raises:
        RigError: If there is no such bone, or that is nowhere.
    """
    matrix = matrix_of(anchor)
    if not np.isfinite(matrix).all():
        raise bone_not_finite(anchor.bone) if anchor.bone else not_finite(anchor, word)
    return matrix
