"""The colours of the overlay, with alpha."""

from __future__ import annotations

from typing import Any, NamedTuple

import bpy

from ..preferences.colours import LOOKS, colours
from ..properties.status import state_of_summary
from ..rig.batches.solve_results import SolveSummary

Rgba = tuple[float, float, float, float]

# Alpha of limit areas, the pole's plane, lines, faint lines and the plates behind words.
FILL_ALPHA, PLANE_ALPHA, LINE_ALPHA, FAINT_ALPHA, PLATE_ALPHA = 0.16, 0.10, 0.95, 0.5, 0.8
# Alpha of those colours of the preferences that do not have LINE_ALPHA, by name.
ALPHAS = {"idle": FAINT_ALPHA, "reach": FAINT_ALPHA}


class Colours(NamedTuple):
    """Colours with alpha; the colours of chains have the names of ``preferences.colours.LOOKS``.

    Attributes:
        reached: Chains at their targets, or short of them by their soft distance.
        held: Chains that limits or stretch affect.
        missed: Chains whose targets are out of reach.
        idle: Chains that are not solved.
        limit: Boundaries of joint limits.
        present: Marks of a joint's present rotation within its limits.
        pole: The pole's line and plane.
        reach: Circles around the reach of a chain.
        back: Rings around dots.
        plate: Plates behind words.
    """

    reached: Rgba
    held: Rgba
    missed: Rgba
    idle: Rgba
    limit: Rgba
    present: Rgba
    pole: Rgba
    reach: Rgba
    back: Rgba
    plate: Rgba

    def of_summary(self, summary: SolveSummary | None) -> Rgba:
        """Return the colour of a chain by how its last solve ended."""
        colour: Rgba = getattr(self, LOOKS[state_of_summary(summary)].colour)
        return colour


def read_colours(context: bpy.types.Context) -> Colours:
    """Return the colours of the preferences, and those that only the theme defines."""
    preferred, theme = colours(context), context.preferences.themes[0]
    interface, view = theme.user_interface, theme.view_3d
    return Colours(
        **{
            name: with_alpha(colour, ALPHAS.get(name, LINE_ALPHA))
            for name, colour in preferred.items()
        },
        present=with_alpha(interface.gizmo_primary, LINE_ALPHA),
        back=with_alpha(view.space.gradients.high_gradient, LINE_ALPHA),
        plate=with_alpha(interface.wcol_tooltip.inner, PLATE_ALPHA),
    )


# ``Any``: the colour types of the stubs have no common base.
def with_alpha(colour: Any, alpha: float) -> Rgba:
    """Return a colour of three or more numbers as RGBA with this alpha."""
    red, green, blue = colour[:3]
    return red, green, blue, alpha
