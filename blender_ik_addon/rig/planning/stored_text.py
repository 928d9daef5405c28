"""Stored poses as text, the form in which a chain keeps them in the file."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from ..reading.channels import MODE_NUMBERS
from ..reading.refusals import RigError
from ..reading.spec import StoredBone

LOCATION = "location"
DRAGGED_LOCATION = f"dragged_{LOCATION}"
NO_OTHERS: Mapping[str, Any] = MappingProxyType({})
# Greatest number that Blender stores; greater ones would come back as infinity.
MAX_FLOAT32 = 3.4028235e38
# Most cached texts. Rigs are read again at every change; stored poses seldom change.
MAX_CACHED_TEXTS = 4096


@lru_cache(MAX_CACHED_TEXTS)
def bones_of_text(text: str) -> tuple[StoredBone, ...]:
    """Return the stored bones of a text from ``text_of_bones``.

    Raises:
        RigError: If the text is none of these: torn, changed by hand, or not finite.
    """
    try:
        rows = json.loads(text, parse_int=float) if text else ()
        stored = tuple([_bone_of_row(*row) for row in rows])
        if text and not stored:
            raise ValueError
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise RigError(
            "The stored pose of this chain cannot be read: pose its bones, and press Store Pose"
            " to store a new pose."
        ) from None
    return stored


def text_of_bones(stored: Iterable[StoredBone]) -> str:
    """Return a stored pose as text; empty for no bones."""
    rows = [_row_of_bone(bone) for bone in stored]
    return json.dumps(rows) if rows else ""


def stored_by_name(texts: Iterable[str]) -> dict[str, StoredBone]:
    """Return the bones of the stored poses of several chains by name, with all their channels.

    Raises:
        RigError: As ``bones_of_text``.
    """
    known: dict[str, StoredBone] = {}
    for bone in (bone for text in texts for bone in bones_of_text(text)):
        former = known.setdefault(bone.name, bone)
        if bone.scale and not former.scale:
            former = former._replace(scale=bone.scale)
        if bone.location and not former.location:
            former = former._replace(location=bone.location, is_dragged=bone.is_dragged)
        known[bone.name] = former
    return known


def _bone_of_row(
    name: str, mode: str, rotation: Any, scale: Any = (), others: Any = NO_OTHERS
) -> StoredBone:
    dragged = others.get(DRAGGED_LOCATION)
    location = others.get(LOCATION, ()) if dragged is None else dragged
    values = (*rotation, *scale, *location)
    is_whole = len(rotation) == 4 and len(scale) in (0, 3) and len(location) in (0, 3)
    is_sound = max(map(abs, values)) <= MAX_FLOAT32 and math.isfinite(sum(values))
    if not (is_whole and is_sound and isinstance(name, str) and mode in MODE_NUMBERS):
        raise ValueError
    return StoredBone(
        name, mode, tuple(rotation), tuple(scale), tuple(location), dragged is not None
    )


def _row_of_bone(bone: StoredBone) -> tuple[object, ...]:
    row = (bone.name, bone.rotation_mode, bone.rotation)
    if bone.location:
        word = DRAGGED_LOCATION if bone.is_dragged else LOCATION
        return (*row, bone.scale, {word: bone.location})
    return (*row, bone.scale) if bone.scale else row
