"""The hierarchy of the bones of a tree: indices of its paths, runs and limbs.

A chain is a tree with one effector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..algebra.arithmetic import Counts, Flags
from .errors import InvalidChainError
from .joints import JointKind, Joints
from .records import freeze

Index = Counts | slice
"""Indices of rows; a slice if they are contiguous, since NumPy does not copy a slice."""
Rounds = tuple[tuple[Index, Index], ...]
"""For each round, rows and an ancestor of each row."""


@dataclass(frozen=True)
class Topology:
    """The hierarchy of n bones and E effectors; every bone comes after its parent.

    Attributes:
        parents: Index of each bone's parent, -1 for roots, one or more; their heads never move.
        effector_bones: Index of the bone that carries each effector.
        unturned: Copy of ``Joints.unturned``; see ``with_joints``.
        floats: Whether the first bone is ``JointKind.FLOATING``: it moves instead of turning.
    """

    parents: Sequence[int]
    effector_bones: Sequence[int]
    unturned: tuple[int, ...] = field(init=False, default=())
    floats: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        """Raise ``InvalidChainError`` if a bone comes before its parent, or an index is invalid."""
        for name in ("parents", "effector_bones"):
            indices = np.asarray(getattr(self, name))
            if indices.ndim != 1 or not indices.size or indices.dtype.kind not in "iu":
                words = name.replace("_", " ")
                raise InvalidChainError(
                    f"The {words} must be a list of whole numbers: give one bone index per item."
                )
            freeze(self, name, tuple(indices.tolist()))
        if any(not -1 <= parent < bone for bone, parent in enumerate(self.parents)):
            raise InvalidChainError(
                "A bone comes before its parent: list parents first, with -1 for none."
            )
        if not all(0 <= bone < len(self.parents) for bone in self.effector_bones):
            raise InvalidChainError("An effector belongs to no bone: give it the index of a bone.")

    @cached_property
    def path_bones(self) -> list[int]:
        """The bones that move an effector: those on the paths."""
        return np.flatnonzero(self.is_on_path.any(axis=1)).tolist()

    @cached_property
    def is_above(self) -> Flags:
        """Whether the bone of a row is an ancestor of the column's bone, shape (n, n)."""
        return self._find_ancestors(self.parents)

    def _find_ancestors(self, parents: Sequence[int]) -> Flags:
        above = np.zeros((len(parents), len(parents)), dtype=np.bool_)
        for bone, parent in enumerate(parents):
            if parent >= 0:
                above[:, bone] = above[:, parent]
                above[parent, bone] = True
        return above

    def with_joints(self, joints: Joints) -> Topology:
        """Return the same hierarchy with ``unturned`` and ``floats`` set from joints."""
        floats = JointKind.FLOATING in joints.kinds
        # A floating bone does not turn; nor does it turn its children.
        children = [bone for bone, parent in enumerate(self.parents) if floats and parent == 0]
        return self._with_joint_flags(tuple(sorted({*joints.unturned, *children})), floats=floats)

    def with_effectors(self, bones: Sequence[int]) -> Topology:
        """Return the same hierarchy with effectors on other bones."""
        topology = Topology(self.parents, bones)
        return topology._with_joint_flags(self.unturned, floats=self.floats)

    def _with_joint_flags(self, unturned: tuple[int, ...], *, floats: bool) -> Topology:
        if not (unturned or floats):
            return self
        topology = Topology(self.parents, self.effector_bones)
        freeze(topology, "unturned", unturned)
        freeze(topology, "floats", floats)
        return topology

    @cached_property
    def turning_parents(self) -> list[int]:
        """The parent that turns each bone, -1 for none."""
        return [-1 if b in self.unturned else parent for b, parent in enumerate(self.parents)]

    @cached_property
    def turns_bone(self) -> Flags:
        """Whether the bone of a row turns the column's bone, another one, with it, shape (n, n)."""
        return self._find_ancestors(self.turning_parents)

    @cached_property
    def moving_points(self) -> Counts:
        """The point that moves as each head and effector does when a bone turns, (n, n + E).

        It is the point itself, or the head of the first unturned bone on the way there.
        """
        bones = len(self.parents)
        points = np.tile(np.arange(bones + len(self.effector_bones)), (bones, 1))
        for point, carrier in enumerate([*self.parents, *self.effector_bones]):
            moved = point
            while carrier >= 0:
                points[carrier, point] = moved
                moved = carrier if carrier in self.unturned else moved
                carrier = self.parents[carrier]
        return points

    @cached_property
    def is_on_path(self) -> Flags:
        """Whether each bone is on the path of each effector, and so moves it, shape (n, E)."""
        is_at_or_above = self.is_above | np.eye(len(self.parents), dtype=np.bool_)
        return is_at_or_above[:, self.effector_bones]

    @cached_property
    def paths(self) -> tuple[tuple[int, ...], ...]:
        """The bones from the root to each effector."""
        return tuple(tuple(np.flatnonzero(moves).tolist()) for moves in self.is_on_path.T)

    @cached_property
    def roots(self) -> Counts:
        """The bones without parents."""
        return np.flatnonzero(np.array(self.parents) < 0)

    @cached_property
    def children_of_bones(self) -> Index:
        """The bones with parents."""
        return _slice_if_contiguous(np.flatnonzero(np.array(self.parents) >= 0))

    @cached_property
    def carriers(self) -> Index:
        """The parents of the bones with parents, then the bones of the effectors."""
        parents = [parent for parent in self.parents if parent >= 0]
        return _slice_if_contiguous(np.array([*parents, *self.effector_bones]))

    @cached_property
    def bone_rounds(self) -> Rounds:
        """Rounds that accumulate values along the bones that turn; see ``_double_jumps``."""
        return _double_jumps(self.turning_parents)

    @cached_property
    def point_rounds(self) -> Rounds:
        """The same for points: the heads of all bones, then the effectors."""
        return _double_jumps([*self.parents, *self.effector_bones])

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of each bone that move an effector."""
        is_on_any = self.is_on_path.any(axis=1)
        return self._group_by_bone([p if is_on_any[b] else -1 for b, p in enumerate(self.parents)])

    @cached_property
    def bone_effectors(self) -> tuple[tuple[int, ...], ...]:
        """The effectors on each bone."""
        return self._group_by_bone(self.effector_bones)

    def _group_by_bone(self, carriers: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        return tuple(
            tuple(index for index, carrier in enumerate(carriers) if carrier == bone)
            for bone in range(len(self.parents))
        )

    @cached_property
    def runs(self) -> tuple[tuple[int, ...], ...]:
        """Runs of bones, outward; only the last bone of one may have several children or effectors.

        Every bone that moves an effector is in one run, roots first.
        """
        runs: list[list[int]] = []
        for bone in self.path_bones:
            parent = self.parents[bone]
            if parent >= 0 and len(self.children[parent]) + len(self.bone_effectors[parent]) == 1:
                next(run for run in runs if run[-1] == parent).append(bone)
            else:
                runs.append([bone])
        return tuple(tuple(run) for run in runs)

    @cached_property
    def limbs(self) -> tuple[tuple[int, ...], ...]:
        """The limb of each effector: the bones that bend to its pole.

        These are the bones of its path that move only it and effectors on its bone or beyond, as
        fingers are beyond a wrist. If they are fewer than two, the limb is the whole path.
        """
        limbs = []
        for path, carrier in zip(self.paths, self.effector_bones, strict=True):
            # Effectors that the carrier moves belong to the same limb.
            is_shared = (self.is_on_path & ~self.is_on_path[carrier]).any(axis=1)
            limb = tuple(bone for bone in path if not is_shared[bone])
            limbs.append(limb if len(limb) > 1 else path[self.floats :])
        return tuple(limbs)


def make_chain(count: int) -> Topology:
    """Return the topology of a chain of bones with an effector on the last one."""
    return Topology(tuple(range(-1, count - 1)), (count - 1,))


def _double_jumps(parents: Sequence[int]) -> Rounds:
    """Return rounds of rows and their ancestors, after which each row has met all its ancestors.

    In each round a row adds what its ancestor has accumulated, and then doubles its jump. There are
    as many rounds as the depth has binary digits; their order does not depend on the chain count.

    Source: pointer jumping (Hillis and Steele, "Data parallel algorithms", 1986).
    """
    jumps, rounds = np.array(parents), []
    while (jumps >= 0).any():
        rows = np.flatnonzero(jumps >= 0)
        rounds.append((_slice_if_contiguous(rows), _slice_if_contiguous(jumps[rows])))
        jumps = np.where(jumps >= 0, jumps[jumps], -1)
    return tuple(rounds)


def _slice_if_contiguous(rows: Counts) -> Index:
    is_contiguous = rows.size > 0 and bool((np.diff(rows) == 1).all())
    return slice(int(rows[0]), int(rows[-1]) + 1) if is_contiguous else rows
