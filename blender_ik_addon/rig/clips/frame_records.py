"""Records of each frame that is played, to improve the whole clip afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import bpy
import numpy as np

from ...core import Status
from ...core.algebra.arithmetic import Flags, Indices
from ..keying.playing import outcome_in
from ..live import live
from ..planning.known_skeletons import skeleton_of
from ..posing.outcome import Outcome
from ..reading.batch_record import BatchRecord, joined
from ..reading.chain_plan import plan_or_none
from ..reading.channels import Channels, read_pose
from ..reading.skeleton import Skeleton
from ..reading.spec import ChainSpec
from ..trees.driven import Driven

# Statuses of solves in which a chain may have another pose with the same effectors.
MOVABLE = (Status.REACHED, Status.BLENDED, Status.SOFTENED, Status.ITERATIONS_USED_UP)


@dataclass(frozen=True)
class Notes(BatchRecord):
    """The poses of N bones in F frames, as float32: bones of the chains, and all above them.

    Attributes:
        matrices: Pose matrices, armature space, shape (F, N, 4, 4).
        channels: Rotation channels, shape (F, N, 4).
        location: Location channels, shape (F, N, 3).
        scale: Scale channels, shape (F, N, 3).
        start: Rotation channels that chains start from, otherwise as ``channels``, (F, N, 4).
        is_movable: Whether each of the C chains may have another pose, shape (F, C).
        frames: Numbers of the frames, shape (F,).
    """

    matrices: Channels
    channels: Channels
    location: Channels
    scale: Channels
    start: Channels
    is_movable: Flags
    frames: Indices


class Recorder:
    """A recorder of the chains of one armature object, frame by frame.

    Attributes:
        object: The original armature object.
        chains: Settings of its chains, by index.
        bones: Indices of the recorded bones, parents before children.
    """

    def __init__(
        self,
        scene: bpy.types.Scene,
        armature_object: bpy.types.Object,
        chains: Mapping[int, ChainSpec],
    ) -> None:
        """Take the played scene, the original armature object, and its chains."""
        self._scene, self.object, self.chains = scene, armature_object, chains
        self.skeleton = skeleton_of(armature_object)
        self.bones = find_recorded_bones(self.skeleton, chains.values())
        self._row_of = {bone: row for row, bone in enumerate(self.bones.tolist())}
        self._frames: list[Notes] = []
        self.driven: dict[int, Driven] = {}

    def note(self) -> None:
        """Record the present pose."""
        layers = self._scene.view_layers
        evaluated = (self.object.evaluated_get(layer.depsgraph) for layer in layers)
        shown = (candidate for candidate in evaluated if candidate.is_evaluated)
        # No view layer evaluates a hidden object. Its chains stay idle, which ends the bake later.
        pose = read_pose(next(shown, self.object))
        start = pose.channels[self.bones].copy()
        is_movable = [self._record_chain(index, start) for index in self.chains]
        self._frames.append(
            Notes(
                matrices=pose.matrices[None, self.bones].astype(np.float32),
                channels=pose.channels[None, self.bones],
                location=pose.location[None, self.bones].astype(np.float32),
                scale=pose.scale[None, self.bones].astype(np.float32),
                start=start[None],
                is_movable=np.array([is_movable]),
                frames=np.array([self._scene.frame_current]),
            )
        )

    def learn(self) -> None:
        """Record the driven bones of chains, to improve a clip that was recorded elsewhere."""
        for index in self.chains:
            driven = live.memory.driven_in(self._scene, (self.object.session_uid, index))
            if driven is not None:
                self.driven.setdefault(index, driven)

    def notes(self) -> Notes:
        """Return the records of all frames."""
        return joined(self._frames)

    def _record_chain(self, index: int, start: Channels) -> bool:
        """Record the start channels of a chain; return whether it may have another pose."""
        outcome = outcome_in(self._scene, self.object, index)
        driven = live.memory.driven_in(self._scene, (self.object.session_uid, index))
        if driven is None or not isinstance(outcome, Outcome):
            return False
        self.driven.setdefault(index, driven)
        channels = np.where(driven.is_current[:, None], driven.stored, driven.start)
        for row, bone in enumerate(driven.bones.tolist()):
            if bone in self._row_of:
                start[self._row_of[bone]] = channels[row]
        return outcome.status in MOVABLE


def find_recorded_bones(skeleton: Skeleton, chains: Iterable[ChainSpec]) -> Indices:
    """Return the indices of the bones of chains and all above them, parents before children."""
    recorded: set[int] = set()
    for spec in chains:
        plan = plan_or_none(skeleton, spec)
        if plan is not None:
            for bone in (*plan.written.tolist(), plan.tip):
                recorded.update(skeleton.ancestors(bone))
    return np.array(sorted(recorded, key=lambda bone: (len(skeleton.ancestors(bone)), bone)))
