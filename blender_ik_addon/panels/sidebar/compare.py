"""Every solver on the active chain, side by side."""

from __future__ import annotations

import textwrap
from typing import cast

import bpy

from ...properties import (
    ChainSettings,
    ComparedChain,
    ComparedSolver,
    active_chain,
    compared_chain,
    kept_of,
)
from ..base import SIDEBAR_CHARACTERS, ActiveChainPanel

NONE = "-"
# As wide as these four columns are in relation to each other.
SHARE_OF_NAMES = 0.42
# Always as many, so that what is below stays where it is.
STATUS_LINES = 3


class CHAINIK_UL_compared(bpy.types.UIList):
    """One solver a row: its name, what it left, and what that took."""

    def draw_item(
        self,
        _context: bpy.types.Context,
        layout: bpy.types.UILayout,
        _data: ComparedChain,
        item: ComparedSolver,
        _icon: int,
        _active_data: ComparedChain,
        _active_property: str,
        index: int,
    ) -> None:
        row = layout.split(factor=SHARE_OF_NAMES, align=True)
        row.active = item.is_solved
        row.label(text=item.name)
        row = row.row(align=True)
        for text in (item.gap, item.count, item.time):
            row.label(text=text or NONE)
        button = row.row(align=True)
        button.enabled = bool(item.solver) and item.is_solved
        button.operator("pose.chain_ik_compare_use", text="Use").index = index


class VIEW3D_PT_chain_ik_compare(ActiveChainPanel):
    """What every solver and Blender's constraint make of the active chain."""

    bl_label = "Compare"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        layout = cast(bpy.types.UILayout, self.layout)
        kept = kept_of(context.window_manager)
        row = layout.row(align=True)
        row.operator("pose.chain_ik_compare", icon="PRESET")
        settings = compared_chain(context.window_manager)
        if settings is None:
            return
        row.prop(kept, "show_ghosts", text="", icon="GHOST_ENABLED")
        row.operator("pose.chain_ik_compare_clear", text="", icon="X")
        _draw_heading(layout, kept, is_active=settings == active_chain(context))
        layout.template_list(
            *("CHAINIK_UL_compared", "", kept, "solvers", kept, "active_index"),
            rows=len(kept.solvers),
            maxrows=len(kept.solvers),
        )
        _draw_status(layout, kept)

    def draw_settings(self, layout: bpy.types.UILayout, settings: ChainSettings) -> None:
        """Nothing: what is shown is about the comparison, not the settings."""


def _draw_heading(layout: bpy.types.UILayout, kept: ComparedChain, *, is_active: bool) -> None:
    frame = f"{kept.frame:.2f}".rstrip("0").rstrip(".")
    text = f"{kept.chain} at frame {frame}"
    layout.label(text=text if is_active else f"{text}, not the active chain")
    row = layout.split(factor=SHARE_OF_NAMES, align=True)
    row.label(text="Solver")
    row = row.row(align=True)
    for text in ("Residual", "Iterations", "Time", ""):
        row.label(text=text)


def _draw_status(layout: bpy.types.UILayout, kept: ComparedChain) -> None:
    """Draw how the chosen one has ended, at a fixed height."""
    text = ""
    if 0 <= kept.active_index < len(kept.solvers):
        text = kept.solvers[kept.active_index].status
    lines = textwrap.wrap(text, SIDEBAR_CHARACTERS, max_lines=STATUS_LINES, placeholder=" ...")
    column = layout.column(align=True)
    for line in (lines + [""] * STATUS_LINES)[:STATUS_LINES]:
        column.label(text=line)


register, unregister = bpy.utils.register_classes_factory(
    (CHAINIK_UL_compared, VIEW3D_PT_chain_ik_compare)
)
