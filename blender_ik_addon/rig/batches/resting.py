"""Chains that cannot be solved together with others: their own bones stand as stored, or keyed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...core.algebra.arithmetic import Flags
from ..planning.live_chain import LiveChain
from ..planning.located import dragged_root
from ..reading.channels import Channels
from .changes import Change, OtherChannels
from .rig_state import RigState

ROTATION = "channels"


@dataclass(frozen=True)
class Resting:
    """A chain that is not solved.

    What its bones show must not depend on what was shown before, so it is written at each update.

    Attributes:
        state: The armature object.
        live_chain: The chain.
        own: By kind of channels, which of its written bones no other chain writes, shape (k,).
    """

    state: RigState
    live_chain: LiveChain
    own: Mapping[str, Flags]

    def change(self, frame: float) -> Change | None:
        """Return what its own bones have to hold at a frame; None if they hold it."""
        pose, written = self.state.pose, self.live_chain.plan.written
        differs, further = False, dict[str, OtherChannels]()
        for name, values in self._values(frame).items():
            own = self.own[name]
            part = OtherChannels(written[own], values[own])
            present = getattr(pose, name)[part.bones].astype(np.float32)
            differs = differs or not np.array_equal(part.values, present)
            further[name] = part
        if not differs:
            return None
        turned = further.pop(ROTATION)
        modes = self.state.pose.modes[turned.bones]
        return Change(self.state, turned.bones, modes, turned.values, further)

    def posed(self, change: Change) -> list[str]:
        """Return the names of bones that do not hold what a change of theirs gives them."""
        rotation = OtherChannels(change.bones, change.channels)
        found = set[int]()
        for name, part in {ROTATION: rotation, **change.others}.items():
            present = getattr(self.state.pose, name)[part.bones].astype(np.float32)
            found.update(part.bones[(present != part.values).any(axis=1)].tolist())
        return [self.live_chain.skeleton.names[bone] for bone in sorted(found)]

    def _values(self, frame: float) -> dict[str, Channels]:
        """Return what its written bones hold without it, shape (k, size), by kind of channels."""
        live_chain, state = self.live_chain, self.state
        found = {ROTATION: live_chain.stored}
        if live_chain.stretch is not None:
            found["scale"] = live_chain.stretch.scale
        if live_chain.slide is not None:
            found["location"] = live_chain.slide.home
        elif "location" in self.own:
            found["location"] = state.without(live_chain, frame, "location")
        return {name: values.astype(np.float32) for name, values in found.items()}


def _written(live_chain: LiveChain) -> dict[str, Flags]:
    """Return which of its bones a chain writes, shape (k,), by kind of channels."""
    every: Flags = np.ones(len(live_chain.plan.written), dtype=np.bool_)
    found = {ROTATION: every}
    if live_chain.stretch is not None:
        found["scale"] = every
    root = dragged_root(live_chain.plan, live_chain.spec)
    if live_chain.slide is not None:
        found["location"] = every
    elif root >= 0:
        found["location"] = live_chain.plan.written == root
    return found


def find_resting(
    placed: Sequence[tuple[RigState, LiveChain]], refused: Iterable[int]
) -> tuple[Resting, ...]:
    """Return those of live chains, with their armature objects, that are not solved."""
    rests = sorted(refused)
    if not rests:
        return ()
    sound = [i for i in range(len(placed)) if i not in rests]
    posed, found = set[tuple[int, str, int]](), []
    for i in (*sound, *rests):
        (state, live_chain), own = placed[i], dict[str, Flags]()
        for name, is_written in _written(live_chain).items():
            points = [(state.uid, name, bone) for bone in live_chain.plan.written.tolist()]
            own[name] = is_written & [point not in posed for point in points]
            posed.update(
                point for point, own_point in zip(points, own[name], strict=True) if own_point
            )
        if i in rests:
            found.append(Resting(state, live_chain, own))
    return tuple(found)
