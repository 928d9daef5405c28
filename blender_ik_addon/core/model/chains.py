"""Chains and trees of bones in their start poses: one, or many of the same structure.

Points are in the armature space of their chain (outside Blender: in any Cartesian frame), and
lengths are in its unit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ..algebra.arithmetic import Array, Counts, Number
from .errors import InvalidChainError
from .forces import Forces
from .joints import JointKind, Joints
from .records import Record, Shape, check_kind, check_shape, freeze, take_record
from .topology import Topology

# Smallest length of a segment, as a share of the chain's: float32 storage cannot keep the direction
# of a shorter one.
MIN_SEGMENT_SHARE = 1e-9
# Smallest volume of an offset, as a share of its size cubed: a flatter one has lost a direction.
MIN_VOLUME_SHARE = 1e-9
# The same in chains, as a share of the product of its axes' lengths: a flatter one has no inverse.
# A hundred times more, and bones under uneven scales of 1e-4 are refused.
MIN_AXES_VOLUME_SHARE = 1e-14


@dataclass(frozen=True)
class Chain(Record):
    """A chain of joints in its start pose, root first; or a tree: chains that share bones.

    A bone of a tree is a rigid body that turns about its head. Its children's heads may be anywhere
    on it.

    Attributes:
        joint_positions: Heads of the bones, then the effector, shape (n + 1, 3). For a tree: the
            heads, then the effectors, shape (n + E, 3).
        bend_direction: Direction in which the chain bends if its start pose is straight, shape
            (3,). Only the part across the chain counts. None and zero mean the axis that is least
            aligned with the chain. For a tree: one per bone, shape (n, 3).
        joints: One joint per bone; None if all turn freely.
        forces: Forces besides the pull of the target, one per bone; only FORCE uses them.
        topology: Hierarchy of the bones of a tree; None for a chain.
        segment_lengths: Shape (n,). For a tree: from the parents' heads to all points, (n + E,).
        compiled: Cache of the solvers for data that depends on the start pose only.
    """

    joint_positions: Array
    bend_direction: Array | None = None
    joints: Joints | None = None
    forces: Forces | None = None
    topology: Topology | None = None
    segment_lengths: Array = field(init=False)
    compiled: Any = field(init=False, default=None, repr=False, compare=False)
    leading: ClassVar[Shape] = ()

    def __post_init__(self) -> None:
        """Copy, check and freeze the arrays."""
        records = (("joints", Joints), ("forces", Forces), ("topology", Topology))
        for name, kind in records:
            if getattr(self, name) is not None:
                check_kind(getattr(self, name), kind, name, InvalidChainError)
        shape: Shape = (*self.leading, "n + 1", 3)
        self._freeze_arrays(InvalidChainError, joint_positions=shape)
        leading, count = self.joint_positions.shape[:-2], self.bone_count
        if count < 1:
            raise InvalidChainError(
                "A chain needs two joint positions or more:"
                " give the head of each bone and the end of the last."
            )
        lengths = self._measure_segments()
        lengths.setflags(write=False)
        freeze(self, "segment_lengths", lengths)
        bends = (*leading, 3) if self.topology is None else (*leading, count, 3)
        self._freeze_arrays(InvalidChainError, bend_direction=bends)
        for name, record in (("joints", self.joints), ("forces", self.forces)):
            if record is not None:
                advice = "give one for each bone"
                check_shape(record.shape, (*leading, count), name, InvalidChainError, advice)
        if self.joints is not None:
            check = _check_chain_offsets if self.topology is None else _check_offsets
            check(self.joints)
        if self.joints is not None and JointKind.FLOATING in self.joints.kinds:
            if self.topology is None or len(self.topology.roots) > 1:
                raise InvalidChainError(
                    "Only a whole tree can float: give one topology with all bones below the first"
                    " one."
                )

    def _measure_segments(self) -> Array:
        points, topology = self.joint_positions, self.topology
        if topology is None:
            lengths: Array = np.linalg.norm(np.diff(points, axis=-2), axis=-1)
            short = np.argwhere(lengths <= MIN_SEGMENT_SHARE * lengths.sum(axis=-1, keepdims=True))
            if len(short):
                row = " ".join(str(index) for index in short[0][:-1])
                chain = f"chain {row}" if row else "the chain"
                raise InvalidChainError(
                    f"Segment {short[0][-1]} of {chain} has no length:"
                    " lengthen that bone or leave it out of the chain."
                )
            return lengths
        count, effectors = len(topology.parents), len(topology.effector_bones)
        if points.shape[-2] != count + effectors:
            raise InvalidChainError(
                f"There are {points.shape[-2]} joint positions for {count} bones and {effectors}"
                " effectors: give one for each bone, then one for each effector."
            )
        carriers = np.array([*topology.parents, *topology.effector_bones])
        offsets = points - points[..., carriers, :]
        lengths = np.linalg.norm(offsets * (carriers >= 0)[:, None], axis=-1)
        for effector, path in enumerate(topology.paths):
            if (lengths[..., [*path, count + effector]].sum(axis=-1) <= 0.0).any():
                raise InvalidChainError(
                    f"Effector {effector} of the tree is at the head of a root bone, which never"
                    " moves: give it another point."
                )
        return lengths

    @property
    def bone_count(self) -> int:
        """Number of bones."""
        if self.topology is not None:
            return len(self.topology.parents)
        return int(self.joint_positions.shape[-2]) - 1

    @property
    def max_reach(self) -> Number:
        """The farthest distance from root to effector, the sum of the lengths."""
        return self.segment_lengths.sum(axis=-1)

    @property
    def min_reach(self) -> Number:
        """The distance below which the chain cannot fold; 0 if no segment exceeds all others."""
        return np.maximum(0.0, 2.0 * self.segment_lengths.max(axis=-1) - self.max_reach)

    def as_batch(self) -> Chains:
        """Return the chain as a batch of one."""
        return take_record(Chains, self, None)


class Chains(Chain):
    """B chains of n bones: a ``Chain`` whose arrays have B as their first axis."""

    leading = ("B",)
    source: tuple[Chains, Counts | None] | None = None
    """The chains that hold the compiled data of these, and the rows there; None for all rows."""

    def __len__(self) -> int:
        return len(self.joint_positions)

    def take(self, rows: Counts | int) -> Chains:
        """Return some of the chains, by indices or flags; compiled data is shared."""
        rows = np.arange(len(self))[rows if np.size(rows) else np.empty(0, dtype=np.int64)]
        chains = super().take(rows)
        vars(chains).update(compiled=None, source=(self, rows))
        return chains

    def under(self, gravity: Array) -> Chains:
        """Return the chains with another gravity; compiled data is shared.

        Args:
            gravity: As in ``Forces``, shape (B, 3).
        """
        if self.forces is None:
            raise InvalidChainError("Gravity acts on masses only: give the chains forces first.")
        chains = object.__new__(Chains)
        forces = self.forces.under(gravity)
        source = self.source[0] if self.source and self.source[1] is None else self
        vars(chains).update(vars(self), forces=forces, compiled=None, source=(source, None))
        return chains


def _check_chain_offsets(joints: Joints) -> None:
    """Raise ``InvalidChainError`` if the axes of a bone lie in one plane."""
    volumes = np.linalg.norm(joints.offsets, axis=-2).prod(axis=-1)
    if (np.abs(np.linalg.det(joints.offsets)) <= MIN_AXES_VOLUME_SHARE * volumes).any():
        raise InvalidChainError(
            "A joint's offset is flat: give three axes that do not lie in one plane."
        )


def _check_offsets(joints: Joints) -> None:
    """Raise ``InvalidChainError`` if a bone of a tree stretches or has no volume."""
    if joints.slide_low.any() or joints.slide_high.any():
        raise InvalidChainError(
            "Bones that several chains share cannot stretch: set their slides to zero, or solve"
            " the chains one by one."
        )
    sizes = np.linalg.norm(joints.offsets, axis=-1).max(axis=-1)
    if (np.abs(np.linalg.det(joints.offsets)) <= MIN_VOLUME_SHARE * sizes**3).any():
        raise InvalidChainError("A bone of the tree has zero scale on an axis: raise it.")
