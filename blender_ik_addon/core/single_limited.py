"""NEWTON for one jointed chain in plain floats: the first try of ``limited`` for many.

Turns are told outside of the joints' frames here, which for frames that turn and scale only is the
same in other coordinates.
"""

from __future__ import annotations

from math import atan2, cos, hypot, sin, sqrt

import numpy as np

from . import limited_newton as batch
from .bend import AT_ROOT
from .iterate import PROGRESS_WINDOW, STANDSTILL
from .jointed import (
    AIM_TOLERANCE,
    AIM_WEIGHTS,
    ASIDE,
    ENOUGH,
    ENOUGH_TO_AIM,
    NEAR,
    NO_SIDE,
    Jointed,
)
from .laying import rotations_of
from .natural_start import NaturalStart
from .newton import (
    DAMPING_DECAY,
    DAMPING_GROWTH,
    FIRST_DAMPING,
    LEAST_DAMPING_AFTER_REJECTION,
    MOST_DAMPING,
)
from .posed import Posed
from .single import Quaternion, cross, dot, multiply, pole_side
from .single_joints import joint, rotated
from .single_motion import gap, least_step
from .single_natural import Aim, SingleNatural
from .single_start import SingleStart, Vector
from .start import Start
from .vectors import Array

# A frame that is stretched or sheared by more than this share is not one that turns and scales.
EVEN = 1e-9
NOT_TURNED: Quaternion = (1.0, 0.0, 0.0, 0.0)


class SingleJoints:
    """One jointed chain as plain numbers.

    Attributes:
        fits: Whether this path knows such chains: frames turn and scale only, nothing slides and
            no bone is stiffer than another.
        can_swivel: As ``Jointed.can_swivel``.
        unit: Length of one unit in armature space.
        root: Armature space.
        start_pose: What poles need of it.
    """

    def __init__(
        self, start: Start, one: Jointed, natural: NaturalStart, start_turn: Array
    ) -> None:
        """Take a batch of one, its joints, what it bends from, and its turns (n, 4, 1)."""
        posed = one.posed(one.state(start_turn, np.zeros_like(one.slide_low)))
        self.fits = _turns_and_scales(posed) and not (one.has_slides or one.has_stiffness)
        self.can_swivel = one.can_swivel
        self.reach, self.unit = float(one.reach[0]), float(start.unit[0])
        self.start_pose = SingleStart(start)
        self.root = _vector(start.root[:, 0])
        self.chord = _vector(start.chord[:, 0])
        if not self.fits:
            return
        self.natural = SingleNatural(natural)
        sizes = np.cbrt(np.linalg.det(posed.frames[..., 0]))
        frames = rotations_of(posed.frames)
        bones = _wxyz(start_turn[..., 0])
        self.offsets = [_tuple(frames[0, :, 0])]
        for i in range(1, len(bones)):
            before = multiply(_tuple(frames[i - 1, :, 0]), bones[i - 1])
            conjugate = (before[0], -before[1], -before[2], -before[3])
            self.offsets.append(multiply(conjugate, _tuple(frames[i, :, 0])))
        self.segments = [_vector(row) for row in one.segments[..., 0] * sizes[:, None]]
        self.joints = [
            joint(kind, _vector(low), _vector(high))
            for kind, low, high in zip(one.kinds, one.low[..., 0], one.high[..., 0], strict=True)
        ]
        self.start = [each.placed(turn) for each, turn in zip(self.joints, bones, strict=True)]

    def place(self, turns: list[Quaternion]) -> None:
        """Have the joints note what they may do from turns inside their ranges."""
        for each, turn in zip(self.joints, turns, strict=True):
            each.placed(turn)


