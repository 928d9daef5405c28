"""What stands before frames are played for another purpose, to be put back if that fails."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import bpy

from ..reading.channels import CHANNEL_SIZES, read_floats
from ..reading.update import GraphKey
from .graph_state import GraphState
from .live import memory
from .writer import Written


@dataclass(frozen=True)
class Standing:
    """What frames that are played change for good: poses without keys, and what chains remember.

    Attributes:
        graphs: What is known of each dependency graph.
        poses: Armature objects with chains, and the channels of their bones.
    """

    graphs: dict[GraphKey, GraphState]
    poses: tuple[tuple[bpy.types.Object, Written], ...]

    def put_back(self) -> None:
        """Have everything as it was, at the frame where it was; nothing where rigs are gone."""
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
    return Standing(graphs, tuple(poses))
