"""The operators that compare solvers on the active chain, choose one, and clear the comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import bpy
from bpy.props import IntProperty

from ..core.model.message import Message
from ..properties.chains import ChainGroup, copy_settings, owner_of
from ..properties.compared.compare_solvers import compare_solvers
from ..properties.compared.comparison_results import last_comparison, mark_of
from ..rig.comparing.comparing import CONTENDERS, Attempt
from . import selection
from .base import SKIP_SAVE, ChainOperator, Stepwise

NOTHING_COMPARED = "There is no comparison: press Compare Solvers first."


class POSE_OT_chain_ik_compare(Stepwise):
    """Solve the active chain with every solver and with Blender's IK constraint.

    Show the remaining distance to the target (residual), iterations, time and a ghost of each pose.
    The rig does not change.
    """

    bl_label = "Compare Solvers"
    # The result is not part of the file, so there is nothing to undo.
    bl_options = {"REGISTER"}

    def act(self, context: bpy.types.Context) -> set[str]:
        self._mark = mark_of(selection.chain(context))
        work = compare_solvers(self._mark, context.evaluated_depsgraph_get)
        return self.start(context, work, len(CONTENDERS))

    def progress(self, done: int, total: int) -> str:
        return Message("solver {done} of {total}", done=done, total=total)

    def finish(self, context: bpy.types.Context, attempts: Sequence[Attempt]) -> None:
        """Store the results of the solvers, and show them."""
        frame = selection.scene_of(context).frame_current_final
        last_comparison(context.window_manager).keep(self._mark, attempts, frame)
        _redraw(context)


class POSE_OT_chain_ik_compare_use(ChainOperator):
    """Use this solver for the compared chain from now on."""

    bl_label = "Use"
    bl_options = {"REGISTER", "UNDO", "INTERNAL"}

    index: IntProperty(
        name="Row",
        description="Place of the solver in the list of compared solvers",
        min=0,
        options={*SKIP_SAVE, "HIDDEN"},
    )

    @classmethod
    def problem(cls, context: bpy.types.Context) -> str:
        settings = last_comparison(context.window_manager).chain
        return NOTHING_COMPARED if settings is None else selection.problem_of(owner_of(settings))

    def act(self, context: bpy.types.Context) -> set[str]:
        comparison = last_comparison(context.window_manager)
        row = comparison.solvers[self.index] if self.index < len(comparison.solvers) else None
        if row is None or not row.solver:
            return self.refuse(
                "Blender's IK constraint is not a solver of chains: press Convert Chains to"
                " replace the chain with it."
            )
        copy_settings(row, cast(ChainGroup, comparison.chain), row.setting_names)
        return {"FINISHED"}


class POSE_OT_chain_ik_compare_clear(ChainOperator):
    """Remove the comparison and its ghosts."""

    bl_label = "Clear Comparison"
    bl_options = {"REGISTER", "INTERNAL"}

    @classmethod
    def problem(cls, context: bpy.types.Context) -> str:
        return "" if last_comparison(context.window_manager).solvers else NOTHING_COMPARED

    def act(self, context: bpy.types.Context) -> None:
        last_comparison(context.window_manager).forget()
        _redraw(context)


def _redraw(context: bpy.types.Context) -> None:
    """Redraw the 3D viewports, which show the ghosts."""
    for window in context.window_manager.windows:
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                area.tag_redraw()
