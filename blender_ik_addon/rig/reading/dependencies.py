"""Bones that move a chain: through parents, constraints, drivers and deformed objects."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

import bpy

from .animation import drivers, split_bone_path
from .channels import CHANNEL_SIZES
from .refusals import RigError
from .spec import Anchor

Point = tuple[int, str]
"""A bone: its armature object's session uid, and its name."""

PULLING = ("IK", "SPLINE_IK")
"""Types of constraints that also move the bones above their own."""


class Pull(NamedTuple):
    """A constraint that moves bones above its own bone, and the name of that bone."""

    constraint: bpy.types.Constraint
    below: str


TARGETS = (
    ("target", "subtarget"),
    ("pole_target", "pole_subtarget"),
    ("space_object", "space_subtarget"),
)
"""Properties of constraints for the objects that they read, and the bones of these."""

ON_GEOMETRY = ("SHRINKWRAP", "FOLLOW_PATH", "CLAMP_TO", "SPLINE_IK", "GEOMETRY_ATTRIBUTE")
"""Types of constraints that read the vertices or curve points of their targets."""

DEFORMERS = (
    ("object", "subtarget"),
    ("target", ""),
    ("object_from", "bone_from"),
    ("object_to", "bone_to"),
    ("texture_coords_object", "texture_coords_bone"),
    *((name, "") for name in ("auxiliary_target", "mirror_object", "offset_object", "origin")),
)
"""The same of modifiers."""

SETTINGS = "chain_ik."
"""Beginning of the data paths of an object's chains."""

PLACES = ("head", "tail", "matrix")
"""Properties of a pose bone that bones above and constraints change, as its channels do."""


