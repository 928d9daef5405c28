"""Creatures: resistance and weight of a chain with any number of bones, from root to tip.

A creature is read from a small JSON text, so that it can be passed on and edited by hand:

    {"creature": 1, "name": "Neck", "stiffness": [4, 0.5], "mass": 1, "gravity": 1,
     "comfort": {"x": [[-5, -20], [5, 20]], "y": [-3, 3]}, "joints": ["BALL"]}

A *curve* gives a value along the chain. One number is the same all along. A list of numbers is
evenly spaced from root to tip with linear interpolation, so two are root and tip. A list of
pairs [place, value] has its own places, 0 for the root and 1 for the tip.
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
from ...core.model.message import Message

VERSION = 1
AXES = ("x", "y", "z")
KEYS = ("creature", "name", "stiffness", "mass", "gravity", "comfort", "joints")
LARGEST_CREATURE = 1_000_000
"""Maximum number of characters in the text of a creature, and of bytes in its file."""
# Maximum depth of brackets; creatures need five levels. Deeper text is not passed to the JSON
# parser, which is recursive.
MAX_DEPTH = 20
# The greatest float32, in which Blender stores numbers, as it is written for people.
LARGEST_NUMBER = 3.4028235e38
_WHAT_TO_GIVE = Message("give a number, a list of numbers, or pairs [place, number]")
# A string, even if it never ends, or a bracket outside of strings.
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]+|\\.)*"?|[\[\]{}]', re.DOTALL)


class InvalidCreatureError(IKError):
    """The text of a creature file is no valid creature."""


@dataclass(frozen=True)
class Curve:
    """A value along a chain.

    Attributes:
        places: Increasing places from 0 at the root to 1 at the tip, shape (k,).
        values: Values at the places, shape (k,).
    """

    places: Array
    values: Array

    def at(self, places: Array) -> Array:
        """Return the values at places; beyond the ends those of the ends."""
        return np.interp(places, self.places, self.values)

    def to_json(self) -> float | list[float] | list[list[float]]:
        """Return the curve in the form of a file."""
        values: list[float] = self.values.tolist()
        if len(values) == 1:
            return values[0]
        if np.array_equal(self.places, np.linspace(0.0, 1.0, len(values))):
            return values
        return [list(pair) for pair in zip(self.places.tolist(), values, strict=True)]


@dataclass(frozen=True)
class Creature:
    """Resistance and weight of the bones of a chain.

    Attributes:
        name: Name in lists.
        stiffness: Stiffness of the springs, as in ``Forces``.
        mass: Mass per length of a chain: a bone weighs its share of the length times this.
        gravity: Strength of gravity.
        comfort: Minimum and maximum angle about X, Y and Z without a cost, degrees; three pairs.
        joints: Kinds of joints, repeated from root to tip; empty to keep the bones' own joints.
    """

    name: str
    stiffness: Curve
    mass: Curve
    gravity: float
    comfort: tuple[tuple[Curve, Curve], ...]
    joints: tuple[JointKind, ...] = ()

    def forces(self, bone_lengths: npt.ArrayLike) -> Forces:
        """Return the forces on a chain in world space, where gravity pulls along -Z.

        The lengths of its bones are in any unit, root first, shape (n,).
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
        """Return the kinds of joints of a number of bones; None if the creature has none."""
        if not self.joints:
            return None
        return tuple(self.joints[bone % len(self.joints)] for bone in range(count))


def parse_creature(text: str) -> Creature:
    """Return the creature of a JSON text.

    Raises:
        InvalidCreatureError: The message says what to change in the text.
    """
    data = _load(text)
    if not isinstance(data, dict) or data.get("creature") != VERSION:
        raise InvalidCreatureError(
            "This is not a creature file of version {version}: use a file that Save Creature has"
            " written.",
            version=VERSION,
        )
    for key in data:
        if key not in KEYS:
            keys = ", ".join(KEYS[1:])
            raise InvalidCreatureError(
                "The creature file has an unknown entry '{key}': use {keys}.",
                key=_excerpt(key),
                keys=keys,
            )
    name = data.get("name", "Creature")
    if not isinstance(name, str) or not name.strip():
        raise InvalidCreatureError("The creature's name is not text: put it in quotes.")
    # JSON can contain lone surrogates, which cannot be stored.
    if any(character == "\0" or "\ud800" <= character <= "\udfff" for character in name):
        raise InvalidCreatureError(
            "The creature's name '{name}' has a character that Blender cannot store: change the"
            " name.",
            name=_excerpt(name),
        )
    return Creature(
        name=name,
        stiffness=_read_curve(data.get("stiffness", 1.0), "stiffness"),
        mass=_read_curve(data.get("mass", 0.0), "mass"),
        gravity=_read_number(data.get("gravity", 1.0), "gravity"),
        comfort=_read_comfort(data.get("comfort", {})),
        joints=_read_joints(data.get("joints", [])),
    )


