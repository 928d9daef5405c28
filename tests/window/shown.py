"""Panels, menus and operators of the extension, found in Blender, so that new ones open too."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path

import bpy

from common.blender_process import list_types
from window.driver import MOMENT, REDRAW, Session, Viewport
from window.tour import MODULE, TAB

# Mouse position when something is opened: there is enough space around it.
POPUP = (300, 350)
# Number of pages by which the sidebar is scrolled to reach its top.
PAGES = 6


def is_ours(member: object) -> bool:
    """Return whether a class or function comes from the extension."""
    return str(getattr(member, "__module__", "")).startswith(MODULE)


def added_to(kind: type) -> list[type]:
    """Return Blender's menus or panels to which the extension adds entries."""
    return [
        cls
        for name in dir(bpy.types)
        if isinstance(cls := getattr(bpy.types, name), type)
        and issubclass(cls, kind)
        and any(
            is_ours(function) for function in getattr(getattr(cls, "draw", None), "_draw_funcs", ())
        )
    ]


def name_of(cls: type) -> str:
    return getattr(cls, "bl_idname", "") or cls.__name__


def operators() -> list[str]:
    """Return the names of the operators that users can adjust after a run."""
    return sorted(
        cls.bl_idname
        for cls in list_types(bpy.types.Operator, MODULE)
        if {"REGISTER", "UNDO"} <= set(getattr(cls, "bl_options", ()))
    )


def show_unfolded(viewport: Viewport, name: Path, solvers: Iterable[str], pages: int) -> Session:
    """Show the tab with every solver, and take pictures of at most ``pages`` pages from its top."""
    region = viewport.region("UI")
    region.active_panel_category = TAB
    for solver in solvers:
        yield from viewport.scroll("UI", is_up=True, pages=PAGES)
        for page in range(pages):
            viewport.take_picture(name.with_name(f"{name.name}_{solver}_{page}.png"))
            before = region.view2d.region_to_view(0, 0)
            if page < pages - 1:
                yield from viewport.scroll("UI")
            if region.view2d.region_to_view(0, 0) == before:
                break


def open_menus(viewport: Viewport, name: Path) -> Session:
    """Open every menu of the extension, and Blender's menus with entries of the extension."""
    for cls in [*list_types(bpy.types.Menu, MODULE), *added_to(bpy.types.Menu)]:
        menu = name_of(cls)
        call = bpy.ops.wm.call_menu_pie if "pie" in menu.lower() else bpy.ops.wm.call_menu
        yield from viewport.pop_up(POPUP, partial(call, "INVOKE_DEFAULT", name=menu))
        yield from close_up(viewport, name.with_name(f"{name.name}_{menu}.png"))


def close_up(viewport: Viewport, picture: Path) -> Session:
    """Take a picture of an opened popover or menu, and close it."""
    yield REDRAW
    viewport.take_picture(picture)
    viewport.press("ESC")
    # Popups that Esc does not close are closed when the mouse leaves them.
    yield from viewport.drag([(POPUP[0] + 400, POPUP[1]), (20, 20)], button="")
    viewport.press("ESC")
    yield MOMENT
