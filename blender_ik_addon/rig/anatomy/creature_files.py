"""Creatures: what a chain of any number of bones resists and weighs, from root to tip.

A creature is read from a small JSON text, so that it can be passed on and edited by hand:

    {"creature": 1, "name": "Neck", "stiffness": [4, 0.5], "mass": 1, "gravity": 1,
     "comfort": {"x": [[-5, -20], [5, 20]], "y": [-3, 3]}, "joints": ["BALL"]}

A *curve* gives a value along the chain: one number is the same all along; a list of numbers is
spread evenly from root to tip with straight lines between, so two are root and tip; a list of
pairs [place, value] has places of its own, 0 the root and 1 the tip.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...core import Forces, IKError, JointKind
from ...core.algebra.arithmetic import Array
from ...core.kinematics.joint_limits import FREE

VERSION = 1
AXES = ("x", "y", "z")
KEYS = ("creature", "name", "stiffness", "mass", "gravity", "comfort", "joints")
LARGEST_CREATURE = 1_000_000
"""Most characters of the text of a creature, and most bytes of its file."""
# Creatures need five levels of brackets. What is nested deeper than this is not given to the JSON
# reader, which calls itself for each level.
DEEPEST = 20
# Blender stores numbers as float32; this is its greatest as people read it.
LARGEST_NUMBER = 3.4028235e38
_WHAT_TO_GIVE = "give a number, a list of numbers, or pairs [place, number]"
# A string, also one that never ends, or a bracket outside of strings.
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]+|\\.)*"?|[\[\]{}]', re.DOTALL)


class InvalidCreatureError(IKError):
    """The text of a creature file describes no creature."""


@dataclass(frozen=True)
class Curve:
    """A value along a chain.

    Attributes:
        places: From 0 at the root to 1 at the tip, growing, shape (k,).
        values: Shape (k,).
    """

    places: Array
    values: Array

    def at(self, places: Array) -> Array:
        """Return the values at some places; beyond the ends those of the ends."""
        return np.interp(places, self.places, self.values)

    def to_json(self) -> float | list[float] | list[list[float]]:
        """Return the curve as a file has it."""
        values: list[float] = self.values.tolist()
        if len(values) == 1:
            return values[0]
        if np.array_equal(self.places, np.linspace(0.0, 1.0, len(values))):
            return values
        return [list(pair) for pair in zip(self.places.tolist(), values, strict=True)]


@dataclass(frozen=True)
class Creature:
    """What the bones of a chain resist and weigh.

    Attributes:
        name: For lists.
        stiffness: Of the springs, as ``Forces`` counts it.
        mass: Of a chain's length of bone: a bone weighs its share of the length times this.
        gravity: How strongly it pulls.
        comfort: Least and greatest turns about X, Y and Z that cost nothing, degrees; three pairs.
        joints: What kinds of joints follow each other, again and again from root to tip; empty
            where the bones' own joints stay.
    """

    name: str
    stiffness: Curve
    mass: Curve
    gravity: float
    comfort: tuple[tuple[Curve, Curve], ...]
    joints: tuple[JointKind, ...] = ()

    def forces(self, bone_lengths: npt.ArrayLike) -> Forces:
        """Return the forces on a chain in the world, whose gravity pulls along -Z.

        Args:
            bone_lengths: Root first, in any unit, shape (n,).
        """
        lengths = np.asarray(bone_lengths, dtype=np.float64)
        shares = lengths / lengths.sum()
        middles = np.cumsum(shares) - 0.5 * shares
        low, high = (
            np.radians(np.stack([pair[end].at(middles) for pair in self.comfort], axis=-1))
            for end in (0, 1)
        )
        return Forces(
            stiffness=self.stiffness.at(middles),
            masses=self.mass.at(middles) * shares,
            gravity=self.gravity * np.array([0.0, 0.0, -1.0]),
            comfort_low=low,
            comfort_high=high,
        )

    def kinds(self, count: int) -> tuple[JointKind, ...] | None:
        """Return the kinds of joints of so many bones; None where the creature has none."""
        if not self.joints:
            return None
        return tuple(self.joints[bone % len(self.joints)] for bone in range(count))


def parse_creature(text: str) -> Creature:
    """Return the creature of a JSON text.

    Raises:
        InvalidCreatureError: With what to change in the text.
    """
    given = _read(text)
    if not isinstance(given, dict) or given.get("creature") != VERSION:
        raise InvalidCreatureError(
            f"This is not a creature file of version {VERSION}:"
            " use a file that Save Creature has written."
        )
    for key in given:
        if key not in KEYS:
            keys = ", ".join(KEYS[1:])
            raise InvalidCreatureError(
                f"The creature file has an unknown entry '{_show(key)}': use {keys}."
            )
    name = given.get("name", "Creature")
    if not isinstance(name, str) or not name.strip():
        raise InvalidCreatureError("The creature's name is not text: put it in quotes.")
    # JSON can write halves of characters, which nothing can store.
    if any(character == "\0" or "\ud800" <= character <= "\udfff" for character in name):
        raise InvalidCreatureError(
            f"The creature's name '{_show(name)}' has a character that Blender cannot store:"
            " write the name anew."
        )
    return Creature(
        name=name,
        stiffness=_read_curve(given.get("stiffness", 1.0), "stiffness"),
        mass=_read_curve(given.get("mass", 0.0), "mass"),
        gravity=_read_number(given.get("gravity", 1.0), "gravity"),
        comfort=_read_comfort(given.get("comfort", {})),
        joints=_read_joints(given.get("joints", [])),
    )


def write_creature(creature: Creature) -> str:
    """Return the JSON text of a creature; ``parse_creature`` reads it back the same."""
    comfort = {
        axis: [low.to_json(), high.to_json()]
        for axis, (low, high) in zip(AXES, creature.comfort, strict=True)
    }
    joints = [kind.name for kind in creature.joints]
    curves = creature.stiffness.to_json(), creature.mass.to_json()
    values = (VERSION, creature.name, *curves, creature.gravity, comfort, joints)
    pairs = zip(KEYS, values, strict=True)
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in pairs]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _read(text: str) -> Any:
    """Return what a JSON text holds, with all numbers as floats."""
    if len(text) > LARGEST_CREATURE:
        raise InvalidCreatureError(
            f"The creature's text is longer than {LARGEST_CREATURE} characters: choose another."
        )
    depth = 0
    for token in _STRING_OR_BRACKET.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
        if depth > DEEPEST:
            raise InvalidCreatureError(
                "The creature's text has too many brackets inside each other: remove some of them."
            )
    try:
        # Python refuses to read whole numbers of very many digits as such.
        return json.loads(text, parse_int=float)
    except json.JSONDecodeError as error:
        raise InvalidCreatureError(
            f"Line {error.lineno} of the creature file is not JSON ({error.msg}): correct it there."
        ) from None


def _show(text: str) -> str:
    """Return the beginning of a text from a file as messages can hold it."""
    escaped = json.dumps(text[:40], ensure_ascii=False)[1:-1]
    return escaped.encode("utf-8", "backslashreplace").decode("utf-8")


def _read_comfort(given: Any) -> tuple[tuple[Curve, Curve], ...]:
    if not isinstance(given, Mapping) or not set(given) <= set(AXES):
        raise InvalidCreatureError(
            "The creature's comfort does not name the axes x, y and z: write it as"
            ' {"x": [least, greatest], "y": ..., "z": ...} in degrees.'
        )
    found = []
    for axis in AXES:
        pair, name = given.get(axis, [0.0, 0.0]), f"comfort about {axis}"
        if not isinstance(pair, list) or len(pair) != 2:
            raise InvalidCreatureError(
                f"The creature's {name} is not a range: write [least, greatest]."
            )
        low, high = (_read_curve(end, name, -180.0, 180.0) for end in pair)
        places = np.union1d(low.places, high.places)
        if (low.at(places) > high.at(places)).any():
            raise InvalidCreatureError(
                f"The creature's {name} ends before it begins: swap its two ends."
            )
        found.append((low, high))
    return tuple(found)


def _read_joints(given: Any) -> tuple[JointKind, ...]:
    names = [kind.name for kind in FREE]
    if not isinstance(given, list) or any(name not in names for name in given):
        raise InvalidCreatureError(
            f"The creature's joints are not a list of kinds: choose from {', '.join(names)}."
        )
    return tuple(JointKind[name] for name in given)


def _read_curve(given: Any, name: str, least: float = 0.0, most: float = math.inf) -> Curve:
    rows = given if isinstance(given, list) else [given]
    if not rows:
        raise InvalidCreatureError(f"The creature's {name} is an empty list: put numbers in it.")
    if all(isinstance(row, list) and len(row) == 2 for row in rows):
        places, values = np.array([[_read_number(end, name) for end in row] for row in rows]).T
    else:
        values = np.array([_read_number(row, name) for row in rows])
        places = np.linspace(0.0, 1.0, len(values))
    if (np.diff(places) <= 0.0).any() or places[0] < 0.0 or places[-1] > 1.0:
        raise InvalidCreatureError(
            f"The creature's {name} has places that do not grow from 0 to 1:"
            f" {_WHAT_TO_GIVE} in order."
        )
    if (values < least).any() or (values > most).any():
        bounds = f"{least:g} or more" if most == math.inf else f"between {least:g} and {most:g}"
        raise InvalidCreatureError(f"The creature's {name} is out of bounds: set it to {bounds}.")
    return Curve(places, values)


def _read_number(given: Any, name: str) -> float:
    if not isinstance(given, float) or math.isnan(given):
        raise InvalidCreatureError(
            f"The creature's {name} is {json.dumps(given)[:40]}, not a number: {_WHAT_TO_GIVE}."
        )
    if abs(given) > LARGEST_NUMBER:
        raise InvalidCreatureError(
            f"The creature's {name} is greater than Blender can store: give a smaller number."
        )
    return given
