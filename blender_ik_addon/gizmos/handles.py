"""A small handle beside the end of each chain except the active one; a click activates it."""

from __future__ import annotations

from typing import Any

import bpy
from bpy_extras.view3d_utils import location_3d_to_region_2d
from mathutils import Matrix, Vector

from ..properties.chains import chains_of
from .gizmo_base import ChainGizmos, paint, rig_of, theme

# Sizes in pixels at an interface scale of one. The offset keeps a handle beside the end of its
# chain, so that a click on the bone or the target there still selects it.
OFFSET = Vector((16.0, 16.0))
RADIUS, GRAB_RADIUS = 5.0, 8.0
DIAMOND = ((0.0, 1.0), (1.0, 0.0), (-1.0, 0.0), (-1.0, 0.0), (1.0, 0.0), (0.0, -1.0))
ACTIVATE_OPERATOR = "pose.chain_ik_activate"


class VIEW3D_GT_chain_ik_handles(bpy.types.Gizmo):
    """The handles of all chains but the active one; a handle's part is its chain's index."""

    bl_idname = "VIEW3D_GT_chain_ik_handles"

    __slots__ = ("_part", "_shape", "_size", "_spots")

    def setup(self) -> None:
        self._shape: Any = None
        self._spots: dict[int, Vector] = {}
        self._part, self._size = -1, 1.0

    def show(self, spots: dict[int, Vector], size: float) -> None:
        """Show handles at places in the region, pixels, by index of the chain.

        The size is the interface scale.
        """
        for part in spots:
            if part not in self._spots:
                self.target_set_operator(ACTIVATE_OPERATOR, index=part).index = part
        self._spots, self._size = spots, size

    def draw(self, _context: bpy.types.Context) -> None:
        # Not in ``setup``, which also runs without a window: shapes need one.
        self._shape = self._shape or self.new_custom_shape("TRIS", DIAMOND)
        alpha = self.alpha
        for part, spot in self._spots.items():
            self.alpha_highlight = 1.0 if part == self._part else alpha
            place = Matrix.Translation((spot.x, spot.y, 0.0)) @ Matrix.Scale(RADIUS * self._size, 4)
            self.draw_custom_shape(self._shape, matrix=place)

    def test_select(self, context: bpy.types.Context, location: tuple[int, int]) -> int:
        mouse = Vector(location)
        distances = {part: (spot - mouse).length for part, spot in self._spots.items()}
        nearest = min(distances, key=distances.__getitem__, default=-1)
        is_hit = nearest >= 0 and distances[nearest] <= GRAB_RADIUS * self._size
        self._part = nearest if is_hit else -1
        return self._part


class VIEW3D_GGT_chain_ik_handles(ChainGizmos):
    """The handles of the chains."""

    bl_label = "Chain IK Handles"
    bl_options = {"PERSISTENT", "SCALE"}

    def setup(self, _context: bpy.types.Context) -> None:
        self._handles = self.gizmos.new(VIEW3D_GT_chain_ik_handles.bl_idname)

    def draw_prepare(self, context: bpy.types.Context) -> None:
        size = context.preferences.system.ui_scale
        self._handles.show(_find_spots(context, size), size)
        paint(self._handles, theme(context).gizmo_view_align, alpha=0.5)


def _find_spots(context: bpy.types.Context, size: float) -> dict[int, Vector]:
    """Return the places of handles in the region, pixels, by index of the chain."""
    owner, region, view = rig_of(context), context.region, context.region_data
    if owner is None or region is None or view is None:
        return {}
    spots = {}
    for index, settings in enumerate(chains_of(owner)):
        bone = owner.pose.bones.get(settings.bone)
        if bone is None or index == owner.chain_ik.active_index:
            continue
        end = bone.tail if settings.use_tail else bone.head
        pixel = location_3d_to_region_2d(region, view, owner.matrix_world @ end)
        if pixel is not None:
            spots[index] = pixel + OFFSET * size
    return spots
