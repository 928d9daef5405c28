"""The stored poses of chains: taken, given back, and kept ahead of every update."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import bpy

from ..rig import restoring
from ..rig.errors import RigError
from ..rig.render_sync import keep_animated_values
from ..rig.spec import ChainSpec
from .chains import chains_of, owner_of
from .records import chain_spec

if TYPE_CHECKING:
    from .settings import ChainSettings


def store(settings: ChainSettings, evaluated: bpy.types.Object | None = None) -> None:
    """Take the stored pose of a chain from what its bones' channels hold now.

    Args:
        settings: The original ones.
        evaluated: The evaluated object to read; by default the original.
    """
    owner = owner_of(settings)
    settings.stored_pose.clear()
    for stored in restoring.take(owner, evaluated or owner, chain_spec(settings)):
        bone = settings.stored_pose.add()
        bone.name = stored.name
        bone.rotation_mode = stored.rotation_mode
        bone.rotation = stored.rotation


def release(settings: ChainSettings) -> None:
    """Give the bones of a chain their stored pose back, and forget it."""
    if settings.stored_pose:
        scene = bpy.context.scene
        frame = scene.frame_current_final if scene is not None else 0.0
        restoring.give_back(owner_of(settings), chain_spec(settings), frame)
        settings.stored_pose.clear()


def is_off_its_keys(settings: ChainSettings) -> bool:
    """Return whether a chain's bones stand elsewhere than their keyframes put them."""
    scene = bpy.context.scene
    frame = scene.frame_current_final if scene is not None else 0.0
    return restoring.is_off_its_keys(owner_of(settings), chain_spec(settings), frame)


def check_free(armature_object: bpy.types.Object, spec: ChainSpec) -> None:
    """Raise if a live chain drives bones of another one, whose pose would not stay.

    Raises:
        RigError: With the name of the live chain.
    """
    wanted = restoring.driven_bones(armature_object, spec)
    for settings in chains_of(armature_object):
        shared = wanted & restoring.driven_bones(armature_object, chain_spec(settings))
        if shared and not settings.mute:
            raise RigError(
                f"Bone '{min(shared)}' is driven by the live chain '{settings.name}':"
                " mute that chain, or move its target."
            )


def live_chains(
    armature_object: bpy.types.Object, depsgraph: bpy.types.Depsgraph
) -> Iterator[tuple[int, ChainSpec]]:
    """Yield index and settings of the chains to solve; store poses and release muted chains."""
    is_ours = armature_object.is_editable
    evaluated = armature_object.evaluated_get(depsgraph)
    animated = chains_of(evaluated)
    has_kept = False
    for index, settings in enumerate(chains_of(armature_object)):
        # A chain that is newer than the evaluation has no animation either.
        values = animated[index] if index < len(animated) else settings
        if not values.mute:
            if not settings.stored_pose and is_ours:
                store(settings, evaluated)
            yield index, chain_spec(settings, values)
        elif settings.stored_pose and is_ours:
            if depsgraph.mode == "RENDER" and not has_kept:
                keep_animated_values(armature_object, evaluated)
                has_kept = True
            release(settings)
