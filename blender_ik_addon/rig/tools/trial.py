"""A chain read and solved as in an update, with any settings, before anything is written."""

from __future__ import annotations

from dataclasses import replace

import bpy

from ..batches.changes import Change, note
from ..batches.rig_state import RigState, Specs
from ..live.graph_state import Batch, GraphState
from ..live.writer import write_pose
from ..planning.live_chain import LiveChain
from ..posing.outcome import Outcome
from ..reading.channels import Pose
from ..reading.moment import moment_of
from ..reading.refusals import RigError
from ..reading.spec import ChainSpec
from ..reading.update import Update
from ..reading.world import WorldMatrices
from ..trees.driven import Driven

NOT_SOLVED = "This chain is not solved: its status tells why."


class Trial:
    """An armature object as an update reads it that has no chains but some; it writes nothing.

    Attributes:
        state: What is known of the armature object.
        batch: The batch that has the chain.
        row: Row of the chain in it.
        refused: Why others are not solved with it, by index.
    """

    def __init__(
        self,
        update: Update,
        armature_object: bpy.types.Object,
        specs: Specs,
        index: int,
        home: Pose | None = None,
    ) -> None:
        """Read the original object.

        Args:
            update: The graph as it was evaluated last.
            armature_object: The original object.
            specs: The settings of its chains, by index.
            index: Of the chain that is tried.
            home: The pose to solve from; None for that of the graph.

        Raises:
            RigError: If the chain cannot be solved.
        """
        self._update, graph, uid = update, GraphState(), armature_object.session_uid
        self.state = RigState(armature_object, uid)
        graph.read_alone(self.state, specs, update, home)
        self.refused = {chain: text for (_, chain), text in graph.refused.items()}
        problem = self.state.errors.get(index) or self.refused.get(index)
        if problem:
            raise RigError(problem)
        self.batch, self.row = self._find(graph, index)
        self._begun = self.state.pose.copy()

    def _find(self, graph: GraphState, index: int) -> tuple[Batch, int]:
        for batch in [batch for level in graph.levels for batch in level.batches]:
            for row, live_chain in enumerate(batch.live_chains):
                if live_chain.index == index:
                    return batch, row
        raise RigError(NOT_SOLVED)

    @property
    def live_chain(self) -> LiveChain:
        """The chain, compiled."""
        return self.batch.live_chains[self.row]

    @property
    def driven(self) -> Driven:
        """The chain with the chains of its tree."""
        return self.batch.driven_of(self.row)

    def solve(self, world: WorldMatrices) -> list[Change]:
        """Solve, note the pose in the state, and return what differs from what stands there."""
        changes = self.batch.changes(world, moment_of(self._update), lambda _state: False)
        for change in changes:
            note(change)
        return changes

    def start_again(self) -> None:
        """Have the next solve begin as the first one did, also where chains go on from a pose."""
        if self.driven.specs[0].is_dragged or self.driven.is_current.any():
            self.state.pose = self._begun.copy()
            self.state.histories.clear()
            self.state.version += 1
        self.batch.ask_anew(self.batch.uids)

    def outcome(self) -> Outcome:
        """Return what the solve did.

        Raises:
            RigError: If it failed.
        """
        outcome = self.batch.outcome(self.row)
        if not isinstance(outcome, Outcome):
            raise RigError(NOT_SOLVED if outcome is None else outcome.text)
        return outcome


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
    # A chain that is solved once moves no bones but its own.
    trial = Trial(update, armature_object, {0: replace(spec, body=None)}, 0)
    trial.batch.most_again = 0
    changes = trial.solve(WorldMatrices(depsgraph))
    outcome = trial.outcome()
    if changes:
        write_pose(armature_object, trial.state.pose, changes)
    return outcome
