"""The poses that solves return, of one chain or of many."""

from __future__ import annotations

from dataclasses import dataclass

from ..algebra.arithmetic import Array, Condition, Flags, Number
from .records import Record, take_record
from .status import REACHED, STATUSES, Status


@dataclass(frozen=True)
class Solution(Record):
    """The pose that a solve returns.

    For a tree, the joints are the heads, then the effectors; ``residual``, ``tip_gap`` and
    ``status_code`` have one number per effector, shape (E,).

    Attributes:
        joint_positions: Shape (n + 1, 3), armature space. The root moves only if its bone slides or
            floats, or if FOLLOW drags it.
        chain_rotation_wxyz: Rotation of the whole chain, shape (4,), from the chord and bend of the
            start pose to those of the solution. Bones first turn with it and then swing the rest
            of the way, so hinges stay hinges and rolls follow the pole.
        tip_rotation_wxyz: Rotation of the tip bone from its start orientation if one was requested,
            shape (4,); otherwise None.
        blended_rotations_wxyz: Result of ``bone_rotations`` for a solution of forces on free
            joints, shape (n, 4); otherwise None.
        local_rotations_wxyz: Local rotations of chains with ``Joints``, inside their ranges, shape
            (n, 4); otherwise None. If they are set, no other rotation counts.
        slides: Slides of the bones of chains with ``Joints``, from the start pose, shape (n,).
        holds: Whether a turn about X, Y or Z is at a limit that keeps the effector from the target,
            shape (n, 3); None for chains without ``Joints``.
        tip_gap: Radians that are left to the requested tip rotation. Chains with ``Joints`` meet
            the position first, and turn the tip as far as the joints allow.
        slide_holds: Whether a slide is at an end that keeps the effector from the target, shape
            (n,); None if nothing slides.
        forces: Forces of a tree with priorities, shape (E + 1,): on each effector, to hold or to
            pull it, and then on the floor. A joint resists a turn of one radian by one. Otherwise
            None.
        residual: Distance to the target from the returned effector, or from the root if FOLLOW
            leads that.
        iterations: Iterations used, 0 for closed forms.
        status_code: Outcome of the solve, an index into ``tuple(Status)``.
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
        """The outcome for one chain."""
        return STATUSES[self.status_code]

    @property
    def statuses(self) -> tuple[Status, ...]:
        """The outcome for each effector of a tree; of a batch of chains, for each chain."""
        return tuple(STATUSES[code] for code in self.status_code)

    @property
    def is_converged(self) -> Condition:
        """Whether the residual is within the tolerance."""
        return self.status_code == REACHED

    def as_batch(self) -> Solutions:
        """Return the pose of one chain as a batch of one."""
        return take_record(Solutions, self, None)


class Solutions(Solution):
    """The poses of B chains: a ``Solution`` whose numbers and arrays have B as their first axis."""

    def __len__(self) -> int:
        return len(self.joint_positions)

    def __getitem__(self, row: int) -> Solution:
        return take_record(Solution, self, row)
