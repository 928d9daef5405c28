"""From what stands in Blender to strokes: which chains a viewport shows, and as what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import bpy
import numpy as np

from ..core import IKError
from ..properties import SHOWN, active_armature, active_chain, chain_key, chain_spec, owner_of
from ..rig.batches.batch import Ending
from ..rig.live import live
from ..rig.shapes.chain_lines import PosedBones, PosedRigs, read_all_posed, read_scale
from ..rig.shapes.chain_shape import (
    CompiledShape,
    Place,
    compile_shape,
    compile_solved,
    find_places,
    place_shape,
)
from ..rig.tools.lengths import LengthUnit, is_visible, length_in_words, length_unit
from .colours import Colours
from .known import Known, KnownRig
from .scene_strokes import Items, SeenChains, add_active, add_chains
from .strokes import Strokes


class View(NamedTuple):
    """What a viewport shows; equal where the same is to be drawn.

    Attributes:
        scene: Session uid of the scene.
        layer: Name of the view layer.
        rigs: Names of the armature objects that are seen in it.
        active: Name of the active object, and which of its chains is active.
        items: What is drawn of chains.
        colours: In which colours.
    """

    scene: int
    layer: str
    rigs: tuple[str, ...]
    active: tuple[str, int]
    items: Items
    colours: Colours


def find_view(context: bpy.types.Context, known: Known, colours: Colours) -> View | None:
    """Return what the viewport of a context shows; None if it shows no chain."""
    scene, layer, space = context.scene, context.view_layer, context.space_data
    if scene is None or layer is None:
        return None
    names = known.find_names(scene, layer)
    if not names:
        return None
    objects = layer.objects
    seen = [
        name
        for name in names
        if (rig := objects.get(name)) is not None and rig.visible_get(viewport=space)
    ]
    if not seen:
        return None
    meant, shown = active_armature(context), scene.chain_ik.overlay
    chosen = ("", -1) if meant is None else (meant.name, meant.chain_ik.active_index)
    items = Items(*[bool(getattr(shown, name)) for name in SHOWN_ORDER])
    return View(scene.session_uid, layer.name, tuple(seen), chosen, items, colours)


SHOWN_ORDER: Sequence[str] = Items._fields
assert set(SHOWN_ORDER) == set(SHOWN)


class Shown(NamedTuple):
    """An armature object that a viewport shows.

    Attributes:
        rig: The object, original; for the time of one drawing.
        own: What is known of it.
        is_solved: Whether its chains are solved live.
    """

    rig: bpy.types.Object
    own: KnownRig
    is_solved: bool


def gather(context: bpy.types.Context, known: Known, view: View) -> Strokes:
    """Return what a viewport shows as strokes."""
    strokes, layer = Strokes(), context.view_layer
    if layer is None or layer.depsgraph is None:
        return strokes
    graph = layer.depsgraph
    all_shown = _find_shown(context, known, view)
    evaluated = [shown.rig.evaluated_get(graph) for shown in all_shown]
    pairs = [
        (shown, each)
        for shown, each in zip(all_shown, evaluated, strict=True)
        if len(each.pose.bones) == len(shown.own.skeleton.names)
    ]
    if not pairs:
        return strokes
    all_posed = read_all_posed([each for _, each in pairs])
    seen = _look_at([shown for shown, _ in pairs], all_posed, known, graph)
    to_words = partial(_say, unit=length_unit(context.scene))
    active = active_chain(context)
    owner = None if active is None else owner_of(active)
    for number, (shown, each) in enumerate(pairs):
        if active is not None and shown.rig == owner:
            posed = all_posed.rig(number)
            if view.items.show_limits:
                posed = replace(posed, scale=read_scale(each))
            _look_closer(strokes, active, shown, posed, graph, known, view)
    add_chains(strokes, seen, view.items, view.colours, to_words)
    return strokes


def _find_shown(context: bpy.types.Context, known: Known, view: View) -> list[Shown]:
    """Return the armature objects of a view that have chains with bones."""
    objects, use_live = context.view_layer.objects, context.scene.chain_ik.use_live
    found = []
    for name in view.rigs:
        rig = objects.get(name)
        if rig is None or rig.mode == "EDIT" or rig.pose is None:
            continue
        own = known.rig(rig)
        if own.rows is not None:
            found.append(Shown(rig, own, use_live and rig.data.pose_position == "POSE"))
    return found


def _look_at(
    all_shown: list[Shown], all_posed: PosedRigs, known: Known, graph: bpy.types.Depsgraph
) -> SeenChains:
    """Return the chains of armature objects as they stand."""
    targets: list[Place] = []
    endings: list[Ending | None] = []
    for number, (rig, own, is_solved) in enumerate(all_shown):
        posed = all_posed.rig(number)
        targets += find_places(own.anchors, graph, rig, own.skeleton, posed)
        found = live.memory.endings(rig.session_uid) if is_solved else {}
        pairs = zip(own.chains, own.is_idle, strict=True)
        endings += [None if is_idle else found.get(index) for index, is_idle in pairs]
    rows = known.join([shown.own for shown in all_shown], all_posed.firsts)
    places = np.array(targets)
    places[~np.isfinite(places).all(axis=1)] = np.nan
    return SeenChains(rows, rows.place_all(all_posed), places, endings)


def _look_closer(
    strokes: Strokes,
    active: bpy.types.PropertyGroup,
    shown: Shown,
    posed: PosedBones,
    graph: bpy.types.Depsgraph,
    known: Known,
    view: View,
) -> None:
    """Add what is drawn of the active chain alone."""
    items, (rig, own, is_solved) = view.items, shown
    index = chain_key(active)[1]
    if index not in own.chains:
        return
    if not (items.show_reach or items.show_poles or items.show_limits):
        return
    shape = _compile(active, index, own, known, is_solved=is_solved)
    if shape is None:
        return
    anchors = (shape.spec.target, shape.spec.pole)
    found = np.array(find_places(anchors, graph, rig, own.skeleton, posed))
    places = [place if np.isfinite(place).all() else None for place in found]
    add_active(strokes, place_shape(shape, posed, *places), items, view.colours)


def _compile(
    active: bpy.types.PropertyGroup, index: int, own: KnownRig, known: Known, *, is_solved: bool
) -> CompiledShape | None:
    """Return what stays of the active chain while only its pose changes; None if it is unsound."""
    is_live = is_solved and not own.is_idle[own.chains.index(index)]
    live_chain = live.memory.live_chain(chain_key(active)) if is_live else None
    made_of, shape = own.closer.get(index, (None, None))
    if shape is not None and made_of is live_chain:
        return shape
    try:
        if live_chain is not None:
            shape = compile_solved(live_chain, known.shapes)
        else:
            spec = chain_spec(active, with_stored=False)
            shape = compile_shape(owner_of(active), own.skeleton, spec, known.shapes)
    except IKError:
        # The status says what is wrong with it.
        return None
    own.closer[index] = live_chain, shape
    return shape


def _say(length: float, unit: LengthUnit) -> str:
    is_told = np.isfinite(length) and is_visible(length, unit)
    return length_in_words(length, unit) if is_told else ""
