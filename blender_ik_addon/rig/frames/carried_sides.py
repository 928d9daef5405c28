"""Chains whose bend goes along with their roots and targets: what of their rest poses tells it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...core.algebra import quaternions, rotation
from ...core.algebra.arithmetic import ARRAYS, FLOATS, Arithmetic, Array, Flags, Number
from ...core.algebra.nested import to_numbers
from ...core.algebra.quaternions import Quaternion, rotate
from ...core.algebra.vectors import Vector, subtract, unit
from ...core.kinematics.bend_plane import carry_side
from ...core.solving.compiled_chains import MAX_CHAINS_IN_FLOATS
from ..reading import spaces
from ..reading.chain_plan import ChainPlan, rest_joints, rest_side
from ..reading.rows import Alike
from ..reading.spec import ChainSpec
from .chain_frames import ChainFrames

# A chain that ends where it begins has no direction: below this share of its length.
CLOSED = 1e-9


@dataclass(frozen=True)
class CarriedSides(Alike):
    """B chains alike at rest, each in the space of its root bone.

    Attributes:
        compiled: Of how many these are some, which decides how they are computed.
        chord: From the root to the end of what bends, unit vectors, shape (B, 3).
        side: Unit vectors across it, shape (B, 3).
        is_straight: Which have no side of their own: theirs is turned by the pole angle, (B,).
        across: Unit vectors that they lean to, where they bend, shape (B, 3).
        lean: How far, radians, as ``carry_side``.
        reach: Lengths of the chains at rest, shape (B,).
        tip: Rotations of the bones that take the targets' rotations, wxyz, shape (B, 4).
        end: From the end of what bends to the effector, shape (B, 3).
        share: How much of the targets' turns counts, shape (B,).
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
        """Return what chains alike carry; None where poles or start poses tell their sides."""
        if not chains[0][1].carries_side:
            return None
        rows = zip(*(_at_rest(*chain) for chain in chains), strict=True)
        carried = cls(len(chains), *(np.array(values) for values in rows))
        return carried.turned(np.array([spec.pole_angle for _, spec in chains]))

    def turned(self, angle: Array) -> CarriedSides:
        """Return the same with these pole angles, shape (B,)."""
        angle = np.where(self.is_straight, angle, 0.0)[:, None]
        normal = rotation.cross(self.chord, self.side)
        return replace(self, across=np.cos(angle) * self.side + np.sin(angle) * normal)

    def poles(self, ends: Array, targets: Array) -> Array:
        """Return points that chains bend toward, as seen from their roots, shape (b, 3).

        They lie across the directions that the chains reach in.

        Args:
            ends: Where their targets are from their roots, shape (b, 3).
            targets: Their orientations wxyz, shape (b, 4).
        """
        own = self.chord, self.side, self.across, self.lean, self.tip, self.end, self.share
        if self.compiled <= MAX_CHAINS_IN_FLOATS:
            rows = zip(*[to_numbers(each) for each in (*own, ends, targets)], strict=True)
            sides = np.array([_side(FLOATS, *row) for row in rows])
        else:
            columns = [np.moveaxis(each, 0, -1) for each in (*own, ends, targets)]
            side = _side(ARRAYS, *[to_numbers(each, each.ndim - 1) for each in columns])
            sides = np.stack(side, axis=1)
        poles: Array = self.reach[:, None] * sides
        return poles

    def poles_of(
        self, frames: ChainFrames, ends: Array, targets: Array, unmirrored: Array, keeps: Flags
    ) -> Array:
        """Return the same points in armature space, wherever chains hang, shape (b, 3).

        Args:
            frames: The chains.
            ends: Where their targets are, armature space, shape (b, 3).
            targets: Their matrices, armature space, shape (b, 3, 3).
            unmirrored: As ``Places``, shape (b, 3, 3).
            keeps: Which chains shall bend as if nothing were mirrored, and are, shape (b,).
        """
        space = frames.root_space()
        inverse = np.linalg.pinv(space)
        ways = spaces.transform_direction(inverse, ends - frames.root)
        turned = rotation.quaternion_from_shown(inverse @ targets)
        poles = spaces.transform_direction(space, self.poles(ways, turned))
        is_other = np.einsum("bi,bij,bj->b", poles, unmirrored, poles) < 0.0
        return frames.root + np.where((keeps & is_other)[:, None], -poles, poles)


def _side(
    m: Arithmetic,
    chord: Vector,
    side: Vector,
    across: Vector,
    lean: Number,
    tip: Quaternion,
    end: Vector,
    share: Number,
    way: Vector,
    target: Quaternion,
) -> Vector:
    """Return the side of chains in numbers; what they are asked as ``CarriedSides.poles``."""
    turn = quaternions.multiply(target, quaternions.conjugate(tip))
    toward = unit(m, subtract(way, rotate(turn, end)), chord)
    return carry_side(m, chord, side, (across, lean), toward, turn, share)


def _at_rest(
    plan: ChainPlan, spec: ChainSpec
) -> tuple[Array, Array, bool, Array, float, float, Array, Array, float]:
    """Return the row of a chain."""
    skeleton = plan.skeleton
    joints = rest_joints(plan)
    root = skeleton.rest[plan.root][:3, :3]
    joints = (joints - joints[0]) @ root
    reach = float(np.linalg.norm(np.diff(joints, axis=0), axis=1).sum())
    last = joints[-2] if plan.bends_without_tip else joints[-1]
    chord = last if np.linalg.norm(last) > CLOSED * reach else joints[1]
    chord = chord / np.linalg.norm(chord)
    side, is_bent = rest_side(plan)
    side = side - chord * (side @ chord)
    if not np.linalg.norm(side) > CLOSED:
        # A straight bone that lies along its own Z axis bends to none: any side is as good.
        side = np.cross(chord, np.eye(3)[np.abs(chord).argmin()])
    tip = rotation.quaternion_from_matrix(root.T @ skeleton.rest[plan.tip][:3, :3])
    share = float(spec.options.orient_weight) if plan.turns_tip else 0.0
    side = side / np.linalg.norm(side)
    return chord, side, not is_bent, side, spec.pole_lean, reach, tip, joints[-1] - last, share


def angle_toward(plan: ChainPlan, spec: ChainSpec, way: Array) -> float:
    """Return the pole angle that bends a chain, straight at rest, a way there, armature space (3,).

    Zero for a chain that is bent at rest, and for no way.
    """
    chord, side, is_straight, *_ = _at_rest(plan, spec)
    if not (is_straight and way.any()):
        return 0.0
    wanted = plan.skeleton.rest[plan.root][:3, :3].T @ way
    return float(np.arctan2(np.cross(chord, side) @ wanted, side @ wanted))
