"""Limbs of two bones that swivel about their ends until their knee or elbow is above a floor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Flags
from ..reading.spaces import ParentFrames, local_from_pose
from ..trees.body_floor import BodyFloor
from ..trees.body_limbs import BodyLimb
from .chain_frames import ChainFrames
from .chain_poses import LENGTH_ROUNDING, ChainPoses, angles_between

# Radians: limits that turn a bone back by more stop a swivel. Less is rounding.
CLAMP_TOLERANCE = 1e-9


@dataclass(frozen=True)
class LimbSwivels:
    """The p limbs of a body that can swivel: single chains of two bones.

    Attributes:
        chains: Their numbers in the body.
        upper: Rows of the upper bones.
        lower: Rows of the lower bones: their heads are the knees and elbows.
        tips: Rows of the tips that take the rotation of a target, -1 without one.
    """

    chains: tuple[int, ...]
    upper: tuple[int, ...]
    lower: tuple[int, ...]
    tips: tuple[int, ...]

    @classmethod
    def of(cls, limbs: Sequence[BodyLimb], above: Sequence[int]) -> LimbSwivels:
        """Return those of the limbs that can swivel, with lower bones in rows ``above`` a floor."""
        pairs = [
            limb
            for limb in limbs
            if limb.driven.hanging.count == 2 == 1 + len(limb.chains) and limb.rows[1] in above
        ]
        tips = []
        for limb in pairs:
            tip = limb.driven.hanging.tips[0]
            tips.append(int(limb.rows[tip]) if limb.driven.hanging.turns_afterwards(0) else -1)
        chains = tuple(limb.chains[0] for limb in pairs)
        upper, lower = (tuple(int(limb.rows[i]) for limb in pairs) for i in (0, 1))
        return cls(chains, upper, lower, tuple(tips))

    def raised(
        self, frames: ChainFrames, before: ChainPoses, poses: ChainPoses, floor: BodyFloor
    ) -> ChainPoses:
        """Return bodies whose knees are above the floor, or no lower than before.

        Ends and tips stay. A limb swivels to the nearer side, so it moves continuously while its
        knee would sink. It does not swivel where its knee would still be too low, or past limits.
        """
        turn, is_low = self._find_turns(frames, before, poses, floor)
        if not is_low.any():
            return poses
        raised = self._turned(frames, poses, turn, is_low)
        if frames.joints is None:
            return raised
        local = rotation.quaternion_from_matrix(raised.rotations)
        is_stopped = angles_between(frames.joints.clamped(local), local) > CLAMP_TOLERANCE
        is_free = ~is_stopped[:, list(self.upper)]
        for limb, tip in enumerate(self.tips):
            is_free[:, limb] &= ~is_stopped[:, tip] | (tip < 0)
        if is_free[is_low].all():
            return raised
        return self._turned(frames, poses, turn, is_low & is_free)

    def _find_turns(
        self, frames: ChainFrames, before: ChainPoses, poses: ChainPoses, floor: BodyFloor
    ) -> tuple[Array, Flags]:
        """Return the least turns that raise knees, (b, p, 3, 3), and which limbs take one.

        A knee goes round a circle about the line between the ends of its limb.
        """
        up, origin = floor.normal[:, None], floor.origin[:, None]
        head, knee = (poses.joints[:, list(rows)] for rows in (self.upper, self.lower))
        knee_before = before.joints[:, list(self.lower)]
        least = np.minimum(((knee_before - origin) * up).sum(axis=2), 0.0)
        end = poses.joints[:, [frames.hanging.count + chain for chain in self.chains]]
        axis = rotation.unit(end - head)
        along = ((knee - head) * axis).sum(axis=2, keepdims=True) * axis
        side = knee - head - along
        ahead = np.cross(axis, side)
        centre = ((head + along - origin) * up).sum(axis=2)
        height_cosine, height_sine = ((part * up).sum(axis=2) for part in (side, ahead))
        radius = np.hypot(height_cosine, height_sine)
        slack = LENGTH_ROUNDING * frames.lengths(poses)[:, list(self.chains)]
        is_low = (centre + height_cosine < least - slack) & (centre + radius > least)
        cosine = (least - centre) / np.where(radius > 0.0, radius, 1.0)
        to_top = np.arctan2(height_sine, height_cosine)
        # Below the middle both ways up are equal: there the side of the knee before counts.
        across, aside = rotation.unit(np.cross(axis, up)), knee_before - head - along
        lean = ((rotation.unit(side) + rotation.unit(aside)) * across).sum(axis=2)
        angle = to_top + np.sign(lean) * np.arccos(np.clip(cosine, -1.0, 1.0))
        cosine, sine = np.cos(0.5 * angle)[..., None], np.sin(0.5 * angle)[..., None]
        quaternion = np.concatenate((cosine, sine * axis), axis=2)
        return rotation.matrix_from_quaternion(quaternion), is_low

    def _turned(
        self, frames: ChainFrames, poses: ChainPoses, turn: Array, takes: Flags
    ) -> ChainPoses:
        """Return bodies with the limbs turned that take their turns, (b, p), but not their tips."""
        goals, rotations = poses.matrices.copy(), poses.rotations.copy()
        frames, upper = frames.rooted(poses.joints[:, 0]), list(self.upper)
        goals[:, upper] = turn @ goals[:, upper]
        for rows in (self.upper, self.tips):
            bones = [row for row in rows if row >= 0]
            is_taken = takes[:, [row >= 0 for row in rows]]
            frame = ParentFrames(poses.frames[:, bones], np.ones(3))
            local = local_from_pose(frame, goals[:, bones], frames.scale[:, bones])
            rotations[:, bones] = np.where(is_taken[..., None, None], local, rotations[:, bones])
            poses = frames.posed(rotations, poses.scale, poses.slides)
        return poses
