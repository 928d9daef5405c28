"""From what stands in Blender to strokes: which chains a viewport shows, and as what."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import bpy
import numpy as np

from ..core import IKError
from ..properties import SHOWN, active_chain, chain_key, chain_spec, owner_of
from ..rig.live import live
from ..rig.shapes.chain_lines import PosedBones, read_posed
from ..rig.shapes.chain_shape import compile_shape, find_place, place_shape
from ..rig.tools.lengths import LengthUnit, is_visible, length_in_words, length_unit
from .colours import Colours
from .known import Known, KnownRig, no_places
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
    active, shown = objects.active, scene.chain_ik.overlay
    chosen = ("", -1)
    if active is not None:
        chosen = active.name, active.chain_ik.active_index
    items = Items(*[bool(getattr(shown, name)) for name in SHOWN_ORDER])
    return View(scene.session_uid, layer.name, tuple(seen), chosen, items, colours)


SHOWN_ORDER: Sequence[str] = Items._fields
assert set(SHOWN_ORDER) == set(SHOWN)


def gather(context: bpy.types.Context, known: Known, view: View) -> Strokes:
    """Return what a viewport shows as strokes."""
    strokes, layer = Strokes(), context.view_layer
    if layer is None or layer.depsgraph is None:
        return strokes
    graph, seen = layer.depsgraph, list[SeenChains]()
    active = active_chain(context)
    to_words = partial(_say, unit=length_unit(context.scene))
    use_live = context.scene.chain_ik.use_live
    for name in view.rigs:
        rig = layer.objects.get(name)
        if rig is None or rig.mode == "EDIT" or rig.pose is None:
            continue
        own = known.rig(rig)
        posed = read_posed(rig.evaluated_get(graph))
        if own.rows is None or len(posed.matrices) != len(own.skeleton.names):
            continue
        is_solved = use_live and rig.data.pose_position == "POSE"
        seen.append(_look_at(rig, own, posed, graph, is_solved=is_solved))
        if active is not None and owner_of(active) == rig:
            _look_closer(strokes, active, own, posed, graph, known, view)
    if seen:
        add_chains(strokes, SeenChains.join(seen), view.items, view.colours, to_words)
    return strokes


def _look_at(
    rig: bpy.types.Object,
    own: KnownRig,
    posed: PosedBones,
    graph: bpy.types.Depsgraph,
    *,
    is_solved: bool,
) -> SeenChains:
    """Return the chains of an armature object as they stand."""
    assert own.rows is not None
    targets = no_places(len(own.chains))
    for number, anchor in enumerate(own.anchors):
        place = find_place(anchor, graph, rig, own.skeleton, posed)
        if place is not None:
            targets[number] = place
    uid = rig.session_uid
    endings = [
        live.memory.ending((uid, index)) if is_solved and not idle else None
        for index, idle in zip(own.chains, own.is_idle, strict=True)
    ]
    return SeenChains(own.rows, own.rows.place(posed), targets, endings)


def _look_closer(
    strokes: Strokes,
    active: bpy.types.PropertyGroup,
    own: KnownRig,
    posed: PosedBones,
    graph: bpy.types.Depsgraph,
    known: Known,
    view: View,
) -> None:
    """Add what is drawn of the active chain alone."""
    items = view.items
    if chain_key(active)[1] not in own.chains:
        return
    if not (items.show_reach or items.show_poles or items.show_limits):
        return
    rig = owner_of(active)
    try:
        spec = chain_spec(active, with_stored=False)
        shape = compile_shape(rig, own.skeleton, spec, known.shapes)
    except IKError:
        # The status says what is wrong with it.
        return
    places = [
        find_place(anchor, graph, rig, own.skeleton, posed) for anchor in (spec.target, spec.pole)
    ]
    add_active(strokes, place_shape(shape, posed, *places), items, view.colours)


def _say(length: float, unit: LengthUnit) -> str:
    is_told = np.isfinite(length) and is_visible(length, unit)
    return length_in_words(length, unit) if is_told else ""
