"""Trials: solve a chain with any settings as in an update, before anything is written."""

from __future__ import annotations

from dataclasses import replace

import bpy

from ..batches.carry import pose_bones
from ..batches.chain_batch import ChainBatch
from ..batches.changes import ChannelChange, note
from ..batches.rig_state import RigState
from ..live.graph_state import GraphState
from ..live.writer import write_pose
from ..planning.live_chain import LiveChain
from ..planning.planned_rig import Specs
from ..posing.outcome import Outcome
from ..reading.channels import Pose
from ..reading.moment import moment_of
from ..reading.refusals import RigError
from ..reading.spec import ChainSpec
from ..reading.update import Update
from ..reading.world import WorldMatrices
from ..trees.driven import Driven

NOT_SOLVED = "This chain is not solved: see its status for the reason."


class Trial:
    """One armature object as an update reads it, with some chains only; it writes nothing.

    Attributes:
        update: The graph as it was evaluated last.
        state: The state of the armature object.
        batch: The batch that has the chain.
        row: Row of the chain in the batch.
        refused: Reasons why other chains are not solved with it, by index.
    """

    def __init__(
        self,
        depsgraph: bpy.types.Depsgraph,
        armature_object: bpy.types.Object,
        specs: Specs,
        index: int,
        start_pose: Pose | None = None,
    ) -> None:
        """Read an original object, with settings of its chains by index.

        ``index`` is that of the chain on trial. Without a start pose it starts from the evaluated
        one.

        Raises:
            RigError: If the chain cannot be solved.
        """
        assert depsgraph.scene is not None
        self.update = Update(depsgraph.scene, depsgraph, is_new_frame=False)
        self.state, graph = RigState(armature_object, armature_object.session_uid), GraphState()
        graph.read_single_rig(self.state, specs, self.update, start_pose)
        self.refused = {chain: text for (_, chain), text in graph.refused.items()}
        problem = self.state.compiled.errors.get(index) or self.refused.get(index)
        if problem:
            raise RigError(problem)
        self.batch, self.row = self._find_chain(graph, index)
        self._start_pose = self.state.pose.copy()

    def _find_chain(self, graph: GraphState, index: int) -> tuple[ChainBatch, int]:
        for batch in [batch for level in graph.levels for batch in level.batches]:
            for row, chain in enumerate(batch.live_chains):
                if chain.index == index:
                    return batch, row
        raise RigError(NOT_SOLVED)

    @property
    def live_chain(self) -> LiveChain:
        """The compiled chain."""
        return self.batch.live_chains[self.row]

    @property
    def driven(self) -> Driven:
        """The chain with the other chains of its tree."""
        return self.batch.driven_of(self.row)

    def solve(self, world: WorldMatrices) -> list[ChannelChange]:
        """Solve, store the pose in the state, and return the changes against the former pose."""
        changes = self.batch.changes(world, moment_of(self.update), lambda _state: False)
        for change in changes:
            note(change)
        return changes

    def start_again(self) -> None:
        """Make the next solve start as the first one, also for chains that start from a pose."""
        if self.driven.specs[0].is_dragged or self.driven.is_current.any():
            self.state.pose = self._start_pose.copy()
            self.state.histories.clear()
            self.state.version += 1
        self.batch.request_solve(self.batch.uids)

    def outcome(self) -> Outcome:
        """Return the outcome of the solve.

        Raises:
            RigError: If the solve failed.
        """
        outcome = self.batch.outcome(self.row)
        if not isinstance(outcome, Outcome):
            raise RigError(NOT_SOLVED if outcome is None else outcome)
        return outcome


def solve_once(
    depsgraph: bpy.types.Depsgraph, armature_object: bpy.types.Object, spec: ChainSpec
) -> Outcome:
    """Solve a chain from the pose that its settings choose, and write its bones.

    It is solved as in a live update without other chains.

    Raises:
        IKError: If the chain cannot be solved; then nothing is written.
    """
    trial = _trial_alone(depsgraph, armature_object, spec)
    trial.batch.max_repeats = 0
    changes = trial.solve(WorldMatrices(depsgraph))
    outcome = trial.outcome()
    if changes:
        write_pose(armature_object, trial.state.pose, changes)
    return outcome


def find_poses(
    depsgraph: bpy.types.Depsgraph, armature_object: bpy.types.Object, spec: ChainSpec
) -> tuple[Pose, Pose]:
    """Return the present pose of a chain and the one that its whole influence gives it.

    Bones are posed by their channels, without constraints; nothing is written. The chain is solved
    without other chains.

    Raises:
        IKError: If the chain cannot be solved.
    """
    trial = _trial_alone(depsgraph, armature_object, replace(spec, influence=1.0))
    pose_bones(trial.state, trial.driven.bones)
    present = trial.state.pose.copy()
    trial.solve(WorldMatrices(depsgraph))
    trial.outcome()
    pose_bones(trial.state, trial.driven.bones)
    return present, trial.state.pose


def _trial_alone(
    depsgraph: bpy.types.Depsgraph, armature_object: bpy.types.Object, spec: ChainSpec
) -> Trial:
    """Return the trial of a chain that moves no other bones of its body."""
    return Trial(depsgraph, armature_object, {0: replace(spec, body=None)}, 0)
