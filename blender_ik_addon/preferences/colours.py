"""The colours and widths of what is drawn of chains, chosen in this one place."""

from __future__ import annotations

from typing import Any, NamedTuple

import bpy

from .addon import preferences

Colour = tuple[float, float, float]

# Which of Blender's colour sets of bones are the usual red, orange, green, blue, violet and yellow.
_RED, _ORANGE, _GREEN, _BLUE, _VIOLET, _YELLOW = 0, 1, 2, 3, 5, 8
# Sets that are told apart from each other, in this order; the last ones of a theme are unused.
_OF_GHOSTS = (3, 2, 8, 1, 6, 5, 0, 4, 12)


class Colours(NamedTuple):
    """Of what is drawn, RGB.

    Attributes:
        chain: A chain that has not been solved, and lines from root to target.
        reached: A chain at its target.
        limited: One that limits, softness or stretch keep from it.
        out_of_reach: One whose target is too far or too near.
        reach: What a chain can reach, and its dead zone.
        pole: The line and plane of a pole.
        limit: The ranges of joints.
        text: Words.
    """

    chain: Colour
    reached: Colour
    limited: Colour
    out_of_reach: Colour
    reach: Colour
    pole: Colour
    limit: Colour
    text: Colour


class Widths(NamedTuple):
    """Of what is drawn, in pixels, with the scale of the interface.

    Attributes:
        lines: Of chains.
        ghosts: Of compared poses.
        joints: Across the dot of a joint.
    """

    lines: float
    ghosts: float
    joints: float


def colours(context: bpy.types.Context) -> Colours:
    """Return the colours to draw with: those of the theme, or a person's own."""
    own, theme = preferences(context), _theme(context)
    text = _rgb(theme.view_3d.space.text_hi) if theme is not None else (1.0, 1.0, 1.0)
    if own.use_theme_colours and theme is not None:
        sets = theme.bone_color_sets
        return Colours(
            chain=_rgb(theme.view_3d.bone_pose),
            reached=_rgb(sets[_GREEN].active),
            limited=_rgb(sets[_ORANGE].active),
            out_of_reach=_rgb(sets[_RED].active),
            reach=_rgb(sets[_BLUE].active),
            pole=_rgb(sets[_VIOLET].active),
            limit=_rgb(sets[_YELLOW].active),
            text=text,
        )
    return Colours(
        chain=_rgb(own.chain_colour),
        reached=_rgb(own.reached_colour),
        limited=_rgb(own.limited_colour),
        out_of_reach=_rgb(own.out_of_reach_colour),
        reach=_rgb(own.reach_colour),
        pole=_rgb(own.pole_colour),
        limit=_rgb(own.limit_colour),
        text=text,
    )


def ghost_colours(context: bpy.types.Context, count: int) -> list[Colour]:
    """Return so many colours that are told apart from each other, from the theme."""
    theme = _theme(context)
    if theme is None:
        return [(1.0, 1.0, 1.0)] * count
    sets = theme.bone_color_sets
    return [_rgb(sets[_OF_GHOSTS[i % len(_OF_GHOSTS)]].active) for i in range(count)]


def widths(context: bpy.types.Context) -> Widths:
    """Return how wide to draw."""
    own, user = preferences(context), context.preferences
    scale = 1.0 if user is None else user.system.ui_scale
    return Widths(own.line_width * scale, own.ghost_width * scale, own.joint_size * scale)


def _theme(context: bpy.types.Context) -> bpy.types.Theme | None:
    user = context.preferences
    return user.themes[0] if user is not None and user.themes else None


def _rgb(colour: Any) -> Colour:
    red, green, blue = tuple(colour)[:3]
    return (red, green, blue)
