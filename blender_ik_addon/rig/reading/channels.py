"""Pose channels of an armature as arrays: read in bulk, rotations of all modes in one form.

A bone's *rotation channels* are the four numbers of its rotation mode: quaternion wxyz, angle and
axis, or three Euler angles and a zero. Only the mode tells which numbers count: one array fits all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import bpy
import numpy as np
import numpy.typing as npt

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Flags, Indices
from .spaces import matrices_from_buffer

Integers = npt.NDArray[np.int32]
Channels = npt.NDArray[np.float32]

# ``PoseBone.rotation_mode`` as the integers that ``foreach_get`` gives.
QUATERNION, AXIS_ANGLE = 0, -1
EULER_MODES = dict(enumerate(rotation.EULER_ORDERS, start=1))
MODE_NAMES = {QUATERNION: "QUATERNION", AXIS_ANGLE: "AXIS_ANGLE", **EULER_MODES}
MODE_NUMBERS = {name: number for number, name in MODE_NAMES.items()}
PROPERTY_SIZES = {"rotation_quaternion": 4, "rotation_euler": 3, "rotation_axis_angle": 4}
CHANNEL_SIZES = {"location": 3, "scale": 3, **PROPERTY_SIZES}


def property_of_mode(mode: int) -> str:
    """Return the name of the pose bone property that a rotation mode writes."""
    names = {QUATERNION: "rotation_quaternion", AXIS_ANGLE: "rotation_axis_angle"}
    return names.get(mode, "rotation_euler")


def _find_products_map() -> Array:
    """Return the map from products of a unit quaternion's numbers to its matrix, shape (16, 9)."""
    units = np.eye(4)
    single = rotation.matrix_from_quaternion(units)
    pairs = rotation.normalize(units[:, None] + units)
    # A matrix is a sum over pairs of numbers. For two different ones: the matrix of their
    # normalized sum, without half of what each gives alone.
    shares = rotation.matrix_from_quaternion(pairs) - 0.5 * (single[:, None] + single)
    shares[range(4), range(4)] = single
    return np.round(shares).reshape(16, 9)


PRODUCTS_TO_MATRIX = _find_products_map()


@dataclass(frozen=True)
class Pose:
    """The pose of an armature object's n bones, float64.

    Attributes:
        world: World matrix of the object, shape (4, 4).
        matrices: Evaluated pose matrices, armature space, shape (n, 4, 4).
        location: Location channels, shape (n, 3).
        scale: Scale channels, shape (n, 3).
        modes: Rotation modes as integers, shape (n,).
        channels: Rotation channels as stored, float32, shape (n, 4); later writes are noted here.
        locks: Locked axes x, y, z and w, shape (n, 4).
        uses_4d_locks: Whether the locks of a quaternion or axis-angle are for its four numbers, in
            the order of the channels; otherwise they are for its XYZ Euler angles, shape (n,).
    """

    world: Array
    matrices: Array
    location: Array
    scale: Array
    modes: Integers
    channels: Channels
    locks: Flags
    uses_4d_locks: Flags

    @property
    def rotation(self) -> Array:
        """The rotation channels, float64, shape (n, 4); a copy."""
        return self.channels.astype(np.float64)

    def copy(self) -> Pose:
        """Return a copy with arrays that can be changed."""
        names = ("channels", "location", "scale", "matrices")
        return replace(self, **{name: getattr(self, name).copy() for name in names})

    def note(self, name: str, bones: Indices, values: npt.ArrayLike) -> None:
        """Note new channels of bones: rotations, locations or scales."""
        getattr(self, name)[bones] = values


