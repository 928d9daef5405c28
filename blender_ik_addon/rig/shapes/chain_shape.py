"""The shape of one chain in world space, its reach, pole plane and limits; positions of targets."""

from __future__ import annotations

import math
from collections.abc import Container
from contextlib import suppress
from dataclasses import dataclass

import bpy

from ...core.algebra.arithmetic import Array
from ..planning.live_chain import Known, known_chain, spec_of
from ..posing.reasons import find_bend_line, sense_of_pole_angle, turns_tip_first
from ..reading.chain_plan import ChainPlan, plan_chain
from ..reading.refusals import RigError
from ..reading.skeleton import Skeleton
from ..reading.spec import Anchor, ChainSpec
from .chain_lines import EvaluatedPose
from .limit_outlines import LimitOutlines, PlacedLimits, compile_outlines, place_outlines
from .reach_and_pole import PolePlane, ReachZone, find_pole_plane, find_reach

WorldPoint = tuple[float, float, float]

UNKNOWN_PLACE: WorldPoint = (math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class CompiledShape:
    """The part of a chain's shape that does not depend on its pose.

    Attributes:
        spec: Its settings.
        plan: Its bones.
        limits: Its limits; None if all joints turn freely, or if a joint cannot be used.
    """

    spec: ChainSpec
    plan: ChainPlan
    limits: LimitOutlines | None


@dataclass(frozen=True)
class ChainShape:
    """The shape of a chain on a pose, world space.

    Attributes:
        reach: The zone of targets that it reaches; None for a chain whose root moves.
        pole: The plane that it bends in; None without a pole, and for a chain that is dragged.
        limits: Its limits; None if all joints turn freely, or if a joint cannot be used.
    """

    reach: ReachZone | None
    pole: PolePlane | None
    limits: PlacedLimits | None


def compile_shape(
    armature_object: bpy.types.Object, skeleton: Skeleton, known: Known
) -> CompiledShape:
    """Compile the shape of a chain of an original object, as far as it does not depend on the pose.

    Raises:
        RigError: If the chain has no bones.
    """
    spec = spec_of(known)
    plan, joints = plan_chain(skeleton, spec), None
    # The chain's status says what is wrong with a joint. The rest can still be drawn.
    with suppress(RigError):
        *_, joints = known_chain(armature_object, known)
    limits = None if joints is None else compile_outlines(skeleton, plan.written, joints)
    return CompiledShape(spec, plan, limits)


def place_shape(
    compiled: CompiledShape,
    points: Array,
    pose: EvaluatedPose,
    target: Array | None,
    pole: Array | None,
) -> ChainShape:
    """Return the shape of a chain with joints (m + 1, 3) on a pose, everything in world space.

    ``target`` and ``pole`` are positions (3,), None without.
    """
    spec, outlines = compiled.spec, compiled.limits
    is_free = outlines is None and spec.force is None
    tip_first = is_free and turns_tip_first(compiled.plan, spec)
    plane = None
    if pole is not None and not spec.is_dragged:
        angle = sense_of_pole_angle(pose.world, spec) * spec.pole_angle
        line = find_bend_line(compiled.plan, spec, points, target)
        plane = find_pole_plane(*line, pole, angle)
    limits = None if outlines is None else place_outlines(outlines, pose)
    reach = None if spec.moves_root else find_reach(points, turns_tip_first=tip_first)
    return ChainShape(reach, plane, limits)


def find_place(
    anchor: Anchor | None, depsgraph: bpy.types.Depsgraph, present: Container[int]
) -> WorldPoint:
    """Return the position of a target or pole, world space; not finite if unknown.

    ``present`` are the session uids of the scene's objects: chains follow no others.
    """
    try:
        if anchor is None or anchor.object.session_uid not in present:
            return UNKNOWN_PLACE
        evaluated = anchor.object.evaluated_get(depsgraph)
    except ReferenceError:
        # The object has been removed since the last update.
        return UNKNOWN_PLACE
    matrix = evaluated.matrix_world
    if anchor.bone and evaluated.type == "ARMATURE":
        bone = None if evaluated.pose is None else evaluated.pose.bones.get(anchor.bone)
        if bone is None:
            return UNKNOWN_PLACE
        matrix = matrix @ bone.matrix
    x, y, z = matrix.translation[:]
    return x, y, z
