"""Where trees hang: in the spaces that their root bones turn in, or in those of their armatures."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from .bases import Bases
from .places import Places

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TreePlaces:
    """Where B trees of E chains are solved, and hang there.

    Attributes:
        from_world: World space to the tree's, shape (B, 3, 4).
        to_world: Its directions to world space, shape (B, 3, 3).
        unit: The most that one in the tree's space is in scene units, shape (B,).
        parent: Linear parts of the pose matrices of the roots' parents, shape (B, 3, 3).
        root: The roots' heads, shape (B, 3).
        keeps: Which chains shall bend as if nothing were mirrored, and are, shape (B, E).
        is_flat: Which armature objects are scaled flat, shape (B,).
    """

    from_world: Array
    to_world: Array
    unit: Array
    parent: Array
    root: Array
    keeps: Flags
    is_flat: Flags

    def take(self, rows: Rows) -> TreePlaces:
        """Return where some of the trees hang."""
        return TreePlaces(*(getattr(self, field.name)[rows] for field in fields(self)))

    def differ(self, former: TreePlaces) -> Flags:
        """Tell which trees hang elsewhere than before, shape (B,)."""
        differs: Flags = (self.root != former.root).any(axis=1)
        differs |= (self.keeps != former.keeps).any(axis=1)
        for name in ("from_world", "to_world", "parent"):
            differs |= (getattr(self, name) != getattr(former, name)).any(axis=(1, 2))
        return differs


def in_bases(bases: Bases, chains: int) -> TreePlaces:
    """Return trees of so many chains in the spaces of their root bones, which keep their shape.

    There the start pose is always the same, whatever the parents do.
    """
    count = len(bases.unit)
    return TreePlaces(
        from_world=bases.from_world,
        to_world=bases.to_world,
        unit=bases.unit,
        parent=np.tile(np.eye(3), (count, 1, 1)),
        root=np.zeros((count, 3)),
        keeps=np.zeros((count, chains), dtype=np.bool_),
        is_flat=np.zeros(count, dtype=np.bool_),
    )


def in_armatures(places: Places, chains: int, root_chain: int) -> TreePlaces:
    """Return trees of so many chains in the spaces of their armatures.

    Args:
        places: Of all chains, those of one tree after those of the one before.
        chains: How many each tree has.
        root_chain: Which of them starts at the tree's root.
    """
    own = slice(root_chain, None, chains)
    world, is_flat = places.world[own], places.is_flat[own]
    sound = np.where(is_flat[:, None, None], np.eye(4), world)
    return TreePlaces(
        from_world=np.linalg.inv(sound)[:, :3],
        to_world=world[:, :3, :3],
        unit=places.largest[own],
        parent=places.above[own, :3, :3],
        root=places.head[own],
        keeps=places.keeps.reshape(-1, chains),
        is_flat=is_flat,
    )
