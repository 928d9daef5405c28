"""Bake chains: play a range of frames in order, and key what the chains have written.

Each frame as it plays, or all of them bettered once they are noted.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass

import bpy
import numpy as np

from ...core.algebra.arithmetic import Array
from ..keying.baking import key, never_moved, not_baked, stepped
from ..keying.keys import check_keyable, give_new_action
from ..keying.playing import check_live, frame_kept, played_unchanged
from ..keying.written import Channel, reader, written_channels
from ..live import live
from ..reading.refusals import Refused, RigError
from ..reading.spec import ChainSpec
from .bettering import Clip
from .notes import Notes, Recorder

CHANGED = "The armature has changed during the bake, so nothing is keyed: bake it again."
# Of more frames that jump only so many are named.
MOST_NAMED = 5


class ClipBake(Recorder):
    """The frames of a bake, noted and bettered together."""

    _clip: Clip

    def __init__(
        self,
        scene: bpy.types.Scene,
        armature_object: bpy.types.Object,
        chains: Mapping[int, ChainSpec],
        smoothness: float,
    ) -> None:
        """Take the scene that is played, the original object, its chains by index.

        Smoothness is from 0, which changes frames around jumps only, to 1.
        """
        super().__init__(scene, armature_object, chains)
        self._smoothness = smoothness

    def bettered(self, notes: Notes | None = None) -> Iterator[object]:
        """Better what has been noted, here or elsewhere; a chain a step."""
        self._clip = Clip(self._object, self._chains, self, notes or self.notes())
        yield from self._clip.better(self._smoothness)

    def values(self, channels: Sequence[Channel], rows: Sequence[int], values: Array) -> Array:
        """Return what is to be keyed of channels in some rows of what was noted."""
        names, keyed, bettered = self.skeleton.names, values.copy(), self._clip.channels()
        row_of = {names[bone]: row for row, bone in enumerate(self.bones.tolist())}
        for column, (bone, prop, component) in enumerate(channels):
            if prop.startswith("rotation"):
                keyed[:, column] = bettered[list(rows), row_of[bone], component]
        return keyed

    def left(self, index: int) -> str:
        """Return why a chain is baked frame by frame; empty if it is not."""
        return self._clip.left().get(index, "")

    def jumps(self, index: int, frames: Sequence[int]) -> list[int]:
        """Return the frames, of those that were noted, to which a chain still jumps."""
        return [frames[row] for row in self._clip.jumps().get(index, ())]

    def sentences(self, frames: Sequence[int]) -> Iterator[str]:
        """Yield what users should know of chains, with the frames that were noted."""
        for index, spec in self._chains.items():
            if why := self.left(index):
                yield f"Chain '{spec.name}' is baked frame by frame: {why}."
            jumps = [str(frame) for frame in self.jumps(index, frames)]
            if jumps:
                shown = ", ".join([*jumps[:MOST_NAMED], *["..."] * (len(jumps) > MOST_NAMED)])
                yield (
                    f"Chain '{spec.name}' still jumps at these frames, as no other way leads"
                    f" there: {shown}"
                )


@dataclass(frozen=True)
class Keying:
    """How a bake keys.

    Attributes:
        step: Every how many frames; the last one is always keyed.
        tolerance: What keys that are left out may change, see ``reduction.needed``.
        in_new_action: Whether into a copy of the action, and not into the action itself.
        interpolation: Of the keys, as Blender names it.
    """

    step: int = 1
    tolerance: float = 0.0
    in_new_action: bool = False
    interpolation: str = "LINEAR"


def bake(
    scene: bpy.types.Scene,
    armature_object: bpy.types.Object,
    chains: Mapping[int, ChainSpec],
    frames: range,
    keying: Keying,
    clip: ClipBake | None = None,
) -> Generator[int, None, tuple[int, ...]]:
    """Key what live chains write to their bones in a range of frames, each played in its order.

    Chains that go on from their last pose start from their keyed or stored one at the first frame,
    so that the same comes out each time. Nothing is keyed before all frames are solved. Between
    two of them anything may happen, also that the bake is given up: ``close`` it then. However it
    ends, the scene stands at the frame where it stood before. Chains that are idle all the time
    are left alone, unless there are no others.

    Args:
        scene: To play; its chains are live.
        armature_object: The original object.
        chains: Settings by index.
        frames: All from the first to the last.
        keying: How to key them.
        clip: What betters all frames together; None to key each as it was solved.

    Yields:
        Each frame once it is solved, and the last again while the clip is bettered.

    Returns:
        Indices of the chains that have been keyed.

    Raises:
        RigError: With one sentence that says what to do next.
    """
    _check(scene, armature_object, frames, keying)
    channels = written_channels(armature_object, chains.values())
    (run,) = stepped(frames, keying.step)
    read = reader(armature_object, channels)
    with frame_kept(scene):
        values, baked = yield from _played(scene, armature_object, chains, frames, run, read, clip)
    place = {channel: column for column, channel in enumerate(channels)}
    kept = written_channels(armature_object, [chains[index] for index in baked])
    values = values[:, [place[channel] for channel in kept]]
    if clip is not None:
        values = clip.values(kept, [frame - frames.start for frame in run], values)
    if keying.in_new_action:
        give_new_action(armature_object)
    key(armature_object, [run], kept, values, keying.tolerance, keying.interpolation)
    return tuple(baked)


def _played(
    scene: bpy.types.Scene,
    armature_object: bpy.types.Object,
    chains: Mapping[int, ChainSpec],
    frames: range,
    run: Sequence[int],
    read: Callable[[], Array],
    clip: ClipBake | None,
) -> Generator[int, None, tuple[Array, list[int]]]:
    """Play frames; return what was read at those of a run, and which chains were solved at any."""
    values, idle = list[Array](), set(chains)
    keyed = set(run)
    for frame in played_unchanged(scene, [armature_object], frames, CHANGED):
        for index, spec in chains.items():
            outcome = live.memory.outcome_in(scene, (armature_object.session_uid, index))
            if isinstance(outcome, Refused):
                raise not_baked(spec.name, frame, outcome.text)
            if outcome is not None:
                # None at some frames: its muting or influence is animated.
                idle.discard(index)
        if frame in keyed:
            values.append(read())
        if clip is not None:
            clip.note()
        yield frame
    if idle == set(chains):
        # Not read at each frame: a status may read all keys, of which there is one a frame.
        first = min(idle)
        raise never_moved(chains[first].name, armature_object.chain_ik.chains[first].status)
    for _ in () if clip is None else clip.bettered():
        yield frames[-1]
    return np.array(values), [index for index in chains if index not in idle]


def _check(
    scene: bpy.types.Scene, armature_object: bpy.types.Object, frames: range, keying: Keying
) -> None:
    if not frames:
        first, last = frames.start, frames.stop - 1
        raise RigError(f"The start frame {first} lies after the end frame {last}: swap the two.")
    check_live(scene)
    check_keyable(armature_object, in_new_action=keying.in_new_action)
