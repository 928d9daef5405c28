"""Lengths in words, in the unit of a scene."""

from __future__ import annotations

from typing import NamedTuple

import bpy
import numpy as np

# Larger numbers are written with an exponent: infinite targets are stored as 3.4e38.
MAX_DECIMAL = 1e6
# Metres; smaller gaps cannot be seen.
MIN_VISIBLE = 1e-6
DIGITS = 2
# Characters that fit into a column of the narrowest sidebar.
MAX_CHARACTERS = 8
# The units of scenes: length in metres, and the suffix that Blender writes.
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
# The same by system, in ascending order.
ASCENDING_UNITS = {
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
    """Return how a scene shows lengths; the defaults, in metres, without a scene."""
    if scene is None:
        return LengthUnit()
    settings = scene.unit_settings
    return LengthUnit(settings.system, settings.length_unit, settings.scale_length)


def is_visible(length: float, unit: LengthUnit) -> bool:
    """Return whether a length in scene units is large enough to be seen."""
    return length * unit.metres >= MIN_VISIBLE


def length_in_words(length: float, unit: LengthUnit) -> str:
    """Return a length in scene units as Blender writes it, to two digits."""
    metres = length * unit.metres if is_visible(length, unit) else 0.0
    if unit.system == "NONE":
        return _number(metres / unit.metres)
    if unit.unit in UNITS:
        size, suffix = UNITS[unit.unit]
        return f"{_number(metres / size)}{suffix}"
    if metres > MAX_DECIMAL:
        return f"{_number(metres)} m"
    return bpy.utils.units.to_string(unit.system, "LENGTH", metres, precision=DIGITS)


def short_length(length: float, unit: LengthUnit) -> str:
    """Return a length in scene units for a narrow column, to two digits.

    The text is ``length_in_words`` if it fits, otherwise in the largest unit below the length.
    """
    text = length_in_words(length, unit)
    if len(text) <= MAX_CHARACTERS:
        return text
    metres = length * unit.metres if is_visible(length, unit) else 0.0
    if unit.system == "NONE":
        return f"{metres / unit.metres:.2g}"
    names = ASCENDING_UNITS[unit.system]
    sizes = [UNITS[name] for name in names if UNITS[name][0] <= metres]
    # Zero is written in the usual unit, the second largest.
    size, suffix = sizes[-1] if sizes else UNITS[names[-2]]
    return f"{_number(metres / size)}{suffix}"


def _number(value: float) -> str:
    """Return a number to two digits, or as a whole number."""
    if value > MAX_DECIMAL:
        return f"{value:.2g}"
    if value >= 10.0:
        return f"{value:.0f}"
    return np.format_float_positional(value, precision=DIGITS, fractional=False, trim="-")