@dataclass(frozen=True, slots=True)
class MovedBy:
    """Bones and objects that move a chain; tuples, for there are many chains.

    Attributes:
        points: The bones.
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
    """Collection of bones and objects that move things; grows with every ``add``.

    Attributes:
        points: Bones that move the things, or that are followed themselves.
        owners: Session uids of the objects on the way.
        has_constraints: Whether constraints were met. On a mute Blender lists only their owner.
        tied_points: Bones that constraints move as well as parents do, and such chain roots.
        use_drivers: Whether drivers and deformation count. Drivers of an object's own settings
            count for all of its chains, and all bones of a skin for each of its vertices: right for
            an order, but too much to call two chains a ring.
    """

    points: set[Point] = field(default_factory=set)
    owners: set[int] = field(default_factory=set)
    has_constraints: bool = False
    tied_points: set[Point] = field(default_factory=set)
    use_drivers: bool = True
    _anchor_points: frozenset[Point] = frozenset()
    _seen: set[int | Point] = field(default_factory=set)
    _deformed: list[bpy.types.Object] = field(default_factory=list)
    _drivers: dict[int, dict[str, list[bpy.types.FCurve]]] = field(default_factory=dict)
    _pulls: dict[int, dict[str, list[Pull]]] = field(default_factory=dict)

    @classmethod
    def of(cls, *anchors: Anchor | None, use_drivers: bool = True) -> Dependencies:
        """Return what moves targets, poles and floors, as far as set."""
        moved_by = cls(use_drivers=use_drivers)
        moved_by.add_anchors(*anchors)
        return moved_by

    def freeze(self) -> MovedBy:
        """Return what has been added, as a record to keep."""
        points, owners = tuple(self.points), tuple(self.owners)
        anchored, tied = tuple(self._anchor_points), tuple(self.tied_points)
        return MovedBy(points, owners, self.has_constraints, anchored, tied)

    def add_anchors(self, *anchors: Anchor | None) -> None:
        """Add what moves targets, poles and floors, as far as set."""
        for anchor in anchors:
            if anchor is not None:
                self._add_object(anchor.object, anchor.bone)

    def has_any(self, armature_object: bpy.types.Object, bones: Iterable[str]) -> bool:
        """Return whether any of an object's bones moves the things."""
        uid = armature_object.session_uid
        return any((uid, bone) in self.points for bone in bones)

    def add_chain(
        self, armature_object: bpy.types.Object, root: str, driven: Iterable[str] = ()
    ) -> None:
        """Add what moves a chain: constraints of its root, bones above, and what moves these.

        Add its anchors before. Only now does count what deforms the objects that these are on: a
        chain may move another part of such an object than its target is on. ``driven`` are the
        names of the bones whose drivers count.
        """
        self._anchor_points = frozenset(self.points)
        self._add_deformation()
        self.tied_points |= self.points - self._anchor_points
        first = armature_object.pose.bones.get(root)
        if first is not None:
            if first.constraints:
                self.tied_points.add((armature_object.session_uid, root))
            self._add_constraints(first.constraints)
            self._add_bone(armature_object, first.parent.name if first.parent else "")
        self.owners.add(armature_object.session_uid)
        self._add_object(armature_object.parent, armature_object.parent_bone)
        self._add_constraints(armature_object.constraints)
        self.add_settings(armature_object)
        self._add_drivers(armature_object, ("", *driven))
        self._add_deformation()

    def add_settings(self, armature_object: bpy.types.Object) -> None:
        """Add what drives the settings of an object's chains."""
        self._add_drivers(armature_object, (SETTINGS,))

    def _add_object(self, owner: bpy.types.Object | None, bone: str) -> None:
        while owner is not None:
            if owner.type == "ARMATURE" and bone:
                self._add_bone(owner, bone)
            uid = owner.session_uid
            if uid in self._seen:
                return
            self._seen.add(uid)
            self.owners.add(uid)
            self._add_constraints(owner.constraints)
            self._add_drivers(owner)
            parent, bone = owner.parent, owner.parent_bone
            if parent is not None and _is_on_geometry(owner, parent):
                self._deformed.append(parent)
            owner = parent

    def _add_bone(self, owner: bpy.types.Object, bone: str) -> None:
        # An armature object has no pose before its first evaluation.
        pose_bone = owner.pose.bones.get(bone) if owner.pose is not None else None
        uid = owner.session_uid
        self.owners.add(uid)
        while pose_bone is not None:
            point = (uid, pose_bone.name)
            if point in self._seen:
                return
            self._seen.add(point)
            self.points.add(point)
            pulls = self._find_pulls(owner).get(pose_bone.name, ())
            if pose_bone.constraints or pulls:
                self.tied_points.add(point)
            self._add_constraints(pose_bone.constraints)
            self._add_constraints(pull.constraint for pull in pulls)
            self._add_drivers(owner, [pose_bone.name, *(pull.below for pull in pulls)])
            pose_bone = pose_bone.parent

    def find_pull_on_both(
        self, armature_object: bpy.types.Object, root: str, written: Iterable[str]
    ) -> tuple[Pull, str] | None:
        """Return a constraint that moves a chain's bones and a bone above, and that bone's name.

        The place of such a bone depends on the chain, and the chain on that place. ``root`` is the
        first bone of the chain, and ``written`` are all bones that it writes.
        """
        first = armature_object.pose.bones.get(root)
        if first is None or first.parent is None:
            return None
        pulls = self._find_pulls(armature_object)
        chain_pulls = [pull for name in written for pull in pulls.get(name, ())]
        for bone in first.parent_recursive if chain_pulls else ():
            for pull in pulls.get(bone.name, ()):
                tie = pull.constraint
                if pull in chain_pulls and tie.target and not tie.mute and tie.influence > 0.0:
                    return pull, bone.name
        return None

    def _find_pulls(self, owner: bpy.types.Object) -> dict[str, list[Pull]]:
        """Return the constraints that move bones above their own, by the names of these bones."""
        uid = owner.session_uid
        if uid not in self._pulls:
            pulls = self._pulls[uid] = {}
            for below in [bone for bone in owner.pose.bones if bone.constraints]:
                for constraint in below.constraints:
                    if constraint.type in PULLING:
                        # Without its tip an IK constraint counts bones from the parent.
                        bones = [below, *below.parent_recursive]
                        bones = bones[not getattr(constraint, "use_tail", True) :]
                        for bone in bones[: constraint.chain_count or None]:
                            pull = Pull(constraint, below.name)
                            pulls.setdefault(bone.name, []).append(pull)
        return self._pulls[uid]

    def _add_constraints(self, constraints: Iterable[bpy.types.Constraint]) -> None:
        for constraint in constraints:
            self.has_constraints = True
            if constraint.mute:
                continue
            # The Armature constraint has a list of targets, all others have one or none.
            for holder in (constraint, *getattr(constraint, "targets", ())):
                for name, bone_name in TARGETS:
                    target, bone = getattr(holder, name, None), getattr(holder, bone_name, "")
                    self._add_object(target, bone)
                    # The bone of a mesh or lattice is a vertex group.
                    if target is not None and (bone or constraint.type in ON_GEOMETRY):
                        self._deformed.append(target)

    def _add_deformation(self) -> None:
        """Add what moves the vertices and curve points that things are on."""
        while self._deformed and self.use_drivers:
            owner = self._deformed.pop()
            data, place = owner.data, (owner.session_uid, "")
            if data is None or owner.type == "ARMATURE" or place in self._seen:
                continue
            self._seen.add(place)
            for animated in (data, getattr(data, "shape_keys", None)):
                if animated is not None:
                    self._add_drivers(animated, [*self._find_drivers(animated)])
            for modifier in owner.modifiers:
                for name, bone in DEFORMERS:
                    if (deformer := getattr(modifier, name, None)) is not None:
                        self._add_object(deformer, getattr(modifier, bone, ""))
                        self._deformed.append(deformer)
                if modifier.type == "ARMATURE":
                    self._add_skin(owner, modifier.object, is_whole=modifier.use_bone_envelopes)
            if owner.parent_type == "ARMATURE":
                self._add_skin(owner, owner.parent)

    def _add_skin(
        self, skin: bpy.types.Object, rig: bpy.types.Object | None, *, is_whole: bool = False
    ) -> None:
        """Add the bones that move a skin: those with vertex groups, or all."""
        self._add_object(rig, "")
        if rig is not None and rig.pose is not None:
            for bone in rig.pose.bones if is_whole else skin.vertex_groups:
                self._add_bone(rig, bone.name)

    def _add_drivers(self, owner: bpy.types.ID, names: Iterable[str] = ("",)) -> None:
        """Add what drivers read, once: those of bones of an object, or of properties of other data.

        Those of chains have the name ``SETTINGS``, and those of the object itself an empty name.
        """
        found = self._find_drivers(owner)
        for curve in [curve for name in names for curve in found.pop(name, ())]:
            self.has_constraints = True
            self.owners.add(owner.session_uid)
            for variable in curve.driver.variables if not curve.mute else ():
                for source in variable.targets:
                    if variable.type == "SINGLE_PROP" and source.id is not None:
                        self._add_property(source.id, source.data_path)
                    elif isinstance(source.id, bpy.types.Object):
                        self._add_object(source.id, source.bone_target)

    def _add_property(self, owner: bpy.types.ID, path: str) -> None:
        """Add what moves a property that a driver reads."""
        if not isinstance(owner, bpy.types.Object):
            names = [name for name in self._find_drivers(owner) if path.startswith(name)]
            self._add_drivers(owner, names)
            return
        bone, name = split_bone_path(path)
        self._add_object(owner, bone if name in PLACES else "")
        if bone:
            self._add_drivers(owner, (bone,))
        if name in CHANNEL_SIZES:
            # Whoever writes the channel: bones above do not change it.
            self.points.add((owner.session_uid, bone))

    def _find_drivers(self, owner: bpy.types.ID) -> dict[str, list[bpy.types.FCurve]]:
        """Return the drivers that are not added yet, by the names of ``_add_drivers``."""
        uid = owner.session_uid
        if uid not in self._drivers:
            found = self._drivers[uid] = {}
            is_object = isinstance(owner, bpy.types.Object)
            for curve in drivers(owner) if self.use_drivers else ():
                path = curve.data_path
                name = split_bone_path(path)[0] if is_object else path
                if is_object and path.startswith(SETTINGS):
                    name = SETTINGS
                found.setdefault(name, []).append(curve)
        return self._drivers[uid]


