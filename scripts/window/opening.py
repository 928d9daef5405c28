"""How sessions in the window begin: the zip is installed, the scene emptied, a character added."""

from __future__ import annotations

from pathlib import Path

import bpy
from mathutils import Vector

from window.driver import REDRAW, Session, Viewport, check

MODULE, TAB = "bl_ext.user_default.chain_ik", "Chain IK"
RIG = "metarig"

# A point of the scene, its distance, and Euler angles in radians.
View = tuple[Vector, float, tuple[float, float, float]]


def install(viewport: Viewport, zip_path: Path, ui_scale: float = 1.0) -> Session:
    """Install the zip and switch it on, as Preferences > Get Extensions > From Disk does."""
    view = bpy.context.preferences.view
    # A tooltip opens by and by over what a picture is to show.
    view.ui_scale, view.show_tooltips = ui_scale, False
    yield from viewport.fill_window()
    bpy.ops.extensions.package_install_files(
        repo="user_default", filepath=str(zip_path), enable_on_install=True
    )
    enabled = bpy.context.preferences.addons
    check(MODULE in enabled, f"{zip_path.name} was installed but is not enabled.")
    yield REDRAW


def be_quick(viewport: Viewport) -> None:
    """Leave out what takes a processor long to draw."""
    bpy.context.preferences.system.viewport_aa = "OFF"
    bpy.context.preferences.system.use_overlay_smooth_wire = False
    viewport.area.spaces.active.overlay.show_floor = False


def clear_scene() -> None:
    """Remove all objects of the startup scene."""
    for ob in list(bpy.data.objects):
        bpy.data.objects.remove(ob)


def add_metarig(viewport: Viewport, view: View) -> Session:
    """Replace the startup scene by Rigify's human metarig, and look at it."""
    bpy.ops.preferences.addon_enable(module="rigify")
    clear_scene()
    with viewport.context():
        bpy.ops.object.armature_human_metarig_add()
    viewport.look(*view)
    yield REDRAW
    check(RIG in bpy.data.objects, "Rigify added no metarig.")


def show_tab(viewport: Viewport, wider: int = 50) -> Session:
    """Open the tab of the extension in the sidebar, and make that some pixels wider."""
    yield from viewport.show_tab(TAB)
    yield from viewport.widen_sidebar(wider)
