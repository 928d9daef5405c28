"""The one way from settings into frozen records."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from functools import cache
from typing import Any

import bpy

from ..core import IKError, Lead, SolveOptions, Solver
from ..rig.clips.feet import may_stand
from ..rig.clips.planting import check_plantable
from ..rig.controls.foot_roll import control_above
from ..rig.keying.baking import may_move
from ..rig.keying.going_on import LiveRigs
from ..rig.live import live
from ..rig.planning.checks import check_settings
from ..rig.planning.known_skeletons import skeleton_of
from ..rig.planning.stored_text import bones_of_text
from ..rig.reading import anchors
from ..rig.reading.animation import animated_paths
from ..rig.reading.chain_plan import plan_or_none
from ..rig.reading.refusals import RigError
from ..rig.reading.spec import (
    OF_BONES,
    Anchor,
    BodyGoal,
    ChainSpec,
    ForceSpec,
    PoleMode,
    RotationBone,
    StartFrom,
    bones_asked,
)
from ..rig.reading.update import Update
from ..rig.tools.restoring import driven_by_all
from .chains import ANCHORS, ChainGroup, body_of, chains_of, object_of, owner_of
from .forces import force_spec
from .joints.own import own_joint

_VISIBILITY = frozenset(("hide_viewport", "hide_render"))


def chain_spec(
    settings: ChainGroup, animated: ChainGroup | None = None, *, with_stored: bool = True
) -> ChainSpec:
    """Return the settings of a chain as a frozen record.

    Args:
        settings: The original ones.
        animated: The same chain of the evaluated object: what can be keyed is read there, because
            only the viewport's evaluation is copied back to the original.
        with_stored: Whether to read the stored pose as well.

    Raises:
        IKError: If a number is not finite or a text cannot be read, with what to do next.
    """
    animated = animated or settings
    # Reading settings that were never set has Blender store them, to be copied ever after.
    has_force = settings.solver == "FORCE"
    for group in {settings, animated}:
        check_settings(group)
        if has_force:
            check_settings(group.force)
    force = force_spec(settings.force, animated.force) if has_force else None
    target, pole = target_and_pole(settings)
    return ChainSpec(
        **_values(ChainSpec, settings, animated) | {"start_from": _start_from(settings, force)},
        name=settings.name,
        bone=settings.bone,
        target=target,
        pole=pole if settings.pole_mode == "TARGET" else None,
        stored_pose=bones_of_text(settings.stored_pose) if with_stored else (),
        options=SolveOptions(
            **_values(SolveOptions, settings, animated),
            stays_near=settings.pole_mode == "FOLLOW",
            lead=Lead(settings.follow_lead),
        ),
        joints=tuple([own_joint(joint) for joint in settings.joints]),
        force=force,
        body=_body_goal(settings, animated),
    )


def _values(record: type, settings: ChainGroup, animated: ChainGroup) -> dict[str, Any]:
    """Return the fields of a record that are settings of the same name, with their values."""
    group: Any = type(settings)
    return {
        name: kind(getattr(animated if may_be_keyed else settings, name))
        for name, kind, may_be_keyed in _fields_alike(record, group)
    }


@cache
def _fields_alike(record: Any, group: Any) -> list[tuple[str, type, bool]]:
    """Return these fields, what makes a value of each, and whether it can be keyed.

    Those without a number, a tick or a choice as default are read otherwise.
    """
    known = group.bl_rna.properties
    return [
        (each.name, type(each.default), known[each.name].is_animatable)
        for each in fields(record)
        if isinstance(each.default, int | float | str) and each.name in known
    ]


def _body_goal(settings: ChainGroup, animated: ChainGroup | None = None) -> BodyGoal | None:
    """Return what a chain is in the body of its object; None where that has none."""
    body, chain = body_of(owner_of(settings)), animated or settings
    if body is None:
        return None
    pull = owner_of(chain).chain_ik.body.influence * (1.0 if chain.use_pin else chain.pull)
    floor = None if body.floor is None else Anchor(body.floor)
    return BodyGoal(body.root, chain.priority, chain.use_pin, pull, floor)


def plantable(
    armature_object: bpy.types.Object, indices: Sequence[int], scene: bpy.types.Scene
) -> tuple[dict[int, ChainSpec], list[str]]:
    """Return the chains whose feet can be planted, by index, and what is wrong with the others.

    Raises:
        IKError: If there is none.
    """
    chains, problems = dict[int, ChainSpec](), list[str]()
    for index in indices:
        settings = chains_of(armature_object)[index]
        try:
            spec = chain_spec(settings)
            check_plantable(armature_object, spec, scene)
        except IKError as error:
            if len(indices) == 1:
                raise
            problems.append(f"{settings.name}: {error}")
        else:
            chains[index] = spec
    if not chains:
        raise RigError(problems[0] if problems else "No chain is selected: select its bones.")
    return chains, problems


def may_be_planted(armature_object: bpy.types.Object) -> set[int]:
    """Return the chains of an object that may have a foot or hand to plant, by index.

    Of those whose bones are not found, nobody knows.
    """
    skeleton = skeleton_of(armature_object)
    found = enumerate(chains_of(armature_object))
    plans = {i: plan_or_none(skeleton, bones_spec(settings)) for i, settings in found}
    known = {i: plan for i, plan in plans.items() if plan is not None}
    return plans.keys() - known.keys() | may_stand(known)


def bones_spec(settings: ChainGroup) -> ChainSpec:
    """Return which bones a chain drives as a record; nothing else of it, which may be unsound."""
    asked = dict(zip(OF_BONES, bones_asked(settings), strict=True))
    asked["rotation_bone"] = RotationBone(settings.rotation_bone)
    options = SolveOptions(solver=Solver(settings.solver))
    return ChainSpec(settings.name, **asked, options=options, body=_body_goal(settings))


def bend_spec(settings: ChainGroup) -> ChainSpec:
    """Return the same with what tells where it bends without a pole."""
    bones = bones_spec(settings)
    return replace(
        bones,
        pole_mode=PoleMode(settings.pole_mode),
        pole_lean=settings.pole_lean,
        pole_angle=settings.pole_angle,
        options=replace(bones.options, use_flip_bend=settings.use_flip_bend),
    )


def stored_spec(settings: ChainGroup) -> ChainSpec:
    """Return which bones a chain drives, and the pose that it has stored of them.

    Raises:
        RigError: If the stored pose cannot be read.
    """
    return replace(bones_spec(settings), stored_pose=bones_of_text(settings.stored_pose))


def _start_from(settings: ChainGroup, force: ForceSpec | None) -> StartFrom:
    """Return the pose to start from: a chain that eases knows by itself where it stands."""
    start = StartFrom(settings.start_from)
    is_easing = force is not None and force.easing is not None
    return StartFrom.KEYED if is_easing and start is StartFrom.CURRENT else start


def idle_joints(settings: ChainGroup) -> list[str]:
    """Return the bones that have a joint in a chain but are not among those that it drives."""
    if not settings.joints:
        return []
    bones = {joint.bone for joint in settings.joints}.difference(bones_of_chain(settings))
    pose = owner_of(settings).pose
    return sorted(bone for bone in bones if pose is not None and bone in pose.bones)


def bones_of_chain(settings: ChainGroup, *, with_body: bool = False) -> list[str]:
    """Return the names of the bones that a chain drives, root first; none if it has no bones.

    Args:
        settings: Of the chain.
        with_body: Whether those of its body count that carry it, after its own.
    """
    return driven_by_all(owner_of(settings), [_driving(settings, with_body=with_body)])[0]


def bones_of_chains(
    armature_object: bpy.types.Object, *, with_body: bool = False
) -> list[list[str]]:
    """Return the same for all chains of an object, in the order of its list."""
    chains = chains_of(armature_object)
    specs = [_driving(settings, with_body=with_body) for settings in chains]
    return driven_by_all(armature_object, specs) if specs else []


def drivers_of(
    armature_object: bpy.types.Object, bones: Collection[str], *, with_body: bool = False
) -> list[tuple[ChainGroup, list[str]]]:
    """Return the chains of an object that drive any of some bones, and which of them."""
    driven = bones_of_chains(armature_object, with_body=with_body)
    shared = [[bone for bone in own if bone in bones] for own in driven]
    return [pair for pair in zip(chains_of(armature_object), shared, strict=True) if pair[1]]


def belongs_to_body(settings: ChainGroup) -> bool:
    """Tell whether a chain begins at or below the root of the body that its object has."""
    owner = owner_of(settings)
    if body_of(owner) is None:
        return False
    plan = plan_or_none(skeleton_of(owner), bones_spec(settings))
    return plan is not None and plan.body_root >= 0


def count_bending(settings: ChainGroup) -> int:
    """Return how many bones of a chain bend: all but a tip that takes the target's rotation."""
    plan = plan_or_none(skeleton_of(owner_of(settings)), bones_spec(settings))
    if plan is None:
        return 0
    return len(plan.segments) - (plan.bends_without_tip and settings.orient_weight > 0.0)


