"""What has to be true after every edit, told from outside."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Iterator
from contextlib import suppress

import bpy
import numpy as np

from blender_ik_addon.rig.planning.stored_text import bones_of_text
from blender_ik_addon.rig.reading.refusals import RigError
from tests.blender.edits.random_scene import (
    CHANNELS,
    Channels,
    Values,
    armatures,
    carrying,
    channels_of,
    driven,
    driven_in_order,
    own_channels,
)
from tests.blender.setups import rigs

BONE = re.compile(r'pose\.bones\["((?:[^"\\]|\\.)*)"\]')
HUGE = 1e3
SAME = 1e-6
"""Share of a channel, or of one, by which a chain that starts from the present pose may differ.

Blender stores float32: a turn of 6.28 radians by 2.4e-7. Ten times smaller and that is a move; ten
times larger and a chain may creep unseen. All other chains give the very same numbers again.
"""

Poses = dict[str, Channels]
Leads = Callable[[bpy.types.Object], set[bpy.types.Object]]
Stored = dict[tuple[str, int, str], str]
"""Stored channels as text by armature object, index of the chain and bone."""


def poses() -> Poses:
    """Return the channels of all bones by armature object."""
    return {ob.name_full: channels_of(ob) for ob in armatures()}


def stored(is_solved: bool = False) -> Stored:
    """Return the stored poses of all chains that can be read: what mute would give back.

    Left out are bones whose channels are keyed, which take what the keys say, and those with locks,
    whose channels belong to whoever locked them.

    Args:
        is_solved: Whether chains that are not solved are left out as well.
    """
    found = {}
    for ob in armatures():
        free = set(ob.pose.bones.keys()) - animated_bones(ob)
        for name in [name for name in free if _has_locks(ob.pose.bones[name])]:
            free.remove(name)
        left_out = unsolved(ob) if is_solved else ()
        for index, chain in enumerate(ob.chain_ik.chains):
            if index in left_out:
                continue
            with suppress(ValueError, TypeError):
                for name, mode, *values in json.loads(chain.stored_pose or "[]"):
                    if name in free and ob.pose.bones[name].rotation_mode == mode:
                        found[ob.name_full, index, name] = json.dumps(values)
    return found


def waiting() -> dict[tuple[str, int, str], list[float]]:
    """Return the rotations of bones of live chains that store nothing, with one that is broken.

    What such a chain has given back stands there: it stores that once all of it is finite.
    """
    found, broken = {}, {(owner, bone) for owner, bone, _ in not_finite(poses())}
    for ob in armatures() if broken else ():
        for index, chain in enumerate(ob.chain_ik.chains):
            bones = (*driven_in_order(ob, chain), *carrying(ob, chain))
            own = {(ob.name_full, name) for name in bones}
            if not (chain.mute or chain.stored_pose or own.isdisjoint(broken)):
                for bone in ob.pose.bones:
                    values = [*getattr(bone, rigs.rotation_property(bone)), 0.0]
                    found[ob.name_full, index, bone.name] = values[:4]
    return found


def _has_locks(pose_bone: bpy.types.PoseBone) -> bool:
    locks = (*pose_bone.lock_location, *pose_bone.lock_rotation, *pose_bone.lock_scale)
    return any(locks) or pose_bone.lock_rotation_w


def not_kept(before: Stored, after: Stored) -> list[str]:
    """Return what is stored no more and does not stand there either, or differs.

    Left out are objects that are gone: Blender saves none that nothing uses. So are bones that are
    keyed by now: undo leaves the keys of a library. A bone that has left a chain is stored by the
    other one that it belongs to.
    """
    keyed = {(ob.name_full, bone) for ob in armatures() for bone in animated_bones(ob)}
    elsewhere = {(owner, bone, values) for (owner, _, bone), values in after.items()}
    standing, owners = waiting(), {ob.name_full for ob in armatures()}
    return [
        f"{owner}, chain {index} stored {values} of {bone}, and now {after.get(key)}"
        for key, values in before.items()
        for owner, index, bone in (key,)
        if owner in owners
        and (owner, bone) not in keyed
        and (owner, bone, values) not in elsewhere
        and after.get(key) != values
        and standing.get(key) != json.loads(values)[0]
    ]


def placings() -> dict[str, Values]:
    """Return the channels of all objects."""
    return {ob.name_full: own_channels(ob) for ob in bpy.data.objects}


def written() -> dict[str, set[str]]:
    """Return the bones that chains may write, by armature object."""
    return {ob.name_full: driven(ob) for ob in armatures()}


def paths(ob: bpy.types.Object) -> Iterator[str]:
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
    found = (BONE.match(path) for path in paths(ob))
    return {bpy.utils.unescape_identifier(match[1]) for match in found if match}


def is_placed_by_animation(ob: bpy.types.Object) -> bool:
    return any(path.startswith(("location", "rotation", "scale")) for path in paths(ob))


def same(one: Values, other: Values, tolerance: float = 0.0) -> bool:
    """Tell whether values are equal, those that are not finite too."""
    if np.array_equal(one, other, equal_nan=True):
        return True
    if tolerance == 0.0 or one.shape != other.shape:
        return False
    with np.errstate(invalid="ignore"):
        allowed = tolerance * np.maximum(1.0, np.abs(one))
        return bool(np.all((np.abs(one - other) <= allowed) | (one == other)))


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
                found.append(f"{name}, {bone} {difference(one, other)}")
    return found


def moved_objects(before: dict[str, Values], after: dict[str, Values]) -> list[str]:
    """Return the objects that an update has moved although they are not animated."""
    # Blender finds nothing by its full name, which those of libraries need.
    animated = {ob.name_full for ob in bpy.data.objects if is_placed_by_animation(ob)}
    return [
        f"{name} {difference(before[name], values)}"
        for name, values in after.items()
        if name in before and name not in animated and not same(before[name], values)
    ]


def has_history(chain: bpy.types.PropertyGroup) -> bool:
    """Tell whether what a chain does depends on what it did before, on purpose."""
    return chain.solver == "FOLLOW" or _eases(chain) or chain.start_from == "CURRENT"


def _eases(chain: bpy.types.PropertyGroup) -> bool:
    return bool(chain.solver == "FORCE" and chain.force.use_gradual)


def _tied_to(ob: bpy.types.Object) -> set[bpy.types.Object]:
    """Return the objects that an object hangs on directly, as far as Blender knows."""
    found = {ob.parent}
    ties = list(ob.constraints)
    for bone in ob.pose.bones if ob.pose is not None else ():
        ties += bone.constraints
    found.update(getattr(tie, "target", None) for tie in ties)
    return (found | _read_bydrivers_of(ob)) - {None}


def _leads_to(ob: bpy.types.Object) -> set[bpy.types.Object]:
    """Return the objects that an object hangs on, directly."""
    found = _tied_to(ob)
    for chain in ob.chain_ik.chains:
        found |= {chain.target, chain.pole_target}
    return found - {None}


def drivers_of(ob: bpy.types.Object) -> list[bpy.types.FCurve]:
    """Return the drivers of an object."""
    return list(ob.animation_data.drivers) if ob.animation_data else []


def _read_bydrivers_of(ob: bpy.types.Object) -> set[bpy.types.Object]:
    """Return the objects whose place drivers read; what they read of feet nothing moves."""
    return {
        target.id
        for curve in drivers_of(ob)
        for variable in curve.driver.variables
        if variable.type == "TRANSFORMS"
        for target in variable.targets
    } - {None}


def _all_leading_to(
    things: set[bpy.types.Object], leads_to: Leads = _leads_to
) -> set[bpy.types.Object]:
    """Return things and all that they hang on, by any way."""
    seen, waiting = set(things), list(things)
    while waiting:
        new = leads_to(waiting.pop()) - seen
        seen |= new
        waiting += new
    return seen


def _in_rings() -> set[bpy.types.Object]:
    """Return the objects that hang on themselves by way of others."""
    return {ob for ob in bpy.data.objects if ob in _all_leading_to(_tied_to(ob) - {ob}, _tied_to)}


def without_rest() -> set[str]:
    """Return the armature objects that Blender itself may go on moving, update by update.

    They hang on what it evaluates in a ring, of which no pass is the last: drivers that read what
    hangs on the very object that they drive, and bones or objects that are tied to what hangs on
    them. Or a driver reads what is gone: that gives 0 once the file has been loaded. Or chains go
    on from their own last pose, on huge bones.
    """
    return hanging_on(
        _in_rings()
        | {
            ob
            for ob in armatures()
            if ob in _all_leading_to(_read_bydrivers_of(ob))
            or _has_ring_of_bones(ob)
            or not all(curve.driver.is_valid for curve in drivers_of(ob))
            or _is_huge_and_goes_on(ob)
        }
    )


def _is_huge_and_goes_on(ob: bpy.types.Object) -> bool:
    """Tell whether chains go on from bones so large that float32 does not tell where they end."""
    goes_on = any(chain.start_from == "CURRENT" for chain in ob.chain_ik.chains)
    return goes_on and max(abs(each) for b in ob.pose.bones for each in b.scale) >= HUGE


def with_history() -> set[str]:
    """Return the armature objects whose pose depends on the poses before, and those without rest.

    They hang on chains that are dragged, ease, or start from the present pose: what gives another
    pose meanwhile (mute, other frames) gives these another start.
    """
    lasting = {ob for ob in armatures() if any(has_history(chain) for chain in ob.chain_ik.chains)}
    return hanging_on(lasting | _not_finite_things()) | without_rest()


def with_eased() -> set[str]:
    """Return the armature objects that hang on chains that ease, and those without rest.

    An update that is not solved has these begin anew; chains from *Current* go on from their pose.
    """
    eased = {ob for ob in armatures() if any(_eases(chain) for chain in ob.chain_ik.chains)}
    return hanging_on(eased) | without_rest()


def with_locks() -> set[str]:
    """Return the armature objects that hang on chains from *Current*, and locked rotations.

    These may move once more after undo and loading: promise 4 says so.
    """
    return (
        hanging_on({ob for ob in armatures() if any(map(_has_locks, ob.pose.bones))})
        & with_history()
    )


def _not_finite_things() -> set[bpy.types.Object]:
    """Return the objects that are nowhere, or have bones that are: stored poses end that."""
    bones = {name for name, found in poses().items() if not np.isfinite(found.values).all()}
    return {
        ob
        for ob in bpy.data.objects
        if ob.name_full in bones or not np.isfinite(np.array(ob.matrix_world)).all()
    }


def unsolved(ob: bpy.types.Object) -> set[int]:
    """Return the chains that keep a pose and say that they are not solved, by index.

    Mute gives them the stored pose back, and so does a chain that shares their bones at a frame
    where its influence is zero. They stay there, as nothing solves them.
    """
    is_live = bpy.context.scene.chain_ik.use_live
    return {
        index
        for index, chain in enumerate(ob.chain_ik.chains)
        if chain.stored_pose and (not is_live or chain.residual < 0.0)
    }


def with_unsolved() -> set[str]:
    """Return the armature objects that hang on chains that keep a pose and are not solved."""
    return hanging_on({ob for ob in armatures() if unsolved(ob)})


def with_converted() -> set[str]:
    """Return the armature objects that hang on bones stored in another rotation mode than theirs.

    What is given back to them is rounded once more, which some poses tell a thousand times as much.
    """
    return hanging_on({ob for ob in armatures() if _is_converted(ob)})


def _is_converted(ob: bpy.types.Object) -> bool:
    """Tell whether chains have stored bones in other rotation modes than these have now."""
    modes = {bone.name: bone.rotation_mode for bone in ob.pose.bones}
    with suppress(RigError):
        stored = [each for chain in ob.chain_ik.chains for each in bones_of_text(chain.stored_pose)]
        return any(modes.get(each.name, "") != each.rotation_mode for each in stored)
    return False


def hanging_on(things: set[bpy.types.Object]) -> set[str]:
    """Return the full names of armature objects that hang on any of these, by any way."""
    return {ob.name_full for ob in armatures() if _all_leading_to({ob}) & things}


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


def difference(one: Values, other: Values) -> str:
    """Return the channel of a bone that differs most, and by how much."""
    channels = [f"{name}[{i}]" for name, size in CHANNELS.items() for i in range(size)]
    with np.errstate(invalid="ignore"):
        by = np.nan_to_num(np.abs(one - other), nan=np.inf) * (one != other)
    worst = int(np.argmax(by))
    return f"{channels[worst]} {one[worst]:.7g} became {other[worst]:.7g}, {by[worst]:.2g} off"


def not_stable(
    before: Poses, after: Poses, exempt: set[str], again: Container[str] = ()
) -> list[str]:
    """Return the bones that differ although nothing that they hang on does.

    Args:
        before: What was shown.
        after: What is shown now.
        exempt: Full names of armature objects that are left out.
        again: Full names of those that are solved again from the pose that is shown.
    """
    found = []
    for name, (bones, values) in after.items():
        if name in exempt or name not in before or before[name].names != bones:
            continue
        for row, bone in enumerate(bones):
            one, other = before[name].values[row], values[row]
            if not same(one, other, SAME if name in again else 0.0):
                found.append(f"{name}, {bone} {difference(one, other)}")
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
