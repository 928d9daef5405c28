"""Spaces of controls by name: bones of the chain's armature, objects, or nothing for the world."""

from __future__ import annotations

import logging
from typing import Any

import bpy
from bpy.props import StringProperty

from ...core import IKError
from ...rig.controls.control_spaces import (
    Mover,
    active_space,
    anchor_exists,
    check_control,
    check_space,
    has_parent,
    is_lost,
    label,
    makes_cycle,
    set_space,
    spaces_of,
)
from ...rig.reading.anchors import space_of
from ...rig.reading.refusals import RigError
from ...rig.reading.spec import Anchor
from ...rig.reading.world import channels_of
from ..chains import ChainGroup, chains_of, owner_of
from ..records import anchors_of, bones_of_chains, controls_of_chain

_LOG = logging.getLogger(__name__)
CONTROL_KINDS = ("TARGET", "POLE")
"""The kinds of a chain's controls, in the order of ``controls_of_chain``."""


def control_of(settings: ChainGroup, which: str) -> Anchor | None:
    """Return the target or the pole of a chain; None where it has none that exists."""
    control = controls_of_chain(settings)[CONTROL_KINDS.index(which)]
    return control if control is not None and anchor_exists(control) else None


def space_name(settings: ChainGroup, which: str) -> str:
    """Return the name of the space of a control; empty for the world."""
    control = control_of(settings, which)
    constraint = None if control is None else active_space(control)
    space = None if constraint is None else space_of(constraint)
    return "" if space is None else label(space)


def check_space_name(settings: ChainGroup, which: str, name: str) -> tuple[Anchor, Anchor | None]:
    """Return a control of a chain, and the space of a name for it; None for the world.

    Raises:
        RigError: If the control cannot have this space, with what to do instead.
    """
    owner = owner_of(settings)
    control = controls_of_chain(settings)[CONTROL_KINDS.index(which)]
    if control is None:
        raise RigError("This chain has no {word}: choose one first.", word=which.lower())
    channels_of(control)
    if not name:
        return control, None
    # A bone of the chain's armature comes before an object of that name.
    if name in owner.pose.bones:
        space = Anchor(owner, name)
    elif (named_object := bpy.data.objects.get(name)) is not None:
        space = Anchor(named_object)
    else:
        raise RigError("There is no bone or object '{name}': choose another space.", name=name)
    check_control(control)
    check_space(control, space, movers())
    return control, space


def movers() -> list[Mover]:
    """Return all chains of the file as movers of bones."""
    return [
        Mover(owner, bones, anchors_of(settings))
        for owner in bpy.data.objects
        if owner.type == "ARMATURE" and owner.pose is not None
        for settings, bones in zip(
            chains_of(owner), bones_of_chains(owner, with_body=True), strict=True
        )
        if bones
    ]


def space_names(settings: ChainGroup, which: str, text: str = "") -> list[str]:
    """Return the names of all possible spaces of a control, first those that it already has.

    ``text`` is a part of the names to return, in upper or lower case.
    """
    control, owner = control_of(settings, which), owner_of(settings)
    if control is None or has_parent(control):
        return []
    bones = [Anchor(owner, name) for name in owner.pose.bones.keys()]
    scene = bpy.context.scene
    objects = [Anchor(item) for item in (scene.objects if scene else ()) if item != owner]
    spaces = (*spaces_of(control), *bones, *objects)
    fitting = [space for space in spaces if text.lower() in label(space).lower()]
    chains = movers()
    names = [label(space) for space in fitting if not makes_cycle(control, space, chains)]
    return list(dict.fromkeys(names))


def lost_spaces(settings: ChainGroup) -> list[str]:
    """Return the names of what a chain's controls move with whose acting space does not exist.

    These are the controls themselves, and what carries them, for example the torso.
    """
    carried, lost = [control_of(settings, which) for which in CONTROL_KINDS], list[str]()
    # The list grows while it is read. Nothing is added twice, for spaces made by hand in a circle.
    for control in carried:
        constraint = None if control is None else active_space(control)
        if control is not None and constraint is not None:
            if is_lost(constraint):
                lost.append(label(control))
            elif (space := space_of(constraint)) not in carried:
                carried.append(space)
    return lost


def space_properties(which: str) -> Any:
    """Return the setting that shows and switches the space of a control."""
    word = which.lower()

    def get(settings: ChainGroup) -> str:
        return space_name(settings, which)

    def switch(settings: ChainGroup, name: str) -> None:
        # Blender does not pass errors on from here; the operator reports them to the user.
        try:
            set_space(*check_space_name(settings, which, name))
        except IKError as error:
            _LOG.warning("'%s', chain '%s': %s", owner_of(settings).name, settings.name, error)

    def search(settings: ChainGroup, _context: bpy.types.Context | None, text: str) -> list[str]:
        return space_names(settings, which, text)

    return StringProperty(
        name="Space" if which == "TARGET" else "Pole Space",
        description=f"Bone or object that the {word} moves with. If you switch it here, the {word}"
        " stays in place, and no key is set. Empty: the armature object for a control bone, the"
        " world for an empty",
        get=get,
        set=switch,
        search=search,
        search_options=set(),
        options=set(),
    )
