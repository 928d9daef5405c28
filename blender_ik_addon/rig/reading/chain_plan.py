"""Bones that a chain drives, and checks of it that do not depend on the pose."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import bpy
import numpy as np

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Indices
from ...core.algebra.twist_spread import Segment
from ...core.kinematics.bend_plane import bend_side
from ...core.model.message import Message
from .anchors import SPACE, space_of
from .animation import driven_bones
from .channels import read_floats
from .dependencies import Dependencies, MovedBy, OwnAnchor, OwnAnchorError, Point
from .refusals import RigError, library_problem
from .skeleton import Skeleton
from .spaces import matrices_from_buffer, transform_point
from .spec import Anchor, ChainSpec, RotationBone, get_bone_settings
from .world import channels_of, check_in_scene

# A chain with more bones than this turns its tip if it lacks the hand that it is to turn.
MAX_BONES_OF_LIMB = 2
# Bones of one segment point the same way at rest, to within one degree: its cosine.
MIN_COSINE = 0.99985


@dataclass(frozen=True, eq=False)
class ChainPlan:
    """The bones of one chain.

    Attributes:
        skeleton: Skeleton of the armature.
        segments: Bones whose segments reach from root to effector, root first, shape (m,).
        tip: Bone whose tail or head is the effector, and that takes the target's rotation: the last
            segment, or the bone after it.
        written: Bones that are written, root first: the segments, and a tip that is turned; then
            the twist bones below these; last the bones of the body that carry the chain.
        ends_at_tail: Whether the effector is the tail of ``tip``, otherwise its head.
        turns_tip: Whether the tip takes the target's rotation.
        spread: Segments along which turns are spread, by rows of written bones.
        carrying: Number of bones of the body, from its root on, that carry the chain.
        body_root: Root of the body that the chain belongs to; -1 for none.
    """

    skeleton: Skeleton
    segments: Indices
    tip: int
    written: Indices
    ends_at_tail: bool
    turns_tip: bool = False
    spread: tuple[Segment, ...] = ()
    carrying: int = 0
    body_root: int = -1

    @property
    def limb(self) -> Indices:
        """The bones without those of the body: segments, a tip that is turned, and twist bones."""
        return self.written[: len(self.written) - self.carrying]

    @property
    def root(self) -> int:
        """The first of the bones that reach to the effector."""
        return int(self.segments[0])

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the written bones."""
        return tuple([self.skeleton.names[bone] for bone in self.written.tolist()])

    @cached_property
    def rest_bend(self) -> Array | None:
        """The side to which the chain bends at rest, root space, shape (3,); None if straight."""
        side = bend_side(rest_joints(self))
        root = self.skeleton.rest[self.root][:3, :3]
        return None if side is None else np.linalg.solve(root, side)

    @cached_property
    def by_itself(self) -> ChainPlan:
        """The bones of the chain alone, without the body that it belongs to."""
        if self.body_root < 0:
            return self
        return replace(self, written=self.limb, carrying=0, body_root=-1)

    def in_common(self, other: ChainPlan) -> list[int]:
        """Return the bones of the chain that another one of the same armature drives as well.

        Bones that carry the limbs of a body are common to all of these, and do not count.
        """
        one, two = self.written, other.written
        if min(self.body_root, other.body_root) >= 0:
            one, two = self.by_itself.written, other.by_itself.written
        return [bone for bone in one.tolist() if bone in two]

    def carries(self, other: ChainPlan) -> bool:
        """Return whether another chain of its body hangs on its limb; the hips carry no limbs."""
        own = set(self.limb.tolist())
        if self.body_root in own or self.body_root < 0 or not own.isdisjoint(other.limb.tolist()):
            return False
        return not own.isdisjoint(self.skeleton.ancestors(other.root))

    @property
    def turns_beyond(self) -> bool:
        """Whether the tip that takes the target's rotation comes after the effector."""
        return self.turns_tip and not self.ends_at_tail

    @property
    def tip_row(self) -> int:
        """The row of the last bone of the limb among the written ones."""
        return len(self.segments) - 1 + self.turns_beyond

    @property
    def bends_without_tip(self) -> bool:
        """Whether the last segment takes the target's rotation, so that only others bend."""
        return self.turns_tip and self.ends_at_tail and len(self.segments) > 1


