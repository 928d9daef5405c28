"""NEWTON on the joints of one chain, bone after bone in floats: as ``newton_joints``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import neg
from typing import NamedTuple

from ..algebra import matrices, quaternions
from ..algebra.arithmetic import FLOATS, Arithmetic
from ..algebra.quaternions import Quaternion, rotate
from ..algebra.vectors import ZERO, Vector, add, cross, dot, norm, scale, subtract, unit
from ..kinematics import limit_edges, swing_twist
from ..kinematics.bend_plane import measure_facing
from ..kinematics.bones import FRAME_AXES, Bones, SweepPose, find_zero, pose_bones
from ..kinematics.limit_edges import LEAST_LEAVING, LEAST_MOBILITY
from ..kinematics.swing_twist import SwingTwist
from . import newton_joints
from .newton_directions import next_damping

Edges = tuple[tuple[int, ...], ...]
"""For each bone, numbers of edges of its joint: 0 about X, 1 about Y, 2 about Z."""


class BendSide(NamedTuple):
    """The side of its chord that a chain should bend to, as in ``Poles``.

    Unit vectors toward and across it, the direction to it that the first bone carries, in the axes
    of that bone, the count of the bones that bend, their length and that of their chord, and a
    radian's weight.
    """

    toward: Vector
    across: Vector
    carried_side: Vector
    bone_count: int
    reach: float
    distance: float
    weight: float

    def measure(self, pose: SweepPose) -> tuple[float, SideSlope]:
        """Return the weighted angle past the side, and its gradients."""
        inner, share = pose.points[1 : self.bone_count], 1.0 / (self.bone_count - 1)
        x, y, z = (sum(coordinate) * share for coordinate in zip(*inner, strict=True))
        carried = rotate(pose.orientations[0], self.carried_side)
        bulge = dot((x, y, z), self.toward), dot((x, y, z), self.across)
        aside = dot(carried, self.toward), dot(carried, self.across)
        facing = measure_facing(FLOATS, bulge, aside, self.reach, self.distance)
        by_mean, by_carried = (
            scale(add(scale(self.toward, along), scale(self.across, across)), self.weight)
            for along, across in (facing.by_bulge, facing.by_carried)
        )
        return self.weight * facing.angle, SideSlope(by_mean, cross(carried, by_carried))


class SideSlope(NamedTuple):
    """The gradients of an angle past a side: by the mean inner joint, and by the root's turns."""

    by_mean: Vector
    by_turn: Vector


NO_SLOPE = SideSlope(ZERO, ZERO)


class TipTurn(NamedTuple):
    """The goal rotation of the last bone, as in ``Tips``: its inverse, and a radian's weight."""

    inverse: Quaternion
    weight: float

    def measure(self, rotation: Quaternion) -> Vector:
        """Return the weighted rotation vector from the goal to a rotation."""
        turn = quaternions.to_vector(FLOATS, quaternions.multiply(rotation, self.inverse))
        return scale(turn, self.weight)

    @property
    def gradients(self) -> tuple[Vector, ...]:
        """The gradients of that vector by turns of any bone, outside frames."""
        weight = self.weight
        return (weight, 0.0, 0.0), (0.0, weight, 0.0), (0.0, 0.0, weight)


class JointedBones(NamedTuple):
    """The bones of a chain, edges of joints that are locks, not limits, and aims or None."""

    chain: Bones
    locks: Edges
    side: BendSide | None = None
    tip: TipTurn | None = None

    def weigh(self, weight: float) -> JointedBones:
        """Return the bones with another weight of a radian."""
        side = None if self.side is None else self.side._replace(weight=weight)
        tip = None if self.tip is None else self.tip._replace(weight=weight)
        return self._replace(side=side, tip=tip)

    def restate(self, state: BonesState) -> BonesState:
        """Return a state of bones with other aims as a state of these, without active edges."""
        return BonesState(state.pose, state.swing_twists, (), *self.measure(state.pose))

    def measure(self, pose: SweepPose) -> tuple[tuple[float, ...], SideSlope]:
        """Return the weighted errors of aims, and the gradients of the side, or zero."""
        tip = () if self.tip is None else self.tip.measure(pose.orientations[-1])
        if self.side is None:
            return tip, NO_SLOPE
        angle, slope = self.side.measure(pose)
        return (angle, *tip), slope


