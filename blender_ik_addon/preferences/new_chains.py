"""The preferences of new chains."""

from __future__ import annotations

from dataclasses import fields

import bpy

from ..properties import NewChain
from .addon import preferences


def new_chain(context: bpy.types.Context) -> NewChain:
    """Return the settings that new chains are to have."""
    own = preferences(context)
    return NewChain(**{each.name: getattr(own, each.name) for each in fields(NewChain)})


def wants_pole(context: bpy.types.Context, bone_count: int) -> bool:
    """Tell whether a new chain that bends this many bones gets a pole."""
    pole = preferences(context).pole
    return pole == "ALWAYS" or (pole == "TWO" and bone_count == 2)
