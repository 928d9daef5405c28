"""The active chain solved by every solver: which chains that takes, and what their settings are."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import bpy

from ...core import IKError
from ...rig.comparing import comparing
from ...rig.comparing.trial import Attempt, Compared
from ...rig.reading.refusals import RigError
from ...rig.reading.spec import ChainSpec, ForceSpec
from ...rig.reading.update import Update
from ...rig.tools.lengths import length_unit
from ..chains import ChainGroup, chain_key, chains_of, is_idle, owner_of
from ..forces import force_spec
from ..records import bones_of_chain, chain_spec


def compare_solvers(settings: ChainGroup, depsgraph: bpy.types.Depsgraph) -> list[Attempt]:
    """Solve a chain by every solver; nothing on the rig changes.

    Raises:
        IKError: If none can solve it, with what to do first.
    """
    if settings.influence <= 0.0:
        raise RigError("Influence is zero, so that no solver would show: raise it first.")
    owner, scene = owner_of(settings), cast(bpy.types.Scene, depsgraph.scene)
    _, index = chain_key(settings)
    update = Update(scene, depsgraph, is_new_frame=False)
    specs = _specs_with(settings, owner, index)
    unit = length_unit(scene)
    return comparing.compare(Compared(update, owner, index, specs, _force_of(settings), unit))


def _specs_with(settings: ChainGroup, owner: bpy.types.Object, index: int) -> dict[int, ChainSpec]:
    """Return a chain, and the live ones that it shares bones with, directly or through others."""
    specs, chains = {index: chain_spec(settings)}, chains_of(owner)
    shared = set(bones_of_chain(settings))
    waiting = [i for i, each in enumerate(chains) if i != index and not is_idle(each)]
    while near := [i for i in waiting if not shared.isdisjoint(bones_of_chain(chains[i]))]:
        waiting = [i for i in waiting if i not in near]
        for i in near:
            shared.update(bones_of_chain(chains[i]))
            # One that cannot be read is not solved, and pulls at nothing.
            spec = _sound(chains[i])
            if spec is not None:
                specs[i] = spec
    return specs


def _sound(settings: ChainGroup) -> ChainSpec | None:
    try:
        return chain_spec(settings)
    except IKError:
        return None


def _force_of(settings: ChainGroup) -> ForceSpec:
    """Return what would act on a chain that a force pulls, at once and not in time."""
    is_set = settings.is_property_set("force")
    try:
        return replace(force_spec(settings.force, settings.force), easing=None)
    finally:
        if not is_set:
            # Reading settings that were never set has Blender store them.
            settings.property_unset("force")
