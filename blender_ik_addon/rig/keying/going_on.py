"""Which armature objects pose otherwise when the frames before are left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import bpy

from ..planning.known_skeletons import skeleton_of
from ..reading.chain_plan import plan_or_none
from ..reading.dependencies import Dependencies
from ..reading.spec import ChainSpec, StartFrom

LiveRigs = Mapping[bpy.types.Object, Sequence[ChainSpec]]
"""Armature objects, and the settings of their live chains."""


def going_on(rigs: LiveRigs) -> set[int]:
    """Return the armature objects with chains that go on from frame to frame, or hang on such ones.

    Args:
        rigs: All of a scene.

    Returns:
        Session uids.
    """
    found = {
        rig.session_uid
        for rig, chains in rigs.items()
        if any(spec.goes_on or spec.start_from is StartFrom.CURRENT for spec in chains)
    }
    moved = rigs.items() if found else ()
    owners = {rig.session_uid: movers(rig, chains).owners for rig, chains in moved}
    while more := {uid for uid in owners.keys() - found if owners[uid] & found}:
        found |= more
    return found


def movers(rig: bpy.types.Object, chains: Iterable[ChainSpec]) -> Dependencies:
    """Return what chains of an armature object hang on."""
    found, skeleton = Dependencies(), skeleton_of(rig)
    for spec in chains:
        for anchor in spec.anchors:
            found.add_anchor(anchor)
        plan = plan_or_none(skeleton, spec)
        if plan is not None:
            found.add_chain(rig, skeleton.names[int(plan.written[0])])
    return found
