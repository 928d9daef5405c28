"""The spaces that the root bones of chains turn in, between world space and the chains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...core.algebra.arithmetic import Array, Flags, Indices
from ..planning.live_chain import LiveChain
from ..reading import spaces
from ..reading.channels import Pose
from ..reading.rows import joined
from ..reading.spec import NegativeScale

# A space that is sheared or stretched by less than this counts as even. Targets are met exactly all
# the same, for they come in through the inverse of the very space; only what is shortest or nearest
# is told by its measure. Rest matrices of bones that point against their parents, legs under hips,
# are as uneven as 1e-5.
EVEN_SPACE = 5e-5
# A world matrix with less volume than this, compared with its longest side, is scaled flat.
FLAT = 1e-12
# What Blender's single precision makes of a place, as a share of its coordinates here and there.
ROUNDING = 4.0 * float(np.finfo(np.float32).eps)
IDENTITY = np.eye(3)


@dataclass(frozen=True)
class Bases:
    """The spaces of c chains, each with its root's head as origin.

    Attributes:
        numbers: All that is told of them, a row each, which is how they are compared, taken and
            put together: shape (c, 22).
        is_even: Which spaces turn and scale only, so that a chain keeps its shape in them, (c,).
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
        """The most that one in the base is in scene units, in any direction, shape (c,)."""
        return self.numbers[:, 21]

    def rows(self, rows: slice | list[int] | Indices) -> Bases:
        """Return the bases of some of the chains."""
        return Bases(self.numbers[rows], self.is_even[rows])

    def differ(self, former: Bases) -> Flags:
        """Tell which bases are not those of before, shape (c,)."""
        differs: Flags = (former.numbers != self.numbers).any(axis=1)
        return differs


class Roots(NamedTuple):
    """What of the root bones of c chains of an armature object stays while it is posed.

    Attributes:
        bones: Indices, shape (c,).
        parents: Those of their parents, -1 without, shape (c,).
        carriers: Those of the parents that there are.
        rest: Their frames.
        keeps_bend: Which chains bend as if the object were not mirrored, shape (c,).
    """

    bones: Indices
    parents: Indices
    carriers: Indices
    rest: spaces.RestFrames
    keeps_bend: Flags

    @classmethod
    def of(cls, live_chains: Sequence[LiveChain]) -> Roots:
        """Return the roots of chains of one armature object."""
        specs = [live_chain.spec for live_chain in live_chains]
        skeleton = live_chains[0].skeleton
        bones = np.array([live_chain.plan.root for live_chain in live_chains])
        parents = skeleton.parents[bones]
        return cls(
            bones,
            parents,
            parents[parents >= 0],
            skeleton.frames.take(bones),
            np.array([each.negative_scale is NegativeScale.KEEP for each in specs]),
        )


def hanging_from(roots: Roots, pose: Pose) -> bytes:
    """Return all that the bases of chains depend on in a pose, to compare."""
    parents, heads = pose.matrices[roots.carriers], pose.matrices[roots.bones, :3, 3]
    return pose.world.tobytes() + parents.tobytes() + heads.tobytes()


WorldSize = tuple[float, bool]
"""The most that one in armature space is in scene units, and whether an object is not flat."""


def world_sizes(poses: Sequence[Pose]) -> list[WorldSize]:
    """Return what the world matrices of armature objects do to sizes."""
    worlds = np.array([pose.world[:3, :3] for pose in poses])
    with np.errstate(invalid="ignore", over="ignore"):
        largest = np.linalg.norm(worlds, ord=2, axis=(1, 2))
        volume = np.abs(np.linalg.det(worlds))
        shows = volume > FLAT * np.linalg.norm(worlds, axis=(1, 2)) ** 3
    return list(zip(largest.tolist(), shows.tolist(), strict=True))


class Posed(NamedTuple):
    """The chains of one armature object: their roots, its present pose and what the object does.

    That is to sizes, and whether it is mirrored.
    """

    roots: Roots
    pose: Pose
    size: WorldSize
    is_mirrored: bool


