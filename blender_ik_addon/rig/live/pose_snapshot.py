"""What stands before frames are played for another purpose, to be put back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import bpy

from ..reading.animation import animated_paths
from ..reading.channels import CHANNEL_SIZES, read_floats
from ..reading.update import GraphKey
from .animated_values import UNFIT, set_value, value_at
from .graph_state import GraphState
from .live import memory
from .writer import Written

Values = dict[tuple[str, int], Any]


@dataclass(frozen=True)
class Standing:
    """What frames that are played change for good.

    Attributes:
        graphs: What is known of each dependency graph, and what chains remember.
        poses: Armature objects with chains, and the channels of their bones.
        values: All data with keys, and what the properties held that have them, by data path and
            index: who has changed something and not keyed it would lose that.
    """

    graphs: dict[GraphKey, GraphState]
    poses: tuple[tuple[bpy.types.Object, Written], ...]
    values: tuple[tuple[bpy.types.ID, Values], ...]

    def put_back(self) -> None:
        """Have everything as it was, at the frame where it was; nothing where rigs are gone."""
        for owner, held in self.values:
            _set_values(owner, held)
        with suppress(ReferenceError):
            for rig, channels in self.poses:
                rig.update_tag()
                for name, values in channels.items():
                    rig.pose.bones.foreach_set(name, values)
            memory.graphs.clear()
            memory.graphs.update(self.graphs)
            for graph in self.graphs.values():
                for state in graph.rigs.values():
                    # Rigs with other chains than are known are read again.
                    state.chain_names = []


def standing() -> Standing:
    """Return what stands now. Whoever plays frames then has the memory start again first."""
    graphs = dict(memory.graphs)
    rigs = {uid: state.object for graph in graphs.values() for uid, state in graph.rigs.items()}
    poses = []
    for rig in rigs.values():
        # It may have been removed since.
        with suppress(ReferenceError):
            bones = rig.pose.bones
            sizes = CHANNEL_SIZES.items()
            poses.append((rig, {name: read_floats(bones, name, size) for name, size in sizes}))
    values = tuple([(owner, held) for owner in _all_data() if (held := _read_values(owner))])
    return Standing(graphs, tuple(poses), values)


def _all_data() -> Iterator[bpy.types.ID]:
    """Yield what the file has, each once; nodes that belong to other data are reached from that."""
    lists = [each.identifier for each in bpy.data.bl_rna.properties if each.type == "COLLECTION"]
    yield from dict.fromkeys(owner for name in lists for owner in getattr(bpy.data, name))


def _animated(owner: bpy.types.ID) -> set[tuple[str, int]]:
    """Return data path and index of what is animated of some data, and of its own nodes."""
    found = animated_paths(owner)
    nodes = getattr(owner, "node_tree", None)
    if nodes is None or not nodes.is_embedded_data:
        return found
    inside = animated_paths(nodes)
    dots = {path: "" if path.startswith("[") else "." for path, _ in inside}
    return found | {(f"node_tree{dots[path]}{path}", index) for path, index in inside}


def _read_values(owner: bpy.types.ID) -> Values:
    """Return what animated properties of some data hold, but for those that are gone."""
    found: Values = {}
    with suppress(ReferenceError):
        for path, index in _animated(owner):
            with suppress(*UNFIT):
                found[path, index] = value_at(owner, path, index)
    return found


def _set_values(owner: bpy.types.ID, values: Values) -> None:
    """Give animated properties of some data the values that they held, where they differ.

    One that does not take its value any more keeps no other one from it.
    """
    present = _read_values(owner)
    for (path, index), value in values.items():
        if present.get((path, index), value) != value:
            with suppress(*UNFIT):
                set_value(owner, path, index, value)
                owner.update_tag()
