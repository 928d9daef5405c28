"""Dots on the floor where feet and hands stand."""

from __future__ import annotations

import numpy as np

from ..core.clips.contacts import Planted
from ..rig.anatomy.soles import soles, up_in
from ..rig.reading.spaces import transform_point
from ..rig.shapes.chain_lines import PosedBones
from .colours import Colours
from .known import KnownRig
from .strokes import Rim, Strokes

# The radius of a ring, as a share of the foot's length.
RING = 0.2


def add_contacts(strokes: Strokes, own: KnownRig, posed: PosedBones, colours: Colours) -> None:
    """Add a ringed dot below each heel and toe that stands; its colour tells which ones do.

    Args:
        strokes: Collects them.
        own: What is known of an armature object.
        posed: Its evaluated bones.
        colours: Of all that is drawn.
    """
    of_kind = {
        Planted.HEEL: colours.pole,
        Planted.TOE: colours.held,
        Planted.FOOT: colours.reached,
    }
    for bone, kind in own.standing:
        touching = soles(own.skeleton, bone, up_in(posed.world))
        points = transform_point(posed.matrix(bone), touching)
        ends = [end for end, stands in enumerate((Planted.HEEL, Planted.TOE)) if kind & stands]
        strokes.dots.add(points[ends], of_kind[kind])
        radius = RING * float(np.linalg.norm(points[1] - points[0]))
        for x, y, z in points[ends].tolist():
            # Joints have dots of their own, in the same colours.
            strokes.rims.append(Rim((x, y, z), radius, of_kind[kind]))
