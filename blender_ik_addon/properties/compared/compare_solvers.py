"""Comparison of all solvers on one chain, together with the chains that share its bones."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import replace
from typing import cast

import bpy

from ...core import IKError, Solver
from ...rig.comparing.comparing import CONTENDERS, Attempt, ComparisonChain, build_trial, solve
from ...rig.comparing.ik_constraint import solve_by_constraint
from ...rig.reading.refusals import RigError
from ...rig.reading.spec import ForceSpec
from ...rig.reading.update import Update
from ...rig.trees.shared_bones import group_by_bones
from ..chains import chain_key, chains_of, is_idle, owner_of
from ..forces import force_spec
from ..records import bones_of_chains, chain_spec
from .comparison_results import find_marked

CHANGED = "The chain, its armature or its target has changed during the comparison: compare again."
GetDepsgraph = Callable[[], bpy.types.Depsgraph]


def compare_solvers(mark: str, graph: GetDepsgraph) -> Generator[int, None, list[Attempt]]:
    """Solve a chain with every solver, one after the other, without changing the rig.

    Between two steps the file holds nothing of the comparison, and no references are held. The
    generator may be stopped there, and the file may change.

    Args:
        mark: The identifier of the chain, from ``mark_of``.
        graph: Returns the present graph to solve the chain in.

    Yields:
        The number of contenders that are done, before each of them.

    Returns:
        The attempts of all contenders.

    Raises:
        IKError: If no solver can solve the chain, or if the chain changes, with what to do first.
    """
    compared, attempts = _read_chain(mark, graph()), list[Attempt]()
    build_trial(compared, Solver.NEWTON)
    before = compared.input_key()
    for number, (solver, use_finish) in enumerate(CONTENDERS):
        yield number
        compared = _read_chain(mark, graph())
        if compared.input_key() != before:
            raise RigError(CHANGED)
        try:
            if solver is None:
                attempts.append(solve_by_constraint(compared))
            else:
                attempts.append(solve(compared, solver, use_finish=use_finish))
        except IKError as error:
            attempts.append(Attempt(error.message))
    return attempts


def _read_chain(mark: str, depsgraph: bpy.types.Depsgraph) -> ComparisonChain:
    """Read a chain to compare solvers on, with the live chains of the same tree."""
    settings = find_marked(mark)
    if settings is None:
        raise RigError(CHANGED)
    if settings.influence <= 0.0:
        raise RigError("Influence is zero, so no solver would move the bones: raise it first.")
    owner, (_, index) = owner_of(settings), chain_key(settings)
    # Reading settings that were never set makes Blender store and copy them from then on.
    has_force, force = settings.is_property_set("force"), ForceSpec()
    if has_force:
        force = replace(force_spec(settings.force, settings.force), easing=None)
    specs = {index: replace(chain_spec(settings), force=force)}
    chains, bones = chains_of(owner), bones_of_chains(owner, with_body=True)
    live = {i: bones[i] for i, chain in enumerate(chains) if i == index or not is_idle(chain)}
    for i in next(group for group in group_by_bones(live) if index in group):
        # A chain that cannot be read is not solved either.
        with suppress(IKError):
            specs.setdefault(i, chain_spec(chains[i]))
    update = Update(cast(bpy.types.Scene, depsgraph.scene), depsgraph, is_new_frame=False)
    compared = ComparisonChain(update, owner, specs, index)
    compared.check()
    return compared
