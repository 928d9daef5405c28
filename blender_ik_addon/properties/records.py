"""The only conversion of settings to frozen records."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from functools import cache
from typing import Any

import bpy

from ..core import IKError, Lead, SolveOptions, Solver
from ..core.model.message import Message
from ..rig.clips.feet import find_contact_chains
from ..rig.clips.planting import check_plantable
from ..rig.controls.foot_roll import control_above
from ..rig.keying.baking import may_move
from ..rig.keying.frame_dependence import LiveRigs
from ..rig.live import live
from ..rig.planning.checks import check_settings
from ..rig.planning.known_skeletons import skeleton_of
from ..rig.planning.stored_text import bones_of_text
from ..rig.reading import anchors
from ..rig.reading.animation import animated_paths
from ..rig.reading.chain_plan import ChainPlan, plan_chain, plan_or_none
from ..rig.reading.refusals import RigError
from ..rig.reading.spec import (
    BONE_SETTINGS,
    Anchor,
    BodyGoal,
    ChainSpec,
    PoleMode,
    RotationBone,
    StartFrom,
    get_bone_settings,
)
from ..rig.reading.update import Update
from .chains import ANCHORS, ChainGroup, body_of, chains_of, object_of, owner_of
from .forces import force_spec
from .joints.joint_definitions import joint_spec

_VISIBILITY = frozenset(("hide_viewport", "hide_render"))


def chain_spec(
    settings: ChainGroup, animated: ChainGroup | None = None, *, with_stored: bool = True
) -> ChainSpec:
    """Return the settings of a chain as a frozen record.

    Args:
        settings: The original settings.
        animated: The settings of the same chain on the evaluated object. Those that can be keyed
            are read there, as only the viewport's evaluation is copied back to the original.
        with_stored: Whether to read the stored pose as well.

    Raises:
        IKError: If a number is not finite or a text cannot be read, with what to do next.
    """
    animated = animated or settings
    # Reading settings that were never set makes Blender store and copy them from then on.
    has_force = settings.solver == "FORCE"
    for group in {settings, animated}:
        check_settings(group)
        if has_force:
            check_settings(group.force)
    force = force_spec(settings.force, animated.force) if has_force else None
    target, pole = target_and_pole(settings)
    start_from = StartFrom(settings.start_from)
    if start_from is StartFrom.CURRENT and force is not None and force.easing is not None:
        # A chain that eases remembers its present pose by itself.
        start_from = StartFrom.KEYED
    return ChainSpec(
        **_values_for(ChainSpec, settings, animated) | {"start_from": start_from},
        name=settings.name,
        bone=settings.bone,
        target=target,
        pole=pole if settings.pole_mode == "TARGET" else None,
        stored_pose=bones_of_text(settings.stored_pose) if with_stored else (),
        options=SolveOptions(
            **_values_for(SolveOptions, settings, animated),
            stays_near=settings.pole_mode == "FOLLOW",
            lead=Lead(settings.follow_lead),
        ),
        joints=tuple([joint_spec(joint) for joint in settings.joints]),
        force=force,
        body=_present_body_goal(settings, animated),
    )


def specs_to_bake(
    armature_object: bpy.types.Object, indices: Iterable[int]
) -> dict[int, ChainSpec]:
    """Return chains of an object as records for a bake, by index.

    Raises:
        RigError: If the settings of a chain are invalid, or it has no bones; with its name.
    """
    skeleton, specs = skeleton_of(armature_object), dict[int, ChainSpec]()
    for index in indices:
        settings = chains_of(armature_object)[index]
        try:
            # At other frames the chain may move its body, if it does not here.
            spec = replace(chain_spec(settings, with_stored=False), body=_body_goal(settings))
            plan_chain(skeleton, spec)
            specs[index] = spec
        except IKError as error:
            raise RigError(
                "Chain '{chain}' cannot be baked: {why}", chain=settings.name, why=error.message
            ) from error
    return specs


def _values_for(record: type, settings: ChainGroup, animated: ChainGroup) -> dict[str, Any]:
    """Return the values of the settings that are fields of a record, by name."""
    group: Any = type(settings)
    return {
        name: kind(getattr(animated if may_be_keyed else settings, name))
        for name, kind, may_be_keyed in _shared_fields(record, group)
    }


@cache
def _shared_fields(record: Any, group: Any) -> list[tuple[str, type, bool]]:
    """Return name and type of the settings that are fields of a record, and if they can be keyed.

    Fields whose default is not a number, a boolean or a choice are converted elsewhere.
    """
    known = group.bl_rna.properties
    return [
        (field.name, type(field.default), known[field.name].is_animatable)
        for field in fields(record)
        if isinstance(field.default, int | float | str) and field.name in known
    ]


def _body_goal(settings: ChainGroup, animated: ChainGroup | None = None) -> BodyGoal | None:
    """Return the goal of a chain in the body of its object; None if there is no body."""
    body, chain = body_of(owner_of(settings)), animated or settings
    if body is None:
        return None
    pull = owner_of(chain).chain_ik.body.influence * (1.0 if chain.use_pin else chain.pull)
    floor = None if body.floor is None else Anchor(body.floor)
    return BodyGoal(body.root, chain.priority, chain.use_pin, pull, floor)


def _present_body_goal(settings: ChainGroup, animated: ChainGroup | None = None) -> BodyGoal | None:
    """Return the goal of a chain in its body; None while a limb that carries it has faded out.

    That limb leaves its bones to the user. The chain is then solved by itself, below them.
    """
    body = _body_goal(settings, animated)
    if body is None:
        return None
    owner, values = owner_of(settings), chains_of(owner_of(animated or settings))
    faded = [chain for chain in values if chain.influence <= 0.0 and not chain.mute]
    plan = plan_or_none(skeleton_of(owner), bones_spec(settings)) if faded else None
    if plan is None or plan.body_root < 0:
        return body
    for chain in faded:
        carrier, goal = plan_or_none(plan.skeleton, bones_spec(chain)), _body_goal(chain)
        if carrier and goal and carrier.carries(plan) and goal.order <= body.order:
            return None
    return body


def plantable(
    armature_object: bpy.types.Object, indices: Sequence[int], scene: bpy.types.Scene
) -> tuple[dict[int, ChainSpec], list[str]]:
    """Return the chains whose feet can be planted, by index, and the problems of the others.

    Raises:
        IKError: If no chain can be planted.
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
            problems.append(Message("{name}: {error}", name=settings.name, error=error.message))
        else:
            chains[index] = spec
    if not chains:
        raise RigError(problems[0] if problems else "No chain is selected: select its bones.")
    return chains, problems


