"""Access to the chains of objects and to the active one; keywords that their settings share."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal, cast

import bpy

from ..rig.live import live

OVERRIDABLE: set[Literal["LIBRARY_OVERRIDABLE"]] = {"LIBRARY_OVERRIDABLE"}
EXTENSIBLE: set[Literal["LIBRARY_OVERRIDABLE", "USE_INSERTION"]] = {
    "LIBRARY_OVERRIDABLE",
    "USE_INSERTION",
}
# Longest name of a bone in Blender, in bytes.
MAX_NAME_BYTES = 63
# Name of new chains.
DEFAULT_NAME = "Chain"
ANCHORS = (("target", "subtarget"), ("pole_target", "pole_subtarget"))
"""The settings of a chain that name its target and its pole: an object, and a bone of it."""

# A type of ``settings``, which imports the modules that work on it: they cannot import its class.
ChainGroup = bpy.types.PropertyGroup
"""The settings of one chain, ``settings.ChainSettings``."""


def owner_of(settings: bpy.types.PropertyGroup) -> bpy.types.Object:
    """Return the object that settings belong to."""
    return cast(bpy.types.Object, settings.id_data)


def chains_of(armature_object: bpy.types.Object) -> list[ChainGroup]:
    """Return references to the chains of an object, which must not be stored."""
    return list(armature_object.chain_ik.chains)


def body_of(armature_object: bpy.types.Object) -> bpy.types.PropertyGroup | None:
    """Return the body that the chains of an object form; None if they do not form one."""
    group = armature_object.chain_ik
    # Reading settings that were never set makes Blender store and copy them from then on.
    if not group.is_property_set("body"):
        return None
    body: bpy.types.PropertyGroup = group.body
    return body if body.use_body and body.root else None


def object_of(settings: ChainGroup, name: str) -> bpy.types.Object | None:
    """Return the object that a setting of a chain names."""
    # Reading a pointer that was never set makes Blender store an empty one.
    return getattr(settings, name) if settings.is_property_set(name) else None


def tag(settings: bpy.types.PropertyGroup, _context: bpy.types.Context | None = None) -> None:
    """Tag the rig for evaluation, so that the handler sees the change."""
    owner_of(settings).update_tag()


KEYABLE: dict[str, Any] = {"override": OVERRIDABLE, "update": tag}
"""Keywords of settings of an armature object that can be keyed."""
NOT_KEYABLE: dict[str, Any] = KEYABLE | {"options": set()}
"""Keywords of settings that cannot be keyed."""
NOT_SHOWN: dict[str, Any] = {"override": OVERRIDABLE, "options": {"HIDDEN"}}
"""Keywords of settings that the interface does not show."""
SHARE: dict[str, Any] = {"default": 1.0, "min": 0.0, "max": 1.0, "subtype": "FACTOR"}
"""Keywords of a number from 0, none, to 1, all."""


def set_values(settings: bpy.types.PropertyGroup, values: Mapping[str, object]) -> None:
    """Set the values that differ, because Blender copies all set values at each evaluation."""
    for name, value in values.items():
        if getattr(settings, name) != value:
            setattr(settings, name, value)


def copy_settings(source: object, settings: ChainGroup, names: Iterable[str]) -> None:
    """Copy the named attributes of ``source`` to the settings of a chain."""
    set_values(settings, {name: getattr(source, name) for name in names})


def make_name_unique(settings: ChainGroup, context: bpy.types.Context | None = None) -> None:
    """Rename a chain if another chain of its object has its name."""
    others = [chain.name for chain in chains_of(owner_of(settings)) if chain != settings]
    name = free_name(others, settings.name)
    if settings.name != name:
        settings.name = name
    tag(settings, context)


def is_idle(settings: ChainGroup) -> bool:
    """Tell whether a chain does not move its bones: it is muted, or its influence is zero."""
    return bool(settings.mute or settings.influence <= 0.0)


def live_chains(armature_object: bpy.types.Object) -> list[ChainGroup]:
    """Return the chains of an object that move their bones."""
    return [chain for chain in chains_of(armature_object) if not is_idle(chain)]


def free_name(used: Collection[str], requested: str) -> str:
    """Return the requested name; if it is in use, with a number, which replaces any present one."""
    used, stem = set(used), re.sub(r"\.\d{3,}$", "", requested) or DEFAULT_NAME
    names = (requested, *(f"{stem}.{number:03d}" for number in range(1, len(used) + 2)))
    return next(name for name in names if name not in used)


def active_armature(context: bpy.types.Context) -> bpy.types.Object | None:
    """Return the armature object that a context is about; None if there is none.

    That is the active object, or the only armature that is selected. If a target or pole is the
    active object, it is the first armature that follows it, so that its status stays visible.
    """
    active = context.active_object
    if active is not None and active.type == "ARMATURE":
        return active
    selected = [owner for owner in context.selected_objects if owner.type == "ARMATURE"]
    if len(selected) == 1:
        return selected[0]
    for candidate in context.view_layer.objects if active and context.view_layer else ():
        for chain in chains_of(candidate) if candidate.type == "ARMATURE" else ():
            if active in (chain.target, chain.pole_target):
                return candidate
    return None


def active_chain(context: bpy.types.Context) -> ChainGroup | None:
    """Return the active chain of the armature that a context is about; None if there is none."""
    owner = active_armature(context)
    if owner is None:
        return None
    settings = owner.chain_ik
    is_in_list = 0 <= settings.active_index < len(settings.chains)
    return settings.chains[settings.active_index] if is_in_list else None


def chain_key(settings: ChainGroup) -> live.ChainKey:
    """Return the key of a chain in the live memory: session uid of its object, and its index."""
    path = settings.path_from_id()
    return owner_of(settings).session_uid, int(path[path.rindex("[") + 1 : -1])
