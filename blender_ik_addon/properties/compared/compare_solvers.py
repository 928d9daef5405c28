"""Comparison of all solvers on one chain, together with the chains that share its bones."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import replace

import bpy

from ...core import IKError, Solver
from ...rig.comparing.comparing import CONTENDERS, Attempt, find_home, inputs_of, solve, with_solver
from ...rig.comparing.ik_constraint import solve_by_constraint
from ...rig.planning.checks import check_scale
from ...rig.reading.refusals import IN_EDIT_MODE, RigError, pose_problem
from ...rig.reading.spec import ChainSpec, ForceSpec
from ...rig.reading.world import array_of
from ...rig.tools.trial_solve import Trial
from ...rig.trees.shared_bones import group_by_bones
from ..chains import chain_key, chains_of, is_idle, owner_of
from ..forces import force_spec
from ..records import bones_of_chains, chain_spec
from .comparison_results import find_marked

CHANGED = "The chain, its armature or its target has changed during the comparison: compare again."
GetDepsgraph = Callable[[], bpy.types.Depsgraph]


def compare_solvers(mark: str, graph: GetDepsgraph) -> Generator[int, None, list[Attempt]]:
    """Solve a chain with every solver, one after the other, without changing the rig.

    Between two steps the file holds nothing of the comparison, and each step reads the chain again.
    The generator may be stopped there, and the file may change. It yields the number of contenders
    that are done, before each of them. ``mark`` identifies the chain, as ``mark_of``, and ``graph``
    returns the present graph to solve it in.

    Raises:
        IKError: If no solver can solve the chain, or if the chain changes, with what to do first.
    """
    before, attempts = None, list[Attempt]()
    for number, (solver, use_finish) in enumerate(CONTENDERS):
        yield number
        depsgraph = graph()
        owner, index, specs = _read_specs(mark, depsgraph)
        newton = Trial(depsgraph, owner, with_solver(specs, index, Solver.NEWTON), index)
        inputs = repr(specs), *inputs_of(newton)
        before = before or inputs
        if inputs != before:
            raise RigError(CHANGED)
        home = None if solver is Solver.FOLLOW else find_home(newton)
        requested = with_solver(specs, index, solver or Solver.NEWTON, use_finish=use_finish)
        try:
            trial = Trial(depsgraph, owner, requested, index, home)
            attempts.append(solve_by_constraint(trial) if solver is None else solve(trial))
        except IKError as error:
            attempts.append(Attempt(error.message))
    return attempts


def _read_specs(
    mark: str, depsgraph: bpy.types.Depsgraph
) -> tuple[bpy.types.Object, int, dict[int, ChainSpec]]:
    """Return the armature object of a chain, its index, and the settings of its tree by index.

    The chain comes first, always with settings for Force.
    """
    settings = find_marked(mark)
    if settings is None:
        raise RigError(CHANGED)
    if settings.influence <= 0.0:
        raise RigError("Influence is zero, so no solver would move the bones: raise it first.")
    owner, (_, index) = owner_of(settings), chain_key(settings)
    if problem := IN_EDIT_MODE if owner.data.is_editmode else pose_problem(owner, depsgraph):
        raise RigError(problem)
    # A target has no place in the space of an armature with a scale of zero.
    check_scale(owner, array_of(owner.evaluated_get(depsgraph).matrix_world))
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
    return owner, index, specs
