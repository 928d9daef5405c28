"""Live updates: read changes, solve chains, write their bones, and remember the results."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import bpy

from ...core.model.message import Message
from ..batches.chain_batch import ChainBatch
from ..batches.changes import ChannelChange, note
from ..batches.rig_state import RigState, update_bases
from ..batches.solve_results import SolveSummary
from ..planning.animated_pose import AnimatedPose
from ..planning.live_chain import LiveChain
from ..posing.outcome import Outcome
from ..reading.moment import Moment, moment_of
from ..reading.spec import names_of_chains
from ..reading.update import GraphKey, Update, shown_graph
from ..reading.world import WorldMatrices
from ..trees.driven import Driven
from .graph_state import GraphState, Level
from .replaced_values import ReplacedValues
from .resting import RestingChain
from .source import Source, has_idle_chains, read_driven, read_poses_again
from .writer import LastWrite, has_write, write_pose

_LOG = logging.getLogger(__name__)

ChainKey = tuple[int, int]
"""An armature object's session uid, and a chain's index in its list."""
BatchRow = tuple[ChainBatch, int]
"""The batch that solves a chain and has its outcome, and the row of the chain in it."""


@dataclass
class Memory:
    """Data that updates keep for later ones: ``clear`` on load, ``clear_except_outcomes`` on undo.

    Attributes:
        graphs: States of dependency graphs.
        last_writes: Last write to an armature object by any graph, by session uid of the object;
            stored while there are several graphs.
        outcomes: Batch row, or error, of a chain by graph of a viewport, session uid of the
            armature object and index.
        followed: First bones of chains, with followed objects and bones, by armature object.
        restored_uids: Session uids of armature objects with bones whose pose chains have restored
            since the last update.
        flushing: Graphs whose animated values Blender copies to the originals.
        animated: The poses that animation gives armature objects, by graph and session uid. They
            stay in edit mode and after undo, where Blender shows the poses of chains.
        replaced: Values of armature objects that renders and exports have replaced.
    """

    graphs: dict[GraphKey, GraphState] = field(default_factory=dict)
    last_writes: dict[int, LastWrite] = field(default_factory=dict)
    outcomes: dict[GraphKey, dict[int, dict[int, BatchRow | Message]]] = field(default_factory=dict)
    followed: dict[int, tuple[tuple[str, int, str], ...]] = field(default_factory=dict)
    restored_uids: set[int] = field(default_factory=set)
    flushing: set[GraphKey] = field(default_factory=set)
    animated: dict[tuple[GraphKey, int], AnimatedPose] = field(default_factory=dict)
    replaced: ReplacedValues = field(default_factory=ReplacedValues)

    def clear(self) -> None:
        """Forget everything."""
        for data in vars(self).values():
            data.clear()

    def clear_except_outcomes(self) -> None:
        """Forget everything but animated poses, and outcomes until the next update of a graph."""
        for name, data in vars(self).items():
            if name not in ("outcomes", "animated"):
                data.clear()

    def restart(self, uid: int) -> None:
        """Forget the outcomes of an armature object's chains, and all graphs with histories.

        The next update reads its graph again, and its chains start without a history.
        """
        self.graphs.clear()
        for of_graph in self.outcomes.values():
            of_graph.pop(uid, None)

    def copy_animated(self, original: bpy.types.Object, update: Update) -> None:
        """Copy animated values to an original object, once per update, before it is written."""
        uid = original.session_uid
        if update.key not in self.flushing and uid not in update.copied_armatures:
            update.copied_armatures.add(uid)
            self.replaced.copy_animated(original, update)

    def animated_pose(self, key: GraphKey, uid: int) -> AnimatedPose:
        """Return the pose that animation gives an armature object in a graph."""
        return self.animated.setdefault((key, uid), AnimatedPose())

    def outcome(self, graph: GraphKey, key: ChainKey) -> Outcome | Message | None:
        """Return the outcome or error of a chain's last solve in a viewport; None without one."""
        entry = self._find_entry(graph, *key)
        return entry[0].outcome(entry[1]) if isinstance(entry, tuple) else entry

    def summaries(
        self, graph: GraphKey, uid: int, indices: Iterable[int]
    ) -> list[SolveSummary | None]:
        """Return the short results of the last solves of an armature object's chains.

        None for a chain that was not solved, or whose solve failed.
        """
        rows = map(self.outcomes.get(graph, {}).get(uid, {}).get, indices)
        return [row[0].summary(row[1]) if isinstance(row, tuple) else None for row in rows]

    def live_chain(self, graph: GraphKey, key: ChainKey) -> LiveChain | None:
        """Return a chain as last solved, the same record until it changes; None without one."""
        entry = self._find_entry(graph, *key)
        return entry[0].live_chains[entry[1]] if isinstance(entry, tuple) else None

    def driven_in(self, scene: bpy.types.Scene, key: ChainKey) -> Driven | None:
        """Return the bones that a chain drives, alone or with others; None if it was not solved.

        Those of the first view layer that solves it.
        """
        for view_layer in scene.view_layers:
            entry = self._find_entry(shown_graph(scene, view_layer), *key)
            if isinstance(entry, tuple):
                return entry[0].driven_of(entry[1])
        return None

    def _find_entry(self, graph: GraphKey, uid: int, index: int) -> BatchRow | Message | None:
        return self.outcomes.get(graph, {}).get(uid, {}).get(index)


