"""Bones of an armature as arrays: what changes in edit mode only, compiled once."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import bpy
import numpy as np

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Flags, Indices
from .channels import read_flags, read_floats, read_integers
from .spaces import InheritScale, RestFrames, head_in_parent, matrices_from_buffer

# Properties that change with the bones. The parent-relative matrices represent the hierarchy.
_REST_FLOATS = {"matrix_local": 16, "matrix": 9, "head": 3, "length": 1}
_REST_FLAGS = ("use_inherit_rotation", "use_local_location", "use_connect")


# Greatest deviation of float32 rest matrices; beyond it the turns of bones are not exact.
MAX_DEVIATION = 5e-6

Fingerprint = tuple[object, ...]
"""Value that is equal for equal bones."""


# Distance, as a share of the parent's length, below which a head is at the parent's tail.
TOUCHING_SHARE = 1e-3


@dataclass(frozen=True)
class Skeleton:
    """The n bones of an armature, in the order of ``Armature.bones``.

    Attributes:
        fingerprint: Value that is equal for equal bones.
        names: Bone names.
        index: Bone index by name.
        parents: Index of the parent bone, -1 without, shape (n,).
        rest: Rest matrices in armature space, shape (n, 4, 4).
        offsets: Rest matrices relative to the parent's, shape (n, 4, 4).
        frames: Rest frames of the bones, for the pose evaluation.
        lengths: Rest lengths, shape (n,).
        use_local_location: Whether location is in local space, shape (n,).
        is_connected: Whether a bone ignores its location, shape (n,).
        plans: Plans by requested bones, for ``plan_chain``; shared by objects with equal bones.
        hangings: Cached hierarchies of chains that are solved together, for ``hanging_of``.
    """

    fingerprint: Fingerprint
    names: tuple[str, ...]
    index: dict[str, int]
    parents: Indices
    rest: Array
    offsets: Array
    frames: RestFrames
    lengths: Array
    use_local_location: Flags
    is_connected: Flags
    plans: dict[tuple[object, ...], Any] = field(default_factory=dict)
    hangings: dict[tuple[int, ...], Any] = field(default_factory=dict)

    @cached_property
    def offsets_wxyz(self) -> Array:
        """The rotations of ``offsets``, shape (n, 4)."""
        return rotation.quaternion_from_matrix(self.offsets[:, :3, :3])

    @cached_property
    def has_square_rest(self) -> Flags:
        """Whether the rest matrix of each bone is a pure rotation, shape (n,).

        Rest matrices of bones that point against their parents are only nearly rotations.
        """
        turns = self.offsets[:, :3, :3]
        off = np.swapaxes(turns, -1, -2) @ turns - np.eye(3)
        return np.abs(off).max(axis=(1, 2)) <= MAX_DEVIATION

    @cached_property
    def takes_whole_parent(self) -> Flags:
        """Whether each bone inherits its parent's rotation, scale and shear, shape (n,)."""
        whole: Flags = self.frames.use_inherit_rotation & (
            self.frames.inherit_scale == InheritScale.FULL
        )
        return whole

    def heads(self, bones: Indices, location: Array) -> Array:
        """Return the heads at location channels (..., m, 3), in the spaces of posed parents."""
        tied, is_local = self.is_connected[bones], self.use_local_location[bones]
        return head_in_parent(self.offsets[bones], location, is_local, tied)

    def head_by_location(self, bone: int) -> tuple[Array, Array]:
        """Return a bone's head without location, (3,), and the matrix of its location, (3, 3)."""
        offset = self.offsets[bone]
        matrix = offset[:3, :3] if self.use_local_location[bone] else np.eye(3)
        return offset[:3, 3], np.zeros((3, 3)) if self.is_connected[bone] else matrix

    def child_at_tail(self, bone: int) -> int | None:
        """Return the only child that begins at the tail of a bone; None for none or several.

        Also unconnected children with their head there at rest, as in motion capture files.
        """
        children = np.flatnonzero(self.parents == bone)
        touching = children[self.begins_at_tail(children)]
        return int(touching[0]) if len(touching) == 1 else None

    def begins_at_tail(self, bones: Indices, tolerance: float = TOUCHING_SHARE) -> Flags:
        """Return which bones (m,) begin at the tails of their parents, connected or so at rest.

        The tolerance is a share of the parent's length. A bone without a parent does not, although
        its *Connected* may be on.
        """
        parents = self.parents[bones]
        tails = np.outer(self.lengths[parents], (0.0, 1.0, 0.0))
        gaps = np.linalg.norm(self.offsets[bones, :3, 3] - tails, axis=1)
        is_touching = gaps <= tolerance * self.lengths[parents]
        return (parents >= 0) & (self.is_connected[bones] | is_touching)

    def connected_run(self, bone: int) -> list[int]:
        """Return a bone and those above it, up to the first that does not begin at a tail."""
        run = self.ancestors(bone)
        # The last one has no parent, so there is always a first one.
        starts = np.flatnonzero(~self.begins_at_tail(np.array(run)))
        return run[: int(starts[0]) + 1]

    def ancestors(self, bone: int) -> list[int]:
        """Return a bone and all bones above it, the bone first."""
        bones = []
        while bone >= 0:
            bones.append(bone)
            bone = int(self.parents[bone])
        return bones


def fingerprint(armature: bpy.types.Armature) -> Fingerprint:
    """Return the fingerprint of an armature, to compare with that of its compiled skeleton."""
    bones = armature.bones
    names = tuple(bones.keys())
    count, rest = len(names), _REST_FLOATS.items()
    floats = [read_floats(bones, name, size, count).tobytes() for name, size in rest]
    flags = [read_flags(bones, name, 1, count).tobytes() for name in _REST_FLAGS]
    return (names, *floats, *flags, read_integers(bones, "inherit_scale", count).tobytes())


def compile_skeleton(armature: bpy.types.Armature, present: Fingerprint) -> Skeleton:
    """Return the skeleton of an armature with its present fingerprint."""
    bones = armature.bones
    count = len(bones)
    names = tuple(bones.keys())
    index = {name: i for i, name in enumerate(names)}
    parents = np.array(
        [index[bone.parent.name] if bone.parent else -1 for bone in bones], dtype=np.int64
    )
    rest, is_root = matrices_from_buffer(read_floats(bones, "matrix_local", 16, count)), parents < 0
    above = np.where(is_root[:, None, None], np.eye(4), rest[parents])
    offsets, inherit_scale = np.linalg.inv(above) @ rest, read_integers(bones, "inherit_scale")
    return Skeleton(
        fingerprint=present,
        names=names,
        index=index,
        parents=parents,
        rest=rest,
        offsets=offsets,
        frames=RestFrames(
            parent_rest=above[:, :3, :3],
            offset=offsets[:, :3, :3],
            # Blender ignores both settings without a parent.
            use_inherit_rotation=read_flags(bones, "use_inherit_rotation") | is_root,
            inherit_scale=np.where(is_root, InheritScale.FULL, inherit_scale).astype(np.int32),
        ),
        lengths=read_floats(bones, "length", 1).astype(np.float64),
        use_local_location=read_flags(bones, "use_local_location"),
        # Blender ignores the location of a connected bone also without a parent.
        is_connected=read_flags(bones, "use_connect"),
    )
