"""Which chains there are, which one a person means, and what their settings have in common."""

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
# Of bones, in bytes.
LONGEST_NAME = 63
# What new chains are called.
UNNAMED = "Chain"
ANCHORS = (("target", "subtarget"), ("pole_target", "pole_subtarget"))
"""The settings of a chain that name its target and its pole: an object, and a bone of it."""

# What ``settings`` declares: that file stands above those that work on it, so they cannot name it.
ChainGroup = bpy.types.PropertyGroup
"""The settings of one chain, ``settings.ChainSettings``."""
ObjectGroup = bpy.types.PropertyGroup
"""The chains of an armature object, ``object_settings.ObjectSettings``."""


def owner_of(settings: bpy.types.PropertyGroup) -> bpy.types.Object:
    """Return the object that settings hang on."""
    return cast(bpy.types.Object, settings.id_data)


def chains_of(armature_object: bpy.types.Object) -> list[ChainGroup]:
    """Return the chains of an object; a fresh list of references, not to be kept."""
    return list(cast("ObjectGroup", armature_object.chain_ik).chains)


def body_of(armature_object: bpy.types.Object) -> bpy.types.PropertyGroup | None:
    """Return the body that the chains of an object are solved as; None for chains by themselves."""
    group = armature_object.chain_ik
    # Reading settings that were never set has Blender store them, to be copied ever after.
    if not group.is_property_set("body"):
        return None
    body: bpy.types.PropertyGroup = group.body
    return body if body.use_body and body.root else None


def object_of(settings: ChainGroup, name: str) -> bpy.types.Object | None:
    """Return the object that a setting of a chain names."""
    # Reading a pointer that was never set has Blender store an empty one.
    return getattr(settings, name) if settings.is_property_set(name) else None


def tag(settings: bpy.types.PropertyGroup, _context: bpy.types.Context | None = None) -> None:
    """Have Blender evaluate the rig, so that the handler sees the change."""
    owner_of(settings).update_tag()


KEYABLE: dict[str, Any] = {"override": OVERRIDABLE, "update": tag}
"""What the settings of an armature object that can be keyed have in common."""
FIXED: dict[str, Any] = KEYABLE | {"options": set()}
"""What the others have, which have no keys."""
HIDDEN: dict[str, Any] = {"override": OVERRIDABLE, "options": {"HIDDEN"}}
"""What those have that nobody sees."""
SHARE: dict[str, Any] = {"default": 1.0, "min": 0.0, "max": 1.0, "subtype": "FACTOR"}
"""A number from none, 0, to all, 1."""


def set_values(settings: bpy.types.PropertyGroup, values: Mapping[str, object]) -> None:
    """Set what differs: Blender copies every value that is set, at each evaluation."""
    for name, value in values.items():
        if getattr(settings, name) != value:
            setattr(settings, name, value)


def copy_settings(source: object, settings: ChainGroup, names: Iterable[str]) -> None:
    """Give a chain what something else has of the same names."""
    set_values(settings, {name: getattr(source, name) for name in names})


def name_apart(settings: ChainGroup, context: bpy.types.Context | None = None) -> None:
    """Give a chain another name if another chain of its object has it."""
    others = [each.name for each in chains_of(owner_of(settings)) if each != settings]
    name = free_name(others, settings.name)
    if settings.name != name:
        settings.name = name
    tag(settings, context)


def is_idle(settings: ChainGroup) -> bool:
    """Tell whether a chain leaves its bones alone: it is muted, or its influence is zero."""
    return bool(settings.mute or settings.influence <= 0.0)


def free_name(taken: Collection[str], wanted: str) -> str:
    """Return a wanted name, with a number if it is taken; with another one if it has a number."""
    stem = re.sub(r"\.\d{3,}$", "", wanted) or UNNAMED
    names = (wanted, *(f"{stem}.{number:03d}" for number in range(1, len(taken) + 2)))
    return next(name for name in names if name not in taken)


def active_armature(context: bpy.types.Context) -> bpy.types.Object | None:
    """Return the armature that the context is about, None without.

    That is the active object, else the only armature that is selected. While a target or pole is
    the active object, it is the armature that follows it, so that its status can be seen on the
    way.
    """
    active = context.active_object
    if active is not None and active.type == "ARMATURE":
        return active
    selected = [each for each in context.selected_objects if each.type == "ARMATURE"]
    if len(selected) == 1:
        return selected[0]
    for candidate in context.view_layer.objects if active and context.view_layer else ():
        for chain in chains_of(candidate) if candidate.type == "ARMATURE" else ():
            if active in (chain.target, chain.pole_target):
                return candidate
    return None


def active_chain(context: bpy.types.Context) -> ChainGroup | None:
    """Return the chain that is chosen in the list of the armature meant, None without."""
    owner = active_armature(context)
    if owner is None:
        return None
    settings = cast("ObjectGroup", owner.chain_ik)
    is_in_list = 0 <= settings.active_index < len(settings.chains)
    return settings.chains[settings.active_index] if is_in_list else None


def chain_key(settings: ChainGroup) -> live.ChainKey:
    """Return what the live memory knows a chain by."""
    path = settings.path_from_id()
    return owner_of(settings).session_uid, int(path[path.rindex("[") + 1 : -1])
