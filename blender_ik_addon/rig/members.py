"""The chains that are solved side by side: armature objects, and the rows of their limbs."""

from __future__ import annotations

from collections.abc import Sequence

from .channels import Pose
from .limb import Limb
from .rig_state import RigState

Members = list[tuple[RigState, list[int]]]


def limbs_of(members: Members) -> list[Limb]:
    """Return the limbs, those of one armature object after those of the one before."""
    return [state.limbs[row] for state, rows in members for row in rows]


def uids_of(members: Members) -> list[int]:
    """Return the session uids of the limbs' armature objects."""
    return [state.uid for state, rows in members for _ in rows]


def poses_of(members: Members) -> list[Pose]:
    """Return the poses of the limbs' armature objects, one a limb."""
    return [state.pose for state, rows in members for _ in rows if state.pose is not None]


def are_compiled(members: Members, compiled: Members, limbs: Sequence[Limb]) -> bool:
    """Tell whether chains are just those that a batch is compiled of, in the same rows.

    Args:
        members: The chains.
        compiled: Those of the batch.
        limbs: As they were when it was compiled.
    """
    if [rows for _, rows in members] != [rows for _, rows in compiled]:
        # Another chain of a rig has come or gone: the same chains stand in other rows.
        return False
    present = limbs_of(members)
    return len(present) == len(limbs) and all(
        one is other for one, other in zip(present, limbs, strict=True)
    )
