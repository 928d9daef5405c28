"""The strokes of chains: some for every chain, more for the active one."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..core import Status
from ..core.algebra.arithmetic import Array
from ..core.clips.contacts import Planted
from ..rig.anatomy.soles import soles, up_in
from ..rig.batches.solve_results import SolveSummary
from ..rig.reading.spaces import transform_point
from ..rig.shapes.chain_lines import ChainRows, EvaluatedPose
from ..rig.shapes.chain_shape import ChainShape
from ..rig.shapes.limit_outlines import PlacedLimits
from .colours import FAINT_ALPHA, FILL_ALPHA, PLANE_ALPHA, Colours, with_alpha
from .overlay_cache import CachedRig
from .strokes import DASHES, Rim, Strokes, Word, dash

# Radius of the ring around a pin, as a share of the last segment's length, and radius of the rings
# below heels and toes, as a share of the foot's length.
RING, CONTACT_RING = 0.25, 0.2
# Factors that make an RGBA colour faint.
FADED = np.array((1.0, 1.0, 1.0, FAINT_ALPHA))


class Items(NamedTuple):
    """Items of the overlay that are on; names and order are those of its properties."""

    show_chains: bool
    show_joints: bool
    show_target_lines: bool
    show_reach: bool
    show_poles: bool
    show_limits: bool
    show_contacts: bool
    show_text: bool


class VisibleChains(NamedTuple):
    """The c chains of a viewport in their present pose.

    Attributes:
        rows: The joints of every chain.
        points: Positions of all joints, world space, shape (p, 3).
        targets: World space, shape (c, 3); not finite for chains without a target.
        aimed: Indices of the chains that have a target.
        pinned: Indices of those that are pinned in a body as well.
        summaries: SolveSummary of each chain's last solve; None if it was not solved.
    """

    rows: ChainRows
    points: Array
    targets: Array
    aimed: list[int]
    pinned: list[int]
    summaries: list[SolveSummary | None]


def add_chains(
    strokes: Strokes,
    chains: VisibleChains,
    items: Items,
    colours: Colours,
    to_words: Callable[[float], str],
) -> None:
    """Add the strokes that every chain has.

    ``to_words`` returns a length with its unit; an empty text if the length is too small to see.
    """
    rgba = np.array([colours.of_summary(summary) for summary in chains.summaries])
    rows, points = chains.rows, chains.points
    if items.show_chains:
        strokes.thick.add(points.take(rows.ends, axis=0), rgba.take(rows.chain_of_ends, axis=0))
    if items.show_joints:
        strokes.dots.add(points, rgba.take(rows.chain_of, axis=0))
    if items.show_target_lines and chains.aimed:
        aimed = np.array(chains.aimed)
        roots = points.take(rows.starts.take(aimed), axis=0)
        lines = dash(roots, chains.targets.take(aimed, axis=0))
        faint = rgba.take(aimed, axis=0) * FADED
        strokes.thin.add(lines, faint.repeat(2 * DASHES, axis=0))
    for chain in chains.pinned if items.show_contacts else ():
        # A ring at the target.
        end = points[rows.starts[chain + 1] - 2 : rows.starts[chain + 1]]
        radius = RING * float(np.linalg.norm(end[1] - end[0]))
        x, y, z = chains.targets[chain].tolist()
        strokes.rims.append(Rim((x, y, z), radius, tuple(rgba[chain].tolist())))
    _add_gaps(strokes, chains, items, rgba, to_words)


def _add_gaps(
    strokes: Strokes,
    chains: VisibleChains,
    items: Items,
    rgba: Array,
    to_words: Callable[[float], str],
) -> None:
    """Add the gaps between effectors and the targets that they do not reach."""
    missed: list[tuple[int, str]] = []
    for chain in chains.aimed:
        summary = chains.summaries[chain]
        if summary is None or summary.status is Status.REACHED:
            continue
        if text := to_words(summary.residual):
            missed.append((chain, text))
    if not missed:
        return
    indices = np.array([chain for chain, _ in missed])
    effectors = chains.points.take(chains.rows.starts.take(indices + 1) - 1, axis=0)
    goals, colours = chains.targets.take(indices, axis=0), rgba.take(indices, axis=0)
    if items.show_target_lines:
        strokes.thin.add(np.concatenate((effectors, goals), axis=1), colours.repeat(2, axis=0))
    if items.show_text:
        middles = (0.5 * (effectors + goals)).tolist()
        for (_, text), (x, y, z), colour in zip(missed, middles, colours.tolist(), strict=True):
            strokes.words.append(Word((x, y, z), text, tuple(colour)))


def add_active(strokes: Strokes, shape: ChainShape, items: Items, colours: Colours) -> None:
    """Add the strokes that only the active chain has: reach, pole and limits."""
    if items.show_reach and shape.reach is not None:
        centre = tuple(shape.reach.centre.tolist())
        for radius in (shape.reach.most, shape.reach.least):
            if radius > 0.0:
                strokes.rims.append(Rim(centre, radius, colours.reach))
    if items.show_poles and shape.pole is not None:
        pole = shape.pole
        strokes.areas.add(pole.corners, with_alpha(colours.pole, PLANE_ALPHA))
        line = dash(pole.bulge[None], pole.pole[None])
        strokes.thin.add(line, colours.pole)
        strokes.dots.add(pole.pole[None], colours.pole)
    if items.show_limits and shape.limits is not None:
        _add_limits(strokes, shape.limits, colours)


def _add_limits(strokes: Strokes, limits: PlacedLimits, colours: Colours) -> None:
    mesh = limits.outlines.mesh
    vertices = np.concatenate((limits.points, limits.centres, limits.present))
    # In the order of ``Stroke``.
    table = np.array((colours.limit, with_alpha(colours.limit, FAINT_ALPHA), colours.present))
    strokes.thin.add(vertices.take(mesh.lines, axis=0), table.take(mesh.strokes, axis=0))
    if len(mesh.triangles):
        strokes.areas.add(
            vertices.take(mesh.triangles, axis=0), with_alpha(colours.limit, FILL_ALPHA)
        )
    strokes.dots.add(limits.present, colours.present)


def add_contacts(
    strokes: Strokes, cached: CachedRig, posed: EvaluatedPose, colours: Colours
) -> None:
    """Add a ringed dot below each planted heel and toe; the colour shows which of them stand."""
    of_kind = {
        Planted.HEEL: colours.pole,
        Planted.TOE: colours.held,
        Planted.FOOT: colours.reached,
    }
    for bone, kind in cached.planted_bones:
        contacts = soles(cached.skeleton, bone, up_in(posed.world))
        points = transform_point(posed.matrix(bone), contacts)
        ends = [end for end, part in enumerate((Planted.HEEL, Planted.TOE)) if kind & part]
        strokes.dots.add(points[ends], of_kind[kind])
        radius = CONTACT_RING * float(np.linalg.norm(points[1] - points[0]))
        for x, y, z in points[ends].tolist():
            # The ring tells a contact from a joint, whose dot may have the same colour.
            strokes.rims.append(Rim((x, y, z), radius, of_kind[kind]))
