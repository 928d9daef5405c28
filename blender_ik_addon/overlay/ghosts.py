"""Ghosts: the poses of compared solvers in different colours, with the names at the tips."""

from __future__ import annotations

from operator import itemgetter

import bpy

from ..preferences.colours import ghost_colours
from ..properties.compared.comparison_results import last_comparison
from ..translations import translate
from .colours import with_alpha
from .strokes import Strokes, Word

# Ghosts are slightly transparent, because they are not the real pose.
GHOST_ALPHA = 0.85


def gather_ghosts(context: bpy.types.Context) -> Strokes | None:
    """Return the ghosts to draw in a viewport; None if nothing is compared, or they are off.

    The lines of the row that is chosen in the panel are thick.
    """
    compared, space = last_comparison(context.window_manager), context.space_data
    if not compared.show_ghosts or compared.chain is None:
        return None
    if isinstance(space, bpy.types.SpaceView3D) and not space.overlay.show_overlays:
        return None
    strokes, colours = Strokes(), ghost_colours(context, len(compared.solvers))
    solved = [
        (index == compared.active_index, row, with_alpha(colour, GHOST_ALPHA))
        for index, (row, colour) in enumerate(zip(compared.solvers, colours, strict=True))
        if row.is_solved
    ]
    for _, row, colour in solved:
        x, y, z = row.ghost()[-1].tolist()
        strokes.words.append(Word((x, y, z), translate(row.title), colour))
    # The chosen ghost is drawn over the others.
    for is_chosen, row, colour in sorted(solved, key=itemgetter(0)):
        joints, lines = row.ghost(), strokes.thick if is_chosen else strokes.thin
        lines.add(joints.repeat(2, axis=0)[1:-1], colour)
        strokes.dots.add(joints, colour)
    return strokes
