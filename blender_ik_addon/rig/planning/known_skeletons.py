"""The bones of armature objects for whoever is not an update: compiled once while they stay."""

from __future__ import annotations

import bpy

from ..reading.skeleton import Skeleton, compiled

# As many armatures are remembered: more than a person works on side by side.
MOST_KNOWN = 64
# By session uid of the armature.
_known: dict[int, Skeleton] = {}


def skeleton_of(armature_object: bpy.types.Object) -> Skeleton:
    """Return the skeleton of an armature object, the same one as long as no bone has changed."""
    uid = armature_object.data.session_uid
    found = compiled(armature_object, _known.get(uid))
    if len(_known) >= MOST_KNOWN:
        # In one go: renders ask from a thread of their own.
        _known.clear()
    _known[uid] = found
    return found