class BonesState(NamedTuple):
    """The pose of bones, turns as swing and twist (None for free joints), and active edges.

    Also the weighted angles past the aims: one of a side, three of a tip; and the gradients of the
    angle past the side, or zero.
    """

    pose: SweepPose
    swing_twists: tuple[SwingTwist | None, ...]
    active: Edges
    past_aims: tuple[float, ...]
    side_slope: SideSlope

    def find_error(self, target: Vector) -> float:
        """Return the norm of the distance from effector to target and the angles past the aims."""
        x, y, z = subtract(target, self.pose.points[-1])
        square = x * x + y * y + z * z
        for past in self.past_aims:
            square += past * past
        return math.sqrt(square)


class Lever(NamedTuple):
    """The lever of a bone: how it can turn the effector about its head, in the space of the chain.

    The arm leads from the head to the effector, the frame is that of the joint's turn. The axis is
    that of a hinge, None for other joints. Blocked are orthogonal unit vectors that no turn goes
    along. Edges are numbers and normals of the limits that the joint is on. The gradients are those
    of the angles past the aims, by turns.
    """

    arm: Vector
    frame: Quaternion
    axis: Vector | None
    blocked: tuple[Vector, ...]
    edges: tuple[tuple[int, Vector], ...]
    gradients: tuple[Vector, ...] = ()


class _Pulls(NamedTuple):
    """The multipliers of a step: a pull on the effector, and one to each aim."""

    effector: Vector
    aims: tuple[float, ...]


class _Errors(NamedTuple):
    """The errors that a step should cancel, how many of the last are of a tip, and the damping."""

    to_target: Vector
    to_aims: tuple[float, ...]
    tip_rows: int
    damping: float


def clamp_state(bones: JointedBones, turns: Sequence[Quaternion], active: Edges = ()) -> BonesState:
    """Return the state of bones whose turns are brought inside their ranges."""
    swing_twists: list[SwingTwist | None] = []
    allowed = []
    for bone, turn in zip(bones.chain.bones, turns, strict=True):
        part = None
        if bone.joint is not None:
            part = swing_twist.decompose(FLOATS, bone.joint, turn)
            turn = swing_twist.compose(FLOATS, part)
        swing_twists.append(part)
        allowed.append(turn)
    pose = pose_bones(FLOATS, bones.chain, tuple(allowed))
    return BonesState(pose, tuple(swing_twists), active, *bones.measure(pose))


def step(
    m: Arithmetic,
    bones: JointedBones,
    state: tuple[BonesState, float, list[Lever] | None],
    target: Vector,
) -> tuple[tuple[BonesState, float, list[Lever] | None], float]:
    """Return the state after one iteration, a better one or the same with more damping; the error.

    Source: as ``newton_joints.step``; tests/core/test_row_independence.py compares the two.
    """
    present, damping, levers = state
    before = present.find_error(target)
    levers = levers or _find_levers(m, bones, present)
    to_target, to_aims = (
        subtract(target, present.pose.points[-1]),
        tuple(map(neg, present.past_aims)),
    )
    tip_rows = 0 if bones.tip is None else 3
    errors = _Errors(to_target, to_aims, tip_rows, damping * before / bones.chain.reach)
    moves, active = _find_step(levers, present.active or ((),) * len(levers), errors)
    largest = newton_joints.LARGEST_TURN
    share = largest / max(largest, max(norm(m, move) for move in moves))
    turned = []
    for lever, move, turn in zip(levers, moves, present.pose.rotations, strict=True):
        local = quaternions.unrotate(lever.frame, scale(move, share))
        turned.append(quaternions.multiply(quaternions.from_vector(m, local), turn))
    moved = clamp_state(bones, turned, active)
    after = moved.find_error(target)
    is_better = after < before
    damping = next_damping(m, damping, is_better)
    return ((moved, damping, None), after) if is_better else ((present, damping, levers), before)


