"""Chains of an armature object that are solved as one body."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import bpy

from ...core import IKError
from ...rig.anatomy.bone_names import Part, read
from ...rig.controls.control_spaces import constraints_of
from ...rig.reading.spec import Anchor
from ..chains import ChainGroup, body_of, chains_of, owner_of
from ..stored import release
from .hierarchy import hips_chain

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
