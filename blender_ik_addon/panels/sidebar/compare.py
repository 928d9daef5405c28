"""The panel with the results of *Compare Solvers*: every solver on one chain."""

from __future__ import annotations

from typing import cast

import bpy

from ...core.model.message import Message
from ...properties.chains import ChainGroup, active_chain
from ...properties.choices import LABEL_CONTEXT
from ...properties.compared.comparison_results import ComparedChain, ComparedSolver, last_comparison
from ...rig.tools.lengths import length_unit, short_length
from ...translations import translate
from ..base import ActiveChainPanel, draw_text, sidebar_width

NO_FIGURE = "-"
# Share of a row for the name, beside all figures and beside the residual alone.
NAME_SHARE_BESIDE_ALL, NAME_SHARE_BESIDE_ONE = 0.4, 0.6
# Least width of a sidebar that shows all figures, pixels at an interface scale of 1.
WIDTH_FOR_ALL = 430.0


class CHAINIK_UL_compared(bpy.types.UIList):
    """One row for each solver: name, residual, iterations, time."""

    def draw_item(
        self,
        context: bpy.types.Context,
        layout: bpy.types.UILayout,
        comparison: ComparedChain,
        item: ComparedSolver,
        _icon: int,
        _active_data: ComparedChain,
        _active_property: str,
        index: int,
    ) -> None:
        row = layout.row(align=True)
        row.active = item.is_solved
        row = _draw_cells(row, context, translate(item.title), figures(context, item))
        settings = comparison.chain
        if settings is not None and item.is_in_use(settings):
            row.label(text="", icon="CHECKMARK")
        elif item.solver:
            row.enabled = item.is_solved
            row.operator("pose.chain_ik_compare_use").index = index
        else:
            row.label(text="")


class VIEW3D_PT_chain_ik_compare(ActiveChainPanel):
    """The results of every solver and of Blender's constraint; shown while there are any."""

    bl_label = "Compare"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return super().poll(context) and last_comparison(context.window_manager).chain is not None

    def draw(self, context: bpy.types.Context) -> None:
        layout = cast(bpy.types.UILayout, self.layout)
        comparison = last_comparison(context.window_manager)
        row = layout.row(align=True)
        row.operator("pose.chain_ik_compare", icon="SORTSIZE")
        row.prop(comparison, "show_ghosts", text="", icon="GHOST_ENABLED")
        row.operator("pose.chain_ik_compare_clear", text="", icon="X")
        settings = cast(ChainGroup, comparison.chain)
        frame = f"{comparison.frame:.2f}".rstrip("0").rstrip(".")
        text = "'{chain}' at frame {frame}"
        if settings != active_chain(context):
            text = "'{chain}' at frame {frame}, not the active chain"
        message = Message(text, chain=settings.name, frame=frame)
        layout.label(text=translate(message), translate=False)
        row = layout.row(align=True)
        _draw_cells(row, context, "Solver", ("Residual", "Iterations", "Time", " "))
        layout.template_list(
            *("CHAINIK_UL_compared", "", comparison, "solvers", comparison, "active_index"),
            rows=len(comparison.solvers),
            maxrows=len(comparison.solvers),
        )
        if 0 <= comparison.active_index < len(comparison.solvers):
            active = comparison.solvers[comparison.active_index]
            gap, count, time = figures(context, active)
            if count:
                text = "1 iteration" if count == "1" else "{count} iterations"
                count = translate(Message(text, count=count))
            column = layout.column(align=True)
            column.label(text=", ".join(filter(None, (gap, count, time))), translate=False)
            draw_text(column, active.message)


def figures(context: bpy.types.Context, row: ComparedSolver) -> tuple[str, str, str]:
    """Return residual, iterations and time of a solver as texts, empty if unknown."""
    if not row.is_solved:
        return "", "", ""
    count = str(row.iterations) if row.iterations >= 0 else ""
    digits = ".2g" if row.milliseconds < 10.0 else ".0f"
    gap = short_length(row.residual, length_unit(context.scene))
    return gap, count, f"{row.milliseconds:{digits}} ms"


def _draw_cells(
    row: bpy.types.UILayout, context: bpy.types.Context, name: str, texts: tuple[str, ...]
) -> bpy.types.UILayout:
    """Draw a name and as many texts as fit; return the row for what follows them."""
    has_room = sidebar_width(context) >= WIDTH_FOR_ALL
    row = row.split(factor=NAME_SHARE_BESIDE_ALL if has_room else NAME_SHARE_BESIDE_ONE, align=True)
    row.label(text=name, text_ctxt=LABEL_CONTEXT)
    # A split gives columns of the same width in every row, whatever their texts.
    row = row.split(align=True)
    for text in texts if has_room else texts[:1]:
        row.label(text=text or NO_FIGURE)
    return row
