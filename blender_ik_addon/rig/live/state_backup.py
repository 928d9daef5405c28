"""Backup of a file's state before frames are played, to restore it afterwards."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import bpy

from ..reading.animation import animated_paths
from ..reading.channels import CHANNEL_SIZES, read_floats
from ..reading.update import GraphKey
from .animated_values import ACCESS_ERRORS, PropertyValues, read_values, set_value
from .graph_state import GraphState
from .live import memory
from .writer import BulkChannels


@dataclass(frozen=True)
class StateBackup:
    """The state that playing frames changes permanently.

    Attributes:
        graphs: States of all dependency graphs, with the histories of chains.
        poses: Armature objects with chains, and the channels of their bones.
        values: All animated data, and the values of the animated properties by data path and index:
            values that the user has changed and not keyed would be lost.
    """

    graphs: dict[GraphKey, GraphState]
    poses: tuple[tuple[bpy.types.Object, BulkChannels], ...]
    values: tuple[tuple[bpy.types.ID, PropertyValues], ...]

    def restore(self) -> None:
        """Restore the state after its frame was set again; skip removed armature objects."""
        for owner, saved in self.values:
            present = _read_values(owner)
            for (path, index), value in saved.items():
                if present.get((path, index), value) != value:
                    # A property that no longer accepts its value does not stop the others.
                    with suppress(*ACCESS_ERRORS):
                        set_value(owner, path, index, value)
                        owner.update_tag()
        for rig, channels in self.poses:
            with suppress(ReferenceError):
                rig.update_tag()
                for name, values in channels.items():
                    rig.pose.bones.foreach_set(name, values)
        memory.graphs.clear()
        memory.graphs.update(self.graphs)
        for graph in self.graphs.values():
            for state in graph.rigs.values():
                # The next update reads every rig whose list of chains differs from the known.
                state.chain_names = []


def back_up_state() -> StateBackup:
    """Return a backup of the present state; call ``Memory.restart`` before frames are played."""
    graphs = dict(memory.graphs)
    rigs = {uid: state.object for graph in graphs.values() for uid, state in graph.rigs.items()}
    poses = []
    for rig in rigs.values():
        # The object may have been removed since the last update.
        with suppress(ReferenceError):
            bones = rig.pose.bones
            sizes = CHANNEL_SIZES.items()
            poses.append((rig, {name: read_floats(bones, name, size) for name, size in sizes}))
    lists = [prop.identifier for prop in bpy.data.bl_rna.properties if prop.type == "COLLECTION"]
    owners = dict.fromkeys(owner for name in lists for owner in getattr(bpy.data, name))
    values = tuple([(owner, saved) for owner in owners if (saved := _read_values(owner))])
    return StateBackup(graphs, tuple(poses), values)


def _find_animated(owner: bpy.types.ID) -> set[tuple[str, int]]:
    """Return data path and index of animated properties of some data and its embedded nodes."""
    paths = animated_paths(owner)
    nodes = getattr(owner, "node_tree", None)
    if nodes is None or not nodes.is_embedded_data:
        return paths
    node_paths = animated_paths(nodes)
    dots = {path: "" if path.startswith("[") else "." for path, _ in node_paths}
    return paths | {(f"node_tree{dots[path]}{path}", index) for path, index in node_paths}


def _read_values(owner: bpy.types.ID) -> PropertyValues:
    """Return the values of animated properties of some data, without those that are gone."""
    with suppress(ReferenceError):
        return read_values(owner, _find_animated(owner))
    return {}
