"""Chains that a viewport shows, read from Blender and turned into strokes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import bpy
import numpy as np

from ..core import IKError, Status
from ..properties.chains import active_armature, active_chain, chain_key, owner_of
from ..properties.records import chain_spec
from ..rig.batches.solve_results import SolveSummary
from ..rig.live import live
from ..rig.planning.live_chain import LiveChain
from ..rig.posing.outcome import gap_after_constraints
from ..rig.reading.update import graph_key
from ..rig.shapes.chain_lines import EvaluatedPose, are_drawable, read_evaluated_pose
from ..rig.shapes.chain_shape import (
    CompiledShape,
    WorldPoint,
    compile_shape,
    find_place,
    place_shape,
)
from ..rig.tools.lengths import LengthUnit, is_visible, length_in_words, length_unit
from .colours import Colours
from .overlay_cache import CachedRig, OverlayCache
from .scene_strokes import Items, VisibleChains, add_active, add_chains, add_contacts
from .strokes import Strokes


class ViewKey(NamedTuple):
    """The content of a viewport; viewports with equal keys share their batches.

    Attributes:
        scene: Session uid of the scene.
        layer: Name of the view layer.
        rigs: Session uids of the visible armature objects with chains.
        active: Session uid of the armature whose chains the panels show, and the index of its
            active chain; (0, -1) without such an armature.
        items: The items to draw.
        colours: Their colours.
    """

    scene: int
    layer: str
    rigs: tuple[int, ...]
    active: tuple[int, int]
    items: Items
    colours: Colours


def find_view(
    context: bpy.types.Context, cache: OverlayCache, colours: Colours
) -> tuple[ViewKey, list[bpy.types.Object]] | None:
    """Return the content of a context's viewport, and its visible armature objects with chains.

    None without such an object.
    """
    scene, layer = context.scene, context.view_layer
    # ``Any``: the stubs do not know that it is a 3D viewport.
    space: Any = context.space_data
    if scene is None or layer is None:
        return None
    rigs = [
        rig
        for rig in cache.find_rigs(scene, layer)
        if rig.visible_get(view_layer=layer, viewport=space)
    ]
    if not rigs:
        return None
    owner, overlay = active_armature(context), scene.chain_ik.overlay
    active = (0, -1) if owner is None else (owner.session_uid, owner.chain_ik.active_index)
    items = Items(**{name: getattr(overlay, name) for name in Items._fields})
    uids = tuple([rig.session_uid for rig in rigs])
    return ViewKey(scene.session_uid, layer.name, uids, active, items, colours), rigs


class ShownRig(NamedTuple):
    """An armature object that a viewport shows; valid during one draw only.

    Attributes:
        rig: The original object.
        cached: Its cached settings and bones.
        posed: Its evaluated bones.
        is_solved: Whether its chains are solved live.
    """

    rig: bpy.types.Object
    cached: CachedRig
    posed: EvaluatedPose
    is_solved: bool


def gather(
    context: bpy.types.Context, cache: OverlayCache, view: ViewKey, rigs: Sequence[bpy.types.Object]
) -> Strokes:
    """Return the strokes of all chains that a viewport shows."""
    strokes, layer = Strokes(), context.view_layer
    if layer is None or layer.depsgraph is None:
        return strokes
    graph = layer.depsgraph
    shown_rigs = _find_shown_rigs(context, cache, rigs, graph)
    if not shown_rigs:
        return strokes
    visible = _read_chains(shown_rigs, cache, graph)
    if not are_drawable(visible.points):
        # The status of a chain says why its bones have no finite positions.
        shown_rigs = [
            shown for shown in map(_drop_far_chains, shown_rigs) if shown.cached.rows is not None
        ]
        if not shown_rigs:
            return strokes
        visible = _read_chains(shown_rigs, cache, graph)
    active = active_chain(context)
    if active is not None:
        _add_active(strokes, active, shown_rigs, visible, graph, cache, view)
    if view.items.show_contacts:
        for shown in shown_rigs:
            add_contacts(strokes, shown.cached, shown.posed, view.colours)
    to_words = partial(_length_text, unit=length_unit(context.scene))
    add_chains(strokes, visible, view.items, view.colours, to_words)
    return strokes


def _find_shown_rigs(
    context: bpy.types.Context,
    cache: OverlayCache,
    rigs: Sequence[bpy.types.Object],
    graph: bpy.types.Depsgraph,
) -> list[ShownRig]:
    """Return the armature objects whose chains have bones; none that is in edit mode."""
    use_live, shown_rigs = context.scene.chain_ik.use_live, []
    for rig in rigs:
        if rig.mode == "EDIT":
            continue
        cached = cache.rig(rig)
        if cached.rows is None:
            continue
        posed = read_evaluated_pose(rig.evaluated_get(graph), len(cached.skeleton.names))
        if posed is not None:
            is_solved = use_live and rig.data.pose_position == "POSE"
            shown_rigs.append(ShownRig(rig, cached, posed, is_solved))
    return shown_rigs


def _drop_far_chains(shown: ShownRig) -> ShownRig:
    """Return an armature object with only those chains that are near enough to be drawn."""
    rows = shown.cached.rows
    indices = [] if rows is None else rows.near(rows.place([shown.posed]))
    return shown._replace(cached=shown.cached.only(indices))


def _read_chains(
    shown_rigs: list[ShownRig], cache: OverlayCache, graph: bpy.types.Depsgraph
) -> VisibleChains:
    """Return the chains of armature objects in their present pose."""
    targets: list[WorldPoint] = []
    summaries: list[SolveSummary | None] = []
    scene_uids, key = cache.find_scene_uids(graph), graph_key(graph)
    for rig, cached, _, is_solved in shown_rigs:
        targets += [find_place(chain.target, graph, scene_uids) for chain in cached.drawn]
        solved = [chain.solved if is_solved else -1 for chain in cached.drawn]
        summaries += live.memory.summaries(key, rig.session_uid, solved)
    rows = cache.join([shown.cached for shown in shown_rigs])
    points = rows.place([shown.posed for shown in shown_rigs])
    # The sum is finite if all three numbers are. For three numbers this is faster than NumPy.
    aimed = [number for number, place in enumerate(targets) if math.isfinite(sum(place))]
    places = np.fromiter(itertools.chain.from_iterable(targets), np.float64).reshape(-1, 3)
    drawn = [chain for shown in shown_rigs for chain in shown.cached.drawn]
    for number in [number for number in aimed if drawn[number].is_constrained]:
        joints = points[slice(*rows.starts[number : number + 2].tolist())]
        if (summary := summaries[number]) is not None:
            gap = gap_after_constraints(summary.residual, joints[-1], places[number], joints)
            if gap is not None:
                # Constraints have moved the tip off its target after the solve.
                summaries[number] = summary._replace(status=Status.LIMITED, residual=gap)
    pinned = [number for number in aimed if drawn[number].is_pinned]
    return VisibleChains(rows, points, places, aimed, pinned, summaries)


def _add_active(
    strokes: Strokes,
    active: bpy.types.PropertyGroup,
    shown_rigs: list[ShownRig],
    visible: VisibleChains,
    graph: bpy.types.Depsgraph,
    cache: OverlayCache,
    view: ViewKey,
) -> None:
    """Add the strokes that only the active chain has."""
    items, (uid, index) = view.items, chain_key(active)
    if not (items.show_reach or items.show_poles or items.show_limits):
        return
    pairs = [(shown, chain) for shown in shown_rigs for chain in shown.cached.drawn]
    matching = (
        number
        for number, (shown, chain) in enumerate(pairs)
        if chain.index == index and shown.rig.session_uid == uid
    )
    number = next(matching, None)
    if number is None:
        return
    shown, chain = pairs[number]
    is_idle = chain.solved < 0
    if is_idle:
        # Its bones do not point to the pole.
        items = items._replace(show_poles=False)
    is_live, key = shown.is_solved and not is_idle, (uid, index)
    live_chain = live.memory.live_chain(graph_key(graph), key) if is_live else None
    shape = _compile_active(active, index, shown.cached, live_chain)
    if shape is None:
        return
    pole = np.array(find_place(shape.spec.pole, graph, cache.find_scene_uids(graph)))
    target = visible.targets[number] if number in visible.aimed else None
    points = visible.points[slice(*visible.rows.starts[number : number + 2].tolist())]
    placed = place_shape(shape, points, shown.posed, target, pole if are_drawable(pole) else None)
    add_active(strokes, placed, items, view.colours)


def _compile_active(
    active: bpy.types.PropertyGroup, index: int, cached: CachedRig, live_chain: LiveChain | None
) -> CompiledShape | None:
    """Return the active chain's shape without its pose, cached; None if it cannot be used."""
    source_chain, shape = cached.compiled.get(index, (None, None))
    if shape is not None and source_chain is live_chain:
        return shape
    try:
        chain_or_spec = live_chain or chain_spec(active, with_stored=False)
        shape = compile_shape(owner_of(active), cached.skeleton, chain_or_spec)
    except IKError:
        # The status of the chain tells the problem.
        return None
    cached.compiled[index] = live_chain, shape
    return shape


def _length_text(length: float, unit: LengthUnit) -> str:
    can_be_seen = math.isfinite(length) and is_visible(length, unit)
    return length_in_words(length, unit) if can_be_seen else ""
