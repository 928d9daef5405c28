"""The colours and widths that chains are drawn with, chosen in this one place."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import bpy

from ..properties.status import ChainState
from .addon import COLOURS, preferences

Colour = tuple[float, float, float]

# Indices of the theme's bone colour sets that are easy to tell apart, in order of use.
_OF_GHOSTS = (3, 2, 8, 1, 6, 5, 0, 4, 12)


class Look(NamedTuple):
    """What a state of a chain looks like: in panels, and there and in the viewport."""

    icon: Literal["CON_KINEMATIC", "CON_ROTLIMIT", "DRIVER_DISTANCE", "PAUSE", "ERROR"]
    colour: str
    """As ``colours`` names it."""


LOOKS = {
    ChainState.REACHED: Look("CON_KINEMATIC", "reached"),
    ChainState.HELD: Look("CON_ROTLIMIT", "held"),
    ChainState.MISSED: Look("DRIVER_DISTANCE", "missed"),
    ChainState.IDLE: Look("PAUSE", "idle"),
    ChainState.BROKEN: Look("ERROR", "idle"),
}


def colours(context: bpy.types.Context) -> dict[str, Colour]:
    """Return the colours of the theme or the user's own, by what they show."""
    own, theme = preferences(context), _theme(context)
    if not own.use_theme_colours or theme is None:
        return {name.removesuffix("_colour"): _rgb(getattr(own, name)) for name in COLOURS}
    interface, view = theme.user_interface, theme.view_3d
    found = {
        "reached": interface.axis_y,
        "held": view.object_active,
        "missed": interface.axis_x,
        "idle": view.bone_solid,
        "limit": interface.gizmo_secondary,
        "pole": interface.axis_z,
        "reach": view.bone_solid,
    }
    return {name: _rgb(colour) for name, colour in found.items()}


def ghost_colours(context: bpy.types.Context, count: int) -> list[Colour]:
    """Return as many colours of the theme as asked for, easy to tell apart."""
    theme = _theme(context)
    if theme is None:
        return [(1.0, 1.0, 1.0)] * count
    sets = theme.bone_color_sets
    return [_rgb(sets[_OF_GHOSTS[i % len(_OF_GHOSTS)]].active) for i in range(count)]


def width_of(context: bpy.types.Context, name: str) -> float:
    """Return a width of the preferences in pixels, with the interface scale."""
    user, width = context.preferences, float(getattr(preferences(context), name))
    # Zero in background mode.
    return width if user is None else width * (user.system.ui_scale or 1.0)


def _theme(context: bpy.types.Context) -> bpy.types.Theme | None:
    user = context.preferences
    return user.themes[0] if user is not None and user.themes else None


def _rgb(colour: Any) -> Colour:
    red, green, blue = colour[:3]
    return red, green, blue
