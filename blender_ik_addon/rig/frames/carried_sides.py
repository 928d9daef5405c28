"""Bend sides that follow the roots and targets of chains, from their rest poses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...core.algebra import quaternions, rotation
from ...core.algebra.arithmetic import ARRAYS, FLOATS, Arithmetic, Array, Flags, Number
from ...core.algebra.nested import to_numbers
from ...core.algebra.quaternions import Quaternion, rotate
from ...core.algebra.vectors import Vector, subtract, unit
from ...core.kinematics.bend_plane import carry_side
from ...core.solving.compiled_chains import MAX_CHAINS_IN_FLOATS
from ..reading import spaces
from ..reading.batch_record import BatchRecord
from ..reading.chain_plan import ChainPlan, rest_joints, rest_side
from ..reading.spec import ChainSpec
from .chain_frames import ChainFrames

# Least chord of a chain with a direction, relative to its length; least sine of side and chord.
MIN_CHORD_SHARE = 1e-9


@dataclass(frozen=True)
class CarriedSides(BatchRecord):
    """B similar chains at rest, in the spaces of their root bones.

    Attributes:
        compiled: How many chains were compiled together: decides between floats and arrays.
        chord: Unit vectors from the root to the end of the bending part, shape (B, 3).
        side: Unit vectors across the chord, shape (B, 3).
        is_straight: Which chains are straight at rest: the pole angle turns their side, (B,).
        across: Unit vectors of the sides that the chains lean to where they bend, shape (B, 3).
        lean: Angle of the lean in radians, as in ``carry_side``.
        reach: Lengths of the chains at rest, shape (B,).
        tip: Rotations of the bones that take the targets' rotations, wxyz, shape (B, 4).
        end: Vectors from the end of the bending part to the effector, shape (B, 3).
        share: Shares of the targets' turns that count, shape (B,).
    """

    compiled: int
    chord: Array
    side: Array
    is_straight: Flags
    across: Array
    lean: Array
    reach: Array
    tip: Array
    end: Array
    share: Array

    @classmethod
    def of(cls, chains: Sequence[tuple[ChainPlan, ChainSpec]]) -> CarriedSides | None:
        """Return the sides of similar chains; None where poles or start poses decide the sides."""
        if not chains[0][1].carries_side:
            return None
        rows = [_at_rest(*chain) for chain in chains]
        fields = {name: np.array([row[name] for row in rows]) for name in rows[0]}
        carried = cls(len(chains), **fields)
        return carried.turned(np.array([spec.pole_angle for _, spec in chains]))

    def turned(self, angle: Array) -> CarriedSides:
        """Return the same sides with other pole angles in radians, shape (B,)."""
        angle = np.where(self.is_straight, angle, 0.0)[:, None]
        normal = rotation.cross(self.chord, self.side)
        return replace(self, across=np.cos(angle) * self.side + np.sin(angle) * normal)

    @property
    def _is_in_floats(self) -> bool:
        return self.compiled <= MAX_CHAINS_IN_FLOATS

    @cached_property
    def _numbers(self) -> list[Any]:
        """The first arguments of ``_side``."""
        vectors = self.chord, self.side, self.across
        return self._split(*vectors, self.lean, self.tip, self.end, self.share)

    def _split(self, *arrays: Array) -> list[Any]:
        """Return arrays as numbers: lists of those of one chain, or arrays over all chains."""
        if self._is_in_floats:
            return [to_numbers(array) for array in arrays]
        return [to_numbers(array.T, array.ndim - 1) for array in arrays]

    def poles(self, ends: Array, targets: Array) -> Array:
        """Return points that chains bend toward, relative to their roots, shape (b, 3).

        They lie across the directions in which the chains reach.

        Args:
            ends: Vectors from the roots to the targets, shape (b, 3).
            targets: Orientations of the targets wxyz, shape (b, 4).
        """
        numbers = [*self._numbers, *self._split(ends, targets)]
        if self._is_in_floats:
            sides = np.array([_side(FLOATS, *row) for row in zip(*numbers, strict=True)])
        else:
            sides = np.stack(_side(ARRAYS, *numbers), axis=1)
        poles: Array = self.reach[:, None] * sides
        return poles

    def poles_of(
        self, frames: ChainFrames, ends: Array, targets: Array, unmirrored: Array, keeps_bend: Flags
    ) -> Array:
        """Return the same points in armature space, for chains under any parents, shape (b, 3).

        Args:
            frames: The chains.
            ends: Positions of the targets, armature space, shape (b, 3).
            targets: Matrices of the targets, armature space, shape (b, 3, 3).
            unmirrored: As in ``Places``, shape (b, 3, 3).
            keeps_bend: Which chains are mirrored but bend as if they were not, shape (b,).
        """
        # The spaces that the root bones turn in.
        space = spaces.parent_frames(frames.parent[:, None], frames.rest[0]).rs[:, 0]
        inverse = np.linalg.pinv(space)
        local_ends = spaces.transform_direction(inverse, ends - frames.root)
        orientations = rotation.quaternion_from_any_matrix(inverse @ targets)
        poles = spaces.transform_direction(space, self.poles(local_ends, orientations))
        is_other = np.einsum("bi,bij,bj->b", poles, unmirrored, poles) < 0.0
        return frames.root + np.where((keeps_bend & is_other)[:, None], -poles, poles)


def _side(
    m: Arithmetic,
    chord: Vector,
    side: Vector,
    across: Vector,
    lean: Number,
    tip: Quaternion,
    end: Vector,
    share: Number,
    end_vector: Vector,
    target: Quaternion,
) -> Vector:
    """Return the side of chains as numbers; the last two arguments as in ``poles``."""
    turn = quaternions.multiply(target, quaternions.conjugate(tip))
    direction = unit(m, subtract(end_vector, rotate(turn, end)), chord)
    return carry_side(m, chord, side, (across, lean), direction, turn, share)


def _at_rest(plan: ChainPlan, spec: ChainSpec) -> dict[str, Any]:
    """Return the values of one chain by field, for all fields but ``compiled``."""
    skeleton = plan.skeleton
    joints = rest_joints(plan)
    root = skeleton.rest[plan.root][:3, :3]
    joints = (joints - joints[0]) @ root
    reach = float(np.linalg.norm(np.diff(joints, axis=0), axis=1).sum())
    last = joints[-2] if plan.bends_without_tip else joints[-1]
    chord = last if np.linalg.norm(last) > MIN_CHORD_SHARE * reach else joints[1]
    chord = chord / np.linalg.norm(chord)
    side, is_bent = rest_side(plan)
    side = side - chord * (side @ chord)
    if not np.linalg.norm(side) > MIN_CHORD_SHARE:
        # The rest side, the Z axis, lies along this straight chain: any side across it will do.
        side = np.cross(chord, np.eye(3)[np.abs(chord).argmin()])
    side = side / np.linalg.norm(side)
    return {
        "chord": chord,
        "side": side,
        "is_straight": not is_bent,
        "across": side,
        "lean": spec.pole_lean,
        "reach": reach,
        "tip": rotation.quaternion_from_matrix(root.T @ skeleton.rest[plan.tip][:3, :3]),
        "end": joints[-1] - last,
        "share": float(spec.options.orient_weight) if plan.turns_tip else 0.0,
    }


def angle_toward(plan: ChainPlan, spec: ChainSpec, direction: Array) -> float:
    """Return the pole angle that bends a chain toward a direction in armature space (3,), radians.

    Zero for a chain that is bent at rest, and for a zero direction.
    """
    rest = _at_rest(plan, spec)
    if not (rest["is_straight"] and direction.any()):
        return 0.0
    chord, side = rest["chord"], rest["side"]
    local_direction = plan.skeleton.rest[plan.root][:3, :3].T @ direction
    return float(np.arctan2(np.cross(chord, side) @ local_direction, side @ local_direction))
