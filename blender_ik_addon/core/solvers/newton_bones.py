"""NEWTON on the joints of one chain, bone after bone in floats: as ``newton_joints``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..algebra import matrices, quaternions
from ..algebra.arithmetic import FLOATS, Arithmetic
from ..algebra.quaternions import Quaternion
from ..algebra.vectors import ZERO, Vector, cross, dot, norm, scale, subtract
from ..kinematics import limit_edges, swing_twist
from ..kinematics.bones import AXES, Bones, Pose, find_zero, pose_bones
from ..kinematics.limit_edges import LEAST_LEAVING, LEAST_MOBILITY
from ..kinematics.swing_twist import SwingTwist
from .newton_directions import next_damping
from .newton_joints import HEADWAY, LARGEST_TURN, LEAST_SYSTEM, MOST_PASSES, NOTHING

Kept = tuple[tuple[int, ...], ...]
"""Of each bone the edges that its joint keeps to: 0 about X, 1 about Y, 2 about Z."""


class JointedBones(NamedTuple):
    """The bones of a chain, and the edges of each joint that are locks, not limits."""

    chain: Bones
    locks: Kept


class Stance(NamedTuple):
    """Where turns put bones, the turns taken apart (None for free joints), and edges kept to."""

    pose: Pose
    parts: tuple[SwingTwist | None, ...]
    kept: Kept

    @property
    def tip(self) -> Vector:
        """The effector."""
        return self.pose.points[-1]


class Lever(NamedTuple):
    """How a bone can turn the effector about its head, in the space of the chain.

    The arm leads from the head to the effector, the frame is that of the joint's turn. The axis is
    that of a hinge, None of other joints. No turn goes along blocked ones, unit vectors at right
    angles; edges are numbers and normals of the limits that the joint stands on.
    """

    arm: Vector
    frame: Quaternion
    axis: Vector | None
    blocked: tuple[Vector, ...]
    edges: tuple[tuple[int, Vector], ...]


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
    return Stance(pose_bones(FLOATS, bones.chain, tuple(allowed)), tuple(parts), kept)


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
    error = subtract(target, stance.tip)
    size = norm(m, error)
    if levers is None:
        levers = _find_levers(m, bones, stance)
    kept = stance.kept or ((),) * len(levers)
    moves, kept = _find_least_step(levers, kept, error, damping * size / bones.chain.reach)
    share = LARGEST_TURN / max(LARGEST_TURN, max(norm(m, move) for move in moves))
    turned = [
        quaternions.multiply(_turn_in_frame(m, lever, scale(move, share)), turn)
        for lever, move, turn in zip(levers, moves, stance.pose.rotations, strict=True)
    ]
    moved = stand(bones, turned, kept)
    left = norm(m, subtract(target, moved.tip))
    is_better = left < HEADWAY * size
    damping = next_damping(m, damping, is_better)
    return ((moved, damping, None), left) if is_better else ((stance, damping, levers), size)


def _turn_in_frame(m: Arithmetic, lever: Lever, move: Vector) -> Quaternion:
    return quaternions.from_vector(m, quaternions.unrotate(lever.frame, move))


def _find_levers(m: Arithmetic, bones: JointedBones, stance: Stance) -> list[Lever]:
    pose, levers = stance.pose, []
    # The last one is what roots hang on.
    orientations = (*pose.orientations, quaternions.IDENTITY)
    for i, (bone, locks) in enumerate(zip(bones.chain.bones, bones.locks, strict=True)):
        frame, part = find_zero(bone, orientations[bone.parent]), stance.parts[i]
        axis = None if bone.hinge is None else quaternions.rotate(frame, AXES[bone.hinge])
        blocked: tuple[Vector, ...] = ()
        edges = []
        if bone.joint is not None and part is not None:
            is_on, normals = limit_edges.list_edges(m, bone.joint, part)
            for edge, normal in enumerate(normals):
                if normal is None or not is_on[edge]:
                    continue
                if edge not in locks:
                    edges.append((edge, quaternions.rotate(frame, normal)))
                elif axis is None:
                    blocked = _block(m, blocked, quaternions.rotate(frame, normal))
        arm = subtract(stance.tip, pose.points[i])
        levers.append(Lever(arm, frame, axis, blocked, tuple(edges)))
    return levers


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


def _find_least_step(
    levers: list[Lever], kept: Kept, error: Vector, damping: float
) -> tuple[list[Vector], Kept]:
    """Return turns that cancel the error to first order, and the edges kept to."""
    kept = tuple(
        tuple(edge for edge, _ in lever.edges if edge in each)
        for lever, each in zip(levers, kept, strict=True)
    )
    has_edges = any(lever.edges for lever in levers)
    for _ in range(MOST_PASSES):
        held = [_keep(lever, each) for lever, each in zip(levers, kept, strict=True)]
        multiplier = _solve(held, error, damping)
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


def _move(lever: Lever, multiplier: Vector) -> Vector:
    """Return the turn that a pull on the effector makes."""
    pull, axis = cross(lever.arm, multiplier), lever.axis
    return _drop(lever.blocked, pull) if axis is None else scale(axis, dot(axis, pull))


def _find_pressed(
    lever: Lever, kept: tuple[int, ...], move: Vector, multiplier: Vector
) -> tuple[int, ...]:
    """Return the edges to keep to, as ``Edges.find_pressed``."""
    if not lever.edges:
        return ()
    pull = _move(lever, multiplier)
    return tuple(
        edge
        for edge, normal in lever.edges
        if (
            dot(normal, pull) > -LEAST_LEAVING
            if edge in kept
            else dot(normal, move) > LEAST_LEAVING
        )
    )


def _solve(levers: list[Lever], error: Vector, damping: float) -> Vector:
    """Return what pull on the effector cancels the error, as ``newton_joints`` damps it."""
    xx = yy = zz = xy = xz = yz = 0.0
    for arm, _, axis, blocked, _ in levers:
        ways: tuple[Vector, ...]
        if axis is None:
            x, y, z = arm
            square, ways, sign = (
                x * x + y * y + z * z,
                (arm, *(cross(b, arm) for b in blocked)),
                -1.0,
            )
            xx, yy, zz = xx + square, yy + square, zz + square
        else:
            ways, sign = (cross(axis, arm),), 1.0
        for x, y, z in ways:
            sx, sy = sign * x, sign * y
            xx, yy, zz = xx + sx * x, yy + sy * y, zz + sign * z * z
            xy, xz, yz = xy + sx * y, xz + sx * z, yz + sy * z
    trace = max(xx + yy + zz, 0.0)
    extra = max(trace / 3.0 * damping, LEAST_SYSTEM * trace + NOTHING)
    return matrices.solve_positive((xx + extra, xy, xz, yy + extra, yz, zz + extra), error)
