"""What a person prefers of new chains."""

from __future__ import annotations

import bpy

from ..properties import NewChain
from .addon import preferences


def new_chain(context: bpy.types.Context) -> NewChain:
    """Return the settings that new chains are to have."""
    own = preferences(context)
    return NewChain(
        solver_of_two=own.solver_of_two,
        solver=own.solver,
        start_from=own.start_from,
        use_limits=own.use_limits,
        tolerance=own.tolerance,
        iterations=own.iterations,
    )


def wants_pole(context: bpy.types.Context, bone_count: int) -> bool:
    """Tell whether a new chain that bends so many bones is to have a pole."""
    pole = preferences(context).pole
    return pole == "ALWAYS" or (pole == "TWO" and bone_count == 2)
