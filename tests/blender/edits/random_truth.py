"""What chains say of themselves, beside what Blender's evaluated matrices show."""

from __future__ import annotations

import re

import bpy
import numpy as np

from tests.blender.edits.random_checks import without_rest
from tests.blender.edits.random_scene import carrying, driven_in_order, hand_of
from tests.blender.setups import rigs

LARGEST = 1e18
"""Of what is larger Blender's own float32 cannot tell squares, nor where bones lie."""
SHORTEST_SAID = 1e-6
"""What is shorter a status calls zero."""

# Where each status tells the distance that is left.
DISTANCES = re.compile(
    r"(?:Out of reach by|Too near by|(?:Points at|Turned as) its target,|Kept|Stopped"
    r"|Held back by .*,|Part of the way by influence,|On its way,|Outweighed by .*:|Reached \()"
    r" ?([\d.e+-]+)( ?[^\W\d]+)?(?=[\s:,)]|$)"
)


def untrue(scene: bpy.types.Scene) -> list[str]:
    """Return what chains say that is not true; what Blender goes on moving is left out."""
    depsgraph, restless = bpy.context.view_layer.depsgraph, without_rest()
    found: list[str] = []
    if not scene.chain_ik.use_live:
        return found
    for ob in scene.objects:
        if ob.type != "ARMATURE" or ob.pose is None or ob.name_full in restless:
            continue
        for index, chain in enumerate(ob.chain_ik.chains):
            text = chain.status
            if not text or text.startswith("Not solved yet"):
                found.append(f"{ob.name}, chain {index} says '{text}'")
            elif not chain.mute and chain.residual >= 0.0 and is_measurable(ob, chain):
                found += _wrong_distance(ob, index, chain, depsgraph)
    return found


def is_measurable(ob: bpy.types.Object, chain: bpy.types.PropertyGroup) -> bool:
    """Tell whether Blender shows what the chain does: no constraint acts after it on its bones.

    Nor on those of chains that it shares bones with: it is solved together with them. Of hidden
    armatures that others hang on Blender evaluates the place, but not the pose.
    """
    bones = _solved_with(ob, chain)
    moved = any(
        not tie.mute and tie.influence > 0.0
        for name in bones
        for tie in ob.pose.bones[name].constraints
    )
    return (
        ob.visible_get()
        and not moved
        and not any(ob.pose.bones[name].is_in_ik_chain for name in bones)
    )


def _solved_with(ob: bpy.types.Object, chain: bpy.types.PropertyGroup) -> set[str]:
    """Return the names of the bones of a chain and of all that are solved together with it."""
    found = {*driven_in_order(ob, chain), *carrying(ob, chain)}
    solved = [other for other in ob.chain_ik.chains if not other.mute and other.residual >= 0.0]
    others = [{*driven_in_order(ob, other), *carrying(ob, other)} for other in solved]
    while sharing := [bones for bones in others if bones & found and not bones <= found]:
        found.update(*sharing)
    return found


def _size(
    ob: bpy.types.Object, bone: str, gap: rigs.Array, depsgraph: bpy.types.Depsgraph
) -> float:
    """Return what rounding is a share of: the largest length on the way to tip and target.

    Both ends of what is left between them are in ``gap``, shape (2, 3).
    """
    posed = rigs.evaluated(ob, depsgraph)
    world, tip = np.array(posed.matrix_world), posed.pose.bones[bone]
    ends = [end for each in (tip, *tip.parent_recursive) for end in (each.head, each.tail)]
    # What is rounded in any direction is stretched as the most stretched one.
    longest = np.abs(world[:3, :3]).max() * np.abs(ends).max()
    return max(1.0, longest, np.abs(gap).max(), *np.abs(world[:3, 3]))


def _flatness(ob: bpy.types.Object, bone: str, depsgraph: bpy.types.Depsgraph) -> float:
    """Return how many times as much a bone or a parent is stretched one way as another.

    Where bones do not inherit all of a scale, Blender reads rotations out of these matrices, which
    makes their rounding as many times as large.
    """
    tip = rigs.evaluated(ob, depsgraph).pose.bones[bone]
    return max(np.linalg.cond(np.array(b.matrix)[:3, :3]) for b in (tip, *tip.parent_recursive))


def _wrong_distance(
    ob: bpy.types.Object, index: int, chain: bpy.types.PropertyGroup, depsgraph: bpy.types.Depsgraph
) -> list[str]:
    """Return what a chain says of the way to its target if that is not what is left of it."""
    is_led_by_root = chain.solver == "FOLLOW" and chain.follow_lead == "ROOT"
    hand = hand_of(ob, chain)
    bone = driven_in_order(ob, chain)[0] if is_led_by_root else hand or chain.bone
    is_at_tail = chain.use_tail and not is_led_by_root and not hand
    point = (rigs.tail if is_at_tail else rigs.head)(ob, bone, depsgraph)
    goal = rigs.world_matrix(chain.target, depsgraph)
    if chain.subtarget and chain.target.type == "ARMATURE":
        posed = rigs.evaluated(chain.target, depsgraph).pose.bones[chain.subtarget]
        goal = goal @ np.array(posed.matrix)
    goal = goal[:3, 3].astype(np.float64)
    size = _size(ob, chain.bone, np.stack((point, goal)), depsgraph)
    if not size < LARGEST:
        return []
    gap = np.linalg.norm(point - goal)
    noise = 1e-7 * max(100.0, _flatness(ob, chain.bone, depsgraph)) * size
    is_true = abs(gap - chain.residual) <= noise
    if chain.status.startswith("Reached"):
        is_true &= gap <= chain.tolerance + noise
    if is_true and _says(chain.status, gap, noise):
        return []
    said = f"'{chain.status}' and a residual of {chain.residual:.3g}"
    return [f"{ob.name}, chain {index} says {said}; it is {gap:.3g}"]


def _says(status: str, gap: float, noise: float) -> bool:
    """Tell whether the distance in a status, if there is one, is the one that is measured.

    It may be off by half of its last digit, and by what rounding makes of the measured one.
    """
    found = DISTANCES.match(status)
    unit = "" if found is None else (found[2] or "").strip()
    if found is None or unit.startswith("iteration"):
        return True
    units = bpy.context.scene.unit_settings
    _, _, decimals = found[1].partition(".")
    size = bpy.utils.units.to_value(units.system, "LENGTH", f"1 {unit}") / units.scale_length
    rounding = 0.5 * 10.0 ** -len(decimals) * size if "e" not in found[1] else 0.05 * gap
    said = float(found[1]) * size
    return abs(said - gap) <= 1.001 * rounding + noise + SHORTEST_SAID