memory = Memory()


def update_chains(update: Update, source: Source) -> None:
    """Solve and write the chains of a scene's armature objects, level by level."""
    if not update.is_new_frame and not update.is_separate:
        # A viewport shows the graph. For renders, and for view layers that were never shown,
        # Blender calls handlers only at new frames.
        memory.flushing.add(update.key)
    graph = memory.graphs.get(update.key)
    is_new = graph is None
    if graph is None:
        graph = memory.graphs[update.key] = GraphState()
        memory.outcomes.pop(update.key, None)
    elif graph.is_idle(update):
        return
    # Cached before anything is tagged: Blender adds tagged data to its list.
    _ = update.posed_armatures, update.edited_actions
    changed = graph.find_changed_rigs(update)
    if update.is_new_frame and update.tells_of_rigs:
        # Scripts may have changed lists of chains; at new frames Blender does not list these rigs.
        rigs = graph.rigs.items()
        changed |= {uid for uid, rig in rigs if names_of_chains(rig.object) != rig.chain_names}
    if is_new or changed or not update.tells_of_rigs:
        _read_rigs(graph, update, source, changed)
    if not update.is_new_frame:
        _follow_other_view_layers(graph, update)
    changed_lists = _solve_levels(graph, update, source)
    if changed_lists:
        # A script has changed their lists of chains, and Blender does not report that.
        _read_rigs(graph, update, source, frozenset(changed_lists))
        _solve_levels(graph, update, source)
    graph.has_solved = True
    memory.replaced.note_after(update.copied_armatures)
    memory.restored_uids.clear()


def _follow_other_view_layers(graph: GraphState, update: Update) -> None:
    """Request solves of chains that other view layers of the scene have solved since.

    Their targets may have moved there, and be here where they were at the last solve.
    """
    scene = update.key[0]
    unseen = {
        uid: last
        for uid, last in memory.last_writes.items()
        if uid in graph.rigs and last[0][0] == scene and graph.seen_writes.get(uid) is not last
    }
    graph.seen_writes.update(unseen)
    uids = {uid for uid, last in unseen.items() if last[0] != update.key}
    for level in graph.levels if uids else ():
        for batch in level.batches:
            # Chains with histories differ by graph: two graphs would answer each other for ever.
            if not batch.depends_on_time:
                batch.request_solve(uids)


def _solve_levels(graph: GraphState, update: Update, source: Source) -> set[int]:
    """Solve and write level by level; begin again if solved bones change settings of chains.

    Chains whose inputs stay are solved only in the first pass. Bones and settings that drive each
    other may never come to rest: there are at most as many more passes as levels. Return the
    session uids of armature objects that were not written, because their lists of chains have
    changed.
    """
    written, changed_lists, passes = set[int](), set[int](), 0

    def has_changed_settings() -> bool:
        if passes >= len(graph.levels) or not graph.driven_rigs:
            return False
        return read_driven(graph.driven_rigs, update, source)

    while _solve_pass(graph, update, written, changed_lists, has_changed_settings):
        _assemble(graph, update)
        passes += 1
    return changed_lists


