"""Dots on the floor where feet and hands stand."""

from __future__ import annotations

from ..core.clips.contacts import Planted
from ..rig.clips.feet import soles_of
from ..rig.reading.spaces import transform_point
from ..rig.shapes.chain_lines import PosedBones
from .colours import Colours
from .known import KnownRig
from .strokes import Strokes


def add_contacts(strokes: Strokes, own: KnownRig, posed: PosedBones, colours: Colours) -> None:
    """Add a dot below each heel and toe that stands, in a colour that tells which ones do.

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
        points = transform_point(posed.matrix(bone), soles_of(own.skeleton, bone, posed.world))
        ends = [end for end, stands in enumerate((Planted.HEEL, Planted.TOE)) if kind & stands]
        strokes.dots.add(points[ends], of_kind[kind])
