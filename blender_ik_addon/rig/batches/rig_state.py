"""The state of one armature object, read again when Blender reports that it has changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import bpy
import numpy as np

from ...core import IKError
from ...core.algebra.arithmetic import Array, Flags
from ...core.model.message import Message
from ..frames.bases import PlacedRig, PosedRig, RootBones, base_key, place_rigs
from ..planning.animated_pose import AnimatedPose
from ..planning.checks import check_channels, check_pose, is_pose_sound
from ..planning.joints_of_chain import chain_joints
from ..planning.live_chain import LiveChain, is_same
from ..planning.order import HistoryKey, PlannedChain, are_planned_alike
from ..planning.slide import ChainSlide, chain_slide, check_drivers
from ..planning.start_channels import (
    ChannelsName,
    VectorName,
    completed,
    start_channels,
    start_vector,
)
from ..planning.stretch import BoneStretch, ChainStretch, read_stretch
from ..planning.written_locations import check_moved, located_bones, may_stay_now
from ..posing.history import History, Memento, add_moment, find_last
from ..reading.animation import BoneKeys, animated_bones, animated_poses
from ..reading.bone_joints import BoneJoints, read_joints
from ..reading.chain_plan import check, plan_chain
from ..reading.channels import Pose, changed_bones, read_pose
from ..reading.dependencies import OwnAnchor, OwnAnchorError
from ..reading.moment import Moment
from ..reading.refusals import Refused
from ..reading.skeleton import Fingerprint, Skeleton, compile_skeleton
from ..reading.spec import ChainSpec, StartFrom, StoredBone
from ..reading.update import Update
from ..reading.world import find_unmirrored, mirrors

Specs = dict[int, ChainSpec | Refused]
"""The settings of chains by index, or the reason why they cannot be used."""
Store = Callable[[bpy.types.Object, int, tuple[StoredBone, ...]], tuple[StoredBone, ...]]
"""Stores the pose of a chain, which its armature object and index identify.