def may_be_planted(armature_object: bpy.types.Object) -> set[int]:
    """Return the indices of the chains of an object that may have a foot or hand to plant.

    Chains whose bones do not exist are included.
    """
    skeleton = skeleton_of(armature_object)
    chains = enumerate(chains_of(armature_object))
    plans = {i: plan_or_none(skeleton, bones_spec(settings)) for i, settings in chains}
    known = {i: plan for i, plan in plans.items() if plan is not None}
    return plans.keys() - known.keys() | find_contact_chains(known)


def bones_spec(settings: ChainGroup) -> ChainSpec:
    """Return a record with the bones of a chain, without other settings, which may be invalid."""
    bone_settings = dict(zip(BONE_SETTINGS, get_bone_settings(settings), strict=True))
    bone_settings["rotation_bone"] = RotationBone(settings.rotation_bone)
    options = SolveOptions(solver=Solver(settings.solver))
    return ChainSpec(settings.name, **bone_settings, options=options, body=_body_goal(settings))


def bend_spec(settings: ChainGroup) -> ChainSpec:
    """Return this record with the settings that decide where the chain bends without a pole."""
    bones = bones_spec(settings)
    return replace(
        bones,
        pole_mode=PoleMode(settings.pole_mode),
        pole_lean=settings.pole_lean,
        pole_angle=settings.pole_angle,
        options=replace(bones.options, use_flip_bend=settings.use_flip_bend),
    )


