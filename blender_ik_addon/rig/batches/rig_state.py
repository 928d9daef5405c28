"""What an update knows of one armature object: read anew when Blender says that it has changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import bpy
import numpy as np

from ...core import IKError
from ...core.algebra.arithmetic import Array, Flags
from ..frames.bases import Bases, Posed, Roots, WorldSize, hanging_from, read_bases, world_sizes
from ..planning.checks import check_channels, check_pose, is_pose_sound
from ..planning.live_chain import LiveChain, is_same, keeps_shape
from ..planning.located import check_moved, located_bones, may_stay_now
from ..planning.order import HistoryKey, Job
from ..planning.own_joints import chain_joints
from ..planning.slide import ChainSlide, chain_slide, check_drivers
from ..planning.start_channels import VectorName, completed, start_channels, start_vector
from ..planning.stretch import BoneStretch, ChainStretch, read_stretch
from ..posing.history import History, Memento, before, remembered
from ..reading.animation import animated_bones, animated_poses
from ..reading.bone_joints import BoneJoints, read_joints
from ..reading.chain_plan import check, planned
from ..reading.channels import Pose, changed_bones, read_pose
from ..reading.moment import Moment
from ..reading.skeleton import Fingerprint, Skeleton, compiled
from ..reading.spec import ChainSpec, StartFrom, StoredBone
from ..reading.update import Update
from ..reading.world import find_unmirrored

Specs = dict[int, ChainSpec | str]
"""The settings of chains by index, or what is wrong with them in one sentence."""
Store = Callable[[bpy.types.Object, int, tuple[StoredBone, ...]], tuple[StoredBone, ...]]
"""Keeps the stored pose of a chain, told by its armature object and index.