def _driving(settings: ChainGroup, *, with_body: bool) -> ChainSpec:
    spec = bones_spec(settings)
    return spec if with_body else replace(spec, body=None)


def live_rigs(scene: bpy.types.Scene) -> LiveRigs:
    """Return the armature objects of a scene with sound chains that may move."""
    found = {}
    for rig in scene.objects:
        specs = []
        for index, settings in enumerate(chains_of(rig) if rig.type == "ARMATURE" else ()):
            # Those that are not sound are not solved.
            with suppress(IKError):
                if may_move(rig, index):
                    specs.append(chain_spec(settings, with_stored=False))
        if specs:
            found[rig] = specs
    return found


def target_and_pole(settings: ChainGroup) -> tuple[Anchor | None, Anchor | None]:
    """Return what a chain follows and bends to; None for what it has not."""
    target, pole = ANCHORS
    return _anchor(settings, *target), _anchor(settings, *pole)


def _anchor(settings: ChainGroup, name: str, bone: str) -> Anchor | None:
    followed = object_of(settings, name)
    if followed is None:
        return None
    # The panel asks for a bone of armatures only; what was chosen before stays in the setting.
    return Anchor(followed, getattr(settings, bone) if followed.type == "ARMATURE" else "")


def anchors_of(settings: ChainGroup) -> list[Anchor]:
    """Return the target and the pole of a chain, as far as it has them."""
    return [anchor for anchor in target_and_pole(settings) if anchor is not None]


