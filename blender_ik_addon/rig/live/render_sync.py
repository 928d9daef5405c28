"""Keep what animation gives an armature object while a chain writes to it in a hidden graph.

A render, and an Alembic or USD export, evaluates a dependency graph of its own, and a script that
sets a frame those of all view layers. Only graphs that a viewport has shown flush animated values
to the original data. Writing any channel of the original copies all of it into the hidden graph,
with the values of another frame: every other animated channel would freeze, the settings of chains
as well. So the values of the hidden graph's frame are copied to the original first.
"""

from __future__ import annotations

from contextlib import suppress

import bpy

from ..reading.animation import animated_paths
from ..reading.channels import CHANNEL_SIZES, read_floats
from .animated_values import UNFIT, set_value, value_at


def keep_animated_values(original: bpy.types.Object, evaluated: bpy.types.Object) -> None:
    """Copy everything animated on an armature object from its evaluated copy."""
    for name, size in CHANNEL_SIZES.items():
        original.pose.bones.foreach_set(name, read_floats(evaluated.pose.bones, name, size))
    for path, index in animated_paths(original):
        # Blender ignores a path to something that is gone as well.
        with suppress(*UNFIT):
            set_value(original, path, index, value_at(evaluated, path, index))
