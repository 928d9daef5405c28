"""World matrices of the objects of a dependency graph, read in bulk."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import bpy
import numpy as np
import numpy.typing as npt
from mathutils import Matrix

from ...core.algebra.arithmetic import Array, Indices
from .channels import read_integers
from .refusals import RigError
from .spaces import matrices_from_buffer, transform_point
from .spec import Anchor

BoneRows = Mapping[int, Mapping[str, int]]
"""Rows of bones by name, by session uid of their armature objects."""
NO_BONE_ROWS: BoneRows = MappingProxyType({})

# Blender evaluates in float32; the squares of larger numbers overflow there.
LARGEST = 1e18


def is_sound(values: npt.NDArray[np.floating]) -> bool:
    """Return whether numbers are finite, and small enough for their squares in Blender."""
    # One sum of squares is faster than a look at each number: it is NaN or large if any is.
    return float(np.vdot(values, values)) < LARGEST * LARGEST


def uids_in(scene: bpy.types.Scene) -> frozenset[int]:
    """Return the session uids of a scene's objects."""
    return frozenset(read_integers(scene.objects, "session_uid").tolist())


def check_in_scene(anchor: Anchor, word: str, present: Container[int]) -> None:
    """Raise a ``RigError`` unless a "target" or "pole" is in the scene, among session uids.

    A deleted object exists while chains name it.
    """
    if anchor.object.session_uid not in present:
        raise RigError(
            "The {word} '{name}' is no longer in the scene: choose another {word}.",
            word=word,
            name=anchor.object.name,
        )


def not_finite(anchor: Anchor, word: str) -> RigError:
    """Return the error of a target or pole whose matrix is not sound."""
    return RigError(
        "The transform of the {word} '{name}' is not finite or too large: check its location,"
        " rotation, scale, parents, drivers and constraints.",
        word=word,
        name=anchor.object.name,
    )


def no_bone(anchor: Anchor) -> RigError:
    """Return the error of a target or pole whose bone is gone."""
    return RigError(
        "Bone '{bone}' of '{name}' no longer exists: choose another bone for the chain to follow.",
        bone=anchor.bone,
        name=anchor.object.name,
    )


def channels_of(anchor: Anchor) -> bpy.types.Object | bpy.types.PoseBone:
    """Return the owner of an anchor's channels: the object itself, or its bone.

    Raises:
        RigError: If there is no such bone.
    """
    if not anchor.bone:
        return anchor.object
    pose = anchor.object.pose
    bone = None if pose is None else pose.bones.get(anchor.bone)
    if bone is None:
        raise no_bone(anchor)
    return bone


def array_of(matrix: Matrix) -> Array:
    """Return a Blender matrix in double precision, shape (4, 4)."""
    return np.array(matrix, dtype=np.float64)


def matrix_of(anchor: Anchor) -> Array:
    """Return the last evaluated world matrix of an object or a bone, shape (4, 4).

    Raises:
        RigError: If there is no such bone.
    """
    world, moved = array_of(anchor.object.matrix_world), channels_of(anchor)
    return world @ array_of(moved.matrix) if isinstance(moved, bpy.types.PoseBone) else world


@lru_cache(maxsize=4096)
def mirrors(world: bytes) -> bool:
    """Return whether a world matrix mirrors, given the bytes of an array (4, 4)."""
    with np.errstate(invalid="ignore", over="ignore"):
        return bool(np.linalg.det(np.frombuffer(world).reshape(4, 4)[:3, :3]) < 0.0)


def find_unmirrored(evaluated: bpy.types.Object) -> Array | None:
    """Return the linear map that removes negative scales of an object and its parents.

    With the world matrix W and the one without negative signs W', it is inverse(W) W'. The signs
    are in the scale channels only: no matrix tells which of its axes was mirrored.
    """
    world = np.array(evaluated.matrix_world, dtype=np.float64)[:3, :3]
    if np.linalg.det(world) >= 0.0:
        return None
    unmirrored = np.eye(3)
    owner: bpy.types.Object | None = evaluated
    while owner is not None:
        # An object's matrix ends in its own scale, so its signs S undo themselves there: W = O B
        # with the owner's matrix O, and inverse(W) (O S B) = inverse(B) S B.
        below = np.linalg.solve(np.array(owner.matrix_world, dtype=np.float64)[:3, :3], world)
        signs = np.diag(np.where(np.array(owner.scale) < 0.0, -1.0, 1.0))
        unmirrored = np.linalg.solve(below, signs @ below) @ unmirrored
        owner = owner.parent
    return None if np.linalg.det(unmirrored) > 0.0 else unmirrored


def ends_of(owner: bpy.types.Object, bones: Iterable[bpy.types.PoseBone]) -> Array:
    """Return head and tail of n posed bones, alternating, world space, shape (2 n, 3)."""
    ends = np.array([[bone.head, bone.tail] for bone in bones], dtype=np.float64)
    return transform_point(array_of(owner.matrix_world), ends.reshape(-1, 3))


