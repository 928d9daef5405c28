"""Targets that are turned, and axes of bones and objects as Blender evaluates them."""

from __future__ import annotations

import numpy as np

from tests.blender.setups import rigs, scaled_rigs
from tests.helpers import make_rng


def axes_of_bone(ob, bone):
    """Return the bone's unit axes as columns, world space."""
    matrix = scaled_rigs.world_of(ob) @ rigs.evaluated(ob).pose.bones[bone].matrix
    return np.array(matrix.to_quaternion().to_matrix())


def axes_of_object(ob):
    return np.array(scaled_rigs.world_of(ob).to_quaternion().to_matrix())


def turned_target(point, seed=0):
    target = rigs.make_empty("Target", point)
    target.rotation_mode = "QUATERNION"
    target.rotation_quaternion = scaled_rigs.random_quaternion(make_rng(seed), 1.5)
    return target