def read_pose(evaluated: bpy.types.Object, known: Pose | None = None) -> Pose:
    """Return the pose of an evaluated armature object.

    ``known`` is its former pose if rotation modes and locks are the same.
    """
    bones = evaluated.pose.bones
    count = len(bones)
    modes = read_integers(bones, "rotation_mode", count) if known is None else known.modes
    return Pose(
        world=np.array(evaluated.matrix_world, dtype=np.float64),
        matrices=matrices_from_buffer(read_floats(bones, "matrix", 16, count)),
        location=read_floats(bones, "location", 3, count).reshape(count, 3).astype(np.float64),
        scale=read_floats(bones, "scale", 3, count).reshape(count, 3).astype(np.float64),
        modes=modes,
        channels=read_rotation(bones, modes),
        locks=_read_locks(bones, count) if known is None else known.locks,
        uses_4d_locks=(
            read_flags(bones, "lock_rotations_4d", 1, count)
            if known is None
            else known.uses_4d_locks
        ),
    )


def _read_locks(bones: Any, count: int) -> Flags:
    locks = np.empty((count, 4), dtype=np.bool_)
    locks[:, :3] = read_flags(bones, "lock_rotation", 3, count)
    locks[:, 3] = read_flags(bones, "lock_rotation_w", 1, count)
    return locks


def changed_bones(former: Pose, pose: Pose) -> Flags:
    """Return which bones differ in more than rotations and their consequences, shape (n,)."""
    if len(former.modes) != len(pose.modes):
        return np.ones(len(pose.modes), dtype=np.bool_)
    changed: Flags = former.modes != pose.modes
    changed |= former.uses_4d_locks != pose.uses_4d_locks
    for name in ("location", "scale", "locks"):
        changed |= (getattr(former, name) != getattr(pose, name)).any(axis=1)
    return changed


def read_rotation(bones: Any, modes: Integers) -> Channels:
    """Return the rotation channels of pose bones in these modes, shape (n, 4)."""
    if not modes.any():
        return read_floats(bones, "rotation_quaternion", 4, len(modes)).reshape(-1, 4)
    channels = np.zeros((len(modes), 4), dtype=np.float32)
    for name, size in PROPERTY_SIZES.items():
        rows = rows_of_property(modes, name)
        if rows.any():
            values = read_floats(bones, name, size, len(modes)).reshape(-1, size)
            channels[rows, :size] = values[rows]
    return channels


def rows_of_property(modes: Integers, name: str) -> Flags:
    """Return which bones have a mode that writes the named property, shape (n,)."""
    rows: Flags = modes > QUATERNION
    if name == "rotation_quaternion":
        rows = modes == QUATERNION
    elif name == "rotation_axis_angle":
        rows = modes == AXIS_ANGLE
    return rows


# ``Any``: the stubs know neither foreach_get of collections nor their common type. Blender counts
# members one by one, as slowly as it reads them: who reads more properties passes the count.
def read_floats(
    collection: Any, name: str, size: int, count: int | None = None
) -> npt.NDArray[np.float32]:
    """Return a float property of all bones or other members, shape (n * size,)."""
    buffer = np.empty((len(collection) if count is None else count) * size, dtype=np.float32)
    collection.foreach_get(name, buffer)
    return buffer


def read_flags(collection: Any, name: str, size: int = 1, count: int | None = None) -> Flags:
    """Return a boolean property, shape (n,), or (n, size) for several numbers."""
    buffer = np.empty((len(collection) if count is None else count) * size, dtype=np.bool_)
    collection.foreach_get(name, buffer)
    return buffer if size == 1 else buffer.reshape(-1, size)


def read_integers(collection: Any, name: str, count: int | None = None) -> Integers:
    """Return an integer property, shape (n,)."""
    buffer = np.empty(len(collection) if count is None else count, dtype=np.int32)
    collection.foreach_get(name, buffer)
    return buffer


def quaternions_of(channels: Array, modes: Integers) -> Array:
    """Return the local rotations wxyz (m, 4) of rotation channels (m, 4)."""
    if not modes.any():
        is_zero = ~channels.any(axis=1)
        if is_zero.any():
            channels = np.where(is_zero[:, None], [1.0, 0.0, 0.0, 0.0], channels)
        return rotation.normalize(channels)
    return rotation.quaternion_from_matrix(matrices_of(channels, modes))