def read_bases(rigs: Sequence[Posed]) -> list[Bases]:
    """Return the bases of the chains of armature objects in their present poses.

    Args:
        rigs: Each with one chain or more; all are computed at once.
    """
    counts = [len(rig.roots.bones) for rig in rigs]
    at_roots = np.concatenate([rig.pose.matrices[rig.roots.bones, :3, 3] for rig in rigs])
    parents = np.concatenate([rig.roots.parents for rig in rigs])
    above = np.concatenate([rig.pose.matrices[rig.roots.parents] for rig in rigs])[:, :3, :3]
    above[parents < 0] = IDENTITY
    frames = spaces.parent_frames(above, joined([rig.roots.rest for rig in rigs]))
    worlds = np.repeat(np.array([rig.pose.world[:3] for rig in rigs]), counts, axis=0)
    told = np.array([(*rig.size, rig.is_mirrored) for rig in rigs])
    largest, shows_shape, is_mirrored = np.repeat(told, counts, axis=0).T
    keeps_bend = np.concatenate([rig.roots.keeps_bend for rig in rigs])
    may_be_even = (shows_shape > 0.0) & ~(keeps_bend & (is_mirrored > 0.0))
    bases = find_bases(frames, at_roots, worlds, largest, may_be_even)
    ends = np.cumsum(counts).tolist()
    return [bases.rows(slice(end - count, end)) for end, count in zip(ends, counts, strict=True)]


def find_bases(
    frames: spaces.ParentFrames, heads: Array, worlds: Array, largest: Array, may_be_even: Flags
) -> Bases:
    """Return the bases of chains.

    Args:
        frames: Those that the root bones turn in, armature space.
        heads: The roots' heads there, shape (c, 3).
        worlds: World matrices of the armature objects, shape (c, 3, 4).
        largest: The most that one in armature space is in scene units, shape (c,).
        may_be_even: Which chains may be solved in their bases at all, shape (c,).
    """
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        size, is_even = _sizes(frames.rs)
    is_even &= may_be_even & (np.abs(frames.post - 1.0).max(axis=-1) <= EVEN_SPACE)
    is_even &= np.isfinite(heads).all(axis=1)
    # What is not even is solved elsewhere; here it only must not stop the others.
    to_world = np.where(is_even[:, None, None], worlds[:, :, :3] @ frames.rs, IDENTITY)
    heads = np.einsum("cij,cj->ci", worlds[:, :, :3], heads) + worlds[:, :, 3]
    from_directions = np.linalg.inv(to_world)
    # Not a product of matrices: NumPy 1 rounds that of one chain otherwise than those of several.
    origin = (from_directions * heads[:, None]).sum(axis=2, keepdims=True)
    from_world = np.concatenate((from_directions, -origin), axis=2)
    unit = np.where(is_even, largest * size, 1.0)[:, None]
    numbers = (from_world.reshape(-1, 12), to_world.reshape(-1, 9), unit)
    return Bases(np.concatenate(numbers, axis=1), is_even)


def _sizes(frames: Array) -> tuple[Array, Flags]:
    """Return the scales of frames (c, 3, 3), and which turn and scale evenly, without mirroring."""
    squares = np.swapaxes(frames, -1, -2) @ frames
    square = np.einsum("cii->c", squares) / 3.0
    off = np.abs(squares - square[:, None, None] * IDENTITY).max(axis=(1, 2))
    is_even: Flags = (off <= EVEN_SPACE * square) & (np.linalg.det(frames) > 0.0)
    return np.sqrt(square), is_even


def point_in_base(from_world: Array, points: Array) -> Array:
    """Return world positions (b, 3) in bases, given by their ``from_world`` (b, 3, 4)."""
    moved: Array = np.einsum("bij,bj->bi", from_world[:, :, :3], points) + from_world[:, :, 3]
    return moved


def points_in_base(from_world: Array, points: Array) -> Array:
    """Return world positions (b, m, 3), m for each base; as ``point_in_base``."""
    turned: Array = points @ from_world[:, :, :3].transpose(0, 2, 1)
    return turned + from_world[:, None, :, 3]


def without_rounding(ends: Array, there: Array, targets: Array, unit: Array) -> Array:
    """Return where effectors are to go (b, ..., 3): nowhere, if only rounding asks for it.

    A chain that is nearly straight would turn a thousand times as far as its target is rounded.

    Args:
        ends: Where targets are, in the base, shape (b, ..., 3).
        there: Where the effectors are in the start pose, same shape.
        targets: Where targets are in world space, same shape.
        unit: World units of one in the base, shape (b,).
    """
    unit = unit.reshape(-1, *[1] * (ends.ndim - 1))
    sizes = np.abs((targets, ends, ends - there)).max(axis=-1)[..., None]
    is_there = sizes[2] * unit <= ROUNDING * (sizes[0] + sizes[1] * unit)
    return np.where(is_there, there, ends)
