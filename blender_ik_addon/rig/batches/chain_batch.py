"""Live chains or trees alike, of any number of armature objects, compared and solved as arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from ...core.algebra.arithmetic import Array, Flags, Indices
from ..frames.bases import Bases
from ..frames.places import Places, in_bases
from ..posing.base_solve import BaseSolve
from ..posing.eased_poses import Eased, Step, next_step
from ..posing.frame_solve import FrameSolve
from ..posing.outcome import Outcome
from ..posing.solved import REACHED, Asked, Solved
from ..reading.channels import Channels
from ..reading.moment import Moment
from ..reading.rows import Rows
from ..reading.world import LARGEST, WorldMatrices, is_sound
from .batch import Batch
from .batch_rigs import BatchRigs, Members, bases_of
from .body_solve import BodySolve
from .changes import Change, Kind
from .followed import Followed
from .gone_back import GoneBack
from .isolating import solve_again
from .rig_state import RigState

# What starts from its own last pose reads it back as float32: differences of that size are no
# movement.
CURRENT_NOISE = 1e-6
NOBODY = np.zeros((), dtype=np.bool_)
NO_WEIGHT = "No chain of this tree has a weight above zero: raise one."


class ChainBatch(Batch):
    """B live chains, or trees of E chains, alike, of k bones, in one dependency graph."""

    def __init__(self, members: Members, *, is_even: bool) -> None:
        """Compile chains or trees that have the same key.

        Args:
            members: The chains or trees.
            is_even: Whether all of them hang in spaces that keep their shape, and a chain is rigid.
        """
        super().__init__(members, is_even=is_even)
        self._solve: BaseSolve | FrameSolve
        self._rigs: BatchRigs[Bases] | BatchRigs[Places]
        first = self.driven[0]
        chains = len(first.live_chains)
        if is_even and not first.is_tree:
            self._solve = BaseSolve(self.driven)
            self._rigs = BatchRigs(self._members, lambda: bases_of(self._members), Bases.differ)
        else:
            floats = first.hanging.floats
            solve = BodySolve(self.driven) if floats else FrameSolve(self.driven, is_even=is_even)
            self._solve = solve
            differ = partial(Places.differ, owns_root=solve.owns_root)
            self._rigs = BatchRigs(self._members, self._find_places, differ)
        specs = [spec for each in self.driven for spec in each.specs]
        self._poled = np.array([i for i, spec in enumerate(specs) if spec.pole], dtype=np.int64)
        poles = [spec.pole for spec in specs if spec.pole]
        self._poles = Followed(poles, "pole") if poles else None
        floors = [each.specs[0].floor for each in self.driven if first.hanging.floats]
        self._floors = Followed([each for each in floors if each], "floor") if any(floors) else None
        self._easing = specs[0].easing
        count, bones = len(self.driven), len(first.bones)
        self._shape = (count, chains)
        # Which bones each chain drives.
        self._drives = np.zeros((chains, bones), dtype=np.int64)
        for chain, own in enumerate(first.hanging.rows):
            self._drives[chain, list(own)] = 1
        # Which chains have all that they follow, what any of these pulls, and whether all are fine.
        self._is_followed = np.zeros(self._shape, dtype=np.bool_)
        self._has_pull = np.zeros(count, dtype=np.bool_)
        self._is_sound = False
        self._wanted: Channels = np.full((count, bones, 4), np.nan, dtype=np.float32)
        self._gone_back = GoneBack(self.driven, self.states, self._followed)
        # What chains have started from that start from what stands there.
        self._starts: dict[str, npt.NDArray[np.floating]] = {}
        self._noise: Array | None = None
        # The solutions of which these show a share.
        self._whole: Array | None = None
        if self._solve.settings.is_current:
            self._noise = np.where(first.is_current, CURRENT_NOISE, 0.0)[:, None]
            self._starts["channels"] = self._wanted.copy()
            if not self._solve.settings.is_whole:
                self._whole = np.full(self._wanted.shape, np.nan)
            if self.live_chains[0].slide is not None:
                self._starts["location"] = np.full((count, bones, 3), np.nan)
        # At which frames chains that ease were solved last.
        self._frames = np.full(count, np.nan)

    def _find_places(self) -> Places:
        if self.is_even:
            return in_bases(bases_of(self._members), self._shape[1])
        return super()._find_places()

    def changes(
        self, world: WorldMatrices, moment: Moment, is_foreign: Callable[[RigState], bool]
    ) -> list[Change]:
        """Solve what has another input than before; return what is not as it should be.

        Args:
            world: Where targets and poles are.
            moment: When the update happens.
            is_foreign: Whether an armature object stands as another window's graph wrote it:
                answering that would go back and forth for ever.
        """
        has_changed = self._read_followed(world)
        has_new_poses = self._rigs.read(has_changed)
        has_changed |= self._have_new_starts()
        # What could not be solved is tried again.
        if self._failed:
            has_changed[list(self._failed)] = True
        is_asked = (has_changed | self._is_on_its_way(moment)) & self._has_pull
        if has_new_poses:
            self._note_gone_back(moment, is_foreign)
        if has_new_poses or is_asked.any():
            self._gone_back.update(moment, is_asked)
        rows = is_asked.nonzero()[0]
        if rows.size:
            self._solve_rows(rows, moment, has_changed)
        elif not has_new_poses:
            return []
        wanted, others = self._wanted, self._others()
        if self.errors:
            kept = self._find_kept()
            wanted = np.where(kept, self._rigs.present, wanted)
            others = {
                name: np.where(kept, self._rigs.gather(name).reshape(values.shape), values)
                for name, values in others.items()
            }
        return self._rigs.changes(wanted, is_asked, is_foreign, self._noise, others)

    def _read_followed(self, world: WorldMatrices) -> Flags:
        """Read targets and poles, and note what is wrong; tell what moves by them, shape (B,)."""
        self.errors = {}
        has_moved = self._targets.read(world, self.errors)
        if self._poles is not None:
            of_poles: dict[int, str] = {}
            has_moved[self._poled] |= self._poles.read(world, of_poles)
            for i, text in of_poles.items():
                self.errors.setdefault(int(self._poled[i]), text)
        has_changed: Flags = has_moved.reshape(self._shape)
        if self._floors is not None:
            of_floors: dict[int, str] = {}
            has_changed |= self._floors.read(world, of_floors)[:, None]
            for row, text in of_floors.items():
                self._tell([row], text)
        if not self.errors and self._is_sound:
            return has_changed.any(axis=1)
        is_followed = np.ones(self._shape, dtype=np.bool_)
        is_followed.flat[list(self.errors)] = False
        has_changed = (has_changed & is_followed) | (is_followed != self._is_followed)
        self._is_followed = is_followed
        self._has_pull = (self._solve.settings.weights * is_followed).any(axis=1)
        self._tell((~self._has_pull).nonzero()[0].tolist(), NO_WEIGHT)
        self._is_sound = not self.errors
        return has_changed.any(axis=1)

    def _tell(self, rows: list[int], text: str) -> None:
        """Note what is wrong with all chains of trees that have no other error."""
        for row in rows:
            for chain in range(self._shape[1]):
                self.errors.setdefault(row * self._shape[1] + chain, text)

    def _find_kept(self) -> Flags:
        """Return the bones that only chains drive that cannot be solved, shape (B, k, 1)."""
        is_sound = self._has_pull.copy()
        is_sound[list(self._failed)] = False
        drives = (self._is_followed & is_sound[:, None]).astype(np.int64) @ self._drives
        kept: Flags = (drives == 0)[:, :, None]
        return kept

    def _followed(self, row: int) -> bytes:
        """Return where all is that a chain or tree follows or does not pass, to compare."""
        matrices = self._targets.matrices.reshape(*self._shape, 4, 4)[row]
        targets: bytes = matrices.tobytes()
        poles = b""
        if self._poles is not None:
            poles = self._poles.matrices.reshape(len(self.driven), -1)[row].tobytes()
        floor = b"" if self._floors is None else self._floors.matrices[row].tobytes()
        return targets + poles + floor

    def _note_gone_back(self, moment: Moment, is_foreign: Callable[[RigState], bool]) -> None:
        """Note bones that stand neither as their chains have put them nor as keys do."""
        if moment.is_new:
            return
        differs = self._rigs.present != self._wanted
        if not differs.any():
            return
        differs = differs.any(axis=2) & self._has_pull[:, None] & ~np.isnan(self._wanted[..., 0])
        # These take over what stands there.
        differs[:, self.driven[0].is_current] = False
        for row in differs.any(axis=1).nonzero()[0].tolist():
            own, state = self.driven[row], self.states[row]
            if not all(each.is_settled for each in own.live_chains):
                is_start = self._rigs.present[row] == own.start.astype(np.float32)
                differs[row] &= ~is_start.all(axis=1)
            is_own = state.uid in moment.given_back or row in self._failed
            if not is_own and not is_foreign(state):
                self._gone_back.note(row, differs[row])

    def _have_new_starts(self) -> Flags:
        """Tell which chains start from another pose than before, and than they were left in, (B,).

        What a solve has left there is no new start: from its own results it would go on for ever.
        """
        if not self._starts:
            return NOBODY
        is_current, left = self.driven[0].is_current, {"channels": self._wanted} | self._others()
        is_before = np.ones(len(self.driven), dtype=np.bool_)
        is_left = is_before.copy()
        for name, values in self._starting().items():
            is_before &= (values == self._starts[name])[:, is_current].all(axis=(1, 2))
            # NaN, where nothing has been solved, is near to nothing.
            is_near = np.abs(values - left.get(name, np.nan)) <= CURRENT_NOISE
            is_left &= is_near[:, is_current].all(axis=(1, 2))
        return ~is_before & ~is_left

    def _starting(self) -> dict[str, npt.NDArray[np.floating]]:
        """Return what chains that start from what stands there start from, (B, k, size) each."""
        present = self._rigs.present
        return {
            name: present if name == "channels" else self._rigs.gather(name).reshape(known.shape)
            for name, known in self._starts.items()
        }

    def _is_on_its_way(self, moment: Moment) -> Flags:
        """Tell for which chains that ease time has passed, shape (B,) or for all alike."""
        if self._easing is None:
            return NOBODY
        is_begun = moment.is_new and moment.frame == moment.first
        is_another: Flags = self._frames != moment.frame
        return is_another | is_begun

    def _solve_rows(self, rows: Indices, moment: Moment, has_changed: Flags) -> None:
        """Solve chains or trees, those together of which the same chains can be followed."""
        followed = self._is_followed[rows]
        is_whole = followed.all()
        for pattern in followed[:1] if is_whole else np.unique(followed, axis=0):
            alike = rows if is_whole else rows[(followed == pattern).all(axis=1)]
            solve = partial(self._solve_together, moment, has_changed, pattern)
            self._failed = solve_again(alike, solve, self._failed)
        for row, text in self._failed.items():
            self._tell([row], text)

    def _solve_together(
        self, moment: Moment, has_changed: Flags, is_followed: Flags, rows: Indices
    ) -> None:
        starts = self._starting()
        for name, values in starts.items():
            self._starts[name][rows] = values[rows]
        location = starts.get("location")
        steps = None
        if self._easing is not None:
            steps = [self._step(row, moment) for row in rows.tolist()]
        count = len(self.driven)
        pick = slice(None) if len(rows) == count else rows
        poles, floors = self._poles, self._floors
        asked = Asked(
            rows,
            self._targets.matrices.reshape(*self._shape, 4, 4)[pick],
            None if poles is None else poles.matrices[:, :3, 3].reshape(count, -1, 3)[pick],
            self._present(pick),
            is_followed,
            None if location is None else location[pick].astype(np.float64),
            steps,
            None if steps is None else ~has_changed[pick],
            whole=self._known(pick),
            floors=None if floors is None else floors.matrices[pick],
        )
        is_mixed = bool(starts) and not self.driven[0].is_current.all()
        # Blender has just set what is keyed: what stands there at a new frame no solve has left.
        if is_mixed and moment.is_first and not moment.is_new:
            solved, stepped = self._go_on(asked), list[Eased]()
        else:
            solved, stepped = self._solved_where(asked)
        if starts and self._easing is None:
            solved = self._brought_to_rest(asked, solved)
        self._wanted[pick] = solved.channels
        if self._whole is not None:
            self._whole[pick] = solved.whole
        self._keep(rows, solved)
        for row, each in zip(rows.tolist(), stepped, strict=False):
            self.states[row].remember(self.live_chains[row], moment, each)
            self._frames[row] = moment.frame

    def _present(self, pick: Rows) -> Array:
        """Return what stands on bones, (b, k, 4), or is stored of those that are not sound."""
        present = self._rigs.present[pick].astype(np.float64)
        if is_sound(present):
            return present
        is_own = (np.abs(present) < LARGEST).all(axis=2, keepdims=True)
        return np.where(is_own, present, self._solve.settings.stored[pick])

    def _known(self, pick: Rows) -> Array | None:
        """Return the solutions (b, k, 4) of which bones still show a share; NaN of others."""
        if self._whole is None:
            return None
        off = np.abs(self._rigs.present[pick] - self._wanted[pick])
        return np.where((off <= CURRENT_NOISE).all(axis=2)[..., None], self._whole[pick], np.nan)

    def _solved_where(self, asked: Asked) -> tuple[Solved, list[Eased]]:
        """Return what brings chains or trees to their targets from where they hang."""
        places = self._rigs.places
        if isinstance(self._solve, BaseSolve):
            assert isinstance(places, Bases)
            is_all = len(asked.rows) == len(self.driven)
            return self._solve.solved(asked, places if is_all else places.rows(asked.rows)), []
        assert isinstance(places, Places)
        return self._solve.solved(asked, places)

    def _go_on(self, asked: Asked) -> Solved:
        """Return trees as they stand, where that is good enough; others solved from their starts.

        Some of their bones start from what stands there, others do not: together these are a start
        that no solve has left, and from which the tree would move for nothing.
        """
        solved = self._solved_where(asked._replace(goes_on=True))[0]
        moves = np.abs(solved.channels - asked.present) > CURRENT_NOISE
        left = np.flatnonzero(moves.any(axis=(1, 2)))
        if left.size:
            return solved.put(left, self._solved_where(asked.take(left))[0])
        return solved

    def _brought_to_rest(self, asked: Asked, solved: Solved) -> Solved:
        """Solve what has not arrived again from its own results until it stays; return all.

        Else it would move at the next update for nothing, and after undo and loading. Where spaces
        or bones are scaled unevenly, that holds of what has arrived as well: from another pose the
        sides of poles are others. A share that limits hold may not come to rest: its first solution
        stands then, from which it goes on.
        """
        first, shares = solved, self._solve.settings.shares[asked.rows]
        rows, part, is_current = np.arange(len(asked.rows)), solved, self.driven[0].is_current
        for _ in range(self.most_again):
            channels = part.channels.astype(np.float32).astype(np.float64)
            moves = (np.abs(channels - asked.present) > CURRENT_NOISE)[:, is_current]
            may_move = (part.status_codes != REACHED).any(axis=1) | (not self.is_even)
            left = np.flatnonzero(moves.any(axis=(1, 2)) & may_move)
            if not left.size:
                break
            location = None if part.location is None else part.location[left]
            # Also of a tree of which a part starts from its keys: that start no solve has left.
            asked = asked.take(left)._replace(
                present=channels[left], location=location, goes_on=True
            )
            rows, part = rows[left], self._solved_where(asked)[0]
            solved = solved.put(rows, part)
        else:
            held = rows[(shares[rows] < 1.0).any(axis=1)]
            solved = solved.put(held, first.take(held))
        return solved

    def _others(self) -> dict[Kind, Array]:
        """Return what shall stand in channels that are no rotations, by kind."""
        if self._solved is None:
            return {}
        found: dict[Kind, Array | None]
        found = {"scale": self._solved.scale, "location": self._solved.location}
        return {kind: values for kind, values in found.items() if values is not None}

    def _inputs(self, row: int) -> bytes:
        """Return what the solve of a chain depends on besides the chain itself, to compare."""
        places = self._rigs.places
        assert isinstance(places, Places)
        arrays = places.from_world, places.above, places.root, places.unmirrored
        return b"".join([array[row].tobytes() for array in arrays]) + self._followed(row)

    def _step(self, row: int, moment: Moment) -> Step:
        chain, inputs = self.live_chains[row], self._inputs(row)
        return next_step(self.states[row].last_of(chain, moment), chain.spec, moment, inputs)

    def _weights(self, row: int) -> Array | None:
        if self._shape[1] == 1:
            return None
        weights: Array = self._solve.settings.weights[row] * self._is_followed[row]
        return weights

    def _with_put_back(self, outcome: Outcome, row: int) -> Outcome:
        tree, chain = self._place(row)
        driven, note = self.driven[tree], self._gone_back.of(tree)
        if note is None:
            return outcome
        own = [i for i in driven.hanging.rows[chain] if note.bones[i]]
        names = tuple([driven.skeleton.names[driven.bones[i]] for i in own])
        return replace(outcome, put_back=names, keys_before=note.keys)
