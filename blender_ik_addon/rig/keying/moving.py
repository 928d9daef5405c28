"""Keys and drivers go along when a setting becomes one of something else."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import bpy
import numpy as np

from ..keying.renumbering import Rewriting
from ..reading.refusals import RigError

# What is left of an offset that has been added and taken away again is none.
NO_OFFSET = 1e-6

Modifier = Any
"""A modifier of an F-curve; Blender's stubs know what all kinds have in common."""


class ValueChange(NamedTuple):
    """What values become.

    Attributes:
        of_key: Of those of keys.
        scale: What those of drivers and modifiers are multiplied by.
        offset: What is added to these then.
    """

    of_key: Callable[[float], float]
    scale: float
    offset: float

    def of_others(self, value: float) -> float:
        """Return what becomes of the value of a driver."""
        return self.scale * value + self.offset


class Moving(Rewriting):
    """What is to change for keys and drivers to go along with settings."""

    def __init__(
        self,
        armature_object: bpy.types.Object,
        before: Collection[str],
        behind: str,
        names: Mapping[str, str],
        inverted: Collection[str] = (),
        stuck: Collection[str] | None = None,
    ) -> None:
        """Find out what is to change; nothing is changed yet.

        Args:
            armature_object: The original object.
            before: All ways to write what comes before the name of a setting.
            behind: What comes before it afterwards.
            names: Of the settings that go there, with their names there.
            inverted: Those of which no is told as yes there.
            stuck: Others that must not be animated, as they cannot go; None for all others.

        Raises:
            RigError: If keys cannot go along; the message says what to do next.
        """
        self._owner, self._before, self._behind = armature_object, before, behind
        self._names, self._inverted, self._stuck = names, inverted, stuck
        self._curves: list[tuple[str, bpy.types.FCurve]] = []
        super().__init__(armature_object)

    def after(self, path: str) -> str | None:
        """Return the path to the same setting afterwards; None if it goes, others as they are."""
        name = self._name_of(path)
        if name is None:
            return path
        if name in self._names:
            return self._behind + self._names[name]
        return None if self._stuck is None or name in self._stuck else path

    def broken(self, path: str) -> str:
        """Return the path as it is: what it leads to will be gone."""
        return path

    def animates(self, name: str) -> bool:
        """Return whether keys or drivers animate a setting, named as it was."""
        return any(name == each for each, _ in self._curves)

    def values(self, name: str) -> list[float]:
        """Return the values of all keys of a setting, named as it was."""
        curves = [curve for each, curve in self._curves if each == name]
        points = [point for curve in curves for point in curve.keyframe_points]
        return [point.co.y for point in points]

    def carry_out(self, changes: Mapping[str, ValueChange] | None = None) -> list[str]:
        """Change what is to change.

        Args:
            changes: What becomes of the values of settings, by the names as they were.

        Returns:
            The names of data with drivers that read what is gone.
        """
        opposite = dict.fromkeys(self._inverted, ValueChange(lambda value: 1.0 - value, -1.0, 1.0))
        all_changes = opposite | dict(changes or {})
        for name, curve in self._curves:
            if name in all_changes:
                change_values(curve, all_changes[name])
        return super().carry_out()

    def _add(self, holder: Any, items: Sequence[Any] | None = None) -> list[str]:
        """As ``Rewriting`` does; curves have to go where none are yet.

        Raises:
            RigError: If they cannot.
        """
        if items is not None:
            return super()._add(holder, items)
        ends = [self.after(curve.data_path) for curve in holder]
        for curve, end in zip(holder, ends, strict=True):
            name = self._name_of(curve.data_path)
            if name is None:
                continue
            if end is None:
                label = self._label(curve)
                raise RigError(
                    f"Its setting '{label}' is animated and has no counterpart: delete"
                    " these keys or this driver first."
                )
            if end != curve.data_path:
                if ends.count(end) > 1:
                    raise RigError(
                        f"Keys or drivers for '{end}' are there already: delete these first."
                    )
                if name in self._inverted and not _can_be_scaled(curve):
                    label = self._label(curve)
                    raise RigError(
                        f"Modifiers of the F-curve of its setting '{label}' cannot be"
                        " turned into their opposite: delete them first."
                    )
                self._curves.append((name, curve))
        return super()._add(holder)

    def _name_of(self, path: str) -> str | None:
        """Return the name of the setting that a path leads to; None if it is elsewhere."""
        found = (path.removeprefix(head) for head in self._before if path.startswith(head))
        return next(found, None)

    def _label(self, curve: bpy.types.FCurve) -> str:
        """Return what a person knows the setting of a curve by."""
        head, _, name = curve.data_path.rpartition(".")
        return str(self._owner.path_resolve(head).bl_rna.properties[name].name)


def change_values(curve: bpy.types.FCurve, change: ValueChange) -> None:
    """Change what a curve or driver gives.

    Keys and their handles are moved. Modifiers act after the keys, so where there are any the last
    one scales and offsets: an own one, or one that does such already. So it is where there are no
    keys. A scale needs a curve that can be scaled.
    """
    acting = list(_acting(curve))
    if not acting and len(curve.keyframe_points):
        of_value = change.of_key if curve.driver is None else change.of_others
        for part in ("co", "handle_left", "handle_right"):
            numbers = np.empty(2 * len(curve.keyframe_points), dtype=np.float32)
            curve.keyframe_points.foreach_get(part, numbers)
            numbers[1::2] = [of_value(value) for value in numbers[1::2].tolist()]
            curve.keyframe_points.foreach_set(part, numbers)
        curve.update()
        return
    last: Modifier = acting[-1] if acting else None
    if last is None or not _is_polynomial(last):
        last = curve.modifiers.new("GENERATOR")
        # What a driver without keys and modifiers finds is all that a polynomial starts from.
        last.use_additive = bool(acting) or curve.driver is None
        last.coefficients = (0.0, 0.0 if last.use_additive else 1.0)
    made = [change.scale * number for number in last.coefficients]
    made[0] += change.offset
    if last.use_additive and all(abs(number) < NO_OFFSET for number in made):
        curve.modifiers.remove(last)
    else:
        last.coefficients = made
    curve.update()


def _can_be_scaled(curve: bpy.types.FCurve) -> bool:
    """Return whether nothing but keys, or a driver, or a polynomial alone makes the values."""
    acting = list(_acting(curve))
    if acting:
        return _is_polynomial(acting[-1]) and not acting[-1].use_additive
    return len(curve.keyframe_points) > 0 or curve.driver is not None


def _acting(curve: bpy.types.FCurve) -> Iterator[Modifier]:
    return (modifier for modifier in curve.modifiers if not modifier.mute)


def _is_polynomial(modifier: Modifier) -> bool:
    """Return whether a modifier is a polynomial that acts fully and always."""
    return bool(
        modifier.type == "GENERATOR"
        and modifier.mode == "POLYNOMIAL"
        and not modifier.use_restricted_range
        and not modifier.use_influence
    )
