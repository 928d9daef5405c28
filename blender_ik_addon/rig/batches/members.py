"""The chains that are solved side by side: armature objects, and the rows of their chains."""

from __future__ import annotations

from collections.abc import Sequence

from ..planning.live_chain import LiveChain
from ..reading.channels import Pose
from .rig_state import RigState

Members = list[tuple[RigState, list[int]]]


def live_chains_of(members: Members) -> list[LiveChain]:
    """Return the chains, those of one armature object after those of the one before."""
    return [state.live_chains[row] for state, rows in members for row in rows]


def uids_of(members: Members) -> list[int]:
    """Return the session uids of the chains' armature objects."""
    return [state.uid for state, rows in members for _ in rows]


def poses_of(members: Members) -> list[Pose]:
    """Return the poses of the chains' armature objects, one a chain."""
    return [state.pose for state, rows in members for _ in rows if state.pose is not None]


def are_compiled(members: Members, compiled: Members, live_chains: Sequence[LiveChain]) -> bool:
    """Tell whether chains are just those that a batch is compiled of, in the same rows.

    Args:
        members: The chains.
        compiled: Those of the batch.
        live_chains: As they were when it was compiled.
    """
    if [rows for _, rows in members] != [rows for _, rows in compiled]:
        # Another chain of a rig has come or gone: the same chains stand in other rows.
        return False
    present = live_chains_of(members)
    return len(present) == len(live_chains) and all(
        one is other for one, other in zip(present, live_chains, strict=True)
    )
