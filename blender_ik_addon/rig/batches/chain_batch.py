"""Live chains alike, of any number of armature objects, compared and solved as arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from ..frames.bases import Bases
from ..frames.chain_poses import take_rows
from ..frames.places import Places, find_places
from ..posing.base_solve import BaseSolve
from ..posing.eased_poses import Eased, Step, Stepped, easing_of, next_step
from ..posing.frame_solve import FrameSolve
from ..posing.history import before, remembered
from ..posing.outcome import Outcome
from ..posing.solved import Asked, Solved
from ..reading.moment import Moment
from ..reading.world import WorldMatrices
from .batch_rigs import BatchRigs, Part, bases_of
from .changes import Change
from .followed import Followed
from .isolating import solve_again
from .members import Members, are_compiled, live_chains_of, poses_of, uids_of
from .rig_state import RigState

Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Channels = npt.NDArray[np.float32]

# A chain that starts from its own last pose reads it back as float32: differences of that size
# are no movement.
CURRENT_NOISE = 1e-6
NOBODY = np.zeros((), dtype=np.bool_)


class ChainBatch:
    """B live chains alike in one dependency graph.

    Attributes:
        live_chains: The chains.
        uids: Session uids of their armature objects.
        errors: What is wrong with a chain, by row.
    """

    def __init__(self, members: Members, *, is_even: bool) -> None:
        """Compile chains: armature objects, and the rows of their chains.

        Args:
            members: The chains.
            is_even: Whether all of them are rigid, and hang in spaces that keep their shape.
        """
        self.live_chains, self.uids = live_chains_of(members), uids_of(members)
        self.is_even = is_even
        self.errors: dict[int, str] = {}
        self._failed: dict[int, str] = {}
        self._members = members
        self._states = [state for state, rows in members for _ in rows]
        parts = [
            Part(state, rows, [state.live_chains[row].job.plan.written for row in rows])
            for state, rows in members
        ]
        poses = poses_of(members)
        self._solve: BaseSolve | FrameSolve
        self._rigs: BatchRigs[Bases] | BatchRigs[Places]
        if is_even:
            self._solve = BaseSolve(self.live_chains, poses)
            modes = self._solve.settings.channels.modes
            self._rigs = BatchRigs(parts, modes, lambda: bases_of(parts), Bases.differ)
        else:
            self._solve = FrameSolve(self.live_chains, poses)
            modes = self._solve.settings.channels.modes
            self._rigs = BatchRigs(parts, modes, self._find_places, self._solve.differ)
        specs = [live_chain.job.spec for live_chain in self.live_chains]
        self._targets = Followed([spec.target for spec in specs if spec.target], "target")
        poles = [spec.pole for spec in specs if spec.pole]
        self._poles = Followed(poles, "pole") if poles else None
        self._easing = easing_of(specs[0])
        count, written = len(self.live_chains), len(modes)
        self._wanted: Channels = np.full((count, written, 4), np.nan, dtype=np.float32)
        self._starts: dict[str, npt.NDArray[np.floating]] = {}
        self._moments: list[Moment | None] = [None] * count
        self._solved: Solved | None = None

    def _find_places(self) -> Places:
        unmirrored = [state.unmirrored for state in self._states]
        return find_places(self.live_chains, poses_of(self._members), unmirrored)

    def is_of(self, members: Members, *, is_even: bool) -> bool:
        """Tell whether this batch is compiled of just these chains, in these rows of their rigs."""
        return is_even == self.is_even and are_compiled(members, self._members, self.live_chains)

    def changes(
        self, world: WorldMatrices, moment: Moment, is_foreign: Callable[[RigState], bool]
    ) -> list[Change]:
        """Solve the chains whose input has changed; return what is not as it should be.

        Args:
            world: Where targets and poles are.
            moment: When the update happens.
            is_foreign: Whether an armature object stands as another window's graph wrote it:
                answering that would go back and forth for ever.
        """
        self.errors = {}
        has_changed = self._targets.read(world, self.errors)
        if self._poles is not None:
            has_changed |= self._poles.read(world, self.errors)
        has_new_poses = self._rigs.read(has_changed)
        if self._solve.settings.is_current:
            for name, values in self._starting().items():
                known = self._starts.get(name)
                has_changed |= known is None or (values != known).any(axis=(1, 2))
        # What could not be solved is tried again.
        if self._failed:
            has_changed[list(self._failed)] = True
        is_asked = has_changed | self._is_on_its_way(moment)
        if self.errors:
            is_asked[list(self.errors)] = has_changed[list(self.errors)] = False
        rows = is_asked.nonzero()[0]
        if rows.size:
            solve = partial(self._solve_together, moment, has_changed)
            self._failed = solve_again(rows, solve, self._failed)
            self.errors = self._failed | self.errors
        elif not has_new_poses:
            return []
        wanted, others = self._wanted, self._others()
        if self.errors:
            # A chain that cannot be solved keeps its pose.
            kept = list(self.errors)
            wanted = wanted.copy()
            wanted[kept] = self._rigs.present[kept]
            others = {name: values.copy() for name, values in others.items()}
            for name, values in others.items():
                values[kept] = self._rigs.gather(name).reshape(values.shape)[kept]
        noise = CURRENT_NOISE if self._solve.settings.is_current else 0.0
        return self._rigs.changes(wanted, is_asked, is_foreign, noise, others)

    def _starting(self) -> dict[str, npt.NDArray[np.floating]]:
        """Return what chains that start from what stands there start from, (B, k, size) each."""
        found: dict[str, npt.NDArray[np.floating]] = {"channels": self._rigs.present}
        if self.live_chains[0].slide is not None:
            location = self._rigs.gather("location")
            found["location"] = location.reshape(len(self.live_chains), -1, 3)
        return found

    def _is_on_its_way(self, moment: Moment) -> Flags:
        """Tell for which chains that ease time has passed, shape (B,) or for all alike."""
        if self._easing is None:
            return NOBODY
        is_begun = moment.is_new and moment.frame == moment.first
        return np.array(
            [known is None or known.frame != moment.frame or is_begun for known in self._moments]
        )

    def _solve_together(self, moment: Moment, has_changed: Flags, rows: Rows) -> None:
        starts = self._starting() if self._solve.settings.is_current else {}
        for name, values in starts.items():
            known = self._starts.setdefault(name, np.full_like(values, np.nan))
            known[rows] = values[rows]
        location = starts.get("location")
        inputs, steps = [], None
        if self._easing is not None:
            inputs = [self._inputs(row) for row in rows.tolist()]
            steps = [self._step(row, moment, own) for row, own in zip(rows, inputs, strict=True)]
        is_all = len(rows) == len(self.live_chains)
        pick = slice(None) if is_all else rows
        asked = Asked(
            rows,
            self._targets.matrices[pick],
            None if self._poles is None else self._poles.matrices[pick, :3, 3],
            self._rigs.present[pick].astype(np.float64),
            None if location is None else location[pick].astype(np.float64),
            steps,
            None if steps is None else ~has_changed[pick],
        )
        places, stepped = self._rigs.places, list[Stepped]()
        if isinstance(self._solve, BaseSolve):
            assert isinstance(places, Bases)
            solved = self._solve.solved(asked, places)
        else:
            assert isinstance(places, Places)
            solved, stepped = self._solve.solved(asked, places)
        self._wanted[pick] = solved.channels
        if is_all:
            self._solved = solved
        else:
            every = np.zeros(len(self.live_chains), dtype=np.int64)
            self._solved = (self._solved or take_rows(solved, every)).put(rows, solved)
        for row, own, each in zip(rows.tolist(), inputs, stepped, strict=False):
            self._remember(row, moment, own, each)

    def _others(self) -> dict[str, Array]:
        """Return what shall stand in channels that are no rotations, by property name."""
        if self._solved is None:
            return {}
        found = {"scale": self._solved.scale, "location": self._solved.location}
        return {name: values for name, values in found.items() if values is not None}

    def _inputs(self, row: int) -> bytes:
        """Return what the solve of a chain depends on besides the chain itself, to compare."""
        places = self._rigs.places
        assert isinstance(places, Places)
        arrays = [
            places.world,
            places.above,
            places.head,
            places.unmirrored,
            self._targets.matrices,
        ]
        if self._poles is not None:
            arrays.append(self._poles.matrices)
        return b"".join([array[row].tobytes() for array in arrays])

    def _step(self, row: int, moment: Moment, inputs: bytes) -> Step:
        job, state = self.live_chains[row].job, self._states[row]
        history = state.eased.get(job.plan.written.tobytes())
        last = before(history, job.skeleton, moment)
        return next_step(last, job.spec, moment, inputs)

    def _remember(self, row: int, moment: Moment, inputs: bytes, stepped: Stepped) -> None:
        job, histories = self.live_chains[row].job, self._states[row].eased
        key, kept = job.plan.written.tobytes(), Eased(inputs, job.spec, stepped)
        histories[key] = remembered(histories.get(key), job.skeleton, moment, kept)
        self._moments[row] = moment

    def outcome(self, row: int) -> Outcome | str:
        """Return what the last solve of a chain did, or what is wrong with it."""
        if row in self.errors:
            return self.errors[row]
        assert self._solved is not None
        return self._solved.outcome(self.live_chains[row], row)