def controls_of_chain(settings: ChainGroup) -> tuple[Anchor | None, Anchor | None]:
    """Return what people move for target and pole of a chain to move; None for what it has not."""
    target, pole = target_and_pole(settings)
    return target and control_above(target), pole


def moved_by_hand(settings: ChainGroup) -> list[Anchor]:
    """Return the controls of a chain, as far as it has them."""
    return [control for control in controls_of_chain(settings) if control is not None]


def followed(armature_object: bpy.types.Object) -> list[tuple[str, Anchor]]:
    """Return first bones and what their chains follow or do not pass: targets, poles, a floor."""
    chains, body = chains_of(armature_object), body_of(armature_object)
    found = [(_first(each), anchor) for each in chains for anchor in anchors_of(each)]
    if chains and body is not None and body.floor is not None:
        found.append((body.root, Anchor(body.floor)))
    return found


def _first(settings: ChainGroup) -> str:
    """Return the first bone of a chain: all that it moves hangs on that. Empty without one."""
    pose = owner_of(settings).pose
    bone = None if pose is None else pose.bones.get(settings.bone)
    if bone is None:
        return ""
    upward = [bone, *bone.parent_recursive][not settings.use_tail :]
    return upward[: settings.chain_count or None][-1].name if upward else ""


def sync_anchors(armature_object: bpy.types.Object, shown: Collection[int]) -> bool:
    """Keep targets and poles evaluated that are hidden at any time; tell if that is new."""
    wanted = followed(armature_object)
    owners = {anchor.object for _, anchor in wanted}
    changing = {
        owner.session_uid
        for owner in owners
        if not _VISIBILITY.isdisjoint(path for path, _ in animated_paths(owner))
    }
    return anchors.keep_evaluated(armature_object, wanted, set(shown) - changing)


def sync_anchors_if_changed(armature_object: bpy.types.Object, update: Update) -> bool:
    """Sync anchors after chains have come or gone, or something was hidden or shown."""
    uid = armature_object.session_uid
    wanted = tuple(
        [(bone, each.object.session_uid, each.bone) for bone, each in followed(armature_object)]
    )
    known = live.memory.followed.get(uid, ())
    if known == wanted and not update.has_new_relations:
        return False
    if wanted:
        live.memory.followed[uid] = wanted
    else:
        live.memory.followed.pop(uid, None)
    return sync_anchors(armature_object, update.shown)
