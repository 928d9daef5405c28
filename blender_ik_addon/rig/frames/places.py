"""Where chains and trees hang: in the spaces of their armatures, or of their root bones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...core.algebra.arithmetic import Array, Flags, Indices
from ..reading.channels import Pose
from ..reading.spec import NegativeScale
from ..trees.driven import Driven
from .bases import Bases

NOWHERE = np.eye(4)


@dataclass(frozen=True)
class Places:
    """Where B chains, or trees of E chains, are solved, and hang there.

    Attributes:
        from_world: World space to that space, shape (B, 3, 4).
        to_world: Its directions to world space, shape (B, 3, 3).
        unit: The most that one in it is in scene units, shape (B,).
        above: Pose matrices of the roots' parents, identity without, shape (B, 4, 4).
        root: The roots' heads, shape (B, 3).
        unmirrored: Linear maps of the space after which ``to_world`` shows what it would show
            without negative scale, shape (B, 3, 3).
        keeps: Which chains shall bend as if nothing were mirrored, and are, shape (B, E).
        is_flat: Which armature objects are scaled flat, shape (B,).
    """

    from_world: Array
    to_world: Array
    unit: Array
    above: Array
    root: Array
    unmirrored: Array
    keeps: Flags
    is_flat: Flags

    @cached_property
    def worlds(self) -> Array:
        """That space to world space, shape (B, 3, 4)."""
        there = self.to_world @ -self.from_world[:, :, 3:]
        return np.concatenate((self.to_world, there), axis=2)

    def hung(self, rows: Indices, above: Array, root: Array, chains: Sequence[int]) -> Places:
        """Return those of some chains of trees, of which some rows (b,) hang elsewhere.

        These are measured from the roots' heads.

        Args:
            rows: Which ones.
            above: Pose matrices of their parents, shape (b, 4, 4).
            root: The roots' heads, shape (b, 3).
            chains: Numbers of the chains in the trees.
        """
        from_world, parent, head = self.from_world.copy(), self.above.copy(), self.root.copy()
        from_world[rows, :, 3] -= root
        parent[rows], head[rows] = above, 0.0
        parent[rows, :3, 3] -= root
        keeps = self.keeps[:, list(chains)]
        return replace(self, from_world=from_world, above=parent, root=head, keeps=keeps)

    def differ(self, former: Places, owns_root: Flags | bool) -> Flags:
        """Tell which chains or trees hang elsewhere than before, shape (B,).

        Args:
            former: Where they hung.
            owns_root: Which ones put their roots somewhere themselves.
        """
        differs: Flags = (self.root != former.root).any(axis=1) & ~np.asarray(owns_root)
        differs |= (self.keeps != former.keeps).any(axis=1)
        for name in ("from_world", "to_world", "above", "unmirrored"):
            differs |= (getattr(self, name) != getattr(former, name)).any(axis=(1, 2))
        return differs


def in_bases(bases: Bases, chains: int) -> Places:
    """Return trees of so many chains in the spaces of their root bones, which keep their shape.

    There the start pose is always the same, whatever the parents do.
    """
    count = len(bases.unit)
    return Places(
        from_world=bases.from_world,
        to_world=bases.to_world,
        unit=bases.unit,
        above=np.tile(NOWHERE, (count, 1, 1)),
        root=np.zeros((count, 3)),
        unmirrored=np.tile(NOWHERE[:3, :3], (count, 1, 1)),
        keeps=np.zeros((count, chains), dtype=np.bool_),
        is_flat=np.zeros(count, dtype=np.bool_),
    )


def in_armatures(
    driven: Sequence[Driven], poses: Sequence[Pose], unmirrored: Sequence[Array | None]
) -> Places:
    """Return chains or trees in the spaces of their armatures.

    Args:
        driven: The chains or trees.
        poses: Of their armature objects.
        unmirrored: What shows these without negative scale; None where nothing mirrors them.
    """
    world = np.array([pose.world for pose in poses])
    sizes = np.linalg.svd(world[:, :3, :3], compute_uv=False)
    is_flat = sizes[:, 2] <= sizes[:, 0] * 3.0 * np.finfo(float).eps
    sound = np.where(is_flat[:, None, None], NOWHERE, world)
    hung = [
        (pose.matrices, int(each.bones[0]), int(each.skeleton.parents[each.bones[0]]))
        for each, pose in zip(driven, poses, strict=True)
    ]
    keeps = [
        [shown is not None and spec.negative_scale is NegativeScale.KEEP for spec in each.specs]
        for each, shown in zip(driven, unmirrored, strict=True)
    ]
    return Places(
        from_world=np.linalg.inv(sound)[:, :3],
        to_world=world[:, :3, :3],
        unit=sizes[:, 0],
        above=np.array([matrices[up] if up >= 0 else NOWHERE for matrices, _, up in hung]),
        root=np.array([matrices[root, :3, 3] for matrices, root, _ in hung]),
        unmirrored=np.array([NOWHERE[:3, :3] if shown is None else shown for shown in unmirrored]),
        keeps=np.array(keeps),
        is_flat=is_flat,
    )
