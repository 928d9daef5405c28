"""The key that opens the pie menu: added to Blender's keymap, and shown to be changed."""

from __future__ import annotations

from typing import Final

import bpy
import rna_keymap_ui

MENU: Final = "VIEW3D_MT_chain_ik_pie"
KEYMAP: Final = "3D View"
# Free in object and pose mode, in the keymap of Blender and in the industry compatible one.
KEY: Final = "J"


def register() -> None:
    """Add the key; without keymaps for add-ons there is none."""
    config = _keyconfigs().addon
    if config is not None:
        keymap = config.keymaps.new(KEYMAP, space_type="VIEW_3D")
        keymap.keymap_items.new("wm.call_menu_pie", KEY, "PRESS").properties.name = MENU


def unregister() -> None:
    """Remove the key."""
    config = _keyconfigs().addon
    keymap = None if config is None else config.keymaps.get(KEYMAP)
    if keymap is not None:
        for item in _pies(keymap):
            keymap.keymap_items.remove(item)


def draw(layout: bpy.types.UILayout) -> None:
    """Draw the key as the user has it."""
    config = _keyconfigs().user
    keymap = None if config is None else config.keymaps.get(KEYMAP)
    if keymap is not None:
        layout.context_pointer_set("keymap", keymap)
        for item in _pies(keymap):
            rna_keymap_ui.draw_kmi([], config, keymap, item, layout, 0)


def _keyconfigs() -> bpy.types.KeyConfigurations:
    manager = bpy.context.window_manager
    assert manager is not None
    return manager.keyconfigs


def _pies(keymap: bpy.types.KeyMap) -> list[bpy.types.KeyMapItem]:
    """Return the items of a keymap that open the pie menu."""
    pies = (each for each in keymap.keymap_items if each.idname == "wm.call_menu_pie")
    return [each for each in pies if each.properties.name == MENU]
