"""The stored poses of bones that several chains drive: all of these chains tell the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from ..rig.planning.stored_text import bones_of_text, text_of_bones
from ..rig.reading.refusals import RigError
from ..rig.reading.spec import StoredBone
from .chains import ChainGroup, chains_of, is_idle, owner_of
from .records import bones_of_chain, drivers_of

Stored = tuple[StoredBone, ...]


def as_others_have(settings: ChainGroup, taken: Stored) -> Stored:
    """Return a pose taken for a chain with what other chains have stored of its bones.

    Those were there before: what stands on shared bones now is what they have solved.
    """
    known: dict[str, StoredBone] = {}
    for _, stored in _others(settings):
        for bone in stored:
            known.setdefault(bone.name, bone)
    return tuple([_turned_as(bone, known.get(bone.name)) for bone in taken])


def tell_others(settings: ChainGroup, taken: Stored) -> None:
    """Have other chains that have stored bones of a chain store them as it does."""
    known = {bone.name: bone for bone in taken}
    for other, stored in _others(settings):
        if not known.keys().isdisjoint([bone.name for bone in stored]):
            told = [_turned_as(bone, known.get(bone.name)) for bone in stored]
            other.stored_pose = text_of_bones(told)


def shares_bones(settings: ChainGroup) -> bool:
    """Return whether a live chain of the object drives bones that this one does."""
    drivers = drivers_of(owner_of(settings), bones_of_chain(settings))
    return any(other != settings and not is_idle(other) for other, _ in drivers)


def _others(settings: ChainGroup) -> Iterator[tuple[ChainGroup, Stored]]:
    """Yield the other chains of the object that have a stored pose, live ones, and that pose."""
    for other in chains_of(owner_of(settings)):
        if other.stored_pose and other.as_pointer() != settings.as_pointer():
            # One that cannot be read is no other chain's trouble.
            with suppress(RigError):
                yield other, bones_of_text(other.stored_pose)


def _turned_as(bone: StoredBone, other: StoredBone | None) -> StoredBone:
    if other is None:
        return bone
    turned = bone._replace(rotation_mode=other.rotation_mode, rotation=other.rotation)
    # A chain that moves no location would give back what another one does, under its hands.
    has_both = bone.location and other.location
    return turned._replace(location=other.location) if has_both else turned
