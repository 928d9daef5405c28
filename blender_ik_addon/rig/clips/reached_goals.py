"""The goals of a chain or tree in each frame of a clip: those that it reached there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Indices
from ...core.clips.bend_ranges import BendRanges
from ..frames.bone_channels import BoneChannels
from ..frames.chain_frames import ChainFrames
from ..frames.chain_poses import ChainPoses
from ..planning.bone_hierarchy import BoneHierarchy
from ..reading.batch_record import BatchRecord, take_rows
from ..reading.bone_joints import BoneJoints
from ..reading.spaces import inverse, transform_direction
from ..trees.driven import Driven

# Bulge of a limb, in lengths of the chain, below which it has no side.
MIN_LIMB_BULGE = 1e-4


@dataclass(frozen=True)
class PoledLimb(BatchRecord):
    """A limb that a pole turns.

    Attributes:
        root: Row of its first bone.
        inner: Rows of the bones between its ends.
        across: Unit vectors across its bulges and chords, shape (F, 3); zero without a side.
    """

    root: int
    inner: tuple[int, ...]
    across: Array


@dataclass(frozen=True)
class ReachedGoals:
    """The goals of F frames: effectors, turned tips and sides stay where they are.

    Attributes:
        frames: The bones, one row per frame.
        effectors: Positions of the effectors, armature space, shape (F, E, 3).
        lengths: Lengths of the chains to the effectors, shape (F, E).
        tips: Rows of the bones that keep their orientations.
        turns: These orientations wxyz, shape (F, T, 4).
        limbs: Limbs that keep their sides.
        bends: Ranges of joints that bend one way in all frames.
        joints: Ranges of the joints; None where all turn freely.
        locked: The recorded channels of the bones with their locks; None without locks.
    """

    frames: ChainFrames
    effectors: Array
    lengths: Array
    tips: tuple[int, ...]
    turns: Array
    limbs: tuple[PoledLimb, ...]
    bends: BendRanges
    joints: BoneJoints | None
    locked: BoneChannels | None

    @classmethod
    def of(
        cls, driven: Driven, frames: ChainFrames, local: Array, locked: BoneChannels | None
    ) -> ReachedGoals:
        """Return the goals that local rotations wxyz (F, k, 4) reach."""
        poses, hang = _pose(frames, local), driven.hanging
        lengths = frames.lengths(poses)
        tips = tuple(hang.tips[chain] for chain in driven.turning_chains)
        limbs = [
            _find_limb(driven, chain, poses, lengths[:, chain]) for chain in driven.poled_chains
        ]
        return cls(
            frames,
            poses.joints[:, hang.count :],
            lengths,
            tips,
            _orientations(poses, tips),
            tuple(limb for limb in limbs if limb.inner),
            _find_bends(hang, poses, local),
            driven.joints,
            locked,
        )

    @property
    def is_held(self) -> bool:
        """Whether any bone has a range or a lock."""
        has_bends = bool(self.bends.bones.size)
        return has_bends or self.joints is not None or self.locked is not None

    def take(self, frames: Indices) -> Self:
        """Return the goals of some of the frames."""
        names = ("frames", "effectors", "lengths", "turns", "limbs")
        replaced = {name: take_rows(getattr(self, name), frames) for name in names}
        locked = self.locked
        if locked is not None:
            columns = ("stored", "influence", "locks", "uses_4d_locks")
            rows = {name: getattr(locked, name)[frames] for name in columns}
            locked = replace(locked, **rows)
        return replace(self, **replaced, bends=self.bends.take(frames), locked=locked)

    def hold(self, local: Array) -> Array:
        """Return local rotations clamped to ranges and locks."""
        held = self.bends.hold(local)
        held = held if self.joints is None else self.joints.clamped(held)
        if self.locked is None:
            return held
        channels, _ = self.locked.held(slice(None), held, self.locked.stored)
        return self.locked.local_of(channels)

    def measure(self, local: Array) -> tuple[Array, Array]:
        """Return the misses of the goals (F, m), and their derivatives by turns (F, m, k, 3)."""
        poses, hang = _pose(self.frames, local), self.frames.hanging
        rates = _Rates(hang, poses)
        parts = []
        for chain, carrier in enumerate(hang.carriers):
            length = self.lengths[:, chain, None]
            point = poses.joints[:, hang.count + chain]
            rate = rates.of_point(point, hang.path(carrier)) / length[..., None, None]
            parts.append(((point - self.effectors[:, chain]) / length, rate))
        present = _orientations(poses, self.tips)
        difference = rotation.multiply(present, rotation.conjugate(self.turns))
        for column, tip in enumerate(self.tips):
            miss = rotation.vector_from_quaternion(difference[:, column])
            parts.append((miss, rates.of_turn(hang.path(tip))))
        for limb in self.limbs:
            parts.append(self._find_bulge(poses, rates, limb))
        misses, rates_by_goal = zip(*parts, strict=True)
        return np.concatenate(misses, axis=1), np.concatenate(rates_by_goal, axis=1)

    def _find_bulge(self, poses: ChainPoses, rates: _Rates, limb: PoledLimb) -> tuple[Array, Array]:
        """Return the bulge of a limb out of its plane, and the derivatives of that by turns."""
        heads, path, length = poses.joints, self.frames.hanging.path, self.lengths[:, 0]
        middle = heads[:, list(limb.inner)].mean(axis=1) - heads[:, limb.root]
        rate = np.mean([rates.of_point(heads[:, i], path(i)[1:]) for i in limb.inner], axis=0)
        rate = rate - rates.of_point(heads[:, limb.root], path(limb.root)[1:])
        across = limb.across / length[:, None]
        bulge = np.einsum("fi,fi->f", across, middle)[:, None]
        return bulge, np.einsum("fi,fikj->fkj", across, rate)[:, None]


class _Rates:
    """The derivatives of points and turns of posed bones by turns of bones in their own axes."""

    def __init__(self, hang: BoneHierarchy, poses: ChainPoses) -> None:
        self._hang, self._heads = hang, poses.joints
        self._axes: Array = poses.frames @ poses.rotations
        self._back = inverse(self._axes)
        # The axes of turns in armature space, also under parents that mirror or stretch.
        size = np.cbrt(np.linalg.det(self._axes))[..., None, None]
        self._visible_axes: Array = self._back.swapaxes(-1, -2) * size

    def of_point(self, point: Array, path: Sequence[int]) -> Array:
        """Return the derivatives of points (F, 3) by the bones above them, shape (F, 3, k, 3)."""
        rates, end = np.zeros((len(point), 3, self._axes.shape[1], 3)), point
        for row in path:
            if row >= self._hang.count:
                continue
            lever = transform_direction(self._back[:, row], end - self._heads[:, row])
            # Column j of this matrix is e_j x lever.
            turned = np.cross(np.eye(3), lever[:, None]).swapaxes(1, 2)
            rates[:, :, row] = self._axes[:, row] @ turned
            if row in self._hang.unturned:
                end = self._heads[:, row]
        return rates

    def of_turn(self, path: Sequence[int]) -> Array:
        """Return the derivatives of a bone's turn in armature space, shape (F, 3, k, 3)."""
        rates = np.zeros((len(self._axes), 3, self._axes.shape[1], 3))
        for row in path:
            rates[:, :, row] = self._visible_axes[:, row]
            if row in self._hang.unturned:
                break
        return rates


