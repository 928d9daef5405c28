"""The spaces that trees are solved in, armatures or bases, and the parents of their roots there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...core.algebra.arithmetic import Array, Flags
from ..reading.batch_record import BatchRecord
from ..reading.channels import Pose
from ..reading.spec import NegativeScale
from ..trees.driven import Driven
from .bases import Bases

IDENTITY = np.eye(4)


@dataclass(frozen=True)
class Places(BatchRecord):
    """The spaces of B chains, or trees of E chains, and the parents of their roots there.

    Attributes:
        from_world: World space to the tree's space, shape (B, 3, 4).
        to_world: Directions of that space to world space, shape (B, 3, 3).
        unit: Greatest length in scene units of one unit of that space, shape (B,).
        above: Pose matrices of the roots' parents, identity without one, shape (B, 4, 4).
        root: Heads of the roots, shape (B, 3).
        unmirrored: Linear maps of the space: ``to_world`` after them gives what it would give
            without negative scale, shape (B, 3, 3).
        keeps_bend: Which chains are mirrored but bend as if they were not, shape (B, E).
        is_flat: Which armature objects are scaled flat, shape (B,).
    """

    from_world: Array
    to_world: Array
    unit: Array
    above: Array
    root: Array
    unmirrored: Array
    keeps_bend: Flags
    is_flat: Flags

    @cached_property
    def worlds(self) -> Array:
        """The trees' spaces to world space, shape (B, 3, 4)."""
        origin = self.to_world @ -self.from_world[:, :, 3:]
        return np.concatenate((self.to_world, origin), axis=2)

    def at_roots(self) -> Places:
        """Return the places with the roots' heads as origins."""
        from_world, above = self.from_world.copy(), self.above.copy()
        from_world[:, :, 3] -= self.root
        above[:, :3, 3] -= self.root
        return replace(self, from_world=from_world, above=above, root=np.zeros_like(self.root))

    def find_moved(self, former: Places, owns_root: Flags | bool) -> Flags:
        """Return which places have changed, shape (B,).

        ``owns_root`` are the chains or trees that write the locations of their roots themselves.
        """
        differs: Flags = (self.root != former.root).any(axis=1) & ~np.asarray(owns_root)
        differs |= (self.keeps_bend != former.keeps_bend).any(axis=1)
        for name in ("from_world", "to_world", "above", "unmirrored"):
            differs |= (getattr(self, name) != getattr(former, name)).any(axis=(1, 2))
        return differs


def in_bases(bases: Bases, chains: int) -> Places:
    """Return the places of trees with a number of chains in their bases, where they keep shape.

    The start pose of a tree in its base is the same under any parents.
    """
    count = len(bases.unit)
    return Places(
        from_world=bases.from_world,
        to_world=bases.to_world,
        unit=bases.unit,
        above=np.tile(IDENTITY, (count, 1, 1)),
        root=np.zeros((count, 3)),
        unmirrored=np.tile(IDENTITY[:3, :3], (count, 1, 1)),
        keeps_bend=np.zeros((count, chains), dtype=np.bool_),
        is_flat=np.zeros(count, dtype=np.bool_),
    )


def in_armatures(
    driven: Sequence[Driven], poses: Sequence[Pose], unmirrored: Sequence[Array | None]
) -> Places:
    """Return the places of chains or trees in the spaces of their armatures.

    ``unmirrored`` is as in ``Places``; None for objects that nothing mirrors.
    """
    world = np.array([pose.world for pose in poses])
    sizes = np.linalg.svd(world[:, :3, :3], compute_uv=False)
    is_flat = sizes[:, 2] <= sizes[:, 0] * 3.0 * np.finfo(float).eps
    invertible = np.where(is_flat[:, None, None], IDENTITY, world)
    roots = [
        (pose.matrices, int(tree.bones[0]), int(tree.skeleton.parents[tree.bones[0]]))
        for tree, pose in zip(driven, poses, strict=True)
    ]
    keeps_bend = [
        [unmirror is not None and spec.negative_scale is NegativeScale.KEEP for spec in tree.specs]
        for tree, unmirror in zip(driven, unmirrored, strict=True)
    ]
    return Places(
        from_world=np.linalg.inv(invertible)[:, :3],
        to_world=world[:, :3, :3],
        unit=sizes[:, 0],
        above=np.array([matrices[up] if up >= 0 else IDENTITY for matrices, _, up in roots]),
        root=np.array([matrices[root, :3, 3] for matrices, root, _ in roots]),
        unmirrored=np.array([IDENTITY[:3, :3] if one is None else one for one in unmirrored]),
        keeps_bend=np.array(keeps_bend),
        is_flat=is_flat,
    )
