"""Everything of the extension that Blender can show: its own panels and menus, and where it adds to
Blender's. Found, not listed: what comes later is opened as well."""

from __future__ import annotations

import bpy

from window.opening import MODULE


def is_ours(found: object) -> bool:
    """Tell whether a class or function comes from the extension."""
    return str(getattr(found, "__module__", "")).startswith(MODULE)


def registered(kind: type) -> list[type]:
    """Return the extension's registered classes of a kind, in the order of their definition."""
    found, below = [], [kind]
    while below:
        each = below.pop(0)
        below += each.__subclasses__()
        if is_ours(each) and "bl_rna" in vars(each):
            found.append(each)
    return found


def added_to(kind: type) -> list[type]:
    """Return Blender's menus or panels that the extension adds something to."""
    return [
        each
        for name in dir(bpy.types)
        if isinstance(each := getattr(bpy.types, name), type)
        and issubclass(each, kind)
        and any(
            is_ours(function)
            for function in getattr(getattr(each, "draw", None), "_draw_funcs", ())
        )
    ]


def name_of(cls: type) -> str:
    """Return the name that Blender opens a panel or menu by."""
    return getattr(cls, "bl_idname", "") or cls.__name__


def is_pie(cls: type) -> bool:
    """Tell whether a menu is to be opened around the mouse."""
    return "pie" in name_of(cls).lower()


def operators() -> list[str]:
    """Return the names of the operators that can be adjusted after they were run."""
    return sorted(
        cls.bl_idname
        for cls in registered(bpy.types.Operator)
        if {"REGISTER", "UNDO"} <= set(getattr(cls, "bl_options", ()))
    )


def unfold() -> None:
    """Register the panels of editors anew, none of them closed: no click is known to open all."""
    panels = [cls for cls in registered(bpy.types.Panel) if cls.bl_region_type in {"UI", "WINDOW"}]
    for cls in reversed(panels):
        bpy.utils.unregister_class(cls)
    for cls in panels:
        if "DEFAULT_CLOSED" in getattr(cls, "bl_options", ()):
            cls.bl_options = set(cls.bl_options) - {"DEFAULT_CLOSED"}
    parents_first = sorted(panels, key=lambda cls: depth(cls, panels))
    for cls in parents_first:
        bpy.utils.register_class(cls)


def depth(cls: type, panels: list[type]) -> int:
    """Return how many panels a panel is inside of."""
    above = [each for each in panels if name_of(each) == getattr(cls, "bl_parent_id", "")]
    return 1 + depth(above[0], panels) if above else 0
