"""The key of the pie menu, in Blender's keymap and in the preferences."""

from __future__ import annotations

from typing import Final

import bpy
import rna_keymap_ui

MENU: Final = "VIEW3D_MT_chain_ik_pie"
KEYMAP: Final = "3D View"
# Not in use in object and pose mode, in Blender's keymap and in the Industry Compatible one.
KEY: Final = "J"


def register() -> None:
    """Add the key, if Blender has a keymap for add-ons."""
    config = _keyconfigs().addon
    if config is not None:
        keymap = config.keymaps.new(KEYMAP, space_type="VIEW_3D")
        keymap.keymap_items.new("wm.call_menu_pie", KEY, "PRESS").properties.name = MENU


def unregister() -> None:
    """Remove the key."""
    config = _keyconfigs().addon
    keymap = None if config is None else config.keymaps.get(KEYMAP)
    if keymap is not None:
        for item in _pie_items(keymap):
            keymap.keymap_items.remove(item)


def draw(layout: bpy.types.UILayout) -> None:
    """Draw the key from the user's keymap, where it can be changed."""
    config = _keyconfigs().user
    keymap = None if config is None else config.keymaps.get(KEYMAP)
    if keymap is not None:
        layout.context_pointer_set("keymap", keymap)
        for item in _pie_items(keymap):
            rna_keymap_ui.draw_kmi([], config, keymap, item, layout, 0)


def _keyconfigs() -> bpy.types.KeyConfigurations:
    manager = bpy.context.window_manager
    assert manager is not None
    return manager.keyconfigs


def _pie_items(keymap: bpy.types.KeyMap) -> list[bpy.types.KeyMapItem]:
    """Return the items of a keymap that open the pie menu."""
    pies = (item for item in keymap.keymap_items if item.idname == "wm.call_menu_pie")
    return [item for item in pies if item.properties.name == MENU]
