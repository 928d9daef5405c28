"""TWO_BONE for many limbs at once as turns of their bones, as ``TwoBoneTurns`` does for one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import two_bone
from .bend import Pole, wanted_bend
from .chains import Chains, Goals
from .rotation import conjugate, multiply, rotate
from .soft import eased, is_soft
from .start import Start
from .vectors import Array, Counts, Flags, norm


@dataclass(frozen=True)
class LimbTurns:
    """B limbs of two bones, compiled; see ``TwoBoneTurns`` for what the rotations mean.

    Attributes:
        start: Start poses.
        angles: Of the bones to the chord, in the plane of the limb, shape (2, B).
        own: The bones' own rotations in the start pose wxyz, shape (2, B, 4).
        turned: The same after a half turn about the limb's normal, shape (2, B, 4).
        is_first_longest: Whether the first segment is the longer one, shape (B,).
    """

    start: Start
    angles: Array
    own: Array
    turned: Array
    is_first_longest: Flags

    def take(self, rows: Counts) -> LimbTurns:
        """Return some of the limbs."""
        return LimbTurns(
            self.start.take(rows),
            self.angles[:, rows],
            self.own[:, rows],
            self.turned[:, rows],
            self.is_first_longest[rows],
        )

    def solved(
        self, goals: Goals, use_flip: Flags, soft_distance: float | Array = 0.0
    ) -> tuple[Array, Array]:
        """Return the bones' own rotations that bring effectors to targets, and what is missing.

        Args:
            goals: Armature space, without tip rotations.
            use_flip: Which limbs bend to the other side, shape (B,).
            soft_distance: As in ``SolveOptions``.

        Returns:
            Quaternions wxyz, shape (B, 2, 4), and the signed distances from the targets to what
            is reached, shape (B,): positive if too far or softened, negative if too near.
        """
        start = self.start
        target = (goals.target_positions.T - start.root) / start.unit
        pole = None
        if goals.pole_positions is not None:
            pole = Pole(
                is_set=np.ones(target.shape[1], dtype=np.bool_),
                position=(goals.pole_positions.T - start.root) / start.unit,
                angle=np.asarray(goals.pole_angles, dtype=np.float64),
            )
        bend = wanted_bend(start.chord, start.side, start.reach, target, pole)
        distance = near = norm(target)
        if is_soft(soft_distance):
            near = eased(distance, start.reach, start.least, soft_distance / start.unit)
        first, second, missing = self._bent(near, use_flip)
        upper = 0.5 * (first - self.angles[0])
        lower = 0.5 * (second - self.angles[1]) - upper
        own, turned = self.own, self.turned
        local = np.empty((len(upper), 2, 4))
        local[:, 0] = multiply(bend.rotation_wxyz, _mixed(own[0], turned[0], upper))
        local[:, 1] = _mixed(own[1], turned[1], lower)
        return local, (missing + (distance - near)) * start.unit

    def _bent(self, distance: Array, use_flip: Flags) -> tuple[Array, Array, Array]:
        """Return the angles of both bones to the chord, and the distances that are missing."""
        start = self.start
        is_too_far = distance >= start.reach
        is_too_near = (distance <= start.least) & (start.least > 0.0)
        is_out = is_too_far | is_too_near
        has_out = bool(is_out.any())
        within = distance
        if has_out:
            within = np.where(is_out, 0.5 * (start.reach + start.least), distance)
        joints = two_bone.solved(start.lengths, within)
        foot, height = joints[1, 0], joints[1, 1]
        height = np.where(use_flip, -height, height)
        first, second = np.arctan2(height, foot), np.arctan2(-height, joints[2, 0] - foot)
        if not has_out:
            return first, second, np.zeros_like(distance)
        folded_first = np.where(self.is_first_longest, 0.0, np.pi)
        folded_second = np.where(self.is_first_longest, np.pi, 0.0)
        first = np.where(is_out, np.where(is_too_far, 0.0, folded_first), first)
        second = np.where(is_out, np.where(is_too_far, 0.0, folded_second), second)
        missing = np.where(is_too_far, distance - start.reach, distance - start.least)
        return first, second, np.where(is_out, missing, 0.0)


def limb_turns(chains: Chains, rotations: Array, elbow_frames: Array) -> LimbTurns:
    """Compile limbs.

    Args:
        chains: Of two bones, in their start poses.
        rotations: The bones' own rotations in the start pose wxyz, of the first in armature space
            and of the second in its parent frame, shape (B, 2, 4).
        elbow_frames: Rotations of those frames in the start pose, armature space, shape (B, 4).
    """
    start = chains.start
    normal = np.cross(start.chord, start.side, axis=0).T
    inside = rotate(conjugate(elbow_frames), normal)
    own = rotations.transpose(1, 0, 2)
    turned = np.stack((multiply(_pure(normal), own[0]), multiply(_pure(inside), own[1])))
    angles = np.arctan2(start.directions[:, 1], start.directions[:, 0])
    return LimbTurns(start, angles, own, turned, start.lengths[0] >= start.lengths[1])


def _pure(vectors: Array) -> Array:
    return np.concatenate((np.zeros_like(vectors[:, :1]), vectors), axis=1)


def _mixed(own: Array, turned: Array, half: Array) -> Array:
    mixed: Array = own * np.cos(half)[:, None] + turned * np.sin(half)[:, None]
    return mixed
