"""Chains that lie in planes, many at once, straight to the turns of their bones.

A chain that starts in a plane stays in one: solving for joints and swinging the bones there one by
one turns each in that plane, by the difference of its angles to the chord, and with the plane as a
whole. What a bone's own rotation becomes is then a mix of two that are known beforehand: as it
starts, and after a half turn about the normal of the plane.

Source: derived for this project; tests/core/test_planar_turns.py compares it with ``solve``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .batch_task import batch_task
from .bend import wanted_bend
from .chain import SolveOptions
from .chains import Chains, Goals
from .planar_poses import planar_poses
from .rotation import conjugate, multiply, rotate
from .soft import eased, is_soft
from .start import Start
from .status_codes import REACHED, Codes, status_codes
from .task import FINEST_TOLERANCE
from .vectors import Array, Counts, norm, taken


@dataclass(frozen=True)
class Turned:
    """What brings B chains to their targets.

    Attributes:
        local_wxyz: The bones' own rotations, shape (B, k, 4).
        gaps: From effectors to targets, shape (B, 3); None where no target is missed at all.
        residuals: Their sizes, shape (B,).
        iterations: Sweeps used, shape (B,).
        status_codes: Indices into ``STATUSES``, shape (B,).
    """

    local_wxyz: Array
    gaps: Array | None
    residuals: Array
    iterations: Counts
    status_codes: Codes


@dataclass(frozen=True)
class PlanarTurns:
    """B chains of n segments, compiled; k bones have rotations, those without a segment last.

    Bones are told by a rotation that each has before it is turned. The first is turned in armature
    space; others in their parents, so their turns are told in the frames of those, as they start.

    Attributes:
        start: Start poses.
        angles: Of the segments to the chord, in the plane of the chain, shape (n, B).
        own: The bones' own rotations in the start pose wxyz, components first, shape (4, k, B).
        turned: Those of bones with a segment after a half turn about the chain's normal, shape
            (4, n, B).
    """

    start: Start
    angles: Array
    own: Array
    turned: Array

    def take(self, rows: Counts) -> PlanarTurns:
        """Return some of the chains."""
        own, turned = taken(self.own, rows), taken(self.turned, rows)
        return PlanarTurns(self.start.take(rows), taken(self.angles, rows), own, turned)

    def solved(self, goals: Goals, options: SolveOptions) -> Turned:
        """Return what brings effectors to targets.

        Args:
            goals: Armature space, without tip rotations.
            options: TWO_BONE or NEWTON, without influence.
        """
        start = self.start
        task = batch_task(start, goals, goals.target_positions, options)
        plan = wanted_bend(start.chord, start.side, start.reach, task.target, task.pole)
        distance = near = norm(task.target)
        if is_soft(options.soft_distance):
            soft = options.soft_distance / start.unit
            near = eased(distance, start.reach, start.least, soft)
        poses = planar_poses(start, task, near, options.solver)
        local = self._local(poses.angles, plan.rotation_wxyz)
        short = distance - near
        along = short if poses.along is None else short + poses.along
        if poses.along is None and not short.any():
            codes = np.full(len(short), REACHED)
            return Turned(local, None, short, poses.iterations, codes)
        aside = np.zeros_like(along) if poses.aside is None else poses.aside
        tips = (distance - along) * plan.chord - aside * plan.side
        gaps = (task.target - tips) * start.unit
        residuals = norm(gaps)
        codes = status_codes(
            residuals,
            options.tolerance + FINEST_TOLERANCE * (start.reach + distance) * start.unit,
            poses.is_too_far | (distance >= start.reach),
            poses.is_too_near,
            short * start.unit,
        )
        return Turned(local, gaps.T, residuals, poses.iterations, codes)

    def _local(self, angles: Array, whole_wxyz: Array) -> Array:
        """Return the bones' own rotations (B, k, 4) for angles (n, B) of segments to the chord."""
        turn = 0.5 * (angles - self.angles)
        turn[1:] -= turn[:-1].copy()
        count = len(turn)
        local = self.own[:, :count] * np.cos(turn) + self.turned * np.sin(turn)
        if count < self.own.shape[1]:
            local = np.concatenate((local, self.own[:, count:]), axis=1)
        rotations: Array = local.transpose(2, 1, 0)
        rotations[:, 0] = multiply(whole_wxyz, rotations[:, 0])
        return rotations


def planar_turns(chains: Chains, rotations: Array, frames: Array) -> PlanarTurns:
    """Compile chains that lie in planes, up to what ``Start.off_plane`` tells.

    Args:
        chains: In their start poses. What is off the planes of their bends is left out of account:
            joints are where ``solve`` puts them up to that much.
        rotations: The bones' own rotations in the start pose wxyz, of the first in armature space
            and of the others in their parent frames, shape (B, k, 4).
        frames: Rotations of the frames that those act in, in the start pose, armature space, shape
            (B, k, 4); the first is the identity.
    """
    start, count = chains.start, chains.bone_count
    normal = np.cross(start.chord, start.side, axis=0).T
    inside = rotate(conjugate(frames[:, :count]), normal[:, None])
    half_turns = np.concatenate((np.zeros_like(inside[..., :1]), inside), axis=2)
    turned = multiply(half_turns, rotations[:, :count])
    angles = np.arctan2(start.directions[:, 1], start.directions[:, 0])
    own, turned = (np.ascontiguousarray(each.transpose(2, 1, 0)) for each in (rotations, turned))
    return PlanarTurns(start, angles, own, turned)