def _pose(frames: ChainFrames, local: Array) -> ChainPoses:
    return frames.posed(rotation.matrix_from_quaternion(local))


def _orientations(poses: ChainPoses, tips: Sequence[int]) -> Array:
    """Return the orientations wxyz of bones, shape (F, T, 4)."""
    return rotation.quaternion_from_matrix(rotation.orientation(poses.matrices[:, list(tips)]))


def _find_bends(hang: BoneHierarchy, poses: ChainPoses, local: Array) -> BendRanges:
    """Return the ranges of joints between solved bones that bend one way in all frames."""
    end_of = {above: joint for joint, above in enumerate(hang.above) if joint > 0}
    bones = [row for row in end_of if row > 0 and row not in hang.unturned]
    ends, parents = [end_of[row] for row in bones], [hang.parents[row] for row in bones]
    heads, back = poses.joints[:, bones], inverse(poses.frames[:, bones])
    above = transform_direction(back, heads - poses.joints[:, parents])
    segments = transform_direction(back, poses.joints[:, ends] - heads)
    return BendRanges.of(np.array(bones, dtype=np.int64), above, segments, local)


def _find_limb(driven: Driven, chain: int, poses: ChainPoses, length: Array) -> PoledLimb:
    """Return the limb that a chain's pole turns."""
    hang, heads = driven.hanging, poses.joints
    rows, end = hang.limb(chain), heads[:, hang.count + chain]
    if driven.live_chains[chain].plan.bends_without_tip:
        end, rows = heads[:, rows[-1]], rows[:-1]
    inner = tuple(rows[1:])
    if not inner:
        return PoledLimb(rows[0], (), end)
    bulge = heads[:, list(inner)].mean(axis=1) - heads[:, rows[0]]
    chord = end - heads[:, rows[0]]
    chord = chord / np.maximum(np.linalg.norm(chord, axis=1, keepdims=True), 1e-300)
    across = np.cross(chord, bulge)
    size = np.linalg.norm(across, axis=1, keepdims=True)
    has_side = size > MIN_LIMB_BULGE * length[:, None]
    return PoledLimb(
        rows[0], inner, np.where(has_side, across / np.where(has_side, size, 1.0), 0.0)
    )
