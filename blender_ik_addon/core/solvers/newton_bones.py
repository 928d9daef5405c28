"""NEWTON on the joints of one chain, bone after bone in floats: as ``newton_joints``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..algebra import matrices, quaternions
from ..algebra.arithmetic import FLOATS, Arithmetic
from ..algebra.quaternions import Quaternion
from ..algebra.vectors import ZERO, Vector, add, cross, dot, norm, scale, subtract, unit
from ..kinematics import limit_edges, swing_twist
from ..kinematics.bones import AXES, Bones, Pose, find_zero, pose_bones
from ..kinematics.limit_edges import LEAST_LEAVING, LEAST_MOBILITY
from ..kinematics.swing_twist import SwingTwist
from . import newton_joints
from .newton_directions import next_damping

Kept = tuple[tuple[int, ...], ...]
"""Of each bone the edges that its joint keeps to: 0 about X, 1 about Y, 2 about Z."""


class Side(NamedTuple):
    """The side of its chord that a chain shall bend to, as ``Poles`` has it.

    Unit vectors toward it and across, the square of the least bulge that has a side, and the weight
    of a radian.
    """

    toward: Vector
    across: Vector
    least: float
    weight: float

    def measure(self, points: Sequence[Vector]) -> tuple[float, Vector]:
        """Return the weighted angle past the side, and how it grows with the mean inner joint."""
        inner, share = points[1:-1], 1.0 / (len(points) - 2)
        x, y, z = (sum(each) * share for each in zip(*inner, strict=True))
        along, aside = dot((x, y, z), self.toward), dot((x, y, z), self.across)
        square = along * along + aside * aside
        if square <= self.least:
            return 0.0, ZERO
        by = self.weight / square
        slope = subtract(scale(self.across, along * by), scale(self.toward, aside * by))
        return self.weight * math.atan2(aside, along), slope


class JointedBones(NamedTuple):
    """The bones of a chain, which edges of each joint are locks, not limits, and a side or none."""

    chain: Bones
    locks: Kept
    side: Side | None = None

    def measure(self, stance: Stance) -> Stance:
        """Return a stance with what the side measures there, or none, and no edge kept to."""
        past, slope = (0.0, ZERO) if self.side is None else self.side.measure(stance.pose.points)
        return stance._replace(kept=(), past=past, slope=slope)


class Stance(NamedTuple):
    """Where turns put bones, the turns taken apart (None for free joints), and edges kept to.

    What the side measures there; zero without one.
    """

    pose: Pose
    parts: tuple[SwingTwist | None, ...]
    kept: Kept
    past: float = 0.0
    slope: Vector = ZERO

    def find_gap(self, target: Vector) -> float:
        """Return the distance of the effector from the target, and the side beside it."""
        x, y, z = subtract(target, self.pose.points[-1])
        return math.sqrt(x * x + y * y + z * z + self.past * self.past)


class Lever(NamedTuple):
    """How a bone can turn the effector about its head, in the space of the chain.

    The arm leads from the head to the effector, the frame is that of the joint's turn. The axis is
    that of a hinge, None of other joints. No turn goes along blocked ones, unit vectors at right
    angles; edges are numbers and normals of the limits that the joint stands on. With turns along
    the growth what the side measures grows most.
    """

    arm: Vector
    frame: Quaternion
    axis: Vector | None
    blocked: tuple[Vector, ...]
    edges: tuple[tuple[int, Vector], ...]
    growth: Vector = ZERO


class _Wanted(NamedTuple):
    """What a step shall cancel: the way to the target, and past the side, None without one."""

    error: Vector
    aside: float | None
    damping: float


def stand(bones: JointedBones, turns: Sequence[Quaternion], kept: Kept = ()) -> Stance:
    """Return where turns put bones, once they are brought inside their ranges."""
    parts: list[SwingTwist | None] = []
    allowed = []
    for bone, turn in zip(bones.chain.bones, turns, strict=True):
        part = None
        if bone.joint is not None:
            part = swing_twist.decompose(FLOATS, bone.joint, turn)
            turn = swing_twist.compose(FLOATS, part)
        parts.append(part)
        allowed.append(turn)
    pose = pose_bones(FLOATS, bones.chain, tuple(allowed))
    past, slope = (0.0, ZERO) if bones.side is None else bones.side.measure(pose.points)
    return Stance(pose, tuple(parts), kept, past, slope)


def step(
    m: Arithmetic,
    bones: JointedBones,
    state: tuple[Stance, float, list[Lever] | None],
    target: Vector,
) -> tuple[tuple[Stance, float, list[Lever] | None], float]:
    """Return the state after one iteration, a better one or the same with more damping; the error.

    Source: as ``newton_joints.step``; tests/core/test_row_independence.py compares the two.
    """
    stance, damping, levers = state
    size = stance.find_gap(target)
    levers = levers or _find_levers(m, bones, stance)
    aside = None if bones.side is None else -stance.past
    error = subtract(target, stance.pose.points[-1])
    wanted = _Wanted(error, aside, damping * size / bones.chain.reach)
    moves, kept = _find_least_step(levers, stance.kept or ((),) * len(levers), wanted)
    largest = newton_joints.LARGEST_TURN
    share = largest / max(largest, max(norm(m, move) for move in moves))
    turned = []
    for lever, move, turn in zip(levers, moves, stance.pose.rotations, strict=True):
        own = quaternions.unrotate(lever.frame, scale(move, share))
        turned.append(quaternions.multiply(quaternions.from_vector(m, own), turn))
    moved = stand(bones, turned, kept)
    left = moved.find_gap(target)
    is_better = left < size
    damping = next_damping(m, damping, is_better)
    return ((moved, damping, None), left) if is_better else ((stance, damping, levers), size)


def _find_levers(m: Arithmetic, bones: JointedBones, stance: Stance) -> list[Lever]:
    points, levers, growths = stance.pose.points, [], _find_growths(stance)
    # The last one is what roots hang on.
    orientations = (*stance.pose.orientations, quaternions.IDENTITY)
    for i, (bone, locks) in enumerate(zip(bones.chain.bones, bones.locks, strict=True)):
        frame, part = find_zero(bone, orientations[bone.parent]), stance.parts[i]
        axis = None if bone.hinge is None else quaternions.rotate(frame, AXES[bone.hinge])
        blocked: tuple[Vector, ...] = ()
        edges = []
        if bone.joint is not None and part is not None:
            for edge, slope in limit_edges.list_edges(bone.joint, part):
                normal = quaternions.rotate(frame, unit(m, slope, ZERO))
                if edge not in locks:
                    edges.append((edge, normal))
                elif axis is None:
                    blocked = _block(m, blocked, normal)
        arm = subtract(points[-1], points[i])
        levers.append(Lever(arm, frame, axis, blocked, tuple(edges), growths[i]))
    return levers


def _find_growths(stance: Stance) -> list[Vector]:
    """Return the turns of each joint, outside of frames, that what the side measures grows with."""
    points, slope = stance.pose.points, stance.slope
    count = len(points) - 1
    if slope == ZERO:
        return [ZERO] * count
    slope, beyond, growths = scale(slope, 1.0 / (count - 1)), ZERO, []
    for later, point in enumerate(reversed(points[:-1])):
        # The sum of the ways from this joint to the inner ones beyond it.
        growths.append(cross(subtract(beyond, scale(point, later)), slope))
        beyond = add(beyond, point)
    return growths[::-1]


def _block(m: Arithmetic, blocked: tuple[Vector, ...], normal: Vector) -> tuple[Vector, ...]:
    """Return unit vectors at right angles, one more for what of a normal is across the others."""
    left = _drop(blocked, normal)
    square = dot(left, left)
    if square <= LEAST_MOBILITY:
        return blocked
    return (*blocked, scale(left, 1.0 / m.sqrt(square)))


def _drop(blocked: tuple[Vector, ...], vector: Vector) -> Vector:
    for axis in blocked:
        vector = subtract(vector, scale(axis, dot(axis, vector)))
    return vector


def _find_least_step(levers: list[Lever], kept: Kept, wanted: _Wanted) -> tuple[list[Vector], Kept]:
    """Return turns that cancel the error to first order, and the edges kept to."""
    kept = tuple(
        tuple(edge for edge, _ in lever.edges if edge in each)
        for lever, each in zip(levers, kept, strict=True)
    )
    has_edges = any(lever.edges for lever in levers)
    for _ in range(newton_joints.MOST_PASSES):
        held = [_keep(lever, each) for lever, each in zip(levers, kept, strict=True)]
        multiplier = _solve(held, wanted)
        moves = [_move(lever, multiplier) for lever in held]
        pressed = kept
        if has_edges:
            pressed = tuple(
                _find_pressed(*each, multiplier) for each in zip(levers, kept, moves, strict=True)
            )
        if pressed == kept:
            break
        last, kept = kept, pressed
    else:
        kept = last
    return moves, kept


def _keep(lever: Lever, kept: tuple[int, ...]) -> Lever:
    """Return a lever that does not turn along edges kept to."""
    if not kept:
        return lever
    if lever.axis is not None:
        return lever._replace(axis=ZERO)
    blocked = lever.blocked
    for edge, normal in lever.edges:
        if edge in kept:
            blocked = _block(FLOATS, blocked, normal)
    return lever._replace(blocked=blocked)


def _move(lever: Lever, multiplier: tuple[Vector, float]) -> Vector:
    """Return the turn that a pull on the effector, and to the side, makes."""
    pull, aside = cross(lever.arm, multiplier[0]), multiplier[1]
    if aside:
        pull = add(pull, scale(lever.growth, aside))
    return _allow(lever, pull)


def _allow(lever: Lever, turn: Vector) -> Vector:
    axis = lever.axis
    return _drop(lever.blocked, turn) if axis is None else scale(axis, dot(axis, turn))


def _find_pressed(
    lever: Lever, kept: tuple[int, ...], move: Vector, multiplier: tuple[Vector, float]
) -> tuple[int, ...]:
    """Return the edges to keep to, as ``Edges.find_pressed``."""
    if not lever.edges:
        return ()
    pull = _move(lever, multiplier)
    presses, crosses = -LEAST_LEAVING, LEAST_LEAVING
    return tuple(
        edge
        for edge, normal in lever.edges
        if (dot(normal, pull) > presses if edge in kept else dot(normal, move) > crosses)
    )


def _solve(levers: list[Lever], wanted: _Wanted) -> tuple[Vector, float]:
    """Return what pull cancels what is wanted, as ``newton_joints`` damps it."""
    xx = yy = zz = xy = xz = yz = 0.0
    for lever in levers:
        x, y, z = arm = lever.arm
        ways: tuple[Vector, ...]
        if lever.axis is None:
            # The square of the matrix of a vector product, but for what is blocked.
            square, sign = x * x + y * y + z * z, -1.0
            xx, yy, zz = xx + square, yy + square, zz + square
            ways = arm, *(cross(axis, arm) for axis in lever.blocked)
        else:
            ways, sign = (cross(lever.axis, arm),), 1.0
        for x, y, z in ways:
            xx, yy, zz = xx + sign * x * x, yy + sign * y * y, zz + sign * z * z
            xy, xz, yz = xy + sign * x * y, xz + sign * x * z, yz + sign * y * z
    coupling, square = ZERO, 0.0
    for lever in levers if wanted.aside is not None else ():
        growth = _allow(lever, lever.growth)
        coupling, square = add(coupling, cross(growth, lever.arm)), square + dot(growth, growth)
    trace = max(xx + yy + zz, 0.0)
    share = newton_joints.LEAST_SYSTEM if wanted.aside is None else newton_joints.LEAST_WITH_AIMS
    least = share * (trace + square) + newton_joints.NOTHING
    extra = max(trace / 3.0 * wanted.damping, least)
    system = xx + extra, xy, xz, yy + extra, yz, zz + extra
    pull = matrices.solve_positive(system, wanted.error)
    if wanted.aside is None:
        return pull, 0.0
    across = matrices.solve_positive(system, coupling)
    square += max(square * wanted.damping, least)
    aside = (wanted.aside - dot(coupling, pull)) / (square - dot(coupling, across))
    return subtract(pull, scale(across, aside)), aside