def idle_joints(settings: ChainGroup) -> list[str]:
    """Return the bones that have a joint in a chain although the chain does not drive them."""
    if not settings.joints:
        return []
    bones = {joint.bone for joint in settings.joints}.difference(bones_of_chain(settings))
    pose = owner_of(settings).pose
    return sorted(bone for bone in bones if pose is not None and bone in pose.bones)


def bones_of_chain(settings: ChainGroup) -> list[str]:
    """Return the names of the bones that a chain drives, root first; none if it has no bones."""
    return _driven_bones(owner_of(settings), [settings], with_body=False)[0]


def bones_of_chains(
    armature_object: bpy.types.Object, *, with_body: bool = False
) -> list[list[str]]:
    """Return the names of the bones of all chains of an object, in the order of its list.

    ``with_body`` appends the bones of its body that carry a chain.
    """
    return _driven_bones(armature_object, chains_of(armature_object), with_body=with_body)


def _driven_bones(
    armature_object: bpy.types.Object, chains: Sequence[ChainGroup], *, with_body: bool
) -> list[list[str]]:
    if not chains or armature_object.type != "ARMATURE":
        return [[] for _ in chains]
    skeleton, specs = skeleton_of(armature_object), map(bones_spec, chains)
    plans = [
        plan_or_none(skeleton, spec if with_body else replace(spec, body=None)) for spec in specs
    ]
    return [list(plan.names) if plan else [] for plan in plans]


def written_bones(settings: ChainGroup) -> frozenset[str]:
    """Return the names of the bones that a live chain writes now, with those of its body."""
    spec = replace(bones_spec(settings), body=_present_body_goal(settings))
    plan = plan_or_none(skeleton_of(owner_of(settings)), spec)
    return frozenset(plan.names if plan else ())


def drivers_of(
    armature_object: bpy.types.Object, bones: Collection[str]
) -> list[tuple[ChainGroup, list[str]]]:
    """Return the chains of an object that drive any of these bones, and the bones they drive."""
    driven = bones_of_chains(armature_object)
    shared = [[bone for bone in names if bone in bones] for names in driven]
    return [pair for pair in zip(chains_of(armature_object), shared, strict=True) if pair[1]]


def plan_of(settings: ChainGroup) -> ChainPlan | None:
    """Return the plan of a chain; None if it has no bones."""
    return plan_or_none(skeleton_of(owner_of(settings)), bones_spec(settings))


def belongs_to_body(settings: ChainGroup) -> bool:
    """Tell whether a chain begins at or below the root of the body that its object has."""
    plan = None if body_of(owner_of(settings)) is None else plan_of(settings)
    return plan is not None and plan.body_root >= 0


def count_bending(settings: ChainGroup) -> int:
    """Count the bending bones of a chain: all but a tip that takes the target's rotation."""
    plan = plan_of(settings)
    if plan is None:
        return 0
    return len(plan.segments) - (plan.bends_without_tip and settings.orient_weight > 0.0)


def live_rigs(scene: bpy.types.Scene) -> LiveRigs:
    """Return the armature objects of a scene with valid chains that may move, and these chains."""
    rigs = {}
    for rig in scene.objects:
        specs = []
        for index, settings in enumerate(chains_of(rig) if rig.type == "ARMATURE" else ()):
            # Invalid chains are not solved.
            with suppress(IKError):
                if may_move(rig, index):
                    specs.append(chain_spec(settings, with_stored=False))
        if specs:
            rigs[rig] = specs
    return rigs


