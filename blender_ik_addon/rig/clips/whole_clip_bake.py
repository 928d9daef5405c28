"""A bake that sees all frames: noted as they are played, bettered once they all are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import bpy

from ...core.algebra.arithmetic import Array
from ..keying.written import Channel
from ..reading.spec import ChainSpec
from .bettering import Clip
from .notes import Notes, Recorder

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
