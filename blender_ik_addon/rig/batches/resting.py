"""Chains that cannot be solved together with others: their own bones stand as stored, or keyed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...core.algebra.arithmetic import Array, Flags
from ..planning.live_chain import LiveChain
from ..planning.located import located_bones, scaled_bones
from ..reading.channels import Channels
from .changes import Change, Kind
from .rig_state import RigState


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
    own: Mapping[Kind, Flags]

    def changes(self, frame: float) -> list[Change]:
        """Return what its own bones have to hold at a frame; nothing if they hold it."""
        written, found = self.live_chain.plan.written, list[Change]()
        for kind, values in self._values(frame).items():
            own = self.own[kind]
            found.append(Change(self.state, kind, written[own], values[own]))
        return found if any(self._differs(change).any() for change in found) else []

    def posed(self, changes: Sequence[Change]) -> list[str]:
        """Return the names of bones that do not hold what changes of theirs give them."""
        found = {bone for each in changes for bone in each.bones[self._differs(each)].tolist()}
        return [self.live_chain.skeleton.names[bone] for bone in sorted(found)]

    def _differs(self, change: Change) -> Flags:
        present = getattr(self.state.pose, change.kind)[change.bones].astype(np.float32)
        differs: Flags = (present != change.values).any(axis=1)
        return differs

    def _values(self, frame: float) -> dict[Kind, Channels]:
        """Return what its written bones hold without it, shape (k, size), by kind of channels."""
        found: dict[Kind, Array] = {"channels": self.live_chain.stored}
        for name in ("scale", "location"):
            if name in self.own:
                found[name] = self.state.without(self.live_chain, frame, name)
        return {name: values.astype(np.float32) for name, values in found.items()}


def _written(live_chain: LiveChain) -> dict[Kind, Flags]:
    """Return which of its bones a chain writes, shape (k,), by kind of channels."""
    plan, spec = live_chain.plan, live_chain.spec
    found: dict[Kind, Flags] = {"channels": np.ones(len(plan.written), dtype=np.bool_)}
    if live_chain.stretch is not None:
        found["scale"] = np.isin(plan.written, list(scaled_bones(plan, spec)))
    if located := located_bones(plan, spec):
        found["location"] = np.isin(plan.written, list(located))
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
        (state, live_chain), own = placed[i], dict[Kind, Flags]()
        for name, is_written in _written(live_chain).items():
            points = [(state.uid, name, bone) for bone in live_chain.plan.written.tolist()]
            own[name] = is_written & [point not in posed for point in points]
            posed.update(
                point for point, own_point in zip(points, own[name], strict=True) if own_point
            )
        if i in rests:
            found.append(Resting(state, live_chain, own))
    return tuple(found)
