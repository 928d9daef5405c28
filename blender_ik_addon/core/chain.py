"""What a solve takes and returns: frozen records, checked when they are made.

All points are in armature space (any one Cartesian frame outside Blender), lengths in its unit.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .algebra.vectors import Vector, cross
from .errors import IKError, InvalidChainError, InvalidGoalError, InvalidOptionError
from .forces import Forces, check_forces
from .joints import Joints
from .kinematics.start_pose import StartPose, compile_start_poses
from .solvers.follow import Lead
from .vectors import Array, Counts, Flags

# A segment shorter than this share of the chain has no direction that float32 storage could keep.
SHORTEST_SEGMENT = 1e-9


class Solver(enum.StrEnum):
    """The algorithms that a chain may choose from."""

    TWO_BONE = "TWO_BONE"
    FABRIK = "FABRIK"
    CCD = "CCD"
    NEWTON = "NEWTON"
    FORCE = "FORCE"
    FOLLOW = "FOLLOW"


class Status(enum.StrEnum):
    """How a solve ended."""

    REACHED = "REACHED"
    """The residual is within the tolerance."""
    EXTENDED = "EXTENDED"
    """The target is too far: the chain is straight toward it, its closest pose."""
    FOLDED = "FOLDED"
    """The target is too near: the chain is folded, its closest pose."""
    ITERATIONS_USED_UP = "ITERATIONS_USED_UP"
    """The cap on iterations came first; the best pose found is returned."""
    BLENDED = "BLENDED"
    """A share of the pose, or time too short, leaves the effector on its way to the target."""
    LIMITED = "LIMITED"
    """The joints lead no nearer, by their limits or locks; the pose is the nearest found."""
    SOFTENED = "SOFTENED"
    """The soft distance keeps the chain from stretching to a target that it could reach."""
    OUTWEIGHED = "OUTWEIGHED"
    """In a tree other effectors pull the shared bones away; the weights settle by how much."""


@dataclass(frozen=True)
class Chain:
    """A chain of joints in its start pose, root first.

    Attributes:
        joint_positions: The bones' heads and the effector, shape (n + 1, 3).
        bend_direction: Where the chain bends when its start pose is straight, shape (3,); only
            the part across the chain counts. Without it the axis least aligned with the chain.
        joints: What the joints allow, one a bone; None where all turn freely.
        forces: What acts on the bones besides the pull of the target, one a bone; only FORCE asks
            for it.
    """

    joint_positions: Array
    bend_direction: Array | None = None
    joints: Joints | None = None
    forces: Forces | None = None
    segment_lengths: Array = field(init=False)

    def __post_init__(self) -> None:
        """Copy, check and freeze the arrays."""
        joints = _frozen(self.joint_positions, "joint positions", InvalidChainError)
        if joints.ndim != 2 or joints.shape[1:] != (3,) or len(joints) < 2:
            raise InvalidChainError(
                f"A chain needs joint positions of shape (n + 1, 3), not {joints.shape}:"
                " give the head of each bone and the end of the last."
            )
        if not np.isfinite(joints).all():
            raise InvalidChainError(
                "A joint position is not a finite number: check the bones' transforms."
            )
        lengths = np.linalg.norm(np.diff(joints, axis=0), axis=1)
        short = np.flatnonzero(lengths <= SHORTEST_SEGMENT * lengths.sum())
        if short.size:
            raise InvalidChainError(
                f"Segment {short[0]} of the chain has no length:"
                " lengthen that bone or leave it out of the chain."
            )
        lengths.setflags(write=False)
        object.__setattr__(self, "joint_positions", joints)
        object.__setattr__(self, "segment_lengths", lengths)
        check_joints(self.joints, (), len(joints) - 1)
        check_forces(self.forces, (), len(joints) - 1)
        if self.bend_direction is not None:
            bend = _checked_vector(self.bend_direction, 3, "bend direction", InvalidChainError)
            object.__setattr__(self, "bend_direction", bend)

    @cached_property
    def start(self) -> StartPose:
        """The start pose as the solvers take it, a batch of one; compiled on first use."""
        return self._compile(self.joint_positions)

    @cached_property
    def start_alone(self) -> StartPose:
        """The start pose in floats."""
        return self.start.alone(0)

    @cached_property
    def rest_alone(self) -> StartPose | None:
        """The start pose of all bones but the tip in floats; None for a single bone."""
        if len(self.joint_positions) == 2:
            return None
        return self._compile(self.joint_positions[:-1]).alone(0)

    @cached_property
    def start_directions(self) -> list[Vector]:
        """The unit directions of the segments, armature space."""
        segments = self.joint_positions[1:] - self.joint_positions[:-1]
        return [(x, y, z) for x, y, z in (segments / self.segment_lengths[:, None]).tolist()]

    @cached_property
    def bend_normal(self) -> Vector:
        """The unit normal of the plane that the chain bends in."""
        return cross(self.start_alone.chord, self.start_alone.side)

    def _compile(self, joints: Array) -> StartPose:
        bend = np.zeros(3) if self.bend_direction is None else self.bend_direction
        return compile_start_poses(joints[:, :, None], bend[:, None])

    @cached_property
    def max_reach(self) -> float:
        """The farthest distance from root to effector: the sum of the lengths."""
        return float(self.segment_lengths.sum())

    @cached_property
    def min_reach(self) -> float:
        """The distance below which the chain cannot fold; 0 if no segment outreaches the rest."""
        return max(0.0, 2.0 * float(np.max(self.segment_lengths)) - self.max_reach)


@dataclass(frozen=True)
class Goal:
    """Where the effector shall be, and how the chain shall bend on its way.

    Attributes:
        target_position: Shape (3,), armature space.
        pole_position: The point that the chain bends toward, shape (3,), or None.
        pole_angle: Turn of the bend about the line from root to target, in radians,
            counter-clockwise for a viewer at the target.
        tip_rotation_wxyz: Rotation that takes the tip bone from its start orientation to the
            wanted one, in armature space, shape (4,); None leaves the tip free.
    """

    target_position: Array
    pole_position: Array | None = None
    pole_angle: float = 0.0
    tip_rotation_wxyz: Array | None = None

    def __post_init__(self) -> None:
        """Copy, check and freeze the arrays."""
        vector = _checked_vector(self.target_position, 3, "target position", InvalidGoalError)
        object.__setattr__(self, "target_position", vector)
        if self.pole_position is not None:
            vector = _checked_vector(self.pole_position, 3, "pole position", InvalidGoalError)
            object.__setattr__(self, "pole_position", vector)
        if not math.isfinite(self.pole_angle):
            raise InvalidGoalError("The pole angle is not a finite number: set it in radians.")
        if self.tip_rotation_wxyz is not None:
            rotation = _checked_vector(self.tip_rotation_wxyz, 4, "tip rotation", InvalidGoalError)
            length = float(np.linalg.norm(rotation))
            if length < 1e-9:
                raise InvalidGoalError("The tip rotation is zero: give a unit quaternion wxyz.")
            unit = _frozen(rotation / length, "tip rotation", InvalidGoalError)
            object.__setattr__(self, "tip_rotation_wxyz", unit)


@dataclass(frozen=True, slots=True)
class SolveOptions:
    """How to solve. Where many chains are solved at once, most settings may differ by chain.

    Attributes:
        solver: The algorithm, one for all chains.
        iterations: Cap on iterations of the iterative solvers, at least 1; or shape (B,).
        tolerance: Accepted distance from effector to target, in the unit of the positions; or
            shape (B,). A tolerance finer than float64 can resolve on the chain is taken as that
            resolution.
        use_flip_bend: Bend to the other side: the solution mirrored across the chord; or (B,).
        orient_weight: Share of the goal's tip rotation that the tip takes, from 0 to 1.
        use_finish: NEWTON finishes what FABRIK and CCD are too slow for, and chains with joints
            that have not arrived start anew; else these are the bare algorithms.
        soft_distance: Targets that lie nearer than this to full reach, or beyond, are approached
            more and more slowly, so that no joint pops straight; in the unit of the positions, or
            shape (B,). No more counts than half of the way from folded to stretched.
        lead: Which end FOLLOW leads to the target.
        max_bend: Greatest angle between neighbouring segments in radians, for FOLLOW without
            joints; half a turn is none.
        use_anchor: The end that FOLLOW does not lead stays where it is.
    """

    solver: Solver = Solver.NEWTON
    iterations: int | Counts = 500
    tolerance: float | Array = 1e-5
    use_flip_bend: bool | Flags = False
    orient_weight: float = 1.0
    use_finish: bool = True
    soft_distance: float | Array = 0.0
    lead: Lead = Lead.TIP
    max_bend: float = math.pi
    use_anchor: bool = False

    def __post_init__(self) -> None:
        """Check the ranges."""
        if not isinstance(self.solver, Solver):
            if self.solver not in set(Solver):
                names = ", ".join(Solver)
                raise InvalidOptionError(
                    f"There is no solver '{self.solver}': choose from {names}."
                )
            object.__setattr__(self, "solver", Solver(self.solver))
        if not _is_least(self.iterations, 1):
            raise InvalidOptionError("The cap on iterations must be at least 1: raise it.")
        if not _is_least(self.tolerance, 0.0):
            raise InvalidOptionError("The tolerance must be zero or more: set a distance.")
        if not _is_least(self.soft_distance, 0.0):
            raise InvalidOptionError("The soft distance must be zero or more: set a distance.")
        if not _is_least(self.max_bend, 0.0):
            raise InvalidOptionError("The greatest bend must be zero or more: set an angle.")
        if not 0.0 <= self.orient_weight <= 1.0:
            raise InvalidOptionError("The orient_weight must lie between 0 and 1: set it there.")

    def take(self, rows: Counts) -> SolveOptions:
        """Return the options of some of many chains."""
        own = {name: value[rows] for name, value in self._by_chain.items()}
        return replace(self, **own) if own else self

    def one_by_one(self, count: int) -> Sequence[SolveOptions]:
        """Return the options of each of so many chains."""
        own = {name: value.tolist() for name, value in self._by_chain.items()}
        if not own:
            return [self] * count
        return [
            replace(self, **dict(zip(own, row, strict=True)))
            for row in zip(*own.values(), strict=True)
        ]

    @property
    def _by_chain(self) -> dict[str, Any]:
        """Options that differ by chain."""
        names = "iterations", "tolerance", "use_flip_bend", "soft_distance"
        values = ((name, getattr(self, name)) for name in names)
        return {name: value for name, value in values if isinstance(value, np.ndarray)}


@dataclass(frozen=True)
class Solution:
    """The pose that a solve returns.

    Attributes:
        joint_positions: Shape (n + 1, 3), armature space; the root has not moved, unless its
            bone slides, or FOLLOW has dragged it.
        chain_rotation_wxyz: Turn of the chain as a whole, shape (4,): it takes the start pose's
            chord and bend to the solution's. Bones turn with it first and swing the rest of the
            way, so hinges stay hinges and rolls follow the pole.
        tip_rotation_wxyz: The turn of the tip bone from its start orientation where a rotation
            was asked for, shape (4,), else None.
        blended_rotations_wxyz: What ``bone_rotations`` gives for a solution of forces on joints
            that turn freely, shape (n, 4); else None, and joints and turns tell all.
        local_rotations_wxyz: Of chains with ``Joints``: the local rotation of each bone, within its
            range, shape (n, 4); else None. It tells all, ``chain_rotation_wxyz`` nothing then.
        slides: Of chains with ``Joints``: how far each bone has moved along its slide axis, from
            where it starts, shape (n,).
        holds: Which turns about X, Y and Z stand on limits that keep the effector from the target,
            shape (n, 3); None for chains without ``Joints``.
        tip_gap: Radians that are left to the wanted tip rotation: of chains with ``Joints`` the
            position comes first, and then what the joints allow.
        slide_holds: Which slides stand at ends that keep the effector from the target, shape (n,);
            None where nothing slides.
        residual: Distance from the returned effector, or from the root that FOLLOW leads, to the
            target.
        iterations: Sweeps used, 0 for closed forms.
        status: How the solve ended.
    """

    joint_positions: Array
    chain_rotation_wxyz: Array
    tip_rotation_wxyz: Array | None
    residual: float
    iterations: int
    status: Status
    blended_rotations_wxyz: Array | None = None
    local_rotations_wxyz: Array | None = None
    slides: Array | None = None
    holds: Flags | None = None
    tip_gap: float = 0.0
    slide_holds: Flags | None = None

    @property
    def is_converged(self) -> bool:
        """Whether the residual is within the tolerance."""
        return self.status is Status.REACHED


def check_joints(joints: Joints | None, leading: tuple[int, ...], count: int) -> None:
    """Raise if joints are not one a bone.

    Raises:
        InvalidChainError: With what to give instead.
    """
    if joints is not None and joints.start_wxyz.shape != (*leading, count, 4):
        raise InvalidChainError(
            f"The joints are of shape {joints.start_wxyz.shape[:-1]}, not {(*leading, count)}:"
            " give one a bone."
        )


def _is_least(value: float | Array | Counts, least: float) -> bool:
    """Tell whether a number, or every one of an array, is at least so much; NaN is not."""
    if isinstance(value, np.ndarray):
        return bool((value >= least).all())
    return value >= least


def _frozen(values: npt.ArrayLike, name: str, error: type[IKError]) -> Array:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise error(f"The {name} is not made of numbers: give an array of floats.") from None
    array.setflags(write=False)
    return array


def _checked_vector(
    values: Array | Sequence[float], size: int, name: str, error: type[IKError]
) -> Array:
    vector = _frozen(values, name, error)
    if vector.shape != (size,):
        raise error(f"The {name} needs shape ({size},), not {vector.shape}: give {size} numbers.")
    # A sum of finite numbers that overflows is as useless as one of them that is not finite.
    if not math.isfinite(sum(vector.tolist())):
        raise error(f"The {name} is not a finite number: check the transform that it comes from.")
    return vector
