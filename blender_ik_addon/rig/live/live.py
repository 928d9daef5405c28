"""One live update: read what has changed, solve, write, and remember what was done."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import bpy
import numpy as np

from ..batches.batch import SolveSummary
from ..batches.changes import ChannelChange, note
from ..batches.resting import RestingChain
from ..batches.rig_state import RigState, Specs, Store, update_bases
from ..planning.live_chain import LiveChain
from ..posing.outcome import Outcome
from ..reading.channels import CHANNEL_SIZES, read_floats
from ..reading.moment import Moment, moment_of
from ..reading.refusals import Refused
from ..reading.skeleton import Skeleton
from ..reading.spec import names_of_chains
from ..reading.update import GraphKey, Update, shown_graph
from ..reading.world import WorldMatrices
from ..trees.driven import Driven
from .animated_values import keep_animated_values
from .graph_state import Batch, GraphState, Level
from .writer import LastWrite, write_pose

_LOG = logging.getLogger(__name__)

ChainKey = tuple[int, int]
"""An armature object's session uid, and a chain's index in its list."""
Knowing = tuple[Batch, int]
"""Who knows the outcome of a chain, and its row there."""


@dataclass
class Memory:
    """What updates remember of each other. Everything is keyed.

    ``clear`` on load, ``begin_anew`` on undo.

    Attributes:
        graphs: By dependency graph.
        written: By session uid of the armature object: what was written last, by whichever
            graph; kept where there are several.
        outcomes: By graph of a viewport, armature object and chain: where to ask what its last
            solve did, or the text of an error.
        followed: By armature object: first bones, and what their anchors hold: objects and bones.
        restored_uids: Armature objects with bones that chains have given a pose back since the last
            update.
        flushing: Graphs whose animated values Blender copies to the originals.
    """

    graphs: dict[GraphKey, GraphState] = field(default_factory=dict)
    written: dict[int, LastWrite] = field(default_factory=dict)
    outcomes: dict[GraphKey, dict[int, dict[int, Knowing | Refused]]] = field(default_factory=dict)
    followed: dict[int, tuple[tuple[str, int, str], ...]] = field(default_factory=dict)
    restored_uids: set[int] = field(default_factory=set)
    flushing: set[GraphKey] = field(default_factory=set)

    def clear(self) -> None:
        """Forget everything."""
        for known in vars(self).values():
            known.clear()

    def begin_anew(self) -> None:
        """Forget all but what is told of chains, until the next update has solved them again."""
        outcomes = dict(self.outcomes)
        self.clear()
        self.outcomes.update(outcomes)

    def restart(self, uid: int) -> None:
        """Forget what the chains of an armature object did; those that go on from it start again.

        What is known of graphs is read anew at the next update.
        """
        self.graphs.clear()
        for of_graph in self.outcomes.values():
            of_graph.pop(uid, None)

    def meet(self, update: Update) -> None:
        """Note whether Blender copies the animated values of this graph to the originals.

        It does so in graphs that a viewport shows. Renders, and view layers that were never shown,
        are told of frames alone.
        """
        if not update.is_new_frame and update.depsgraph.mode == "VIEWPORT":
            self.flushing.add(update.key)

    def keep_animated(self, original: bpy.types.Object, update: Update) -> None:
        """Copy what animation gives an armature object, once, before anything of it is written."""
        uid = original.session_uid
        if update.key not in self.flushing and uid not in update.copied_armatures:
            update.copied_armatures.add(uid)
            keep_animated_values(original, original.evaluated_get(update.depsgraph))

    def skeleton(self, key: GraphKey, uid: int) -> Skeleton | None:
        """Return the bones of an armature object as a graph knows them, to compare with."""
        graph = self.graphs.get(key)
        state = None if graph is None else graph.rigs.get(uid)
        return None if state is None else state.skeleton

    def outcome(self, graph: GraphKey, key: ChainKey) -> Outcome | Refused | None:
        """Return what the last solve of a chain in a viewport did, or what is wrong with it."""
        found = self._asked(graph, *key)
        return found[0].outcome(found[1]) if isinstance(found, tuple) else found

    def outcome_in(self, scene: bpy.types.Scene, key: ChainKey) -> Outcome | Refused | None:
        """Return the same of the first view layer of a scene that solves the chain."""
        graphs = [shown_graph(scene, view_layer) for view_layer in scene.view_layers]
        found = (self.outcome(graph, key) for graph in graphs)
        return next((outcome for outcome in found if outcome is not None), None)

    def summaries(
        self, graph: GraphKey, uid: int, indices: Iterable[int]
    ) -> list[SolveSummary | None]:
        """Return how the last solves of chains of an armature object ended, at the least cost.

        None without one, or if it failed.
        """
        asked = map(self.outcomes.get(graph, {}).get(uid, {}).get, indices)
        return [who[0].summary(who[1]) if isinstance(who, tuple) else None for who in asked]

    def live_chain(self, graph: GraphKey, key: ChainKey) -> LiveChain | None:
        """Return a chain as it was solved last; the same one until something of it changes."""
        found = self._asked(graph, *key)
        return found[0].live_chains[found[1]] if isinstance(found, tuple) else None

    def driven_in(self, scene: bpy.types.Scene, key: ChainKey) -> Driven | None:
        """Return what a chain drives, alone or with others, in the first view layer that solves it.

        None if it was not solved.
        """
        for view_layer in scene.view_layers:
            found = self._asked(shown_graph(scene, view_layer), *key)
            if isinstance(found, tuple):
                return found[0].driven_of(found[1])
        return None

    def _asked(self, graph: GraphKey, uid: int, index: int) -> Knowing | Refused | None:
        return self.outcomes.get(graph, {}).get(uid, {}).get(index)


memory = Memory()


@dataclass(frozen=True)
class Source:
    """Where live chains are told; the settings are a layer above this one.

    Attributes:
        prepare: Called before an object is read: gives chains their stored pose, muted ones back
            theirs, hidden targets an anchor. Returns whether the graph has to be evaluated again.
        specs: Returns the settings of the live chains of an object by index.
        store: Keeps the stored pose of a chain that bones have joined.
    """

    prepare: Callable[[bpy.types.Object, Update], bool]
    specs: Callable[[bpy.types.Object, Update], Specs]
    store: Store


def update_chains(update: Update, source: Source) -> None:
    """Solve and write the chains of a scene's armature objects, level by level.

    Args:
        update: Which graph, and why.
        source: Tells their chains.
    """
    memory.meet(update)
    graph = memory.graphs.get(update.key)
    is_new = graph is None
    if graph is None:
        graph = memory.graphs[update.key] = GraphState()
        memory.outcomes.pop(update.key, None)
    elif graph.is_idle(update):
        return
    # Kept from here on: Blender adds to its list what is tagged later.
    _ = update.posed_armatures
    world = _world(graph, update)
    touched = graph.touched(update)
    if update.is_new_frame and update.tells_of_rigs:
        # While frames pass, scripts may change lists of rigs that nothing else would look at.
        touched |= graph.with_other_lists()
    has_evaluated = False
    if is_new or touched or not update.tells_of_rigs:
        has_evaluated = _read_rigs(graph, update, source, touched)
    if not update.is_new_frame:
        _catch_up(graph, update)
    others = _solve_levels(graph, update, None if has_evaluated else world)
    if others:
        # A script has changed their lists, and Blender tells nobody of that.
        _read_rigs(graph, update, source, others)
        _solve_levels(graph, update, None)
    graph.has_solved = True
    memory.restored_uids.clear()


def _catch_up(graph: GraphState, update: Update) -> None:
    """Have chains solved again that another view layer of the scene has solved meanwhile.

    What they follow may have moved there, and back here to where it is known to have been.
    """
    scene = update.key[0]
    behind = {
        uid: last
        for uid, last in memory.written.items()
        if uid in graph.rigs and last[0][0] == scene and graph.met.get(uid) is not last
    }
    graph.met.update(behind)
    others = {uid for uid, last in behind.items() if last[0] != update.key}
    for level in graph.levels if others else ():
        for batch in level.batches:
            # What goes on from its last pose would answer for ever: it differs in each graph.
            if not batch.depends_on_time:
                batch.request_solve(others)


def _solve_levels(graph: GraphState, update: Update, world: WorldMatrices | None) -> frozenset[int]:
    """Solve and write level by level.

    Args:
        graph: What is known.
        update: Which graph.
        world: World matrices as the graph has evaluated them, if that is the last that it did.

    Returns:
        Session uids of armature objects that were not written: they have other chains by now.
    """
    unwritten: dict[int, list[ChannelChange]] = {}
    written: set[int] = set()
    others = frozenset[int]()
    moment = moment_of(update, is_first=not graph.has_solved, restored_uids=memory.restored_uids)
    for chain in graph.resting:
        changes = chain.changes(update.frame)
        _note_rest(graph, update, chain, changes)
        _note_changes(changes, unwritten)
    for number in range(len(graph.levels)):
        level, has_bent = graph.levels[number], False
        if (unwritten or written) and not level.is_carried:
            # This level hangs on what has just moved.
            others |= _write(unwritten, update, written)
            update.evaluate_again()
            has_bent = _place_again(level, update)
            world = None
        if level.carry is not None:
            has_bent |= level.carry.update(has_written=bool(unwritten or written))
        if has_bent:
            # A bone above has grown: what hangs on it keeps its shape no longer, or does again.
            _assemble(graph, update)
            level = graph.levels[number]
        world = world or _world(graph, update)
        _note_changes(_changes(level, moment, world), unwritten)
    return others | _write(unwritten, update, written)


def _note_changes(
    changes: Iterable[ChannelChange], unwritten: dict[int, list[ChannelChange]]
) -> None:
    """Note what is not as it should be, by armature object, until it is written."""
    for change in changes:
        note(change)
        unwritten.setdefault(change.state.uid, []).append(change)


def _note_rest(
    graph: GraphState, update: Update, chain: RestingChain, changes: Sequence[ChannelChange]
) -> None:
    """Note whether bones of a refused chain go back from a pose by hand, and tell of it."""
    state, index = chain.state, chain.live_chain.index
    is_ours = update.is_new_frame or state.uid in memory.restored_uids
    graph.note_rest(chain, changes, is_hand=not (is_ours or _is_written_by_another(state)))
    outcomes = memory.outcomes.get(update.key, {}).get(state.uid, {})
    if index in outcomes:
        outcomes[index] = graph.refusal((state.uid, index))


def _world(graph: GraphState, update: Update) -> WorldMatrices:
    world = WorldMatrices(update.depsgraph, graph.order if update.has_only_moved else None)
    graph.order = world.order
    return world


def _read_rigs(graph: GraphState, update: Update, source: Source, touched: frozenset[int]) -> bool:
    """Read the rigs that have changed; return whether the graph has been evaluated for that."""
    stale: list[tuple[RigState, list[str]]] = []
    present: dict[int, RigState] = {}
    posed: list[tuple[RigState, frozenset[str]]] = []
    has_prepared = False
    # Preparing rigs tags some, and Blender then lists these, too.
    known, posed_by_frame = graph.rigs, update.posed_armatures
    # Not the view layer's objects: a rig in an excluded collection still deforms its mesh.
    for candidate in (each for each in update.scene.objects if each.type == "ARMATURE"):
        names, uid = names_of_chains(candidate), candidate.session_uid
        state = known.get(uid)
        if state is not None and state.chain_names == names:
            # What is hidden is not listed.
            if uid not in touched and (
                not update.has_new_relations or _is_posable(candidate, update)
            ):
                present[uid] = state
                continue
            is_posed_alone = uid in posed_by_frame and uid not in memory.restored_uids
            keyed = state.keys_of_pose(update) if is_posed_alone else None
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
    for state, keyed in posed:
        if has_prepared or not state.read_frame(update, keyed):
            stale.append((state, state.chain_names))
    for state, names in stale:
        specs = source.specs(state.object, update)
        state.read(names, specs, update, graph.skeletons, source.store)
    graph.recall({state.uid for state, _ in posed})
    update_bases([*[state for state, _ in stale], *[state for state, _ in posed]])
    if present:
        update.ask_for_view_layers()
    has_changed = bool(stale or posed) or len(present) != len(graph.rigs)
    for uid in graph.rigs.keys() - present.keys():
        # It is edited, at rest or hidden: what its chains did last is true no longer.
        memory.outcomes.get(update.key, {}).pop(uid, None)
    graph.rigs = present
    if has_changed:
        _assemble(graph, update)
    return has_prepared


def _is_posable(candidate: bpy.types.Object, update: Update) -> bool:
    armature = candidate.data
    # Objects that share what one of them edits show their rest pose as well.
    is_posed = armature.pose_position == "POSE" and not armature.is_editmode
    is_posed = is_posed and candidate.pose is not None
    return is_posed and candidate.evaluated_get(update.depsgraph).is_evaluated


def _place_again(level: Level, update: Update) -> bool:
    states = {state.uid: state for batch in level.batches for state in batch.states}.values()
    for state in states:
        animated = state.animated
        state.read_pose(update)
        # The pose has been written to since; what animation gave is known from the first look.
        state.animated = animated
    return update_bases([*states])


def _changes(level: Level, moment: Moment, world: WorldMatrices) -> list[ChannelChange]:
    """Solve the chains of a level; return what is not as it should be."""
    changes: list[ChannelChange] = []

    def is_foreign(state: RigState) -> bool:
        return not moment.is_new and _is_written_by_another(state)

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
        for name, values in written[1].items()
    )


def _write(
    unwritten: dict[int, list[ChannelChange]], update: Update, written: set[int]
) -> frozenset[int]:
    """Write what has been noted, once an armature object; return which have other chains by now.

    Args:
        unwritten: What is not as it should be, by session uid of the armature object; emptied.
        update: Which graph.
        written: Session uids of those that this update has written so far; grows.
    """
    has_others = len(memory.graphs) > 1
    # On a new frame the lists have just been compared.
    asks_lists, others = not update.is_new_frame, []
    for uid, changes in unwritten.items():
        state = changes[0].state
        owner, pose = state.object, state.pose
        if asks_lists and names_of_chains(owner) != state.chain_names:
            others.append(uid)
            continue
        memory.keep_animated(owner, update)
        written.add(uid)
        values_of = write_pose(owner, pose, changes)
        if has_others:
            channels = {name: values.copy() for name, values in values_of.items()}
            memory.written[uid] = (update.key, channels)
    unwritten.clear()
    return frozenset(others)


def _log_refusals(graph: GraphState) -> None:
    """Log chains that cannot be solved, once each."""
    if not _LOG.isEnabledFor(logging.INFO):
        return
    found = {(uid, i): text for uid, rig in graph.rigs.items() for i, text in rig.errors.items()}
    for (uid, index), text in {**found, **graph.refused}.items():
        if Refused(text) not in [own.get(uid, {}).get(index) for own in memory.outcomes.values()]:
            owner = graph.rigs[uid].object
            name = owner.chain_ik.chains[index].name
            _LOG.info("'%s', chain '%s': %s", owner.name, name, text)


def _assemble(graph: GraphState, update: Update) -> None:
    """Sort the chains anew; keep where to ask for the outcome of every one in a viewport."""
    graph.assemble()
    if update.depsgraph.mode == "RENDER":
        return
    _log_refusals(graph)
    outcomes = memory.outcomes.setdefault(update.key, {})
    for uid, state in graph.rigs.items():
        outcomes[uid] = {index: Refused(text) for index, text in state.errors.items()}
    for level in graph.levels:
        for batch in level.batches:
            for row, live_chain in enumerate(batch.live_chains):
                outcomes[batch.uids[row]][live_chain.index] = (batch, row)
    for uid, index in graph.refused:
        outcomes[uid][index] = graph.refusal((uid, index))
