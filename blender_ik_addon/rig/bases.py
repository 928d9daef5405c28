"""The spaces that the root bones of chains turn in, between world space and the chains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from . import spaces
from .channels import Pose
from .limb import Limb
from .skeleton import Skeleton
from .spec import NegativeScale

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

# A space that is sheared or stretched by less than this counts as even. Targets are met exactly all
# the same, for they come in through the inverse of the very space; only what is shortest or nearest
# is told by its measure. Rest matrices of bones that point against their parents, legs under hips,
# are as uneven as 1e-5.
EVEN_SPACE = 5e-5
# A world matrix with less volume than this, compared with its longest side, is scaled flat.
FLAT = 1e-12


@dataclass(frozen=True)
class Bases:
    """The spaces of c chains, each with its root's head as origin.

    Attributes:
        from_world: World space to base, shape (c, 3, 4).
        to_world: Directions of the base to world space, shape (c, 3, 3).
        unit: The most that one in the base is in scene units, in any direction, shape (c,).
        tolerance: Accepted distance in units of the base, shape (c,).
        soft_distance: In units of the base, shape (c,).
        is_even: Which spaces turn and scale only, so that a chain keeps its shape in them, (c,).
    """

    from_world: Array
    to_world: Array
    unit: Array
    tolerance: Array
    soft_distance: Array
    is_even: Flags

    def rows(self, rows: slice | list[int]) -> Bases:
        """Return the bases of some of the chains."""
        return Bases(*(getattr(self, field.name)[rows] for field in fields(self)))

    def differ(self, former: Bases) -> Flags:
        """Tell which bases are not those of before, shape (c,)."""
        differs: Flags = (former.from_world != self.from_world).any(axis=(1, 2))
        differs |= former.tolerance != self.tolerance
        differs |= former.soft_distance != self.soft_distance
        return differs


def stacked(parts: list[Bases]) -> Bases:
    """Return the bases of several armature objects, one after the other."""
    if len(parts) == 1:
        return parts[0]
    return Bases(
        *(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Bases))
    )


class Posed(NamedTuple):
    """The chains of one armature object, its present pose, and what undoes negative scales."""

    skeleton: Skeleton
    pose: Pose
    limbs: list[Limb]
    unmirrored: Array | None


def read_bases(rigs: Sequence[Posed]) -> list[Bases]:
    """Return the bases of the chains of armature objects in their present poses.

    Args:
        rigs: Each with one chain or more; all are computed at once.
    """
    counts = [len(rig.limbs) for rig in rigs]
    roots = [np.array([limb.job.plan.segments[0] for limb in rig.limbs]) for rig in rigs]
    at_roots = np.concatenate(
        [rig.pose.matrices[own] for rig, own in zip(rigs, roots, strict=True)]
    )
    frames = _parent_frames(rigs, roots)
    worlds = np.array([rig.pose.world for rig in rigs])
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        size, is_even = _sizes(frames)
        is_even &= np.repeat(_shows_shape(worlds[:, :3, :3]), counts)
        is_even &= ~_keep_their_bend(rigs)
        largest = np.repeat(np.linalg.norm(worlds[:, :3, :3], ord=2, axis=(1, 2)), counts)
    is_even &= np.isfinite(at_roots).all(axis=(1, 2))
    worlds = np.repeat(worlds, counts, axis=0)
    # What is not even is solved elsewhere; here it only must not stop the others.
    to_world = np.where(is_even[:, None, None], worlds[:, :3, :3] @ frames.rs, np.eye(3))
    heads = np.einsum("cij,cj->ci", worlds[:, :3, :3], at_roots[:, :3, 3]) + worlds[:, :3, 3]
    from_directions = np.linalg.inv(to_world)
    # Not a product of matrices: NumPy 1 rounds that of one chain otherwise than those of several.
    origin = (from_directions * heads[:, None]).sum(axis=2, keepdims=True)
    options = [limb.job.spec.options for rig in rigs for limb in rig.limbs]
    unit = np.where(is_even, largest * size, 1.0)
    bases = Bases(
        from_world=np.concatenate((from_directions, -origin), axis=2),
        to_world=to_world,
        unit=unit,
        tolerance=np.array([each.tolerance for each in options]) / unit,
        soft_distance=np.array([each.soft_distance for each in options]) / unit,
        is_even=is_even,
    )
    ends = np.cumsum(counts).tolist()
    return [bases.rows(slice(end - count, end)) for end, count in zip(ends, counts, strict=True)]


def _parent_frames(
    rigs: Sequence[Posed], roots: Sequence[npt.NDArray[np.int64]]
) -> spaces.ParentFrames:
    """Return the frames that the root bones turn in, armature space."""
    above, rest = [], []
    for rig, own in zip(rigs, roots, strict=True):
        parents = rig.skeleton.parents[own]
        pose = rig.pose.matrices[parents][:, :3, :3]
        above.append(np.where((parents >= 0)[:, None, None], pose, np.eye(3)))
        rest.append(rig.skeleton.frames.take(own))
    return spaces.parent_frames(np.concatenate(above), spaces.joined_frames(rest))


def _sizes(frames: spaces.ParentFrames) -> tuple[Array, Flags]:
    """Return the scales of frames, and which of them turn and scale evenly, without mirroring."""
    squares = np.swapaxes(frames.rs, -1, -2) @ frames.rs
    size = np.sqrt(np.einsum("cii->c", squares) / 3.0)
    off = squares / (size * size)[:, None, None] - np.eye(3)
    is_even: Flags = np.abs(off).max(axis=(1, 2)) <= EVEN_SPACE
    is_even &= np.abs(frames.post - 1.0).max(axis=1) <= EVEN_SPACE
    is_even &= np.linalg.det(frames.rs) > 0.0
    return size, is_even


def _shows_shape(worlds: Array) -> Flags:
    """Tell which armature objects are not scaled flat."""
    volume = np.abs(np.linalg.det(worlds))
    shows: Flags = volume > FLAT * np.linalg.norm(worlds, axis=(1, 2)) ** 3
    return shows


def _keep_their_bend(rigs: Sequence[Posed]) -> Flags:
    """Tell which chains bend as if their object were not mirrored, which a base does not show."""
    return np.array(
        [
            rig.unmirrored is not None and limb.job.spec.negative_scale is NegativeScale.KEEP
            for rig in rigs
            for limb in rig.limbs
        ]
    )


def point_in_base(from_world: Array, points: Array) -> Array:
    """Return world positions (b, 3) in bases, given by their ``from_world`` (b, 3, 4)."""
    moved: Array = np.einsum("bij,bj->bi", from_world[:, :, :3], points) + from_world[:, :, 3]
    return moved


def points_in_base(from_world: Array, points: Array) -> Array:
    """Return world positions (b, m, 3), m for each base; as ``point_in_base``."""
    turned: Array = points @ from_world[:, :, :3].transpose(0, 2, 1)
    return turned + from_world[:, None, :, 3]
