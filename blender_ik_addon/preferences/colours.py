"""All colours and widths that chains are drawn with."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import bpy

from ..properties.status import ChainState
from .addon import COLOURS, preferences

Colour = tuple[float, float, float]

# Indices of the theme's bone colour sets that are easy to tell apart, in order of use.
_GHOST_SETS = (3, 2, 8, 1, 6, 5, 0, 4, 12)


class StateLook(NamedTuple):
    """The icon of a chain's state in panels, and its colour in panels and in the viewport."""

    icon: Literal["CON_KINEMATIC", "CON_ROTLIMIT", "DRIVER_DISTANCE", "PAUSE", "ERROR"]
    colour: str
    """A key of the result of ``colours``."""


LOOKS = {
    ChainState.REACHED: StateLook("CON_KINEMATIC", "reached"),
    ChainState.HELD: StateLook("CON_ROTLIMIT", "held"),
    ChainState.MISSED: StateLook("DRIVER_DISTANCE", "missed"),
    ChainState.IDLE: StateLook("PAUSE", "idle"),
    ChainState.BROKEN: StateLook("ERROR", "idle"),
}


def colours(context: bpy.types.Context) -> dict[str, Colour]:
    """Return the colours of the theme or of the preferences, by what they show."""
    stored, theme = preferences(context), _theme(context)
    if not stored.use_theme_colours or theme is None:
        return {name.removesuffix("_colour"): _rgb(getattr(stored, name)) for name in COLOURS}
    interface, view = theme.user_interface, theme.view_3d
    of_theme = {
        "reached": interface.axis_y,
        "held": view.object_active,
        "missed": interface.axis_x,
        "idle": view.bone_solid,
        "limit": interface.gizmo_secondary,
        "pole": interface.axis_z,
        "reach": view.bone_solid,
    }
    return {name: _rgb(colour) for name, colour in of_theme.items()}


def ghost_colours(context: bpy.types.Context, count: int) -> list[Colour]:
    """Return ``count`` colours of the theme that are easy to tell apart; later ones repeat."""
    theme = _theme(context)
    if theme is None:
        return [(1.0, 1.0, 1.0)] * count
    sets = theme.bone_color_sets
    return [_rgb(sets[_GHOST_SETS[i % len(_GHOST_SETS)]].active) for i in range(count)]


def width_of(context: bpy.types.Context, name: str) -> float:
    """Return a width of the preferences times the interface scale, in pixels."""
    user, width = context.preferences, float(getattr(preferences(context), name))
    # The interface scale is zero in background mode.
    return width if user is None else width * (user.system.ui_scale or 1.0)


def _theme(context: bpy.types.Context) -> bpy.types.Theme | None:
    user = context.preferences
    return user.themes[0] if user is not None and user.themes else None


def _rgb(colour: Any) -> Colour:
    red, green, blue = colour[:3]
    return red, green, blue
