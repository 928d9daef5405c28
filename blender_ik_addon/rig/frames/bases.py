"""Bases: the spaces that the root bones of chains turn in, with the roots' heads as origins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...core.algebra.arithmetic import Array, Flags, Indices
from ..planning.live_chain import LiveChain
from ..reading import spaces
from ..reading.batch_record import BatchRecord, joined
from ..reading.channels import Pose
from ..reading.spec import NegativeScale

# Tolerance of a space that counts as even: shear and differences of squared scales, relative to the
# mean square. Targets are still met exactly, through the inverse of this space; only lengths and
# distances have this error. Rest matrices of bones against their parents (legs) have one of 1e-5.
MAX_UNEVENNESS = 5e-5
# Least volume of an object that is not flat, relative to the cube of its matrix's Frobenius norm.
MIN_VOLUME_SHARE = 1e-12
# Rounding of a position in Blender's single precision, relative to its coordinates in either space.
POSITION_ROUNDING = 4.0 * float(np.finfo(np.float32).eps)
IDENTITY = np.eye(3)


@dataclass(frozen=True)
class Bases(BatchRecord):
    """The spaces of c chains, with the heads of their roots as origins.

    Attributes:
        numbers: All numbers of the spaces as rows, to compare, pick and join, shape (c, 22).
        is_even: Which spaces only turn and scale evenly: a chain keeps its shape there, (c,).
    """

    numbers: Array
    is_even: Flags

    @cached_property
    def from_world(self) -> Array:
        """World space to base, shape (c, 3, 4)."""
        return self.numbers[:, :12].reshape(-1, 3, 4)

    @cached_property
    def to_world(self) -> Array:
        """Directions of the base to world space, shape (c, 3, 3)."""
        return self.numbers[:, 12:21].reshape(-1, 3, 3)

    @property
    def unit(self) -> Array:
        """The greatest length in scene units of one unit of the base, any direction, (c,)."""
        return self.numbers[:, 21]

    def find_moved(self, former: Bases) -> Flags:
        """Return which bases have changed, shape (c,)."""
        differs: Flags = (former.numbers != self.numbers).any(axis=1)
        return differs


class RootBones(NamedTuple):
    """The root bones of c chains of an armature object: their constants while it is posed.

    Attributes:
        bones: Indices of the bones, shape (c,).
        parents: Indices of their parents, -1 without a parent, shape (c,).
        carriers: Indices of the existing parents.
        rest: Rest frames of the bones.
        keeps_bend: Whether each chain bends as if the object were not mirrored, shape (c,).
    """

    bones: Indices
    parents: Indices
    carriers: Indices
    rest: spaces.RestFrames
    keeps_bend: Flags

    @classmethod
    def of(cls, live_chains: Sequence[LiveChain]) -> RootBones:
        """Return the root bones of chains of one armature object."""
        specs = [live_chain.spec for live_chain in live_chains]
        skeleton = live_chains[0].skeleton
        bones = np.array([live_chain.plan.root for live_chain in live_chains])
        parents = skeleton.parents[bones]
        return cls(
            bones,
            parents,
            parents[parents >= 0],
            skeleton.frames.take(bones),
            np.array([spec.negative_scale is NegativeScale.KEEP for spec in specs]),
        )


BaseKey = tuple[bytes, bytes]
"""All inputs of bases but their root bones, as bytes to compare: the world matrix, and the rest."""


def base_key(roots: RootBones, pose: Pose, unmirrored: Array | None) -> BaseKey:
    """Return all that the bases of chains depend on; ``unmirrored`` as ``find_unmirrored``."""
    parents, heads = pose.matrices[roots.carriers], pose.matrices[roots.bones, :3, 3]
    signs = b"" if unmirrored is None else unmirrored.tobytes()
    return pose.world.tobytes(), parents.tobytes() + heads.tobytes() + signs


WorldSize = tuple[float, bool]
"""Greatest length in scene units of one unit of armature space; whether the object has volume."""


class PosedRig(NamedTuple):
    """The root bones of the chains of one armature object, in its present pose.

    ``size`` is None if it is not known yet.
    """

    roots: RootBones
    pose: Pose
    key: BaseKey
    size: WorldSize | None
    is_mirrored: bool


class PlacedRig(NamedTuple):
    """The bases of the chains of one armature object, and what they were computed from.

    Attributes:
        roots: Root bones of the chains.
        key: Key of the other inputs.
        size: How the world matrix scales lengths.
        bases: The bases.
    """

    roots: RootBones
    key: BaseKey
    size: WorldSize
    bases: Bases


def place_rigs(rigs: Sequence[PosedRig]) -> list[PlacedRig]:
    """Return the bases of the chains of armature objects in their present poses."""
    unsized = [rig.pose for rig in rigs if rig.size is None]
    found = iter(_find_world_sizes(unsized) if unsized else ())
    sizes = [rig.size or next(found) for rig in rigs]
    rows = zip(rigs, sizes, _read_bases(rigs, sizes), strict=True)
    return [PlacedRig(rig.roots, rig.key, size, bases) for rig, size, bases in rows]


def _find_world_sizes(poses: Sequence[Pose]) -> list[WorldSize]:
    """Return how the world matrices of armature objects scale lengths."""
    worlds = np.array([pose.world[:3, :3] for pose in poses])
    with np.errstate(invalid="ignore", over="ignore"):
        largest = np.linalg.norm(worlds, ord=2, axis=(1, 2))
        volume = np.abs(np.linalg.det(worlds))
        has_volume = volume > MIN_VOLUME_SHARE * np.linalg.norm(worlds, axis=(1, 2)) ** 3
    return list(zip(largest.tolist(), has_volume.tolist(), strict=True))


def _read_bases(rigs: Sequence[PosedRig], sizes: Sequence[WorldSize]) -> list[Bases]:
    """Return the bases of the chains of armature objects with one or more chains, all at once."""
    counts = [len(rig.roots.bones) for rig in rigs]
    heads = np.concatenate([rig.pose.matrices[rig.roots.bones, :3, 3] for rig in rigs])
    parents = np.concatenate([rig.roots.parents for rig in rigs])
    above = np.concatenate([rig.pose.matrices[rig.roots.parents] for rig in rigs])[:, :3, :3]
    above[parents < 0] = IDENTITY
    frames = spaces.parent_frames(above, joined([rig.roots.rest for rig in rigs]))
    worlds = np.repeat(np.array([rig.pose.world[:3] for rig in rigs]), counts, axis=0)
    pairs = zip(rigs, sizes, strict=True)
    object_rows = np.array([(*size, rig.is_mirrored) for rig, size in pairs])
    largest, has_volume, is_mirrored = np.repeat(object_rows, counts, axis=0).T
    keeps_bend = np.concatenate([rig.roots.keeps_bend for rig in rigs])
    may_be_even = (has_volume > 0.0) & ~(keeps_bend & (is_mirrored > 0.0))
    bases = find_bases(frames, heads, worlds, largest, may_be_even)
    ends = np.cumsum(counts).tolist()
    return [bases.take(slice(end - count, end)) for end, count in zip(ends, counts, strict=True)]


def find_bases(
    frames: spaces.ParentFrames, heads: Array, worlds: Array, largest: Array, may_be_even: Flags
) -> Bases:
    """Return the bases of chains.

    Args:
        frames: Frames that the root bones turn in, armature space.
        heads: Heads of the root bones, armature space, shape (c, 3).
        worlds: World matrices of the armature objects, shape (c, 3, 4).
        largest: Greatest length in scene units of one unit of armature space, shape (c,).
        may_be_even: Which chains may be solved in their bases at all, shape (c,).
    """
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        size, is_even = _sizes(frames.rs)
    is_even &= may_be_even & (np.abs(frames.post - 1.0).max(axis=-1) <= MAX_UNEVENNESS)
    is_even &= np.isfinite(heads).all(axis=1)
    # Uneven spaces are solved elsewhere: the identity only keeps the inverse below from failing.
    to_world = np.where(is_even[:, None, None], worlds[:, :, :3] @ frames.rs, IDENTITY)
    heads = np.einsum("cij,cj->ci", worlds[:, :, :3], heads) + worlds[:, :, 3]
    from_directions = np.linalg.inv(to_world)
    # No matrix product: NumPy 1 rounds the product of one chain differently from that of many.
    origin = (from_directions * heads[:, None]).sum(axis=2, keepdims=True)
    from_world = np.concatenate((from_directions, -origin), axis=2)
    unit = np.where(is_even, largest * size, 1.0)[:, None]
    numbers = (from_world.reshape(-1, 12), to_world.reshape(-1, 9), unit)
    return Bases(np.concatenate(numbers, axis=1), is_even)


def _sizes(frames: Array) -> tuple[Array, Flags]:
    """Return the scales of frames (c, 3, 3), and which only turn and scale evenly, unmirrored."""
    squares = np.swapaxes(frames, -1, -2) @ frames
    mean_square = np.einsum("cii->c", squares) / 3.0
    unevenness = np.abs(squares - mean_square[:, None, None] * IDENTITY).max(axis=(1, 2))
    is_even: Flags = (unevenness <= MAX_UNEVENNESS * mean_square) & (np.linalg.det(frames) > 0.0)
    return np.sqrt(mean_square), is_even


def point_in_base(from_world: Array, points: Array) -> Array:
    """Return world positions (b, 3) in the bases whose ``from_world`` is given (b, 3, 4)."""
    moved: Array = np.einsum("bij,bj->bi", from_world[:, :, :3], points) + from_world[:, :, 3]
    return moved


def points_in_base(from_world: Array, points: Array) -> Array:
    """Return world positions (b, m, 3) in bases, m points for each, as ``point_in_base``."""
    turned: Array = points @ from_world[:, :, :3].transpose(0, 2, 1)
    return turned + from_world[:, None, :, 3]


def without_rounding(ends: Array, effectors: Array, targets: Array, unit: Array) -> Array:
    """Return goals (b, ..., 3): the effector itself where it misses the target by rounding only.

    A nearly straight chain would turn by a thousand times the rounding of its target.

    Args:
        ends: Targets in the base, shape (b, ..., 3).
        effectors: Effectors in the start pose, in the base, same shape.
        targets: Targets in world space, same shape.
        unit: Scene units of one unit of the base, shape (b,).
    """
    unit = unit.reshape(-1, *[1] * (ends.ndim - 1))
    sizes = np.abs((targets, ends, ends - effectors)).max(axis=-1)[..., None]
    is_rounding = sizes[2] * unit <= POSITION_ROUNDING * (sizes[0] + sizes[1] * unit)
    return np.where(is_rounding, effectors, ends)
