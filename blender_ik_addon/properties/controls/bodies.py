"""Chains of an armature object that are solved as one body."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import bpy

from ...core import IKError
from ...rig.anatomy.bone_names import Part, read
from ...rig.controls.control_spaces import (
    Mover,
    acting,
    constraints_of,
    is_there,
    makes_ring,
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
from ..records import bones_of_chains, controls_of_chain, moved_by_hand
from ..stored import release
from .hierarchy import hips_chain
from .space_names import movers

ARMS = frozenset((Part.UPPER_ARM, Part.FOREARM, Part.HAND, Part.ARM))
# Whatever is no arm gives way to arms.
OF_OTHERS = 3


def change_body(settings: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    """Give all chains their stored poses back before they drive other bones."""
    owner = owner_of(settings)
    for chain in chains_of(owner):
        # What cannot be given back stays stored, and the status says so.
        with suppress(IKError):
            release(chain)
        give_priority(chain)
    for root in (settings.held_root, settings.root):
        _hold(owner, root, is_root=settings.use_body and root == settings.root)
    settings.held_root = settings.root if settings.use_body else ""
    if settings.use_body:
        _move_spaces(owner)
    owner.update_tag()


def change_root(settings: bpy.types.PropertyGroup, context: bpy.types.Context) -> None:
    """Do the same for another root; while it is no body a root says nothing."""
    if settings.use_body:
        change_body(settings, context)


@contextmanager
def spaces_muted(control: Anchor) -> Iterator[None]:
    """Have the spaces of a control not act meanwhile."""
    acting = [each for each in constraints_of(control) if not each.mute]
    for each in acting:
        each.mute = True
    try:
        yield
    finally:
        for each in acting:
            each.mute = False


def _move_spaces(owner: bpy.types.Object) -> None:
    """Have controls that go along with a bone of their body follow what that bone follows.

    They would move with themselves. They stay where they are.
    """
    known = movers()
    controls = [control for chain in chains_of(owner) for control in moved_by_hand(chain)]
    for control in dict.fromkeys(filter(is_there, controls)):
        for constraint in constraints_of(control) if control.object.is_editable else ():
            space = space_of(constraint)
            if space is None or space.object != owner or constraint.is_override_data:
                continue
            # What has no sound place stays, and the status says so.
            with suppress(IKError):
                if space.bone and makes_ring(control, space, known):
                    _move_space(control, constraint, _followed(control, space, known))


def _followed(control: Anchor, space: Anchor, known: list[Mover]) -> Anchor | None:
    """Return what the nearest bone that carries a space follows, and a control may; else None."""
    owner = space.object
    skeleton = skeleton_of(owner)
    driven = list(zip(chains_of(owner), bones_of_chains(owner), strict=True))
    index = skeleton.index.get(space.bone)
    for bone in () if index is None else skeleton.ancestors(index):
        for chain, bones in driven:
            target = controls_of_chain(chain)[0] if skeleton.names[bone] in bones else None
            if target is not None and not makes_ring(control, target, known):
                return target
    return None


def _move_space(control: Anchor, constraint: bpy.types.Constraint, space: Anchor | None) -> None:
    """Have a control go along with something else instead of one of its spaces."""
    path = constraint.path_from_id("influence")
    has_keys = any(curve.data_path == path for curve in curves(control.object))
    if space is not None and (has_keys or space not in spaces_of(control)):
        replace_space(constraint, control, space)
        return
    if constraint == acting(control):
        set_space(control, space)
    remove_animation(control.object, [constraint.path_from_id()])
    remove_space(control, constraint)


def _hold(owner: bpy.types.Object, root: str, *, is_root: bool) -> None:
    """Have a bone that was or is the root of a body moved as that, or as without."""
    if owner.pose is None or root not in owner.pose.bones:
        return
    # In a body their control moves the hips, by themselves what they have gone along with.
    for each in constraints_of(Anchor(owner, root)):
        each.mute = is_root
    moving = hips_chain(owner, root)
    if moving is not None:
        moving.mute = not is_root


def give_priority(chain: ChainGroup) -> None:
    """Have a chain of a body give way to arms, unless it is one, or somebody has set a priority."""
    if body_of(owner_of(chain)) is None or chain.is_property_set("priority") or not chain.bone:
        return
    if read(chain.bone).part not in ARMS:
        chain.priority = OF_OTHERS