def _find_levers(m: Arithmetic, bones: JointedBones, state: BonesState) -> list[Lever]:
    points, levers, gradients = state.pose.points, [], _find_gradients(bones, state)
    # The last orientation is that of the parents of roots.
    orientations = (*state.pose.orientations, quaternions.IDENTITY)
    for i, (bone, locks) in enumerate(zip(bones.chain.bones, bones.locks, strict=True)):
        frame, part = find_zero(bone, orientations[bone.parent]), state.swing_twists[i]
        axis = None if bone.hinge is None else quaternions.rotate(frame, FRAME_AXES[bone.hinge])
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
        levers.append(Lever(arm, frame, axis, blocked, tuple(edges), gradients[i]))
    return levers


def _find_gradients(bones: JointedBones, state: BonesState) -> list[tuple[Vector, ...]]:
    """Return the gradients of the angles past the aims, for each joint."""
    tip = () if bones.tip is None else bones.tip.gradients
    if bones.side is None:
        return [tip] * len(bones.chain.bones)
    return [(side, *tip) for side in _find_side_gradients(bones.side.bone_count, state)]


def _find_side_gradients(count: int, state: BonesState) -> list[Vector]:
    """Return the gradients of the angle past the side by turns of each joint, outside frames.

    Only the first bones, ``count`` of them, bend to the side.
    """
    points, (by_mean, by_turn) = state.pose.points, state.side_slope
    gradients = [ZERO] * (len(points) - 1 - count)
    slope, points_sum = scale(by_mean, 1.0 / (count - 1)), ZERO
    for later, point in enumerate(reversed(points[:count])):
        # The sum of the vectors from this joint to the inner joints beyond it.
        gradients.append(cross(subtract(points_sum, scale(point, later)), slope))
        points_sum = add(points_sum, point)
    gradients[-1] = add(gradients[-1], by_turn)
    return gradients[::-1]


def _block(m: Arithmetic, blocked: tuple[Vector, ...], normal: Vector) -> tuple[Vector, ...]:
    """Return orthogonal unit vectors, one more if a normal has a part across the others."""
    rest = _reject_all(blocked, normal)
    square = dot(rest, rest)
    if square <= LEAST_MOBILITY:
        return blocked
    return (*blocked, scale(rest, 1.0 / m.sqrt(square)))


def _reject_all(blocked: tuple[Vector, ...], vector: Vector) -> Vector:
    for axis in blocked:
        vector = subtract(vector, scale(axis, dot(axis, vector)))
    return vector


def _find_step(levers: list[Lever], active: Edges, errors: _Errors) -> tuple[list[Vector], Edges]:
    """Return turns that cancel the error to first order, and the active edges."""
    active = tuple(
        tuple(edge for edge, _ in lever.edges if edge in edges)
        for lever, edges in zip(levers, active, strict=True)
    )
    has_edges = any(lever.edges for lever in levers)
    for _ in range(newton_joints.MAX_ACTIVE_SET_PASSES):
        held = [_hold_edges(lever, edges) for lever, edges in zip(levers, active, strict=True)]
        pulls = _solve(held, errors)
        moves = [_turn_lever(lever, pulls) for lever in held]
        following = active
        if has_edges:
            following = tuple(
                _find_active(*row, pulls) for row in zip(levers, active, moves, strict=True)
            )
        if following == active:
            break
        before, active = active, following
    else:
        active = before
    return moves, active


def _hold_edges(lever: Lever, active: tuple[int, ...]) -> Lever:
    """Return a lever that does not turn along active edges."""
    if not active:
        return lever
    if lever.axis is not None:
        return lever._replace(axis=ZERO)
    blocked = lever.blocked
    for edge, normal in lever.edges:
        if edge in active:
            blocked = _block(FLOATS, blocked, normal)
    return lever._replace(blocked=blocked)


