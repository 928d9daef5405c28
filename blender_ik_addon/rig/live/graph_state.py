"""State of one dependency graph: its rigs, and their chains in the order of solving."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ...core.model.message import Message
from ..batches.batch_rigs import Members
from ..batches.carry import Carry, can_carry
from ..batches.chain_batch import ChainBatch
from ..batches.changes import ChannelChange
from ..batches.rig_state import RigState, update_bases
from ..planning.live_chain import LiveChain
from ..planning.order import Group, PlannedChain, are_planned_alike, find_levels, find_moving_groups
from ..planning.planned_rig import Specs
from ..planning.written_locations import located_bones
from ..reading.channels import Pose
from ..reading.dependencies import points_of_settings
from ..reading.refusals import listed
from ..reading.update import Update
from ..reading.world import ObjectRows
from ..trees.driven import BatchKey
from ..trees.shared_bones import group_chains
from ..trees.uniting import unite_chains
from .resting import RestingChain, find_resting
from .writer import LastWrite

LevelKey = tuple[int, bool, BatchKey]
"""Number of a level, whether all bases keep their shape, and the key of a batch."""

# With more listed changes than this, comparing all targets is faster than reading every change.
MAX_LISTED_CHANGES = 30


@dataclass
class Level:
    """Chains that depend on no bone that a chain of this or a later level moves.

    Attributes:
        batches: Batches of the chains.
        carry: Bones above chains that other chains move only through parents; None without any.
        is_carried: Whether this is true of all chains; False on the first level.
    """

    batches: list[ChainBatch] = field(default_factory=list)
    carry: Carry | None = None
    is_carried: bool = False

    @property
    def states(self) -> list[RigState]:
        """The armature objects of its chains, each once or more often."""
        return [state for batch in self.batches for state in batch.states]


@dataclass
class GraphState:
    """State of one dependency graph.

    Attributes:
        rigs: Armature objects with chains, by session uid.
        levels: Levels in the order of solving.
        relation_owners: Objects whose constraints and drivers may move chains, by armature object.
            Muting one of these changes what moves a chain, and Blender lists only the owner.
        order: Rows of the objects in bulk reads.
        refused: Reasons why chains without errors are not solved, by armature object and index.
        seen_writes: Last writes to armature objects that this graph has responded to.
        resting: The refused chains; their private bones keep the stored pose.
        reverted_bones: By armature object and index, names of bones that the user has posed at this
            frame and a refused chain has reverted; no entry before a chain's first rest.
        has_solved: Whether an update has solved its chains.
    """

    rigs: dict[int, RigState] = field(default_factory=dict)
    levels: list[Level] = field(default_factory=list)
    relation_owners: dict[int, frozenset[int]] = field(default_factory=dict)
    order: ObjectRows | None = None
    refused: dict[tuple[int, int], Message] = field(default_factory=dict)
    seen_writes: dict[int, LastWrite] = field(default_factory=dict)
    resting: tuple[RestingChain, ...] = ()
    reverted_bones: dict[tuple[int, int], list[str]] = field(default_factory=dict)
    has_solved: bool = False
    _assembled: list[tuple[LiveChain, bool]] = field(default_factory=list)
    _anchor_uids: frozenset[int] = frozenset()
    _driven_uids: frozenset[int] = frozenset()
    _rigs_with_own_anchors: tuple[RigState, ...] = ()
    _depends_on_time: bool = False
    _groups: tuple[Group, ...] = ()
    _reasons: dict[int, Message] = field(default_factory=dict)
    _group_levels: list[int] = field(default_factory=list)

    @property
    def driven_rigs(self) -> list[RigState]:
        """The armature objects with settings of chains that bones of these chains drive."""
        return [self.rigs[uid] for uid in self._driven_uids if uid in self.rigs]

    def read_single_rig(
        self, state: RigState, specs: Specs, update: Update, start_pose: Pose | None
    ) -> None:
        """Read an armature object as the only one of the graph, and store no poses.

        Args:
            state: The object; gets the errors of its chains.
            specs: As for ``RigState.read``.
            update: The update, with its dependency graph.
            start_pose: The pose to solve from; None for the evaluated pose.
        """
        state.read([], specs, update, lambda *arguments: arguments[-1])
        if start_pose is not None:
            state.pose = start_pose
        update_bases([state])
        self.rigs[state.uid] = state
        self.assemble()

    def find_changed_rigs(self, update: Update) -> frozenset[int]:
        """Return the session uids of rigs that may have changed, perhaps with uids of others."""
        if update.is_separate:
            # Its originals have the state of the viewport, not of the frame of the graph.
            return frozenset(self.rigs)
        related = [
            uid
            for uid, owners in self.relation_owners.items()
            if not owners.isdisjoint(update.listed)
        ]
        related += self._find_freed(update)
        return update.listed_armatures.union(related) if related else update.listed_armatures

    def _find_freed(self, update: Update) -> list[int]:
        """Return the session uids of unlisted rigs with a chain that need not be refused any more.

        Blender lists the target whose constraint was muted or removed, but not the rig.
        """
        return [
            state.uid
            for state in self._rigs_with_own_anchors
            if state.uid not in update.listed_armatures
            and state.compiled.has_freed_anchor(update.listed)
        ]

    def is_idle(self, update: Update) -> bool:
        """Return whether no input of any chain has changed."""
        if update.is_separate or update.count > MAX_LISTED_CHANGES or update.has_new_relations:
            return False
        if update.is_new_frame and self._depends_on_time:
            # Chains that ease move in time alone, and histories must not miss a frame.
            return False
        # Each listed armature object may have chains now, or be posable again.
        is_same = not update.listed_armatures and self._anchor_uids.isdisjoint(update.listed)
        return is_same and not self._find_freed(update)

    def recall(self, uids: frozenset[int] | set[int]) -> None:
        """Restore the carried bones of rigs that were read again, if no input has changed."""
        for level in self.levels if uids else ():
            if level.carry is not None:
                level.carry.recall(uids)

    def note_reverted(
        self, chain: RestingChain, changes: Sequence[ChannelChange], *, is_by_user: bool
    ) -> None:
        """Note the bones that the changes of a refused chain revert, if the user has posed them."""
        key = chain.state.uid, chain.live_chain.index
        if not is_by_user or key not in self.reverted_bones:
            self.reverted_bones[key] = []
        elif changes:
            names = [*self.reverted_bones[key], *chain.posed(changes)]
            self.reverted_bones[key] = list(dict.fromkeys(names))

    def refusal(self, key: tuple[int, int]) -> Message:
        """Return the reason why a chain is refused, by armature object and index."""
        text, bones = self.refused[key], self.reverted_bones.get(key)
        if not bones:
            return text
        return Message(
            "This chain keeps {bones} as stored or keyed, so your change was reverted: mute the"
            " chain to pose by hand. {text}",
            bones=listed(bones),
            text=text,
        )

    def assemble(self) -> None:
        """Sort the chains into levels and batches; batches without changes are reused."""
        rigs = self.rigs.values()
        self._rigs_with_own_anchors = tuple([state for state in rigs if state.compiled.own_anchors])
        placed = [
            (state, row, is_even)
            for state in rigs
            if state.placed is not None
            for row, is_even in enumerate(state.placed.bases.is_even.tolist())
        ]
        assembled = [(state.compiled.live_chains[row], is_even) for state, row, is_even in placed]
        if assembled == self._assembled and self.levels:
            return
        former, chains = [chain for chain, _ in self._assembled], [chain for chain, _ in assembled]
        self._assembled = assembled
        if not are_planned_alike(chains, former):
            self._groups, self._reasons = group_chains(chains)
            self._group_levels = find_levels(find_moving_groups(chains, self._groups))
            self.refused = {
                (chains[i].object.session_uid, chains[i].index): text
                for i, text in self._reasons.items()
            }
            reverted = self.reverted_bones.items()
            self.reverted_bones = {key: bones for key, bones in reverted if key in self.refused}
            anchors = [anchor for chain in chains for anchor in chain.anchors]
            self._anchor_uids = frozenset(anchor.object.session_uid for anchor in anchors)
            self._depends_on_time = any(chain.spec.depends_on_time for chain in chains)
            self.relation_owners = _find_relation_owners(chains)
            moved = {point for chain in chains for point in chain.points()}
            driven = [rig for rig in rigs if not points_of_settings(rig.object).isdisjoint(moved)]
            self._driven_uids = frozenset([rig.uid for rig in driven])
        self._fill_levels(placed)

    def _fill_levels(self, placed: list[tuple[RigState, int, bool]]) -> None:
        """Fill the levels with batches of similar chains or trees."""
        batches = [batch for level in self.levels for batch in level.batches]
        known = {tree.live_chains: tree for batch in batches for tree in batch.driven}
        self.levels = [Level() for _ in range(1 + max(self._group_levels, default=-1))]
        groups: dict[LevelKey, Members] = {}
        for group, number in zip(self._groups, self._group_levels, strict=True):
            state = placed[group[0]][0]
            rows, are_even = [placed[i][1] for i in group], all([placed[i][2] for i in group])
            live_chains = tuple([state.compiled.live_chains[row] for row in rows])
            pose, joints = state.pose, state.bones.joints
            driven = known.get(live_chains) or unite_chains(live_chains, pose, joints)
            level_key = number, are_even and driven.keeps_shape, driven.batch_key
            members = groups.setdefault(level_key, [])
            # Groups of one armature object come one after the other.
            if not members or members[-1][0] is not state:
                members.append((state, []))
            members[-1][1].append((rows[driven.root_chain], driven))
        for (number, is_even, _), members in groups.items():
            same = (batch for batch in batches if batch.is_compiled_from(members, is_even=is_even))
            batch = next(same, None) or ChainBatch(members, is_even=is_even)
            self.levels[number].batches.append(batch)
        self._build_carries(placed)
        pairs = [(state, state.compiled.live_chains[row]) for state, row, _ in placed]
        self.resting = find_resting(pairs, self._reasons)

    def _build_carries(self, placed: list[tuple[RigState, int, bool]]) -> None:
        """Build the carries of levels, for chains and trees that only parents move."""
        if len(self.levels) < 2:
            return
        moved = {point for chain, _ in self._assembled for point in chain.points()}
        written: dict[int, dict[int, bool]] = {}
        for number, level in enumerate(self.levels):
            carried: dict[int, tuple[RigState, list[LiveChain]]] = {}
            level.is_carried = number > 0
            for group in self._list_groups(number) if number else ():
                if not all(can_carry(self._assembled[i][0], moved) for i in group):
                    level.is_carried = False
                    continue
                # The chain whose root is above all others.
                live_chains, state = [self._assembled[i][0] for i in group], placed[group[0]][0]
                top = min(live_chains, key=lambda it: len(it.skeleton.ancestors(it.plan.root)))
                carried.setdefault(state.uid, (state, []))[1].append(top)
            if carried:
                level.carry = Carry(list(carried.values()), written)
            for i in (i for group in self._list_groups(number) for i in group):
                chain, bones = self._assembled[i][0], written.setdefault(placed[i][0].uid, {})
                located = located_bones(chain.plan, chain.spec)
                for bone in chain.plan.written.tolist():
                    bones[bone] = bones.get(bone, False) or bone in located

    def _list_groups(self, number: int) -> list[Sequence[int]]:
        """Return the groups of chains that are solved on a level."""
        pairs = zip(self._groups, self._group_levels, strict=True)
        return [group for group, level in pairs if level == number]


def _find_relation_owners(chains: Iterable[PlannedChain]) -> dict[int, frozenset[int]]:
    owners: dict[int, frozenset[int]] = {}
    for chain in chains:
        if chain.moved_by.has_constraints:
            uid = chain.object.session_uid
            owners[uid] = owners.get(uid, frozenset()).union(chain.moved_by.owners)
    return owners
