"""Checks after every edit, on what Blender shows."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import suppress

import bpy
import numpy as np

from blender_ik_addon.rig.planning.stored_text import bones_of_text
from blender_ik_addon.rig.reading.refusals import RigError
from tests.blender.edits import random_scene as scene
from tests.blender.setups import rigs

BONE = re.compile(r'pose\.bones\["((?:[^"\\]|\\.)*)"\]')
HUGE_SCALE = 1e3
MAX_CREEP = 1e-6
"""Tolerance of a channel of a chain that starts from the present pose, a share of max(1, channel).

Blender stores float32: 6.28 radians are rounded by 2.4e-7. Ten times smaller, this rounding counts
as a move; ten times larger, a chain may creep unnoticed. All other chains repeat the same numbers.
"""

Object = bpy.types.Object
Poses = dict[str, scene.Channels]
Stored = dict[tuple[str, int, str], str]
"""Stored channels as text, by armature object, index of the chain, and bone."""


def poses() -> Poses:
    """Return the channels of all bones by armature object."""
    return {ob.name_full: scene.channels_of(ob) for ob in scene.armatures()}


def object_poses() -> dict[str, scene.Values]:
    """Return the channels of all objects."""
    return {
        ob.name_full: np.float32([x for name in scene.CHANNELS for x in getattr(ob, name)])
        for ob in bpy.data.objects
    }


def writable_bones() -> dict[str, set[str]]:
    """Return the names of the bones that chains may write, by armature object."""
    return {ob.name_full: scene.driven_bones(ob) for ob in scene.armatures()}


def tag_all() -> None:
    """Tag all armature objects and evaluate them again."""
    for ob in bpy.context.scene.objects:
        if ob.type == "ARMATURE":
            ob.update_tag()
    bpy.context.view_layer.update()


def stored_poses(is_solved: bool = False) -> Stored:
    """Return the readable stored poses of all chains, which mute would restore.

    Bones with keyed channels are left out, as their keys pose them, and bones with locks, which
    belong to the user; with ``is_solved`` also chains that are not solved.
    """
    texts = {}
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
                        texts[ob.name_full, index, name] = json.dumps(values)
    return texts


def restored_rotations() -> dict[tuple[str, int, str], list[float]]:
    """Return the rotations of bones of live chains without a stored pose, but with a broken bone.

    Such a chain has restored this pose, and stores it once all of it is finite.
    """
    rotations, broken = {}, {(owner, bone) for owner, bone, _ in not_finite(poses())}
    for ob in scene.armatures() if broken else ():
        for index, chain in enumerate(ob.chain_ik.chains):
            bones = (*scene.chain_bones(ob, chain), *scene.body_bones(ob, chain))
            keys = {(ob.name_full, name) for name in bones}
            if not (chain.mute or chain.stored_pose or keys.isdisjoint(broken)):
                for bone in ob.pose.bones:
                    values = [*getattr(bone, rigs.rotation_property(bone)), 0.0]
                    rotations[ob.name_full, index, bone.name] = values[:4]
    return rotations


def lost_poses(before: Stored, after: Stored) -> list[str]:
    """Return the stored channels that are lost or differ, and are not in the present pose either.

    Removed objects are left out, as Blender does not save unused ones. So are bones that are keyed
    now, as undo leaves the keys of a library. A bone that has left a chain is stored by the other
    chain that it belongs to.
    """
    keyed = {(ob.name_full, bone) for ob in scene.armatures() for bone in animated_bones(ob)}
    elsewhere = {(owner, bone, values) for (owner, _, bone), values in after.items()}
    restored, owners = restored_rotations(), {ob.name_full for ob in scene.armatures()}
    return [
        f"{owner}, chain {index} stored {values} of {bone}, and now {after.get(key)}"
        for key, values in before.items()
        for owner, index, bone in (key,)
        if owner in owners
        and (owner, bone) not in keyed
        and (owner, bone, values) not in elsewhere
        and after.get(key) != values
        and restored.get(key) != json.loads(values)[0]
    ]


def paths(ob: Object) -> Iterator[str]:
    """Yield the data paths of an object with keys, strips or drivers."""
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
    matches = map(BONE.match, data_paths)
    return {bpy.utils.unescape_identifier(match[1]) for match in matches if match}


def is_same(one: scene.Values, other: scene.Values, tolerance: float = 0.0) -> bool:
    """Return whether values are equal, NaN too, or differ by a share of max(1, value) at most."""
    if np.array_equal(one, other, equal_nan=True):
        return True
    if tolerance == 0.0 or one.shape != other.shape:
        return False
    with np.errstate(invalid="ignore"):
        allowed = tolerance * np.maximum(1.0, np.abs(one))
        return bool(np.all((np.abs(one - other) <= allowed) | (one == other)))


def difference(one: scene.Values, other: scene.Values) -> str:
    """Return the channel with the largest difference, and this difference, as text."""
    channels = [f"{name}[{i}]" for name, size in scene.CHANNELS.items() for i in range(size)]
    with np.errstate(invalid="ignore"):
        gaps = np.nan_to_num(np.abs(one - other), nan=np.inf) * (one != other)
    worst = int(np.argmax(gaps))
    return f"{channels[worst]} {one[worst]:.7g} became {other[worst]:.7g}, {gaps[worst]:.2g} off"


def _moves(before: Poses, after: Poses, name: str, tolerance: float = 0.0) -> dict[str, str]:
    """Return the changes of bones of an armature object; an empty table if it has other bones."""
    if name not in before or before[name].names != after[name].names:
        return {}
    rows = zip(after[name].names, before[name].values, after[name].values, strict=True)
    return {b: f"{name}, {b} {difference(*v)}" for b, *v in rows if not is_same(*v, tolerance)}


def moved_without_a_chain(before: Poses, after: Poses, earlier: dict[str, set[str]]) -> list[str]:
    """Return the bones that an update has moved although no chain or animation writes them.

    ``earlier`` holds the bones that chains could write before the edit.
    """
    reports = []
    for ob in scene.armatures():
        if moved := _moves(before, after, ob.name_full):
            written = scene.driven_bones(ob) | earlier.get(ob.name_full, set()) | animated_bones(ob)
            reports += [text for bone, text in moved.items() if bone not in written]
    return reports


def not_stable(
    before: Poses, after: Poses, exempt: set[str], approximate: Container[str] = ()
) -> list[str]:
    """Return the bones that differ from before although nothing that they depend on does.

    The armature objects in ``exempt`` are left out. Those in ``approximate`` may differ by a
    tolerance, as they are solved again from the shown pose.
    """
    return [
        text
        for name in after
        if name not in exempt
        for text in _moves(before, after, name, MAX_CREEP if name in approximate else 0.0).values()
    ]


def moved_objects(before: dict[str, scene.Values], after: dict[str, scene.Values]) -> list[str]:
    """Return the objects that an update has moved although they are not animated."""
    # Objects of libraries need the full name, by which Blender finds no object.
    channels = ("location", "rotation", "scale")
    animated = {
        ob.name_full
        for ob in bpy.data.objects
        if any(path.startswith(channels) for path in paths(ob))
    }
    return [
        f"{name} {difference(before[name], values)}"
        for name, values in after.items()
        if name in before and name not in animated and not is_same(before[name], values)
    ]


def not_finite(shown: Poses) -> set[tuple[str, str, int]]:
    """Return the channels that are not finite: armature object, bone and column.

    Bones with drivers are left out: a driver passes on the value that it reads.
    """
    by_driver = {
        (ob.name_full, bone)
        for ob in scene.armatures()
        for bone in _bones_of(curve.data_path for curve in drivers_of(ob))
    }
    return {
        (name, bones[row], int(column))
        for name, (bones, values) in shown.items()
        for row, column in np.argwhere(~np.isfinite(values))
        if (name, bones[row]) not in by_driver
    }


def drivers_of(ob: Object) -> list[bpy.types.FCurve]:
    return list(ob.animation_data.drivers) if ob.animation_data else []


def _blender_dependencies(ob: Object) -> set[Object]:
    """Return the objects that an object depends on directly, as far as Blender knows."""
    bones = ob.pose.bones if ob.pose is not None else ()
    ties = [tie for owner in (ob, *bones) for tie in owner.constraints]
    others = {ob.parent, *(getattr(tie, "target", None) for tie in ties)}
    return (others | _driver_sources(ob)) - {None}


def _dependencies(ob: Object) -> set[Object]:
    """Return the objects that an object depends on directly, chains included."""
    ends = {end for chain in ob.chain_ik.chains for end in (chain.target, chain.pole_target)}
    return (_blender_dependencies(ob) | ends) - {None}


def _driver_sources(ob: Object) -> set[Object]:
    """Return the objects whose transforms drivers read, without those that read feet."""
    variables = [variable for curve in drivers_of(ob) for variable in curve.driver.variables]
    transforms = [variable for variable in variables if variable.type == "TRANSFORMS"]
    return {target.id for variable in transforms for target in variable.targets} - {None}


def _all_dependencies(
    things: set[Object], dependencies_of: Callable[[Object], set[Object]] = _dependencies
) -> set[Object]:
    """Return things and all their dependencies, direct or not."""
    seen, remaining = set(things), list(things)
    while remaining:
        new = dependencies_of(remaining.pop()) - seen
        seen |= new
        remaining += new
    return seen


def depending_on(is_source: Callable[[Object], bool]) -> set[str]:
    """Return the full names of the armature objects that depend on the objects of a condition."""
    sources = {ob for ob in bpy.data.objects if is_source(ob)}
    return {ob.name_full for ob in scene.armatures() if _all_dependencies({ob}) & sources}


def restless_rigs() -> set[str]:
    """Return the armature objects that Blender itself may move at every update.

    They depend on a cycle, which Blender never finishes: drivers that read what depends on the
    object that they drive, or constraints of bones or objects to what depends on them. Or a driver
    reads a removed object, which gives 0 once the file has been loaded. Or chains start from their
    last pose, on huge bones.
    """
    return depending_on(_is_restless)


def _is_restless(ob: Object) -> bool:
    if ob in _all_dependencies(_blender_dependencies(ob) - {ob}, _blender_dependencies):
        return True
    return ob.pose is not None and (
        ob in _all_dependencies(_driver_sources(ob))
        or _has_bone_cycle(ob)
        or not all(curve.driver.is_valid for curve in drivers_of(ob))
        or _starts_from_huge_bones(ob)
    )


def _starts_from_huge_bones(ob: Object) -> bool:
    """Return whether chains start from a present pose of bones too large for float32 positions."""
    has_current = any(chain.start_from == "CURRENT" for chain in ob.chain_ik.chains)
    return has_current and max(abs(x) for b in ob.pose.bones for x in b.scale) >= HUGE_SCALE


def _has_bone_cycle(ob: Object) -> bool:
    """Return whether a bone depends on itself by parents and constraints."""
    needed = {bone.name: {bone.parent.name if bone.parent else ""} for bone in ob.pose.bones}
    for bone in ob.pose.bones:
        for tie in bone.constraints:
            moved = [bone]
            if tie.type == "IK":
                moved += bone.parent_recursive[: tie.chain_count - 1 if tie.chain_count else None]
            for target in (tie, *getattr(tie, "targets", ())):
                if not tie.mute and getattr(target, "target", None) == ob:
                    for other in moved:
                        needed[other.name].add(target.subtarget)
    while free := [name for name, others in needed.items() if not others & needed.keys()]:
        for name in free:
            del needed[name]
    return bool(needed)


def with_history() -> set[str]:
    """Return the armature objects whose pose depends on earlier poses, and the restless ones.

    They depend on chains that are dragged, ease, or start from the present pose: any other pose in
    between (mute, other frames) is another start. Or they depend on a transform that is not finite,
    which a stored pose replaces.
    """
    broken = {name for name, channels in poses().items() if not np.isfinite(channels.values).all()}

    def has_history(ob: Object) -> bool:
        is_finite = np.isfinite(np.array(ob.matrix_world)).all()
        has_memory = ob.pose is not None and any(
            chain.solver == "FOLLOW" or _eases(chain) or chain.start_from == "CURRENT"
            for chain in ob.chain_ik.chains
        )
        return has_memory or ob.name_full in broken or not is_finite

    return depending_on(has_history) | restless_rigs()


def with_eased() -> set[str]:
    """Return the armature objects that depend on chains that ease, and the restless ones.

    After an update without a solve, easing restarts; chains from *Current* continue from their
    pose if it determines the solution that it is a share of.
    """
    eased = depending_on(lambda ob: any(_eases(c) or _is_clamped(c) for c in ob.chain_ik.chains))
    return eased | restless_rigs()


def _eases(chain: bpy.types.PropertyGroup) -> bool:
    return bool(chain.solver == "FORCE" and chain.force.use_gradual)


def with_held() -> set[str]:
    """Return the armature objects that depend on chains from *Current* and on locks or limits.

    Limits count where the influence is below 1. These objects may move once more after undo and
    loading, as promise 4 says.
    """

    def is_held(ob: Object) -> bool:
        has_share = any(map(_is_clamped, ob.chain_ik.chains))
        return has_share or (ob.pose is not None and any(map(_has_locks, ob.pose.bones)))

    return depending_on(is_held) & with_history()


def _is_clamped(chain: bpy.types.PropertyGroup) -> bool:
    """Return whether limits may clamp a share of a solution, which then no longer determines it."""
    return bool(chain.start_from == "CURRENT" and chain.use_limits and chain.influence < 1.0)


def _has_locks(bone: bpy.types.PoseBone) -> bool:
    locks = (*bone.lock_location, *bone.lock_rotation, *bone.lock_scale)
    return any(locks) or bone.lock_rotation_w


def unsolved(ob: Object) -> set[int]:
    """Return the indices of the chains that store a pose and report no solve.

    Mute restores the stored pose, and so does a chain that shares their bones, at a frame where its
    influence is zero. This pose stays, as nothing solves them.
    """
    is_live = bpy.context.scene.chain_ik.use_live
    return {
        index
        for index, chain in enumerate(ob.chain_ik.chains)
        if chain.stored_pose and (not is_live or chain.residual < 0.0)
    }


def with_unsolved() -> set[str]:
    """Return the armature objects that depend on chains that store a pose and are not solved."""
    return depending_on(lambda ob: ob.pose is not None and bool(unsolved(ob)))


def with_converted() -> set[str]:
    """Return the armature objects that depend on bones stored in another rotation mode.

    Their restored rotations are rounded once more; some poses multiply this a thousand times.
    """
    return depending_on(_is_converted)


def _is_converted(ob: Object) -> bool:
    modes = {bone.name: bone.rotation_mode for bone in ob.pose.bones} if ob.pose else {}
    with suppress(RigError):
        bones = [bone for chain in ob.chain_ik.chains for bone in bones_of_text(chain.stored_pose)]
        return any(modes.get(bone.name, "") != bone.rotation_mode for bone in bones)
    return False