def _turn_lever(lever: Lever, pulls: _Pulls) -> Vector:
    """Return the turn that a pull on the effector, and pulls to the aims, make."""
    pull = cross(lever.arm, pulls.effector)
    for gradient, aim_pull in zip(lever.gradients, pulls.aims, strict=True):
        pull = add(pull, scale(gradient, aim_pull))
    return _project_to_axes(lever, pull)


def _project_to_axes(lever: Lever, turn: Vector) -> Vector:
    axis = lever.axis
    return _reject_all(lever.blocked, turn) if axis is None else scale(axis, dot(axis, turn))


def _find_active(
    lever: Lever, held: tuple[int, ...], move: Vector, pulls: _Pulls
) -> tuple[int, ...]:
    """Return the active edges of the next pass, as ``newton_joints``."""
    if not lever.edges:
        return ()
    pull = _turn_lever(lever, pulls)
    presses, crosses = -LEAST_LEAVING, LEAST_LEAVING
    return tuple(
        edge
        for edge, normal in lever.edges
        if (dot(normal, pull) > presses if edge in held else dot(normal, move) > crosses)
    )


def _solve(levers: list[Lever], errors: _Errors) -> _Pulls:
    """Return the pulls that cancel the errors of a step, with damping as in ``newton_joints``."""
    xx = yy = zz = xy = xz = yz = 0.0
    for lever in levers:
        x, y, z = arm = lever.arm
        directions: tuple[Vector, ...]
        if lever.axis is None:
            # The square of the matrix of a vector product, without blocked axes.
            square, sign = x * x + y * y + z * z, -1.0
            xx, yy, zz = xx + square, yy + square, zz + square
            directions = arm, *(cross(axis, arm) for axis in lever.blocked)
        else:
            directions, sign = (cross(lever.axis, arm),), 1.0
        for x, y, z in directions:
            xx, yy, zz = xx + sign * x * x, yy + sign * y * y, zz + sign * z * z
            xy, xz, yz = xy + sign * x * y, xz + sign * x * z, yz + sign * y * z
    trace = max(xx + yy + zz, 0.0)
    couplings, block = _couple_aims(levers, len(errors.to_aims))
    squares = [block[row][row] for row in range(len(block))]
    share = newton_joints.MIN_AIMED_SHARE if squares else newton_joints.MIN_SHARE
    minimum = share * (trace + sum(squares)) + newton_joints.MIN_DIAGONAL
    added = max(trace / 3.0 * errors.damping, minimum)
    if not squares:
        system = xx + added, xy, xz, yy + added, yz, zz + added
        return _Pulls(matrices.solve_positive(system, errors.to_target), ())
    if errors.tip_rows:
        squares[-3:] = [sum(squares[-3:]) / 3.0] * 3
    for row, square in enumerate(squares):
        block[row][row] += max(square * errors.damping, minimum)
    aimed = [(*coupling, *line) for coupling, line in zip(couplings, block, strict=True)]
    lower = (xx + added,), (xy, yy + added), (xz, yz, zz + added), *aimed
    x, y, z, *aim_pulls = matrices.solve_definite(lower, (*errors.to_target, *errors.to_aims))
    return _Pulls((x, y, z), tuple(aim_pulls))


def _couple_aims(levers: list[Lever], count: int) -> tuple[list[Vector], list[list[float]]]:
    """Return the blocks of a system that couple aims with the position, and with each other.

    The latter has only its lower half.
    """
    couplings, block = [ZERO] * count, [[0.0] * count for _ in range(count)]
    for row, line in enumerate(block):
        coupling = ZERO
        for lever in levers:
            turn = _project_to_axes(lever, lever.gradients[row])
            coupling = add(coupling, cross(turn, lever.arm))
            for column in range(row + 1):
                line[column] += dot(turn, lever.gradients[column])
        couplings[row] = coupling
    return couplings, block
