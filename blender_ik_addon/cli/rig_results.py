"""The results of the chains of one armature object, frame by frame."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import bpy
import numpy as np

from ..core import Status
from ..core.algebra.arithmetic import Array
from ..core.model.message import Message
from ..properties.chains import is_idle
from ..properties.records import bones_of_chain
from ..properties.status import remaining_distance, status_from_outcome
from ..rig.clips.frame_records import Notes, Recorder
from ..rig.keying.baking import never_moved, not_baked
from ..rig.keying.keys import Channel
from ..rig.keying.playing import frames_to_evaluate, outcome_in, played
from ..rig.keying.written_channels import reader, written_channels
from ..rig.posing.outcome import Outcome
from .chain_choice import ChosenChains
from .errors import armature_error

MUTED, NOT_SOLVED = "MUTED", "NOT_SOLVED"
"""Status codes of chains without an outcome; other chains have the codes of the core."""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a chain at a frame.

    Attributes:
        frame: The frame.
        code: Name of the status, ``MUTED`` or ``NOT_SOLVED``.
        text: The status in words, as the sidebar shows it.
        reached: Whether the effector is at its target; None where the chain is idle.
        residual: From effector to target in scene units; None where nothing was solved.
        iterations: Number of iterations; None where nothing was solved.
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
    """The results of one chain.

    Attributes:
        index: Index in the list of its armature object.
        name: Name of the chain.
        bones: Names of the bones that it writes, root first.
        results: Results frame by frame.
        jumps: Frames to which joints of an improved clip still jump; None without a clip.
        left: Reason why the clip leaves the chain out; empty if it does not.
    """

    index: int
    name: str
    bones: Sequence[str]
    results: tuple[Result, ...]
    jumps: tuple[int, ...] | None = None
    left: str = ""


@dataclass(frozen=True, eq=False)
class RigResults:
    """The results of the chosen chains of one armature object at f frames.

    Attributes:
        armature: Full name of the object.
        goes_on: Whether frames depend on earlier frames.
        first: The first frame that was played.
        frames: The frames in rising order.
        chains: Results of the chains.
        channels: The c channels that the chains write; empty for a report only.
        values: Values of the channels, shape (f, c).
        notes: Data that improves a clip; None without a clip.
    """

    armature: str
    goes_on: bool
    first: int
    frames: tuple[int, ...]
    chains: tuple[ChainResults, ...]
    channels: tuple[Channel, ...]
    values: Array
    notes: Notes | None = None


def print_progress(number: int, total: int) -> None:
    """Print the progress to stderr; ``jobs`` reads it there."""
    print(f"frame {number} of {total}", file=sys.stderr, flush=True)


def play(
    scene: bpy.types.Scene,
    chosen: Sequence[ChosenChains],
    frames: Sequence[int],
    first: int,
    *,
    with_values: bool,
    with_notes: bool = False,
) -> list[RigResults]:
    """Play frames and record the results of chains; leave the scene at the last frame.

    The frames are in rising order. Chains that continue from frame to frame start at the frame
    ``first``. For keys, ``with_values`` records the channels that the chains write; then each chain
    must be solved at each of the frames. ``with_notes`` records the data that improves a clip.

    Raises:
        CommandError: If a chain cannot be solved although ``with_values`` is set.
    """
    if not chosen:
        return []
    recorders = [
        _RigRecorder(scene, rig, with_values=with_values, with_notes=with_notes) for rig in chosen
    ]
    goes_on = any(rig.goes_on for rig in chosen)
    requested, order = set(frames), frames_to_evaluate(frames, first, goes_on=goes_on)
    for number, frame in enumerate(played(scene, [rig.object for rig in chosen], order), 1):
        if frame in requested:
            for recorder in recorders:
                recorder.note(frame)
        print_progress(number, len(order))
    return [recorder.part(tuple(frames), first) for recorder in recorders]


class _RigRecorder:
    """The recorder of the chosen chains of one armature object."""

    def __init__(
        self, scene: bpy.types.Scene, chosen: ChosenChains, *, with_values: bool, with_notes: bool
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
        """Record the present results of the chains, for a frame.

        Raises:
            CommandError: If values are requested, and a chain cannot be solved.
        """
        for index, results in self._results.items():
            outcome = outcome_in(self._scene, self._chosen.object, index)
            if self._with_values and isinstance(outcome, Message):
                why = not_baked(self._chosen.chains[index], frame, outcome)
                raise armature_error(self._chosen.object.name_full, why)
            results.append(_result(frame, self._chosen, index, outcome))
        if self._with_values:
            self._values.append(self._read())
        if self._clip is not None:
            self._clip.note()

    def part(self, frames: tuple[int, ...], first: int) -> RigResults:
        """Return the recorded results."""
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


def _result(
    frame: int, chosen: ChosenChains, index: int, outcome: Outcome | Message | None
) -> Result:
    settings = chosen.settings(index)
    text = status_from_outcome(settings, outcome)
    if is_idle(settings):
        return Result(frame, MUTED, text, None)
    if not isinstance(outcome, Outcome):
        return Result(frame, NOT_SOLVED, text, False)
    status, residual = outcome.status, remaining_distance(settings, outcome)
    is_reached = status is Status.REACHED and residual == outcome.residual
    count, limits_hit = int(outcome.iterations), tuple(outcome.held_by)
    return Result(frame, status.value, text, is_reached, residual, count, limits_hit)


def check_moved(parts: Iterable[RigResults]) -> None:
    """Raise a ``CommandError`` if a chain is solved at none of the frames."""
    for part in parts:
        for chain in part.chains:
            if all(result.residual is None for result in chain.results):
                why = never_moved(chain.name, chain.results[-1].text)
                raise armature_error(part.armature, why)


def is_reached(parts: Iterable[RigResults]) -> bool:
    """Tell whether no chain has missed its target at any frame."""
    results = (result for part in parts for chain in part.chains for result in chain.results)
    return all(result.reached is not False for result in results)
