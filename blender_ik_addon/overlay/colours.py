"""The colours of everything that is drawn, taken from the theme: the one place to choose them."""

from __future__ import annotations

from typing import Any, NamedTuple

import bpy

from ..core import Status
from ..rig.batches.batch import Ending

Colour = tuple[float, float, float, float]

# How much of what lies behind areas and lines is covered.
FILL, PLANE, LINE, FAINT = 0.16, 0.10, 0.95, 0.5


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
        back: Behind text and dots.
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

    def of_ending(self, ending: Ending | None) -> Colour:
        """Return the colour of a chain by how its last solve ended."""
        if ending is None:
            return self.idle
        if ending.status in (Status.EXTENDED, Status.FOLDED):
            return self.missed
        if ending.status is Status.REACHED and not ending.is_stretched:
            return self.reached
        return self.held


def read_colours(preferences: bpy.types.Preferences) -> Colours:
    """Return the colours of the theme."""
    theme = preferences.themes[0]
    interface, view = theme.user_interface, theme.view_3d
    return Colours(
        reached=with_alpha(interface.axis_y, LINE),
        held=with_alpha(view.object_active, LINE),
        missed=with_alpha(interface.axis_x, LINE),
        idle=with_alpha(view.bone_solid, FAINT),
        limit=with_alpha(interface.gizmo_secondary, LINE),
        present=with_alpha(interface.gizmo_primary, LINE),
        pole=with_alpha(interface.axis_z, LINE),
        reach=with_alpha(view.bone_solid, FAINT),
        back=with_alpha(view.space.gradients.high_gradient, LINE),
    )


# ``Any``: the stubs have several types of colours and nothing that they share.
def with_alpha(colour: Any, alpha: float) -> Colour:
    """Return a colour, of three numbers or more, with an alpha."""
    red, green, blue, *_ = colour
    return red, green, blue, alpha
