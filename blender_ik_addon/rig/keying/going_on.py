"""Which armature objects pose otherwise when the frames before are left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import bpy

from ..planning.known_skeletons import skeleton_of
from ..reading.chain_plan import plan_or_none
from ..reading.dependencies import Dependencies
from ..reading.spec import ChainSpec, StartFrom


@dataclass(frozen=True)
class LiveRig:
    """An armature object and the settings of its live chains."""

    object: bpy.types.Object
    chains: Sequence[ChainSpec]


def going_on(rigs: Mapping[int, LiveRig]) -> set[int]:
    """Return the armature objects with chains that go on from frame to frame, or hang on such ones.

    Args:
        rigs: All of a scene, by session uid.

    Returns:
        Session uids.
    """
    found = {
        uid
        for uid, rig in rigs.items()
        if any(spec.goes_on or spec.start_from is StartFrom.CURRENT for spec in rig.chains)
    }
    owners = {uid: movers(rig).owners for uid, rig in rigs.items()} if found else {}
    while more := {uid for uid in owners.keys() - found if owners[uid] & found}:
        found |= more
    return found


def movers(rig: LiveRig) -> Dependencies:
    """Return what the chains of a rig hang on."""
    found, skeleton = Dependencies(), skeleton_of(rig.object)
    for spec in rig.chains:
        for anchor in spec.anchors:
            found.add_anchor(anchor)
        plan = plan_or_none(skeleton, spec)
        if plan is not None:
            found.add_chain(rig.object, skeleton.names[int(plan.written[0])])
    return found
