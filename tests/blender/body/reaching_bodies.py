"""Rigify's human as a whole body that reaches: a hand out of arm's reach, feet pinned."""

from __future__ import annotations

import bpy
import numpy as np

from tests.blender.setups import rigs

AWAY = (0.5, -0.6, -0.2)
"""The way of a hand's target from rest, in scene units: the arm alone does not reach it."""
FEET = ("foot.L", "foot.R")


def human() -> bpy.types.Object:
    """Return the human of the file that is open: undo and load replace all objects."""
    return bpy.data.objects["metarig"]


def channels(ob: bpy.types.Object) -> dict[str, np.ndarray]:
    """Return what the channels of bones hold, shape (10,) each: location, rotation, scale."""
    return {
        bone.name: np.array(
            (
                *bone.location,
                *getattr(bone, rigs.rotation_property(bone)),
                *bone.scale,
            )
        )
        for bone in ob.pose.bones
    }


def most_changed(before: dict[str, np.ndarray], after: dict[str, np.ndarray]) -> float:
    """Return by how much the channel has changed that has changed most."""
    assert before.keys() == after.keys()
    return max(float(np.abs(after[name] - held).max()) for name, held in before.items())
