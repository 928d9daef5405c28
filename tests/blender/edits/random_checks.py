"""What has to be true after every edit, told from outside."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import suppress

import bpy
import numpy as np

from blender_ik_addon.properties.chains import is_idle
from blender_ik_addon.rig.planning.stored_text import bones_of_text
from blender_ik_addon.rig.reading.refusals import RigError
from tests.blender.edits import random_scene as scene
from tests.blender.setups import rigs

BONE = re.compile(r'pose\.bones\["((?:[^"\\]|\\.)*)"\]')
HUGE = 1e3
SAME = 1e-6
"""Share of a channel, or of one, by which a chain that starts from the present pose may differ.

Blender stores float32: a turn of 6.28 radians by 2.4e-7. Ten times smaller and that is a move; ten
times larger and a chain may creep unseen. All other chains give the very same numbers again.
"""

Object = bpy.types.Object
Poses = dict[str, scene.Channels]
Stored = dict[tuple[str, int, str], str]
"""Stored channels as text by armature object, index of the chain and bone."""


def poses() -> Poses:
    """Return the channels of all bones by armature object."""
    return {ob.name_full: scene.channels_of(ob) for ob in scene.armatures()}


def placings() -> dict[str, scene.Values]:
    """Return the channels of all objects."""
    return {
        ob.name_full: np.float32([each for name in scene.CHANNELS for each in getattr(ob, name)])
        for ob in bpy.data.objects
    }


def written() -> dict[str, set[str]]:
    """Return the bones that chains may write, by armature object."""
    return {ob.name_full: scene.driven(ob) for ob in scene.armatures()}


def tag_all() -> None:
    """Have all armature objects evaluated again."""
    for ob in bpy.context.scene.objects:
        if ob.type == "ARMATURE":
            ob.update_tag()
    bpy.context.view_layer.update()


def stored(is_solved: bool = False) -> Stored:
    """Return the stored poses of all chains that can be read: what mute would give back.

    Left out are bones whose channels are keyed, which take what the keys say, and those with locks,
    whose channels belong to whoever locked them; with ``is_solved`` chains that are not solved too.
    """
    found = {}
    for ob in scene.armatures():
        keyed, left_out = animated_bones(ob), unsolved(ob) if is_solved else ()
        modes = {
            bone.name: bone.rotation_mode
            for bone in ob.pose.bones
            if bone.name not in keyed and not _has_locks(bone)
        }
        for index, chain in enumerate(ob.chain_ik.chains):
            if index in left_out:
                continue
            with suppress(ValueError, TypeError):
                for name, mode, *values in json.loads(chain.stored_pose or "[]"):
                    if modes.get(name) == mode:
                        found[ob.name_full, index, name] = json.dumps(values)
    return found


def waiting() -> dict[tuple[str, int, str], list[float]]:
    """Return the rotations of bones of live chains that store nothing, with one that is broken.

    What such a chain has given back stands there: it stores that once all of it is finite.
    """
    found, broken = {}, {(owner, bone) for owner, bone, _ in not_finite(poses())}
    for ob in scene.armatures() if broken else ():
        for index, chain in enumerate(ob.chain_ik.chains):
            bones = (*scene.driven_in_order(ob, chain), *scene.carrying(ob, chain))
            own = {(ob.name_full, name) for name in bones}
            if not (chain.mute or chain.stored_pose or own.isdisjoint(broken)):
                for bone in ob.pose.bones:
                    values = [*getattr(bone, rigs.rotation_property(bone)), 0.0]
                    found[ob.name_full, index, bone.name] = values[:4]
    return found


def not_kept(before: Stored, after: Stored) -> list[str]:
    """Return what is stored no more and does not stand there either, or differs.

    Left out are objects that are gone: Blender saves none that nothing uses. So are bones that are
    keyed by now: undo leaves the keys of a library. A bone that has left a chain is stored by the
    other one that it belongs to.
    """
    keyed = {(ob.name_full, bone) for ob in scene.armatures() for bone in animated_bones(ob)}
    elsewhere = {(owner, bone, values) for (owner, _, bone), values in after.items()}
    standing, owners = waiting(), {ob.name_full for ob in scene.armatures()}
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


def paths(ob: Object) -> Iterator[str]:
    """Yield the paths of an object that are animated in any way."""
    data = ob.animation_data
    if data is None:
        return
    yield from (driver.data_path for driver in data.drivers)
    actions = [data.action, *(strip.action for track in data.nla_tracks for strip in track.strips)]
    for action in filter(None, actions):
        layers = getattr(action, "layers", ())
        bags = [bag for layer in layers for strip in layer.strips for bag in strip.channelbags]
        for holder in (action, *bags) if hasattr(action, "fcurves") else bags:
            yield from (curve.data_path for curve in holder.fcurves)


def animated_bones(ob: Object) -> set[str]:
    return _bones_of(paths(ob))


def _bones_of(data_paths: Iterable[str]) -> set[str]:
    found = map(BONE.match, data_paths)
    return {bpy.utils.unescape_identifier(match[1]) for match in found if match}


def same(one: scene.Values, other: scene.Values, tolerance: float = 0.0) -> bool:
    """Tell whether values are equal, those that are not finite too."""
    if np.array_equal(one, other, equal_nan=True):
        return True
    if tolerance == 0.0 or one.shape != other.shape:
        return False
    with np.errstate(invalid="ignore"):
        allowed = tolerance * np.maximum(1.0, np.abs(one))
        return bool(np.all((np.abs(one - other) <= allowed) | (one == other)))


def difference(one: scene.Values, other: scene.Values) -> str:
    """Return the channel of a bone that differs most, and by how much."""
    channels = [f"{name}[{i}]" for name, size in scene.CHANNELS.items() for i in range(size)]
    with np.errstate(invalid="ignore"):
        by = np.nan_to_num(np.abs(one - other), nan=np.inf) * (one != other)
    worst = int(np.argmax(by))
    return f"{channels[worst]} {one[worst]:.7g} became {other[worst]:.7g}, {by[worst]:.2g} off"


def _moved(before: Poses, after: Poses, name: str, tolerance: float = 0.0) -> dict[str, str]:
    """Return what has become of bones of an armature object, by bone; nothing if it has others."""
    if name not in before or before[name].names != after[name].names:
        return {}
    rows = zip(after[name].names, before[name].values, after[name].values, strict=True)
    return {b: f"{name}, {b} {difference(*v)}" for b, *v in rows if not same(*v, tolerance)}


def moved_without_a_chain(before: Poses, after: Poses, known: dict[str, set[str]]) -> list[str]:
    """Return the bones that an update has moved although no chain or animation writes them.

    Known are those that chains may have written until the edit.
    """
    found = []
    for ob in scene.armatures():
        if moved := _moved(before, after, ob.name_full):
            written = scene.driven(ob) | known.get(ob.name_full, set()) | animated_bones(ob)
            found += [text for bone, text in moved.items() if bone not in written]
    return found


def not_stable(
    before: Poses, after: Poses, exempt: set[str], again: Container[str] = ()
) -> list[str]:
    """Return the bones that differ from before although nothing that they hang on does.

    Left out are the armature objects in ``exempt``; ``again`` are solved again from the pose shown.
    """
    return [
        text
        for name in after
        if name not in exempt
        for text in _moved(before, after, name, SAME if name in again else 0.0).values()
    ]


def moved_objects(before: dict[str, scene.Values], after: dict[str, scene.Values]) -> list[str]:
    """Return the objects that an update has moved although they are not animated."""
    # Blender finds nothing by its full name, which those of libraries need.
    channels = ("location", "rotation", "scale")
    animated = {
        ob.name_full
        for ob in bpy.data.objects
        if any(path.startswith(channels) for path in paths(ob))
    }
    return [
        f"{name} {difference(before[name], values)}"
        for name, values in after.items()
        if name in before and name not in animated and not same(before[name], values)
    ]


def not_finite(found: Poses) -> set[tuple[str, str, int]]:
    """Return which channels are not finite: armature object, bone and column.

    Those of bones with drivers are left out: a driver gives on what it reads.
    """
    by_driver = {
        (ob.name_full, bone)
        for ob in scene.armatures()
        for bone in _bones_of(curve.data_path for curve in drivers_of(ob))
    }
    return {
        (name, bones[row], int(column))
        for name, (bones, values) in found.items()
        for row, column in np.argwhere(~np.isfinite(values))
        if (name, bones[row]) not in by_driver
    }


def drivers_of(ob: Object) -> list[bpy.types.FCurve]:
    return list(ob.animation_data.drivers) if ob.animation_data else []


def _tied_to(ob: Object) -> set[Object]:
    """Return the objects that an object hangs on directly, as far as Blender knows."""
    bones = ob.pose.bones if ob.pose is not None else ()
    ties = [tie for each in (ob, *bones) for tie in each.constraints]
    found = {ob.parent, *(getattr(tie, "target", None) for tie in ties)}
    return (found | _read_by_drivers_of(ob)) - {None}


def _leads_to(ob: Object) -> set[Object]:
    """Return the objects that an object hangs on directly, chains included."""
    ends = {end for chain in ob.chain_ik.chains for end in (chain.target, chain.pole_target)}
    return (_tied_to(ob) | ends) - {None}


def _read_by_drivers_of(ob: Object) -> set[Object]:
    """Return the objects whose place drivers read; what they read of feet nothing moves."""
    variables = [each for curve in drivers_of(ob) for each in curve.driver.variables]
    places = [each for each in variables if each.type == "TRANSFORMS"]
    return {target.id for variable in places for target in variable.targets} - {None}


def _all_leading_to(
    things: set[Object], leads_to: Callable[[Object], set[Object]] = _leads_to
) -> set[Object]:
    """Return things and all that they hang on, by any way."""
    seen, waiting = set(things), list(things)
    while waiting:
        new = leads_to(waiting.pop()) - seen
        seen |= new
        waiting += new
    return seen


def hanging_on(is_meant: Callable[[Object], bool]) -> set[str]:
    """Return the full names of armature objects that hang on objects that are meant, by any way."""
    meant = {ob for ob in bpy.data.objects if is_meant(ob)}
    return {ob.name_full for ob in scene.armatures() if _all_leading_to({ob}) & meant}


def without_rest() -> set[str]:
    """Return the armature objects that Blender itself may go on moving, update by update.

    They hang on what it evaluates in a ring, of which no pass is the last: drivers that read what
    hangs on the very object that they drive, and bones or objects that are tied to what hangs on
    them. Or a driver reads what is gone: that gives 0 once the file has been loaded. Or chains go
    on from their own last pose, on huge bones.
    """
    return hanging_on(_has_no_rest)


def _has_no_rest(ob: Object) -> bool:
    if ob in _all_leading_to(_tied_to(ob) - {ob}, _tied_to):
        return True
    return ob.pose is not None and (
        ob in _all_leading_to(_read_by_drivers_of(ob))
        or _has_ring_of_bones(ob)
        or not all(curve.driver.is_valid for curve in drivers_of(ob))
        or _is_huge_and_goes_on(ob)
    )


def _is_huge_and_goes_on(ob: Object) -> bool:
    """Tell whether chains go on from bones so large that float32 does not tell where they end."""
    goes_on = any(chain.start_from == "CURRENT" for chain in ob.chain_ik.chains)
    return goes_on and max(abs(each) for b in ob.pose.bones for each in b.scale) >= HUGE


def _has_ring_of_bones(ob: Object) -> bool:
    """Tell whether a bone is tied to itself or to one that hangs on it, by any way."""
    needed = {
        bone.name: {bone.parent.name if bone.parent else ""}
        | {
            each.subtarget
            for tie in bone.constraints
            for each in (tie, *getattr(tie, "targets", ()))
            if not tie.mute and getattr(each, "target", None) == ob
        }
        for bone in ob.pose.bones
    }
    while free := [name for name, others in needed.items() if not others & needed.keys()]:
        for name in free:
            del needed[name]
    return bool(needed)


def with_history() -> set[str]:
    """Return the armature objects whose pose depends on the poses before, and those without rest.

    They hang on chains that are dragged, ease, or start from the present pose: what gives another
    pose meanwhile (mute, other frames) gives these another start. Or on what is nowhere: stored
    poses end that.
    """
    broken = {name for name, found in poses().items() if not np.isfinite(found.values).all()}

    def has_history(ob: Object) -> bool:
        is_placed = np.isfinite(np.array(ob.matrix_world)).all()
        lasts = ob.pose is not None and any(
            chain.solver == "FOLLOW" or _eases(chain) or chain.start_from == "CURRENT"
            for chain in ob.chain_ik.chains
        )
        return lasts or ob.name_full in broken or not is_placed

    return hanging_on(has_history) | without_rest()


def with_waiting() -> set[str]:
    """Return the armature objects that hang on hidden ones with muted chains that hold a pose.

    Blender lists nothing that it does not evaluate, so they give it back when any armature object
    is listed next, or once they are shown.
    """
    return hanging_on(
        lambda ob: (
            not ob.visible_get()
            and any(is_idle(each) and each.stored_pose for each in ob.chain_ik.chains)
        )
    )


def with_eased() -> set[str]:
    """Return the armature objects that hang on chains that ease, and those without rest.

    An update that is not solved has these begin anew; chains from *Current* go on from their pose,
    as far as that tells which solution it is a share of.
    """
    begins = hanging_on(lambda ob: any(_eases(c) or _is_held_share(c) for c in ob.chain_ik.chains))
    return begins | without_rest()


def _eases(chain: bpy.types.PropertyGroup) -> bool:
    return bool(chain.solver == "FORCE" and chain.force.use_gradual)


def with_held() -> set[str]:
    """Return the armature objects that hang on chains from *Current*, and on what holds these.

    That is locked rotations, and limits where they show a share. They may move once more after undo
    and loading: promise 4 says so.
    """

    def is_held(ob: Object) -> bool:
        has_share = any(map(_is_held_share, ob.chain_ik.chains))
        return has_share or (ob.pose is not None and any(map(_has_locks, ob.pose.bones)))

    return hanging_on(is_held) & with_history()


def _is_held_share(chain: bpy.types.PropertyGroup) -> bool:
    """Tell whether limits may hold a share of a solution, of which it tells no more then."""
    return bool(chain.start_from == "CURRENT" and chain.use_limits and chain.influence < 1.0)


def _has_locks(bone: bpy.types.PoseBone) -> bool:
    locks = (*bone.lock_location, *bone.lock_rotation, *bone.lock_scale)
    return any(locks) or bone.lock_rotation_w


def unsolved(ob: Object) -> set[int]:
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
    return hanging_on(lambda ob: ob.pose is not None and bool(unsolved(ob)))


def with_converted() -> set[str]:
    """Return the armature objects that hang on bones stored in another rotation mode than theirs.

    What is given back to them is rounded once more, which some poses tell a thousand times as much.
    """
    return hanging_on(_is_converted)


def _is_converted(ob: Object) -> bool:
    modes = {bone.name: bone.rotation_mode for bone in ob.pose.bones} if ob.pose else {}
    with suppress(RigError):
        found = [each for chain in ob.chain_ik.chains for each in bones_of_text(chain.stored_pose)]
        return any(modes.get(each.name, "") != each.rotation_mode for each in found)
    return False
