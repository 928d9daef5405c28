"""Targets and poles put where a person wants them: their location alone, under any parents."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np
import numpy.typing as npt
from mathutils import Matrix

from ..reading import spaces
from ..reading.refusals import RigError
from ..reading.spec import Anchor
from ..reading.world import channels_of, not_finite

Array = npt.NDArray[np.float64]

# Constraints that carry their owner along, as parents do: its own location goes on from there.
CARRYING = frozenset({"CHILD_OF", "ARMATURE", "FOLLOW_PATH", "OBJECT_SOLVER", "FOLLOW_TRACK"})
# The greatest number that Blender stores.
FARTHEST = float(np.finfo(np.float32).max)
# A frame thinner than this share of its longest side shows a location on a plane or a line only.
FLAT = 1e-6


def place_of(anchor: Anchor) -> Array:
    """Return where an object or the head of a bone was evaluated last, world space, shape (3,).

    Raises:
        RigError: If there is no such bone.
    """
    world, moved = _matrix(anchor.object.matrix_world), channels_of(anchor)
    if isinstance(moved, bpy.types.PoseBone):
        return spaces.transform_point(world, np.array(moved.head, dtype=np.float64))
    return world[:3, 3]


def check_movable(anchor: Anchor, word: str) -> None:
    """Raise unless a person may move an object or a bone.

    Args:
        anchor: The object or bone.
        word: What it is, "target" or "pole".

    Raises:
        RigError: With what to do first.
    """
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
    if isinstance(moved, bpy.types.PoseBone) and moved.parent and moved.bone.use_connect:
        raise RigError(
            f"Bone '{moved.name}' is connected to its parent, so it cannot be moved:"
            f" choose another {word}, or disconnect it in edit mode."
        )
    if not _free_axes(anchor).any():
        raise RigError(
            f"The location of the {word} '{moved.name}' is locked or has drivers:"
            " unlock it, or remove its drivers first."
        )


@dataclass(frozen=True)
class Held:
    """A control that a person has taken hold of, as it stood then.

    Attributes:
        anchor: The object or bone.
        location: What its location channels held, shape (3,).
        place: Where it stood, world space, shape (3,).
        frame: How its place changes with the channels that can be set, shape (3, m).
        free: Which channels these are, shape (3,).
    """

    anchor: Anchor
    location: Array
    place: Array
    frame: Array
    free: npt.NDArray[np.bool_]


def take_hold(anchor: Anchor, word: str) -> Held:
    """Return a control as it stands, to be moved from there.

    Args:
        anchor: An object or bone, evaluated where it stands.
        word: What it is, "target" or "pole".

    Raises:
        RigError: If a person may not move it, or it stands nowhere.
    """
    check_movable(anchor, word)
    if not np.isfinite(_shown(anchor)).all():
        raise not_finite(anchor, word)
    free = _free_axes(anchor)
    location = np.array(channels_of(anchor).location, dtype=np.float64)
    return Held(anchor, location, place_of(anchor), _frame(anchor)[:, free], free)


def move_to_point(held: Held, point: Array) -> None:
    """Move a control to a point of world space, by its location alone.

    Axes that are locked or have drivers stay; the others bring it as near as they can. It does not
    matter whether it has been evaluated since it was taken hold of. A point that is not
    finite, or that no location can hold, moves nothing.

    Args:
        held: The control.
        point: Shape (3,).

    Raises:
        RigError: If there is no such bone any more.
    """
    if np.isfinite(point).all():
        location = held.location.copy()
        gap = point - held.place
        location[held.free] += np.linalg.lstsq(held.frame, gap, rcond=FLAT)[0]
        if (np.abs(location) <= FARTHEST).all():
            channels_of(held.anchor).location = location.tolist()


def put_back(held: Held) -> None:
    """Give a control the location that it had when it was taken hold of, to the last bit.

    Raises:
        RigError: If there is no such bone any more.
    """
    channels_of(held.anchor).location = held.location.tolist()


def _free_axes(anchor: Anchor) -> npt.NDArray[np.bool_]:
    """Return which channels of the location can be set, shape (3,)."""
    free = ~np.array(channels_of(anchor).lock_location, dtype=np.bool_)
    data, path = anchor.object.animation_data, channels_of(anchor).path_from_id("location")
    for driver in data.drivers if data is not None else ():
        if driver.data_path == path:
            free[driver.array_index] = False
    return free


def _frame(anchor: Anchor) -> Array:
    """Return how a place in world space changes with the location channels, shape (3, 3)."""
    moved, world = channels_of(anchor), _matrix(anchor.object.matrix_world)
    if isinstance(moved, bpy.types.PoseBone):
        head = _pose_of(moved, Matrix())[:3, 3]
        steps = [
            _pose_of(moved, Matrix.Translation(axis.tolist()))[:3, 3] - head for axis in np.eye(3)
        ]
        frame = np.stack(steps, axis=1)
        shown, seen = _pose_of(moved, moved.matrix_basis), _matrix(moved.matrix)
    else:
        hung = _parent_of(moved)
        frame = hung[:3, :3]
        shown, seen = hung @ _matrix(moved.matrix_basis), world
    if any(each.type in CARRYING and each.enabled for each in moved.constraints):
        # What parents and channels show is taken further along as a whole.
        frame = (seen @ np.linalg.pinv(shown))[:3, :3] @ frame
    return world[:3, :3] @ frame if anchor.bone else frame


def _pose_of(bone: bpy.types.PoseBone, basis: Matrix) -> Array:
    """Return the pose matrix that channels give a bone before its constraints, armature space."""
    if bone.parent is None:
        return _matrix(bone.bone.convert_local_to_pose(basis, bone.bone.matrix_local))
    return _matrix(
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
    # Blender does not tell the space of a parent, an object, bone or vertex, but both of these.
    parent = _matrix(owner.matrix_world) @ np.linalg.pinv(_matrix(owner.matrix_local))
    return parent @ _matrix(owner.matrix_parent_inverse)


def _shown(anchor: Anchor) -> Array:
    """Return all that tells where a target or pole stands: shape (m, 4, 4)."""
    moved, owner = channels_of(anchor), anchor.object
    matrices = [owner.matrix_world, owner.matrix_parent_inverse, moved.matrix_basis]
    if isinstance(moved, bpy.types.PoseBone):
        matrices += [moved.matrix, *([moved.parent.matrix] if moved.parent else [])]
    return np.array([_matrix(matrix) for matrix in matrices])


def _matrix(matrix: Matrix) -> Array:
    return np.array(matrix, dtype=np.float64)