def plan_chain(skeleton: Skeleton, spec: ChainSpec) -> ChainPlan:
    """Return the bones of a chain; the same record for the same requested bones.

    Raises:
        RigError: If the tip bone does not exist or no bone is left to drive.
    """
    key = (*get_bone_settings(spec), spec.body_root)
    cached: ChainPlan | None = skeleton.plans.get(key)
    if cached is None:
        cached = skeleton.plans[key] = _planned(skeleton, spec)
    return cached


def plan_or_none(skeleton: Skeleton, spec: ChainSpec) -> ChainPlan | None:
    """Return the bones of a chain; None for a chain without bones."""
    try:
        return plan_chain(skeleton, spec)
    except RigError:
        return None


def _planned(skeleton: Skeleton, spec: ChainSpec) -> ChainPlan:
    if not spec.bone:
        raise RigError("No tip bone is set: choose the bone at the end of the chain.")
    tip = skeleton.index.get(spec.bone, -1)
    if tip < 0:
        raise RigError("Bone '{bone}' no longer exists: choose another tip.", bone=spec.bone)
    upward = skeleton.ancestors(tip)
    if not spec.use_tail:
        upward = upward[1:]
        if not upward:
            raise RigError(
                "Bone '{bone}' has no parent that could bring its head to the target: choose a bone"
                " further down, or switch Use Tail on.",
                bone=spec.bone,
            )
    count = spec.chain_count or len(upward)
    segments = upward[:count][::-1]
    ends_at_tail, turns_tip = spec.use_tail, spec.use_rotation
    if ends_at_tail and turns_tip and spec.rotation_bone is RotationBone.AUTO:
        # The head of the hand is at the tail of the tip: the hand is turned, and the arm reaches
        # with all its bones.
        hand = skeleton.child_at_tail(tip)
        tip, ends_at_tail = (tip, True) if hand is None else (hand, False)
        # A limb of two bones without a hand could reach with one of them only.
        turns_tip = hand is not None or len(segments) > MAX_BONES_OF_LIMB
    limb = [*segments, tip] if turns_tip and not ends_at_tail else segments
    spread, helpers = tuple[Segment, ...](), list[int]()
    if turns_tip and spec.use_twist_spread:
        spread, helpers = _spread(skeleton, limb)
    segment_bones, body_root = np.array(segments), _body_root(skeleton, segments, spec)
    above = skeleton.ancestors(segments[0])[1:] if body_root >= 0 else []
    carrying = above[: above.index(body_root) + 1][::-1] if body_root in above else []
    written = np.array([*limb, *helpers, *carrying])
    ending = ends_at_tail, turns_tip, spread
    return ChainPlan(skeleton, segment_bones, tip, written, *ending, len(carrying), body_root)


def _body_root(skeleton: Skeleton, segments: Sequence[int], spec: ChainSpec) -> int:
    """Return the root of the body that a chain belongs to; -1 for a chain by itself."""
    root = -1 if spec.body_root is None else skeleton.index.get(spec.body_root, -1)
    if root in segments[1:]:
        raise RigError(
            "This chain begins above bone '{names}', the root of its body: give it a shorter Chain"
            " Length, or choose another Root.",
            names=skeleton.names[root],
        )
    return root if root in skeleton.ancestors(segments[0]) else -1


def _spread(skeleton: Skeleton, limb: Sequence[int]) -> tuple[tuple[Segment, ...], list[int]]:
    """Return the segments of a limb along which turns are spread, and their twist bones.

    The limb starts at the root; its last bone is turned.
    """
    spread, helpers = [], list[int]()
    for line in _lines(skeleton, limb):
        bones = {limb[row] for row in line}
        twisted = [
            bone
            for bone, name in enumerate(skeleton.names)
            if int(skeleton.parents[bone]) in bones and "twist" in name.lower() and bone not in limb
        ]
        if len(line) > 1 or twisted:
            first, end = len(limb) + len(helpers), line[-1] + 1
            rows = tuple(range(first, first + len(twisted)))
            spread.append(Segment(tuple(line), rows, end, keeps_root=end == len(limb) - 1))
            helpers += twisted
    return tuple(spread), helpers


