"""How a compared chain is found again, as long as the file is open."""

from __future__ import annotations

from typing import NamedTuple

import bpy

from ...rig.reading.channels import read_integers
from ..chains import ChainGroup, chain_key, chains_of


class ChainMark(NamedTuple):
    """Identifies a chain without its name and without references.

    Attributes:
        uid: Session uid of the armature object.
        place: Index of the chain in its list.
        purpose: Its tip bone and target, as text. The place alone is not enough: other chains may
            come to it, and undo restores lists.
    """

    uid: int
    place: int
    purpose: str


def mark_of(settings: ChainGroup) -> ChainMark:
    """Return the mark of a chain."""
    return ChainMark(*chain_key(settings), _purpose(settings))


def find_marked(mark: ChainMark) -> ChainGroup | None:
    """Return a chain that was marked; None if it is gone, or has another tip or target now."""
    rows = (read_integers(bpy.data.objects, "session_uid") == mark.uid).nonzero()[0]
    chains = chains_of(bpy.data.objects[int(rows[0])]) if len(rows) else []
    same = [i for i, each in enumerate(chains) if _purpose(each) == mark.purpose]
    if not same:
        return None
    return chains[mark.place if mark.place in same else same[0]]


def _purpose(settings: ChainGroup) -> str:
    target = settings.target
    uid = 0 if target is None else target.session_uid
    return repr((settings.bone, uid, settings.subtarget))
