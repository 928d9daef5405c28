"""Changes to the chains of an armature object when they become one body, or stop being one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import bpy

from ...core import IKError
from ...rig.anatomy.bone_names import BodyPart, read
from ...rig.controls.control_spaces import (
    Mover,
    active_space,
    anchor_exists,
    constraints_of,
    makes_cycle,
    remove_space,
    replace_space,
    set_space,
    spaces_of,
)
from ...rig.keying.keys import remove_animation
from ...rig.planning.known_skeletons import skeleton_of
from ...rig.reading.anchors import space_of
from ...rig.reading.animation import curves
from ...rig.reading.spec import Anchor
from ..chains import ChainGroup, body_of, chains_of, owner_of
from ..records import bones_of_chains, controls_of_chain, existing_controls
from ..stored import release
from .hierarchy import hips_chain
from .space_names import movers

ARMS = frozenset((BodyPart.UPPER_ARM, BodyPart.FOREARM, BodyPart.HAND, BodyPart.ARM))
# Priority of chains that are not arms: these give way to arms.
OTHER_PRIORITY = 3


def change_body(settings: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    """Give stored poses back before the chains drive other bones; set priorities and spaces."""
    owner = owner_of(settings)
    for chain in chains_of(owner):
        # A pose that cannot be given back stays stored, and the status says so.
        with suppress(IKError):
            release(chain)
        set_default_priority(chain)
    for root in (settings.held_root, settings.root):
        _set_root(owner, root, is_root=settings.use_body and root == settings.root)
    settings.held_root = settings.root if settings.use_body else ""
    if settings.use_body:
        _move_spaces(owner)
    owner.update_tag()


def change_root(settings: bpy.types.PropertyGroup, context: bpy.types.Context) -> None:
    """Do the same after a change of the root, which matters only in a body."""
    if settings.use_body:
        change_body(settings, context)


@contextmanager
def spaces_muted(control: Anchor) -> Iterator[None]:
    """Mute the spaces of a control in a ``with`` block."""
    unmuted = [constraint for constraint in constraints_of(control) if not constraint.mute]
    for constraint in unmuted:
        constraint.mute = True
    try:
        yield
    finally:
        for constraint in unmuted:
            constraint.mute = False


def _move_spaces(owner: bpy.types.Object) -> None:
    """Replace spaces of controls that are bones of their own body by what these bones follow.

    Such controls would move with themselves. They stay where they are.
    """
    known = movers()
    controls = [control for chain in chains_of(owner) for control in existing_controls(chain)]
    for control in dict.fromkeys(filter(anchor_exists, controls)):
        for constraint in constraints_of(control) if control.object.is_editable else ():
            space = space_of(constraint)
            if space is None or space.object != owner or constraint.is_override_data:
                continue
            # A space without a finite place stays, and the status says so.
            with suppress(IKError):
                if space.bone and makes_cycle(control, space, known):
                    _move_space(control, constraint, _target_of_carrier(control, space, known))


def _target_of_carrier(control: Anchor, space: Anchor, known: list[Mover]) -> Anchor | None:
    """Return the nearest target, from a space's bone up, that a control can follow, or None."""
    owner = space.object
    skeleton = skeleton_of(owner)
    driven = list(zip(chains_of(owner), bones_of_chains(owner), strict=True))
    index = skeleton.index.get(space.bone)
    for bone in () if index is None else skeleton.ancestors(index):
        for chain, bones in driven:
            target = controls_of_chain(chain)[0] if skeleton.names[bone] in bones else None
            if target is not None and not makes_cycle(control, target, known):
                return target
    return None


def _move_space(control: Anchor, constraint: bpy.types.Constraint, space: Anchor | None) -> None:
    """Replace a space of a control; remove it if the new space is None or exists already."""
    path = constraint.path_from_id("influence")
    has_keys = any(curve.data_path == path for curve in curves(control.object))
    if space is not None and (has_keys or space not in spaces_of(control)):
        replace_space(constraint, control, space)
        return
    if constraint == active_space(control):
        set_space(control, space)
    remove_animation(control.object, [constraint.path_from_id()])
    remove_space(control, constraint)


def _set_root(owner: bpy.types.Object, root: str, *, is_root: bool) -> None:
    """Switch between the two ways to move a bone: as the root of a body, and without a body."""
    if owner.pose is None or root not in owner.pose.bones:
        return
    # In a body the chain of the hips moves them, without a body their spaces do.
    for constraint in constraints_of(Anchor(owner, root)):
        constraint.mute = is_root
    moving = hips_chain(owner, root)
    if moving is not None:
        moving.mute = not is_root


def set_default_priority(chain: ChainGroup) -> None:
    """Let a chain of a body give way to arms, unless it is an arm or its priority was set."""
    if body_of(owner_of(chain)) is None or chain.is_property_set("priority") or not chain.bone:
        return
    if read(chain.bone).part not in ARMS:
        chain.priority = OTHER_PRIORITY
