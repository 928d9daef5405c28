"""Skeletons of armature objects for callers outside an update: compiled once for equal bones."""

from __future__ import annotations

import bpy

from ..reading.skeleton import Fingerprint, Skeleton, compile_skeleton

# Most cached skeletons: more characters than a person works on side by side.
MAX_SKELETONS = 64
_known: dict[Fingerprint, Skeleton] = {}


def skeleton_of(armature_object: bpy.types.Object) -> Skeleton:
    """Return the skeleton of an armature object, the same one for equal bones."""
    skeleton = compile_skeleton(armature_object, others=_known)
    if len(_known) > MAX_SKELETONS:
        # Clear all at once: renders call this from their own thread.
        _known.clear()
        _known[skeleton.fingerprint] = skeleton
    return skeleton
