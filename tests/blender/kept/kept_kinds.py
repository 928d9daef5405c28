"""Chains in the file of kept poses whose rotations need not be the same, with the reason."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import bpy


class Kind(NamedTuple):
    """What is particular to a kind of chain: why only its tips have to stand where they stood."""

    only_tips: str


STRETCH = Kind("A straight chain tells its bend by the root of what float32 rounds off.")
KINDS = {
    **{f"{solver} stretch": STRETCH for solver in ("TWO_BONE", "FABRIK", "CCD", "NEWTON", "FORCE")},
    "FORCE pole and limits": Kind(
        "Settling goes on until little is gained: how far the pole is followed there hangs on the"
        " last digits."
    ),
    "NEWTON held back": Kind(
        "Targets that limits hold back are tried from many poses, of which the best may be several."
    ),
    "FORCE comfort": Kind("With comfort several ends may be equally good."),
}


def limited(x: float = 60.0, y: float = 40.0) -> Callable[[bpy.types.Object, Sequence[str]], None]:
    """Give all bones ranges about all axes, in degrees to both sides; ``x`` also about Z."""

    def dress(ob: bpy.types.Object, bones: Sequence[str]) -> None:
        for bone in (ob.pose.bones[name] for name in bones):
            for axis, angle in (("x", x), ("y", y), ("z", x)):
                setattr(bone, f"use_ik_limit_{axis}", True)
                setattr(bone, f"ik_min_{axis}", -math.radians(angle))
                setattr(bone, f"ik_max_{axis}", math.radians(angle))

    return dress
