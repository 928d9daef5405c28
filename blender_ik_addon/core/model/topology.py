"""How the bones of a tree hang together: its paths, runs and limbs. Indices only.

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
"""Some rows; a slice where they lie side by side, which NumPy does not copy."""
Rounds = tuple[tuple[Index, Index], ...]
"""Of each round rows, and an ancestor of each."""


@dataclass(frozen=True)
class Topology:
    """The order of n bones and E effectors; every bone stands after its parent.

    Attributes:
        parents: -1 for a root. There may be several of those; their heads never move.
        effector_bones: The bone that carries each effector.
        unturned: As ``Joints.unturned``, which alone tells it; solvers note it here.
        floats: Whether the first bone moves instead of turning, as ``JointKind.FLOATING`` tells.
    """

    parents: Sequence[int]
    effector_bones: Sequence[int]
    unturned: tuple[int, ...] = field(init=False, default=())
    floats: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        """Raise ``InvalidChainError`` if a bone stands before its parent, or is none."""
        for name in ("parents", "effector_bones"):
            indices = np.asarray(getattr(self, name))
            if indices.ndim != 1 or not indices.size or indices.dtype.kind not in "iu":
                words = name.replace("_", " ")
                raise InvalidChainError(
                    f"The {words} must be a list of whole numbers: give one index a row."
                )
            freeze(self, name, tuple(indices.tolist()))
        if any(not -1 <= parent < bone for bone, parent in enumerate(self.parents)):
            raise InvalidChainError(
                "A bone stands before its parent: list parents first, -1 for none."
            )
        if not all(0 <= bone < len(self.parents) for bone in self.effector_bones):
            raise InvalidChainError("An effector hangs on no bone: give it the index of a bone.")

    @cached_property
    def led(self) -> list[int]:
        """The bones that move an effector."""
        return np.flatnonzero(self.moves.any(axis=1)).tolist()

    @cached_property
    def is_above(self) -> Flags:
        """Whether the bone of a row is an ancestor of that of a column, shape (n, n)."""
        return self._above(self.parents)

    def _above(self, parents: Sequence[int]) -> Flags:
        above = np.zeros((len(parents), len(parents)), dtype=np.bool_)
        for bone, parent in enumerate(parents):
            if parent >= 0:
                above[:, bone] = above[:, parent]
                above[parent, bone] = True
        return above

    def with_joints(self, joints: Joints) -> Topology:
        """Return the same order, with what joints tell of it noted."""
        floats = JointKind.FLOATING in joints.kinds
        # What floats does not turn, nor does it turn others.
        carried = [bone for bone, parent in enumerate(self.parents) if floats and parent == 0]
        return self._noting(tuple(sorted({*joints.unturned, *carried})), floats=floats)

    def with_effectors(self, bones: Sequence[int]) -> Topology:
        """Return the same order with effectors on other bones."""
        found = Topology(self.parents, bones)
        return found._noting(self.unturned, floats=self.floats)

    def _noting(self, unturned: tuple[int, ...], *, floats: bool) -> Topology:
        if not (unturned or floats):
            return self
        found = Topology(self.parents, self.effector_bones)
        freeze(found, "unturned", unturned)
        freeze(found, "floats", floats)
        return found

    @cached_property
    def turning_parents(self) -> list[int]:
        """The bones that turn each bone, -1 for none."""
        return [-1 if b in self.unturned else parent for b, parent in enumerate(self.parents)]

    @cached_property
    def turns(self) -> Flags:
        """Which bones turn which others, as they turn themselves, shape (n, n)."""
        return self._above(self.turning_parents)

    @cached_property
    def held(self) -> Counts:
        """Which point moves as each head and effector does when a bone turns, (n, n + E).

        That is the point itself, or the head of the first bone on the way there that does not turn.
        """
        bones = len(self.parents)
        held = np.tile(np.arange(bones + len(self.effector_bones)), (bones, 1))
        for point, carrier in enumerate([*self.parents, *self.effector_bones]):
            on = point
            while carrier >= 0:
                held[carrier, point] = on
                on = carrier if carrier in self.unturned else on
                carrier = self.parents[carrier]
        return held

    @cached_property
    def moves(self) -> Flags:
        """Which bones move which effectors, shape (n, E)."""
        is_on_path = self.is_above | np.eye(len(self.parents), dtype=np.bool_)
        return is_on_path[:, self.effector_bones]

    @cached_property
    def paths(self) -> tuple[tuple[int, ...], ...]:
        """The bones from the root to each effector."""
        return tuple(tuple(np.flatnonzero(moves).tolist()) for moves in self.moves.T)

    @cached_property
    def roots(self) -> Counts:
        """The bones without parents."""
        return np.flatnonzero(np.array(self.parents) < 0)

    @cached_property
    def children_of_bones(self) -> Index:
        """The bones with parents."""
        return _slice_if_even(np.flatnonzero(np.array(self.parents) >= 0))

    @cached_property
    def carriers(self) -> Index:
        """The bones that carry those with parents, and then the effectors."""
        parents = [parent for parent in self.parents if parent >= 0]
        return _slice_if_even(np.array([*parents, *self.effector_bones]))

    @cached_property
    def bone_rounds(self) -> Rounds:
        """Rounds in which bones gather what those have that turn them; see ``_double_jumps``."""
        return _double_jumps(self.turning_parents)

    @cached_property
    def point_rounds(self) -> Rounds:
        """The same for the bones and then the effectors."""
        return _double_jumps([*self.parents, *self.effector_bones])

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Of each bone the children that lead to an effector."""
        leads = self.moves.any(axis=1)
        return self._sort_by_bone([p if leads[b] else -1 for b, p in enumerate(self.parents)])

    @cached_property
    def carried(self) -> tuple[tuple[int, ...], ...]:
        """Of each bone the effectors on it."""
        return self._sort_by_bone(self.effector_bones)

    def _sort_by_bone(self, bones: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        return tuple(
            tuple(index for index, on in enumerate(bones) if on == bone)
            for bone in range(len(self.parents))
        )

    @cached_property
    def runs(self) -> tuple[tuple[int, ...], ...]:
        """Rows of bones, outward, of which only the last may have several children or effectors.

        All bones that lead to an effector are in one of them, roots first.
        """
        runs: list[list[int]] = []
        for bone in np.flatnonzero(self.moves.any(axis=1)).tolist():
            parent = self.parents[bone]
            if parent >= 0 and len(self.children[parent]) + len(self.carried[parent]) == 1:
                next(run for run in runs if run[-1] == parent).append(bone)
            else:
                runs.append([bone])
        return tuple(tuple(run) for run in runs)

    @cached_property
    def limbs(self) -> tuple[tuple[int, ...], ...]:
        """Of each effector the bones that bend to its pole.

        They are those of its path that move it alone, and others that go on from where it is, as
        fingers do from a wrist; the whole path if these are fewer than two.
        """
        limbs = []
        for path, carrier in zip(self.paths, self.effector_bones, strict=True):
            # What turns with the bone that carries the effector bends as one limb with it.
            is_shared = (self.moves & ~self.moves[carrier]).any(axis=1)
            own = tuple(bone for bone in path if not is_shared[bone])
            limbs.append(own if len(own) > 1 else path[self.floats :])
        return tuple(limbs)


def make_chain(count: int) -> Topology:
    """Return the topology of a chain of bones with an effector on the last one."""
    return Topology(tuple(range(-1, count - 1)), (count - 1,))


def _double_jumps(parents: Sequence[int]) -> Rounds:
    """Return rounds, each of rows and their ancestors, after which all have met all of them.

    In each round a row takes over what its ancestor has gathered, and then jumps as far again:
    as many rounds as the depth has binary digits, in an order that no count of chains changes.

    Source: pointer jumping (Hillis and Steele, "Data parallel algorithms", 1986).
    """
    jumps, rounds = np.array(parents), []
    while (jumps >= 0).any():
        rows = np.flatnonzero(jumps >= 0)
        rounds.append((_slice_if_even(rows), _slice_if_even(jumps[rows])))
        jumps = np.where(jumps >= 0, jumps[jumps], -1)
    return tuple(rounds)


def _slice_if_even(rows: Counts) -> Index:
    is_even = rows.size > 0 and bool((np.diff(rows) == 1).all())
    return slice(int(rows[0]), int(rows[-1]) + 1) if is_even else rows
