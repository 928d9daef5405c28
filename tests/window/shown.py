"""All that Blender shows of the extension: found, not listed, so that what is new opens, too."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path

import bpy

from common.blender_process import registered
from window.driver import MOMENT, REDRAW, Session, Viewport
from window.tour import MODULE, TAB

# Where the mouse is when something is opened: there is room around it.
POPUP = (300, 350)
# The most times that the sidebar is scrolled.
PAGES = 6


def is_ours(found: object) -> bool:
    """Tell whether a class or function comes from the extension."""
    return str(getattr(found, "__module__", "")).startswith(MODULE)


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
    return getattr(cls, "bl_idname", "") or cls.__name__


def operators() -> list[str]:
    """Return the names of the operators that can be adjusted after they were run."""
    return sorted(
        cls.bl_idname
        for cls in registered(bpy.types.Operator, MODULE)
        if {"REGISTER", "UNDO"} <= set(getattr(cls, "bl_options", ()))
    )


def show_unfolded(viewport: Viewport, name: Path, solvers: Iterable[str], most: int) -> Session:
    """Show the tab with each solver, and take so many pages of it, from its top to its bottom."""
    region = viewport.region("UI")
    region.active_panel_category = TAB
    for solver in solvers:
        yield from viewport.scroll("UI", is_up=True, pages=PAGES)
        for page in range(most):
            viewport.take_picture(name.with_name(f"{name.name}_{solver}_{page}.png"))
            before = region.view2d.region_to_view(0, 0)
            if page < most - 1:
                yield from viewport.scroll("UI")
            if region.view2d.region_to_view(0, 0) == before:
                break


def open_menus(viewport: Viewport, name: Path) -> Session:
    """Open each menu, and each of Blender's with entries of the extension."""
    for cls in [*registered(bpy.types.Menu, MODULE), *added_to(bpy.types.Menu)]:
        menu = name_of(cls)
        call = bpy.ops.wm.call_menu_pie if "pie" in menu.lower() else bpy.ops.wm.call_menu
        yield from viewport.pop_up(POPUP, partial(call, "INVOKE_DEFAULT", name=menu))
        yield from close_up(viewport, name.with_name(f"{name.name}_{menu}.png"))


def close_up(viewport: Viewport, picture: Path) -> Session:
    """Take the picture of what has been opened, and close it."""
    yield REDRAW
    viewport.take_picture(picture)
    viewport.press("ESC")
    # What is not closed by that closes when the mouse leaves it.
    yield from viewport.drag([(POPUP[0] + 400, POPUP[1]), (20, 20)], button="")
    viewport.press("ESC")
    yield MOMENT
