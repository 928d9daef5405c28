"""The stored poses of chains: stored, given back, and prepared before every update."""

from __future__ import annotations

from contextlib import suppress

import bpy

from ..core import IKError
from ..rig.live import live
from ..rig.live.animated_values import is_set_by_user
from ..rig.live.source import Source
from ..rig.planning.known_skeletons import skeleton_of
from ..rig.planning.planned_rig import Specs
from ..rig.planning.start_channels import UnsolvedChannels
from ..rig.planning.stored_text import bones_of_text, text_of_bones
from ..rig.reading.chain_plan import plan_or_none
from ..rig.reading.refusals import RigError, is_hidden, library_problem
from ..rig.reading.spec import ChainSpec, StoredBone, names_of_chains
from ..rig.reading.update import Update, shown_graph
from ..rig.tools import restoring
from .chains import ChainGroup, body_of, chains_of, is_idle, live_chains, owner_of, tag
from .records import chain_spec, sync_anchors_if_changed, written_bones
from .renaming import follow_bones
from .sharing import merge_stored, update_others

NO_NAMES = frozenset[str]()


def store(settings: ChainGroup, evaluated: bpy.types.Object | None = None) -> None:
    """Store the present channels of a chain's bones as its stored pose.

    Other live chains that share bones with it store the same channels of these. A chain that has no
    stored pose yet takes over theirs instead. Channels are those of the evaluated object if it is
    given.

    Raises:
        IKError: If a setting or a channel is not finite; the stored pose does not change then.
    """
    owner = owner_of(settings)
    pose = restoring.capture(owner, evaluated or owner, chain_spec(settings, with_stored=False))
    if settings.stored_pose:
        update_others(settings, pose)
    else:
        pose = merge_stored(settings, pose)
    settings.stored_pose = text_of_bones(pose)
    if owner.override_library is None:
        _unset_defaults(settings)


def _unset_defaults(settings: ChainGroup) -> None:
    """Unset settings that hold their default: Blender copies set ones with every evaluated pose."""
    for setting in settings.bl_rna.properties:
        name = setting.identifier
        if name == "name":
            # Blender's lists of names would otherwise hold another name than the chain.
            continue
        # Pointers have no default.
        default = getattr(setting, "default", None)
        if settings.is_property_set(name) and getattr(settings, name) == default:
            settings.property_unset(name)


def release(settings: ChainGroup, update: Update | None = None) -> None:
    """Give the bones of a chain their stored pose back, and forget it.

    Animated channels take their values at the frame of the update; without one, at that of the
    scene and view layer that are shown.

    Raises:
        RigError: If the stored pose cannot be read; nothing is changed then.
    """
    if settings.stored_pose and owner_of(settings).pose is not None:
        unsolved = _unsolved_channels(owner_of(settings), update)
        restoring.restore_pose(unsolved, bones_of_text(settings.stored_pose))
        settings.stored_pose = ""


def _unsolved_channels(
    armature_object: bpy.types.Object, update: Update | None = None
) -> UnsolvedChannels:
    """Return the channels of an original object without chains, at the frame of an update."""
    uid = armature_object.session_uid
    if update is not None:
        animated = live.memory.animated_pose(update.key, uid)
        return UnsolvedChannels(armature_object, update.frame, animated)
    scene, view_layer = bpy.context.scene, bpy.context.view_layer
    if scene is None or view_layer is None:
        return UnsolvedChannels(armature_object, 0.0)
    animated = live.memory.animated_pose(shown_graph(scene, view_layer), uid)
    return UnsolvedChannels(armature_object, scene.frame_current_final, animated)


def change_influence(settings: ChainGroup, context: bpy.types.Context) -> None:
    """Give the stored pose of an idle chain back at once if no update does it.

    Without live no update does for a muted chain, and Blender lists no change of a hidden object. A
    later update would replace a new pose of the user.
    """
    tag(settings, context)
    owner, scene, view_layer = owner_of(settings), context.scene, context.view_layer
    # A render copies animated values, and then gives the pose back itself.
    has_pose = settings.stored_pose and is_idle(settings) and is_set_by_user()
    if not (has_pose and scene and view_layer and view_layer.depsgraph):
        return
    # A scene that is not shown may be at another frame.
    if scene in owner.users_scene and not library_problem(owner):
        with suppress(IKError):
            is_paused = settings.mute and not scene.chain_ik.use_live
            if is_paused or is_hidden(owner, view_layer.depsgraph):
                release(settings)


def change_stretch(settings: ChainGroup, context: bpy.types.Context) -> None:
    """Give the bones of a chain their stored scale back after *Stretch* was switched off."""
    if not settings.use_stretch:
        with suppress(IKError):
            owner, stored = owner_of(settings), bones_of_text(settings.stored_pose)
            if any(bone.scale for bone in stored) and owner.pose is not None:
                restoring.restore_pose(_unsolved_channels(owner), stored, only="scale")
                settings.stored_pose = text_of_bones(bone._replace(scale=()) for bone in stored)
    tag(settings, context)


