"""Chains that share bones: one tree in its start pose.

All points are in armature space (any one Cartesian frame outside Blender), lengths in its unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .model.joints import Joints
from .trees import Trees
from .vectors import Array, Counts


@dataclass(frozen=True)
class Tree:
    """Bones that hang on each other, and the points on some of them that have goals.

    A bone is a rigid body that turns about its head: its children's heads may stand anywhere on it.

    Attributes:
        parents: Of each bone the index of its parent, which comes before it; -1 for a bone that
            hangs on none, shape (n,). There may be several of those; their heads never move.
        head_positions: The bones' heads in the start pose, shape (n, 3).
        effector_bones: The bone that carries each effector, shape (E,).
        effector_positions: The effectors in the start pose, shape (E, 3).
        joints: What the joints allow, one a bone; offsets are told in the posed axes of the
            parent. None where all turn freely: then offsets and start rotations are the identity.
        bend_directions: Where bones in one line bend, shape (n, 3), zero for no hint.
    """

    parents: Counts
    head_positions: Array
    effector_bones: Counts
    effector_positions: Array
    joints: Joints | None = None
    bend_directions: Array | None = None

    def __post_init__(self) -> None:
        """Copy, check and freeze the arrays."""
        trees = self.as_trees
        object.__setattr__(self, "parents", trees.parents)
        object.__setattr__(self, "effector_bones", trees.effector_bones)
        object.__setattr__(self, "head_positions", trees.head_positions[0])
        object.__setattr__(self, "effector_positions", trees.effector_positions[0])
        if trees.bend_directions is not None:
            object.__setattr__(self, "bend_directions", trees.bend_directions[0])

    @cached_property
    def as_trees(self) -> Trees:
        """The tree as a batch of one, which compiles on first use."""
        bends = self.bend_directions
        return Trees(
            parents=self.parents,
            head_positions=np.asarray(self.head_positions)[None],
            effector_bones=self.effector_bones,
            effector_positions=np.asarray(self.effector_positions)[None],
            joints=None if self.joints is None else self.joints.as_batch(),
            bend_directions=None if bends is None else np.asarray(bends)[None],
        )
