"""A chain read and solved as in an update, with any solver, without writing anything."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

import numpy as np

from ...core import Solver
from ...core.algebra.arithmetic import Array
from ..batches.changes import note
from ..batches.rig_state import RigState
from ..live.graph_state import Batch, GraphState
from ..planning.driven import Driven
from ..planning.live_chain import LiveChain
from ..reading.chain_plan import ChainPlan
from ..reading.channels import Pose
from ..reading.moment import moment_of
from ..reading.refusals import RigError
from ..reading.spec import StartFrom
from ..reading.world import WorldMatrices
from ..trees.shared_bones import SOLVERS as SOLVERS_OF_TREES
from .compared import Compared

NOT_SOLVED = "This chain is not solved: its status tells why."


@dataclass(frozen=True)
class Attempt:
    """What one solver makes of a chain.

    Attributes:
        solver: None for Blender's IK constraint.
        use_finish: Whether Newton finishes what FABRIK or CCD leave.
        status: One sentence: how it ended, or why it cannot solve this chain.
        residual: From effector to target on the pose as Blender evaluates it, in scene units; NaN
            without a pose.
        iterations: How many it took; None if unknown.
        milliseconds: How long the solve takes; NaN without a pose.
        joints: Of that pose, world space, shape (m + 1, 3); (0, 3) without a pose.
        pose: That of the whole armature; None without one.
        plan: The bones of the chain; None without one.
        is_led: Whether the root goes to the target, not the tip.
    """

    solver: Solver | None
    use_finish: bool
    status: str
    residual: float = math.nan
    iterations: int | None = None
    milliseconds: float = math.nan
    joints: Array = field(default_factory=lambda: np.empty((0, 3)))
    pose: Pose | None = None
    plan: ChainPlan | None = None
    is_led: bool = False

    @property
    def is_solved(self) -> bool:
        """Whether there is a pose."""
        return len(self.joints) > 0


class Trial:
    """An armature object as an update reads it, with one solver for the chain; it writes nothing.

    Attributes:
        compared: The chain.
        solver: Solves it.
        state: What is known of the armature object.
        batch: The batch that has the chain.
        row: Row of the chain in it.
    """

    def __init__(
        self,
        compared: Compared,
        solver: Solver,
        *,
        use_finish: bool,
        home: Pose | None = None,
    ) -> None:
        self.compared, graph = compared, GraphState()
        self.solver, uid = solver, compared.object.session_uid
        self.state = RigState(compared.object, uid)
        specs = compared.specs_with(solver, use_finish=use_finish)
        home = None if solver is Solver.FOLLOW else home
        graph.read_alone(self.state, specs, compared.update, home)
        refused = self.state.errors.get(compared.index) or graph.refused.get((uid, compared.index))
        if refused:
            raise RigError(refused)
        if graph.refused and solver not in SOLVERS_OF_TREES:
            (_, other), text = next(iter(graph.refused.items()))
            raise RigError(f"Then chain '{compared.specs[other].name}' stands still: {text}")
        self.batch, self.row = self._find(graph)
        self._begun = self.pose.copy()

    def _find(self, graph: GraphState) -> tuple[Batch, int]:
        for level in graph.levels:
            for batch in level.batches:
                for row, live_chain in enumerate(batch.live_chains):
                    if live_chain.job.index == self.compared.index:
                        return batch, row
        raise RigError(NOT_SOLVED)

    @property
    def pose(self) -> Pose:
        """The pose as read, with what has been solved."""
        return self.state.pose

    @property
    def live_chain(self) -> LiveChain:
        """The chain, compiled."""
        return self.batch.live_chains[self.row]

    @property
    def driven(self) -> Driven:
        """The chain with the chains of its tree."""
        return self.batch.driven[self.row // len(self.batch.driven[0].live_chains)]

    def solve_again(self, world: WorldMatrices) -> float:
        """Solve once more from the same start; return how many seconds that has taken."""
        if self.solver is Solver.FOLLOW or self.compared.spec.start_from is StartFrom.CURRENT:
            # It would go on from the pose that it has just found.
            self.state.pose = self._begun.copy()
            self.state.histories.clear()
            self.state.version += 1
        self.batch.ask_anew(self.batch.uids)
        return self.solve(world)

    def solve(self, world: WorldMatrices) -> float:
        """Solve; return how many seconds that has taken."""
        begun = time.perf_counter()
        changes = self.batch.changes(world, moment_of(self.compared.update), lambda _state: False)
        seconds = time.perf_counter() - begun
        for change in changes:
            note(change)
        return seconds
