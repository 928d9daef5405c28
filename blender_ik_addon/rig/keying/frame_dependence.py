"""Armature objects whose poses depend on earlier frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import bpy

from ..planning.known_skeletons import skeleton_of
from ..reading.chain_plan import followed_anchors, plan_or_none
from ..reading.dependencies import Dependencies
from ..reading.spec import ChainSpec, StartFrom

LiveRigs = Mapping[bpy.types.Object, Sequence[ChainSpec]]
"""Armature objects, and the settings of their live chains."""


def frame_dependent_rigs(rigs: LiveRigs) -> set[int]:
    """Return the uids of objects whose chains depend on earlier frames, also through other objects.

    ``rigs`` are all armature objects of a scene.
    """
    dependent = {
        rig.session_uid
        for rig, chains in rigs.items()
        if any(spec.depends_on_time or spec.start_from is StartFrom.CURRENT for spec in chains)
    }
    items = rigs.items() if dependent else ()
    owners = {rig.session_uid: dependencies_of(rig, chains).owners for rig, chains in items}
    while added := {uid for uid in owners.keys() - dependent if owners[uid] & dependent}:
        dependent |= added
    return dependent


def dependencies_of(rig: bpy.types.Object, chains: Iterable[ChainSpec]) -> Dependencies:
    """Return the dependencies of an armature object's chains."""
    dependencies, skeleton = Dependencies(), skeleton_of(rig)
    for spec in chains:
        plan = plan_or_none(skeleton, spec)
        if plan is not None:
            dependencies.add_anchors(*[anchor for anchor, _ in followed_anchors(plan, spec)])
            dependencies.add_chain(rig, plan.names[0], plan.names)
    return dependencies
