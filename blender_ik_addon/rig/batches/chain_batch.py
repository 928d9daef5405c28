"""Batches of similar live chains or trees, compared and solved as arrays."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...core.algebra.arithmetic import Array, Flags, Indices
from ...core.model.message import Message
from ..frames.bases import Bases
from ..frames.places import Places, in_armatures, in_bases
from ..posing.base_solve import BaseSolve
from ..posing.follow_solve import FollowSolve
from ..posing.frame_solve import FrameSolve
from ..posing.outcome import Outcome, outcome_of
from ..posing.solved import SolveInputs
from ..reading.batch_record import Rows
from ..reading.channels import Channels
from ..reading.moment import Moment
from ..reading.world import LARGEST, WorldMatrices, is_sound
from ..trees.driven import Driven
from .batch_rigs import READ_NOISE, BatchRigs, Members, bases_of
from .body_solve import BodySolve
from .chain_memory import BatchUpdate, ChainMemory, DragMemory, EasingMemory
from .changes import ChannelChange
from .followed_anchors import Anchors
from .isolated_failures import solve_rows
from .present_starts import MAX_REPEATS, PresentStarts
from .reverted_poses import RevertedPoses
from .rig_state import RigState
from .solve_results import SolveResults, SolveSummary

POSED_ELSEWHERE = Message(
    "Not solved here: another scene or window has posed these bones at a different frame. Move"
    " this chain's target, or change the frame."
)
NO_WEIGHT = Message("No chain of this tree has a weight above zero: raise the weight of one chain.")


class ChainBatch:
    """B similar live chains, or trees of E chains, with k bones in one dependency graph.

    Attributes:
        driven: The chains or trees.
        live_chains: All their chains, tree by tree.
        states: The armature object of each chain or tree.
        uids: Session uids of the chains' armature objects.
        errors: Error message of a chain, by row.
        is_even: Whether the chains or trees are rigid and their bases keep their shape.
        depends_on_time: Whether the chains ease or are dragged.
        max_repeats: How often chains that start from their present pose are solved again from
            their results, until they stay.
    """

    def __init__(self, members: Members, *, is_even: bool) -> None:
        """Compile chains or trees that have the same key.

        ``is_even``: all their bases keep their shape, and single chains are rigid.
        """
        self._members, self.is_even, self.max_repeats = members, is_even, MAX_REPEATS
        self.driven = [tree for _, trees in members for _, tree in trees]
        self.live_chains = [chain for tree in self.driven for chain in tree.live_chains]
        self.states = [state for state, trees in members for _ in trees]
        self.uids = [state.uid for state, trees in members for _, tree in trees for _ in tree.specs]
        self.errors: dict[int, Message] = {}
        self._failed: dict[int, Message] = {}
        first = self.driven[0]
        specs = [spec for tree in self.driven for spec in tree.specs]
        is_dragged, self.depends_on_time = specs[0].is_dragged, specs[0].depends_on_time
        count, chains, bones = len(self.driven), len(first.live_chains), len(first.bones)
        self._shape = (count, chains)
        solve = self._solve = _compile(self.driven, is_even=is_even)
        self._rigs: BatchRigs[Any]
        if isinstance(solve, BaseSolve):
            self._rigs = BatchRigs(members, lambda: bases_of(members), Bases.find_moved)
        else:
            find_moved = partial(Places.find_moved, owns_root=solve.owns_root)
            self._rigs = BatchRigs(members, self._find_places, find_moved)
        self._targets = Anchors([spec.target for spec in specs if spec.target], "target")
        poles = [] if is_dragged else [spec.pole for spec in specs if spec.pole]
        self._poled = np.array([i for i, spec in enumerate(specs) if spec.pole], dtype=np.int64)
        self._poles = Anchors(poles, "pole") if poles else None
        floors = [tree.specs[0].floor for tree in self.driven if first.hanging.floats]
        self._floors = Anchors([one for one in floors if one], "floor") if any(floors) else None
        # One where a chain (row) drives a bone (column).
        self._drives = np.zeros((chains, bones), dtype=np.int64)
        for chain, rows in enumerate(first.hanging.rows):
            self._drives[chain, list(rows)] = 1
        # Chains with usable targets and poles, trees that any of these pulls; whether all have.
        self._is_followed = np.zeros(self._shape, dtype=np.bool_)
        self._has_pull = np.zeros(count, dtype=np.bool_)
        self._is_sound = False
        self._results = SolveResults(self.driven)
        # Solved rotation channels; NaN where nothing is solved.
        self._channels: Channels = np.full((count, bones, 4), np.nan, dtype=np.float32)
        # A drag starts from the pose that the user has given, so it reverts none.
        self._reverted = None
        if not is_dragged:
            self._reverted = RevertedPoses(self.driven, self.states, self._followed)
        self._noise: Array | float | None = READ_NOISE if is_dragged else None
        self._starts: PresentStarts | None = None
        if solve.settings.is_current and not isinstance(solve, FollowSolve):
            self._starts = PresentStarts(solve, self._rigs, is_even=is_even)
            self._noise = self._starts.noise
        self._memory: ChainMemory | None = None
        if is_dragged:
            self._memory = DragMemory(self.live_chains, self.states, solve.settings, self._rigs)
        elif specs[0].easing is not None:
            self._memory = EasingMemory(self.live_chains, self.states, self._inputs)

    def _find_places(self) -> Places:
        if self.is_even:
            return in_bases(bases_of(self._members), self._shape[1])
        poses = [state.pose for state in self.states]
        return in_armatures(self.driven, poses, [state.unmirrored for state in self.states])

    def is_compiled_from(self, members: Members, *, is_even: bool) -> bool:
        """Return whether this batch was compiled from these chains, in these rows of their rigs."""
        # When another chain of a rig is added or removed, the same chains have other rows.
        rows = [[row for row, _ in trees] for _, trees in members]
        driven = [tree for _, trees in members for _, tree in trees]
        return (
            is_even == self.is_even
            and rows == [[row for row, _ in trees] for _, trees in self._members]
            and driven == self.driven
        )

    def request_solve(self, uids: Collection[int]) -> None:
        """Make the next update solve the chains of armature objects, as if targets had moved."""
        self._targets.matrices[[uid in uids for uid in self.uids]] = np.nan

    def changes(
        self, world: WorldMatrices, moment: Moment, is_foreign: Callable[[RigState], bool]
    ) -> list[ChannelChange]:
        """Solve chains whose inputs have changed; return channels that differ from the solution.

        ``is_foreign`` returns whether another window's graph wrote the present pose of an armature
        object: two graphs that correct each other would never stop.
        """
        has_changed = self._read_followed(world)
        has_new_poses = self._rigs.read(has_changed)
        if self._starts is not None:
            has_changed |= self._starts.find_new(self._channels, self._results.others)
        # Retry chains that could not be solved.
        if self._failed:
            has_changed[list(self._failed)] = True
        is_due = has_changed & self._has_pull
        if self._memory is not None:
            is_due |= self._memory.find_due(moment, has_new_poses=has_new_poses) & self._has_pull
        if self._reverted is not None and (has_new_poses or is_due.any()):
            if has_new_poses:
                self._note_reverted(self._reverted, moment, is_foreign)
            self._reverted.update(moment, is_due)
        rows = is_due.nonzero()[0]
        if rows.size:
            self._solve_rows(rows, BatchUpdate(moment, has_changed, is_foreign))
            if self._memory is not None:
                is_due &= ~self._memory.is_left
        elif not has_new_poses:
            return []
        goal, others = self._channels, self._results.others
        is_unsolved = self._find_unsolved()
        if is_unsolved is not None:
            goal = np.where(is_unsolved, self._rigs.present, goal)
            others = {
                name: np.where(is_unsolved, self._rigs.gather(name).reshape(values.shape), values)
                for name, values in others.items()
            }
        return self._rigs.changes(goal, is_due, is_foreign, self._noise, others)

    def _read_followed(self, world: WorldMatrices) -> Flags:
        """Read targets, poles and floors; return which chains or trees they change, shape (B,)."""
        self.errors = {}
        has_moved = self._targets.read(world, self.errors)
        if self._poles is not None:
            pole_errors: dict[int, Message] = {}
            has_moved[self._poled] |= self._poles.read(world, pole_errors)
            for i, text in pole_errors.items():
                self.errors.setdefault(int(self._poled[i]), text)
        has_changed: Flags = has_moved.reshape(self._shape)
        if self._floors is not None:
            floor_errors: dict[int, Message] = {}
            has_changed |= self._floors.read(world, floor_errors)[:, None]
            for row, text in floor_errors.items():
                self._note_error([row], text)
        if not self.errors and self._is_sound:
            return has_changed.any(axis=1)
        is_followed = np.ones(self._shape, dtype=np.bool_)
        is_followed.flat[list(self.errors)] = False
        has_changed = (has_changed & is_followed) | (is_followed != self._is_followed)
        self._is_followed = is_followed
        self._has_pull = (self._solve.settings.weights * is_followed).any(axis=1)
        self._note_error((~self._has_pull).nonzero()[0].tolist(), NO_WEIGHT)
        self._is_sound = not self.errors
        return has_changed.any(axis=1)

    def _note_error(self, rows: list[int], text: Message) -> None:
        """Note an error of all chains of some trees, for those without another error."""
        for row in rows:
            for chain in range(self._shape[1]):
                self.errors.setdefault(row * self._shape[1] + chain, text)

    def _find_unsolved(self) -> Flags | None:
        """Return the bones that keep their pose, shape (B, k, 1); None without any.

        Only chains drive them that cannot be solved, or that another window's graph has posed.
        """
        has_left = self._memory is not None and self._memory.is_left.any()
        if not (self.errors or has_left):
            return None
        is_sound = self._has_pull.copy()
        if self._memory is not None:
            is_sound &= ~self._memory.is_left
        is_sound[list(self._failed)] = False
        drives = (self._is_followed & is_sound[:, None]).astype(np.int64) @ self._drives
        is_unsolved: Flags = (drives == 0)[:, :, None]
        return is_unsolved

    def _followed(self, row: int) -> bytes:
        """Return the matrices of targets, poles and floor of a chain or tree, to compare."""
        matrices = self._targets.matrices.reshape(*self._shape, 4, 4)[row]
        targets: bytes = matrices.tobytes()
        poles = b""
        if self._poles is not None:
            poles = self._poles.matrices.reshape(len(self.driven), -1)[row].tobytes()
        floor = b"" if self._floors is None else self._floors.matrices[row].tobytes()
        return targets + poles + floor

    def _note_reverted(
        self, reverted: RevertedPoses, moment: Moment, is_foreign: Callable[[RigState], bool]
    ) -> None:
        """Note bones whose channels come neither from their chains nor from keys."""
        if moment.is_new:
            return
        # A pose that was copied and pasted flipped differs by rounding.
        differs = (np.abs(self._rigs.present - self._channels) > READ_NOISE).any(axis=2)
        if not differs.any():
            return
        differs &= self._has_pull[:, None]
        # These bones start from their present pose, so nothing is reverted.
        differs[:, self.driven[0].is_current] = False
        for row in differs.any(axis=1).nonzero()[0].tolist():
            tree, state = self.driven[row], self.states[row]
            if not all(chain.is_settled for chain in tree.live_chains):
                is_start = self._rigs.present[row] == tree.start.astype(np.float32)
                differs[row] &= ~is_start.all(axis=1)
            is_ours = state.uid in moment.restored_uids or row in self._failed
            if not is_ours and not is_foreign(state):
                reverted.note(row, differs[row])

    def _solve_rows(self, rows: Indices, update: BatchUpdate) -> None:
        """Solve chains or trees, in groups with the same usable targets."""
        is_followed = self._is_followed[rows]
        is_uniform = is_followed.all()
        for pattern in is_followed[:1] if is_uniform else np.unique(is_followed, axis=0):
            group = rows if is_uniform else rows[(is_followed == pattern).all(axis=1)]
            solve = partial(self._solve_together, update, pattern)
            self._failed = solve_rows(group, solve, self._failed)
        for row, text in self._failed.items():
            self._note_error([row], text)

    def _solve_together(self, update: BatchUpdate, is_followed: Flags, rows: Indices) -> None:
        starts = self._starts
        memories: Sequence[object] = ()
        count = len(self.driven)
        pick = slice(None) if len(rows) == count else rows
        poles, floors = self._poles, self._floors
        inputs: SolveInputs[Any] = SolveInputs(
            rows,
            self._rigs.places.take(pick),
            self._targets.matrices.reshape(*self._shape, 4, 4)[pick],
            None if poles is None else poles.matrices[:, :3, 3].reshape(count, -1, 3)[pick],
            self._present(pick),
            is_followed,
            floors=None if floors is None else floors.matrices[pick],
        )
        if starts is not None:
            inputs = starts.note_starts(inputs, self._channels)
        if self._memory is not None:
            inputs = self._memory.continued(inputs, update)
        # At a new frame Blender has just set keyed channels: the present pose is no result.
        is_back = update.moment.is_first and not update.moment.is_new
        if is_back and starts is not None and starts.is_mixed:
            solved = starts.stay_or_solve(inputs)
        else:
            solved, memories = self._solve.solved(inputs)
        if starts is not None:
            if self._memory is None:
                solved = starts.bring_to_rest(inputs, solved, self.max_repeats)
            starts.store(rows, solved)
        self._channels[pick] = solved.channels
        self._results.store(rows, solved)
        if self._memory is not None and memories:
            self._memory.remember(rows, update.moment, memories)

    def _present(self, pick: Rows) -> Array:
        """Return present rotation channels (b, k, 4), stored ones for bones that are not sound."""
        present = self._rigs.present[pick].astype(np.float64)
        if is_sound(present):
            return present
        is_bone_sound = (np.abs(present) < LARGEST).all(axis=2, keepdims=True)
        return np.where(is_bone_sound, present, self._solve.settings.stored[pick])

    def _inputs(self, row: int) -> bytes:
        """Return the places and anchors that the solve of a chain depends on, to compare."""
        places: Places = self._rigs.places
        arrays = places.from_world, places.above, places.root, places.unmirrored
        return b"".join([array[row].tobytes() for array in arrays]) + self._followed(row)

    def outcome(self, row: int) -> Outcome | Message | None:
        """Return the outcome of a chain's last solve, or its error; None without a solve."""
        if row in self.errors:
            return self.errors[row]
        if self.uids[row] in self._rigs.left:
            return POSED_ELSEWHERE
        solved = self._results.solved
        if solved is None:
            return None
        tree, chain = self._results.place(row)
        driven, weights = self.driven[tree], None
        if self._shape[1] > 1:
            weights = self._solve.settings.weights[tree] * self._is_followed[tree]
        outcome = outcome_of(solved, driven, tree, chain, weights)
        note = None if self._reverted is None else self._reverted.of(tree)
        if note is None:
            return outcome
        rows = [i for i in driven.hanging.rows[chain] if note.bones[i]]
        names = tuple([driven.skeleton.names[driven.bones[i]] for i in rows])
        return replace(outcome, put_back=names, keys_before=note.keys)

    def summary(self, row: int) -> SolveSummary | None:
        """Return the short result of a chain's last solve; None without one, or if it failed."""
        has_failed = row in self.errors or self.uids[row] in self._rigs.left
        return None if has_failed else self._results.summary(row)

    def driven_of(self, row: int) -> Driven:
        """Return the bones that a chain drives, alone or with other chains."""
        return self.driven[self._results.place(row)[0]]


def _compile(driven: Sequence[Driven], *, is_even: bool) -> BaseSolve | FrameSolve | FollowSolve:
    """Return the compiled solver of chains or trees; arguments as for ``ChainBatch``."""
    if driven[0].specs[0].is_dragged:
        return FollowSolve(driven)
    if driven[0].hanging.floats:
        return BodySolve(driven)
    if is_even and not driven[0].is_tree:
        return BaseSolve(driven)
    return FrameSolve(driven, is_even=is_even)
