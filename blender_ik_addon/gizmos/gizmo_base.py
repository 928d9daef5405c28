"""The base of all gizmos of chains, and the armature, chain and colours that they show."""

from __future__ import annotations

import bpy
from mathutils import Color

from ..properties.chains import ChainGroup, active_chain, chain_key, is_idle
from ..properties.records import chain_spec
from ..rig.live import live
from ..rig.planning.live_chain import Known, LiveChain
from ..rig.reading.refusals import library_problem
from ..rig.reading.update import shown_graph


class ChainGizmos(bpy.types.GizmoGroup):
    """The base of all gizmo groups; a group keeps no references to Blender's data."""

    bl_space_type = "VIEW_3D"
    bl_region_type = "WINDOW"
    bl_options = {"3D", "PERSISTENT", "SHOW_MODAL_ALL"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return rig_of(context) is not None

    def new_gizmo(self, kind: str) -> bpy.types.Gizmo:
        """Return a new gizmo that stays visible during a drag."""
        gizmo = self.gizmos.new(kind)
        gizmo.use_draw_modal = True
        return gizmo


def rig_of(context: bpy.types.Context) -> bpy.types.Object | None:
    """Return the armature object whose gizmos are shown; None while there are no gizmos."""
    space, owner = context.space_data, context.active_object
    if not isinstance(space, bpy.types.SpaceView3D) or owner is None or owner.type != "ARMATURE":
        return None
    if not (space.show_gizmo and space.show_gizmo_context):
        return None
    # In object mode the active object stays active when something else, or nothing, is selected.
    is_chosen = owner.mode == "POSE" or (owner.mode == "OBJECT" and owner.select_get())
    is_posed = is_chosen and owner.data.pose_position == "POSE"
    is_shown = is_posed and not library_problem(owner) and owner.visible_get(viewport=space)
    return owner if is_shown and len(owner.chain_ik.chains) > 0 else None


def chain_of(context: bpy.types.Context) -> ChainGroup | None:
    """Return the active chain; None while no gizmos are shown, or it leaves its bones alone."""
    settings = None if rig_of(context) is None else active_chain(context)
    return None if settings is None or is_idle(settings) else settings


def solved_chain(context: bpy.types.Context, settings: ChainGroup) -> LiveChain | None:
    """Return a chain as live solving has compiled it; None while it is not solved live.

    It is up to date, and saves reading the bones at every redraw.
    """
    scene, view_layer = context.scene, context.view_layer
    if scene is None or view_layer is None or not scene.chain_ik.use_live:
        return None
    return live.memory.live_chain(shown_graph(scene, view_layer), chain_key(settings))


def chain_or_spec_of(context: bpy.types.Context, settings: ChainGroup) -> Known:
    """Return a chain as live solving has compiled it, otherwise its settings.

    Raises:
        IKError: If the settings are invalid.
    """
    return solved_chain(context, settings) or chain_spec(settings, with_stored=False)


def theme(context: bpy.types.Context) -> bpy.types.ThemeUserInterface:
    """Return the colours of Blender's gizmos."""
    return context.preferences.themes[0].user_interface


def paint(gizmo: bpy.types.Gizmo, colour: Color, alpha: float = 0.8) -> None:
    """Set the colour of a gizmo, which is opaque under the mouse."""
    gizmo.color = gizmo.color_highlight = (colour.r, colour.g, colour.b)
    gizmo.alpha, gizmo.alpha_highlight = alpha, 1.0
