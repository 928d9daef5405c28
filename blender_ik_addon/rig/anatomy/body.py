"""A skeleton as its bones' names tell it: parts of a body, and runs of bones of one part."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

import numpy as np

from ...core.algebra.arithmetic import Array, Flags
from ..reading.skeleton import Skeleton
from .bone_names import BoneName, Part, Side, read

# A chest that is this far below the hips, of their distance, is in no body that stands or lies.
LAID_OUT = -0.5
# Bones lie aside that point to the heads of next bones by less than this cosine, of 30 degrees.
TOWARD_NEXT = 0.87
# Feet that point forward by less than this, as unit vectors added up, do not tell where it faces.
TELLS_FRONT, SMALLEST = 0.1, 1e-12

Fits = Callable[[int], bool]


class Body:
    """A skeleton and what its names say.

    Attributes:
        skeleton: The bones.
        names: What the name of each bone says.
        parts: The part that each bone is, where need be by the bone above it.
        usable: Which bones chains may drive and limbs may have, shape (n,).
        children: Indices of the bones under each bone.
    """

    def __init__(self, skeleton: Skeleton, is_free: Flags) -> None:
        """Read the names.

        Args:
            skeleton: The bones.
            is_free: Which bones chains may drive, shape (n,).
        """
        self.skeleton = skeleton
        self.names: list[BoneName] = [read(name) for name in skeleton.names]
        self.usable = is_free & ~np.array([name.is_helper for name in self.names], dtype=bool)
        self.children: list[list[int]] = [[] for _ in skeleton.names]
        for bone, parent in enumerate(skeleton.parents.tolist()):
            if parent >= 0:
                self.children[parent].append(bone)
        self.parts = [self._part(bone) for bone in range(len(skeleton.names))]

    def _part(self, bone: int) -> Part:
        part, above, below = self._named(bone), self._above(bone), self._below(bone)
        if part is Part.ARM:
            return Part.FOREARM if above in (Part.ARM, Part.UPPER_ARM) else Part.UPPER_ARM
        if part is Part.SHOULDER and Part.FOREARM in below:
            # Joints are named, not what is between them.
            return Part.UPPER_ARM
        if part is Part.HIP:
            return Part.THIGH if Part.SHIN in below else Part.OTHER
        if part is not Part.LEG:
            return part
        if above is Part.THIGH or (above is Part.LEG and self._is_upper(self.parent(bone))):
            return Part.SHIN
        return Part.THIGH if self._is_upper(bone) else part

    def _is_upper(self, bone: int) -> bool:
        """Return whether a bone called leg has one below it that is called so, and that a foot."""
        lower = [i for i in self.children[bone] if self._named(i) is Part.LEG]
        is_first = self._above(bone) is not Part.LEG
        return is_first and any(Part.FOOT in self._below(i) for i in lower)

    def _named(self, bone: int) -> Part:
        return self.names[bone].part

    def _above(self, bone: int) -> Part:
        parent = self.parent(bone)
        return self._named(parent) if parent >= 0 else Part.OTHER

    def _below(self, bone: int) -> set[Part]:
        return {self._named(i) for i in self.children[bone]}

    def parent(self, bone: int) -> int:
        """Return the bone above a bone; -1 for none."""
        return int(self.skeleton.parents[bone])

    def side(self, bone: int) -> Side:
        """Return the side that a bone is on."""
        return self.names[bone].side

    def is_trunk(self, bone: int) -> bool:
        """Return whether a bone is one of spine, neck and head, and free."""
        is_middle = self.side(bone) is Side.MIDDLE and bool(self.usable[bone])
        return is_middle and self.parts[bone] in (Part.SPINE, Part.NECK, Part.HEAD)

    def all_of(self, part: Part) -> list[int]:
        """Return the usable bones of a part."""
        return [i for i, each in enumerate(self.parts) if each is part and self.usable[i]]

    def first_of(self, part: Part) -> list[int]:
        """Return the usable bones of a part whose parents are not of it, or of another side."""
        return [bone for bone in self.all_of(part) if not self._goes_on_from_above(bone)]

    def is_alike(self, bone: int, other: int) -> bool:
        """Return whether two bones are the same part, and their names alike but for numbers."""
        name, second = self.names[bone], self.names[other]
        is_named_alike = (name.words, name.side) == (second.words, second.side)
        return is_named_alike and self.parts[bone] is self.parts[other]

    def _goes_on_from_above(self, bone: int) -> bool:
        parent = self.parent(bone)
        is_same = parent >= 0 and self.parts[parent] is self.parts[bone]
        return is_same and self.side(parent) is self.side(bone)

    def child_of_part(self, bone: int, parts: Iterable[Part]) -> int | None:
        """Return the first usable child of a bone that is one of these parts; None without."""
        wanted = set(parts)
        fitting = (i for i in self.children[bone] if self.parts[i] in wanted and self.usable[i])
        return next(fitting, None)

    def run(self, start: int, fits: Fits) -> list[int]:
        """Return a bone and those after it, one after the other, as long as they fit.

        Where it branches, a connected bone goes on before others.
        """
        found = [start]
        while True:
            after = [
                bone
                for bone in self.children[found[-1]]
                if self.usable[bone] and self.side(bone) is self.side(start) and fits(bone)
            ]
            if not after:
                return found
            found.append(min(after, key=lambda bone: not self.skeleton.is_connected[bone]))

    def run_of(self, start: int) -> list[int]:
        """Return a bone and those after it that are of its part."""
        return self.run(start, lambda bone: self.parts[bone] is self.parts[start])

    def shared_root(self, bones: list[int]) -> int | None:
        """Return the lowest bone in the middle that all these bones hang under; None without."""
        if not bones:
            return None
        first, *others = (self.skeleton.ancestors(bone)[1:] for bone in bones)
        shared = set(first).intersection(*others)
        return next((i for i in first if i in shared and self.side(i) is Side.MIDDLE), None)

    @cached_property
    def up(self) -> Array:
        """The axis of the armature that its legs stand along, shape (3,); Z without legs.

        Skeletons of other programs stand along Y, and their object is turned.
        """
        rest, way = self.skeleton.rest, np.zeros(3)
        for thigh in self.all_of(Part.THIGH):
            shin = self.child_of_part(thigh, (Part.SHIN, Part.FOREARM))
            foot = None if shin is None else self.child_of_part(shin, (Part.FOOT, Part.HAND))
            if foot is not None:
                way += rest[thigh, :3, 3] - rest[foot, :3, 3]
        axis = int(np.argmax(np.abs(way))) if way.any() else 2
        up: Array = np.eye(3)[axis] * (-1.0 if way[axis] < 0.0 else 1.0)
        return up

    @cached_property
    def forward(self) -> Array:
        """Where the body faces at rest, a unit vector (3,) or zero: where its feet point.

        Without feet that is across what is up and the way from its right to its left side.
        """
        rest, way = self.skeleton.rest, np.zeros(3)
        if self.is_laid_out:
            return way
        for foot in self.all_of(Part.FOOT):
            toe, above = self.child_of_part(foot, (Part.TOE,)), self.parent(foot)
            if toe is not None:
                along = rest[toe, :3, 3] - rest[foot, :3, 3]
            elif above >= 0 and not self.is_sideways([above, foot]):
                along = rest[foot, :3, 1]
            else:
                continue
            along = along / max(float(np.linalg.norm(along)), SMALLEST)
            way += along - self.up * (along @ self.up)
        if not np.linalg.norm(way) > TELLS_FRONT:
            left, right = (
                [rest[i, :3, 3] for i in range(len(rest)) if self.side(i) is side]
                for side in (Side.LEFT, Side.RIGHT)
            )
            if left and right:
                way = np.cross(np.mean(left, axis=0) - np.mean(right, axis=0), self.up)
        size = float(np.linalg.norm(way))
        return way / size if size > 0.0 else way

    @cached_property
    def is_laid_out(self) -> bool:
        """Whether trunk and legs lie along one way at rest, which says nothing of how they stand.

        Programs for motion capture write skeletons so; only their motion makes bodies of them.
        """
        hips = self.shared_root(self.all_of(Part.THIGH))
        chest = self.shared_root(self.all_of(Part.UPPER_ARM))
        return hips is not None and chest is not None and self.height(hips, chest) < LAID_OUT

    def is_sideways(self, run: list[int]) -> bool:
        """Return whether no bone of a run points to the head of the next one.

        So they come from files of programs whose bones lie along other axes than Y.
        """
        rest = self.skeleton.rest[run]
        ways: Array = np.diff(rest[:, :3, 3], axis=0)
        along = (rest[:-1, :3, 1] * ways).sum(axis=1)
        return bool((along < TOWARD_NEXT * np.linalg.norm(ways, axis=1)).all())

    def height(self, start: int, end: int) -> float:
        """Return how far up one bone's head lies from another's at rest, of their distance."""
        way = self.skeleton.rest[end, :3, 3] - self.skeleton.rest[start, :3, 3]
        return float(way @ self.up / max(np.linalg.norm(way), SMALLEST))
