"""Skeletons of armature objects, compiled once for equal bones, as in the rigs of a crowd."""

from __future__ import annotations

from typing import cast

import bpy

from ..reading.skeleton import Fingerprint, Skeleton, compile_skeleton, fingerprint

# Most cached skeletons: more characters than a person works on side by side.
MAX_SKELETONS = 64
_known: dict[Fingerprint, Skeleton] = {}


def skeleton_of(armature_object: bpy.types.Object, known: Skeleton | None = None) -> Skeleton:
    """Return the skeleton of an armature object, the same one for equal bones.

    ``known`` is the one of the same object before; it is returned if no bone has changed.
    """
    armature = cast(bpy.types.Armature, armature_object.data)
    present = fingerprint(armature)
    if known is None or known.fingerprint != present:
        known = _known.get(present)
    if known is None:
        known = compile_skeleton(armature, present)
        if len(_known) >= MAX_SKELETONS:
            # Clear all at once: renders call this from their own thread.
            _known.clear()
        _known[present] = known
    return known