It returns what is kept: bones that have joined the chain are stored as other chains store them.
"""


Keys = frozenset[tuple[str, str]]
"""Rotation channels that have keys, by bone and property."""


class PosedByHand(NamedTuple):
    """What somebody has posed of a chain or tree of k bones, which the chain has put back.

    Attributes:
        specs: Of the chains.
        followed: Where their targets and poles were, to compare.
        bones: Which bones, shape (k,).
        keys: Which channels had keys before; None if it is not known.
    """

    specs: tuple[ChainSpec, ...]
    followed: bytes
    bones: Flags
    keys: Keys | None


@dataclass
class RigState:
    """One armature object in one dependency graph.

    Attributes:
        object: Original.
        uid: Its session uid.
        skeleton: Its bones, from the first ``read`` on.
        pose: As read last; rotation channels as written last.
        chain_names: Of all chains of the object, live or not, in order.
        animated: Frame, and the pose that Blender's evaluation of that frame gave.
        jobs: Chains that can be solved.
        live_chains: The same, compiled.
        bases: The spaces of the chains.
        roots: What of those stays while the object is posed; None without chains.
        size: What the world matrix of that pose does to sizes; None where it has not been asked.
        places: What the bases were last found from, as ``bases.hanging_from`` tells.
        is_mirrored: Whether that matrix mirrors.
        unmirrored: What shows the object as it would be without negative scale; None where nothing
            mirrors it.
        joints: Of all bones; None where no chain honours them.
        stretch: Of all bones; None where no chain stretches.
        errors: By chain index.
        histories: What chains remember that go on from their last poses, by ``Job.history_key``.
        posed_by_hand: What went back of chains and trees, by the bones that they write.
        version: Grows whenever pose and bases are read.
    """

    object: bpy.types.Object
    uid: int
    skeleton: Skeleton = field(init=False)
    pose: Pose = field(init=False)
    chain_names: list[str] = field(default_factory=list)
    animated: tuple[float, Pose] | None = None
    jobs: list[Job] = field(default_factory=list)
    live_chains: list[LiveChain] = field(default_factory=list)
    bases: Bases | None = None
    roots: Roots | None = None
    size: WorldSize | None = None
    places: bytes = b""
    is_mirrored: bool = False
    unmirrored: Array | None = None
    joints: BoneJoints | None = None
    stretch: BoneStretch | None = None
    errors: dict[int, str] = field(default_factory=dict)
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
        """Read everything, and keep what is as it was.

        Args:
            chain_names: Of all of the object's chains, live or not, in order.
            specs: Settings of the live ones by index, or what is wrong with them.
            update: Which graph, and when.
            skeletons: By fingerprint: the rigs of a crowd have equal bones.
            store: Takes what is stored for a chain that bones have joined.
        """
        self.chain_names = chain_names
        known, former = (self.skeleton, self.pose) if self.version else (None, None)
        skeleton = compiled(self.object, known, skeletons)
        if known is not None and known.names != skeleton.names:
            # It tells of other bones, one a row.
            self.animated = None
        if known is not skeleton:
            # Of other bones no chain is known.
            self.skeleton, self.roots, self.jobs, self.live_chains = skeleton, None, [], []
        known_jobs, self.jobs = {job.index: job for job in self.jobs}, []
        self.errors = {index: spec for index, spec in specs.items() if isinstance(spec, str)}
        sound = {index: spec for index, spec in specs.items() if not isinstance(spec, str)}
        self.read_pose(update)
        has_limits = any(spec.use_limits or spec.force is not None for spec in sound.values())
        self.joints = read_joints(self.object) if has_limits else None
        has_stretch = any(spec.use_stretch for spec in sound.values())
        self.stretch = read_stretch(self.object) if has_stretch else None
        joints: dict[int, BoneJoints | None] = {}
        is_whole_pose_sound = is_pose_sound(self.pose)
        for index, spec in sound.items():
            try:
                job = self._job(index, spec, known_jobs.get(index), update, store)
                if not is_whole_pose_sound:
                    check_pose(self.object, skeleton, self.pose, job.plan)
                joints[index] = self._joints_of(job)
            except IKError as error:
                self.errors[index] = str(error)
                continue
            self.jobs.append(job)
        self._refuse_slid_tips(joints)
        # What no longer goes on from its last pose forgets it.
        keys = {job.history_key for job in self.jobs if job.spec.goes_on}
        self.histories = {key: past for key, past in self.histories.items() if key in keys}
        self._compile_chains(former, update, joints, animated_bones(self.object))

    def keys_of_pose(self, update: Update) -> frozenset[str] | None:
        """Return the bones with keys if an update can have changed the pose and no more.

        Args:
            update: One that has posed this object and that nobody has done more to.
        """
        if self.errors:
            return None
        more = update.listed - update.posed_armatures
        for job in self.jobs:
            relations = job.moved_by
            if relations.has_constraints and not more.isdisjoint(relations.owners):
                return None
            if job.spec.is_dragged:
                return None
        if not update.is_new_frame and not self._has_same_bones(more):
            return None
        keyed, is_pose_alone = animated_poses(self.object)
        return keyed if is_pose_alone else None

    def _has_same_bones(self, listed: frozenset[int]) -> bool:
        """Tell whether bones, limits and bones that are followed are as they were read last."""
        if may_stay_now(self.object, (job.spec for job in self.jobs)):
            return False
        followed = {
            anchor.object
            for job in self.jobs
            for anchor in job.anchors
            if anchor.bone and anchor.object != self.object
        }
        return (
            compiled(self.object, self.skeleton, {}) is self.skeleton
            # Bones that are renamed are listed with their armature.
            and all(each.data.session_uid not in listed for each in followed)
            and (self.joints is None or is_same(self.joints, read_joints(self.object)))
            and (self.stretch is None or is_same(self.stretch, read_stretch(self.object)))
        )

    def read_frame(self, update: Update, keyed: frozenset[str]) -> bool:
        """Read the pose alone; tell whether it is sound, else nothing is kept."""
        former = self.pose
        # An object whose modes or locks a script sets as the frame begins is read whole.
        self.read_pose(update, former if update.is_new_frame else None)
        if not is_pose_sound(self.pose):
            self.pose = former
            return False
        joints = {each.job.index: each.joints for each in self.live_chains}
        self._compile_chains(former, update, joints, keyed)
        return True

    def last_of(self, job: Job, moment: Moment) -> Memento[Any] | None:
        """Return what a chain goes on from at a moment; None where it starts again."""
        return before(self.histories.get(job.history_key, ()), job.skeleton, moment)

    def remember(self, job: Job, moment: Moment, kept: object) -> None:
        """Keep what a chain goes on from after a moment."""
        key = job.history_key
        self.histories[key] = remembered(self.histories.get(key, ()), job.skeleton, moment, kept)

    def read_pose(self, update: Update, known: Pose | None = None) -> None:
        """Read the pose, as the graph has evaluated it; what is known as ``channels.read_pose``."""
        evaluated = self.object.evaluated_get(update.depsgraph)
        former = self.pose if self.version else None
        self.pose = read_pose(evaluated, known)
        if former is None or former.world.tobytes() != self.pose.world.tobytes():
            self.size = None
            with np.errstate(invalid="ignore", over="ignore"):
                self.is_mirrored = bool(np.linalg.det(self.pose.world[:3, :3]) < 0.0)
        if self.is_mirrored or self.unmirrored is not None:
            self.unmirrored = find_unmirrored(evaluated) if self.is_mirrored else None
            self.places = b""
        self.version += 1
        if update.is_new_frame:
            self.animated = update.frame, self.pose.copy()

    def _animated_at(self, frame: float, name: VectorName | Literal["rotation"]) -> Array | None:
        """Return what the evaluation of a frame gave channels of all bones; None if unknown."""
        known_frame, pose = self.animated or (None, None)
        return getattr(pose, name) if known_frame == frame else None

    def without(self, job: Job, frame: float, name: VectorName) -> Array:
        """Return the scale or location of a chain's bones without it at a frame, shape (k, 3)."""
        return start_vector(job, self.pose, frame, name, self._animated_at(frame, name))

    def _job(
        self, index: int, spec: ChainSpec, known: Job | None, update: Update, store: Store
    ) -> Job:
        """Return a chain to solve, the known one if nothing that it depends on has changed."""
        if known is not None and (known.spec != spec or update.has_new_relations):
            known = None
        if known is not None:
            relations = known.moved_by
            if not (relations.has_constraints and not update.listed.isdisjoint(relations.owners)):
                return known
        plan = planned(self.skeleton, spec)
        moved_by = check(self.object, self.skeleton, plan, spec, update.present)
        if known is not None and known.moved_by == moved_by:
            # One made anew would be solved once more, from its own last pose.
            return known
        located = located_bones(self.skeleton, plan, spec)
        stored = completed(self.skeleton, self.pose, plan, spec, located)
        if stored != spec.stored_pose:
            stored = store(self.object, index, stored)
            spec = replace(spec, stored_pose=stored)
        return Job(self.object, index, spec, self.skeleton, plan, moved_by)

    def _joints_of(self, job: Job) -> BoneJoints | None:
        check_moved(job)
        if job.spec.is_dragged:
            # It goes on from what stands there.
            check_channels(job.skeleton, job.plan, self.pose.rotation[job.plan.written])
        if self.joints is None:
            return None
        joints = chain_joints(self.joints, self.skeleton, job.plan, job.spec)
        if joints is not None and joints.slides is not None:
            check_drivers(job, joints)
        return joints

    def _refuse_slid_tips(self, joints_of: dict[int, BoneJoints | None]) -> None:
        """Leave out chains that bring the head of a bone to a target which another chain slides."""
        slid = {
            bone: job.spec.name
            for job in self.jobs
            if (joints := joints_of[job.index]) is not None and joints.slides is not None
            for bone in job.plan.written[joints.slides.any(axis=1)].tolist()
        }
        for job in [job for job in self.jobs if not job.plan.ends_at_tail] if slid else ():
            tip = job.plan.tip
            if tip in slid and tip not in job.plan.written:
                self.jobs.remove(job)
                self.errors[job.index] = (
                    f"The head of bone '{job.spec.bone}' slides with chain '{slid[tip]}':"
                    " choose its parent as the tip bone, and switch Use Tail on."
                )

    def _slide_of(self, job: Job, joints: BoneJoints | None, frame: float) -> ChainSlide | None:
        if joints is None or joints.slides is None:
            return None
        home = self.without(job, frame, "location")
        return chain_slide(job, joints, home, self.pose.location[job.plan.written])

    def _stretch_of(self, job: Job, frame: float) -> ChainStretch | None:
        if self.stretch is None or job.spec.is_dragged or not job.spec.use_stretch:
            return None
        written = job.plan.written
        return ChainStretch(
            share=self.stretch.share[written],
            is_locked=self.stretch.is_locked[written],
            scale=self.without(job, frame, "scale"),
            use_keep_volume=np.array(job.spec.use_keep_volume),
        )

    def _compile_chains(
        self,
        former: Pose | None,
        update: Update,
        joints_of: dict[int, BoneJoints | None],
        keyed: frozenset[str],
    ) -> None:
        former_jobs = [live_chain.job for live_chain in self.live_chains]
        known = {id(live_chain.job): live_chain for live_chain in self.live_chains}
        if former is not None and self.live_chains:
            changed = changed_bones(former, self.pose)
            for live_chain in self.live_chains if changed.any() else ():
                plan = live_chain.job.plan
                if changed[plan.written].any() or changed[plan.tip]:
                    del known[id(live_chain.job)]
        self.live_chains, sound = [], []
        for job in self.jobs:
            joints = joints_of[job.index]
            try:
                live_chain = self._compile_chain(job, joints, known.get(id(job)), keyed, update)
            except IKError as error:
                self.errors[job.index] = str(error)
                continue
            sound.append(job)
            self.live_chains.append(live_chain)
        self.jobs = sound
        if sound != former_jobs:
            self.roots, self.places = Roots.of(self.live_chains) if sound else None, b""

    def _compile_chain(
        self,
        job: Job,
        joints: BoneJoints | None,
        known: LiveChain | None,
        keyed: frozenset[str],
        update: Update,
    ) -> LiveChain:
        """Return a chain compiled, the known one if nothing has changed.

        Args:
            job: The chain.
            joints: Of its bones.
            known: As compiled last, if the channels that are no rotations are the same.
            keyed: Names of the object's animated bones.
            update: When.

        Raises:
            RigError: If what it starts from is not finite.
        """
        pose, frame, written = self.pose, update.frame, job.plan.written
        stretch, slide = self._stretch_of(job, frame), self._slide_of(job, joints, frame)
        home = None
        if job.plan.body_root >= 0:
            whole = self.without(job, frame, "location")
            home = whole[written == job.plan.body_root][0].astype(np.float64)
        if known is not None:
            pairs = (known.joints, joints), (known.stretch, stretch), (known.slide, slide)
            is_kept = all(is_same(one, other) for one, other in pairs)
            is_home = known.home is home or np.array_equal(known.home, home)
            known = known if is_kept and is_home else None
        is_keyed = not keyed.isdisjoint(job.written_names())
        if known is not None and known.is_settled and not is_keyed:
            return known
        start, stored = start_channels(job, pose, frame, self._animated_at(frame, "rotation"))
        for channels in (start, stored):
            check_channels(job.skeleton, job.plan, channels)
        if job.start_from is StartFrom.CURRENT:
            # What stands there is read at every solve.
            start = stored
        starts_alike = known is not None and np.array_equal(known.start, start)
        if known is not None and starts_alike and np.array_equal(known.stored, stored):
            return known
        is_stored = bool(job.spec.stored_pose) and job.start_from is not StartFrom.CURRENT
        return LiveChain(
            job=job,
            start=start,
            stored=stored,
            modes=pose.modes[written],
            is_settled=is_stored and not is_keyed,
            joints=joints,
            stretch=stretch,
            keeps_shape=slide is None and keeps_shape(job, pose),
            slide=slide,
            home=home,
        )


def place(states: Sequence[RigState]) -> None:
    """Place the chains of armature objects in the poses that were read last."""
    hung: list[RigState] = []
    for state in states:
        if state.roots is None:
            state.bases, state.places = None, b""
        elif state.places != (places := hanging_from(state.roots, state.pose)):
            state.places = places
            hung.append(state)
    unknown = [state for state in hung if state.size is None]
    sizes = world_sizes([state.pose for state in unknown]) if unknown else ()
    for state, size in zip(unknown, sizes, strict=True):
        state.size = size
    rigs = [
        Posed(state.roots, state.pose, state.size, state.unmirrored is not None)
        for state in hung
        if state.roots is not None and state.size is not None
    ]
    for state, bases in zip(hung, read_bases(rigs) if rigs else (), strict=True):
        state.bases = bases