def solved(
    chain: SingleJoints,
    aim: Aim,
    target: Vector,
    tolerance: float,
    iterations: int,
) -> Pose | None:
    """Return the pose that brings an effector to its target.

    Args:
        chain: The chain.
        aim: What is asked for.
        target: Drawn in to the reach; relative to the root, in the units of the start pose.
        tolerance: Accepted distance.
        iterations: Cap.

    Returns:
        None if the target is not reached soon, or not with the bend that is asked for.
    """
    if not chain.fits:
        return None
    accepted = max(tolerance, NEAR * chain.reach)
    begun = Pose(chain, chain.start, 0)
    is_fresh = gap(target, begun.heads[-1]) > accepted
    turns = chain.start
    if is_fresh and len(turns) > 1:
        bent = chain.natural.bent(chain.joints, aim, tolerance, iterations)
        if bent is None:
            return None
        turns, begun = bent, Pose(chain, bent, 0)
    else:
        chain.place(turns)
    wanted = _side(chain, aim)
    if wanted is not None:
        pose = begun
        for weight, enough in zip(AIM_WEIGHTS, ENOUGH_TO_AIM, strict=True):
            if is_fresh or weight == AIM_WEIGHTS[-1]:
                side = Side(chain, target, wanted, weight * chain.reach)
                finest = min(tolerance, AIM_TOLERANCE * weight * chain.reach)
                cap = min(iterations, pose.used + enough)
                pose = _stepped(chain, pose, target, side, finest, cap)
        pose = _closed(chain, pose, target, tolerance, iterations)
        if gap(target, pose.heads[-1]) <= accepted:
            past = Side(chain, target, wanted, 1.0).turn(pose.heads)
            return None if chain.can_swivel and abs(past) > ASIDE else pose
        # The position comes first.
        begun = Pose(chain, turns, pose.used)
        chain.place(turns)
    pose = _closed(chain, begun, target, tolerance, iterations)
    return pose if gap(target, pose.heads[-1]) <= accepted else None


def _side(chain: SingleJoints, aim: Aim) -> Vector | None:
    """Return the unit direction that a chain shall bend toward; None without a pole."""
    if aim.pole is None or len(chain.start) == 1:
        return None
    x, y, z = pole_side(chain.start_pose, aim.target, aim.pole, aim.pole_angle)
    return (-x, -y, -z) if aim.use_flip else (x, y, z)


def _closed(
    chain: SingleJoints, pose: Pose, target: Vector, tolerance: float, iterations: int
) -> Pose:
    """Step toward the position alone."""
    return _stepped(chain, pose, target, None, tolerance, min(iterations, pose.used + ENOUGH))


class Pose:
    """A pose of one chain, and the iterations that it took.

    Attributes:
        turns: Of the joints.
        frames: Of the joints.
        heads: The joints and the effector.
        used: Iterations.
    """

    __slots__ = ("frames", "heads", "turns", "used")

    def __init__(self, chain: SingleJoints, turns: list[Quaternion], used: int) -> None:
        """Pose a chain by its turns."""
        self.turns, self.used = turns, used
        frames, heads = [], [(0.0, 0.0, 0.0)]
        x = y = z = 0.0
        bone = NOT_TURNED
        for offset, turn, segment in zip(chain.offsets, turns, chain.segments, strict=True):
            frame = multiply(bone, offset)
            bone = multiply(frame, turn)
            a, b, c = rotated(bone, segment)
            x, y, z = x + a, y + b, z + c
            frames.append(frame)
            heads.append((x, y, z))
        self.frames, self.heads = frames, heads


def _stepped(
    chain: SingleJoints, pose: Pose, target: Vector, side: Side | None, tolerance: float, cap: int
) -> Pose:
    """Step until the error is within the tolerance, the cap is used up, or nothing moves on."""
    damping, first = FIRST_DAMPING, pose.used
    turn_of_side = 0.0 if side is None else side.turn(pose.heads)
    window_error = error = hypot(gap(target, pose.heads[-1]), turn_of_side)
    while error > tolerance and pose.used < cap and damping < MOST_DAMPING:
        pose.used += 1
        known = [(each.free, each.edges) for each in chain.joints]
        answer = None if side is None else (side.growths(pose.heads), -turn_of_side)
        moves = least_step(
            chain.joints, pose.frames, pose.heads, target, answer, damping * error / chain.reach
        )
        trial = Pose(chain, _turned(chain, pose, moves), pose.used)
        trial_turn = 0.0 if side is None else side.turn(trial.heads)
        trial_error = hypot(gap(target, trial.heads[-1]), trial_turn)
        if trial_error < batch.HEADWAY * error:
            pose, error, turn_of_side = trial, trial_error, trial_turn
            damping *= DAMPING_DECAY
        else:
            for each, (free, edges) in zip(chain.joints, known, strict=True):
                each.free, each.edges = free, edges
            damping = max(damping * DAMPING_GROWTH, LEAST_DAMPING_AFTER_REJECTION)
        if (pose.used - first) % PROGRESS_WINDOW == 0:
            if error > STANDSTILL * window_error:
                break
            window_error = error
    return pose


