"""What has to be true after every edit, told from outside."""

from __future__ import annotations

import re
from collections.abc import Iterator

import bpy
import numpy as np

from tests.blender.edits.random_scene import (
    Channels,
    Values,
    armatures,
    channels_of,
    driven,
    driven_in_order,
    hand_of,
    own_channels,
)
from tests.blender.setups import rigs

BONE = re.compile(r'pose\.bones\["((?:[^"\\]|\\.)*)"\]')
SAME = 1e-6
LARGEST = 1e18
"""Of what is larger Blender's own float32 cannot tell squares, nor where bones lie."""

Poses = dict[str, Channels]


def poses() -> Poses:
    """Return the channels of all bones by armature object."""
    return {ob.name_full: channels_of(ob) for ob in armatures()}


def placings() -> dict[str, Values]:
    """Return the channels of all objects."""
    return {ob.name_full: own_channels(ob) for ob in bpy.data.objects}


def written() -> dict[str, set[str]]:
    """Return the bones that chains may write, by armature object."""
    return {ob.name_full: driven(ob) for ob in armatures()}


def _paths(ob: bpy.types.Object) -> Iterator[str]:
    """Yield the paths of an object that are animated in any way."""
    data = ob.animation_data
    if data is None:
        return
    yield from (driver.data_path for driver in data.drivers)
    actions = [data.action, *(strip.action for track in data.nla_tracks for strip in track.strips)]
    for action in actions:
        if action is None:
            continue
        if hasattr(action, "fcurves"):
            yield from (curve.data_path for curve in action.fcurves)
        for layer in getattr(action, "layers", ()):
            for strip in layer.strips:
                for bag in strip.channelbags:
                    yield from (curve.data_path for curve in bag.fcurves)


def animated_bones(ob: bpy.types.Object) -> set[str]:
    found = (BONE.match(path) for path in _paths(ob))
    return {bpy.utils.unescape_identifier(match[1]) for match in found if match}


def is_placed_by_animation(ob: bpy.types.Object) -> bool:
    return any(path.startswith(("location", "rotation", "scale")) for path in _paths(ob))


def same(one: Values, other: Values, tolerance: float = 0.0) -> bool:
    """Tell whether values are equal, those that are not finite too."""
    if np.array_equal(one, other, equal_nan=True):
        return True
    if tolerance == 0.0 or one.shape != other.shape:
        return False
    with np.errstate(invalid="ignore"):
        return bool(np.all((np.abs(one - other) <= tolerance) | (one == other)))


def moved_without_a_chain(before: Poses, after: Poses, known: dict[str, set[str]]) -> list[str]:
    """Return the bones that have moved although no chain writes them and no animation does.

    Args:
        before: What the edit has left.
        after: What the update has made of it.
        known: Bones that chains may have written until the edit.
    """
    found = []
    for ob in armatures():
        name = ob.name_full
        if name not in before or before[name].names != after[name].names:
            continue
        free = set(after[name].names) - driven(ob) - known.get(name, set()) - animated_bones(ob)
        for row, bone in enumerate(after[name].names):
            one, other = before[name].values[row], after[name].values[row]
            if bone in free and not same(one, other):
                found.append(f"{name}, {bone}: {one} became {other}")
    return found


def moved_objects(before: dict[str, Values], after: dict[str, Values]) -> list[str]:
    """Return the objects that an update has moved although they are not animated."""
    return [
        f"{name}: {before[name]} became {values}"
        for name, values in after.items()
        if name in before
        and not same(before[name], values)
        and not is_placed_by_animation(bpy.data.objects[name])
    ]


def has_history(chain: bpy.types.PropertyGroup) -> bool:
    """Tell whether what a chain does may depend on what it did before."""
    is_gradual = chain.solver == "FORCE" and chain.force.use_gradual
    return chain.solver == "FOLLOW" or is_gradual or chain.start_from == "CURRENT"


def _leads_to(ob: bpy.types.Object) -> set[bpy.types.Object]:
    """Return the objects that an object hangs on, directly."""
    found = {ob.parent}
    ties = list(ob.constraints)
    for bone in ob.pose.bones if ob.pose is not None else ():
        ties += bone.constraints
    found.update(getattr(tie, "target", None) for tie in ties)
    for chain in ob.chain_ik.chains:
        found |= {chain.target, chain.pole_target}
    return (found | _read_by_drivers(ob)) - {None}


def _read_by_drivers(ob: bpy.types.Object) -> set[bpy.types.Object]:
    drivers = ob.animation_data.drivers if ob.animation_data else ()
    return {
        target.id
        for each in drivers
        for variable in each.driver.variables
        for target in variable.targets
    } - {None}


def _all_leading_to(things: set[bpy.types.Object]) -> set[bpy.types.Object]:
    """Return things and all that they hang on, by any way."""
    seen, waiting = set(things), list(things)
    while waiting:
        new = _leads_to(waiting.pop()) - seen
        seen |= new
        waiting += new
    return seen