def write_creature(creature: Creature) -> str:
    """Return the JSON text of a creature; ``parse_creature`` reads the same one."""
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


def _load(text: str) -> Any:
    """Return the content of a JSON text, with all numbers as floats."""
    if len(text) > LARGEST_CREATURE:
        raise InvalidCreatureError(
            "The creature file is longer than {largest_creature} characters: choose another file.",
            largest_creature=LARGEST_CREATURE,
        )
    depth = 0
    for token in _STRING_OR_BRACKET.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
        if depth > MAX_DEPTH:
            raise InvalidCreatureError(
                "The creature file has too many nested brackets: remove some of them."
            )
    try:
        # Python refuses to parse whole numbers with very many digits as integers.
        return json.loads(text, parse_int=float)
    except json.JSONDecodeError as error:
        raise InvalidCreatureError(
            "Line {lineno} of the creature file is not JSON ({msg}): correct this line.",
            lineno=error.lineno,
            msg=error.msg,
        ) from None


def _excerpt(text: str) -> str:
    """Return the beginning of a text from a file, escaped for messages."""
    escaped = json.dumps(text[:40], ensure_ascii=False)[1:-1]
    return escaped.encode("utf-8", "backslashreplace").decode("utf-8")


def _read_comfort(data: Any) -> tuple[tuple[Curve, Curve], ...]:
    if not isinstance(data, Mapping) or not set(data) <= set(AXES):
        raise InvalidCreatureError(
            "The creature's comfort must name only the axes x, y and z: write it as"
            ' {"x": [minimum, maximum], "y": ..., "z": ...} in degrees.'
        )
    ranges = []
    for axis in AXES:
        pair, name = data.get(axis, [0.0, 0.0]), Message("comfort about {axis}", axis=axis)
        if not isinstance(pair, list) or len(pair) != 2:
            raise InvalidCreatureError(
                "The creature's {name} is not a range: write [minimum, maximum].", name=name
            )
        low, high = (_read_curve(end, name, -180.0, 180.0) for end in pair)
        places = np.union1d(low.places, high.places)
        if (low.at(places) > high.at(places)).any():
            raise InvalidCreatureError(
                "The creature's {name} has a minimum greater than its maximum: swap the two.",
                name=name,
            )
        ranges.append((low, high))
    return tuple(ranges)


def _read_joints(data: Any) -> tuple[JointKind, ...]:
    names = [kind.name for kind in FREE]
    if not isinstance(data, list) or any(name not in names for name in data):
        raise InvalidCreatureError(
            "The creature's joints must be a list of joint kinds: choose from {names}.",
            names=", ".join(names),
        )
    return tuple(JointKind[name] for name in data)


def _read_curve(data: Any, name: str, least: float = 0.0, most: float = math.inf) -> Curve:
    rows = data if isinstance(data, list) else [data]
    if not rows:
        raise InvalidCreatureError(
            "The creature's {name} is an empty list: put numbers in it.", name=name
        )
    if all(isinstance(row, list) and len(row) == 2 for row in rows):
        places, values = np.array([[_read_number(end, name) for end in row] for row in rows]).T
    else:
        values = np.array([_read_number(row, name) for row in rows])
        places = np.linspace(0.0, 1.0, len(values))
    if (np.diff(places) <= 0.0).any() or places[0] < 0.0 or places[-1] > 1.0:
        raise InvalidCreatureError(
            "The creature's {name} has places that do not increase from 0 to 1: {what_to_give} in"
            " increasing order.",
            name=name,
            what_to_give=_WHAT_TO_GIVE,
        )
    if (values < least).any() or (values > most).any():
        text = "{least} or more" if most == math.inf else "between {least} and {most}"
        bounds = Message(text, least=f"{least:g}", most=f"{most:g}")
        raise InvalidCreatureError(
            "The creature's {name} is out of bounds: set it to {bounds}.", name=name, bounds=bounds
        )
    return Curve(places, values)


def _read_number(given: Any, name: str) -> float:
    if not isinstance(given, float) or math.isnan(given):
        raise InvalidCreatureError(
            "The creature's {name} is {given}, not a number: {what_to_give}.",
            name=name,
            given=json.dumps(given)[:40],
            what_to_give=_WHAT_TO_GIVE,
        )
    if abs(given) > LARGEST_NUMBER:
        raise InvalidCreatureError(
            "The creature's {name} is too large for Blender: give a smaller number.", name=name
        )
    return given
