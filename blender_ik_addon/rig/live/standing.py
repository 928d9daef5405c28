"""What stands before frames are played for another purpose, to be put back."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import bpy

from ..reading.animation import animated_paths
from ..reading.channels import CHANNEL_SIZES, read_floats
from ..reading.update import GraphKey
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
        values: Objects with keys, and what the properties held that have them, by data path and
            index: who has moved something and not keyed it would lose that.
    """

    graphs: dict[GraphKey, GraphState]
    poses: tuple[tuple[bpy.types.Object, Written], ...]
    values: tuple[tuple[bpy.types.Object, Values], ...]

    def put_back(self) -> None:
        """Have everything as it was, at the frame where it was; nothing where rigs are gone."""
        for owner, held in self.values:
            with suppress(ReferenceError):
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
    keyed = [ob for ob in bpy.data.objects if ob.animation_data is not None]
    return Standing(graphs, tuple(poses), tuple([(ob, _read_values(ob)) for ob in keyed]))


def _read_values(owner: bpy.types.Object) -> Values:
    """Return what animated properties of an object hold, but for those that are gone."""
    found: Values = {}
    for path, index in animated_paths(owner):
        with suppress(ValueError, IndexError):
            value: Any = owner.path_resolve(path)
            found[path, index] = value[index] if _has_components(value) else value
    return found


def _set_values(owner: bpy.types.Object, values: Values) -> None:
    """Give animated properties of an object the values that they held, where they differ."""
    present = _read_values(owner)
    for (path, index), value in values.items():
        if present.get((path, index), value) == value:
            continue
        found: Any = owner.path_resolve(path)
        if _has_components(found):
            found[index] = value
            continue
        is_custom = path.endswith("]")
        place, _, name = path[:-1].rpartition("[") if is_custom else path.rpartition(".")
        holder: Any = owner.path_resolve(place) if place else owner
        if is_custom:
            holder[bpy.utils.unescape_identifier(name[1:-1])] = value
        else:
            setattr(holder, name, value)
        owner.update_tag()


def _has_components(value: Any) -> bool:
    """Tell a vector from a number and from an item, or items, of a list of choices."""
    return hasattr(value, "__len__") and not isinstance(value, str | set)
