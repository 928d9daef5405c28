"""Stored poses as text, as a chain keeps them in the file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from .channels import MODE_NUMBERS
from .errors import RigError
from .spec import StoredBone

LOCATION = "location"
DRAGGED_LOCATION = f"dragged_{LOCATION}"
# Blender stores nothing greater; NaN is not less than this either.
GREATEST = 3.5e38


def bones_of_text(text: str) -> tuple[StoredBone, ...]:
    """Return what ``text_of_bones`` has written.

    Raises:
        RigError: If the text is none of these: torn, changed by hand, or not finite.
    """
    try:
        stored = tuple([_bone_of_row(*row) for row in (json.loads(text) if text else ())])
        if text and not stored:
            raise ValueError
    except (ValueError, TypeError, RecursionError):
        raise RigError(
            "The stored pose of this chain cannot be read:"
            " pose its bones and press Store Pose, which takes the present pose instead."
        ) from None
    return stored


def text_of_bones(stored: Iterable[StoredBone]) -> str:
    """Return a stored pose as text; nothing for no bones."""
    rows = [_row_of_bone(bone) for bone in stored]
    return json.dumps(rows) if rows else ""


def may_have_locations(text: str) -> bool:
    """Tell at little cost whether a stored pose as text holds the location of any bone."""
    return f'{LOCATION}"' in text


def _bone_of_row(
    name: str, mode: str, rotation: Any, scale: Any = (), others: Any = None
) -> StoredBone:
    others = {} if others is None else others
    if not (isinstance(name, str) and isinstance(others, dict) and mode in MODE_NUMBERS):
        raise ValueError
    dragged = others.get(DRAGGED_LOCATION)
    location = others.get(LOCATION, ()) if dragged is None else dragged
    return StoredBone(
        name,
        mode,
        _numbers(rotation, 4),
        _numbers(scale, 0, 3),
        _numbers(location, 0, 3),
        dragged is not None,
    )


def _numbers(values: Sequence[Any], *counts: int) -> tuple[float, ...]:
    if len(values) not in counts:
        raise ValueError
    if not all(isinstance(value, (int, float)) and abs(value) < GREATEST for value in values):
        raise ValueError
    return tuple([float(value) for value in values])


def _row_of_bone(bone: StoredBone) -> tuple[object, ...]:
    row = (bone.name, bone.rotation_mode, bone.rotation)
    if bone.location:
        word = DRAGGED_LOCATION if bone.is_dragged else LOCATION
        return (*row, bone.scale, {word: bone.location})
    return (*row, bone.scale) if bone.scale else row