def matrices_of(channels: Array, modes: Integers) -> Array:
    """Return the local rotation matrices (m, 3, 3) of rotation channels (m, 4)."""
    matrices = np.empty((len(modes), 3, 3))
    present = set(modes.tolist())
    for mode in present:
        rows = modes == mode if len(present) > 1 else slice(None)
        values = channels[rows]
        if mode in EULER_MODES:
            matrices[rows] = rotation.matrix_from_euler(values[:, :3], EULER_MODES[mode])
            continue
        if mode == AXIS_ANGLE:
            values = rotation.quaternion_from_axis_angle(values)
        matrices[rows] = _matrices_of_quaternions(values)
    return matrices


def _matrices_of_quaternions(quaternions: Array) -> Array:
    """Return rotation matrices (m, 3, 3) of quaternions (m, 4) of any length; zero is none."""
    squares = np.einsum("mi,mi->m", quaternions, quaternions)[:, None]
    is_zero = squares == 0.0
    products = (quaternions[:, :, None] * quaternions[:, None, :]).reshape(-1, 16)
    products = products / np.where(is_zero, 1.0, squares)
    matrices: Array = np.einsum("mi,ij->mj", products, PRODUCTS_TO_MATRIX).reshape(-1, 3, 3)
    matrices[is_zero[:, 0]] = np.eye(3)
    return matrices


def channels_of_matrices(matrices: Array, modes: Integers, reference: Array) -> Array:
    """Return the rotation channels (m, 4) of local rotation matrices (m, 3, 3) in modes (m,).

    They are nearest to the reference channels (m, 4), so that curves do not flip.
    """
    channels = np.zeros((len(modes), 4))
    for mode in np.unique(modes):
        rows = modes == mode
        near = reference[rows]
        if mode in EULER_MODES:
            order = EULER_MODES[int(mode)]
            channels[rows, :3] = rotation.euler_from_matrix(matrices[rows], order, near[:, :3])
            continue
        quaternions = rotation.quaternion_from_matrix(matrices[rows])
        if mode == AXIS_ANGLE:
            channels[rows] = rotation.axis_angle_from_quaternion(quaternions, near)
        else:
            channels[rows] = rotation.nearest_quaternion(quaternions, near)
    return channels


def converted(channels: Array, from_modes: Integers, to_modes: Integers) -> Array:
    """Return rotation channels (m, 4) in other modes; unchanged if the mode is the same."""
    if np.array_equal(from_modes, to_modes):
        return channels
    matrices = matrices_of(channels, from_modes)
    other = channels_of_matrices(matrices, to_modes, np.zeros_like(channels))
    return np.where((from_modes == to_modes)[:, None], channels, other)


def with_locks(
    channels: Array, modes: Integers, start: Array, locks: Flags, uses_4d_locks: Flags
) -> Array:
    """Return rotation channels (m, 4) in which locked ones keep their start values (m, 4).

    ``locks`` (m, 4) and ``uses_4d_locks`` (m,) are as in ``Pose``.
    """
    if not locks.any():
        return channels
    is_euler = modes > QUATERNION
    is_locked = np.where(is_euler[:, None], locks, np.roll(locks, 1, axis=1))
    is_locked[is_euler, 3] = False
    is_locked[~is_euler & ~uses_4d_locks] = False
    locked = np.where(is_locked, start, channels)
    by_angles = ~is_euler & ~uses_4d_locks & locks[:, :3].any(axis=1)
    if by_angles.any():
        rows, xyz = modes[by_angles], np.full(by_angles.sum(), MODE_NUMBERS["XYZ"])
        start_angles = converted(start[by_angles], rows, xyz)
        free = channels_of_matrices(matrices_of(channels[by_angles], rows), xyz, start_angles)
        free[:, :3] = np.where(locks[by_angles, :3], start_angles[:, :3], free[:, :3])
        locked[by_angles] = channels_of_matrices(matrices_of(free, xyz), rows, start[by_angles])
    return locked
