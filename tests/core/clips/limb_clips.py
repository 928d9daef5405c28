"""Clips of limbs in one line at rest, solved frame by frame, to be bettered."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from blender_ik_addon.core import (
    Chains,
    Goals,
    JointKind,
    Joints,
    SolveOptions,
    Solver,
    bone_rotations,
    solve_batch,
)
from blender_ik_addon.core.algebra import rotation
from blender_ik_addon.core.kinematics.joint_limits import clamp_rotations

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LimbClip:
    """Bones of even length that lie along Y at rest, whose end goes where it is told."""

    targets: Array
    bones: int
    kinds: tuple[JointKind, ...] = ()
    limit: float = np.inf

    @property
    def is_held(self):
        return bool(self.kinds)

    def joints(self, local):
        """Return heads and ends, shape (F, n + 1, 3), and the bones' axes (F, n, 3, 3)."""
        frames = np.empty((*local.shape[:2], 3, 3))
        points, frame = [np.zeros((len(local), 3))], np.eye(3)
        for bone in range(self.bones):
            frame = frame @ rotation.matrix_from_quaternion(local[:, bone])
            frames[:, bone] = frame
            points.append(points[-1] + frame[..., 1] / self.bones)
        return np.stack(points, axis=1), frames

    def measure(self, local):
        points, frames = self.joints(local)
        levers = points[:, -1:] - points[:, :-1]
        rates = np.cross(np.swapaxes(frames, -1, -2), levers[:, :, None])
        return points[:, -1] - self.targets, rates.transpose(0, 3, 1, 2)

    def hold(self, local):
        if not self.kinds:
            return local
        limits = np.full((*local.shape[:2], 3), self.limit)
        return clamp_rotations(self.kinds, local, -limits, limits)

    def take(self, frames):
        return replace(self, targets=self.targets[frames])


def rest(frames: int, bones: int) -> Array:
    """Return rotations that turn nothing."""
    return np.tile((1.0, 0.0, 0.0, 0.0), (frames, bones, 1))


def smooth_path(rng: np.random.Generator, frames: int, nearest: float = 1 / 3) -> Array:
    """Return points on a smooth random path, from a distance on that is a share of the reach."""
    turn = np.linspace(0.0, 2.0 * np.pi, frames)
    waves = rng.normal(size=(4, 2, 3)) / np.arange(1, 5)[:, None, None]
    phases = np.arange(1, 5)[:, None] * turn
    way = np.einsum("wf,wi->fi", np.cos(phases), waves[:, 0])
    way = way + np.einsum("wf,wi->fi", np.sin(phases), waves[:, 1])
    size = np.linalg.norm(way, axis=1, keepdims=True)
    least, most = nearest, 0.9
    return way / size * (least + (most - least) * np.tanh(size / size.mean()) ** 2)


def solved(targets: Array, bones: int, solver: Solver, joints=None) -> Array:
    """Return local rotations as a solver finds them frame by frame, each from the same start."""
    points = np.zeros((len(targets), bones + 1, 3))
    points[:, :, 1] = np.linspace(0.0, 1.0, bones + 1)
    side = np.tile((0.0, 0.0, 1.0), (len(targets), 1))
    chains = Chains(points, side, joints)
    options = SolveOptions(solver=solver, tolerance=1e-7, iterations=500)
    found = solve_batch(chains, Goals(targets), options)
    if joints is not None:
        return found.local_rotations_wxyz
    whole = bone_rotations(chains, found)
    above = np.concatenate((rest(len(targets), 1), whole[:, :-1]), axis=1)
    return rotation.multiply(rotation.conjugate(above), whole)


def limited_joints(frames: int, kinds: tuple[JointKind, ...], limit: float) -> Joints:
    """Return joints of these kinds with the same room to all sides."""
    bones = len(kinds)
    return Joints(
        kinds,
        np.tile(np.eye(3), (frames, bones, 1, 1)),
        rest(frames, bones),
        np.full((frames, bones, 3), -limit),
        np.full((frames, bones, 3), limit),
    )


def met(clip, local):
    """Return the clip that asks what these poses reach."""
    return replace(clip, targets=clip.joints(local)[0][:, -1])