class Side:
    """The side that a chain shall bend toward, and how far it is past it."""

    def __init__(self, chain: SingleJoints, target: Vector, aim: Vector, weight: float) -> None:
        """Take the side, a unit direction across the line to the target, and a radian's weight."""
        size = gap(target, (0.0, 0.0, 0.0))
        self._chord = chain.chord
        if size >= AT_ROOT * chain.reach:
            self._chord = (target[0] / size, target[1] / size, target[2] / size)
        self._aim, self._across = aim, cross(self._chord, aim)
        self._weight = weight
        self._least = NO_SIDE * chain.reach

    def _offset(self, heads: list[Vector]) -> Vector:
        inner = heads[1:-1]
        count = len(inner)
        x, y, z = (sum(component) / count for component in zip(*inner, strict=True))
        a, b, c = self._chord
        along = x * a + y * b + z * c
        return (x - along * a, y - along * b, z - along * c)

    def turn(self, heads: list[Vector]) -> float:
        """Return the weighted angle about the chord from the wanted side to the present one."""
        offset = self._offset(heads)
        if sqrt(dot(offset, offset)) <= self._least:
            return 0.0
        return self._weight * atan2(dot(offset, self._across), dot(offset, self._aim))

    def growths(self, heads: list[Vector]) -> list[Vector]:
        """Return the turns of each joint, told outside, that make that angle grow most at once."""
        offset, count = self._offset(heads), len(heads) - 1
        square = dot(offset, offset)
        if sqrt(square) <= self._least:
            return [(0.0, 0.0, 0.0)] * count
        scale = self._weight / square / (count - 1)
        x, y, z = cross(self._chord, offset)
        growth = (x * scale, y * scale, z * scale)
        found = []
        a = b = c = 0.0
        for i in reversed(range(count)):
            # Sums of the ways from this joint to the inner ones beyond it.
            x, y, z = heads[i]
            later = count - 1 - i
            found.append(cross((a - later * x, b - later * y, c - later * z), growth))
            a, b, c = a + x, b + y, c + z
        return found[::-1]


def _turned(chain: SingleJoints, pose: Pose, moves: list[Vector]) -> list[Quaternion]:
    """Return turns moved on, by no more than a step may, and brought into their ranges."""
    squares = [x * x + y * y + z * z for x, y, z in moves]
    largest = sqrt(max(squares))
    shrink = min(1.0, batch.LARGEST_TURN / max(largest, batch.LARGEST_TURN))
    turned = []
    for i, each in enumerate(chain.joints):
        turn = pose.turns[i]
        if squares[i] > 0.0:
            w, x, y, z = pose.frames[i]
            a, b, c = rotated((w, -x, -y, -z), moves[i])
            size = sqrt(squares[i])
            half = 0.5 * shrink * size
            scale = sin(half) / size
            turn = each.placed(multiply((cos(half), a * scale, b * scale, c * scale), turn))
        turned.append(turn)
    return turned


def _turns_and_scales(posed: Posed) -> bool:
    frames = posed.frames[..., 0]
    squares = np.swapaxes(frames, -1, -2) @ frames
    size = np.einsum("nii->n", squares) / 3.0
    off = np.abs(squares / size[:, None, None] - np.eye(3)).max()
    return bool(off < EVEN and (np.linalg.det(frames) > 0.0).all())


def _wxyz(rows: Array) -> list[Quaternion]:
    return [_tuple(row) for row in rows]


def _tuple(row: Array) -> Quaternion:
    w, x, y, z = row.tolist()
    return (w, x, y, z)


def _vector(row: Array) -> Vector:
    x, y, z = row.tolist()
    return (x, y, z)
