"""Hierarchy of a body: root and torso, and the limbs that move with them or with other limbs."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence

from ...core.algebra.arithmetic import Flags
from ..reading.skeleton import Skeleton
from .body import Body
from .limb_chains import chain_of
from .limbs import Limb, LimbKind

# A single limb is no body.
MIN_LIMBS = 2


class Trunk(enum.Enum):
    """The carriers of a whole body: the root on the floor, and the bone of the hips."""

    ROOT = enum.auto()
    TORSO = enum.auto()


Carrier = Trunk | Limb
"""What the controls of a limb can move with; for a limb, its target."""

STATIONARY_LIMBS = frozenset((LimbKind.ARM, LimbKind.LEG, LimbKind.SPIDER_LEG))
"""Limbs whose ends stay in place while the body moves; the others move with it."""
OPTIONAL_CARRIERS = {
    LimbKind.ARM: (LimbKind.SPINE, LimbKind.NECK),
    LimbKind.NECK: (LimbKind.SPINE,),
}
"""Limbs with which the ends of other limbs can move if chosen: for example a hand with the head."""


def find_hips(skeleton: Skeleton, is_free: Flags, limbs: Sequence[Sequence[str]]) -> int | None:
    """Return the lowest bone in the middle that is above all limbs; None without a body.

    ``is_free`` tells which bones chains may drive, shape (n,). Limbs are names of bones, root
    first.
    """
    if len(limbs) < MIN_LIMBS:
        return None
    return Body(skeleton, is_free).shared_root([skeleton.index[bones[0]] for bones in limbs])


def carriers(skeleton: Skeleton, hips: int, limbs: Iterable[Limb]) -> dict[Limb, list[Carrier]]:
    """Return what the controls of limbs with chains can move with, the default first.

    By default hands and feet move with the root. All others move with their parent: the end of a
    limb that takes its target's rotation, or the torso. ``hips`` is the bone of the torso, which is
    above all limbs.
    """
    ends = {
        skeleton.index[limb.end or limb.bones[-1]]: limb
        for limb in limbs
        if chain_of(limb).use_rotation
    }
    carriers_of = {}
    for limb in limbs:
        above = skeleton.ancestors(skeleton.index[limb.bones[0]])[1:]
        below_hips = above[: above.index(hips)]
        parent: Carrier = next((ends[bone] for bone in below_hips if bone in ends), Trunk.TORSO)
        first = Trunk.ROOT if limb.kind in STATIONARY_LIMBS else parent
        others = [end for end in ends.values() if end.kind in OPTIONAL_CARRIERS.get(limb.kind, ())]
        carriers_of[limb] = list(dict.fromkeys((first, Trunk.TORSO, *others, Trunk.ROOT)))
    return carriers_of
