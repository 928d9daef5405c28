"""Moves of targets and poles to a point by their location channels, under any parents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

from ...core.algebra.arithmetic import Array, Flags
from ..reading import spaces
from ..reading.animation import driven_axes
from ..reading.refusals import RigError, refuse_first
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

# Constraints that act as parents: the owner's own location is relative to them.
PARENTING = frozenset({"CHILD_OF", "ARMATURE", "FOLLOW_PATH", "OBJECT_SOLVER", "FOLLOW_TRACK"})
# Minimum ratio of singular values of a frame; smaller ones count as zero, so a flat frame moves a
# control on a plane or a line only.
MIN_SINGULAR_VALUE_RATIO = 1e-6
# Tolerances of a moved control: as a share of its way, of which constraints would leave more, and
# as a share of its coordinates, for Blender's rounding.
MAX_GAP_PER_WAY, MAX_GAP_PER_SIZE = 1e-3, 1e-5


class MoveBlockedError(RigError):
    """A constraint, or something like it, keeps a target or pole from following its location."""


def place_of(anchor: Anchor) -> Array:
    """Return the evaluated place of an object or the head of a bone, world space, shape (3,).

    Raises:
        RigError: If the bone does not exist.
    """
    return matrix_of(anchor)[:3, 3]


def check_movable(anchor: Anchor, word: str, scene: bpy.types.Scene) -> None:
    """Raise a ``RigError`` if a "target" or "pole" cannot be moved by hand in a scene."""
    check_in_scene(anchor, word, uids_in(scene))
    owner, override = anchor.object, anchor.object.override_library
    refuse_first(
        {
            "The {word} '{name}' is linked: make a library override of it first.": (
                not owner.is_editable
            ),
            "The library override of the {word} '{name}' cannot be edited: make it editable in the"
            " Outliner first.": override is not None and override.is_system_override,
        },
        word=word,
        name=owner.name,
    )
    item = channels_of(anchor)
    is_connected = isinstance(item, bpy.types.PoseBone) and item.bone.use_connect
    refuse_first(
        {
            "Connected is on for bone '{name}', so it cannot be moved: choose another {word}, or"
            " clear Connected in edit mode.": is_connected,
            "The location of the {word} '{name}' is locked or has drivers: unlock it, or remove its"
            " drivers first.": not _free_axes(anchor).any(),
        },
        word=word,
        name=item.name,
    )


@dataclass(frozen=True)
class GrabbedControl:
    """The state of a control before it is moved.

    Attributes:
        anchor: The object or bone.
        word: What it is, "target" or "pole".
        location: Its location channels, shape (3,).
        place: Its place, world space, shape (3,).
        base: Its place by the location alone, world space, shape (3,).
        frame: Derivative of its place by each free channel, world space, shape (3, m).
        free: Which location channels can be set, shape (3,).
    """

    anchor: Anchor
    word: str
    location: Array
    place: Array
    base: Array
    frame: Array
    free: Flags


def grab_control(anchor: Anchor, word: str, scene: bpy.types.Scene) -> GrabbedControl:
    """Return the present state of an evaluated "target" or "pole" that is to be moved in a scene.

    Raises:
        RigError: If it cannot be moved by hand, or its place is not finite.
    """
    check_movable(anchor, word, scene)
    if not np.isfinite(_deciding_matrices(anchor)).all():
        raise not_finite(anchor, word)
    free = _free_axes(anchor)
    location = np.array(channels_of(anchor).location, dtype=np.float64)
    base, frame = _location_frame(anchor)
    return GrabbedControl(anchor, word, location, place_of(anchor), base, frame[:, free], free)


def move_to_point(grabbed: GrabbedControl, point: Array, view_layer: bpy.types.ViewLayer) -> None:
    """Move a control to a point in world space, (3,), by its location channels alone; evaluate it.

    Locked and driven channels stay; the others bring it as near as they can. It need not have been
    evaluated since ``grab_control``. A point that is not finite, or beyond the range that Blender
    evaluates, moves nothing.

    Raises:
        MoveBlockedError: If a constraint keeps it elsewhere; its former location is restored.
        RigError: If the bone does not exist any more.
    """
    step = np.zeros(3)
    if np.isfinite(point).all():
        step[grabbed.free] = np.linalg.lstsq(
            grabbed.frame, point - grabbed.base, rcond=MIN_SINGULAR_VALUE_RATIO
        )[0]
    location = grabbed.location + step
    if step.any() and (np.abs(location) <= LARGEST).all():
        former = channels_of(grabbed.anchor).location.copy()
        channels_of(grabbed.anchor).location = location.tolist()
        view_layer.update()
        if not _has_arrived(grabbed, step[grabbed.free]):
            channels_of(grabbed.anchor).location = former
            view_layer.update()
            raise MoveBlockedError(
                "Something else, for example a constraint, stops the {word} '{name}' from moving"
                " there: mute it first, or choose another place.",
                word=grabbed.word,
                name=channels_of(grabbed.anchor).name,
            )


def _has_arrived(grabbed: GrabbedControl, step: Array) -> bool:
    """Return whether a control is where a step of its free channels should have moved it."""
    path = grabbed.frame @ step
    gap = float(np.linalg.norm(place_of(grabbed.anchor) - grabbed.base - path))
    sizes = np.abs(grabbed.frame) @ np.abs(grabbed.location[grabbed.free] + step)
    size = float(np.linalg.norm(sizes) + np.linalg.norm(grabbed.base))
    # False also for a place that is not finite.
    return gap <= MAX_GAP_PER_WAY * float(np.linalg.norm(path)) + MAX_GAP_PER_SIZE * size


def _free_axes(anchor: Anchor) -> Flags:
    """Return which channels of the location can be set, shape (3,)."""
    item = channels_of(anchor)
    free = ~np.array(item.lock_location, dtype=np.bool_)
    free[list(driven_axes(anchor.object, item.path_from_id("location")))] = False
    return free


def _location_frame(anchor: Anchor) -> tuple[Array, Array]:
    """Return the place of an object or bone by its location channels, and the derivative.

    Both are in world space: shape (3,), and its change with each channel, (3, 3).
    """
    item, world = channels_of(anchor), array_of(anchor.object.matrix_world)
    if isinstance(item, bpy.types.PoseBone):
        head = _pose_of(item, Matrix())[:3, 3]
        steps = [
            _pose_of(item, Matrix.Translation(axis.tolist()))[:3, 3] - head for axis in np.eye(3)
        ]
        frame = np.stack(steps, axis=1)
        unconstrained, evaluated = _pose_of(item, item.matrix_basis), array_of(item.matrix)
    else:
        space = _parent_of(item)
        frame = space[:3, :3]
        unconstrained, evaluated = space @ array_of(item.matrix_basis), world
    active = {constraint.type for constraint in item.constraints if constraint.enabled}
    if active & PARENTING:
        # These constraints transform the result of parents and channels.
        frame = (evaluated @ np.linalg.pinv(unconstrained))[:3, :3] @ frame
    # A limit may have stopped it: then start from the place without constraints.
    base = unconstrained[:3, 3] if active and not active & PARENTING else evaluated[:3, 3]
    if isinstance(item, bpy.types.PoseBone):
        return spaces.transform_point(world, base), world[:3, :3] @ frame
    return base, frame


def _pose_of(bone: bpy.types.PoseBone, basis: Matrix) -> Array:
    """Return the pose matrix that channels give a bone before its constraints, armature space."""
    above, parent = bone.parent, dict[str, Any]()
    if above is not None:
        parent = {"parent_matrix": above.matrix, "parent_matrix_local": above.bone.matrix_local}
    return array_of(bone.bone.convert_local_to_pose(basis, bone.bone.matrix_local, **parent))


def _parent_of(owner: bpy.types.Object) -> Array:
    """Return the matrix (4, 4) from the space of an object's channels to world space."""
    if owner.parent is None:
        return np.eye(4)
    # Blender has no property for the space of an object, bone or vertex parent: combine two.
    parent = array_of(owner.matrix_world) @ np.linalg.pinv(array_of(owner.matrix_local))
    return parent @ array_of(owner.matrix_parent_inverse)


def _deciding_matrices(anchor: Anchor) -> Array:
    """Return all matrices that decide the place of a target or pole, shape (m, 4, 4)."""
    item, owner = channels_of(anchor), anchor.object
    matrices = [owner.matrix_world, owner.matrix_parent_inverse, item.matrix_basis]
    if isinstance(item, bpy.types.PoseBone):
        matrices += [item.matrix, *([item.parent.matrix] if item.parent else [])]
    return np.array(matrices, dtype=np.float64)
