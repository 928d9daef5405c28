"""Moves of keys and drivers, for settings that become settings of something else."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import bpy
import numpy as np

from ...core.model.message import Message
from ..keying.renumbering import PathRewrite
from ..reading.refusals import RigError

# Tolerance of an offset of zero, for offsets that were added and subtracted again.
MIN_OFFSET = 1e-6

Modifier = Any
"""A modifier of an F-curve; Blender's stubs only know what all types share."""


class ValueChange(NamedTuple):
    """A change of the values of a setting.

    Attributes:
        of_key: Maps values of keys.
        scale: Factor on values of drivers and modifiers.
        offset: Offset that is added to these after scaling.
    """

    of_key: Callable[[float], float]
    scale: float
    offset: float


class SettingMove(PathRewrite):
    """Changes that move keys and drivers of settings to those of another item."""

    def __init__(
        self,
        armature_object: bpy.types.Object,
        before: Collection[str],
        after: str,
        names: Mapping[str, str],
        inverted: Collection[str] = (),
        stuck: Collection[str] | None = None,
    ) -> None:
        """Collect the changes; nothing is changed yet.

        Args:
            armature_object: The original object.
            before: Paths to the item with the settings, in all spellings.
            after: Path to the item that gets them.
            names: New names of the settings that move, by their former names.
            inverted: Names of settings that are the opposite of the new ones.
            stuck: Names of other settings that must not be animated; None for all others.

        Raises:
            RigError: If keys cannot move; the message says what to do next.
        """
        self._owner, self._new_prefix = armature_object, f"{after}."
        self._prefixes = tuple([f"{path}." for path in before])
        self._names, self._inverted, self._unsupported = names, inverted, stuck
        self._curves: list[tuple[str, bpy.types.FCurve]] = []
        super().__init__(armature_object)

    def after(self, path: str) -> str | None:
        """Return the new path of a setting; None if it cannot move; other paths as they are."""
        name = self._name_of(path)
        if name is None:
            return path
        if name in self._names:
            return self._new_prefix + self._names[name]
        return None if self._unsupported is None or name in self._unsupported else path

    def broken(self, path: str) -> str:
        """Return the path as it is: nothing will be there any more."""
        return path

    def animates(self, name: str) -> bool:
        """Return whether keys or drivers animate a setting, by its former name."""
        return any(name == setting for setting, _ in self._curves)

    def values(self, name: str) -> list[float]:
        """Return the values of all keys of a setting, by its former name."""
        curves = [curve for setting, curve in self._curves if setting == name]
        points = [point for curve in curves for point in curve.keyframe_points]
        return [point.co.y for point in points]

    def carry_out(self, changes: Mapping[str, ValueChange] | None = None) -> list[str]:
        """Carry out the collected changes, and those of values, by former names of settings.

        Return as the base class does.
        """
        inversion = dict.fromkeys(self._inverted, ValueChange(lambda value: 1.0 - value, -1.0, 1.0))
        all_changes = inversion | dict(changes or {})
        for name, curve in self._curves:
            if name in all_changes:
                change_values(curve, all_changes[name])
        return super().carry_out()

    def _add(self, holder: Any, items: Sequence[Any] | None = None) -> list[str]:
        """Add items as the base class does; raise a ``RigError`` if curves cannot move."""
        if items is not None:
            return super()._add(holder, items)
        ends = [self.after(curve.data_path) for curve in holder]
        for curve, end in zip(holder, ends, strict=True):
            name = self._name_of(curve.data_path)
            if name is None:
                continue
            if end is None:
                raise RigError(
                    "Its setting '{label}' is animated, but this animation cannot be converted:"
                    " delete its keys or driver first.",
                    label=self._label(curve),
                )
            if end != curve.data_path:
                if ends.count(end) > 1:
                    raise RigError(
                        "There are already keys or drivers for '{end}': delete them first.", end=end
                    )
                if name in self._inverted and not _can_be_scaled(curve):
                    raise RigError(
                        "The F-curve of its setting '{label}' has modifiers that cannot be"
                        " inverted: delete these modifiers first.",
                        label=self._label(curve),
                    )
                self._curves.append((name, curve))
        return super()._add(holder)

    def _name_of(self, path: str) -> str | None:
        """Return the name of the setting at a path; None for other paths."""
        names = (path.removeprefix(prefix) for prefix in self._prefixes if path.startswith(prefix))
        return next(names, None)

    def _label(self, curve: bpy.types.FCurve) -> Message:
        """Return the label of a curve's setting in the user interface."""
        head, _, name = curve.data_path.rpartition(".")
        return Message(self._owner.path_resolve(head).bl_rna.properties[name].name)


def change_values(curve: bpy.types.FCurve, change: ValueChange) -> None:
    """Change the values of a curve or driver.

    Without modifiers, keys and their handles are moved. Otherwise, or without keys, the last
    modifier scales and offsets: an existing polynomial, or a new one. A scale needs a curve that
    can be scaled.
    """
    active = list(_active_modifiers(curve))
    if not active and len(curve.keyframe_points):
        for attribute in ("co", "handle_left", "handle_right"):
            points = np.empty(2 * len(curve.keyframe_points), dtype=np.float32)
            curve.keyframe_points.foreach_get(attribute, points)
            values = points[1::2].astype(np.float64)
            if curve.driver is None:
                points[1::2] = [change.of_key(value) for value in values.tolist()]
            else:
                points[1::2] = change.scale * values + change.offset
            curve.keyframe_points.foreach_set(attribute, points)
        curve.update()
        return
    modifier: Modifier = active[-1] if active else None
    if modifier is None or not _is_polynomial(modifier):
        modifier = curve.modifiers.new("GENERATOR")
        # The value of a driver without keys and modifiers is the variable of the polynomial.
        modifier.use_additive = bool(active) or curve.driver is None
        modifier.coefficients = (0.0, 0.0 if modifier.use_additive else 1.0)
    coefficients = [change.scale * coefficient for coefficient in modifier.coefficients]
    coefficients[0] += change.offset
    if modifier.use_additive and all(abs(coefficient) < MIN_OFFSET for coefficient in coefficients):
        curve.modifiers.remove(modifier)
    else:
        modifier.coefficients = coefficients
    curve.update()


def _can_be_scaled(curve: bpy.types.FCurve) -> bool:
    """Return whether keys, a driver or one polynomial alone define the values."""
    active = list(_active_modifiers(curve))
    if active:
        return _is_polynomial(active[-1]) and not active[-1].use_additive
    return len(curve.keyframe_points) > 0 or curve.driver is not None


def _active_modifiers(curve: bpy.types.FCurve) -> Iterator[Modifier]:
    return (modifier for modifier in curve.modifiers if not modifier.mute)


def _is_polynomial(modifier: Modifier) -> bool:
    """Return whether a modifier is a polynomial without restrictions."""
    return bool(
        modifier.type == "GENERATOR"
        and modifier.mode == "POLYNOMIAL"
        and not modifier.use_restricted_range
        and not modifier.use_influence
    )
