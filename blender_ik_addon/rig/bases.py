"""The spaces that the root bones of chains turn in, between world space and the chains."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from . import spaces
from .channels import Pose
from .limb import Limb
from .skeleton import Skeleton
from .spec import NegativeScale

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

# A space that is sheared or stretched by less than this is as even as float32 can tell: parents
# that are read back carry an error of some 1e-7 a bone.
EVEN_SPACE = 2e-6
# A world matrix with less volume than this, compared with its longest side, is scaled flat.
FLAT = 1e-12


@dataclass(frozen=True)
class Bases:
    """The spaces of c chains, each with its root's head as origin.

    Attributes:
        from_world: World space to base, shape (c, 3, 4).
        to_world: Directions of the base to world space, shape (c, 3, 3).
        tolerance: Accepted distance in units of the base, shape (c,).
        is_even: Which spaces turn and scale only, so that a chain keeps its shape in them, (c,).
    """

    from_world: Array
    to_world: Array
    tolerance: Array
    is_even: Flags

    def take(self, rows: list[int]) -> Bases:
        """Return the bases of some of the chains."""
        return Bases(*(getattr(self, field.name)[rows] for field in fields(self)))


def stacked(parts: list[Bases]) -> Bases:
    """Return the bases of several armature objects, one after the other."""
    if len(parts) == 1:
        return parts[0]
    return Bases(
        *(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Bases))
    )


def read_bases(skeleton: Skeleton, pose: Pose, limbs: list[Limb]) -> Bases:
    """Return the bases of an armature object's chains in its present pose."""
    roots = np.array([limb.job.plan.segments[0] for limb in limbs])
    parents = skeleton.parents[roots]
    above = np.where((parents >= 0)[:, None, None], pose.matrices[parents][:, :3, :3], np.eye(3))
    frames = spaces.parent_frames(above, skeleton.frames.take(roots))
    squares = np.swapaxes(frames.rs, -1, -2) @ frames.rs
    size = np.sqrt(np.einsum("cii->c", squares) / 3.0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        uneven = np.abs(squares / (size**2)[:, None, None] - np.eye(3)).max(axis=(1, 2))
        grown = np.abs(frames.post - 1.0).max(axis=1)
        volume = np.linalg.det(frames.rs)
    world = pose.world[:3, :3]
    is_flat = not abs(float(np.linalg.det(world))) > FLAT * float(np.linalg.norm(world)) ** 3
    is_mirrored = not is_flat and float(np.linalg.det(world)) < 0.0
    keeps = [limb.job.spec.negative_scale is NegativeScale.KEEP for limb in limbs]
    is_even = (uneven <= EVEN_SPACE) & (grown <= EVEN_SPACE) & (volume > 0.0)
    is_even &= np.isfinite(pose.matrices[roots]).all(axis=(1, 2))
    is_even &= ~(is_mirrored & np.array(keeps))
    if is_flat or not is_even.any():
        return _none(len(limbs))
    turn = spaces.orientation(frames.rs) * np.where(is_even, size, 1.0)[:, None, None]
    turn[~is_even] = np.eye(3)
    to_world = world @ turn
    from_directions = np.linalg.inv(to_world)
    heads = pose.matrices[roots][:, :3, 3] @ world.T + pose.world[:3, 3]
    origin = from_directions @ heads[:, :, None]
    largest = float(np.linalg.svd(world, compute_uv=False)[0])
    tolerance = np.array([float(limb.job.spec.options.tolerance) for limb in limbs])
    return Bases(
        from_world=np.concatenate((from_directions, -origin), axis=2),
        to_world=to_world,
        tolerance=tolerance / (largest * np.where(is_even, size, 1.0)),
        is_even=is_even,
    )


def _none(count: int) -> Bases:
    return Bases(
        from_world=np.zeros((count, 3, 4)),
        to_world=np.zeros((count, 3, 3)),
        tolerance=np.zeros(count),
        is_even=np.zeros(count, dtype=np.bool_),
    )


def point_in_base(from_world: Array, points: Array) -> Array:
    """Return world positions (b, 3) in bases, given by their ``from_world`` (b, 3, 4)."""
    moved: Array = np.einsum("bij,bj->bi", from_world[:, :, :3], points) + from_world[:, :, 3]
    return moved
