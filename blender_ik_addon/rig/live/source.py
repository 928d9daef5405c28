"""Settings of live chains: where updates read them, also again if solved bones drive them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import bpy

from ..batches.rig_state import RigState, update_bases
from ..planning.planned_rig import Specs, Store
from ..reading.update import Update


@dataclass(frozen=True)
class Source:
    """Functions that read and store settings of live chains, which are a layer above this one.

    Attributes:
        prepare: Called before an object is read: stores poses of chains, restores those of muted
            ones, gives hidden targets an anchor. Returns whether to evaluate the graph again.
        read_specs: Returns the settings of the live chains of an object by index.
        store: Stores the pose of a chain that has new bones, and returns it.
    """

    prepare: Callable[[bpy.types.Object, Update], bool]
    read_specs: Callable[[bpy.types.Object, Update], Specs]
    store: Store


def read_driven(states: Iterable[RigState], update: Update, source: Source) -> bool:
    """Read objects again whose settings have changed in this update; return whether any has.

    Args:
        states: Objects with settings that solved bones drive.
        update: The update, evaluated with what chains have written so far.
        source: The functions that read settings.
    """
    changed = [
        state for state in states if _differs(state, source.read_specs(state.object, update))
    ]
    if any([source.prepare(state.object, update) for state in changed]):
        update.evaluate_again()
    for state in changed:
        specs = source.read_specs(state.object, update)
        state.read(state.chain_names, specs, update, source.store)
    update_bases(changed)
    return bool(changed)


def has_idle_chains(state: RigState) -> bool:
    """Return whether any chain of an object was muted or without influence when last read."""
    return len(state.compiled.live_chains) + len(state.compiled.errors) < len(state.chain_names)


def read_poses_again(states: Iterable[RigState], update: Update) -> bool:
    """Read the poses of objects; return whether any base has another shape."""
    unique = list({state.uid: state for state in states}.values())
    for state in unique:
        state.read_pose(update)
    return update_bases(unique)


def _differs(state: RigState, specs: Specs) -> bool:
    """Return whether an object was read with other settings than these."""
    known = {chain.index: chain.spec for chain in state.compiled.live_chains}
    # A chain with an error has no settings to compare: it is solved in a later update.
    present = {index: spec for index, spec in specs.items() if index not in state.compiled.errors}
    return known != present
