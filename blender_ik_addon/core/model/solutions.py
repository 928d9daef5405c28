"""The poses that solves return: of one chain, or of many."""

from __future__ import annotations

from dataclasses import dataclass

from ..algebra.arithmetic import Array, Condition, Flags, Number
from .records import Record, take_record
from .status import REACHED, STATUSES, Status


@dataclass(frozen=True)
class Solution(Record):
    """The pose that a solve returns.

    Of a tree the joints are the heads and then the effectors, and ``residual``, ``tip_gap`` and
    ``status_code`` have one number an effector, shape (E,).

    Attributes:
        joint_positions: Shape (n + 1, 3), armature space; the root has not moved, unless its
            bone slides, or FOLLOW has dragged it.
        chain_rotation_wxyz: Turn of the chain as a whole, shape (4,): it takes the start pose's
            chord and bend to the solution's. Bones turn with it first and swing the rest of the
            way, so hinges stay hinges and rolls follow the pole.
        tip_rotation_wxyz: The turn of the tip bone from its start orientation where a rotation
            was asked for, shape (4,), else None.
        blended_rotations_wxyz: What ``bone_rotations`` gives for a solution of forces on joints
            that turn freely, shape (n, 4); else None.
        local_rotations_wxyz: Of chains with ``Joints``: the local rotation of each bone, within its
            range, shape (n, 4); else None. They are all that counts then.
        slides: Of chains with ``Joints``: how far each bone has moved along its slide axis, from
            where it starts, shape (n,).
        holds: Which turns about X, Y and Z stand on limits that keep the effector from the target,
            shape (n, 3); None for chains without ``Joints``.
        tip_gap: Radians that are left to the wanted tip rotation: of chains with ``Joints`` the
            position comes first, and then what the joints allow.
        slide_holds: Which slides stand at ends that keep the effector from the target, shape (n,);
            None where nothing slides.
        forces: Of trees whose goals have priorities: what it takes to hold each effector, or what
            pulls it, and at last what the floor carries, shape (E + 1,), joints that are turned by
            a radian resisting by one; else None.
        residual: Distance from the returned effector, or from the root that FOLLOW leads, to the
            target.
        iterations: Sweeps used, 0 for closed forms.
        status_code: How the solve ended, an index into ``STATUSES``.
    """

    joint_positions: Array
    chain_rotation_wxyz: Array
    tip_rotation_wxyz: Array | None
    residual: Number
    iterations: Number
    status_code: Number
    blended_rotations_wxyz: Array | None = None
    local_rotations_wxyz: Array | None = None
    slides: Array | None = None
    holds: Flags | None = None
    tip_gap: Number = 0.0
    slide_holds: Flags | None = None
    forces: Array | None = None

    @property
    def status(self) -> Status:
        """How the solve of one chain ended."""
        return STATUSES[self.status_code]

    @property
    def statuses(self) -> tuple[Status, ...]:
        """How the solve of a tree ended for each effector."""
        return tuple(STATUSES[code] for code in self.status_code)

    @property
    def is_converged(self) -> Condition:
        """Whether the residual is within the tolerance."""
        return self.status_code == REACHED

    def as_batch(self) -> Solutions:
        """Return the pose of one chain as that of a batch of one."""
        return take_record(Solutions, self, None)


class Solutions(Solution):
    """The poses of B chains: a ``Solution`` whose numbers and arrays have B as their first axis."""

    def __len__(self) -> int:
        """Return the number of chains."""
        return len(self.joint_positions)

    def __getitem__(self, row: int) -> Solution:
        """Return the solution of one chain."""
        return take_record(Solution, self, row)
