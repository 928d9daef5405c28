"""Which chains a viewport shows, read from Blender and turned into strokes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import bpy
import numpy as np

from ..core import IKError, Status
from ..core.algebra.arithmetic import Array
from ..properties.chains import active_armature, active_chain, chain_key, owner_of
from ..properties.records import chain_spec
from ..rig.batches.batch import Ending
from ..rig.live import live
from ..rig.posing.outcome import left_after
from ..rig.reading.update import graph_key
from ..rig.shapes.chain_lines import PosedBones, are_near, read_posed
from ..rig.shapes.chain_shape import (
    CompiledShape,
    Place,
    compile_shape,
    find_places,
    place_shape,
)
from ..rig.tools.lengths import LengthUnit, is_visible, length_in_words, length_unit
from .colours import Colours
from .known import Known, KnownRig
from .scene_strokes import Items, SeenChains, add_active, add_chains, add_contacts
from .strokes import Strokes


class View(NamedTuple):
    """What a viewport shows; equal views are drawn the same.

    Attributes:
        scene: Session uid of the scene.
        layer: Name of the view layer.
        rigs: Session uids of the armature objects that are seen in it.
        active: Session uid of the armature whose chains the panels show, 0 for none, and which of
            them is active.
        items: Which items are drawn.
        colours: In which colours.
    """

    scene: int
    layer: str
    rigs: tuple[int, ...]
    active: tuple[int, int]
    items: Items
    colours: Colours


def find_view(
    context: bpy.types.Context, known: Known, colours: Colours
) -> tuple[View, list[bpy.types.Object]] | None:
    """Return what the viewport of a context shows, and the armature objects that are seen in it.

    None if it shows no chain.
    """
    scene, layer = context.scene, context.view_layer
    # ``Any``: the stubs do not know that it is a 3D viewport.
    space: Any = context.space_data
    if scene is None or layer is None:
        return None
    rigs = [
        rig
        for rig in known.find_rigs(scene, layer)
        if rig.visible_get(view_layer=layer, viewport=space)
    ]
    if not rigs:
        return None
    meant, shown = active_armature(context), scene.chain_ik.overlay
    chosen = (0, -1) if meant is None else (meant.session_uid, meant.chain_ik.active_index)
    items = Items(**{name: getattr(shown, name) for name in Items._fields})
    seen = tuple([rig.session_uid for rig in rigs])
    return View(scene.session_uid, layer.name, seen, chosen, items, colours), rigs


class Shown(NamedTuple):
    """An armature object that a viewport shows; valid during one draw only.

    Attributes:
        rig: The original object.
        own: What is known of it.
        posed: Its evaluated bones.
        is_solved: Whether its chains are solved live.
    """

    rig: bpy.types.Object
    own: KnownRig
    posed: PosedBones
    is_solved: bool


def gather(
    context: bpy.types.Context, known: Known, view: View, rigs: Sequence[bpy.types.Object]
) -> Strokes:
    """Return what a viewport shows as strokes."""
    strokes, layer = Strokes(), context.view_layer
    if layer is None or layer.depsgraph is None:
        return strokes
    graph = layer.depsgraph
    all_shown = _find_shown(context, known, rigs, graph)
    if not all_shown:
        return strokes
    seen = _see_chains(all_shown, known, graph)
    if not are_near(seen.points):
        # The status of a chain says why its bones have no finite place.
        all_shown = [each for each in map(_near_part, all_shown) if each.own.rows is not None]
        if not all_shown:
            return strokes
        seen = _see_chains(all_shown, known, graph)
    active = active_chain(context)
    if active is not None:
        _add_active(strokes, active, all_shown, seen, graph, known, view)
    if view.items.show_contacts:
        for shown in all_shown:
            add_contacts(strokes, shown.own, shown.posed, view.colours)
    to_words = partial(_say, unit=length_unit(context.scene))
    add_chains(strokes, seen, view.items, view.colours, to_words)
    return strokes


def _find_shown(
    context: bpy.types.Context,
    known: Known,
    rigs: Sequence[bpy.types.Object],
    graph: bpy.types.Depsgraph,
) -> list[Shown]:
    """Return the armature objects that have chains with bones, with their evaluated bones."""
    use_live, found = context.scene.chain_ik.use_live, []
    for rig in rigs:
        if rig.mode == "EDIT":
            continue
        own = known.rig(rig)
        if own.rows is None:
            continue
        posed = read_posed(rig.evaluated_get(graph), len(own.skeleton.names))
        if posed is not None:
            is_solved = use_live and rig.data.pose_position == "POSE"
            found.append(Shown(rig, own, posed, is_solved))
    return found


def _near_part(shown: Shown) -> Shown:
    """Return an armature object with only those chains that are near enough to be drawn."""
    rows = shown.own.rows
    near = [] if rows is None else rows.near(rows.place([shown.posed]))
    return shown._replace(own=shown.own.only(near))


def _see_chains(all_shown: list[Shown], known: Known, graph: bpy.types.Depsgraph) -> SeenChains:
    """Return the chains of armature objects in their present pose."""
    targets: list[Place] = []
    endings: list[Ending | None] = []
    present, shown = known.find_present(graph), graph_key(graph)
    for rig, own, posed, is_solved in all_shown:
        targets += find_places(own.anchors, graph, rig, own.skeleton, posed, present)
        solved = own.solved if is_solved else (-1,) * len(own.solved)
        endings += live.memory.endings(shown, rig.session_uid, solved)
    rows = known.join([shown.own for shown in all_shown])
    points = rows.place([shown.posed for shown in all_shown])
    # The sum is finite if all three numbers are; for so few this is faster than NumPy.
    aimed = [number for number, place in enumerate(targets) if math.isfinite(sum(place))]
    places = np.fromiter(chain.from_iterable(targets), np.float64).reshape(-1, 3)
    tied = [each for shown in all_shown for each in shown.own.tied]
    for number in [number for number in aimed if tied[number]]:
        joints = points[slice(*rows.starts[number : number + 2].tolist())]
        endings[number] = _after_constraints(endings[number], joints, places[number])
    is_pinned = [each for shown in all_shown for each in shown.own.pinned]
    pinned = [number for number in aimed if is_pinned[number]]
    return SeenChains(rows, points, places, aimed, pinned, endings)


def _after_constraints(ending: Ending | None, joints: Array, target: Array) -> Ending | None:
    """Return how the solve of a chain ended, or that constraints have moved its tip off since."""
    if ending is None:
        return None
    gap = left_after(ending.residual, joints[-1], target, joints)
    return ending if gap is None else ending._replace(status=Status.LIMITED, residual=gap)


def _add_active(
    strokes: Strokes,
    active: bpy.types.PropertyGroup,
    all_shown: list[Shown],
    seen: SeenChains,
    graph: bpy.types.Depsgraph,
    known: Known,
    view: View,
) -> None:
    """Add what is drawn only of the active chain."""
    items, (uid, index), number = view.items, chain_key(active), 0
    if not (items.show_reach or items.show_poles or items.show_limits):
        return
    for shown in all_shown:
        if shown.rig.session_uid == uid and index in shown.own.chains:
            break
        number += len(shown.own.chains)
    else:
        return
    number += shown.own.chains.index(index)
    if index not in shown.own.solved:
        # Its bones point to no pole while it leaves them alone.
        items = items._replace(show_poles=False)
    shape = _compile(active, (uid, index), shown, graph)
    if shape is None:
        return
    present = known.find_present(graph)
    rig, own, posed, _ = shown
    pole = np.array(find_places([shape.spec.pole], graph, rig, own.skeleton, posed, present)[0])
    target = seen.targets[number] if number in seen.aimed else None
    points = seen.points[slice(*seen.rows.starts[number : number + 2].tolist())]
    placed = place_shape(shape, points, posed, target, pole if are_near(pole) else None)
    add_active(strokes, placed, items, view.colours)


def _compile(
    active: bpy.types.PropertyGroup,
    key: live.ChainKey,
    shown: Shown,
    graph: bpy.types.Depsgraph,
) -> CompiledShape | None:
    """Return the active chain's shape without its pose, from the cache if it still holds.

    None if the chain cannot be used.
    """
    own, index = shown.own, key[1]
    is_live = shown.is_solved and index in own.solved
    live_chain = live.memory.live_chain(graph_key(graph), key) if is_live else None
    made_of, shape = own.compiled.get(index, (None, None))
    if shape is not None and made_of is live_chain:
        return shape
    try:
        known = live_chain or chain_spec(active, with_stored=False)
        shape = compile_shape(owner_of(active), own.skeleton, known)
    except IKError:
        # The status says what is wrong with it.
        return None
    own.compiled[index] = live_chain, shape
    return shape


def _say(length: float, unit: LengthUnit) -> str:
    is_seen = math.isfinite(length) and is_visible(length, unit)
    return length_in_words(length, unit) if is_seen else ""
