"""The active chain solved by every solver: reads it, and the chains that share its bones."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import replace
from typing import cast

import bpy

from ...core import IKError
from ...rig.comparing.built_in import constrain
from ...rig.comparing.compared import Compared
from ...rig.comparing.comparing import CONTENDERS, Attempt, find_home, solve
from ...rig.reading.refusals import RigError
from ...rig.reading.spec import ChainSpec, ForceSpec
from ...rig.reading.update import Update
from ...rig.tools.lengths import length_unit
from ...rig.trees.shared_bones import sharing
from ..chains import ChainGroup, chain_key, chains_of, is_idle, owner_of
from ..forces import force_spec
from ..records import bones_of_chains, chain_spec
from .marks import ChainMark, find_marked

COMPARED = len(CONTENDERS) + 1
"""How many are compared: each solver, and Blender's constraint."""
Graph = Callable[[], bpy.types.Depsgraph]


def compare_solvers(mark: ChainMark, graph: Graph) -> Generator[int, None, list[Attempt]]:
    """Solve a chain by every solver, one after the other; nothing on the rig changes.

    Between two steps nothing of it is in the file, and no reference is held: it may be stopped
    there, and the file may change.

    Args:
        mark: Of the chain.
        graph: Returns the graph to solve it in, as it is now.

    Yields:
        The number of each solver once it is done; the constraint is the last and quick.

    Returns:
        The attempts of all solvers and of the constraint.

    Raises:
        IKError: If none can solve it, or if it has changed meanwhile, with what to do first.
    """
    compared, found = _read(mark, graph()), list[Attempt]()
    home, before = find_home(compared), compared.likeness()
    for number, (solver, use_finish) in enumerate(CONTENDERS):
        compared = _read_unchanged(mark, graph, before)
        found.append(solve(compared, home, solver, use_finish=use_finish))
        yield number
    return [*found, constrain(_read_unchanged(mark, graph, before), home)]


def _read_unchanged(mark: ChainMark, graph: Graph, before: object) -> Compared:
    """Return a chain to compare solvers on; raise if it has changed."""
    compared = _read(mark, graph())
    if compared.likeness() != before:
        raise _changed()
    return compared


def _changed() -> RigError:
    return RigError(
        "The chain, its armature or its target has changed during the comparison: compare again."
    )


def _read(mark: ChainMark, depsgraph: bpy.types.Depsgraph) -> Compared:
    """Return a chain to compare solvers on."""
    settings = find_marked(mark)
    if settings is None:
        raise _changed()
    if settings.influence <= 0.0:
        raise RigError("Influence is zero, so that no solver would show: raise it first.")
    owner, scene = owner_of(settings), cast(bpy.types.Scene, depsgraph.scene)
    _, index = chain_key(settings)
    update = Update(scene, depsgraph, is_new_frame=False)
    specs, force = _specs_with(settings, owner, index), _force_of(settings)
    compared = Compared(update, owner, index, specs, force, length_unit(scene))
    compared.check()
    return compared


def _specs_with(settings: ChainGroup, owner: bpy.types.Object, index: int) -> dict[int, ChainSpec]:
    """Return a chain's settings and those of the live chains in one tree with it, by index."""
    chains, bones = chains_of(owner), bones_of_chains(owner, with_body=True)
    live = {i: bones[i] for i, each in enumerate(chains) if i == index or not is_idle(each)}
    specs = {index: chain_spec(settings)}
    for i in next(group for group in sharing(live) if index in group):
        # One that cannot be read is not solved either.
        with suppress(IKError):
            specs[i] = chain_spec(chains[i])
    return specs


def _force_of(settings: ChainGroup) -> ForceSpec:
    """Return the settings that a chain has for the solver Force, without easing."""
    is_set = settings.is_property_set("force")
    try:
        return replace(force_spec(settings.force, settings.force), easing=None)
    finally:
        if not is_set:
            # Blender stores settings that are read, even if they were never set.
            settings.property_unset("force")
