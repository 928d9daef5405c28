"""Chains that cannot be solved together with others: their private bones keep the stored pose."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...core.algebra.arithmetic import Array, Flags
from ..batches.changes import ChannelChange, ChannelKind
from ..batches.rig_state import RigState
from ..planning.live_chain import LiveChain
from ..planning.written_locations import located_bones, scaled_bones
from ..reading.channels import Channels


@dataclass(frozen=True)
class RestingChain:
    """A chain that is not solved.

    Its pose must not depend on earlier poses, so every update writes it.

    Attributes:
        state: The armature object.
        live_chain: The chain.
        private: Which of its written bones no other chain writes, shape (k,), by kind of channels.
    """

    state: RigState
    live_chain: LiveChain
    private: Mapping[ChannelKind, Flags]

    def changes(self, frame: float) -> list[ChannelChange]:
        """Return changes of its private bones at a frame; none if no bone differs."""
        written, changes = self.live_chain.plan.written, list[ChannelChange]()
        for kind, values in self._values(frame).items():
            private = self.private[kind]
            changes.append(ChannelChange(self.state, kind, written[private], values[private]))
        return changes if any(self._differs(change).any() for change in changes) else []

    def posed(self, changes: Sequence[ChannelChange]) -> list[str]:
        """Return the names of bones whose channels differ from their changes."""
        rows = {bone for one in changes for bone in one.bones[self._differs(one)].tolist()}
        return [self.live_chain.skeleton.names[bone] for bone in sorted(rows)]

    def _differs(self, change: ChannelChange) -> Flags:
        present = getattr(self.state.pose, change.kind)[change.bones].astype(np.float32)
        differs: Flags = (present != change.values).any(axis=1)
        return differs

    def _values(self, frame: float) -> dict[ChannelKind, Channels]:
        """Return the channels of its bones without the chain, shape (k, size), by kind."""
        channels: dict[ChannelKind, Array] = {"channels": self.live_chain.stored}
        for name in ("scale", "location"):
            if name in self.private:
                channels[name] = self.state.without(self.live_chain, frame, name)
        return {name: values.astype(np.float32) for name, values in channels.items()}


def _written(live_chain: LiveChain) -> dict[ChannelKind, Flags]:
    """Return which of its bones a chain writes, shape (k,), by kind of channels."""
    plan, spec = live_chain.plan, live_chain.spec
    is_written: dict[ChannelKind, Flags] = {"channels": np.ones(len(plan.written), dtype=np.bool_)}
    if live_chain.stretch is not None:
        is_written["scale"] = np.isin(plan.written, list(scaled_bones(plan, spec)))
    if located := located_bones(plan, spec):
        is_written["location"] = np.isin(plan.written, list(located))
    return is_written


def find_resting(
    placed: Sequence[tuple[RigState, LiveChain]], refused: Iterable[int]
) -> tuple[RestingChain, ...]:
    """Return the refused chains of live chains with their armature objects."""
    refused_indices = sorted(refused)
    if not refused_indices:
        return ()
    accepted = [i for i in range(len(placed)) if i not in refused_indices]
    taken, resting = set[tuple[int, str, int]](), []
    for i in (*accepted, *refused_indices):
        (state, live_chain), private = placed[i], dict[ChannelKind, Flags]()
        for name, is_written in _written(live_chain).items():
            points = [(state.uid, name, bone) for bone in live_chain.plan.written.tolist()]
            private[name] = is_written & [point not in taken for point in points]
            taken.update(
                point for point, is_private in zip(points, private[name], strict=True) if is_private
            )
        if i in refused_indices:
            resting.append(RestingChain(state, live_chain, private))
    return tuple(resting)
