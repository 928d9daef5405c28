"""The stored poses of chains: taken, given back, and kept ahead of every update."""

from __future__ import annotations

from contextlib import suppress

import bpy

from ..core import IKError
from ..rig.batches.rig_state import Specs
from ..rig.live import live
from ..rig.planning.stored_text import bones_of_text, may_have_locations, text_of_bones
from ..rig.reading.refusals import Refused, RigError
from ..rig.reading.skeleton import Skeleton
from ..rig.reading.spec import ChainSpec, StoredBone, names_of_chains
from ..rig.reading.update import Update
from ..rig.tools import restoring
from .chains import ChainGroup, chains_of, is_idle, owner_of, tag
from .records import (
    bones_of_chain,
    chain_spec,
    drivers_of,
    stored_spec,
    sync_anchors_if_changed,
)
from .renaming import follow_renamed
from .sharing import as_others_have, tell_others

NO_BONES = frozenset[str]()


def store(settings: ChainGroup, evaluated: bpy.types.Object | None = None) -> None:
    """Take the stored pose of a chain from what its bones' channels hold now.

    Other live chains that share bones with it take the same of these. A chain that has no stored
    pose yet takes theirs.

    Args:
        settings: The original ones.
        evaluated: The evaluated object to read; by default the original.

    Raises:
        IKError: If a setting or a channel is not finite; the stored pose is as before then.
    """
    owner = owner_of(settings)
    taken = restoring.take(owner, evaluated or owner, chain_spec(settings, with_stored=False))
    if settings.stored_pose:
        tell_others(settings, taken)
    else:
        taken = as_others_have(settings, taken)
    settings.stored_pose = text_of_bones(taken)
    if owner.override_library is None:
        _forget_defaults(settings)


def _forget_defaults(settings: ChainGroup) -> None:
    """Unset what holds its default: Blender copies all that is set with every evaluated pose."""
    for setting in settings.bl_rna.properties:
        name = setting.identifier
        if name == "name":
            # Lists of names would tell another one than the chain does.
            continue
        # Pointers have no default.
        default = getattr(setting, "default", None)
        if settings.is_property_set(name) and getattr(settings, name) == default:
            settings.property_unset(name)


def release(
    settings: ChainGroup,
    frame: float | None = None,
    evaluated: bpy.types.Object | None = None,
) -> None:
    """Give the bones of a chain their stored pose back, and forget it.

    Args:
        settings: The original ones.
        frame: Of which keyed channels take their values; by default that of the scene shown.
        evaluated: As ``restoring.give_back`` takes it.

    Raises:
        RigError: If it cannot be read; nothing is changed then.
    """
    if settings.stored_pose and owner_of(settings).pose is not None:
        spec, frame = stored_spec(settings), _frame() if frame is None else frame
        restoring.give_back(owner_of(settings), spec, frame, evaluated=evaluated)
        settings.stored_pose = ""


def _frame() -> float:
    """Return the frame, with subframe, that keyed channels are given back at."""
    scene = bpy.context.scene
    return scene.frame_current_final if scene is not None else 0.0


def restretch(settings: ChainGroup, context: bpy.types.Context) -> None:
    """Give the bones of a chain their scale back where they are to stretch no longer."""
    if not settings.use_stretch:
        with suppress(IKError):
            spec = stored_spec(settings)
            has_scale = any(bone.scale for bone in spec.stored_pose)
            if has_scale and owner_of(settings).pose is not None:
                restoring.give_back(owner_of(settings), spec, _frame(), only="scale")
                kept = (bone._replace(scale=()) for bone in spec.stored_pose)
                settings.stored_pose = text_of_bones(kept)
    tag(settings, context)


def change_solver(settings: ChainGroup, context: bpy.types.Context) -> None:
    """Give back what another solver does not write: not all of them move the body."""
    with suppress(IKError):
        if settings.stored_pose and owner_of(settings).pose is not None:
            _release_unwritten(settings, _frame())
    tag(settings, context)


def _release_unwritten(
    settings: ChainGroup, frame: float, known: Skeleton | None = None, *, may_have_left: bool = True
) -> bool:
    """Give back what is stored and not written any more; tell if there is any.

    These are bones that have left their chain in edit mode or by its solver, and locations of those
    that no longer slide. Bones that another live chain writes stay with it, and are forgotten once
    any has stored them.

    Args:
        settings: The original ones.
        frame: As ``restoring.give_back`` takes it.
        known: As ``restoring.unwritten`` takes it.
        may_have_left: Whether to look for bones that have left.
    """
    if not (may_have_left or may_have_locations(settings.stored_pose)):
        return False
    owner, spec = owner_of(settings), chain_spec(settings)
    gone, idle = restoring.unwritten(owner, spec, known)
    left = gone = gone if may_have_left else NO_BONES
    if gone:
        others = [each for each in chains_of(owner) if each != settings and not is_idle(each)]
        written = {bone for each in others for bone in bones_of_chain(each, with_body=True)}
        stored = {name for each in others for name in _stored_names(each)}
        left, gone = left - (written - stored), gone - written
    idle -= left
    if not (left or idle):
        return False
    restoring.give_back(owner, spec, frame, gone)
    restoring.give_back(owner, spec, frame, idle, only="location")
    settings.stored_pose = text_of_bones(
        bone._replace(location=()) if bone.name in idle else bone
        for bone in spec.stored_pose
        if bone.name not in left
    )
    owner.update_tag()
    return True


