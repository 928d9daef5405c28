"""A body read from the names of a skeleton: parts, and runs of bones of one part."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

import numpy as np

from ...core.algebra.arithmetic import Array, Flags
from ..reading.skeleton import Skeleton
from .bone_names import BodyPart, BoneName, Side, read

# Maximum height of the chest above the hips, as a share of their distance, at which a rest pose is
# laid out: no body that stands or lies has its chest so far below the hips.
MAX_LAID_OUT = -0.5
# Minimum cosine, of 30 degrees, between a bone and the way to the next head; below it, bones lie
# sideways.
MIN_AIM_COSINE = 0.87
# Minimum norm of the sum of unit vectors along the feet, below which they define no forward
# direction; and the minimum norm to divide by.
MIN_FORWARD_NORM, MIN_NORM = 0.1, 1e-12

Fits = Callable[[int], bool]
# Parts of the lower half of a limb, and of its end. Front legs may have names of arms.
LOWER_ARM = (BodyPart.FOREARM,), (BodyPart.HAND,)
LOWER_LEG = (BodyPart.SHIN, BodyPart.FOREARM), (BodyPart.FOOT, BodyPart.HAND)


class Body:
    """A skeleton with the content of its names.

    Attributes:
        skeleton: The bones.
        names: Content of the name of each bone.
        parts: The part of each bone, resolved by the bones above and below it.
        usable: Which bones chains may drive and limbs may have, shape (n,).
        children: Indices of the children of each bone.
    """

    def __init__(self, skeleton: Skeleton, is_free: Flags) -> None:
        """Read the names of the bones; ``is_free`` tells which ones chains may drive, (n,)."""
        self.skeleton = skeleton
        self.names: list[BoneName] = [read(name) for name in skeleton.names]
        self.usable = is_free & ~np.array([name.is_helper for name in self.names], dtype=bool)
        self.children: list[list[int]] = [[] for _ in skeleton.names]
        for bone, parent in enumerate(skeleton.parents.tolist()):
            if parent >= 0:
                self.children[parent].append(bone)
        self.parts = [self._part(bone) for bone in range(len(skeleton.names))]

    def _part(self, bone: int) -> BodyPart:
        if self._is_of_spider(bone):
            return BodyPart.LEG
        part, above, below = self._named(bone), self._above(bone), self._below(bone)
        if part is BodyPart.ARM:
            return (
                BodyPart.FOREARM
                if above in (BodyPart.ARM, BodyPart.UPPER_ARM)
                else BodyPart.UPPER_ARM
            )
        if part is BodyPart.SHOULDER and BodyPart.FOREARM in below:
            # The name is that of the joint at its head, not of the segment.
            return BodyPart.UPPER_ARM
        if part is BodyPart.HIP:
            return BodyPart.THIGH if BodyPart.SHIN in below else BodyPart.OTHER
        if part is not BodyPart.LEG:
            return part
        if above is BodyPart.THIGH or (above is BodyPart.LEG and self._is_upper(self.parent(bone))):
            return BodyPart.SHIN
        return BodyPart.THIGH if self._is_upper(bone) else part

    def _is_upper(self, bone: int) -> bool:
        """Return whether a leg bone is the first one, with a leg bone below that carries a foot."""
        lower = [i for i in self.children[bone] if self._named(i) is BodyPart.LEG]
        is_first = self._above(bone) is not BodyPart.LEG
        return is_first and any(BodyPart.FOOT in self._below(i) for i in lower)

    def _is_of_spider(self, bone: int) -> bool:
        """Return whether a coxa of several on its side carries a bone: its femur is no thigh."""
        names = [self.names[i] for i in self.skeleton.ancestors(bone)]
        coxa = next((name for name in names if "coxa" in name.words), None)
        alike = (name for name in self.names if coxa and "coxa" in name.words)
        return sum(name.side is self.side(bone) for name in alike) > 1

    def _named(self, bone: int) -> BodyPart:
        return self.names[bone].part

    def _above(self, bone: int) -> BodyPart:
        parent = self.parent(bone)
        return self._named(parent) if parent >= 0 else BodyPart.OTHER

    def _below(self, bone: int) -> set[BodyPart]:
        return {self._named(i) for i in self.children[bone]}

    def parent(self, bone: int) -> int:
        """Return the parent of a bone; -1 without."""
        return int(self.skeleton.parents[bone])

    def side(self, bone: int) -> Side:
        """Return the side of a bone."""
        return self.names[bone].side

    def is_trunk(self, bone: int) -> bool:
        """Return whether a bone is a usable one of spine, neck or head in the middle."""
        is_middle = self.side(bone) is Side.MIDDLE and bool(self.usable[bone])
        return is_middle and self.parts[bone] in (BodyPart.SPINE, BodyPart.NECK, BodyPart.HEAD)

    def all_of(self, part: BodyPart) -> list[int]:
        """Return the usable bones of a part."""
        return [i for i, bone_part in enumerate(self.parts) if bone_part is part and self.usable[i]]

    def first_of(self, part: BodyPart) -> list[int]:
        """Return the usable bones of a part whose parents are of another part or side."""
        return [bone for bone in self.all_of(part) if not self._continues_parent(bone)]

    def is_alike(self, bone: int, other: int) -> bool:
        """Return whether two bones are the same part, with names that differ in numbers only."""
        name, other_name = self.names[bone], self.names[other]
        is_named_alike = (name.words, name.side) == (other_name.words, other_name.side)
        return is_named_alike and self.parts[bone] is self.parts[other]

    def _continues_parent(self, bone: int) -> bool:
        parent = self.parent(bone)
        is_same = parent >= 0 and self.parts[parent] is self.parts[bone]
        return is_same and self.side(parent) is self.side(bone)

    def child_of_part(self, bone: int, parts: Iterable[BodyPart]) -> int | None:
        """Return the first usable child of a bone that is one of some parts; None without."""
        suitable = set(parts)
        matching = (i for i in self.children[bone] if self.parts[i] in suitable and self.usable[i])
        return next(matching, None)

    def lower_half(
        self, bone: int, parts: Iterable[BodyPart], ends: Iterable[BodyPart]
    ) -> tuple[int | None, int | None]:
        """Return a child that is one of some parts, and its child that is one of ``ends``.

        Of two bones side by side, as radius and ulna, the one with an end comes first.
        """
        halves = [i for i in self.children[bone] if self.parts[i] in parts and self.usable[i]]
        pairs = [(half, self.child_of_part(half, ends)) for half in halves]
        return min(pairs, key=lambda pair: pair[1] is None, default=(None, None))

    def run(self, start: int, fits: Fits) -> list[int]:
        """Return a bone and its descendants in one line, as long as they fit.

        At a branch, a connected child comes before others.
        """
        run = [start]
        while True:
            candidates = [
                bone
                for bone in self.children[run[-1]]
                if self.usable[bone] and self.side(bone) is self.side(start) and fits(bone)
            ]
            if not candidates:
                return run
            run.append(min(candidates, key=lambda bone: not self.skeleton.is_connected[bone]))

    def run_of(self, start: int) -> list[int]:
        """Return a bone and its descendants in one line that are of its part."""
        return self.run(start, lambda bone: self.parts[bone] is self.parts[start])

    def shared_root(self, bones: list[int]) -> int | None:
        """Return the lowest common ancestor of bones that is in the middle; None without."""
        if not bones:
            return None
        first, *others = (self.skeleton.ancestors(bone)[1:] for bone in bones)
        shared = set(first).intersection(*others)
        return next((i for i in first if i in shared and self.side(i) is Side.MIDDLE), None)

    @cached_property
    def up(self) -> Array:
        """The axis of the armature along which its legs stand, shape (3,); Z without legs.

        Skeletons of other programs stand along Y, and their object is rotated.
        """
        rest, direction = self.skeleton.rest, np.zeros(3)
        for thigh in self.all_of(BodyPart.THIGH):
            _, foot = self.lower_half(thigh, *LOWER_LEG)
            if foot is not None:
                direction += rest[thigh, :3, 3] - rest[foot, :3, 3]
        axis = int(np.argmax(np.abs(direction))) if direction.any() else 2
        up: Array = np.eye(3)[axis] * (-1.0 if direction[axis] < 0.0 else 1.0)
        return up

    @cached_property
    def forward(self) -> Array:
        """The direction in which the feet point at rest, a unit vector (3,), or zero if unknown.

        Without feet it is perpendicular to the upward axis and the way from right to left.
        """
        rest, direction = self.skeleton.rest, np.zeros(3)
        if self.is_laid_out:
            return direction
        for foot in self.all_of(BodyPart.FOOT):
            toe, parent = self.child_of_part(foot, (BodyPart.TOE,)), self.parent(foot)
            if toe is not None:
                forward = rest[toe, :3, 3] - rest[foot, :3, 3]
            elif parent >= 0 and not self.is_sideways([parent, foot]):
                forward = rest[foot, :3, 1]
            else:
                continue
            forward = forward / max(float(np.linalg.norm(forward)), MIN_NORM)
            direction += forward - self.up * (forward @ self.up)
        if not np.linalg.norm(direction) > MIN_FORWARD_NORM:
            left, right = (
                [rest[i, :3, 3] for i in range(len(rest)) if self.side(i) is side]
                for side in (Side.LEFT, Side.RIGHT)
            )
            if left and right:
                direction = np.cross(np.mean(left, axis=0) - np.mean(right, axis=0), self.up)
        length = float(np.linalg.norm(direction))
        return direction / length if length > 0.0 else direction

    @cached_property
    def is_laid_out(self) -> bool:
        """Whether trunk and legs lie in one direction at rest, which does not show how they stand.

        Programs for motion capture write such skeletons; only their motion shapes a body.
        """
        hips = self.shared_root(self.all_of(BodyPart.THIGH))
        chest = self.shared_root(self.all_of(BodyPart.UPPER_ARM))
        return hips is not None and chest is not None and self.height(hips, chest) < MAX_LAID_OUT

    def is_sideways(self, run: list[int]) -> bool:
        """Return whether no bone of a run points to the head of the next one.

        Such bones come from programs whose bones lie along other axes than Y.
        """
        rest = self.skeleton.rest[run]
        offsets: Array = np.diff(rest[:, :3, 3], axis=0)
        products = (rest[:-1, :3, 1] * offsets).sum(axis=1)
        return bool((products < MIN_AIM_COSINE * np.linalg.norm(offsets, axis=1)).all())

    def height(self, start: int, end: int) -> float:
        """Return the height of one head above another at rest, as a share of their distance."""
        offset = self.skeleton.rest[end, :3, 3] - self.skeleton.rest[start, :3, 3]
        return float(offset @ self.up / max(np.linalg.norm(offset), MIN_NORM))
