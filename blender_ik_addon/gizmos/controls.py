"""Gizmos that drag the target, the pole and the pole angle of the active chain."""

from __future__ import annotations

from contextlib import suppress

import bpy
import numpy as np
from mathutils import Color, Matrix, Vector

from ..core import IKError
from ..preferences.colours import colours
from ..properties.chains import ChainGroup, owner_of
from ..properties.choices import uses
from ..properties.records import controls_of_chain
from ..rig.reading.spec import Anchor
from ..rig.reading.world import uids_in
from ..rig.tools.move_by_location import place_of
from ..rig.tools.pole_axis import PoleAxis, pole_axis
from .gizmo_base import ChainGizmos, chain_of, chain_or_spec_of, paint, solved_chain, theme

# Sizes as shares of the size of Blender's gizmos.
TARGET_SIZE, POLE_SIZE, DIAL_SIZE = 0.22, 0.16, 0.6
LINE_WIDTH = 2.0
# A new pole may lie on the dial, and without this bias a click there would always pick the dial.
# The ends of limits are smaller and have a greater bias.
SELECT_BIAS = 5.0


class VIEW3D_GGT_chain_ik_controls(ChainGizmos):
    """Rings on target and pole of the active chain, and a dial for its pole angle."""

    bl_label = "Chain IK Controls"

    def setup(self, _context: bpy.types.Context) -> None:
        self._target = self._make_point("pose.chain_ik_move_target", TARGET_SIZE)
        self._pole = self._make_point("pose.chain_ik_move_pole", POLE_SIZE)
        self._dial = self.new_gizmo("GIZMO_GT_dial_3d")
        self._dial.target_set_operator("pose.chain_ik_turn_pole")
        self._dial.scale_basis, self._dial.line_width = DIAL_SIZE, LINE_WIDTH

    def draw_prepare(self, context: bpy.types.Context) -> None:
        for gizmo in (self._target, self._pole, self._dial):
            gizmo.hide = True
        settings = chain_of(context)
        if settings is None:
            return
        # The colour of the pole's line. Limits are rings as well, but have another colour.
        pole_colour = Color(colours(context)["pole"])
        target, pole = _visible_controls(context, settings)
        self._show_at(self._target, target)
        self._show_at(self._pole, pole)
        paint(self._target, theme(context).gizmo_primary)
        paint(self._pole, pole_colour)
        has_line = pole is not None and bool(target) == bool(settings.target)
        line = _axis_of(context, settings) if has_line else None
        if line is not None:
            # The dial lies in the middle of the line, with the line as its Z axis.
            turn = Vector((0.0, 0.0, 1.0)).rotation_difference(Vector(line.direction.tolist()))
            middle = Matrix.Translation(((line.root + line.end) / 2.0).tolist())
            self._dial.matrix_basis = middle @ turn.to_matrix().to_4x4()
            self._dial.hide = False
            paint(self._dial, pole_colour)

    def _make_point(self, operator: str, size: float) -> bpy.types.Gizmo:
        gizmo = self.new_gizmo("GIZMO_GT_move_3d")
        gizmo.draw_style, gizmo.draw_options = "RING_2D", {"ALIGN_VIEW", "FILL_SELECT"}
        gizmo.target_set_operator(operator)
        gizmo.scale_basis, gizmo.line_width = size, LINE_WIDTH
        gizmo.select_bias = SELECT_BIAS
        return gizmo

    def _show_at(self, gizmo: bpy.types.Gizmo, anchor: Anchor | None) -> None:
        """Show a gizmo at a target or pole, if there is one."""
        with suppress(IKError):
            if anchor is not None and np.isfinite(position := place_of(anchor)).all():
                gizmo.matrix_basis = Matrix.Translation(position.tolist())
                gizmo.hide = False


def _visible_controls(
    context: bpy.types.Context, settings: ChainGroup
) -> tuple[Anchor | None, Anchor | None]:
    """Return the target and the pole of a chain; None for one that chain or scene lacks."""
    target, pole = controls_of_chain(settings)
    if not uses(settings, "pole_target"):
        pole = None
    if solved_chain(context, settings) is None:
        # A chain that is solved has both in the scene.
        assert context.scene is not None
        present = uids_in(context.scene)
        target = target if target and target.object.session_uid in present else None
        pole = pole if pole and pole.object.session_uid in present else None
    return target, pole


def _axis_of(context: bpy.types.Context, settings: ChainGroup) -> PoleAxis | None:
    """Return the line that the pole angle turns about; None without a finite line."""
    try:
        line = pole_axis(owner_of(settings), chain_or_spec_of(context, settings))
    except IKError:
        return None
    return line if np.isfinite((line.root, line.end)).all() else None
