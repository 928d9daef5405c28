"""What goes along with what in a body: root, torso, and the limbs that hang on them."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence

from ...core.algebra.arithmetic import Flags
from ..reading.skeleton import Skeleton
from .body import Body
from .limb_chains import chain_of
from .limbs import Limb, LimbKind

# A limb alone is no body.
FEWEST_LIMBS = 2


class Trunk(enum.Enum):
    """What carries a body: the root on the floor, and the bone of the hips."""

    ROOT = enum.auto()
    TORSO = enum.auto()


Carrier = Trunk | Limb
"""What a limb's controls can go along with: of a limb, its target."""

STANDING = frozenset((LimbKind.ARM, LimbKind.LEG, LimbKind.SPIDER_LEG))
"""Limbs whose ends stay where they are while the body moves; others go where it goes."""
HELD = {
    LimbKind.ARM: (LimbKind.SPINE, LimbKind.NECK),
    LimbKind.NECK: (LimbKind.SPINE,),
}
"""Limbs whose ends others are taken along with on demand: a hand with the head."""


def find_hips(skeleton: Skeleton, is_free: Flags, limbs: Sequence[Limb]) -> int | None:
    """Return the lowest bone in the middle that all limbs hang under; None without a body.

    Args:
        skeleton: The bones.
        is_free: Which bones chains may drive, shape (n,).
        limbs: All limbs of the body.
    """
    if len(limbs) < FEWEST_LIMBS:
        return None
    starts = [skeleton.index[limb.bones[0]] for limb in limbs]
    return Body(skeleton, is_free).shared_root(starts)


def carriers(skeleton: Skeleton, hips: int, limbs: Iterable[Limb]) -> dict[Limb, list[Carrier]]:
    """Return what the controls of limbs can go along with, first what they do at the beginning.

    Hands and feet stay on the root. All others go along with what they hang on: the end of a limb
    that takes its target's rotation, or the torso.

    Args:
        skeleton: The bones.
        hips: The bone of the torso, which all limbs hang under.
        limbs: Those that have chains.
    """
    ends = {
        skeleton.index[limb.end or limb.bones[-1]]: limb
        for limb in limbs
        if chain_of(limb).use_rotation
    }
    found = {}
    for limb in limbs:
        above = skeleton.ancestors(skeleton.index[limb.bones[0]])[1:]
        below_hips = above[: above.index(hips)]
        on: Carrier = next((ends[bone] for bone in below_hips if bone in ends), Trunk.TORSO)
        first = Trunk.ROOT if limb.kind in STANDING else on
        others = [each for each in ends.values() if each.kind in HELD.get(limb.kind, ())]
        found[limb] = list(dict.fromkeys((first, Trunk.TORSO, *others, Trunk.ROOT)))
    return found
