"""How the bones of a tree hang together: its paths, its runs and its limbs. Indices only."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .vectors import Array, Counts, Flags


@dataclass(frozen=True)
class Run:
    """Bones in a row, none of which but the last has more than one end that is led anywhere.

    Attributes:
        bones: From the root outward.
        children: Bones that go on from the last one.
        effectors: Effectors on the last one.
        led: All effectors below.
    """

    bones: tuple[int, ...]
    children: tuple[int, ...]
    effectors: tuple[int, ...]
    led: tuple[int, ...]


@dataclass(frozen=True)
class Branches:
    """The order of n bones and E effectors; every bone stands after its parent.

    Attributes:
        parents: -1 for a bone that hangs on none.
        effector_bones: The bone that carries each effector.
    """

    parents: tuple[int, ...]
    effector_bones: tuple[int, ...]

    @cached_property
    def paths(self) -> tuple[tuple[int, ...], ...]:
        """The bones from the root to each effector."""
        found = []
        for bone in self.effector_bones:
            path = []
            while bone >= 0:
                path.append(bone)
                bone = self.parents[bone]
            found.append(tuple(reversed(path)))
        return tuple(found)

    @cached_property
    def moves(self) -> Flags:
        """Which bones move which effectors, shape (n, E)."""
        moves = np.zeros((len(self.parents), len(self.paths)), dtype=np.bool_)
        for effector, path in enumerate(self.paths):
            moves[list(path), effector] = True
        return moves

    @cached_property
    def is_above(self) -> Flags:
        """Whether the bone of a row is an ancestor of that of a column, shape (n, n)."""
        count = len(self.parents)
        above = np.zeros((count, count), dtype=np.bool_)
        for bone, parent in enumerate(self.parents):
            if parent >= 0:
                above[:, bone] = above[:, parent]
                above[parent, bone] = True
        return above

    @cached_property
    def above(self) -> Counts:
        """The parents as an index, shape (n,); any bone for one that hangs on none."""
        return np.array(self.parents)

    @cached_property
    def is_root(self) -> Flags:
        """Which bones hang on none, shape (n,)."""
        return self.above < 0

    @cached_property
    def generations(self) -> tuple[tuple[Counts, Counts], ...]:
        """Bones below the roots and their parents: by how many bones are above them."""
        depth = self.is_above.sum(axis=0)
        rows = (np.flatnonzero(depth == number) for number in range(1, 1 + max(depth.tolist())))
        return tuple((own, self.above[own]) for own in rows)

    @cached_property
    def carries(self) -> Array:
        """1.0 where a column's bone is that of the row or above it, else 0.0, shape (n, n)."""
        return (self.is_above.T | np.eye(len(self.parents), dtype=np.bool_)).astype(np.float64)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Of each bone the children that lead to an effector."""
        found: list[list[int]] = [[] for _ in self.parents]
        for bone, parent in enumerate(self.parents):
            if parent >= 0 and self.moves[bone].any():
                found[parent].append(bone)
        return tuple(tuple(each) for each in found)

    @cached_property
    def carried(self) -> tuple[tuple[int, ...], ...]:
        """Of each bone the effectors on it."""
        return tuple(
            tuple(e for e, on in enumerate(self.effector_bones) if on == bone)
            for bone in range(len(self.parents))
        )

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """The runs that all bones on paths fall into, roots first."""
        found: list[Run] = []
        for bone, parent in enumerate(self.parents):
            goes_on = parent >= 0 and self._ends(parent) == 1
            if not self.moves[bone].any() or goes_on:
                continue
            bones = [bone]
            while self._ends(bones[-1]) == 1 and self.children[bones[-1]]:
                bones.append(self.children[bones[-1]][0])
            last = bones[-1]
            led = tuple(int(e) for e in np.flatnonzero(self.moves[last]))
            found.append(Run(tuple(bones), self.children[last], self.carried[last], led))
        return tuple(found)

    @cached_property
    def limbs(self) -> tuple[tuple[int, ...], ...]:
        """Of each effector the bones that bend to its pole.

        They are those of its path that move it alone, and others that go on from where it is, as
        fingers do from a wrist; the whole path if these are fewer than two.
        """
        own = []
        for path, carrier in zip(self.paths, self.effector_bones, strict=True):
            # What turns with the bone that carries the effector bends as one limb with it.
            apart = self.moves & ~self.moves[carrier]
            own.append(tuple(bone for bone in path if not apart[bone].any()))
        return tuple(
            limb if len(limb) > 1 else path for limb, path in zip(own, self.paths, strict=True)
        )

    def _ends(self, bone: int) -> int:
        return len(self.children[bone]) + len(self.carried[bone])
