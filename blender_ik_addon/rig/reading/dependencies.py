"""Which bones move a thing: through parents, bone parents, constraints and drivers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import bpy

from .spec import Anchor

Point = tuple[int, str]
"""A bone: its armature object's session uid, and its name."""

PULLING = ("IK", "SPLINE_IK")
"""Constraints that move the bones above their own as well."""


class Pull(NamedTuple):
    """A constraint that moves bones above its own, and the name of its own."""

    constraint: bpy.types.Constraint
    below: str


TARGETS = (
    ("target", "subtarget"),
    ("pole_target", "pole_subtarget"),
    ("space_object", "space_subtarget"),
)
"""Properties of constraints: the objects that they read, and the bones of these."""


@dataclass(frozen=True, slots=True)
class MovedBy:
    """What moves a chain; tuples, for there are many chains.

    Attributes:
        points: Bones.
        owners: Session uids of the objects on the way.
        has_constraints: As in ``Dependencies``.
        anchor_points: Those of the bones that move its target or pole.
        tied_points: As in ``Dependencies``.
    """

    points: tuple[Point, ...]
    owners: tuple[int, ...]
    has_constraints: bool
    anchor_points: tuple[Point, ...]
    tied_points: tuple[Point, ...]


@dataclass
class Dependencies:
    """What moves things; grows with every ``add``.

    Attributes:
        points: Bones that move them, those that are themselves followed included.
        owners: Session uids of the objects on the way.
        has_constraints: Whether constraints were met. Muting one changes what depends on what,
            and Blender then tells of its owner only.
        tied_points: Bones that constraints move beside their parents, and chains' first ones.
        use_drivers: Whether what drivers read counts. Those of an object count for all of its
            bones, which is right for an order, but too much to call two chains a ring.
    """

    points: set[Point] = field(default_factory=set)
    owners: set[int] = field(default_factory=set)
    has_constraints: bool = False
    tied_points: set[Point] = field(default_factory=set)
    use_drivers: bool = True
    _anchor_points: frozenset[Point] = frozenset()
    _seen: set[int] = field(default_factory=set)
    _pulls: dict[int, dict[str, list[Pull]]] = field(default_factory=dict)

    def found(self) -> MovedBy:
        """Return what has been added, to keep."""
        points, owners = tuple(self.points), tuple(self.owners)
        anchored, tied = tuple(self._anchor_points), tuple(self.tied_points)
        return MovedBy(points, owners, self.has_constraints, anchored, tied)

    def add_anchor(self, anchor: Anchor) -> None:
        """Add what moves a target or pole."""
        self._add_object(anchor.object, anchor.bone)

    def add_chain(self, armature_object: bpy.types.Object, root: str) -> None:
        """Add what moves a chain: constraints of its root, bones above, and what is above those.

        Its anchors come before.

        Args:
            armature_object: The chain's.
            root: Name of the chain's first bone.
        """
        self._anchor_points = frozenset(self.points)
        first = armature_object.pose.bones.get(root)
        if first is not None:
            if first.constraints:
                self.tied_points.add((armature_object.session_uid, root))
            self._add_constraints(first)
            self._add_bone(armature_object, first.parent.name if first.parent else "")
        self.owners.add(armature_object.session_uid)
        self._add_object(armature_object.parent, armature_object.parent_bone)
        self._add_constraints(armature_object)
        self._add_drivers(armature_object)

    def _add_object(self, owner: bpy.types.Object | None, bone: str) -> None:
        while owner is not None:
            if owner.type == "ARMATURE" and bone:
                self._add_bone(owner, bone)
            uid = owner.session_uid
            if uid in self._seen:
                return
            self._seen.add(uid)
            self.owners.add(uid)
            self._add_constraints(owner)
            self._add_drivers(owner)
            owner, bone = owner.parent, owner.parent_bone

    def _add_bone(self, owner: bpy.types.Object, bone: str) -> None:
        # An armature object has no pose before it was evaluated.
        pose_bone = owner.pose.bones.get(bone) if owner.pose is not None else None
        uid = owner.session_uid
        self.owners.add(uid)
        while pose_bone is not None:
            point = (uid, pose_bone.name)
            if point in self.points:
                return
            self.points.add(point)
            pulls = self._pulling(owner).get(pose_bone.name, ())
            if pose_bone.constraints or pulls:
                self.tied_points.add(point)
            self._add_constraints(pose_bone)
            self._add_each(pull.constraint for pull in pulls)
            pose_bone = pose_bone.parent

    def find_pull_on_both(
        self, armature_object: bpy.types.Object, root: str, written: Iterable[str]
    ) -> tuple[Pull, str] | None:
        """Return what moves bones of a chain and one above it, and the name of that one.

        Where such a bone stands depends on what the chain writes, and that on where it stands.

        Args:
            armature_object: The chain's.
            root: Name of the chain's first bone.
            written: Names of the bones that it writes.
        """
        first = armature_object.pose.bones.get(root)
        if first is None or first.parent is None:
            return None
        pulls = self._pulling(armature_object)
        own = [pull for name in written for pull in pulls.get(name, ())]
        for bone in first.parent_recursive if own else ():
            for pull in pulls.get(bone.name, ()):
                tie = pull.constraint
                if pull in own and tie.target and not tie.mute and tie.influence > 0.0:
                    return pull, bone.name
        return None

    def _pulling(self, owner: bpy.types.Object) -> dict[str, list[Pull]]:
        """Return the constraints that move bones above their own, by the names of those."""
        uid = owner.session_uid
        if uid not in self._pulls:
            found = self._pulls[uid] = {}
            for below in [bone for bone in owner.pose.bones if bone.constraints]:
                for constraint in below.constraints:
                    if constraint.type in PULLING:
                        # Without its tip an IK constraint counts from the parent.
                        bones = [below, *below.parent_recursive]
                        bones = bones[not getattr(constraint, "use_tail", True) :]
                        for bone in bones[: constraint.chain_count or None]:
                            pull = Pull(constraint, below.name)
                            found.setdefault(bone.name, []).append(pull)
        return self._pulls[uid]

    def _add_constraints(self, owner: bpy.types.Object | bpy.types.PoseBone) -> None:
        self._add_each(owner.constraints)

    def _add_each(self, constraints: Iterable[bpy.types.Constraint]) -> None:
        for constraint in constraints:
            self.has_constraints = True
            if constraint.mute:
                continue
            # The Armature constraint has a list of targets, all others have one or none.
            for holder in (constraint, *getattr(constraint, "targets", ())):
                for target, bone in TARGETS:
                    self._add_object(getattr(holder, target, None), getattr(holder, bone, ""))

    def _add_drivers(self, owner: bpy.types.Object) -> None:
        data = owner.animation_data if self.use_drivers else None
        for curve in data.drivers if data is not None else ():
            self.has_constraints = True
            for variable in curve.driver.variables if not curve.mute else ():
                for source in variable.targets:
                    if isinstance(source.id, bpy.types.Object):
                        self._add_object(source.id, source.bone_target)
