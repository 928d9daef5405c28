"""Who solves trees side by side, and the two spaces that rigid trees can be solved in."""

from collections.abc import Iterator
from typing import Any

import pytest

from blender_ik_addon.rig.batches.chain_batch import ChainBatch
from blender_ik_addon.rig.frames import bases
from blender_ik_addon.rig.live import live


def trees() -> Iterator[ChainBatch]:
    (graph,) = live.memory.graphs.values()
    for level in graph.levels:
        yield from (batch for batch in level.batches if len(batch.driven[0].live_chains) > 1)


def in_armatures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have all trees solved in the spaces of their armatures, not of their root bones."""
    monkeypatch.setattr(bases, "EVEN_SPACE", -1.0)


def noted(monkeypatch: pytest.MonkeyPatch, owner: object, name: str) -> list[Any]:
    """Return a list that grows by the first argument of every call of a function."""
    found, wrapped = [], getattr(owner, name)

    def note(first: Any, *others: Any, **named: Any) -> Any:
        found.append(first)
        return wrapped(first, *others, **named)

    monkeypatch.setattr(owner, name, note)
    return found