def _stored_names(settings: ChainGroup) -> frozenset[str]:
    """Return the names of the bones that a chain has stored; none if they cannot be read."""
    with suppress(RigError):
        return frozenset([bone.name for bone in bones_of_text(settings.stored_pose)])
    return frozenset()


def check_free(armature_object: bpy.types.Object, spec: ChainSpec) -> None:
    """Raise if a live chain drives bones of another one, whose pose would not stay.

    Raises:
        RigError: With the name of the live chain.
    """
    wanted = restoring.driven_by_all(armature_object, [spec])[0]
    for settings, shared in drivers_of(armature_object, wanted, with_body=True):
        if not is_idle(settings):
            raise RigError(
                f"Bone '{min(shared)}' is driven by the live chain '{settings.name}':"
                " mute that chain, or move its target."
            )


def prepare(armature_object: bpy.types.Object, update: Update) -> bool:
    """Give chains their stored pose, idle ones theirs back, and hidden targets their anchors.

    Returns:
        Whether something was written that the graph has to take in.
    """
    if not armature_object.is_editable:
        return False
    is_render = update.depsgraph.mode == "RENDER"
    if not is_render:
        follow_renamed(armature_object)
    has_written = not is_render and sync_anchors_if_changed(armature_object, update)
    evaluated = armature_object.evaluated_get(update.depsgraph)
    pairs = _with_values(armature_object, evaluated)
    # Chains that begin store shared bones as those have them that end: before these forget it.
    for settings, values in sorted(pairs, key=lambda pair: is_idle(pair[1])):
        # What is wrong with a chain, ``live_specs`` and the status tell.
        with suppress(IKError):
            has_written |= _prepare_chain(settings, values, evaluated, update)
    return has_written


def _prepare_chain(
    settings: ChainGroup,
    values: ChainGroup,
    evaluated: bpy.types.Object,
    update: Update,
) -> bool:
    """Do as ``prepare`` does for one chain.

    Raises:
        IKError: If a setting or what it has stored is not sound.
    """
    stored = settings.stored_pose
    if is_idle(values):
        if stored:
            live.memory.keep_animated(owner_of(settings), update)
        release(settings, update.frame, evaluated if update.is_new_frame else None)
        return bool(stored)
    if not stored:
        store(settings, evaluated)
        return False
    if update.depsgraph.mode == "RENDER":
        return False
    known = live.memory.skeleton(update.key, owner_of(settings).session_uid)
    has_left = update.has_new_relations
    return _release_unwritten(settings, update.frame, known, may_have_left=has_left)


def live_specs(armature_object: bpy.types.Object, update: Update) -> Specs:
    """Return the settings of the chains to solve by index, or what is wrong with them."""
    evaluated = armature_object.evaluated_get(update.depsgraph)
    specs: Specs = {}
    for index, (settings, values) in enumerate(_with_values(armature_object, evaluated)):
        if not is_idle(values):
            try:
                specs[index] = chain_spec(settings, values)
            except IKError as error:
                specs[index] = Refused(str(error))
    return specs


def _with_values(
    armature_object: bpy.types.Object, evaluated: bpy.types.Object
) -> list[tuple[ChainGroup, ChainGroup]]:
    """Return chains with the evaluated settings of each, where what is animated has its value."""
    chains, animated = chains_of(armature_object), chains_of(evaluated)
    if names_of_chains(armature_object) != names_of_chains(evaluated):
        # A script has changed the list since the evaluation: which is which cannot be told.
        animated = chains
    return list(zip(chains, animated, strict=True))


def _store_bones(
    armature_object: bpy.types.Object, index: int, stored: tuple[StoredBone, ...]
) -> tuple[StoredBone, ...]:
    settings = chains_of(armature_object)[index]
    former = {bone.name for bone in bones_of_text(settings.stored_pose)}
    pairs = zip(stored, as_others_have(settings, stored), strict=True)
    stored = tuple([own if own.name in former else other for own, other in pairs])
    settings.stored_pose = text_of_bones(stored)
    return stored


SOURCE = live.Source(prepare, live_specs, _store_bones)
