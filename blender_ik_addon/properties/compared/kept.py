"""What a comparison of solvers has found, kept by the window manager until it is cleared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import bpy
import numpy as np
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    FloatProperty,
    FloatVectorProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from ...core import Solver
from ...rig.comparing.comparing import Attempt
from ...rig.tools.lengths import length_unit, short_length
from ..chains import ChainGroup
from ..choices import SOLVERS
from .marks import ChainMark, find_marked, mark_of

BUILT_IN = "Blender's constraint"
_NAMES = {identifier: name for identifier, name, _ in SOLVERS}


class ComparedPoint(bpy.types.PropertyGroup):
    """A joint."""

    co: FloatVectorProperty(name="Position", description="World space", subtype="XYZ")


class ComparedSolver(bpy.types.PropertyGroup):
    """What one solver made of the chain."""

    name: StringProperty(name="Name", description="The solver")
    solver: StringProperty(name="Solver", description="Its identifier; empty for the constraint")
    use_finish: BoolProperty(name="Finish", description="Whether Newton finished the rest")
    is_solved: BoolProperty(name="Solved", description="Whether it could solve the chain")
    status: StringProperty(name="Status", description="How it ended, or why it could not")
    gap: StringProperty(name="Residual", description="Distance left to the target")
    count: StringProperty(name="Iterations", description="How many iterations it took")
    time: StringProperty(name="Time", description="How long the solve of this chain takes")
    residual: FloatProperty(
        name="Residual", description="Distance left to the target in scene units; -1 without a pose"
    )
    iterations: IntProperty(
        name="Iterations", description="How many iterations it took; -1 where nobody tells"
    )
    milliseconds: FloatProperty(
        name="Time", description="How long a solve takes, in milliseconds; -1 without a pose"
    )
    joints: CollectionProperty(type=ComparedPoint)


class ComparedChain(bpy.types.PropertyGroup):
    """The chain that solvers were compared on, and what came of it."""

    uid: IntProperty(name="Session Uid", description="Of the armature object")
    index: IntProperty(name="Index", description="Place of the chain in its list")
    purpose: StringProperty(
        name="Purpose", description="Which bone it takes where, to find it by in another place"
    )
    frame: FloatProperty(name="Frame", description="At which the solvers were compared")
    solvers: CollectionProperty(type=ComparedSolver)
    active_index: IntProperty(name="Active Solver", description="Whose status is shown below")
    show_ghosts: BoolProperty(
        name="Ghosts",
        description="Draw the pose of every solver in the viewport, each in its own color",
        default=True,
        options={"SKIP_SAVE"},
    )


def keep_compared(
    window_manager: bpy.types.WindowManager | None,
    settings: ChainGroup,
    attempts: Sequence[Attempt],
    scene: bpy.types.Scene,
) -> None:
    """Keep what a comparison has found, in place of the one before."""
    kept = kept_of(window_manager)
    kept.uid, kept.index, kept.purpose = mark_of(settings)
    kept.frame, kept.active_index = scene.frame_current_final, 0
    kept.solvers.clear()
    unit = length_unit(scene)
    for attempt in attempts:
        row = kept.solvers.add()
        row.name = _name_of(attempt)
        row.solver = "" if attempt.solver is None else attempt.solver.value
        row.use_finish, row.status = attempt.use_finish, attempt.status
        row.is_solved = attempt.is_solved
        row.residual = row.milliseconds = row.iterations = -1
        if is_in_use(settings, row):
            # At first it is chosen.
            kept.active_index = len(kept.solvers) - 1
        if not attempt.is_solved:
            continue
        row.residual, row.milliseconds = attempt.residual, attempt.milliseconds
        row.gap = short_length(attempt.residual, unit)
        digits = ".2g" if attempt.milliseconds < 10.0 else ".0f"
        row.time = f"{attempt.milliseconds:{digits}} ms"
        if attempt.iterations is not None:
            row.iterations, row.count = attempt.iterations, str(attempt.iterations)
        for joint in attempt.joints.tolist():
            row.joints.add().co = joint


def is_in_use(settings: ChainGroup, row: ComparedSolver) -> bool:
    """Tell whether a row is about the present solver of a chain."""
    is_swept = settings.solver in ("FABRIK", "CCD")
    is_same = bool(row.solver == settings.solver)
    return is_same and (not is_swept or bool(row.use_finish == settings.use_finish))


def _name_of(attempt: Attempt) -> str:
    if attempt.solver is None:
        return BUILT_IN
    name = _NAMES[attempt.solver.value]
    if attempt.solver not in (Solver.FABRIK, Solver.CCD):
        return name
    return f"{name} and Newton" if attempt.use_finish else name


def kept_of(window_manager: bpy.types.WindowManager | None) -> ComparedChain:
    """Return what a window manager keeps of the last comparison."""
    return cast(ComparedChain, cast(bpy.types.WindowManager, window_manager).chain_ik)


def compared_chain(window_manager: bpy.types.WindowManager | None) -> ChainGroup | None:
    """Return the chain of the last comparison; None if there is none any more."""
    kept = kept_of(window_manager)
    return find_marked(ChainMark(kept.uid, kept.index, kept.purpose)) if kept.solvers else None


def forget_compared(window_manager: bpy.types.WindowManager | None) -> None:
    """Forget the last comparison."""
    kept = kept_of(window_manager)
    kept.solvers.clear()
    for name in ("uid", "index", "purpose", "frame", "active_index"):
        kept.property_unset(name)


def ghost_joints(row: ComparedSolver) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """Return where the joints of a pose are, world space, shape (m + 1, 3)."""
    buffer = np.empty(3 * len(row.joints), dtype=np.float32)
    row.joints.foreach_get("co", buffer)
    return buffer.reshape(-1, 3)


def register() -> None:
    """Hang what is kept on window managers."""
    bpy.types.WindowManager.chain_ik = PointerProperty(
        type=ComparedChain, options={"SKIP_SAVE", "HIDDEN"}
    )


def unregister() -> None:
    """Remove what ``register`` added."""
    del bpy.types.WindowManager.chain_ik
