"""Solve a chain now, once, without leaving one behind."""

from __future__ import annotations

from dataclasses import replace

import bpy

from ..batches.changes import note
from ..batches.rig_state import RigState
from ..live.graph_state import GraphState
from ..live.writer import write_pose
from ..posing.outcome import Outcome
from ..reading.moment import moment_of
from ..reading.refusals import RigError
from ..reading.spec import ChainSpec
from ..reading.update import Update
from ..reading.world import WorldMatrices


def solve_once(
    depsgraph: bpy.types.Depsgraph,
    armature_object: bpy.types.Object,
    spec: ChainSpec,
) -> Outcome:
    """Solve a chain from the pose that its settings choose, and write its bones.

    It is solved as in a live update in which it is the only chain.

    Raises:
        IKError: If the chain cannot be solved; nothing is written then.
    """
    assert depsgraph.scene is not None
    update = Update(depsgraph.scene, depsgraph, is_new_frame=False)
    graph, state = GraphState(), RigState(armature_object, armature_object.session_uid)
    # A chain that is solved once moves no bones but its own.
    graph.read_alone(state, {0: replace(spec, body=None)}, update)
    outcome: Outcome | str | None = state.errors.get(0)
    if outcome is None:
        (batch,) = graph.levels[0].batches
        batch.most_again = 0
        changes = batch.changes(WorldMatrices(depsgraph), moment_of(update), lambda _: False)
        outcome = batch.outcome(0)
    if not isinstance(outcome, Outcome):
        raise RigError(outcome)
    for change in changes:
        note(change)
    if changes:
        write_pose(armature_object, state.pose, changes)
    return outcome
