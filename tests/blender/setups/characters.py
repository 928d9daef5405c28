"""Rigify's characters, or those of recorded clips, with a chain for each limb."""

from __future__ import annotations

import bpy

from tests.blender.operators.test_characters import USUAL, add_rig
from tests.blender.setups.selecting import press


def make_character(
    name: str = "human", control: str = "BONE", **settings: object
) -> bpy.types.Object:
    """Return a character with chains for its usual limbs, and their controls."""
    ob = add_rig(name)
    press(bpy.ops.pose.chain_ik_setup, control=control, **{"kinds": USUAL} | settings)
    return ob