def _lines(skeleton: Skeleton, limb: Sequence[int]) -> list[list[int]]:
    """Return the rows of each segment's bones: in line at rest, with equal names except numbers.

    The names distinguish a knee that is straight at rest from two bones of one segment.
    """
    heads = skeleton.rest[limb][:, :3, 3]
    ways: Array = np.diff(heads, axis=0)
    lengths = np.linalg.norm(ways, axis=1)
    lines: list[list[int]] = []
    for row, bone in enumerate(limb[:-1]):
        stem = _stem(skeleton.names[bone])
        if row and stem == _stem(skeleton.names[limb[row - 1]]):
            along = ways[row] @ ways[row - 1]
            if along > MIN_COSINE * lengths[row] * lengths[row - 1]:
                lines[-1].append(row)
                continue
        lines.append([row])
    return lines


def _stem(name: str) -> str:
    """Return a bone's name without numbers and their separators."""
    return re.sub(r"[\d._\-\s]+", "", name)


def joints_in(plan: ChainPlan, matrices: Array) -> Array:
    """Return the joints (m + 1, 3) of a chain in a pose of its skeleton, matrices (n, 4, 4)."""
    tip = matrices[plan.tip]
    along = tip[:3, 1] * plan.skeleton.lengths[plan.tip] * plan.ends_at_tail
    return np.vstack((matrices[plan.segments][:, :3, 3], tip[:3, 3] + along))


def rest_joints(plan: ChainPlan) -> Array:
    """Return the joints of a chain at rest, armature space, shape (m + 1, 3)."""
    return joints_in(plan, plan.skeleton.rest)


def shown_joints(evaluated: bpy.types.Object, plan: ChainPlan) -> Array:
    """Return the evaluated joints of a chain, world space, shape (m + 1, 3)."""
    matrices = matrices_from_buffer(read_floats(evaluated.pose.bones, "matrix", 16))
    return transform_point(np.array(evaluated.matrix_world), joints_in(plan, matrices))


def straight_angle(spec: ChainSpec) -> float:
    """Return the angle by which the side of a chain is turned that is straight at rest."""
    return spec.pole_angle if spec.carries_side else 0.0


def rest_side(plan: ChainPlan, angle: float = 0.0) -> tuple[Array, bool]:
    """Return the bend direction of a chain in its root's space, and whether it is of the rest pose.

    A chain that is straight at rest bends to the Z axis, turned by an angle about the chain.
    """
    if plan.rest_bend is not None:
        return plan.rest_bend, True
    axis = np.array([0.0, 0.0, 1.0])
    if angle == 0.0:
        return axis, False
    joints = rest_joints(plan)
    chord = (joints[-1] - joints[0]) @ plan.skeleton.rest[plan.root][:3, :3]
    turn = rotation.quaternion_from_axis_angle(np.array([angle, *chord]))
    return rotation.rotate(turn, axis), False


def followed_anchors(plan: ChainPlan, spec: ChainSpec) -> list[tuple[Anchor, str]]:
    """Return target, pole and floor, as far as set, with words; only bodies have a floor."""
    floor = spec.floor if plan.body_root >= 0 else None
    pairs = ((spec.target, "target"), (spec.pole, "pole"), (floor, "floor"))
    return [(anchor, word) for anchor, word in pairs if anchor is not None]


def check(
    armature_object: bpy.types.Object, plan: ChainPlan, spec: ChainSpec, present: Container[int]
) -> MovedBy:
    """Return what moves a chain's target, pole and bones; raise a ``RigError`` for unusable ones.

    ``present`` are the session uids of the scene's objects.
    """
    skeleton = plan.skeleton
    if problem := library_problem(armature_object):
        raise RigError(problem)
    if spec.target is None:
        raise RigError("No target is set: choose an object for the chain to follow.")
    names = set(plan.names)
    written = frozenset([(armature_object.session_uid, name) for name in names])
    moved_by = Dependencies()
    for anchor, word in followed_anchors(plan, spec):
        _check_anchor(armature_object, anchor, word, present)
        moved_by.add_anchors(anchor)
        if not written.isdisjoint(moved_by.points):
            owners = frozenset(moved_by.owners if moved_by.has_constraints else ())
            text = _below_itself(armature_object, anchor, word, written)
            raise OwnAnchorError(text, OwnAnchor(anchor, written, owners))
    _check_drivers(armature_object, plan, use_stretch=spec.use_stretch)
    root = skeleton.names[plan.root]
    if (pulled := moved_by.find_pull_on_both(armature_object, root, names)) is not None:
        (tie, below), above = pulled
        raise RigError(
            "The constraint '{name}' of bone '{below}' also moves bone '{above}' above this chain:"
            " mute this constraint, or give it a shorter Chain Length.",
            name=tie.name,
            below=below,
            above=above,
        )
    moved_by.add_chain(armature_object, root, {*names, skeleton.names[plan.tip]})
    return moved_by.freeze()