It returns the stored pose: bones new to the chain are stored as in the other chains.
"""


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
    """One armature object in one dependency graph.

    Attributes:
        object: The original object, not an evaluated one.
        uid: Session uid of the object.
        animated: The pose that animation gives the object; it outlives this state.
        skeleton: Bones of the object, from the first ``read`` on.
        pose: Pose as last read, rotation channels as last written.
        chain_names: Names of all chains of the object, live or not, in order.
        live_chains: Compiled chains that can be solved.
        roots: Root bones of the chains; None without chains.
        placed: Bases of the chains; None without chains.
        unmirrored: Linear map of armature space that undoes negative scale; None where nothing
            mirrors the object.
        joints: Joints of all bones; None where no chain honours them.
        stretch: Stretch of all bones; None where no chain stretches.
        errors: Error messages by chain index.
        own_anchors: Targets, poles and floors that refused chains move themselves.
        histories: Last moments of chains that start from their last poses, by ``history_key``.
        posed_by_hand: Poses of the user that chains and trees reverted, by the bones they write.
        version: Counter, raised when the pose is read or bones above chains are posed.
    """

    object: bpy.types.Object
    uid: int
    animated: AnimatedPose = field(default_factory=AnimatedPose)
    skeleton: Skeleton = field(init=False)
    pose: Pose = field(init=False)
    chain_names: list[str] = field(default_factory=list)
    live_chains: list[LiveChain] = field(default_factory=list)
    roots: RootBones | None = None
    placed: PlacedRig | None = None
    unmirrored: Array | None = None
    joints: BoneJoints | None = None
    stretch: BoneStretch | None = None
    errors: dict[int, Message] = field(default_factory=dict)
    own_anchors: list[OwnAnchor] = field(default_factory=list)
    histories: dict[HistoryKey, History[Any]] = field(default_factory=dict)
    posed_by_hand: dict[bytes, PosedByHand] = field(default_factory=dict)
    version: int = 0

    def read(
        self,
        chain_names: list[str],
        specs: Specs,
        update: Update,
        skeletons: dict[Fingerprint, Skeleton],
        store: Store,
    ) -> None:
        """Read everything, and reuse what has not changed.

        Args:
            chain_names: Names of all of the object's chains, live or not, in order.
            specs: Settings of the live chains by index, or why they cannot be used.
            update: The update, with its dependency graph and time.
            skeletons: Skeletons by fingerprint: the rigs of a crowd have equal bones.
            store: Stores the pose of a chain that has new bones.
        """
        self.chain_names = chain_names
        known, former = (self.skeleton, self.pose) if self.version else (None, None)
        skeleton = compile_skeleton(self.object, known, skeletons)
        if known is not skeleton:
            # Compiled chains refer to the rows of the former skeleton.
            self.skeleton, self.roots, self.live_chains = skeleton, None, []
        known_chains = {chain.index: chain for chain in self.live_chains}
        items = specs.items()
        self.errors = {index: spec.text for index, spec in items if isinstance(spec, Refused)}
        sound = {index: spec for index, spec in items if not isinstance(spec, Refused)}
        self.own_anchors = []
        self.read_pose(update)
        has_limits = any(spec.use_limits or spec.force is not None for spec in sound.values())
        self.joints = read_joints(self.object) if has_limits else None
        has_stretch = any(spec.use_stretch for spec in sound.values())
        self.stretch = read_stretch(self.object) if has_stretch else None
        chains, joints = list[PlannedChain](), dict[int, BoneJoints | None]()
        is_whole_pose_sound = is_pose_sound(self.pose)
        for index, spec in sound.items():
            try:
                chain = self._planned(index, spec, known_chains.get(index), update, store)
                if not is_whole_pose_sound:
                    check_pose(self.object, self.pose, chain.plan)
                joints[index] = self._joints_of(chain)
            except IKError as error:
                self.errors[index] = error.message
                if isinstance(error, OwnAnchorError):
                    self.own_anchors.append(error.own_anchor)
                continue
            chains.append(chain)
        self._refuse_slid_tips(chains, joints)
        # Chains that no longer start from their last pose forget it.
        keys = {chain.history_key for chain in chains if chain.spec.depends_on_time}
        self.histories = {key: past for key, past in self.histories.items() if key in keys}
        self._compile_chains(chains, former, update, joints, animated_bones(self.object))

    def keys_of_pose(self, update: Update) -> frozenset[str] | None:
        """Return the names of bones with keys; None if more than the pose may have changed.

        Args:
            update: An update that lists only the pose of this object as changed.
        """
        if self.errors:
            return None
        more = update.listed - update.posed_armatures
        for chain in self.live_chains:
            relations = chain.moved_by
            if relations.has_constraints and not more.isdisjoint(relations.owners):
                return None
            if chain.spec.is_dragged:
                return None
        if not update.is_new_frame and not self._has_same_bones(more):
            return None
        keyed, is_pose_alone = animated_poses(self.object)
        return keyed if is_pose_alone else None

    def has_freed_anchor(self, listed: frozenset[int]) -> bool:
        """Return whether a refused chain does not move its own target any more.

        Args:
            listed: Session uids of the data-blocks that an evaluation has changed.
        """
        return any(
            not own_anchor.owners.isdisjoint(listed) and not own_anchor.is_moved()
            for own_anchor in self.own_anchors
        )

    def _has_same_bones(self, listed: frozenset[int]) -> bool:
        """Return whether bones, limits and followed bones are the same as when last read."""
        if may_stay_now(self.object, (chain.spec for chain in self.live_chains)):
            return False
        followed = {
            anchor.object
            for chain in self.live_chains
            for anchor in chain.anchors
            if anchor.bone and anchor.object != self.object
        }
        return (
            compile_skeleton(self.object, self.skeleton, {}) is self.skeleton
            # If a bone is renamed, Blender lists its armature.
            and all(owner.data.session_uid not in listed for owner in followed)
            and (self.joints is None or is_same(self.joints, read_joints(self.object)))
            and (self.stretch is None or is_same(self.stretch, read_stretch(self.object)))
        )

    def read_frame(self, update: Update, keyed: frozenset[str]) -> bool:
        """Read the pose alone; return whether it is sound: if not, the former pose stays."""
        former = self.pose
        # If a script sets modes or locks at the start of a frame, the object is read completely.
        self.read_pose(update, former if update.is_new_frame else None)
        if not is_pose_sound(self.pose):
            self.pose = former
            return False
        joints = {chain.index: chain.joints for chain in self.live_chains}
        self._compile_chains(self.live_chains, former, update, joints, keyed)
        return True

    def last_of(self, chain: PlannedChain, moment: Moment) -> Memento[Any] | None:
        """Return the memento that a chain starts from at a moment; None if it starts afresh."""
        return find_last(self.histories.get(chain.history_key, ()), chain.skeleton, moment)

    def remember(self, chain: PlannedChain, moment: Moment, value: object) -> None:
        """Remember a value that the chain starts from after a moment."""
        key = chain.history_key
        self.histories[key] = add_moment(self.histories.get(key, ()), chain.skeleton, moment, value)

    def read_pose(self, update: Update, known: Pose | None = None) -> None:
        """Read the pose as the graph has evaluated it; ``known`` as in ``channels.read_pose``."""
        evaluated = self.object.evaluated_get(update.depsgraph)
        self.pose = read_pose(evaluated, known)
        is_mirrored = mirrors(self.pose.world.tobytes())
        self.unmirrored = find_unmirrored(evaluated) if is_mirrored else None
        self.version += 1

    def _animated_at(self, frame: float, name: ChannelsName) -> Array | None:
        """Return channels of all bones as NLA strips give them at a frame; None if unknown."""
        return self.animated.channels(self.skeleton, frame, name)

    def without(self, chain: PlannedChain, frame: float, name: VectorName) -> Array:
        """Return scale or location of a chain's bones at a frame without the chain, (k, 3)."""
        return start_vector(chain, self.pose, frame, name, self._animated_at(frame, name))

    def _planned(
        self, index: int, spec: ChainSpec, known: LiveChain | None, update: Update, store: Store
    ) -> PlannedChain:
        """Return a planned chain: the known one if none of its inputs has changed."""
        if known is not None and (known.spec != spec or update.has_new_relations):
            known = None
        if known is not None:
            relations = known.moved_by
            if not (relations.has_constraints and not update.listed.isdisjoint(relations.owners)):
                return known
        plan = plan_chain(self.skeleton, spec)
        moved_by = check(self.object, plan, spec, update.present)
        if known is not None and known.moved_by == moved_by:
            # A new chain would be solved once more, from its last pose.
            return known
        located = located_bones(plan, spec)
        stored = completed(self.pose, plan, spec, located)
        if stored != spec.stored_pose:
            stored = store(self.object, index, stored)
            spec = replace(spec, stored_pose=stored)
        return PlannedChain(self.object, index, spec, plan, moved_by)

    def _joints_of(self, chain: PlannedChain) -> BoneJoints | None:
        check_moved(chain)
        if chain.spec.is_dragged:
            # It starts from its present pose.
            check_channels(chain.plan, self.pose.rotation[chain.plan.written])
        if self.joints is None:
            return None
        joints = chain_joints(self.joints, chain.plan, chain.spec)
        if joints is not None and joints.slides is not None:
            check_drivers(chain, joints)
        return joints

    def _refuse_slid_tips(
        self, chains: list[PlannedChain], joints_of: Mapping[int, BoneJoints | None]
    ) -> None:
        """Refuse chains whose effector is the head of a bone that another chain slides."""
        slid = {
            bone: chain.spec.name
            for chain in chains
            if (joints := joints_of[chain.index]) is not None and joints.slides is not None
            for bone in chain.plan.written[joints.slides.any(axis=1)].tolist()
        }
        for chain in [chain for chain in chains if not chain.plan.ends_at_tail] if slid else ():
            tip = chain.plan.tip
            if tip in slid and tip not in chain.plan.written:
                chains.remove(chain)
                self.errors[chain.index] = Message(
                    "The head of bone '{bone}' slides with chain '{slid}': choose its parent as the tip bone,"
                    " and switch Use Tail on.",
                    bone=chain.spec.bone,
                    slid=slid[tip],
                )

    def _slide_of(
        self, chain: PlannedChain, joints: BoneJoints | None, frame: float
    ) -> ChainSlide | None:
        if joints is None or joints.slides is None:
            return None
        home = self.without(chain, frame, "location")
        return chain_slide(chain, joints, home, self.pose.location[chain.plan.written])

    def _stretch_of(self, chain: PlannedChain, frame: float) -> ChainStretch | None:
        if self.stretch is None or chain.spec.is_dragged or not chain.spec.use_stretch:
            return None
        written = chain.plan.written
        return ChainStretch(
            share=self.stretch.share[written],
            is_locked=self.stretch.is_locked[written],
            scale=self.without(chain, frame, "scale"),
            use_keep_volume=np.array(chain.spec.use_keep_volume),
        )

    def _compile_chains(
        self,
        chains: Sequence[PlannedChain],
        former: Pose | None,
        update: Update,
        joints_of: Mapping[int, BoneJoints | None],
        keyed: frozenset[str],
    ) -> None:
        """Compile chains; compiled chains without changes are reused."""
        changed = None
        if former is not None and chains and (differ := changed_bones(former, self.pose)).any():
            changed = differ
        known, self.live_chains, keys = self.live_chains, [], BoneKeys(self.object)
        for chain in chains:
            try:
                live_chain = self._compile_chain(
                    chain,
                    joints_of[chain.index],
                    changed,
                    keys,
                    update,
                    is_keyed=not keyed.isdisjoint(chain.plan.names),
                )
            except IKError as error:
                self.errors[chain.index] = error.message
                continue
            self.live_chains.append(live_chain)
        if not are_planned_alike(self.live_chains, known):
            self.roots = RootBones.of(self.live_chains) if self.live_chains else None

    def _compile_chain(
        self,
        chain: PlannedChain,
        joints: BoneJoints | None,
        changed: Flags | None,
        keys: BoneKeys,
        update: Update,
        *,
        is_keyed: bool,
    ) -> LiveChain:
        """Return a chain compiled: the known one if nothing has changed.

        Args:
            chain: The chain, compiled or only planned.
            joints: Joints of its bones.
            changed: Which bones have changed in more than rotations; None where none has.
            keys: Keys of the bones.
            update: The update.
            is_keyed: Whether any of its bones is animated.

        Raises:
            RigError: If its start pose is not finite.
        """
        pose, frame, written = self.pose, update.frame, chain.plan.written
        known = chain if isinstance(chain, LiveChain) else None
        if changed is not None and (changed[written].any() or changed[chain.plan.tip]):
            known = None
        if known is not None and known.is_settled and not is_keyed:
            if known.only_rotates and known.joints is joints:
                return known
            start, stored = known.start, known.stored
        else:
            animated = self._animated_at(frame, "rotation")
            start, stored = start_channels(chain, pose, frame, animated, keys)
            check_channels(chain.plan, stored)
        is_current, home = chain.start_from is StartFrom.CURRENT, None
        if chain.plan.body_root >= 0:
            locations = self.without(chain, frame, "location")
            home = locations[written == chain.plan.body_root][0].astype(np.float64)
        live_chain = LiveChain(
            *chain.parts,
            start=start,
            stored=stored,
            is_settled=bool(chain.spec.stored_pose) and not (is_current or is_keyed),
            joints=joints,
            stretch=self._stretch_of(chain, frame),
            slide=self._slide_of(chain, joints, frame),
            home=home,
        )
        return known if known is not None and known.is_like(live_chain) else live_chain


def update_bases(states: Sequence[RigState]) -> bool:
    """Compute the bases of chains in the poses of armature objects that were read last.

    Returns:
        Whether any base is new, or ``is_even`` of any has changed.
    """
    moved: list[tuple[RigState, PosedRig]] = []
    for state in states:
        roots, pose, placed = state.roots, state.pose, state.placed
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
