"""What is known of one dependency graph: its rigs, and their chains in the order of solving."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ..batches.batch_rigs import Members
from ..batches.carry import Carry, can_carry
from ..batches.chain_batch import ChainBatch
from ..batches.changes import ChannelChange
from ..batches.follow_batch import FollowBatch
from ..batches.resting import RestingChain, find_resting
from ..batches.rig_state import RigState, Specs, update_bases
from ..planning.live_chain import LiveChain
from ..planning.order import Group, PlannedChain, are_planned_alike, find_levels, find_moving_groups
from ..planning.written_locations import located_bones
from ..reading.channels import Pose
from ..reading.refusals import Refused, listed
from ..reading.skeleton import Fingerprint, Skeleton
from ..reading.spec import names_of_chains
from ..reading.update import Update
from ..reading.world import ObjectRows
from ..trees.driven import BatchKey
from ..trees.shared_bones import group_chains
from ..trees.uniting import unite_chains
from .writer import LastWrite

Batch = ChainBatch | FollowBatch
"""What is solved side by side."""
Alike = tuple[int, bool, BatchKey]
"""A level, whether all keep their shape there, and what else they have in common."""


# From so many changes on it is quicker to look at all targets than to ask what each change is.
MANY = 30


@dataclass
class Level:
    """Chains that hang on nothing that their own or a later level moves.

    Attributes:
        batches: Those that are solved side by side.
        carry: Poses the bones above those that only their parents move; None where none are.
        is_carried: Whether these are all.
    """

    batches: list[Batch] = field(default_factory=list)
    carry: Carry | None = None
    is_carried: bool = False


@dataclass
class GraphState:
    """One dependency graph.

    Attributes:
        rigs: By session uid of the armature object.
        levels: In the order of solving.
        skeletons: Those in use, by fingerprint.
        tied: By rig, the owners of constraints and drivers that its chains may hang on. Muting one
            changes what hangs on what, and Blender then lists its owner only.
        order: Of the graph's objects in bulk reads.
        refused: What is wrong with chains that are sound by themselves, by armature object and
            index.
        met: What was last written to armature objects, as far as this graph has seen to it.
        resting: The same chains, whose own bones stand as stored.
        gone_back: By armature object and index, as soon as they stand so: which of these bones
            somebody has posed at this frame.
        has_solved: Whether an update has solved its chains.
    """

    rigs: dict[int, RigState] = field(default_factory=dict)
    levels: list[Level] = field(default_factory=list)
    skeletons: dict[Fingerprint, Skeleton] = field(default_factory=dict)
    tied: dict[int, frozenset[int]] = field(default_factory=dict)
    order: ObjectRows | None = None
    refused: dict[tuple[int, int], str] = field(default_factory=dict)
    met: dict[int, LastWrite] = field(default_factory=dict)
    resting: tuple[RestingChain, ...] = ()
    gone_back: dict[tuple[int, int], list[str]] = field(default_factory=dict)
    has_solved: bool = False
    _assembled: list[tuple[LiveChain, bool]] = field(default_factory=list)
    _anchors: frozenset[int] = frozenset()
    _goes_on: bool = False
    _groups: tuple[Group, ...] = ()
    _refused: dict[int, str] = field(default_factory=dict)
    _numbers: list[int] = field(default_factory=list)

    def read_alone(
        self, state: RigState, specs: Specs, update: Update, home: Pose | None = None
    ) -> None:
        """Read an armature object as the only one there is; its stored poses are left as they are.

        Args:
            state: The object; told later what is wrong with its chains.
            specs: As for ``RigState.read``.
            update: Which graph.
            home: The pose to solve from; None for that of the graph.
        """
        state.read([], specs, update, self.skeletons, lambda *taken: taken[-1])
        if home is not None:
            state.pose = home
        update_bases([state])
        self.rigs[state.uid] = state
        self.assemble()

    def touched(self, update: Update) -> frozenset[int]:
        """Return the session uids of rigs that may have changed, of others perhaps as well."""
        if update.depsgraph.mode == "RENDER":
            # Its originals are those of the viewport: what stands there tells nothing of the frame.
            return frozenset(self.rigs)
        tied = [uid for uid, owners in self.tied.items() if not owners.isdisjoint(update.listed)]
        return update.listed_armatures.union(tied) if tied else update.listed_armatures

    def with_other_lists(self) -> frozenset[int]:
        """Return the session uids of rigs that have other chains than are known here."""
        return frozenset(
            [
                uid
                for uid, rig in self.rigs.items()
                if names_of_chains(rig.object) != rig.chain_names
            ]
        )

    def is_idle(self, update: Update) -> bool:
        """Tell whether nothing that any chain follows has changed."""
        if update.depsgraph.mode == "RENDER" or update.count > MANY or update.has_new_relations:
            return False
        if update.is_new_frame and self._goes_on:
            # Time itself moves chains that ease, and others have to know that they missed no frame.
            return False
        # Any armature object may have chains now, or be posable again.
        return not update.listed_armatures and self._anchors.isdisjoint(update.listed)

    def recall(self, uids: frozenset[int] | set[int]) -> None:
        """Put what chains carry of rigs read anew where it was, as long as nothing moves it."""
        for level in self.levels if uids else ():
            if level.carry is not None:
                level.carry.recall(uids)

    def note_rest(
        self, chain: RestingChain, changes: Sequence[ChannelChange], *, is_hand: bool
    ) -> None:
        """Note which bones of a refused chain go back, if somebody has posed them."""
        key = chain.state.uid, chain.live_chain.index
        if not is_hand or key not in self.gone_back:
            self.gone_back[key] = []
        elif changes:
            names = [*self.gone_back[key], *chain.posed(changes)]
            self.gone_back[key] = list(dict.fromkeys(names))

    def refusal(self, key: tuple[int, int]) -> Refused:
        """Return why a chain is refused, by armature object and index."""
        text, bones = self.refused[key], self.gone_back.get(key)
        if not bones:
            return Refused(text)
        return Refused(
            f"This chain keeps {listed(bones)} as stored or keyed, so it went back: mute the chain"
            f" to pose by hand. {text}"
        )

    def assemble(self) -> None:
        """Sort the chains into levels and batches; what is as it was keeps what it knows."""
        placed = list(self._placed())
        fits = [(state.live_chains[row], is_even) for state, row, is_even in placed]
        if fits == self._assembled and self.levels:
            return
        known, chains = [chain for chain, _ in self._assembled], [chain for chain, _ in fits]
        self._assembled = fits
        in_use = [state.skeleton for state in self.rigs.values()]
        self.skeletons = {skeleton.fingerprint: skeleton for skeleton in in_use}
        if not are_planned_alike(chains, known):
            self._groups, self._refused = group_chains(chains)
            self._numbers = find_levels(find_moving_groups(chains, self._groups))
            self.refused = {
                (chains[i].object.session_uid, chains[i].index): text
                for i, text in self._refused.items()
            }
            gone_back = self.gone_back.items()
            self.gone_back = {key: bones for key, bones in gone_back if key in self.refused}
            anchors = [anchor for chain in chains for anchor in chain.anchors]
            self._anchors = frozenset(anchor.object.session_uid for anchor in anchors)
            self._goes_on = any(chain.spec.depends_on_time for chain in chains)
            self.tied = _tied(chains)
        self._fill_levels(placed)

    def _fill_levels(self, placed: list[tuple[RigState, int, bool]]) -> None:
        """Put chains into their levels, alike ones side by side."""
        batches = [batch for level in self.levels for batch in level.batches]
        known = {each.live_chains: each for batch in batches for each in batch.driven}
        self.levels = [Level() for _ in range(1 + max(self._numbers, default=-1))]
        groups: dict[Alike, Members] = {}
        for chosen, number in zip(self._groups, self._numbers, strict=True):
            state = placed[chosen[0]][0]
            rows, fits = [placed[i][1] for i in chosen], all([placed[i][2] for i in chosen])
            live_chains = tuple([state.live_chains[row] for row in rows])
            driven = known.get(live_chains) or unite_chains(live_chains, state.pose, state.joints)
            alike = number, fits and driven.keeps_shape, driven.batch_key
            members = groups.setdefault(alike, [])
            # Armature objects come one after the other.
            if not members or members[-1][0] is not state:
                members.append((state, []))
            members[-1][1].append((rows[driven.root_chain], driven))
        for (number, is_even, key), members in groups.items():
            same = (batch for batch in batches if batch.is_compiled_from(members, is_even=is_even))
            batch = next(same, None)
            if batch is None:
                is_dragged = key.drag is not None
                batch = FollowBatch(members) if is_dragged else ChainBatch(members, is_even=is_even)
            self.levels[number].batches.append(batch)
        self._find_carried(placed)
        each = [(state, state.live_chains[row]) for state, row, _ in placed]
        self.resting = find_resting(each, self._refused)

    def _find_carried(self, placed: list[tuple[RigState, int, bool]]) -> None:
        """Find the chains and trees below others that only their parents move."""
        if len(self.levels) < 2:
            return
        moved = {point for chain, _ in self._assembled for point in chain.points()}
        written: dict[int, dict[int, bool]] = {}
        for number, level in enumerate(self.levels):
            carried: dict[int, tuple[RigState, list[LiveChain]]] = {}
            level.is_carried = number > 0
            for chosen in self._groups_on(number) if number else ():
                if not all(can_carry(self._assembled[i][0], moved) for i in chosen):
                    level.is_carried = False
                    continue
                # That whose root is above all others.
                state, row = min((placed[i][:2] for i in chosen), key=_depth)
                live_chain = state.live_chains[row]
                carried.setdefault(state.uid, (state, []))[1].append(live_chain)
            if carried:
                level.carry = Carry(list(carried.values()), written)
            for i in (i for chosen in self._groups_on(number) for i in chosen):
                chain, of_rig = self._assembled[i][0], written.setdefault(placed[i][0].uid, {})
                located = located_bones(chain.plan, chain.spec)
                for bone in chain.plan.written.tolist():
                    of_rig[bone] = of_rig.get(bone, False) or bone in located

    def _groups_on(self, number: int) -> list[Sequence[int]]:
        """Return the chains, and those that share bones, that are solved on a level."""
        pairs = zip(self._groups, self._numbers, strict=True)
        return [chosen for chosen, own in pairs if own == number]

    def _placed(self) -> Iterator[tuple[RigState, int, bool]]:
        for state in self.rigs.values():
            if state.bases is not None:
                for row, is_even in enumerate(state.bases.is_even.tolist()):
                    yield state, row, is_even


def _depth(placed: tuple[RigState, int]) -> int:
    chain = placed[0].live_chains[placed[1]]
    return len(chain.skeleton.ancestors(chain.plan.root))


def _tied(chains: Iterable[PlannedChain]) -> dict[int, frozenset[int]]:
    tied: dict[int, frozenset[int]] = {}
    for chain in chains:
        if chain.moved_by.has_constraints:
            uid = chain.object.session_uid
            tied[uid] = tied.get(uid, frozenset()).union(chain.moved_by.owners)
    return tied
