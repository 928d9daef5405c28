"""What is noted of each frame that is played, to better the clip when all are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import bpy
import numpy as np

from ...core import Status
from ...core.algebra.arithmetic import Flags, Indices
from ..live import live
from ..planning.known_skeletons import skeleton_of
from ..posing.outcome import Outcome
from ..reading.chain_plan import plan_or_none
from ..reading.channels import Channels, read_pose
from ..reading.rows import Alike, joined
from ..reading.skeleton import Skeleton
from ..reading.spec import ChainSpec
from ..trees.driven import Driven

# How solves end whose effectors stand where the chain could as well stand otherwise.
MOVABLE = (Status.REACHED, Status.BLENDED, Status.SOFTENED, Status.ITERATIONS_USED_UP)


@dataclass(frozen=True)
class Notes(Alike):
    """The poses of F frames of N bones: those of the chains, and all above them. float32.

    Attributes:
        matrices: Pose matrices, armature space, shape (F, N, 4, 4).
        channels: Rotation channels, shape (F, N, 4).
        location: Shape (F, N, 3).
        scale: Shape (F, N, 3).
        start: Rotation channels that chains start from, else those that stand there, (F, N, 4).
        is_movable: Which of the C chains may stand otherwise, shape (F, C).
    """

    matrices: Channels
    channels: Channels
    location: Channels
    scale: Channels
    start: Channels
    is_movable: Flags


class Recorder:
    """Notes what chains of one armature object do at each frame.

    Attributes:
        bones: Those noted, every one after its parent.
    """

    def __init__(
        self,
        scene: bpy.types.Scene,
        armature_object: bpy.types.Object,
        chains: Mapping[int, ChainSpec],
    ) -> None:
        """Take the original armature object, and its chains by index."""
        self._scene, self._object, self._chains = scene, armature_object, chains
        self.skeleton = skeleton_of(armature_object)
        self.bones = noted_bones(self.skeleton, chains.values())
        self._row_of = {bone: row for row, bone in enumerate(self.bones.tolist())}
        self._frames: list[Notes] = []
        self.driven: dict[int, Driven] = {}

    def note(self) -> None:
        """Note what stands there now."""
        layers = self._scene.view_layers
        shown = (self._object.evaluated_get(layer.depsgraph) for layer in layers)
        # A chain of it is solved, so there is one.
        pose = read_pose(next(each for each in shown if each.is_evaluated))
        start = pose.channels[self.bones].copy()
        is_movable = [self._note_chain(index, start) for index in self._chains]
        self._frames.append(
            Notes(
                matrices=pose.matrices[None, self.bones].astype(np.float32),
                channels=pose.channels[None, self.bones],
                location=pose.location[None, self.bones].astype(np.float32),
                scale=pose.scale[None, self.bones].astype(np.float32),
                start=start[None],
                is_movable=np.array([is_movable]),
            )
        )

    def learn(self) -> None:
        """Note what chains drive that are solved now, to better what was noted elsewhere."""
        for index in self._chains:
            driven = live.memory.driven_in(self._scene, (self._object.session_uid, index))
            if driven is not None:
                self.driven.setdefault(index, driven)

    def notes(self) -> Notes:
        """Return what has been noted."""
        return joined(self._frames)

    def _note_chain(self, index: int, start: Channels) -> bool:
        """Note what a chain starts from; return whether it may stand otherwise."""
        key = self._object.session_uid, index
        outcome = live.memory.outcome_in(self._scene, key)
        driven = live.memory.driven_in(self._scene, key)
        if driven is None or not isinstance(outcome, Outcome):
            return False
        self.driven.setdefault(index, driven)
        before = np.where(driven.is_current[:, None], driven.stored, driven.start)
        for row, bone in enumerate(driven.bones.tolist()):
            if bone in self._row_of:
                start[self._row_of[bone]] = before[row]
        return outcome.status in MOVABLE


def noted_bones(skeleton: Skeleton, chains: Iterable[ChainSpec]) -> Indices:
    """Return the bones of chains and all above them, every one after its parent."""
    found: set[int] = set()
    for spec in chains:
        plan = plan_or_none(skeleton, spec)
        if plan is not None:
            for bone in (*plan.written.tolist(), plan.tip):
                found.update(skeleton.ancestors(bone))
    return np.array(sorted(found, key=lambda bone: (len(skeleton.ancestors(bone)), bone)))
