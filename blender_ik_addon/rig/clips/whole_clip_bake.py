"""Bake chains: play a range of frames in order, and key the channels that the chains write.

Each frame is keyed as it was solved, or all frames are recorded and improved first.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import bpy
import numpy as np

from ...core.algebra.arithmetic import Array
from ...core.model.message import Message
from ..keying.baking import key, never_moved, not_baked, select_frames
from ..keying.keys import Channel, check_keyable, give_new_action
from ..keying.played_keys import PlayedFrames
from ..keying.playing import check_live, outcome_in, play_unchanged, preserve_frame
from ..keying.written_channels import reader, written_channels
from ..reading.refusals import RigError
from ..reading.spec import ChainSpec
from .clip_improvement import BakedClip
from .frame_records import Notes, Recorder

CHANGED = "The armature changed during the bake, so nothing was keyed: bake it again."
# Largest count of jumping frames that a message names.
MAX_JUMPS = 5


class ClipBake(Recorder):
    """The recorded frames of a bake, which are improved together."""

    _clip: BakedClip

    def __init__(
        self,
        scene: bpy.types.Scene,
        armature_object: bpy.types.Object,
        chains: Mapping[int, ChainSpec],
        smoothness: float,
    ) -> None:
        """Take what a recorder takes; 0 smooths only frames around jumps, and 1 the most."""
        super().__init__(scene, armature_object, chains)
        self._smoothness = smoothness

    def improve(self, notes: Notes | None = None) -> Iterator[object]:
        """Improve frames that were recorded here or elsewhere; each step improves one chain."""
        self._clip = BakedClip(self, notes or self.notes())
        yield from self._clip.improve(self._smoothness)

    def values(self, channels: Sequence[Channel], rows: Sequence[int], values: Array) -> Array:
        """Return the values of channels to key, in some rows of the recorded frames."""
        keyed, improved = values.copy(), self._clip.channels()
        for column, (bone, prop, component) in enumerate(channels):
            if prop.startswith("rotation"):
                row = self._row_of[self.skeleton.index[bone]]
                keyed[:, column] = improved[list(rows), row, component]
        return keyed

    def find_reason(self, index: int) -> str:
        """Return the reason why a chain is baked frame by frame; empty if it is not."""
        group = self._clip.find(index)
        return "" if group is None else group.why or ""

    def jumps(self, index: int, frames: Sequence[int]) -> list[int]:
        """Return the recorded frames to which a chain still jumps."""
        group = self._clip.find(index)
        return [] if group is None else [frames[row] for row in group.jumps]

    def sentences(self, frames: Sequence[int]) -> Iterator[str]:
        """Yield messages about chains for the user, with the numbers of recorded frames."""
        for index, spec in self.chains.items():
            if why := self.find_reason(index):
                yield Message(
                    "Chain '{name}' is baked frame by frame: {why}.", name=spec.name, why=why
                )
            jumps = [str(frame) for frame in self.jumps(index, frames)]
            if jumps:
                shown = ", ".join([*jumps[:MAX_JUMPS], *["..."] * (len(jumps) > MAX_JUMPS)])
                yield Message(
                    "Chain '{name}' still jumps at these frames, because no path without a jump"
                    " was found: {shown}",
                    name=spec.name,
                    shown=shown,
                )


@dataclass(frozen=True)
class Keying:
    """Options for the keys of a bake.

    Attributes:
        step: Distance of keyed frames; the last frame is always keyed.
        tolerance: Largest change by keys that are left out, as in ``reduction.needed``.
        in_new_action: Whether the keys are in a copy of the action, not in the action itself.
        interpolation: Interpolation of the keys, as Blender names it.
    """

    step: int = 1
    tolerance: float = 0.0
    in_new_action: bool = False
    interpolation: str = "LINEAR"


class Baked(NamedTuple):
    """The result of a bake.

    Attributes:
        chains: Indices of the keyed chains.
        gives_way: Whether the body of any chain has moved at any frame so that limbs can reach.
    """

    chains: tuple[int, ...]
    gives_way: bool


def bake(
    scene: bpy.types.Scene,
    armature_object: bpy.types.Object,
    chains: Mapping[int, ChainSpec],
    frames: range,
    keying: Keying,
    clip: ClipBake | None = None,
) -> Generator[int, None, Baked]:
    """Key the channels that live chains write in a range of frames, played in their order.

    Chains that continue from their last pose start from their keyed or stored pose at the first
    frame, so that each bake has the same result. Nothing is keyed before all frames are solved.
    Between two frames anything may happen; ``close`` the bake to cancel it. At the end the scene is
    at the frame where it was before. Chains that are idle in all frames are not keyed; a bake with
    no other chains is an error. A clip improves all frames together; without one each is keyed as
    it was solved.

    Yields:
        Each frame once it is solved, and the last again while the clip is improved.

    Raises:
        RigError: With one sentence that says what to do next.
    """
    if not frames:
        first, last = frames.start, frames.stop - 1
        raise RigError(
            "The start frame {first} is after the end frame {last}: swap the two.",
            first=first,
            last=last,
        )
    check_live(scene)
    check_keyable(armature_object, in_new_action=keying.in_new_action)
    channels = written_channels(armature_object, chains.values())
    (run,) = select_frames(frames, keying.step)
    read = reader(armature_object, channels)
    with preserve_frame(scene):
        values, baked = yield from _play(scene, armature_object, chains, frames, run, read, clip)
    column_of = {channel: column for column, channel in enumerate(channels)}
    baked_channels = written_channels(armature_object, [chains[index] for index in baked.chains])
    beside = PlayedFrames({armature_object: baked_channels}, [frames], scene)
    for _ in beside.read():
        yield frames[-1]
    values = values[:, [column_of[channel] for channel in baked_channels]]
    if clip is not None:
        values = clip.values(baked_channels, [frame - frames.start for frame in run], values)
    if keying.in_new_action:
        give_new_action(armature_object)
    beside.write()
    key(armature_object, [run], baked_channels, values, keying.tolerance, keying.interpolation)
    return baked


def _play(
    scene: bpy.types.Scene,
    armature_object: bpy.types.Object,
    chains: Mapping[int, ChainSpec],
    frames: range,
    run: Sequence[int],
    read: Callable[[], Array],
    clip: ClipBake | None,
) -> Generator[int, None, tuple[Array, Baked]]:
    """Play frames; return the values read at those of a run, and the result of the bake."""
    values, idle, gives_way = list[Array](), set(chains), False
    keyed = set(run)
    for frame in play_unchanged(scene, [armature_object], frames, CHANGED):
        for index, spec in chains.items():
            outcome = outcome_in(scene, armature_object, index)
            if isinstance(outcome, Message):
                raise not_baked(spec.name, frame, outcome)
            if outcome is not None:
                # It may be None at other frames: muting and influence can be animated.
                idle.discard(index)
                gives_way |= outcome.gives_way
        if frame in keyed:
            values.append(read())
        if clip is not None:
            clip.note()
        yield frame
    if idle == set(chains):
        # This is not read at each frame: a status may read all keys, one per frame.
        first = min(idle)
        raise never_moved(chains[first].name, armature_object.chain_ik.chains[first].message)
    for _ in () if clip is None else clip.improve():
        yield frames[-1]
    solved = tuple(index for index in chains if index not in idle)
    return np.array(values), Baked(solved, gives_way)