def without_rest() -> set[str]:
    """Return the armature objects that may go on moving: they hang on what has a history.

    That is chains that go on from what they did last, and what Blender evaluates in a ring, of
    which no pass is the last: drivers that read what hangs on the very object that they drive, and
    bones that are tied to what hangs on them.
    """
    lasting = {
        ob
        for ob in armatures()
        if any(has_history(chain) and not chain.mute for chain in ob.chain_ik.chains)
        or ob in _all_leading_to(_read_by_drivers(ob))
        or _has_ring_of_bones(ob)
    }
    return {ob.name_full for ob in armatures() if _all_leading_to({ob}) & lasting}


def _has_ring_of_bones(ob: bpy.types.Object) -> bool:
    """Tell whether a bone is tied to itself or to one that hangs on it, by any way."""
    needed = {
        bone.name: {bone.parent.name if bone.parent else ""}
        | {
            tie.subtarget
            for tie in bone.constraints
            if not tie.mute and getattr(tie, "target", None) == ob
        }
        for bone in ob.pose.bones
    }
    while free := [name for name, others in needed.items() if not others & needed.keys()]:
        for name in free:
            del needed[name]
    return bool(needed)


def not_stable(before: Poses, after: Poses) -> list[str]:
    """Return the bones that differ although nothing that they hang on does."""
    exempt = without_rest()
    found = []
    for name, (bones, values) in after.items():
        if name in exempt or name not in before or before[name].names != bones:
            continue
        for row, bone in enumerate(bones):
            if not same(before[name].values[row], values[row], SAME):
                found.append(f"{name}, {bone}: {before[name].values[row]} became {values[row]}")
    return found


def not_finite(found: Poses) -> set[tuple[str, str, int]]:
    """Return which channels are not finite: armature object, bone and column.

    Those of bones with drivers are left out: a driver gives on what it reads.
    """
    driven_bones = {
        (ob.name_full, bpy.utils.unescape_identifier(match[1]))
        for ob in armatures()
        for driver in (ob.animation_data.drivers if ob.animation_data else ())
        if (match := BONE.match(driver.data_path))
    }
    return {
        (name, bones[row], int(column))
        for name, (bones, values) in found.items()
        for row, column in np.argwhere(~np.isfinite(values))
        if (name, bones[row]) not in driven_bones
    }


def tag_all() -> None:
    """Have all armature objects evaluated again."""
    for ob in bpy.context.scene.objects:
        if ob.type == "ARMATURE":
            ob.update_tag()
    bpy.context.view_layer.update()


def untrue(scene: bpy.types.Scene) -> list[str]:
    """Return what chains say that is not true."""
    depsgraph = bpy.context.view_layer.depsgraph
    found: list[str] = []
    if not scene.chain_ik.use_live:
        return found
    for ob in scene.objects:
        if ob.type != "ARMATURE" or ob.pose is None:
            continue
        for index, chain in enumerate(ob.chain_ik.chains):
            text = chain.status
            if not text:
                found.append(f"{ob.name}, chain {index} says nothing")
            elif not chain.mute and chain.residual >= 0.0 and _is_measurable(ob, chain):
                found += _wrong_distance(ob, index, chain, depsgraph)
    return found


def _is_measurable(ob: bpy.types.Object, chain: bpy.types.PropertyGroup) -> bool:
    """Tell whether Blender shows what the chain does: no constraint acts after it on its bones.

    Of hidden armatures that others hang on Blender evaluates the place, but not the pose.
    """
    bones = driven_in_order(ob, chain)
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


def _size(
    ob: bpy.types.Object, bone: str, goal: rigs.Array, depsgraph: bpy.types.Depsgraph
) -> float:
    """Return what rounding is a share of: the largest of all lengths on the way to a point."""
    posed = rigs.evaluated(ob, depsgraph)
    world, tip = np.array(posed.matrix_world), posed.pose.bones[bone]
    ends = [end for each in (tip, *tip.parent_recursive) for end in (each.head, each.tail)]
    # What is rounded in any direction is stretched as the most stretched one.
    longest = np.abs(world[:3, :3]).max() * np.abs(ends).max()
    return max(1.0, longest, *np.abs(goal), *np.abs(world[:3, 3]))


def _flatness(ob: bpy.types.Object, bone: str, depsgraph: bpy.types.Depsgraph) -> float:
    """Return how many times as much a bone or a parent is stretched one way as another.

    Where bones do not inherit all of a scale, Blender reads rotations out of these matrices, which
    makes their rounding as many times as large.
    """
    tip = rigs.evaluated(ob, depsgraph).pose.bones[bone]
    return max(np.linalg.cond(np.array(b.matrix)[:3, :3]) for b in (tip, *tip.parent_recursive))


def _wrong_distance(
    ob: bpy.types.Object,
    index: int,
    chain: bpy.types.PropertyGroup,
    depsgraph: bpy.types.Depsgraph,
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
    size = _size(ob, chain.bone, goal, depsgraph)
    if not size < LARGEST:
        return []
    gap = np.linalg.norm(point - goal)
    noise = 1e-7 * max(100.0, _flatness(ob, chain.bone, depsgraph)) * size
    is_true = abs(gap - chain.residual) <= noise
    if chain.status.startswith("Reached"):
        is_true &= gap <= chain.tolerance + noise
    if is_true:
        return []
    said = f"'{chain.status}' and a residual of {chain.residual:.3g}"
    return [f"{ob.name}, chain {index} says {said}; it is {gap:.3g}"]
