"""Solve one chain of rigid bones by itself: what ``RigidSolve`` does, quicker for a few."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..core import (
    STATUSES,
    Chain,
    Goal,
    SinglePlanarTurns,
    SolveOptions,
    Solver,
    Status,
    TwoBoneTurns,
    bone_rotations,
    rotation,
    solve,
)
from . import spaces
from .bases import Bases
from .free_solving import LENGTHS_AGREE
from .rigid_channels import RigidChannels

Array = npt.NDArray[np.float64]
Vector = tuple[float, float, float]
Codes = npt.NDArray[np.int8]

REACHED, EXTENDED, FOLDED, SOFTENED = (
    np.int8(STATUSES.index(status))
    for status in (Status.REACHED, Status.EXTENDED, Status.FOLDED, Status.SOFTENED)
)


@dataclass(frozen=True)
class Solved:
    """What a solve of b chains with k written bones did.

    Attributes:
        channels: Rotation channels, shape (b, k, 4).
        residuals: From effectors to targets in scene units, shape (b,).
        iterations: Sweeps used, shape (b,).
        status_codes: Indices into ``core.STATUSES``, shape (b,).
        holds: As ``core.Solutions``, shape (b, m, 3); None for chains without joints.
        tip_gaps: Radians, shape (b,); None for chains without joints.
    """

    channels: Array
    residuals: Array
    iterations: npt.NDArray[np.int64]
    status_codes: Codes
    holds: npt.NDArray[np.bool_] | None = None
    tip_gaps: Array | None = None


def joined(parts: Sequence[Solved], order: npt.NDArray[np.int64]) -> Solved:
    """Return what solves of chains without joints did as one, in an order of all their rows."""
    channels, residuals, iterations, codes = (
        np.concatenate([getattr(part, name) for part in parts])[order]
        for name in ("channels", "residuals", "iterations", "status_codes")
    )
    return Solved(channels, residuals, iterations, codes)


class RigidLimb:
    """One chain of rigid bones, compiled, in the space of its base."""

    def __init__(
        self,
        chain: Chain,
        bones: RigidChannels,
        tip: Array,
        options: SolveOptions,
        pole_angle: float,
        *,
        turns_tip: bool,
        ends_at_tail: bool,
        is_planar: bool,
    ) -> None:
        """Compile a chain.

        Args:
            chain: Start pose.
            bones: Of this chain alone.
            tip: Rotation of the tip bone in the start pose, wxyz.
            options: Without tolerance and soft distance, which depend on the base.
            pole_angle: Radians.
            turns_tip: Whether the tip bone takes the target's rotation.
            ends_at_tail: Whether the effector is the tip bone's tail.
            is_planar: Whether the chain lies in the plane of its bend, and stays there.
        """
        self._chain, self._bones, self._tip = chain, bones, tip
        self._options, self._pole_angle = options, pole_angle
        self._turns_tip, self._ends_at_tail = turns_tip, ends_at_tail
        self._bases: Bases | None = None
        self._from_world: list[list[float]] = []
        self._tolerance = 0.0
        self._two_bone: TwoBoneTurns | None = None
        self._planar: SinglePlanarTurns | None = None
        if is_planar and options.solver is Solver.NEWTON:
            self._planar = SinglePlanarTurns(chain, bones.local[0], bones.rest[0])
        elif is_planar and bones.local.shape[1] == 2:
            first, second = bones.local[0].tolist()
            self._two_bone = TwoBoneTurns(chain, (first, second), bones.rest[0, 1].tolist())
            self._near = bones.near[0].tolist()
            self._has_quaternions = not bones.modes.any()

    def solved(
        self, bases: Bases, row: int, target: Array, pole: Array | None
    ) -> tuple[Array | list[list[float]], float, int, np.int8]:
        """Return rotation channels (k, 4), residual, iterations and status code.

        Args:
            bases: Of several chains.
            row: Of this one among them.
            target: World matrix of the target, shape (4, 4).
            pole: World position of the pole, shape (3,), or None.
        """
        if bases is not self._bases:
            self._bases, self._from_world = bases, bases.from_world[row].tolist()
            self._options = replace(
                self._options,
                tolerance=float(bases.tolerance[row]),
                soft_distance=float(bases.soft_distance[row]),
            )
            self._tolerance = float(bases.tolerance[row]) + LENGTHS_AGREE * self._chain.max_reach
        at = self._in_base(target[:3, 3])
        around = None if pole is None else self._in_base(pole)
        if self._two_bone is not None:
            return self._bent(self._two_bone, at, around, bases.to_world[row])
        if self._planar is not None:
            return self._turned(self._planar, at, around, bases.to_world[row])
        tip = self._tip_turn(bases.from_world[row], target)
        goal = Goal(
            np.array(at),
            None if around is None else np.array(around),
            self._pole_angle,
            tip if self._ends_at_tail else None,
        )
        solution = solve(self._chain, goal, self._options)
        turns = bone_rotations(self._chain, solution)[None]
        channels = self._bones.channels(
            self._bones.with_tips(turns, None if tip is None else tip[None])
        )
        off = bases.to_world[row].dot(solution.joint_positions[-1] - goal.target_position)
        code = self._code(solution.residual, solution.status)
        return channels[0], math.sqrt(off.dot(off)), solution.iterations, code

    def _code(self, residual: float, status: Status) -> np.int8:
        return REACHED if residual <= self._tolerance else np.int8(STATUSES.index(status))

    def _turned(
        self, limb: SinglePlanarTurns, target: Vector, pole: Vector | None, to_world: Array
    ) -> tuple[Array | list[list[float]], float, int, np.int8]:
        turned = limb.solved(target, pole, self._pole_angle, self._options)
        off = to_world.dot(turned.gap)
        code = self._code(turned.residual, turned.status)
        channels = self._bones.written(turned.local_wxyz[None])[0]
        return channels, math.sqrt(off.dot(off)), turned.iterations, code

    def _bent(
        self, limb: TwoBoneTurns, target: Vector, pole: Vector | None, to_world: Array
    ) -> tuple[Array | list[list[float]], float, int, np.int8]:
        *turned, missing = limb.solved(
            target,
            pole,
            self._pole_angle,
            use_flip=bool(self._options.use_flip_bend),
            soft_distance=float(self._options.soft_distance),
        )
        residual, code = 0.0, REACHED
        if missing != 0.0:
            along = np.array(target if any(target) else limb.start.chord)
            gap = to_world.dot(along) * (missing / math.sqrt(along.dot(along)))
            residual = math.sqrt(gap.dot(gap))
            if abs(missing) > self._tolerance:
                is_near = math.sqrt(along.dot(along)) < self._chain.max_reach
                code = (SOFTENED if is_near else EXTENDED) if missing > 0.0 else FOLDED
        if not self._has_quaternions:
            return self._bones.written(np.array([turned]))[0], residual, 0, code
        channels = []
        for own, near in zip(turned, self._near, strict=True):
            w, x, y, z = own
            is_far = w * near[0] + x * near[1] + y * near[2] + z * near[3] < 0.0
            channels.append([-w, -x, -y, -z] if is_far else [w, x, y, z])
        return channels, residual, 0, code

    def _in_base(self, point: Array) -> Vector:
        x, y, z = point.tolist()
        (a, b, c, d), (e, f, g, h), (i, j, k, m) = self._from_world
        return a * x + b * y + c * z + d, e * x + f * y + g * z + h, i * x + j * y + k * z + m

    def _tip_turn(self, from_world: Array, target: Array) -> Array | None:
        """Return the turn of the tip bone from the start pose to the target's orientation."""
        if not self._turns_tip:
            return None
        wanted = spaces.orientation(from_world[:, :3] @ target[:3, :3])
        return rotation.multiply(
            rotation.quaternion_from_matrix(wanted), rotation.conjugate(self._tip)
        )
