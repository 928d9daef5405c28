"""One live update: read what has changed, solve, write, and remember what was done."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import bpy
import numpy as np

from ..batches.batch import Ending
from ..batches.changes import Change, note
from ..batches.rig_state import RigState, Shared, Specs, Store, place
from ..planning.live_chain import LiveChain
from ..posing.outcome import Outcome
from ..reading.channels import CHANNEL_SIZES, read_floats
from ..reading.moment import moment_of
from ..reading.skeleton import Skeleton
from ..reading.update import GraphKey, Update
from ..reading.world import WorldMatrices
from .graph_state import Batch, GraphState, Level
from .render_sync import keep_animated_values
from .writer import Written, write_pose

_LOG = logging.getLogger(__name__)

ChainKey = tuple[int, int]
"""An armature object's session uid, and a chain's index in its list."""
Candidates = Callable[[], Iterable[bpy.types.Object]]
Asked = tuple[Batch, int]
"""Who knows the outcome of a chain, and its row there."""


@dataclass
class Memory:
    """What updates remember of each other. Everything is keyed; ``clear`` on load and undo.

    Attributes:
        graphs: By dependency graph.
        written: By session uid of the armature object: rotation channels as written last, by
            whichever graph; kept where there are several.
        outcomes: By armature object and chain: where to ask what the last solve in a viewport
            did, or the text of an error.
        followed: By armature object: tip bones, and the objects and bones that their anchors hold.
        given_back: Armature objects with bones that chains have given a pose back since the last
            update.
    """

    graphs: dict[GraphKey, GraphState] = field(default_factory=dict)
    written: dict[int, Written] = field(default_factory=dict)
    outcomes: dict[int, dict[int, Asked | str]] = field(default_factory=dict)
    followed: dict[int, tuple[tuple[str, int, str], ...]] = field(default_factory=dict)
    given_back: set[int] = field(default_factory=set)

    def clear(self) -> None:
        """Forget everything."""
        for known in vars(self).values():
            known.clear()

    def restart(self, uid: int) -> None:
        """Forget what the chains of an armature object did; those that go on from it start again.

        What is known of graphs is read anew at the next update.
        """
        self.graphs.clear()
        self.outcomes.pop(uid, None)

    def note_given_back(self, uid: int) -> None:
        """Note that chains have given bones of an armature object a pose back: that is no hand."""
        self._mark(uid, is_given_back=True)
        self.given_back.add(uid)

    def forget_given_back(self) -> None:
        """Forget it once an update has seen it."""
        while self.given_back:
            self._mark(self.given_back.pop(), is_given_back=False)

    def _mark(self, uid: int, *, is_given_back: bool) -> None:
        for graph in self.graphs.values():
            if uid in graph.rigs:
                graph.rigs[uid].is_given_back = is_given_back

    def skeleton(self, key: GraphKey, uid: int) -> Skeleton | None:
        """Return the bones of an armature object as a graph knows them, to compare with."""
        graph = self.graphs.get(key)
        state = None if graph is None else graph.rigs.get(uid)
        return None if state is None else state.skeleton

    def outcome(self, key: ChainKey) -> Outcome | str | None:
        """Return what the last solve of a chain in a viewport did, or what is wrong with it."""
        uid, index = key
        found = self.outcomes.get(uid, {}).get(index)
        return found if found is None or isinstance(found, str) else found[0].outcome(found[1])

    def endings(self, uid: int, indices: Iterable[int]) -> list[Ending | None]:
        """Return how the last solves of chains of an armature object ended, at the least cost.

        None without one, or if it failed.
        """
        asked = map(self.outcomes.get(uid, {}).get, indices)
        return [who[0].ending(who[1]) if isinstance(who, tuple) else None for who in asked]

    def live_chain(self, key: ChainKey) -> LiveChain | None:
        """Return a chain as it was solved last; the same one until something of it changes."""
        uid, index = key
        found = self.outcomes.get(uid, {}).get(index)
        return None if found is None or isinstance(found, str) else found[0].live_chains[found[1]]


memory = Memory()


@dataclass(frozen=True)
class Source:
    """Where live chains are told; the settings are a layer above this one.

    Attributes:
        names: Returns the names of all chains of an armature object, in order.
        prepare: Called before an object is read: gives chains their stored pose, muted ones back
            theirs, hidden targets an anchor. Returns whether the graph has to be evaluated again.
        specs: Returns the settings of the live chains of an object by index.
        store: Keeps the stored pose of a chain that bones have joined.
    """

    names: Callable[[bpy.types.Object], list[str]]
    prepare: Callable[[bpy.types.Object, Update], bool]
    specs: Callable[[bpy.types.Object, Update], Specs]
    store: Store


def update_chains(update: Update, candidates: Candidates, source: Source) -> None:
    """Solve and write the chains of armature objects, level by level.

    Args:
        update: Which graph, and why.
        candidates: Yields the armature objects of the scene, anew whenever they are looked at;
            never if nothing is to be done.
        source: Tells their chains.
    """
    graph = memory.graphs.get(update.key)
    is_new = graph is None
    if graph is None:
        graph = memory.graphs[update.key] = GraphState()
    elif graph.is_idle(update):
        return
    world = _world(graph, update)
    touched = graph.touched(update)
    if update.is_new_frame and update.tells_of_rigs:
        # While frames pass, scripts may change lists of rigs that nothing else would look at.
        touched |= graph.with_other_lists(source.names)
    has_evaluated = False
    if is_new or touched or not update.tells_of_rigs:
        has_evaluated = _read_rigs(graph, update, candidates, source, touched)
    others = _solve_levels(graph, update, source, None if has_evaluated else world)
    if others:
        # A script has changed their lists, and Blender tells nobody of that.
        _read_rigs(graph, update, candidates, source, others)
        _solve_levels(graph, update, source, None)
    memory.forget_given_back()


def _solve_levels(
    graph: GraphState, update: Update, source: Source, world: WorldMatrices | None
) -> frozenset[int]:
    """Solve and write level by level.

    Args:
        graph: What is known.
        update: Which graph.
        source: Tells whether armature objects have the chains that are known.
        world: World matrices as the graph has evaluated them, if that is the last that it did.

    Returns:
        Session uids of armature objects that were not written: they have other chains by now.
    """
    unwritten: dict[int, list[Change]] = {}
    written: set[int] = set()
    others = frozenset[int]()
    for number, level in enumerate(graph.levels):
        if number and (unwritten or written) and not level.is_carried:
            # This level hangs on what has just moved.
            others |= _write(unwritten, update, source, written)
            update.evaluate_again()
            _place_again(level, update)
            world = None
        if level.carry is not None:
            level.carry.update(has_written=bool(unwritten or written))
        world = world or _world(graph, update)
        for change in _changes(level, update, world):
            note(change)
            unwritten.setdefault(change.state.uid, []).append(change)
    return others | _write(unwritten, update, source, written)


def _world(graph: GraphState, update: Update) -> WorldMatrices:
    world = WorldMatrices(update.depsgraph, graph.order if update.has_only_moved else None)
    graph.order = world.order
    return world


def _read_rigs(
    graph: GraphState,
    update: Update,
    candidates: Candidates,
    source: Source,
    touched: frozenset[int],
) -> bool:
    """Read the rigs that have changed; return whether the graph has been evaluated for that."""
    stale: list[tuple[RigState, list[str]]] = []
    present: dict[int, RigState] = {}
    posed: list[tuple[RigState, frozenset[str]]] = []
    has_prepared = False
    names_of, known = source.names, graph.rigs
    for candidate in candidates():
        names, uid = names_of(candidate), candidate.session_uid
        state = known.get(uid)
        if state is not None and state.chain_names == names:
            # What is hidden is not listed.
            if uid not in touched and (
                not update.has_new_relations or _is_posable(candidate, update)
            ):
                present[uid] = state
                continue
            keyed = state.keys_of_pose(update) if uid in update.posed_armatures else None
            if keyed is not None and _is_posable(candidate, update):
                present[uid] = state
                posed.append((state, keyed))
                continue
        if not names and state is None and uid not in memory.followed:
            continue
        has_prepared |= source.prepare(candidate, update)
        if names and _is_posable(candidate, update):
            state = state or RigState(candidate, uid)
            state.object = candidate
            present[uid] = state
            stale.append((state, names))
    if has_prepared:
        update.evaluate_again()
    shared = Shared(graph.skeletons, source.store)
    for state, keyed in posed:
        if has_prepared or not state.read_frame(update, keyed):
            stale.append((state, state.chain_names))
    for state, names in stale:
        state.read(names, source.specs(state.object, update), update, shared)
    place([*[state for state, _ in stale], *[state for state, _ in posed]])
    if present:
        update.ask_for_view_layers()
    has_changed = bool(stale or posed) or len(present) != len(graph.rigs)
    for uid in graph.rigs.keys() - present.keys():
        # It is edited, at rest or hidden: what its chains did last is true no longer.
        memory.outcomes.pop(uid, None)
    graph.rigs = present
    if has_changed:
        graph.assemble()
        _note_outcomes(graph, update)
    return has_prepared


def _is_posable(candidate: bpy.types.Object, update: Update) -> bool:
    armature = candidate.data
    # Objects that share what one of them edits show their rest pose as well.
    is_posed = armature.pose_position == "POSE" and not armature.is_editmode
    is_posed = is_posed and candidate.pose is not None
    return is_posed and candidate.evaluated_get(update.depsgraph).is_evaluated


def _place_again(level: Level, update: Update) -> None:
    for state in level.states:
        animated = state.animated
        state.read_pose(update)
        # The pose has been written to since; what animation gave is known from the first look.
        state.animated = animated
    place(level.states)


def _changes(level: Level, update: Update, world: WorldMatrices) -> list[Change]:
    """Solve the chains of a level; return what is not as it should be."""
    changes: list[Change] = []

    def is_foreign(state: RigState) -> bool:
        return not update.is_new_frame and _is_written_by_another(state)

    moment = moment_of(update)
    for batch in level.batches:
        changes += batch.changes(world, moment, is_foreign)
    return changes


def _is_written_by_another(state: RigState) -> bool:
    written = memory.written.get(state.uid)
    if written is None:
        return False
    bones = state.object.pose.bones
    return all(
        np.array_equal(read_floats(bones, name, CHANNEL_SIZES[name]), values)
        for name, values in written.items()
    )


def _write(
    unwritten: dict[int, list[Change]], update: Update, source: Source, written: set[int]
) -> frozenset[int]:
    """Write what has been noted, once an armature object; return which have other chains by now.

    Args:
        unwritten: What is not as it should be, by session uid of the armature object; emptied.
        update: Which graph.
        source: Tells whether armature objects have the chains that are known.
        written: Session uids of those that this update has written so far; grows.
    """
    is_render, has_others = update.depsgraph.mode == "RENDER", len(memory.graphs) > 1
    # On a new frame the lists have just been compared.
    names_of, asks_lists, others = source.names, not update.is_new_frame, []
    for uid, changes in unwritten.items():
        state = changes[0].state
        owner, pose = state.object, state.pose
        if pose is None or (asks_lists and names_of(owner) != state.chain_names):
            others.append(uid)
            continue
        if is_render and uid not in written:
            keep_animated_values(owner, owner.evaluated_get(update.depsgraph))
        written.add(uid)
        values_of = write_pose(owner, pose, changes)
        if has_others:
            memory.written[uid] = {name: values.copy() for name, values in values_of.items()}
    unwritten.clear()
    return frozenset(others)


def _log_refusals(graph: GraphState) -> None:
    """Log chains that cannot be solved, once each."""
    if not _LOG.isEnabledFor(logging.INFO):
        return
    found = {(uid, i): text for uid, rig in graph.rigs.items() for i, text in rig.errors.items()}
    for (uid, index), text in {**found, **graph.refused}.items():
        if memory.outcomes.get(uid, {}).get(index) != text:
            owner = graph.rigs[uid].object
            name = owner.chain_ik.chains[index].name
            _LOG.info("'%s', chain '%s': %s", owner.name, name, text)


def _note_outcomes(graph: GraphState, update: Update) -> None:
    """Keep where to ask for the outcome of every chain in a viewport."""
    if update.depsgraph.mode == "RENDER":
        return
    outcomes = memory.outcomes
    _log_refusals(graph)
    for uid, state in graph.rigs.items():
        outcomes[uid] = dict(state.errors)
    for level in graph.levels:
        for batch in level.batches:
            for row, live_chain in enumerate(batch.live_chains):
                outcomes[batch.uids[row]][live_chain.job.index] = (batch, row)
    for (uid, index), text in graph.refused.items():
        outcomes[uid][index] = text