def change_solver(settings: ChainGroup, context: bpy.types.Context) -> None:
    """Give back channels that the new solver does not write: some solvers do not move the body."""
    with suppress(IKError):
        if settings.stored_pose and owner_of(settings).pose is not None:
            _release_unwritten(settings)
    tag(settings, context)


def _release_unwritten(
    settings: ChainGroup, update: Update | None = None, *, may_have_left: bool = True
) -> bool:
    """Give back stored channels that are not written any more; tell whether there were any.

    These are all channels of bones that have left their chain, in edit mode or by its solver, and
    locations of bones that no longer slide. Bones that another live chain writes are not given
    back, and are forgotten as soon as any of these chains has stored them. The update is as for
    ``release``.
    """
    former = bones_of_text(settings.stored_pose)
    if not (may_have_left or any(bone.location for bone in former)):
        return False
    owner, spec = owner_of(settings), chain_spec(settings)
    gone, idle = restoring.find_unwritten_bones(owner, spec)
    left = gone = gone if may_have_left else NO_NAMES
    if gone:
        others = [chain for chain in live_chains(owner) if chain != settings]
        written = {bone for chain in others for bone in written_bones(chain)}
        stored = {name for chain in others for name in _stored_names(chain)}
        left, gone = left - (written - stored), gone - written
    idle -= left
    if not (left or idle):
        return False
    unsolved = _unsolved_channels(owner, update)
    restoring.restore_pose(unsolved, [bone for bone in former if bone.name in gone])
    restoring.restore_pose(unsolved, [bone for bone in former if bone.name in idle], "location")
    settings.stored_pose = text_of_bones(
        bone._replace(location=()) if bone.name in idle else bone
        for bone in former
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
    """Raise if a live chain drives bones of ``spec``, so that a pose of these would not stay.

    Raises:
        RigError: If one does, with the name of the live chain.
    """
    plan = plan_or_none(skeleton_of(armature_object), spec)
    bones = plan.names if plan else ()
    for settings in live_chains(armature_object):
        if shared := written_bones(settings).intersection(bones):
            raise RigError(
                "Bone '{shared}' is driven by the live chain '{name}': mute that chain, or move its"
                " target.",
                shared=min(shared),
                name=settings.name,
            )


def prepare(armature_object: bpy.types.Object, update: Update) -> bool:
    """Store poses of live chains, give back those of idle ones, and keep hidden targets evaluated.

    Return whether anything was written that the graph has to evaluate.
    """
    if library_problem(armature_object):
        return False
    if not update.is_separate:
        follow_bones(armature_object)
    has_written = not update.is_separate and sync_anchors_if_changed(armature_object, update)
    evaluated = armature_object.evaluated_get(update.depsgraph)
    pairs = _with_evaluated(armature_object, evaluated)
    # Live chains first: they take over shared bones from idle ones, before these forget them.
    for settings, values in sorted(pairs, key=lambda pair: is_idle(pair[1])):
        # ``live_specs`` and the status report what is wrong with a chain.
        with suppress(IKError):
            has_written |= _prepare_chain(settings, values, evaluated, update)
    return has_written


def _prepare_chain(
    settings: ChainGroup, values: ChainGroup, evaluated: bpy.types.Object, update: Update
) -> bool:
    """Do for one chain what ``prepare`` does."""
    stored = settings.stored_pose
    if is_idle(values):
        if stored:
            live.memory.copy_animated(owner_of(settings), update)
        release(settings, update)
        return bool(stored)
    if not stored:
        store(settings, evaluated)
        return False
    if update.is_separate:
        return False
    # Chains leave their bodies while limbs that carry them are faded out.
    may_have_left = update.has_new_relations or body_of(owner_of(settings)) is not None
    return _release_unwritten(settings, update, may_have_left=may_have_left)


def live_specs(armature_object: bpy.types.Object, update: Update) -> Specs:
    """Return the records of the chains to solve by index, or what is wrong with them."""
    evaluated = armature_object.evaluated_get(update.depsgraph)
    specs: Specs = {}
    for index, (settings, values) in enumerate(_with_evaluated(armature_object, evaluated)):
        if not is_idle(values):
            try:
                specs[index] = chain_spec(settings, values)
            except IKError as error:
                specs[index] = error.message
    return specs


def _with_evaluated(
    armature_object: bpy.types.Object, evaluated: bpy.types.Object
) -> list[tuple[ChainGroup, ChainGroup]]:
    """Return the chains, each with its evaluated settings, which hold animated values."""
    chains, animated = chains_of(armature_object), chains_of(evaluated)
    if names_of_chains(armature_object) != names_of_chains(evaluated):
        # A script has changed the list since the evaluation, so the chains cannot be matched.
        animated = chains
    return list(zip(chains, animated, strict=True))


def _store_bones(
    armature_object: bpy.types.Object, index: int, stored: tuple[StoredBone, ...]
) -> tuple[StoredBone, ...]:
    settings = chains_of(armature_object)[index]
    former = {bone.name for bone in bones_of_text(settings.stored_pose)}
    pairs = zip(stored, merge_stored(settings, stored), strict=True)
    stored = tuple([bone if bone.name in former else other for bone, other in pairs])
    settings.stored_pose = text_of_bones(stored)
    return stored


SOURCE = Source(prepare, live_specs, _store_bones)
