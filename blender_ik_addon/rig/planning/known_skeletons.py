"""Skeletons of armature objects for callers outside an update: compiled once while bones stay."""

from __future__ import annotations

import bpy

from ..reading.skeleton import Skeleton, compile_skeleton

# Most cached armatures: more than a person works on side by side.
MAX_SKELETONS = 64
# Skeletons by session uid of the armature.
_known: dict[int, Skeleton] = {}


def skeleton_of(armature_object: bpy.types.Object) -> Skeleton:
    """Return the skeleton of an armature object, the same one as long as no bone changes."""
    uid = armature_object.data.session_uid
    skeleton = compile_skeleton(armature_object, _known.get(uid))
    if len(_known) >= MAX_SKELETONS:
        # Clear all at once: renders call this from their own thread.
        _known.clear()
    _known[uid] = skeleton
    return skeleton
