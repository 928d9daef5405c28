"""The state of one armature object, read again when Blender reports that it has changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import bpy

from ...core.algebra.arithmetic import Array, Flags
from ..frames.bases import PlacedRig, PosedRig, base_key, place_rigs
from ..planning.animated_pose import AnimatedPose, VectorName
from ..planning.checks import is_pose_sound
from ..planning.order import HistoryKey, PlannedChain
from ..planning.planned_rig import PlanInputs, PlannedRig, RigBones, Specs, Store, plan_rig
from ..planning.start_channels import UnsolvedChannels
from ..planning.written_locations import may_stay_now
from ..posing.history import History
from ..reading.animation import animated_bones, animated_poses
from ..reading.channels import Pose, changed_bones, read_pose
from ..reading.spec import ChainSpec
from ..reading.update import Update
from ..reading.world import find_unmirrored, mirrors
from .compiled_rig import NOTHING_COMPILED, CompiledRig, CompileInputs, compile_rig

KeyedChannels = frozenset[tuple[str, str]]
"""Rotation channels that have keys, by bone and property."""


class PosedByHand(NamedTuple):
    """Bones of a chain or tree of k bones that the user has posed and the chain has reverted.

    Attributes:
        specs: Settings of the chains.
        followed: Matrices of their targets, poles and floor, as bytes to compare.
        bones: Which bones the user has posed, shape (k,).
        keys: Channels that had keys before; None if it is not known.
    """

    specs: tuple[ChainSpec, ...]
    followed: bytes
    bones: Flags
    keys: KeyedChannels | None


@dataclass
class RigState:
    """One armature object in one dependency graph, as last read.

    Its records are replaced as a whole: each is made from the ones before it in this order.

    Attributes:
        object: The original object, not an evaluated one.
        uid: Session uid of the object.
        animated: The pose that animation gives the object; it outlives this state.
        chain_names: Names of all chains of the object, live or not, in order.
        pose: Pose as last read, rotation channels as last written.
        unmirrored: Linear map of armature space that undoes negative scale; None where nothing
            mirrors the object.
        bones: Its bones, from the first ``read`` on.
        compiled: Its chains.
        placed: Bases of the chains; None without chains.
        version: Counter, raised when the pose is read or bones above chains are posed.
        histories: Last moments of chains that start from their last poses, by ``history_key``.
        posed_by_hand: Poses of the user that chains and trees reverted, by the bones they write.
    """

    object: bpy.types.Object
    uid: int
    animated: AnimatedPose = field(default_factory=AnimatedPose)
    chain_names: list[str] = field(default_factory=list)
    pose: Pose = field(init=False)
    unmirrored: Array | None = None
    bones: RigBones = field(init=False)
    compiled: CompiledRig = NOTHING_COMPILED
    placed: PlacedRig | None = None
    version: int = 0
    histories: dict[HistoryKey, History[Any]] = field(default_factory=dict)
    posed_by_hand: dict[bytes, PosedByHand] = field(default_factory=dict)

    def read(self, chain_names: list[str], specs: Specs, update: Update, store: Store) -> None:
        """Read everything, and reuse what has not changed.

        Args:
            chain_names: Names of all of the object's chains, live or not, in order.
            specs: Settings of the live chains by index, or why they cannot be used.
            update: The update, with its dependency graph and time.
            store: Stores the pose of a chain that has new bones.
        """
        self.chain_names = chain_names
        known, former = (self.bones.skeleton, self.pose) if self.version else (None, None)
        self.read_pose(update)
        sound = [spec for spec in specs.values() if isinstance(spec, ChainSpec)]
        self.bones = RigBones.read(self.object, sound, known)
        if self.bones.skeleton is not known:
            # Compiled chains refer to the rows of the former skeleton.
            self.compiled = NOTHING_COMPILED
        inputs = PlanInputs(self.object, self.bones, self.pose, update, store)
        planned = plan_rig(specs, self.compiled.live_chains, inputs)
        # Chains that no longer start from their last pose forget it.
        keys = {chain.history_key for chain, _ in planned.chains if chain.spec.depends_on_time}
        self.histories = {key: past for key, past in self.histories.items() if key in keys}
        self._compile(planned, former, update, animated_bones(self.object))

    def keys_of_pose(self, update: Update) -> frozenset[str] | None:
        """Return the names of bones with keys; None if more than the pose may have changed.

        The update lists only the pose of this object as changed.
        """
        if self.compiled.errors:
            return None
        more = update.listed - update.posed_armatures
        for chain in self.compiled.live_chains:
            relations = chain.moved_by
            if relations.has_constraints and not more.isdisjoint(relations.owners):
                return None
            if chain.spec.is_dragged:
                return None
        if not update.is_new_frame and not self._has_same_bones(more):
            return None
        keyed, is_pose_alone = animated_poses(self.object)
        return keyed if is_pose_alone else None

    def _has_same_bones(self, listed: frozenset[int]) -> bool:
        """Return whether bones, limits and followed bones are the same as when last read."""
        live_chains = self.compiled.live_chains
        if may_stay_now(self.object, (chain.spec for chain in live_chains)):
            return False
        followed = {
            anchor.object
            for chain in live_chains
            for anchor in chain.anchors
            if anchor.bone and anchor.object != self.object
        }
        # If a bone is renamed, Blender lists its armature.
        is_same = all(owner.data.session_uid not in listed for owner in followed)
        return is_same and self.bones.are_current(self.object)

    def read_frame(self, update: Update, keyed: frozenset[str]) -> bool:
        """Read the pose alone; return whether it is sound: if not, the former pose stays."""
        former, compiled = self.pose, self.compiled
        # If a script sets modes or locks at the start of a frame, the object is read completely.
        self.read_pose(update, former if update.is_new_frame else None)
        if not is_pose_sound(self.pose):
            self.pose = former
            return False
        chains = [(chain, chain.joints) for chain in compiled.live_chains]
        planned = PlannedRig(chains, compiled.errors, compiled.own_anchors)
        self._compile(planned, former, update, keyed)
        return True

    def read_pose(self, update: Update, known: Pose | None = None) -> None:
        """Read the pose as the graph has evaluated it; ``known`` as in ``channels.read_pose``."""
        evaluated = self.object.evaluated_get(update.depsgraph)
        self.pose = read_pose(evaluated, known)
        is_mirrored = mirrors(self.pose.world.tobytes())
        self.unmirrored = find_unmirrored(evaluated) if is_mirrored else None
        self.version += 1

    def _compile(
        self, planned: PlannedRig, former: Pose | None, update: Update, keyed: frozenset[str]
    ) -> None:
        changed = None
        if former is not None and planned.chains:
            differ = changed_bones(former, self.pose)
            changed = differ if differ.any() else None
        unsolved = UnsolvedChannels(self.object, update.frame, self.animated)
        inputs = CompileInputs(self.pose, changed, unsolved, keyed, self.bones.stretch)
        self.compiled = compile_rig(planned, self.compiled, inputs)

    def without(self, chain: PlannedChain, frame: float, name: VectorName) -> Array:
        """Return scale or location of a chain's bones at a frame without the chain, (k, 3)."""
        return UnsolvedChannels(self.object, frame, self.animated).of_chain(chain, self.pose, name)


def update_bases(states: Sequence[RigState]) -> bool:
    """Compute the bases of chains in the poses that were read last.

    Return whether any base is new, or ``is_even`` of any has changed.
    """
    moved: list[tuple[RigState, PosedRig]] = []
    for state in states:
        roots, pose, placed = state.compiled.roots, state.pose, state.placed
        if roots is None:
            state.placed = None
            continue
        key = base_key(roots, pose, state.unmirrored)
        if placed is None or placed.roots is not roots or placed.key != key:
            size = placed.size if placed is not None and placed.key[0] == key[0] else None
            rig = PosedRig(roots, pose, key, size, state.unmirrored is not None)
            moved.append((state, rig))
    has_shape_change = False
    all_placed = place_rigs([rig for _, rig in moved]) if moved else ()
    for (state, _), placed in zip(moved, all_placed, strict=True):
        known, state.placed = state.placed, placed
        is_even = placed.bases.is_even.tobytes()
        has_shape_change |= known is None or known.bases.is_even.tobytes() != is_even
    return has_shape_change
