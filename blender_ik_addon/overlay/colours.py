"""The colours of what is drawn, with how much they cover."""

from __future__ import annotations

from typing import Any, NamedTuple

import bpy

from .. import preferences
from ..core import Status
from ..rig.batches.batch import Ending

Colour = tuple[float, float, float, float]

# How much of what lies behind areas and lines is covered.
FILL, PLANE, LINE, FAINT, PLATE = 0.16, 0.10, 0.95, 0.5, 0.8
# Of those that a person chooses, where it is not that of lines.
ALPHAS = {"idle": FAINT, "reach": FAINT}


class Colours(NamedTuple):
    """Colours with alpha.

    Attributes:
        reached: Of chains that have arrived.
        held: That limits, stretch or the soft distance keep or help.
        missed: Whose targets are out of reach.
        idle: That are not solved.
        limit: Of the boundaries of joints.
        present: Where a joint stands in them.
        pole: Of the pole's line and plane.
        reach: Of circles about the reach.
        back: Around dots.
        plate: Behind words.
    """

    reached: Colour
    held: Colour
    missed: Colour
    idle: Colour
    limit: Colour
    present: Colour
    pole: Colour
    reach: Colour
    back: Colour
    plate: Colour

    def of_ending(self, ending: Ending | None) -> Colour:
        """Return the colour of a chain by how its last solve ended."""
        if ending is None:
            return self.idle
        if ending.status in (Status.EXTENDED, Status.FOLDED):
            return self.missed
        if ending.status is Status.REACHED and not ending.is_stretched:
            return self.reached
        return self.held


def read_colours(context: bpy.types.Context) -> Colours:
    """Return the colours that a person prefers, and those of the theme behind them."""
    own, theme = preferences.colours(context), context.preferences.themes[0]
    interface, view = theme.user_interface, theme.view_3d
    return Colours(
        **{name: with_alpha(colour, ALPHAS.get(name, LINE)) for name, colour in own.items()},
        present=with_alpha(interface.gizmo_primary, LINE),
        back=with_alpha(view.space.gradients.high_gradient, LINE),
        plate=with_alpha(interface.wcol_tooltip.inner, PLATE),
    )


# ``Any``: the stubs have several types of colours and nothing that they share.
def with_alpha(colour: Any, alpha: float) -> Colour:
    """Return a colour, of three numbers or more, with an alpha."""
    red, green, blue = colour[:3]
    return red, green, blue, alpha
