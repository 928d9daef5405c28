"""Activation of the chain whose bone or control the user has clicked last."""

from __future__ import annotations

from typing import NamedTuple

import bpy

from .events import Handler, make_handler_registration
from .properties.chain_lists import activate_chain_of
from .rig.reading.spec import Anchor

# Name of the bone that was active last, by session uid of the armature object.
_active_bones: dict[int, str] = {}
# Session uid of the object that was active last, by scene and view layer.
_active_objects: dict[tuple[int, str], int] = {}


class SelectionState(NamedTuple):
    """The selection before an undo or redo.

    Attributes:
        clicked: Session uid of the active object, and the name of its active bone in pose mode.
        chains: Names of all chains, and the index of the active one, by session uid of the
            armature object.
    """

    clicked: tuple[int, str]
    chains: dict[int, tuple[list[str], int]]


_states_before_history: list[SelectionState] = []


def _note_active(view_layer: bpy.types.ViewLayer) -> bool:
    """Note the active object and bone; tell whether the user has just activated them."""
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
    """Activate the chain that the active bone or object belongs to."""
    active, (_, bone) = view_layer.objects.active, _clicked(view_layer)
    if active is None:
        return
    is_rig = active.type == "ARMATURE"
    for owner in [active] if is_rig else view_layer.objects:
        if owner.type == "ARMATURE" and owner.is_editable:
            activate_chain_of(owner, Anchor(active, bone))


def _restore_active_chains(view_layer: bpy.types.ViewLayer, before: SelectionState) -> None:
    """Activate the same chains as before, unless another object is active or the chains differ.

    Blender stores the undo step of a click before the click is handled, so the step holds others.
    """
    if _clicked(view_layer) != before.clicked:
        return
    for rig in view_layer.objects:
        group = rig.chain_ik
        names, index = before.chains.get(rig.session_uid, ([], 0))
        if group.active_index != index and group.chains.keys() == names and rig.is_editable:
            group.active_index = index


def on_update(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph | None = None) -> None:
    """Handle clicks, and restore the active chains after an undo or redo; never during one."""
    view_layer = None if depsgraph is None else depsgraph.view_layer
    if depsgraph is not None and depsgraph.mode == "VIEWPORT" and view_layer is not None:
        if _states_before_history:
            _restore_active_chains(view_layer, _states_before_history.pop())
        # Without a click, a chain that was chosen in the list stays active.
        if _note_active(view_layer):
            _activate(view_layer)


def before_history(*_arguments: object) -> None:
    """Note the selection before an undo or redo."""
    _states_before_history.clear()
    view_layer = bpy.context.view_layer
    if view_layer is None:
        return
    chains = {
        rig.session_uid: (rig.chain_ik.chains.keys(), rig.chain_ik.active_index)
        for rig in view_layer.objects
        if rig.type == "ARMATURE"
    }
    _states_before_history.append(SelectionState(_clicked(view_layer), chains))


def on_load(*_arguments: object) -> None:
    """Forget the last file."""
    _active_bones.clear()
    _active_objects.clear()
    _states_before_history.clear()


_HANDLERS: tuple[tuple[str, Handler], ...] = (
    ("depsgraph_update_post", on_update),
    ("undo_pre", before_history),
    ("redo_pre", before_history),
    ("load_post", on_load),
)


register, unregister = make_handler_registration(_HANDLERS, on_load)