class ObjectRows:
    """Rows of objects in a bulk read.

    Attributes:
        count: Number of objects.
        row_of: Rows by session uid.
    """

    def __init__(self, depsgraph: bpy.types.Depsgraph) -> None:
        """Read the uid of every visible object of a graph; only originals know theirs."""
        uids = [visible.original.session_uid for visible in depsgraph.objects]
        self.count = len(uids)
        self.row_of = {uid: row for row, uid in enumerate(uids)}


class FollowedBones:
    """Bones of one armature object that chains follow."""

    def __init__(self, owner: bpy.types.Object, names: Sequence[str]) -> None:
        """Take the original object, and the names of m bones."""
        self.owner, self.uid, self._names = owner, owner.session_uid, names
        self._index: Mapping[str, int] | None = None
        self._rows: Indices = np.empty(0, dtype=np.int64)

    def rows(self, index: Mapping[str, int]) -> Indices:
        """Return the rows of the bones, -1 for missing ones, shape (m,); given those by name."""
        if index is not self._index:
            self._index = index
            self._rows = np.array([index.get(name, -1) for name in self._names])
        return self._rows


class WorldMatrices:
    """World matrices that a graph has evaluated; valid until it is evaluated again.

    Attributes:
        depsgraph: The graph.
        order: Rows of the objects.
    """

    def __init__(
        self,
        depsgraph: bpy.types.Depsgraph,
        known: ObjectRows | None = None,
        bone_rows: BoneRows = NO_BONE_ROWS,
        *,
        may_be_hidden: bool = True,
    ) -> None:
        """Read the matrices of all visible objects.

        ``known`` is the order from an earlier read; it is used again if it still holds.
        ``may_be_hidden`` tells that objects may have been hidden or shown since. Rows of bones are
        given as far as they are known.
        """
        self.depsgraph, self._bone_rows = depsgraph, bone_rows
        objects = depsgraph.objects
        if known is None or may_be_hidden or known.count != len(objects):
            order = ObjectRows(depsgraph)
            known = known if known is not None and known.row_of == order.row_of else order
        self.order, count = known, known.count
        # The last row is NaN: objects that are not visible have row -1.
        buffer = np.empty(16 * count + 16, dtype=np.float32)
        objects.foreach_get("matrix_world", buffer[: 16 * count])
        buffer[16 * count :] = np.nan
        self._buffer = buffer.reshape(count + 1, 16)
        # Bone rows and matrices of objects whose bones are followed, the last row is NaN.
        self._bones: dict[int, tuple[Mapping[str, int], npt.NDArray[np.float32]]] = {}

    def matrices(self, rows: Indices) -> Array:
        """Return the matrices of rows, shape (m, 4, 4)."""
        return matrices_from_buffer(self._buffer[rows])

    def matrix(self, anchor: Anchor, word: str) -> Array:
        """Return the world matrix of one object or bone, shape (4, 4).

        Raises:
            RigError: If Blender does not evaluate the object, or its matrix is not sound.
        """
        evaluated = anchor.object.evaluated_get(self.depsgraph)
        if not evaluated.is_evaluated:
            raise RigError(
                "The {word} '{name}' is hidden, so Blender does not evaluate it: show it, or choose"
                " it again as {word}.",
                word=word,
                name=anchor.object.name,
            )
        matrix = np.array(evaluated.matrix_world, dtype=np.float64)
        if anchor.bone and evaluated.type == "ARMATURE":
            followed = FollowedBones(anchor.object, (anchor.bone,))
            if anchor.bone not in self._bones_of(followed)[0]:
                raise no_bone(anchor)
            matrix = matrix @ self.bone_matrices([followed])[0]
        if not is_sound(matrix):
            raise not_finite(anchor, word)
        return matrix

    def bone_matrices(self, followed: Sequence[FollowedBones]) -> Array:
        """Return pose matrices of m bones, armature space, (m, 4, 4); NaN for missing ones."""
        selected = []
        for bones in followed:
            index, matrices = self._bones_of(bones)
            selected.append(matrices[bones.rows(index)])
        return matrices_from_buffer(np.concatenate(selected))

    def _bones_of(
        self, followed: FollowedBones
    ) -> tuple[Mapping[str, int], npt.NDArray[np.float32]]:
        """Return the rows of all bones, and their pose matrices as read, shape (n + 1, 16)."""
        uid = followed.uid
        if (cached := self._bones.get(uid)) is None:
            bones: Any = followed.owner.evaluated_get(self.depsgraph).pose.bones
            count, index = len(bones), self._bone_rows.get(uid, {})
            if len(index) != count:
                index = {name: row for row, name in enumerate(bones.keys())}
            buffer = np.empty(16 * count + 16, dtype=np.float32)
            bones.foreach_get("matrix", buffer[:-16])
            buffer[-16:] = np.nan
            cached = self._bones[uid] = index, buffer.reshape(-1, 16)
        return cached
