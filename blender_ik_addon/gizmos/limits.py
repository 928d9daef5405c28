"""Gizmos that drag the ends of a bone's limits along their arcs."""

from __future__ import annotations

import bpy
import numpy as np
from mathutils import Matrix

from ..core import IKError
from ..properties.chains import ChainGroup, owner_of
from ..properties.joints.joint_definitions import held_bone
from ..properties.records import bones_of_chain
from ..rig.shapes.limit_ends import LimitEnd, find_ends
from .gizmo_base import ChainGizmos, chain_of, chain_or_spec_of, paint, solved_chain, theme

OPERATOR = "pose.chain_ik_set_limit"
SIZE, LINE_WIDTH = 0.09, 3.0
SELECT_BIAS = 10.0
# Ends of a bone's limits at most: a ball joint has two for each of three axes.
MAX_ENDS = 6


class VIEW3D_GGT_chain_ik_limits(ChainGizmos):
    """The ends of the active bone's limits."""

    bl_label = "Chain IK Limits"

    def setup(self, _context: bpy.types.Context) -> None:
        self._end_keys: list[tuple[str, str, str] | None] = [None] * MAX_ENDS
        for _ in range(MAX_ENDS):
            gizmo = self.new_gizmo("GIZMO_GT_move_3d")
            gizmo.draw_style, gizmo.draw_options = "RING_2D", {"ALIGN_VIEW", "FILL"}
            gizmo.scale_basis, gizmo.line_width = SIZE, LINE_WIDTH
            # It is small, so without the bias a click would always pick rings and dials.
            gizmo.select_bias = SELECT_BIAS

    def draw_prepare(self, context: bpy.types.Context) -> None:
        settings, bone, ends = chain_of(context), "", list[LimitEnd]()
        if settings is not None:
            bone = _bone_of(context, settings)
            ends = _ends_of(context, settings, bone) if bone else []
        colours = theme(context)
        axes = (colours.axis_x, colours.axis_y, colours.axis_z)
        for index, gizmo in enumerate(self.gizmos):
            gizmo.hide = index >= len(ends)
            if not gizmo.hide:
                end = ends[index]
                self._aim(index, (bone, "XYZ"[end.axis], "MAX" if end.is_max else "MIN"))
                gizmo.matrix_basis = Matrix.Translation(end.point.tolist())
                paint(gizmo, axes[end.axis])

    def _aim(self, index: int, end_key: tuple[str, str, str]) -> None:
        """Set the end that a gizmo moves: bone, axis, and MIN or MAX."""
        if self._end_keys[index] != end_key:
            self._end_keys[index] = end_key
            properties = self.gizmos[index].target_set_operator(OPERATOR)
            properties.bone, properties.turn, properties.end = end_key


def _bone_of(context: bpy.types.Context, settings: ChainGroup) -> str:
    """Return the bone whose limits are shown: the active bone, otherwise the active joint's.

    Empty without limits. The test for limits comes first: it is cheap, and most bones have none.
    """
    active, joints = context.active_pose_bone, settings.joints
    has_limit = active is not None and any(
        getattr(active, f"use_ik_limit_{axis}") for axis in "xyz"
    )
    if not settings.use_limits or not (has_limit or joints):
        return ""
    if active is not None:
        solved = solved_chain(context, settings)
        driven_bones = solved.plan.names if solved else bones_of_chain(settings)
        if active.name in driven_bones:
            return active.name
    index = settings.active_joint_index
    if not 0 <= index < len(joints):
        return ""
    return held_bone(bones_of_chain(settings), joints[index].bone, joints[index].relative_to)


def _ends_of(context: bpy.types.Context, settings: ChainGroup, bone: str) -> list[LimitEnd]:
    """Return the ends that can be dragged; empty if the limits cannot be read."""
    try:
        ends = find_ends(owner_of(settings), chain_or_spec_of(context, settings), bone)
    except IKError:
        return []
    return [end for end in ends if np.isfinite(end.point).all()]
