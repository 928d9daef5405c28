"""What the chains of one armature object did, frame by frame."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import bpy
import numpy as np

from ..core import Status
from ..core.algebra.arithmetic import Array
from ..properties.chains import is_idle
from ..properties.records import bones_of_chain
from ..properties.status import left_of, status_with
from ..rig.clips.notes import Notes, Recorder
from ..rig.keying.baking import never_moved, not_baked
from ..rig.keying.playing import moments, played
from ..rig.keying.written import Channel, reader, written_channels
from ..rig.live import live
from ..rig.posing.outcome import Outcome
from ..rig.reading.refusals import Refused
from .choosing import Chosen
from .errors import of_armature

MUTED, NOT_SOLVED = "MUTED", "NOT_SOLVED"
"""Status codes of chains without an outcome; those of others are the core's."""


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a chain at a frame.

    Attributes:
        frame: Which one.
        code: Name of the status, ``MUTED`` or ``NOT_SOLVED``.
        text: The status in words, as the sidebar shows it.
        reached: Whether the effector is at its target; None where the chain is idle.
        residual: From effector to target in scene units; None where nothing was solved.
        iterations: Sweeps used; None where nothing was solved.
        limits_hit: Bones and axes whose limits keep the effector from the target.
    """

    frame: int
    code: str
    text: str
    reached: bool | None
    residual: float | None = None
    iterations: int | None = None
    limits_hit: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ChainResults:
    """What became of one chain.

    Attributes:
        index: In the list of its armature object.
        name: Of the chain.
        bones: Those that it writes, root first.
        results: Frame by frame.
        jumps: Of a bettered clip, the frames to which joints still jump; None of others.
        left: Why it was left out of that; empty if it was not.
    """

    index: int
    name: str
    bones: Sequence[str]
    results: tuple[Result, ...]
    jumps: tuple[int, ...] | None = None
    left: str = ""


@dataclass(frozen=True, eq=False)
class RigResults:
    """What the chosen chains of one armature object did at some frames.

    Attributes:
        armature: Full name of the object.
        goes_on: Whether frames depend on those before.
        first: The frame at which playing began.
        frames: In rising order, f of them.
        chains: What became of each.
        channels: What the chains write, c of them; none where only the report is wanted.
        values: Of the channels, shape (f, c).
        notes: What a clip is bettered by; None where none is.
    """

    armature: str
    goes_on: bool
    first: int
    frames: tuple[int, ...]
    chains: tuple[ChainResults, ...]
    channels: tuple[Channel, ...]
    values: Array
    notes: Notes | None = None


def tell(number: int, total: int) -> None:
    """Tell how far it is."""
    print(f"frame {number} of {total}", file=sys.stderr, flush=True)


def play(
    scene: bpy.types.Scene,
    chosen: Sequence[Chosen],
    frames: Sequence[int],
    first: int,
    *,
    with_values: bool,
    with_notes: bool = False,
) -> list[RigResults]:
    """Play frames and note what chains do. The scene is left at the last of them.

    Args:
        scene: To play; its chains are live.
        chosen: Which chains, an item an armature object.
        frames: What to note, in rising order.
        first: Where chains start that go on from frame to frame.
        with_values: Whether to note what the chains write, to key it. Each has to be solved then.
        with_notes: Whether to note what a clip is bettered by as well.

    Raises:
        CommandError: If one of them cannot be solved.
    """
    if not chosen:
        return []
    recorders = [
        _Recorder(scene, each, with_values=with_values, with_notes=with_notes) for each in chosen
    ]
    goes_on = any(each.goes_on for each in chosen)
    wanted, order = set(frames), moments(frames, first, goes_on=goes_on)
    for number, frame in enumerate(played(scene, [each.object for each in chosen], order), 1):
        if frame in wanted:
            for recorder in recorders:
                recorder.note(frame)
        tell(number, len(order))
    return [recorder.part(tuple(frames), first) for recorder in recorders]


class _Recorder:
    """Notes what the chosen chains of one armature object do."""

    def __init__(
        self, scene: bpy.types.Scene, chosen: Chosen, *, with_values: bool, with_notes: bool
    ) -> None:
        self._scene = scene
        self._chosen = chosen
        self._with_values = with_values
        rig, specs = chosen.object, chosen.specs() if with_values else {}
        self._channels = tuple(written_channels(rig, specs.values()))
        self._read = reader(rig, self._channels)
        self._values: list[Array] = []
        self._clip = Recorder(scene, rig, specs) if with_notes else None
        self._results: dict[int, list[Result]] = {index: [] for index in chosen.chains}

    def note(self, frame: int) -> None:
        """Note what stands there now.

        Raises:
            CommandError: If values are wanted, and a chain cannot be solved.
        """
        for index, results in self._results.items():
            key = self._chosen.object.session_uid, index
            outcome = live.memory.outcome_in(self._scene, key)
            if self._with_values and isinstance(outcome, Refused):
                why = not_baked(self._chosen.chains[index], frame, outcome.text)
                raise of_armature(self._chosen.object.name_full, why)
            results.append(_result(frame, self._chosen, index, outcome))
        if self._with_values:
            self._values.append(self._read())
        if self._clip is not None:
            self._clip.note()

    def part(self, frames: tuple[int, ...], first: int) -> RigResults:
        """Return what has been noted."""
        chosen = self._chosen
        chains = [
            ChainResults(index, name, bones_of_chain(chosen.settings(index)), tuple(results))
            for (index, name), results in zip(
                chosen.chains.items(), self._results.values(), strict=True
            )
        ]
        values = np.array(self._values).reshape(len(self._values), len(self._channels))
        notes = None if self._clip is None else self._clip.notes()
        name, all_chains = chosen.object.name_full, tuple(chains)
        return RigResults(
            name, chosen.goes_on, first, frames, all_chains, self._channels, values, notes
        )


def _result(frame: int, chosen: Chosen, index: int, outcome: Outcome | Refused | None) -> Result:
    settings = chosen.settings(index)
    text = status_with(settings, outcome)
    if is_idle(settings):
        return Result(frame, MUTED, text, None)
    if not isinstance(outcome, Outcome):
        return Result(frame, NOT_SOLVED, text, False)
    status, residual = outcome.status, left_of(settings, outcome)
    is_reached = status is Status.REACHED and residual == outcome.residual
    count, held = int(outcome.iterations), tuple(outcome.held_by)
    return Result(frame, status.value, text, is_reached, residual, count, held)


def check_moved(parts: Iterable[RigResults]) -> None:
    """Raise if a chain is solved at none of the frames.

    Raises:
        CommandError: With what to do next.
    """
    for part in parts:
        for chain in part.chains:
            if all(result.residual is None for result in chain.results):
                why = never_moved(chain.name, chain.results[-1].text)
                raise of_armature(part.armature, why)


def is_reached(parts: Iterable[RigResults]) -> bool:
    """Tell whether no chain has missed its target at any frame."""
    results = (each for part in parts for chain in part.chains for each in chain.results)
    return all(each.reached is not False for each in results)
