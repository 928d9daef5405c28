"""The one way from settings into frozen records."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import bpy

from ..core import Lead, SolveOptions, Solver
from ..rig import anchors, live
from ..rig.restoring import driven_bones
from ..rig.spec import Anchor, ChainSpec, ForceSpec, NegativeScale, StartFrom, StoredBone
from ..rig.update import Update
from .chains import chains_of, owner_of
from .forces import force_spec
from .joints import own_joint

if TYPE_CHECKING:
    from .settings import ChainSettings

LOCATION = "location"
DRAGGED_LOCATION = f"dragged_{LOCATION}"
NO_OTHERS: Mapping[str, list[float]] = MappingProxyType({})


def chain_spec(settings: ChainSettings, animated: ChainSettings | None = None) -> ChainSpec:
    """Return the settings of a chain as a frozen record.

    Args:
        settings: The original ones.
        animated: The same chain of the evaluated object: what can be keyed is read there, because
            only the viewport's evaluation is copied back to the original.
    """
    animated = animated or settings
    # Reading settings that were never set has Blender store them, to be copied ever after.
    has_force = settings.solver == "FORCE"
    force = force_spec(settings.force, animated.force) if has_force else None
    return ChainSpec(
        name=settings.name,
        bone=settings.bone,
        chain_count=settings.chain_count,
        use_tail=settings.use_tail,
        use_rotation=settings.use_rotation,
        target=_target(settings),
        pole=_pole(settings),
        pole_angle=animated.pole_angle,
        negative_scale=NegativeScale(settings.negative_scale),
        start_from=_start_from(settings, force),
        stored_pose=bones_of_text(settings.stored_pose),
        options=SolveOptions(
            solver=Solver(settings.solver),
            iterations=settings.iterations,
            tolerance=settings.tolerance,
            influence=animated.influence,
            use_flip_bend=animated.use_flip_bend,
            orient_weight=animated.orient_weight,
            use_acceleration=settings.use_acceleration,
            soft_distance=animated.soft_distance,
            lead=Lead(settings.follow_lead),
            max_bend=animated.max_bend,
        ),
        use_limits=settings.use_limits,
        joints=tuple([own_joint(joint) for joint in settings.joints]),
        use_stretch=settings.use_stretch,
        use_keep_volume=settings.use_keep_volume,
        force=force,
        weight=animated.weight,
    )


def _start_from(settings: ChainSettings, force: ForceSpec | None) -> StartFrom:
    """Return the pose to start from: a chain that eases knows by itself where it stands."""
    start = StartFrom(settings.start_from)
    is_easing = force is not None and force.easing is not None
    return StartFrom.KEYED if is_easing and start is StartFrom.CURRENT else start


def bones_of_text(text: str) -> tuple[StoredBone, ...]:
    """Return what ``text_of_bones`` has written."""
    rows = json.loads(text) if text else ()
    return tuple([_bone_of_row(*row) for row in rows])


def _bone_of_row(
    name: str,
    mode: str,
    rotation: list[float],
    scale: Iterable[float] = (),
    others: Mapping[str, list[float]] = NO_OTHERS,
) -> StoredBone:
    dragged = others.get(DRAGGED_LOCATION)
    location = others.get(LOCATION, ()) if dragged is None else dragged
    turns = tuple(rotation)
    return StoredBone(name, mode, turns, tuple(scale), tuple(location), dragged is not None)


def text_of_bones(stored: Iterable[StoredBone]) -> str:
    """Return a stored pose as text; nothing for no bones."""
    rows = [_row_of_bone(bone) for bone in stored]
    return json.dumps(rows) if rows else ""


def _row_of_bone(bone: StoredBone) -> tuple[object, ...]:
    row = (bone.name, bone.rotation_mode, bone.rotation)
    if bone.location:
        word = DRAGGED_LOCATION if bone.is_dragged else LOCATION
        return (*row, bone.scale, {word: bone.location})
    return (*row, bone.scale) if bone.scale else row


def may_have_locations(text: str) -> bool:
    """Tell at little cost whether a stored pose as text holds the location of any bone."""
    return f'{LOCATION}"' in text


def idle_joints(settings: ChainSettings) -> list[str]:
    """Return the bones that have a joint in a chain but are not among those that it drives."""
    if not settings.joints:
        return []
    bones = {joint.bone for joint in settings.joints}.difference(bones_of_chain(settings))
    present = owner_of(settings).pose.bones
    return sorted(bone for bone in bones if bone in present)


def bones_of_chain(settings: ChainSettings) -> list[str]:
    """Return the names of the bones that a chain drives, root first; none if it has no bones."""
    return driven_bones(owner_of(settings), chain_spec(settings))


def _target(settings: ChainSettings) -> Anchor | None:
    target = settings.target
    return None if target is None else Anchor(target, settings.subtarget)


def _pole(settings: ChainSettings) -> Anchor | None:
    # Reading a pointer that was never set has Blender store an empty one.
    pole = settings.pole_target if settings.is_property_set("pole_target") else None
    return None if pole is None else Anchor(pole, settings.pole_subtarget)


def followed(armature_object: bpy.types.Object) -> list[tuple[str, Anchor]]:
    """Return tip bones and what their chains follow, targets and poles."""
    return [
        (settings.bone, anchor)
        for settings in chains_of(armature_object)
        for anchor in (_target(settings), _pole(settings))
        if anchor is not None
    ]


def sync_anchors(armature_object: bpy.types.Object) -> bool:
    """Keep hidden targets and poles of all chains of an object evaluated; tell if that is new."""
    return anchors.keep_evaluated(armature_object, followed(armature_object))


def sync_anchors_if_changed(armature_object: bpy.types.Object, update: Update) -> bool:
    """Sync anchors after chains have come or gone, or something was hidden or shown."""
    uid = armature_object.session_uid
    wanted = tuple(
        (bone, anchor.object.session_uid, anchor.bone) for bone, anchor in followed(armature_object)
    )
    known = live.memory.followed.get(uid, ())
    if known == wanted and not update.has_new_relations:
        return False
    if wanted:
        live.memory.followed[uid] = wanted
    else:
        live.memory.followed.pop(uid, None)
    return sync_anchors(armature_object)
