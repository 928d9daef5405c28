"""Lengths in words, in the unit that a scene shows them in."""

from __future__ import annotations

from typing import NamedTuple

import bpy
import numpy as np

# Larger numbers are written with an exponent: infinite targets are stored as 3.4e38.
LONGEST = 1e6
# In metres: smaller gaps cannot be seen.
SHORTEST = 1e-6
DIGITS = 2
# How many characters fit into a column of the narrowest sidebar.
NARROW = 8
# The units that a scene can have, in metres, and what Blender writes behind numbers of them.
UNITS = {
    "KILOMETERS": (1e3, " km"),
    "METERS": (1.0, " m"),
    "CENTIMETERS": (1e-2, " cm"),
    "MILLIMETERS": (1e-3, " mm"),
    "MICROMETERS": (1e-6, " µm"),
    "MILES": (1609.344, " mi"),
    "FEET": (0.3048, "'"),
    "INCHES": (0.0254, '"'),
    "THOU": (2.54e-5, " thou"),
}
# The same by system, short ones first.
RISING = {
    "METRIC": ("MICROMETERS", "MILLIMETERS", "METERS", "KILOMETERS"),
    "IMPERIAL": ("THOU", "INCHES", "FEET", "MILES"),
}


class LengthUnit(NamedTuple):
    """How a scene shows lengths.

    Attributes:
        system: ``METRIC``, ``IMPERIAL``, or ``NONE`` for plain numbers of scene units.
        unit: One of ``UNITS``, or ``ADAPTIVE`` for the one that fits.
        metres: Length of one scene unit.
    """

    system: str = "METRIC"
    unit: str = "ADAPTIVE"
    metres: float = 1.0


def length_unit(scene: bpy.types.Scene | None) -> LengthUnit:
    """Return how a scene shows lengths; in metres without a scene."""
    if scene is None:
        return LengthUnit()
    settings = scene.unit_settings
    return LengthUnit(settings.system, settings.length_unit, settings.scale_length)


def is_visible(length: float, unit: LengthUnit) -> bool:
    """Tell whether a length in scene units is large enough to be seen."""
    return length * unit.metres >= SHORTEST


def length_in_words(length: float, unit: LengthUnit) -> str:
    """Return a length in scene units, to two digits, as Blender writes it."""
    metres = length * unit.metres if is_visible(length, unit) else 0.0
    if unit.system == "NONE":
        return _number(metres / unit.metres)
    if unit.unit in UNITS:
        size, ending = UNITS[unit.unit]
        return f"{_number(metres / size)}{ending}"
    if metres > LONGEST:
        return f"{_number(metres)} m"
    return bpy.utils.units.to_string(unit.system, "LENGTH", metres, precision=DIGITS)


def short_length(length: float, unit: LengthUnit) -> str:
    """Return a length in scene units, to two digits, for a narrow column.

    It is written as everywhere; if that is too wide, in the largest unit that is not longer.
    """
    words = length_in_words(length, unit)
    if len(words) <= NARROW:
        return words
    metres = length * unit.metres if is_visible(length, unit) else 0.0
    if unit.system == "NONE":
        return f"{metres / unit.metres:.2g}"
    rising = RISING[unit.system]
    sizes = [UNITS[name] for name in rising if UNITS[name][0] <= metres]
    # Zero is written in the usual unit.
    size, ending = sizes[-1] if sizes else UNITS[rising[-2]]
    return f"{_number(metres / size)}{ending}"


def _number(value: float) -> str:
    """Return a number to two digits, or whole."""
    if value > LONGEST:
        return f"{value:.2g}"
    if value >= 10.0:
        return f"{value:.0f}"
    return np.format_float_positional(value, precision=DIGITS, fractional=False, trim="-")
