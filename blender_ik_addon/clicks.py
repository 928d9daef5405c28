"""Which chain is active: that of the bone or control which a person has clicked last."""

from __future__ import annotations

from typing import NamedTuple

import bpy

from .events import Handler, listening
from .properties.lists import activate_chain_of
from .rig.reading.spec import Anchor

# By session uid of the armature object: which bone was active there last.
_active_bones: dict[int, str] = {}
# By scene and view layer: the session uid of the object that was active there last.
_active_objects: dict[tuple[int, str], int] = {}


class Shown(NamedTuple):
    """What a person saw before an undo or redo.

    Attributes:
        clicked: Session uid of the active object, and its active bone in pose mode.
        chains: Names of all chains, and which of them is active, by session uid of the armature
            object.
    """

    clicked: tuple[int, str]
    chains: dict[int, tuple[list[str], int]]


_shown_before: list[Shown] = []


def _note(view_layer: bpy.types.ViewLayer) -> bool:
    """Note what is active; tell whether a person has just made it so."""
    active = view_layer.objects.active
    key = view_layer.id_data.session_uid, view_layer.name
    uid, bone = _clicked(view_layer)
    is_other = _active_objects.get(key) != uid
    _active_objects[key] = uid
    if active is None or active.type != "ARMATURE":
        return is_other
    if active.mode != "POSE":
        return False
    is_known = _active_bones.get(uid, bone) == bone
    _active_bones[uid] = bone
    return not is_known


def _clicked(view_layer: bpy.types.ViewLayer) -> tuple[int, str]:
    active = view_layer.objects.active
    if active is None:
        return 0, ""
    bone = active.data.bones.active if active.mode == "POSE" else None
    return active.session_uid, "" if bone is None else bone.name


def _activate(view_layer: bpy.types.ViewLayer) -> None:
    """Make the chain active of what is active now."""
    active, (_, bone) = view_layer.objects.active, _clicked(view_layer)
    if active is None:
        return
    is_rig = active.type == "ARMATURE"
    for owner in [active] if is_rig else view_layer.objects:
        if owner.type == "ARMATURE" and owner.is_editable:
            activate_chain_of(owner, Anchor(active, bone))


def _show_again(view_layer: bpy.types.ViewLayer, shown: Shown) -> None:
    """Keep which chains were shown, unless something else is active now, or there are others.

    Blender stores the step of a click before the click is followed, so the file has other ones.
    """
    if _clicked(view_layer) != shown.clicked:
        return
    for rig in view_layer.objects:
        own = rig.chain_ik
        names, index = shown.chains.get(rig.session_uid, ([], 0))
        if own.active_index != index and own.chains.keys() == names and rig.is_editable:
            own.active_index = index


def on_update(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph | None = None) -> None:
    """Know what has been clicked; also after an undo or redo, inside which nothing is touched."""
    view_layer = None if depsgraph is None else depsgraph.view_layer
    if depsgraph is not None and depsgraph.mode == "VIEWPORT" and view_layer is not None:
        if _shown_before:
            _show_again(view_layer, _shown_before.pop())
        # No other choice is undone.
        if _note(view_layer):
            _activate(view_layer)


def before_history(*_arguments: object) -> None:
    """Note what is shown before an undo or redo."""
    _shown_before.clear()
    view_layer = bpy.context.view_layer
    if view_layer is None:
        return
    chains = {
        rig.session_uid: (rig.chain_ik.chains.keys(), rig.chain_ik.active_index)
        for rig in view_layer.objects
        if rig.type == "ARMATURE"
    }
    _shown_before.append(Shown(_clicked(view_layer), chains))


def on_load(*_arguments: object) -> None:
    """Begin afresh."""
    _active_bones.clear()
    _active_objects.clear()
    _shown_before.clear()


_HANDLERS: dict[str, Handler] = {
    "depsgraph_update_post": on_update,
    "undo_pre": before_history,
    "redo_pre": before_history,
    "load_post": on_load,
}


register, unregister = listening(_HANDLERS, on_load)