def points_of_settings(armature_object: bpy.types.Object) -> set[Point]:
    """Return the bones that drive settings of an object's chains."""
    relations = Dependencies()
    if drivers(armature_object):
        relations.add_settings(armature_object)
    return relations.points


def _is_on_geometry(child: bpy.types.Object, parent: bpy.types.Object) -> bool:
    """Return whether a child moves with vertices of its parent, or follows its path."""
    has_path = parent.type == "CURVE" and parent.data.use_path
    return has_path or child.parent_type in ("VERTEX", "VERTEX_3")


@dataclass(frozen=True, slots=True)
class OwnAnchor:
    """A target, pole or floor that its own chain moves.

    Attributes:
        anchor: The object or bone.
        written: Bones that the chain writes.
        owners: Session uids of the objects on the way if there are constraints or drivers on it:
            if one of these is muted or removed, Blender lists only the objects that it moves.
    """

    anchor: Anchor
    written: frozenset[Point]
    owners: frozenset[int]

    def is_moved(self) -> bool:
        """Return whether the chain still moves it; nothing moves an object that was removed."""
        moved_by = Dependencies()
        with suppress(ReferenceError):
            moved_by.add_anchors(self.anchor)
        return not self.written.isdisjoint(moved_by.points)


class OwnAnchorError(RigError):
    """A chain moves its own target, pole or floor, which ``own_anchor`` describes."""

    def __init__(self, text: str, own_anchor: OwnAnchor) -> None:
        """Store the message for the user, and what the chain moves."""
        super().__init__(text)
        self.own_anchor = own_anchor
