"""Which strokes show chains: what is drawn of every chain, and more of the active one."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..core import Status
from ..rig.batches.batch import Ending
from ..rig.shapes.chain_lines import ChainRows
from ..rig.shapes.chain_shape import ChainShape
from ..rig.shapes.limit_outlines import Part, PlacedLimits
from .colours import FAINT, FILL, PLANE, Colour, Colours, with_alpha
from .strokes import Rim, Strokes, Word, dash, fan_out, pair_up

Array = npt.NDArray[np.float64]

# Dashes of a line to a target, and of one to a pole.
DASHES = 12


class Items(NamedTuple):
    """Which items are drawn; as the properties of the overlay."""

    show_chains: bool
    show_joints: bool
    show_target_lines: bool
    show_reach: bool
    show_poles: bool
    show_limits: bool
    show_text: bool


class SeenChains(NamedTuple):
    """Chains as they stand.

    Attributes:
        rows: Which joints are whose.
        points: All joints, world space, shape (p, 3).
        targets: Where targets are, shape (c, 3), NaN without one.
        endings: How the chains were solved last; None where they were not.
    """

    rows: ChainRows
    points: Array
    targets: Array
    endings: list[Ending | None]

    @classmethod
    def join(cls, parts: list[SeenChains]) -> SeenChains:
        """Return the chains of several armature objects as one."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            ChainRows.join([part.rows for part in parts]),
            np.concatenate([part.points for part in parts]),
            np.concatenate([part.targets for part in parts]),
            [ending for part in parts for ending in part.endings],
        )


def add_chains(
    strokes: Strokes,
    seen: SeenChains,
    items: Items,
    colours: Colours,
    to_words: Callable[[float], str],
) -> None:
    """Add what is drawn of every chain.

    Args:
        strokes: What grows.
        seen: The chains.
        items: What of them is drawn.
        colours: In which colours.
        to_words: Says a length with its unit; empty for one that nobody sees.
    """
    own = np.array([colours.of_ending(ending) for ending in seen.endings])
    rows, points = seen.rows, seen.points
    of_points = own[rows.chain_of]
    if items.show_chains:
        segments = rows.segments
        strokes.thick.add(points[segments], of_points[segments].reshape(-1, 4))
    if items.show_joints:
        strokes.dots.add(points, of_points)
    has_target = ~np.isnan(seen.targets[:, 0])
    roots, targets = points[rows.starts[:-1]][has_target], seen.targets[has_target]
    if items.show_target_lines and len(roots):
        faint = np.repeat(own[has_target], 2 * DASHES, axis=0) * [1.0, 1.0, 1.0, FAINT]
        strokes.thin.add(dash(roots, targets, DASHES), faint)
    for chain in has_target.nonzero()[0].tolist():
        ending = seen.endings[chain]
        if ending is None or ending.status is Status.REACHED:
            continue
        if text := to_words(ending.residual):
            gap = np.stack((points[rows.starts[chain + 1] - 1], seen.targets[chain]))
            _add_gap(strokes, gap, text, items, colours.of_ending(ending))


def _add_gap(strokes: Strokes, gap: Array, text: str, items: Items, colour: Colour) -> None:
    """Add what is left between an effector and its target, shape (2, 3)."""
    if items.show_target_lines:
        strokes.thin.add(gap, colour)
    if items.show_text:
        x, y, z = gap.mean(axis=0).tolist()
        strokes.words.append(Word((x, y, z), text, colour))


def add_active(strokes: Strokes, shape: ChainShape, items: Items, colours: Colours) -> None:
    """Add what is drawn of the active chain alone: reach, pole and limits."""
    if items.show_reach and shape.reach is not None:
        centre = tuple(shape.reach.centre.tolist())
        for radius in (shape.reach.most, shape.reach.least):
            if radius > 0.0:
                strokes.rims.append(Rim(centre, radius, colours.reach, 1.0))
    if items.show_poles and shape.pole is not None:
        pole = shape.pole
        corners = np.stack((pole.root, pole.end, pole.pole))
        strokes.areas.add(corners, with_alpha(colours.pole, PLANE))
        line = dash(pole.bulge[None], pole.pole[None], DASHES)
        strokes.thin.add(line, colours.pole)
        strokes.dots.add(pole.pole[None], colours.pole)
    if items.show_limits and shape.limits is not None:
        _add_limits(strokes, shape.limits, colours)


def _add_limits(strokes: Strokes, limits: PlacedLimits, colours: Colours) -> None:
    fill = with_alpha(colours.limit, FILL)
    faint = with_alpha(colours.limit, FAINT)
    for number, outline in enumerate(limits.outlines.outlines):
        line, centre = limits.points[outline.points], limits.centres[number]
        is_closed = outline.part is Part.SWING
        has_ends = is_closed or (outline.arc is not None and outline.arc.has_ends)
        strokes.thin.add(pair_up(line, is_closed=is_closed), colours.limit if has_ends else faint)
        if has_ends:
            strokes.areas.add(fan_out(centre, line, is_closed=is_closed), fill)
        if has_ends and not is_closed:
            ends = np.stack((centre, line[0], centre, line[-1]))
            strokes.thin.add(ends, colours.limit)
        present = limits.present[number]
        strokes.thin.add(np.stack((centre, present)), colours.present)
        strokes.dots.add(present[None], colours.present)
