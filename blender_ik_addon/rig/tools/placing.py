"""Targets and poles moved to a point by their location channels, under any parents."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Matrix

from ...core.algebra.arithmetic import Array, Flags
from ..reading import spaces
from ..reading.animation import driven_axes
from ..reading.refusals import RigError
from ..reading.spec import Anchor
from ..reading.world import (
    LARGEST,
    array_of,
    channels_of,
    check_in_scene,
    matrix_of,
    not_finite,
    uids_in,
)

# Constraints that act as parents: the owner's own location counts from where they put it.
CARRYING = frozenset({"CHILD_OF", "ARMATURE", "FOLLOW_PATH", "OBJECT_SOLVER", "FOLLOW_TRACK"})
# A frame thinner than this share of its longest side shows a location on a plane or a line only.
FLAT = 1e-6
# The gap that may be left after a move: a share of the way, of which constraints would leave more,
# and a share of the coordinates, which Blender rounds.
SHARE_OF_WAY, SHARE_OF_PLACE = 1e-3, 1e-5


class HeldError(RigError):
    """Something else than its location, such as a constraint, decides where a target or pole is."""


def place_of(anchor: Anchor) -> Array:
    """Return where an object or the head of a bone was evaluated last, world space, shape (3,).

    Raises:
        RigError: If there is no such bone.
    """
    return matrix_of(anchor)[:3, 3]


def check_movable(anchor: Anchor, word: str, scene: bpy.types.Scene) -> None:
    """Raise unless a person may move an object or a bone.

    Args:
        anchor: The object or bone.
        word: What it is, "target" or "pole".
        scene: What it is to be moved in.

    Raises:
        RigError: With what to do first.
    """
    check_in_scene(anchor, word, uids_in(scene))
    owner = anchor.object
    if not owner.is_editable:
        raise RigError(f"The {word} '{owner.name}' is linked: make a library override of it first.")
    override = owner.override_library
    if override is not None and override.is_system_override:
        raise RigError(
            f"The library override of the {word} '{owner.name}' cannot be edited:"
            " make it editable in the Outliner first."
        )
    moved = channels_of(anchor)
    if isinstance(moved, bpy.types.PoseBone) and moved.bone.use_connect:
        raise RigError(
            f"Connected is on for bone '{moved.name}', so it cannot be moved:"
            f" choose another {word}, or clear Connected in edit mode."
        )
    if not _free_axes(anchor).any():
        raise RigError(
            f"The location of the {word} '{moved.name}' is locked or has drivers:"
            " unlock it, or remove its drivers first."
        )


@dataclass(frozen=True)
class Held:
    """A control that is being moved, as it was before.

    Attributes:
        anchor: The object or bone.
        word: What it is, "target" or "pole".
        location: Its location channels, shape (3,).
        place: Where it was, world space, shape (3,).
        base: Where its location alone would have put it, world space, shape (3,).
        frame: How its place changes with each free channel, world space, shape (3, m).
        free: Which location channels can be set, shape (3,).
    """

    anchor: Anchor
    word: str
    location: Array
    place: Array
    base: Array
    frame: Array
    free: Flags


def take_hold(anchor: Anchor, word: str, scene: bpy.types.Scene) -> Held:
    """Return a control as it is now, to be moved from there.

    Args:
        anchor: An object or bone, evaluated.
        word: What it is, "target" or "pole".
        scene: What it is to be moved in.

    Raises:
        RigError: If a person may not move it, or its place is not finite.
    """
    check_movable(anchor, word, scene)
    if not np.isfinite(_shown(anchor)).all():
        raise not_finite(anchor, word)
    free = _free_axes(anchor)
    location = np.array(channels_of(anchor).location, dtype=np.float64)
    base, frame = _grip(anchor)
    return Held(anchor, word, location, place_of(anchor), base, frame[:, free], free)


def move_to_point(held: Held, point: Array, view_layer: bpy.types.ViewLayer) -> None:
    """Move a control to a point of world space, by its location alone, and evaluate it there.

    Axes that are locked or have drivers stay; the others bring it as near as they can. It need not
    have been evaluated since ``take_hold``. A point that is not finite, or farther than Blender
    evaluates, moves nothing.

    Args:
        held: The control.
        point: Shape (3,).
        view_layer: What evaluates it.

    Raises:
        HeldError: If a constraint holds it elsewhere; it has its former location again then.
        RigError: If there is no such bone any more.
    """
    step = np.zeros(3)
    if np.isfinite(point).all():
        step[held.free] = np.linalg.lstsq(held.frame, point - held.base, rcond=FLAT)[0]
    location = held.location + step
    if step.any() and (np.abs(location) <= LARGEST).all():
        before = channels_of(held.anchor).location.copy()
        channels_of(held.anchor).location = location.tolist()
        view_layer.update()
        if not _has_gone(held, step[held.free]):
            channels_of(held.anchor).location = before
            view_layer.update()
            raise HeldError(
                f"Something else, such as a constraint, keeps the {held.word}"
                f" '{channels_of(held.anchor).name}' from going there:"
                " mute that first, or choose another place."
            )


def _has_gone(held: Held, step: Array) -> bool:
    """Tell whether a control is where a step of its free channels should have brought it."""
    way = held.frame @ step
    gap = float(np.linalg.norm(place_of(held.anchor) - held.base - way))
    numbers = np.abs(held.frame) @ np.abs(held.location[held.free] + step)
    size = float(np.linalg.norm(numbers) + np.linalg.norm(held.base))
    # False for a place that is not finite as well.
    return gap <= SHARE_OF_WAY * float(np.linalg.norm(way)) + SHARE_OF_PLACE * size


def put_back(held: Held) -> None:
    """Give a control exactly the location that it had at ``take_hold``.

    Raises:
        RigError: If there is no such bone any more.
    """
    channels_of(held.anchor).location = held.location.tolist()


def _free_axes(anchor: Anchor) -> Flags:
    """Return which channels of the location can be set, shape (3,)."""
    moved = channels_of(anchor)
    free = ~np.array(moved.lock_location, dtype=np.bool_)
    free[list(driven_axes(anchor.object, moved.path_from_id("location")))] = False
    return free


def _grip(anchor: Anchor) -> tuple[Array, Array]:
    """Return where the location channels put an object or bone, and how that changes with them.

    Returns:
        The place in world space, shape (3,), and its change with each channel, shape (3, 3).
    """
    moved, world = channels_of(anchor), array_of(anchor.object.matrix_world)
    if isinstance(moved, bpy.types.PoseBone):
        head = _pose_of(moved, Matrix())[:3, 3]
        steps = [
            _pose_of(moved, Matrix.Translation(axis.tolist()))[:3, 3] - head for axis in np.eye(3)
        ]
        frame = np.stack(steps, axis=1)
        shown, seen = _pose_of(moved, moved.matrix_basis), array_of(moved.matrix)
    else:
        hung = _parent_of(moved)
        frame = hung[:3, :3]
        shown, seen = hung @ array_of(moved.matrix_basis), world
    acting = {each.type for each in moved.constraints if each.enabled}
    if acting & CARRYING:
        # These constraints move all that parents and channels give.
        frame = (seen @ np.linalg.pinv(shown))[:3, :3] @ frame
    # A limit may have stopped it: what counts then is where it would be without.
    base = shown[:3, 3] if acting and not acting & CARRYING else seen[:3, 3]
    if isinstance(moved, bpy.types.PoseBone):
        return spaces.transform_point(world, base), world[:3, :3] @ frame
    return base, frame


def _pose_of(bone: bpy.types.PoseBone, basis: Matrix) -> Array:
    """Return the pose matrix that channels give a bone before its constraints, armature space."""
    if bone.parent is None:
        return array_of(bone.bone.convert_local_to_pose(basis, bone.bone.matrix_local))
    return array_of(
        bone.bone.convert_local_to_pose(
            basis,
            bone.bone.matrix_local,
            parent_matrix=bone.parent.matrix,
            parent_matrix_local=bone.parent.bone.matrix_local,
        )
    )


def _parent_of(owner: bpy.types.Object) -> Array:
    """Return the space that an object's channels act in, world space, shape (4, 4)."""
    if owner.parent is None:
        return np.eye(4)
    # Blender has no property for the space of an object, bone or vertex parent, but these two.
    parent = array_of(owner.matrix_world) @ np.linalg.pinv(array_of(owner.matrix_local))
    return parent @ array_of(owner.matrix_parent_inverse)


def _shown(anchor: Anchor) -> Array:
    """Return all matrices that decide where a target or pole is, shape (m, 4, 4)."""
    moved, owner = channels_of(anchor), anchor.object
    matrices = [owner.matrix_world, owner.matrix_parent_inverse, moved.matrix_basis]
    if isinstance(moved, bpy.types.PoseBone):
        matrices += [moved.matrix, *([moved.parent.matrix] if moved.parent else [])]
    return np.array(matrices, dtype=np.float64)
