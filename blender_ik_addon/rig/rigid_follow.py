"""Drag chains of rigid bones side by side: targets in, rotations and locations out, nothing else.

A chain whose bones stay rigid is dragged in the space that its root bone turns in, with the place
of the root without any location as origin. ``following`` goes the long way, through any parent
matrix; tests/blender/test_rigid_follow.py compares the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..core import Chains, Goals, Lead, SolveOptions, Solver, bone_rotations, solve_batch
from ..core.algebra import rotation
from .channels import Pose
from .following import is_too_far
from .limb import Limb
from .members import Members
from .onward import Begun
from .rig_state import RigState
from .rigid_channels import RigidChannels
from .rigid_start import RigidChain

Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]


class RootFrames(NamedTuple):
    """The spaces that the roots of B chains turn in.

    Attributes:
        origins: Where roots stand without any location, world space, shape (B, 3).
        to_world: Directions of the spaces to world space, shape (B, 3, 3).
        from_location: Location channels to directions of the spaces, shape (B, 3, 3).
    """

    origins: Array
    to_world: Array
    from_location: Array

    def rows(self, rows: Rows) -> RootFrames:
        """Return the spaces of some of the chains."""
        return RootFrames(*(each[rows] for each in self))

    def differ(self, other: RootFrames) -> npt.NDArray[np.bool_]:
        """Tell which spaces are not those of before, shape (B,)."""
        differ: npt.NDArray[np.bool_] = (self.origins != other.origins).any(axis=1)
        for one, before in zip(self[1:], other[1:], strict=True):
            differ |= (one != before).any(axis=(1, 2))
        return differ


def root_frames(members: Members) -> RootFrames:
    """Return the spaces of chains: armature objects in their present poses, and rows of limbs."""
    found = [_root_frame(state, row) for state, rows in members for row in rows]
    return RootFrames(*(np.array(each) for each in zip(*found, strict=True)))


def _root_frame(state: RigState, row: int) -> tuple[Array, Array, Array]:
    pose, bases, job = state.pose, state.bases, state.limbs[row].job
    assert pose is not None
    assert bases is not None
    root, skeleton = int(job.plan.written[0]), job.skeleton
    parent, offset = int(skeleton.parents[root]), skeleton.offsets[root]
    above = pose.world @ pose.matrices[parent] if parent >= 0 else pose.world
    origin = above[:3, :3] @ offset[:3, 3] + above[:3, 3]
    moved = above[:3, :3] @ offset[:3, :3] if skeleton.use_local_location[root] else above[:3, :3]
    return origin, bases.to_world[row], bases.from_world[row, :, :3] @ moved


class Dragged(NamedTuple):
    """What a drag of b chains with k written bones led to.

    Attributes:
        channels: Rotation channels, shape (b, k, 4).
        rotations: Local rotations, shape (b, k, 3, 3).
        locations: Of the roots, shape (b, 3).
        residuals: From led ends to targets in scene units, shape (b,).
        is_too_far: Which chains cannot be dragged so far, shape (b,); they stay.
    """

    channels: Array
    rotations: Array
    locations: Array
    residuals: Array
    is_too_far: npt.NDArray[np.bool_]


class RigidFollow:
    """B chains alike, compiled."""

    def __init__(self, limbs: Sequence[Limb], poses: Sequence[Pose]) -> None:
        """Compile chains that have the same ``likeness`` and rigid bones, in these poses."""
        options = limbs[0].job.spec.options
        self._options = SolveOptions(
            solver=Solver.FOLLOW, lead=options.lead, max_bend=options.max_bend
        )
        self._chain = RigidChain.of(limbs, poses)
        self._modes = limbs[0].modes

    def dragged(
        self, rows: Rows, frames: RootFrames, begun: Sequence[Begun], targets: Array
    ) -> Dragged:
        """Return what brings the led ends of some of the chains to their targets.

        Args:
            rows: Which chains, shape (b,).
            frames: Of these chains.
            begun: What they start from.
            targets: World positions of their targets, shape (b, 3).
        """
        local = rotation.quaternion_from_matrix(np.array([each.rotations for each in begun]))
        laid = self._chain.take(rows).laid(local)
        location = np.array([each.location for each in begun])
        roots = np.einsum("bij,bj->bi", frames.from_location, location)
        way = (targets - frames.origins)[:, :, None]
        wanted = np.linalg.solve(frames.to_world, way)[:, :, 0]
        far = is_too_far(laid.joints, roots, wanted)
        chains = Chains(laid.joints + np.where(far[:, None], 0.0, roots)[:, None])
        goals = Goals(np.where(far[:, None], 0.0, wanted))
        solutions = solve_batch(chains, goals, self._options)
        near = np.array([each.near for each in begun])
        bones = RigidChannels(local, laid.rest, near, self._modes)
        turned = bones.turned(bones.with_tips(bone_rotations(chains, solutions), None))
        joints = solutions.joint_positions
        led = joints[:, -1 if self._options.lead is Lead.TIP else 0]
        gaps = np.einsum("bij,bj->bi", frames.to_world, led - goals.target_position)
        return Dragged(
            channels=bones.written(turned),
            rotations=rotation.matrix_from_quaternion(turned),
            locations=np.linalg.solve(frames.from_location, joints[:, 0, :, None])[:, :, 0],
            residuals=np.linalg.norm(gaps, axis=1),
            is_too_far=far,
        )