def _solve_pass(
    graph: GraphState,
    update: Update,
    written: set[int],
    changed_lists: set[int],
    has_changed_settings: Callable[[], bool],
) -> bool:
    """Solve and write level by level; return whether settings have changed meanwhile.

    Session uids of written armature objects are added to ``written``, others to ``changed_lists``.
    """
    unwritten: dict[int, list[ChannelChange]] = {}
    world: WorldMatrices | None = None
    moment = moment_of(update, is_first=not graph.has_solved, restored_uids=memory.restored_uids)
    for chain in graph.resting:
        changes = chain.changes(update.frame)
        _note_reverted(graph, update, chain, changes)
        _note_changes(changes, unwritten)
    for number in range(len(graph.levels)):
        level, has_shape_change = graph.levels[number], False
        if (unwritten or written) and not level.is_carried:
            # This level depends on bones that have just moved.
            changed_lists |= _write(unwritten, update, written)
            update.evaluate_again()
            if has_changed_settings():
                return True
            has_shape_change, world = read_poses_again(level.states, update), None
        if level.carry is not None:
            has_shape_change |= level.carry.update(has_written=bool(unwritten or written))
        if has_shape_change:
            # If a bone above has grown, bases below it may have become even or uneven.
            _assemble(graph, update)
            level = graph.levels[number]
        world = world or _read_world(graph, update)
        _note_changes(_solve_level(level, moment, world), unwritten)
    changed_lists |= _write(unwritten, update, written)
    if not (written and any(map(has_idle_chains, graph.driven_rigs))):
        return False
    # An idle chain is on no level until its mute or influence changes.
    update.evaluate_again()
    return has_changed_settings()


def _note_changes(
    changes: Iterable[ChannelChange], unwritten: dict[int, list[ChannelChange]]
) -> None:
    """Enter changes in the known poses, and collect them by armature object until the write."""
    for change in changes:
        note(change)
        unwritten.setdefault(change.state.uid, []).append(change)


def _note_reverted(
    graph: GraphState, update: Update, chain: RestingChain, changes: Sequence[ChannelChange]
) -> None:
    """Note bones of a refused chain that it reverts from a pose of the user, also in its error."""
    state, index = chain.state, chain.live_chain.index
    is_ours = update.is_new_frame or state.uid in memory.restored_uids
    graph.note_reverted(
        chain,
        changes,
        is_by_user=not (is_ours or has_write(state.object, memory.last_writes.get(state.uid))),
    )
    outcomes = memory.outcomes.get(update.key, {}).get(state.uid, {})
    if index in outcomes:
        outcomes[index] = graph.refusal((state.uid, index))


def _read_world(graph: GraphState, update: Update) -> WorldMatrices:
    rows = {uid: state.bones.skeleton.index for uid, state in graph.rigs.items()}
    may_be_hidden = not update.has_only_moved
    world = WorldMatrices(update.depsgraph, graph.order, rows, may_be_hidden=may_be_hidden)
    graph.order = world.order
    return world


def _read_rigs(graph: GraphState, update: Update, source: Source, changed: frozenset[int]) -> None:
    """Read the rigs that have changed; evaluate the graph again if that needs it."""
    stale: list[tuple[RigState, list[str]]] = []
    present: dict[int, RigState] = {}
    posed: list[tuple[RigState, frozenset[str]]] = []
    has_prepared = False
    # Read before rigs are prepared, which tags some: Blender then lists these too.
    known, posed_by_frame = graph.rigs, update.posed_armatures
    # Not the view layer's objects: a rig in an excluded collection still deforms its mesh.
    for candidate in (owner for owner in update.scene.objects if owner.type == "ARMATURE"):
        names, uid = names_of_chains(candidate), candidate.session_uid
        state = known.get(uid)
        same = state if state is not None and state.chain_names == names else None
        # Blender does not list hidden objects.
        if same is not None and uid not in changed:
            if not update.has_new_relations or update.can_pose(candidate):
                present[uid] = same
                continue
        if names:
            memory.animated_pose(update.key, uid).refresh(candidate, update)
        if same is not None:
            is_posed_alone = uid in posed_by_frame and uid not in memory.restored_uids
            keyed = same.keys_of_pose(update) if is_posed_alone else None
            if keyed is not None and update.can_pose(candidate):
                present[uid] = same
                posed.append((same, keyed))
                continue
        if not names and state is None and uid not in memory.followed:
            continue
        has_prepared |= source.prepare(candidate, update)
        if names and update.can_pose(candidate):
            state = state or RigState(candidate, uid, memory.animated_pose(update.key, uid))
            state.object = candidate
            present[uid] = state
            stale.append((state, names))
    if has_prepared:
        update.evaluate_again()
    for state, keyed in posed:
        if has_prepared or not state.read_frame(update, keyed):
            stale.append((state, state.chain_names))
    for state, names in stale:
        specs = source.read_specs(state.object, update)
        state.read(names, specs, update, source.store)
    graph.recall({state.uid for state, _ in posed})
    update_bases([*[state for state, _ in stale], *[state for state, _ in posed]])
    if present:
        update.ask_for_view_layers()
    has_changed = bool(stale or posed) or len(present) != len(graph.rigs)
    for uid in graph.rigs.keys() - present.keys():
        # It is edited, at rest, hidden or without chains: its outcomes are no longer true.
        memory.outcomes.get(update.key, {}).pop(uid, None)
    graph.rigs = present
    if has_changed:
        _assemble(graph, update)


