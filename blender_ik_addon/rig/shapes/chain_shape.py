"""The shape of one chain in world space: reach, pole and limits; and where targets are."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from contextlib import suppress
from dataclasses import dataclass

import bpy

from ...core.algebra.arithmetic import Array
from ..planning.live_chain import Known, known_chain, spec_of
from ..posing.reasons import sense_of_pole_angle, turns_tip_first
from ..reading.chain_plan import ChainPlan, planned
from ..reading.refusals import RigError
from ..reading.skeleton import Skeleton
from ..reading.spec import Anchor, ChainSpec
from .chain_lines import PosedBones
from .limit_outlines import LimitOutlines, PlacedLimits, compile_outlines, place_outlines
from .reach_and_pole import PolePlane, ReachZone, find_pole_plane, find_reach

Place = tuple[float, float, float]

NO_PLACE: Place = (math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class CompiledShape:
    """The part of a chain's shape that stays while only its pose changes.

    Attributes:
        spec: Its settings.
        plan: Its bones.
        limits: Its limits; None where all joints turn freely, or if they cannot be used.
    """

    spec: ChainSpec
    plan: ChainPlan
    limits: LimitOutlines | None


@dataclass(frozen=True)
class ChainShape:
    """The shape of a chain on a pose, world space.

    Attributes:
        reach: Which targets it reaches; None for a chain whose root moves.
        pole: Where it bends to; None without a pole.
        limits: Its limits; None where all joints turn freely.
    """

    reach: ReachZone | None
    pole: PolePlane | None
    limits: PlacedLimits | None


def compile_shape(
    armature_object: bpy.types.Object, skeleton: Skeleton, known: Known
) -> CompiledShape:
    """Return the shape of a chain of an original object with these bones, without its pose.

    Raises:
        RigError: If the chain has no bones.
    """
    spec = spec_of(known)
    plan, joints = planned(skeleton, spec), None
    # The chain's status says what is wrong with a joint; the rest can be shown.
    with suppress(RigError):
        *_, joints = known_chain(armature_object, known)
    limits = None if joints is None else compile_outlines(skeleton, plan.written, joints)
    return CompiledShape(spec, plan, limits)


def place_shape(
    compiled: CompiledShape,
    points: Array,
    posed: PosedBones,
    target: Array | None,
    pole: Array | None,
) -> ChainShape:
    """Return the shape of a chain on a pose.

    Args:
        compiled: The chain.
        points: Its joints, world space, shape (m + 1, 3).
        posed: Its armature's bones.
        target: Where its target is, world space, shape (3,); None without one.
        pole: The same of its pole.
    """
    spec, outlines = compiled.spec, compiled.limits
    is_free = outlines is None and spec.force is None
    tip_first = is_free and turns_tip_first(compiled.plan, spec)
    plane = None
    if pole is not None and not spec.is_dragged:
        angle = sense_of_pole_angle(posed.world, spec) * spec.pole_angle
        end = points[-1] if target is None else target
        plane = find_pole_plane(points, end, pole, angle)
    limits = None if outlines is None else place_outlines(outlines, posed)
    reach = None if spec.moves_root else find_reach(points, turns_tip_first=tip_first)
    return ChainShape(reach, plane, limits)


def find_places(
    anchors: Sequence[Anchor | None],
    depsgraph: bpy.types.Depsgraph,
    armature_object: bpy.types.Object,
    skeleton: Skeleton,
    posed: PosedBones,
    present: Container[int],
) -> list[Place]:
    """Return where targets and poles are, world space; not finite where that is unknown.

    Args:
        anchors: Targets and poles; None for none.
        depsgraph: Has evaluated them.
        armature_object: The chain's original object; its own bones are read from ``posed``.
        skeleton: Its bones.
        posed: Its evaluated bones.
        present: Session uids of the scene's objects: what is not among them is followed no more.
    """
    places: list[Place] = []
    for anchor in anchors:
        if anchor is None:
            places.append(NO_PLACE)
        elif anchor.object == armature_object:
            bone = skeleton.index.get(anchor.bone)
            places.append(NO_PLACE if bone is None else posed.head(bone))
        else:
            places.append(_place_of(anchor, depsgraph, present))
    return places


def _place_of(anchor: Anchor, depsgraph: bpy.types.Depsgraph, present: Container[int]) -> Place:
    try:
        if anchor.object.session_uid not in present:
            return NO_PLACE
        evaluated = anchor.object.evaluated_get(depsgraph)
    except ReferenceError:
        # It has been removed since the last update.
        return NO_PLACE
    matrix = evaluated.matrix_world
    if anchor.bone and evaluated.type == "ARMATURE":
        bone = None if evaluated.pose is None else evaluated.pose.bones.get(anchor.bone)
        if bone is None:
            return NO_PLACE
        matrix = matrix @ bone.matrix
    x, y, z = matrix.translation[:]
    return x, y, z
