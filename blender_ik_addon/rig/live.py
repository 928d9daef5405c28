"""One live update: solve every chain whose input has changed, write, and remember what it did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby

import bpy
import numpy as np
import numpy.typing as npt

from ..core import IKError
from .channels import Pose, read_pose
from .errors import RigError
from .order import Job, levels
from .plan import check, planned
from .render_sync import keep_animated_values
from .skeleton import Skeleton, compiled
from .solving import Outcome, solve_chain
from .spec import ChainSpec, StartFrom
from .start import start_channels
from .targets import Target, read_target
from .writer import write_rotation

Array = npt.NDArray[np.float64]
ChainKey = tuple[int, int]
"""An armature object's session uid, and a chain's index in its list."""
GraphKey = tuple[object, ...]
"""What tells dependency graphs apart: scene, view layer and mode."""

# A chain that starts from its own last pose reads it back as float32: differences of that size
# are no movement.
CURRENT_NOISE = 1e-6


@dataclass(frozen=True)
class Solved:
    """The last solve of a chain in one dependency graph."""

    signature: tuple[object, ...]
    outcome: Outcome


@dataclass
class Memory:
    """What updates remember of each other. Everything is keyed; ``clear`` on load and undo.

    Attributes:
        skeletons: By session uid of the armature object.
        solved: By dependency graph and chain.
        written: By chain: the channels last written, in whichever graph, float32.
        outcomes: By chain: what the last solve in a viewport did, or the text of its error.
        animated: By dependency graph and armature object: frame, and the rotation channels that
            Blender's evaluation of that frame gave.
        followed: By armature object: tip bones, and the objects and bones that their anchors hold.
    """

    skeletons: dict[int, Skeleton] = field(default_factory=dict)
    solved: dict[tuple[GraphKey, ChainKey], Solved] = field(default_factory=dict)
    written: dict[ChainKey, npt.NDArray[np.float32]] = field(default_factory=dict)
    outcomes: dict[ChainKey, Outcome | str] = field(default_factory=dict)
    animated: dict[tuple[GraphKey, int], tuple[float, Array]] = field(default_factory=dict)
    followed: dict[int, tuple[tuple[str, int, str], ...]] = field(default_factory=dict)

    def clear(self) -> None:
        """Forget everything."""
        for known in vars(self).values():
            known.clear()


memory = Memory()


@dataclass(frozen=True)
class Update:
    """One update of one dependency graph.

    Attributes:
        scene: Original scene.
        depsgraph: The graph that has just been evaluated.
        is_new_frame: Whether the evaluation was for a new frame, which resets animated channels.
    """

    scene: bpy.types.Scene
    depsgraph: bpy.types.Depsgraph
    is_new_frame: bool

    @property
    def key(self) -> GraphKey:
        """What tells this graph from others."""
        graph = self.depsgraph
        return (self.scene.session_uid, graph.view_layer.name, graph.mode)


def update_chains(
    update: Update, rigs: Iterable[tuple[bpy.types.Object, dict[int, ChainSpec]]]
) -> None:
    """Solve and write the chains of armature objects, level by level.

    Args:
        update: Which graph, and why.
        rigs: Armature objects with the settings of their live chains by index.
    """
    if update.is_new_frame:
        for key in [key for key in memory.animated if key[0] == update.key]:
            del memory.animated[key]
    jobs = list(_jobs(update, rigs))
    groups = levels(jobs)
    for i, group in enumerate(groups):
        has_written = False
        by_object = groupby(group, key=lambda job: job.object)
        for armature_object, own in by_object:
            has_written |= _update_object(update, armature_object, list(own))
        if has_written and i + 1 < len(groups):
            # The next level hangs on what has just moved. A graph with new relations must not be
            # evaluated from inside its own update without a scene tag: 4.2 to 5.0 crash later.
            update.scene.update_tag()
            update.depsgraph.update()


def _jobs(
    update: Update, rigs: Iterable[tuple[bpy.types.Object, dict[int, ChainSpec]]]
) -> Iterator[Job]:
    present = frozenset(update.scene.objects.keys())
    for armature_object, specs in rigs:
        uid = armature_object.session_uid
        skeleton = compiled(armature_object, memory.skeletons.get(uid))
        memory.skeletons[uid] = skeleton
        taken: dict[int, str] = {}
        for index, spec in specs.items():
            try:
                plan = planned(skeleton, spec)
                check(armature_object, skeleton, plan, spec, present)
                _claim(taken, skeleton, plan.written, spec)
            except IKError as error:
                _note(update, (uid, index), str(error))
                continue
            yield Job(armature_object, index, spec, skeleton, plan)


def _claim(
    taken: dict[int, str], skeleton: Skeleton, bones: npt.NDArray[np.int64], spec: ChainSpec
) -> None:
    """Mark bones as driven by a chain; two chains cannot write the same bone."""
    for bone in bones:
        if int(bone) in taken:
            raise RigError(
                f"Bone '{skeleton.names[bone]}' is already driven by chain '{taken[int(bone)]}':"
                " shorten one of the two or mute it."
            )
    taken.update(dict.fromkeys(map(int, bones), spec.name))


def _update_object(update: Update, armature_object: bpy.types.Object, jobs: list[Job]) -> bool:
    """Solve chains of one armature object that do not hang on each other; tell if it moved."""
    evaluated = armature_object.evaluated_get(update.depsgraph)
    pose = read_pose(evaluated)
    animated = _animated(update, armature_object, pose)
    bones, channels = [], []
    for job in jobs:
        solved = _solve_job(update, job, pose, animated)
        if solved is not None:
            bones.append(job.plan.written)
            channels.append(solved)
    if not bones:
        return False
    if update.depsgraph.mode == "RENDER":
        keep_animated_values(armature_object, evaluated)
    rows = np.concatenate(bones)
    write_rotation(armature_object, rows, pose.modes[rows], np.concatenate(channels))
    return True


def _animated(update: Update, armature_object: bpy.types.Object, pose: Pose) -> Array | None:
    """Return the rotation channels as the evaluation of this frame left them, if that is known."""
    key = (update.key, armature_object.session_uid)
    frame = update.scene.frame_current_final
    if update.is_new_frame:
        # Later levels read the pose again when chains have been written already: keep the first.
        memory.animated.setdefault(key, (frame, pose.rotation))
    known = memory.animated.get(key)
    return known[1] if known is not None and known[0] == frame else None


def _solve_job(update: Update, job: Job, pose: Pose, animated: Array | None) -> Array | None:
    """Return the rotation channels to write for one chain, None where it stands right already."""
    chain_key = (job.object.session_uid, job.index)
    frame = update.scene.frame_current_final
    try:
        target = read_target(job.object, job.spec, update.depsgraph)
        start, stored = start_channels(
            job.object, job.skeleton, pose, job.plan, job.spec, frame, animated
        )
        signature = _signature(job, pose, target, start, stored)
        known = memory.solved.get((update.key, chain_key))
        is_same = known is not None and known.signature == signature
        if known is not None and is_same:
            outcome = known.outcome
        else:
            outcome = solve_chain(job.skeleton, pose, job.plan, job.spec, target, start, stored)
    except IKError as error:
        memory.solved.pop((update.key, chain_key), None)
        _note(update, chain_key, str(error))
        return None
    memory.solved[update.key, chain_key] = Solved(signature, outcome)
    _note(update, chain_key, outcome)
    present = pose.rotation[job.plan.written].astype(np.float32)
    wanted = outcome.channels.astype(np.float32)
    noise = CURRENT_NOISE if job.spec.start_from is StartFrom.CURRENT else 0.0
    if np.abs(present - wanted).max() <= noise:
        return None
    written = memory.written.get(chain_key)
    if is_same and not update.is_new_frame and np.array_equal(present, written):
        # The graph of another window wrote this; answering would go back and forth for ever.
        return None
    memory.written[chain_key] = wanted
    return outcome.channels


def _signature(
    job: Job, pose: Pose, target: Target, start: Array, stored: Array
) -> tuple[object, ...]:
    """Return everything that a solve depends on, to compare."""
    root = int(job.plan.segments[0])
    parent = int(job.skeleton.parents[root])
    bones = np.append(job.plan.written, job.plan.tip)
    arrays = (
        pose.world,
        pose.matrices[root][:3, 3],
        pose.matrices[parent] if parent >= 0 else None,
        pose.location[bones],
        pose.scale[bones],
        pose.modes[bones],
        pose.locks[bones],
        pose.uses_4d_locks[bones],
        target.matrix,
        target.pole,
        target.unmirrored,
        start,
        stored,
    )
    settings = replace(job.spec, target=None, pole=None, stored_pose=())
    inputs = tuple(None if array is None else array.tobytes() for array in arrays)
    return (job.skeleton.fingerprint, settings, *inputs)


def _note(update: Update, key: ChainKey, outcome: Outcome | str) -> None:
    if update.depsgraph.mode != "RENDER":
        memory.outcomes[key] = outcome