def target_and_pole(settings: ChainGroup) -> tuple[Anchor | None, Anchor | None]:
    """Return the target and the pole of a chain; None for one that is missing."""
    target, pole = ANCHORS
    return _anchor(settings, *target), _anchor(settings, *pole)


def _anchor(settings: ChainGroup, name: str, bone: str) -> Anchor | None:
    owner = object_of(settings, name)
    if owner is None:
        return None
    # The panel shows the bone of armatures only; an earlier choice stays in the setting.
    return Anchor(owner, getattr(settings, bone) if owner.type == "ARMATURE" else "")


def anchors_of(settings: ChainGroup) -> list[Anchor]:
    """Return the target and the pole of a chain, without missing ones."""
    return [anchor for anchor in target_and_pole(settings) if anchor is not None]


def controls_of_chain(settings: ChainGroup) -> tuple[Anchor | None, Anchor | None]:
    """Return the controls that users move for target and pole; None for one that is missing."""
    target, pole = target_and_pole(settings)
    return target and control_above(target), pole


def existing_controls(settings: ChainGroup) -> list[Anchor]:
    """Return the controls that users move for target and pole, without missing ones."""
    return [control for control in controls_of_chain(settings) if control is not None]


def all_anchors(armature_object: bpy.types.Object) -> list[tuple[str, Anchor]]:
    """Return targets and poles of an object's chains and its floor, each after its first bone."""
    chains, body = chains_of(armature_object), body_of(armature_object)
    pairs = [(_first_bone(chain), anchor) for chain in chains for anchor in anchors_of(chain)]
    if chains and body is not None and body.floor is not None:
        pairs.append((body.root, Anchor(body.floor)))
    return pairs


def _first_bone(settings: ChainGroup) -> str:
    """Return the first bone of a chain, which carries all that it moves; empty without bones."""
    pose = owner_of(settings).pose
    bone = None if pose is None else pose.bones.get(settings.bone)
    if bone is None:
        return ""
    upward = [bone, *bone.parent_recursive][not settings.use_tail :]
    return upward[: settings.chain_count or None][-1].name if upward else ""


def sync_anchors(armature_object: bpy.types.Object, shown: Collection[int]) -> bool:
    """Keep targets and poles evaluated that are ever hidden; tell whether their anchors change."""
    pairs = all_anchors(armature_object)
    always_shown = _find_always_shown((anchor for _, anchor in pairs), shown)
    return anchors.keep_evaluated(armature_object, pairs, always_shown)


def anchor_chain(settings: ChainGroup) -> None:
    """Keep the target and the pole of a changed chain evaluated if they are ever hidden.

    The next update removes anchors that nothing needs any more: if each change read all chains, the
    time of a script that adds them would grow with the square of their number.
    """
    followed, shown = anchors_of(settings), anchors.shown_everywhere()
    always_shown = _find_always_shown(followed, shown)
    if any(anchor.object.session_uid not in always_shown for anchor in followed):
        sync_anchors(owner_of(settings), shown)


def _find_always_shown(followed: Iterable[Anchor], shown: Collection[int]) -> set[int]:
    """Return the session uids of objects in ``shown`` whose visibility is not animated."""
    return {
        owner.session_uid
        for owner in {anchor.object for anchor in followed}
        if owner.session_uid in shown
        and _VISIBILITY.isdisjoint(path for path, _ in animated_paths(owner))
    }


def sync_anchors_if_changed(armature_object: bpy.types.Object, update: Update) -> bool:
    """Sync anchors if chains or anchors have changed, or if anything was hidden or shown."""
    uid = armature_object.session_uid
    present = tuple(
        [(bone, it.object.session_uid, it.bone) for bone, it in all_anchors(armature_object)]
    )
    known = live.memory.followed.get(uid, ())
    if known == present and not update.has_new_relations:
        return False
    if present:
        live.memory.followed[uid] = present
    else:
        live.memory.followed.pop(uid, None)
    return sync_anchors(armature_object, update.shown)
