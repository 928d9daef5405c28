"""Bones whose location a chain writes, and the components of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import bpy
import numpy as np

from ..reading.animation import driven_bones
from ..reading.chain_plan import ChainPlan
from ..reading.channels import read_flags
from ..reading.refusals import refuse_first
from ..reading.spec import ChainSpec
from .joints_of_chain import slide_ranges
from .order import PlannedChain
from .slide import slide_axes


def check_moved(chain: PlannedChain) -> None:
    """Raise a ``RigError`` if a dragged chain, or its body, cannot move its root."""
    if chain.plan.body_root >= 0:
        _check_body(chain)
    if chain.spec.is_dragged:
        _check_dragged(chain)


def _check_body(chain: PlannedChain) -> None:
    root, bones = chain.plan.body_root, chain.object.pose.bones
    name = chain.skeleton.names[root]
    refuse_first(
        {
            "Connected is on for bone '{name}', so the body cannot move it: clear Connected in edit"
            " mode, or choose another Root.": chain.skeleton.is_connected[root],
            "The location of bone '{name}' is locked, so the body cannot move it: unlock it, or"
            " choose another Root.": read_flags(bones, "lock_location", 3)[root].any(),
            "Bone '{name}', the root of the body, has a constraint: mute it, or choose another"
            " Root.": any(not constraint.mute for constraint in bones[name].constraints),
            "Bone '{name}' has a driver on its location, which always wins: remove the driver, or"
            " choose another Root.": name in driven_bones(chain.object, "location"),
        },
        name=name,
    )


def may_stay_now(armature_object: bpy.types.Object, chains: Iterable[ChainSpec]) -> bool:
    """Return whether a bone that chains have moved may now be one that must stay."""
    specs, bones = list(chains), cast(Any, armature_object.pose).bones
    roots = {spec.body.root for spec in specs if spec.body is not None}
    moved = {bone.name for spec in specs for bone in spec.stored_pose if bone.location}
    # For bones other than roots only their joints could tell.
    return not moved <= roots or any(
        any(bones[root].lock_location) or any(not tie.mute for tie in bones[root].constraints)
        for root in roots
        if root in bones
    )


def _check_dragged(chain: PlannedChain) -> None:
    root, moves_root = chain.plan.written[0], chain.spec.moves_root
    locks, name = read_flags(chain.object.pose.bones, "lock_location", 3), chain.plan.names[0]
    refuse_first(
        {
            "Connected is on for bone '{name}', so it cannot be dragged: clear Connected in"
            " edit mode, switch Anchor on, or choose another solver.": (
                moves_root and chain.skeleton.is_connected[root]
            ),
            "The location of bone '{name}' is locked, so it cannot be dragged: unlock it.": (
                moves_root and locks[root].any()
            ),
            "Bone '{name}' has a driver on its location, which always wins: remove the driver, or"
            " choose another solver.": name in driven_bones(chain.object, "location"),
        },
        name=name,
    )


def find_moved_root(plan: ChainPlan, spec: ChainSpec) -> int:
    """Return the bone whose whole location a chain or its body writes; -1 for none."""
    if not spec.is_dragged:
        return plan.body_root
    root = int(plan.written[0])
    return -1 if plan.skeleton.is_connected[root] else root


def located_bones(plan: ChainPlan, spec: ChainSpec) -> frozenset[int]:
    """Return the bones whose location a chain writes.

    Raises:
        RigError: If a joint of the chain cannot be used; the text says what to do next.
    """
    located = {find_moved_root(plan, spec)} - {-1}
    if (ranges := slide_ranges(plan, spec)) is not None:
        bones = plan.written[ranges.any(axis=1)]
        located.update(bones[~plan.skeleton.is_connected[bones]].tolist())
    return frozenset(located)


def scaled_bones(plan: ChainPlan, spec: ChainSpec) -> frozenset[int]:
    """Return the bones whose scale a chain writes: all without its body, if it stretches."""
    return frozenset(plan.by_itself.written.tolist() if spec.use_stretch else ())


def located_components(plan: ChainPlan, spec: ChainSpec) -> dict[int, tuple[int, ...]]:
    """Return the location components that a chain writes, by bone; as ``located_bones``."""
    skeleton = plan.skeleton
    whole = find_moved_root(plan, spec)
    components: dict[int, tuple[int, ...]] = {}
    for bone in sorted(located_bones(plan, spec)):
        axes = slide_axes(skeleton, np.array([bone]))[0]
        moved = range(3) if bone == whole else np.flatnonzero(axes).tolist()
        components[bone] = tuple(moved)
    return components
