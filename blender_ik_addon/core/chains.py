"""What a solve of many chains takes and returns: chains of one bone count as arrays.

All points are in armature space, each chain in its own; rows are chains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from . import natural_start
from .algebra.vectors import Vector, cross
from .chain import SHORTEST_SEGMENT, Chain, Goal, Solution, check_joints
from .equilibrium.potential_energy import PotentialEnergy, compile_energy
from .errors import IKError, InvalidChainError, InvalidGoalError
from .forces import Forces, check_forces
from .freed import freed_joints
from .jointed import Jointed
from .jointed_chains import jointed_chains
from .joints import Joints
from .kinematics.start_pose import StartPose, compile_start_poses
from .natural_start import NaturalStart
from .status_codes import REACHED, STATUSES
from .vectors import Array, Counts, Flags, taken

# Chains without limits of which no more are compiled together are solved one by one, in floats;
# `scripts/benchmark.py --stages` measures where that pays.
FEW = 6


@dataclass(frozen=True)
class Chains:
    """B chains of n bones in their start poses, root first; as ``Chain``, one a row.

    Attributes:
        joint_positions: Shape (B, n + 1, 3).
        bend_directions: Shape (B, 3), zero for a chain without; None where no chain has one.
        joints: What the joints allow, with B as leading axis; None where all turn freely.
        forces: What acts on the bones, with B as leading axis; only FORCE asks for it.
    """

    joint_positions: Array
    bend_directions: Array | None = None
    joints: Joints | None = None
    forces: Forces | None = None

    def __post_init__(self) -> None:
        """Copy, check and freeze the arrays."""
        joints = _checked(self.joint_positions, "joint positions", InvalidChainError)
        if joints.ndim != 3 or joints.shape[2] != 3 or joints.shape[1] < 2:
            raise InvalidChainError(
                f"Chains need joint positions of shape (B, n + 1, 3), not {joints.shape}:"
                " give the head of each bone and the end of the last, chain by chain."
            )
        lengths = np.linalg.norm(np.diff(joints, axis=1), axis=2)
        short = np.argwhere(lengths <= SHORTEST_SEGMENT * lengths.sum(axis=1, keepdims=True))
        if len(short):
            raise InvalidChainError(
                f"Segment {short[0][1]} of chain {short[0][0]} has no length:"
                " lengthen that bone or leave it out of the chain."
            )
        object.__setattr__(self, "joint_positions", joints)
        check_joints(self.joints, joints.shape[:1], joints.shape[1] - 1)
        check_forces(self.forces, joints.shape[:1], joints.shape[1] - 1)
        if self.bend_directions is not None:
            bends = _checked(self.bend_directions, "bend directions", InvalidChainError)
            _check_shape(bends, (len(joints), 3), "bend directions", InvalidChainError)
            object.__setattr__(self, "bend_directions", bends)

    def __len__(self) -> int:
        """Return the number of chains."""
        return len(self.joint_positions)

    @cached_property
    def compiled_count(self) -> int:
        """Of how many chains these were taken: what decides how they are solved."""
        return len(self)

    @property
    def is_few(self) -> bool:
        """Whether chains without limits are solved one by one, in floats."""
        return self.compiled_count <= FEW

    @property
    def bone_count(self) -> int:
        """Return the number of bones of each chain."""
        return int(self.joint_positions.shape[1]) - 1

    @cached_property
    def start(self) -> StartPose:
        """The start poses as the solvers take them; compiled on first use."""
        joints = np.ascontiguousarray(self.joint_positions.transpose(1, 2, 0))
        bends = self.bend_directions
        hint = np.zeros((3, len(self))) if bends is None else np.ascontiguousarray(bends.T)
        return compile_start_poses(joints, hint)

    @cached_property
    def jointed(self) -> Jointed:
        """The joints as the solvers take them, of chains that have some; compiled on first use."""
        assert self.joints is not None
        return jointed_chains(self.start, self.joints)

    @cached_property
    def start_turns(self) -> Array:
        """The turns of the joints in the start poses, whether allowed or not, shape (n, 4, B)."""
        assert self.joints is not None
        return self.jointed.inner(self.joints.start_wxyz)

    @cached_property
    def standing_turns(self) -> Array:
        """The same, brought to what the joints allow."""
        return self.jointed.begun(self.start_turns)

    @cached_property
    def standing(self) -> Array:
        """The states of the joints in those poses, shape (n + 1, 7, B)."""
        return self.jointed.state(self.standing_turns, self.jointed.resting_slide)

    @cached_property
    def natural(self) -> NaturalStart:
        """What chains with joints bend from."""
        return natural_start.compiled(self.start, self.jointed, self.start_turns)

    @cached_property
    def potential_energy(self) -> PotentialEnergy | None:
        """What acts on chains with joints, as the solvers take it; compiled on first use."""
        if self.forces is None:
            return None
        return compile_energy(self.jointed, self.forces, self.standing_turns)

    @cached_property
    def freed(self) -> Chains:
        """The same chains with joints that turn freely, for forces that act on joints."""
        return replace(self, joints=freed_joints(self.start))

    @cached_property
    def twice(self) -> Chains:
        """The one chain that these are, two times.

        NumPy adds the numbers of one row up in another order than those of several: chains with
        joints are never solved alone, so that a pose does not depend on who is solved with it.
        """
        return self.take(np.zeros(2, dtype=np.int64))

    @cached_property
    def start_directions(self) -> Array:
        """The unit directions of the segments, armature space, shape (n, 3, B)."""
        directions: Array = np.diff(self.start.points, axis=0) / self.start.lengths[:, None, :]
        return directions

    @cached_property
    def bend_normal(self) -> Vector:
        """The unit normals of the planes that the chains bend in."""
        return cross(self.start.chord, self.start.side)

    @cached_property
    def without_tips(self) -> Chains:
        """The chains without their last bones, for tips that take a rotation."""
        return Chains(self.joint_positions[:, :-1], self.bend_directions)

    def take(self, rows: Counts) -> Chains:
        """Return some of the chains, compiled already."""
        bends = self.bend_directions
        some = object.__new__(Chains)
        # Rows of checked and compiled records need neither again.
        some.__dict__.update(
            compiled_count=self.compiled_count,
            joint_positions=self.joint_positions[rows],
            bend_directions=None if bends is None else bends[rows],
            start=self.start.take(rows),
            joints=None if self.joints is None else self.joints.take(rows),
            forces=None if self.forces is None else self.forces.take(rows),
        )
        if "without_tips" in self.__dict__:
            some.__dict__["without_tips"] = self.without_tips.take(rows)
        if "one_by_one" in self.__dict__:
            some.__dict__["one_by_one"] = tuple(self.one_by_one[row] for row in rows.tolist())
        if self.joints is not None:
            some.__dict__.update(
                jointed=self.jointed.take(rows),
                start_turns=taken(self.start_turns, rows),
                standing_turns=taken(self.standing_turns, rows),
                standing=taken(self.standing, rows),
                natural=self.natural.take(rows),
            )
        if self.joints is not None and self.potential_energy is not None:
            some.__dict__["potential_energy"] = self.potential_energy.take(rows)
        return some

    def under(self, gravity: Array) -> Chains:
        """Return chains with joints and forces under another gravity; what is compiled stays so.

        Args:
            gravity: As ``Forces`` takes it, shape (B, 3).
        """
        assert self.forces is not None
        assert self.potential_energy is not None
        forces = self.forces.under(gravity)
        energy = replace(self.potential_energy, gravity=forces.gravity.T / self.jointed.reach)
        under = object.__new__(Chains)
        under.__dict__.update(
            vars(self), natural=self.natural, forces=forces, potential_energy=energy
        )
        return under

    def alone(self, row: int) -> Chain:
        """Return one chain as a single record, with its start pose as it is compiled here."""
        bend = None if self.bend_directions is None else self.bend_directions[row]
        has_bend = bend is not None and bool(bend.any())
        joints = None if self.joints is None else self.joints.take(row)
        forces = None if self.forces is None else self.forces.take(row)
        chain = Chain(self.joint_positions[row], bend if has_bend else None, joints, forces)
        chain.__dict__["start"] = self.start.take(np.array([row]))
        return chain

    @cached_property
    def one_by_one(self) -> tuple[Chain, ...]:
        """The chains as single records; made on first use."""
        return tuple(self.alone(row) for row in range(len(self)))


@dataclass(frozen=True)
class Goals:
    """Where B effectors shall be; as ``Goal``, one a row.

    Attributes:
        target_positions: Shape (B, 3).
        pole_positions: Shape (B, 3); None where no chain has a pole.
        pole_angles: Radians, one for all or shape (B,).
        tip_rotations_wxyz: Shape (B, 4); None leaves the tips free.
    """

    target_positions: Array
    pole_positions: Array | None = None
    pole_angles: float | Array = 0.0
    tip_rotations_wxyz: Array | None = None

    def take(self, rows: Counts) -> Goals:
        """Return some of the goals."""
        poles, tips, angles = self.pole_positions, self.tip_rotations_wxyz, self.pole_angles
        some = object.__new__(Goals)
        # Checked already; and rotations brought to unit length twice are others by a last digit.
        some.__dict__.update(
            target_positions=self.target_positions[rows],
            pole_positions=None if poles is None else poles[rows],
            pole_angles=angles[rows] if isinstance(angles, np.ndarray) else angles,
            tip_rotations_wxyz=None if tips is None else tips[rows],
        )
        return some

    @cached_property
    def one_by_one(self) -> tuple[Goal, ...]:
        """The goals as single records."""
        count, poles, tips = (
            len(self.target_positions),
            self.pole_positions,
            self.tip_rotations_wxyz,
        )
        angles = np.broadcast_to(self.pole_angles, count).tolist()
        return tuple(
            Goal(
                target_position=self.target_positions[row],
                pole_position=None if poles is None else poles[row],
                pole_angle=angles[row],
                tip_rotation_wxyz=None if tips is None else tips[row],
            )
            for row in range(count)
        )

    def __post_init__(self) -> None:
        """Copy, check and freeze the arrays."""
        targets = _checked(self.target_positions, "target positions", InvalidGoalError)
        count = len(targets) if targets.ndim else 0
        _check_shape(targets, (count, 3), "target positions", InvalidGoalError)
        object.__setattr__(self, "target_positions", targets)
        if self.pole_positions is not None:
            poles = _checked(self.pole_positions, "pole positions", InvalidGoalError)
            _check_shape(poles, (count, 3), "pole positions", InvalidGoalError)
            object.__setattr__(self, "pole_positions", poles)
        if not np.isfinite(self.pole_angles).all():
            raise InvalidGoalError("A pole angle is not a finite number: set it in radians.")
        if self.tip_rotations_wxyz is not None:
            turns = _checked(self.tip_rotations_wxyz, "tip rotations", InvalidGoalError)
            _check_shape(turns, (count, 4), "tip rotations", InvalidGoalError)
            sizes = np.linalg.norm(turns, axis=1, keepdims=True)
            if (sizes < 1e-9).any():
                raise InvalidGoalError("A tip rotation is zero: give unit quaternions wxyz.")
            object.__setattr__(self, "tip_rotations_wxyz", turns / sizes)


@dataclass(frozen=True)
class Solutions(Sequence[Solution]):
    """The poses that a solve of B chains of n bones returns; as ``Solution``, one a row.

    Attributes:
        joint_positions: Shape (B, n + 1, 3).
        chain_rotations_wxyz: Turns of the chains as a whole, shape (B, 4).
        tip_rotations_wxyz: Shape (B, 4), or None.
        residuals: Distances from the returned effectors to the targets, shape (B,).
        iterations: Sweeps used, shape (B,).
        status_codes: Indices into ``STATUSES``, shape (B,).
        blended_rotations_wxyz: Shape (B, n, 4), or None.
        local_rotations_wxyz: Shape (B, n, 4); None for chains without ``Joints``, as the next two.
        slides: Shape (B, n).
        holds: Shape (B, n, 3).
        tip_gaps: Shape (B,).
        slide_holds: Shape (B, n); None where no chain slides.
    """

    joint_positions: Array
    chain_rotations_wxyz: Array
    tip_rotations_wxyz: Array | None
    residuals: Array
    iterations: Counts
    status_codes: npt.NDArray[np.int8]
    blended_rotations_wxyz: Array | None = None
    local_rotations_wxyz: Array | None = None
    slides: Array | None = None
    holds: Flags | None = None
    tip_gaps: Array | None = None
    slide_holds: Flags | None = None

    def __len__(self) -> int:
        """Return the number of chains."""
        return len(self.joint_positions)

    def __getitem__(self, index: int) -> Solution:  # type: ignore[override]
        """Return the solution of one chain."""
        tips, blended = self.tip_rotations_wxyz, self.blended_rotations_wxyz
        local, slides, holds = self.local_rotations_wxyz, self.slides, self.holds
        ends = self.slide_holds
        return Solution(
            joint_positions=self.joint_positions[index],
            chain_rotation_wxyz=self.chain_rotations_wxyz[index],
            tip_rotation_wxyz=None if tips is None else tips[index],
            residual=float(self.residuals[index]),
            iterations=int(self.iterations[index]),
            status=STATUSES[int(self.status_codes[index])],
            blended_rotations_wxyz=None if blended is None else blended[index],
            local_rotations_wxyz=None if local is None else local[index],
            slides=None if slides is None else slides[index],
            holds=None if holds is None else holds[index],
            tip_gap=0.0 if self.tip_gaps is None else float(self.tip_gaps[index]),
            slide_holds=None if ends is None else ends[index],
        )

    def take(self, rows: Counts) -> Solutions:
        """Return the solutions of some of the chains."""
        some: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            some[each.name] = None if value is None else value[rows]
        return Solutions(**some)

    @property
    def is_converged(self) -> Flags:
        """Return which residuals are within the tolerance, shape (B,)."""
        converged: Flags = self.status_codes == REACHED
        return converged


def stack_solutions(found: Sequence[Solution]) -> Solutions:
    """Return solutions of chains without joints as one record."""
    tips = [each.tip_rotation_wxyz for each in found if each.tip_rotation_wxyz is not None]
    blended = [
        each.blended_rotations_wxyz for each in found if each.blended_rotations_wxyz is not None
    ]
    return Solutions(
        joint_positions=np.array([each.joint_positions for each in found]),
        chain_rotations_wxyz=np.array([each.chain_rotation_wxyz for each in found]),
        tip_rotations_wxyz=np.array(tips) if tips else None,
        residuals=np.array([each.residual for each in found]),
        iterations=np.array([each.iterations for each in found]),
        status_codes=np.array([STATUSES.index(each.status) for each in found], dtype=np.int8),
        blended_rotations_wxyz=np.array(blended) if blended else None,
    )


def _checked(values: npt.ArrayLike, name: str, error: type[IKError]) -> Array:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise error(f"The {name} are not made of numbers: give an array of floats.") from None
    if not np.isfinite(array).all():
        raise error(f"The {name} are not all finite: check the transforms that they come from.")
    array.setflags(write=False)
    return array


def _check_shape(array: Array, shape: tuple[int, ...], name: str, error: type[IKError]) -> None:
    if array.shape != shape:
        raise error(f"The {name} need shape {shape}, not {array.shape}: give one row a chain.")