def follow_animation(update: Update) -> None:
    """Keep the animated poses of armature objects true in an update that solves no chain."""
    if not (update.is_new_frame or update.listed_armatures):
        return
    for owner in (owner for owner in update.scene.objects if owner.type == "ARMATURE"):
        if names_of_chains(owner):
            memory.animated_pose(update.key, owner.session_uid).refresh(owner, update)


def _solve_level(level: Level, moment: Moment, world: WorldMatrices) -> list[ChannelChange]:
    """Solve the chains of a level; return channels that differ from the solutions."""
    changes: list[ChannelChange] = []

    def is_foreign(state: RigState) -> bool:
        return not moment.is_new and has_write(state.object, memory.last_writes.get(state.uid))

    for batch in level.batches:
        changes += batch.changes(world, moment, is_foreign)
    return changes


def _write(
    unwritten: dict[int, list[ChannelChange]], update: Update, written: set[int]
) -> frozenset[int]:
    """Write changes and empty ``unwritten``; ``written`` gets the uids of the written objects.

    Return the uids of armature objects that were not written: their lists of chains have changed.
    """
    has_others = len(memory.graphs) > 1
    # On a new frame the lists have just been compared.
    needs_comparison, changed_lists = not update.is_new_frame, []
    for uid, changes in unwritten.items():
        state = changes[0].state
        owner, pose = state.object, state.pose
        if needs_comparison and names_of_chains(owner) != state.chain_names:
            changed_lists.append(uid)
            continue
        memory.copy_animated(owner, update)
        written.add(uid)
        properties = write_pose(owner, pose, changes)
        if has_others:
            channels = {name: values.copy() for name, values in properties.items()}
            memory.last_writes[uid] = (update.key, channels)
    unwritten.clear()
    return frozenset(changed_lists)


def _log_refusals(graph: GraphState) -> None:
    """Log chains that cannot be solved, each once."""
    if not _LOG.isEnabledFor(logging.INFO):
        return
    rigs = graph.rigs.items()
    errors = {(uid, i): text for uid, rig in rigs for i, text in rig.compiled.errors.items()}
    for (uid, index), text in {**errors, **graph.refused}.items():
        if text not in [one.get(uid, {}).get(index) for one in memory.outcomes.values()]:
            owner = graph.rigs[uid].object
            name = owner.chain_ik.chains[index].name
            _LOG.info("'%s', chain '%s': %s", owner.name, name, text)


def _assemble(graph: GraphState, update: Update) -> None:
    """Sort the chains again; in a viewport store the batch rows and errors of all of them."""
    graph.assemble()
    if update.is_separate:
        return
    _log_refusals(graph)
    outcomes = memory.outcomes.setdefault(update.key, {})
    for uid, state in graph.rigs.items():
        outcomes[uid] = dict(state.compiled.errors)
    for level in graph.levels:
        for batch in level.batches:
            for row, live_chain in enumerate(batch.live_chains):
                outcomes[batch.uids[row]][live_chain.index] = (batch, row)
    for uid, index in graph.refused:
        outcomes[uid][index] = graph.refusal((uid, index))
