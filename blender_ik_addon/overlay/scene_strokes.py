"""The strokes that show chains: some for every chain, more for the active one."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..core import Status
from ..core.algebra.arithmetic import Array
from ..core.clips.contacts import Planted
from ..rig.anatomy.soles import soles, up_in
from ..rig.batches.batch import Ending
from ..rig.reading.spaces import transform_point
from ..rig.shapes.chain_lines import ChainRows, PosedBones
from ..rig.shapes.chain_shape import ChainShape
from ..rig.shapes.limit_outlines import PlacedLimits
from .colours import FAINT, FILL, PLANE, Colours, with_alpha
from .known import KnownRig
from .strokes import DASHES, Rim, Strokes, Word, dash

# The radius of the ring about a pin, as a share of the last segment, and that of rings below heels
# and toes, as a share of the foot's length.
RING, CONTACT_RING = 0.25, 0.2
# Multiplied by this a colour is faint.
FADED = np.array((1.0, 1.0, 1.0, FAINT))


class Items(NamedTuple):
    """Which items are drawn; named as the properties of the overlay, in the order of their list."""

    show_chains: bool
    show_joints: bool
    show_target_lines: bool
    show_reach: bool
    show_poles: bool
    show_limits: bool
    show_contacts: bool
    show_text: bool


class SeenChains(NamedTuple):
    """The c chains of a viewport in their present pose.

    Attributes:
        rows: Which joints belong to which chain.
        points: All joints, world space, shape (p, 3).
        targets: World space, shape (c, 3); not finite for chains without a target.
        aimed: The chains that have a target.
        pinned: Those of them that are pinned in a body.
        endings: How the last solve of each chain ended; None if it was not solved.
    """

    rows: ChainRows
    points: Array
    targets: Array
    aimed: list[int]
    pinned: list[int]
    endings: list[Ending | None]


def add_chains(
    strokes: Strokes,
    seen: SeenChains,
    items: Items,
    colours: Colours,
    to_words: Callable[[float], str],
) -> None:
    """Add what is drawn of every chain.

    Args:
        strokes: Collects them.
        seen: The chains.
        items: Which items are drawn.
        colours: In which colours.
        to_words: Returns a length with its unit; empty if it is too small to be seen.
    """
    own = np.array([colours.of_ending(ending) for ending in seen.endings])
    rows, points = seen.rows, seen.points
    if items.show_chains:
        strokes.thick.add(points.take(rows.ends, axis=0), own.take(rows.chain_of_ends, axis=0))
    if items.show_joints:
        strokes.dots.add(points, own.take(rows.chain_of, axis=0))
    if items.show_target_lines and seen.aimed:
        aimed = np.array(seen.aimed)
        roots = points.take(rows.starts.take(aimed), axis=0)
        lines = dash(roots, seen.targets.take(aimed, axis=0))
        faint = own.take(aimed, axis=0) * FADED
        strokes.thin.add(lines, faint.repeat(2 * DASHES, axis=0))
    if items.show_contacts:
        _add_pins(strokes, seen, own)
    _add_gaps(strokes, seen, items, own, to_words)


def _add_pins(strokes: Strokes, seen: SeenChains, own: Array) -> None:
    """Add a ring where each pin holds its effector."""
    for chain in seen.pinned:
        end = seen.points[seen.rows.starts[chain + 1] - 2 : seen.rows.starts[chain + 1]]
        radius = RING * float(np.linalg.norm(end[1] - end[0]))
        x, y, z = seen.targets[chain].tolist()
        strokes.rims.append(Rim((x, y, z), radius, tuple(own[chain].tolist())))


def _add_gaps(
    strokes: Strokes,
    seen: SeenChains,
    items: Items,
    own: Array,
    to_words: Callable[[float], str],
) -> None:
    """Add the gaps that are left between effectors and their targets."""
    missed: list[tuple[int, str]] = []
    for chain in seen.aimed:
        ending = seen.endings[chain]
        if ending is None or ending.status is Status.REACHED:
            continue
        if text := to_words(ending.residual):
            missed.append((chain, text))
    if not missed:
        return
    chains = np.array([chain for chain, _ in missed])
    effectors = seen.points.take(seen.rows.starts.take(chains + 1) - 1, axis=0)
    goals, colours = seen.targets.take(chains, axis=0), own.take(chains, axis=0)
    if items.show_target_lines:
        strokes.thin.add(np.concatenate((effectors, goals), axis=1), colours.repeat(2, axis=0))
    if items.show_text:
        middles = (0.5 * (effectors + goals)).tolist()
        for (_, text), (x, y, z), colour in zip(missed, middles, colours.tolist(), strict=True):
            strokes.words.append(Word((x, y, z), text, tuple(colour)))


def add_active(strokes: Strokes, shape: ChainShape, items: Items, colours: Colours) -> None:
    """Add what is drawn only of the active chain: reach, pole and limits."""
    if items.show_reach and shape.reach is not None:
        centre = tuple(shape.reach.centre.tolist())
        for radius in (shape.reach.most, shape.reach.least):
            if radius > 0.0:
                strokes.rims.append(Rim(centre, radius, colours.reach))
    if items.show_poles and shape.pole is not None:
        pole = shape.pole
        strokes.areas.add(pole.corners, with_alpha(colours.pole, PLANE))
        line = dash(pole.bulge[None], pole.pole[None])
        strokes.thin.add(line, colours.pole)
        strokes.dots.add(pole.pole[None], colours.pole)
    if items.show_limits and shape.limits is not None:
        _add_limits(strokes, shape.limits, colours)


def _add_limits(strokes: Strokes, limits: PlacedLimits, colours: Colours) -> None:
    mesh = limits.outlines.mesh
    vertices = np.concatenate((limits.points, limits.centres, limits.present))
    # In the order of ``Stroke``.
    table = np.array((colours.limit, with_alpha(colours.limit, FAINT), colours.present))
    strokes.thin.add(vertices.take(mesh.lines, axis=0), table.take(mesh.strokes, axis=0))
    if len(mesh.triangles):
        strokes.areas.add(vertices.take(mesh.triangles, axis=0), with_alpha(colours.limit, FILL))
    strokes.dots.add(limits.present, colours.present)


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
        radius = CONTACT_RING * float(np.linalg.norm(points[1] - points[0]))
        for x, y, z in points[ends].tolist():
            # Joints have dots of their own, in the same colours.
            strokes.rims.append(Rim((x, y, z), radius, of_kind[kind]))