_DRIVEN_HELPER = (
    "Bone '{driven}' has a driver on its rotation, which always wins: remove the driver, or switch"
    " Twist Spread off."
)
_DRIVEN_BODY = (
    "Bone '{driven}' of the body has a driver on its rotation, which always wins: remove the"
    " driver, or switch Whole Body off."
)
_DRIVEN_LIMB = (
    "Bone '{driven}' has a driver on its rotation, which always wins: remove the driver or end the"
    " chain before that bone."
)
_DRIVEN_SCALE = (
    "Bone '{driven}' has a driver on its scale, which always wins: remove the driver, or switch"
    " Stretch off."
)


def _check_drivers(
    armature_object: bpy.types.Object, plan: ChainPlan, *, use_stretch: bool
) -> None:
    turned, names = driven_bones(armature_object, "rotation"), plan.names
    scaled = driven_bones(armature_object, "scale") if use_stretch else set[str]()
    limb, body = plan.tip_row + 1, len(plan.limb)
    checks = (
        (names[limb:body], turned, _DRIVEN_HELPER),
        (names[body:], turned, _DRIVEN_BODY),
        (names[:limb], turned, _DRIVEN_LIMB),
        (names, scaled, _DRIVEN_SCALE),
    )
    for bones, driven, text in checks:
        if found := driven.intersection(bones):
            raise RigError(text, driven=min(found))


def _check_anchor(
    armature_object: bpy.types.Object, anchor: Anchor, word: str, present: Container[int]
) -> None:
    owner = anchor.object
    check_in_scene(anchor, word, present)
    if owner == armature_object and not anchor.bone:
        if word == "floor":
            raise RigError("The floor is the armature itself: choose another object as floor.")
        raise RigError(
            "The {word} is the armature itself: choose one of its bones as {word}.", word=word
        )
    if owner.type == "ARMATURE" and anchor.bone and anchor.bone not in owner.pose.bones:
        raise RigError(
            "The {word} bone '{bone}' no longer exists: choose another.",
            word=word,
            bone=anchor.bone,
        )


def _below_itself(
    armature_object: bpy.types.Object, anchor: Anchor, word: str, written: frozenset[Point]
) -> str:
    """Return the message of a chain that moves its own target, pole or floor."""
    if (armature_object.session_uid, anchor.bone) not in written:
        for control, constraint, space in _spaces_of(anchor):
            moved_by = Dependencies.of(space)
            if not written.isdisjoint(moved_by.points):
                # An influence of 0 does not break the cycle in Blender's graph.
                return Message(
                    "This chain moves the space '{bone}' of its own {word} '{name}': choose another"
                    " Space."
                    if constraint.influence
                    else "This chain moves the space '{bone}' of its own {word} '{name}', which is"
                    " off: key the eye of the constraint '{constraint}', off here and on where the"
                    " space is on.",
                    bone=space.bone or space.object.name,
                    word=word,
                    name=control.name,
                    constraint=constraint.name,
                )
    if anchor.object == armature_object:
        return Message(
            "This chain moves its own {word} bone '{bone}': choose a bone outside the chain.",
            word=word,
            bone=anchor.bone,
        )
    return Message(
        "This chain moves its own {word} '{name}': clear the parent or constraint of that object,"
        " or choose another object.",
        word=word,
        name=anchor.object.name,
    )


def _spaces_of(
    anchor: Anchor,
) -> Iterator[tuple[bpy.types.Object | bpy.types.PoseBone, bpy.types.Constraint, Anchor]]:
    """Yield an object or bone and its parents, each with its spaces and the anchors of these."""
    control: bpy.types.Object | bpy.types.PoseBone | None = channels_of(anchor)
    while control is not None:
        for constraint in control.constraints:
            if constraint.name.startswith(SPACE) and not constraint.mute:
                if (space := space_of(constraint)) is not None:
                    yield control, constraint, space
        control = control.parent
