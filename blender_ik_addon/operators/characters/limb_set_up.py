"""The set-up of limbs: chains and controls for the limbs of a character that lack them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import bpy
import numpy as np

from ...core import IKError
from ...core.model.message import Message
from ...preferences.addon import preferences
from ...properties.chain_lists import add_chain
from ...properties.chains import chains_of
from ...properties.controls.hierarchy import controls_of, hang_controls, lacks_root, trunk_of
from ...properties.joints.selected import JointChanges, set_presets
from ...properties.records import bones_of_chain, bones_of_chains, target_and_pole
from ...properties.stored import store
from ...rig.anatomy.bone_names import opposite
from ...rig.anatomy.limb_chains import LIMB_PRESETS, chain_of, joints_of
from ...rig.anatomy.limbs import Limb, LimbKind
from ...rig.controls.control_sizes import look_of
from ...rig.controls.default_poles import Placement, placement
from ...rig.frames.carried_sides import angle_toward
from ...rig.planning.known_skeletons import skeleton_of
from ...rig.posing.twisting import with_twist_spread
from ...rig.reading.animation import bone_of_path, curves
from ...rig.reading.chain_plan import plan_chain
from ...rig.reading.refusals import RigError
from ...rig.reading.spec import Anchor, ChainSpec
from ...rig.tools.control_bones import can_add_bones
from ...rig.tools.controls import Control, NewChain, root_control, target_control
from ...rig.tools.foot_controls import add_foot_roll, drive_foot, find_missing_toes
from ..controls import make_controls
from ..selection import view_layer_of

ALL_HAVE = (
    "Every limb that was found already has a chain: to add a chain for other bones, select them"
    " in pose mode and press +."
)


@dataclass(frozen=True)
class SetUpOptions:
    """The options of a set-up.

    Attributes:
        limbs: Limbs that shall have chains.
        kind: Kind of the controls, "BONE" or "EMPTY".
        parent: Parent of all control bones; empty if each control gets spaces.
        use_limits: Whether new chains get joints by anatomy.
        use_body: Whether all chains become one body afterwards.
    """

    limbs: list[Limb]
    kind: str
    parent: str
    use_limits: bool
    use_body: bool


@dataclass(frozen=True)
class SetUpResult:
    """The result of a set-up.

    Attributes:
        names: Names of the new chains.
        space_count: Number of controls that got spaces.
        problems: Sentences that say why limbs got no chain.
        joints: Changes of joints by anatomy; None if none were requested.
    """

    names: list[str]
    space_count: int
    problems: Sequence[str]
    joints: JointChanges | None


def add_limbs(
    context: bpy.types.Context,
    owner: bpy.types.Object,
    all_limbs: Sequence[Limb],
    options: SetUpOptions,
) -> SetUpResult:
    """Add the chains, controls, toes and spaces that limbs lack.

    ``all_limbs`` are those of the whole body.

    Raises:
        RigError: If the limbs lack nothing, and shall not become a body.
    """
    has_bones = options.kind == "BONE" and can_add_bones(owner)
    driven = {bone for bones in bones_of_chains(owner) for bone in bones}
    free = [limb for limb in options.limbs if driven.isdisjoint((*limb.bones, limb.end))]
    # Without a parent for all controls, a root carries them.
    trunk = None if options.parent else trunk_of(owner, all_limbs, "BONE" if has_bones else "EMPTY")
    toes = _lacking_toes(owner, options.limbs, driven) if has_bones else []
    if not (free or toes or options.use_body or (trunk and lacks_root(owner, trunk, all_limbs))):
        raise RigError(ALL_HAVE)
    placed, problems = _place_limbs(owner, free)
    new = _new_chains(owner, placed, options, driven if has_bones else None)
    is_hung = trunk is not None and bool(new or toes or not free)
    roots = []
    if trunk is not None and trunk.root is None and is_hung:
        roots.append(root_control(owner, trunk.hips))
    names, new_roots = _add_chains(context, owner, [*new, *toes], roots, options.kind)
    joints, space_count = None, 0
    if options.use_limits:
        for chain in [chain for chain in chains_of(owner) if chain.name in names]:
            chain.use_limits = True
        limited = [joints_of(limb).items() for limb, *_ in placed]
        joints = set_presets(owner, {bone: joint for items in limited for bone, joint in items})
    if trunk is not None and is_hung:
        trunk = replace(trunk, root=new_roots[0]) if new_roots else trunk
        # Blender must evaluate the new controls before anything gets them as a space.
        layer = view_layer_of(context)
        layer.update()
        controls = controls_of(owner, all_limbs)
        space_count = hang_controls(owner, skeleton_of(owner), trunk, controls, layer)
    return SetUpResult(names, space_count, problems, joints)


def with_keyed_bones(owner: bpy.types.Object, names: Sequence[str]) -> list[str]:
    """Return the names of those chains that have a bone with keys at more than one frame."""
    keyed = {
        bone
        for curve in curves(owner)
        for bone in (bone_of_path(curve.data_path) or ())[:1]
        if len(curve.keyframe_points) > 1
    }
    chains = (chain for chain in chains_of(owner) if chain.name in names)
    return [chain.name for chain in chains if not keyed.isdisjoint(bones_of_chain(chain))]


def _place_limbs(
    owner: bpy.types.Object, limbs: list[Limb]
) -> tuple[list[tuple[Limb, ChainSpec, Placement]], list[Message]]:
    """Return limbs with their settings and placements, and the problems of the other limbs."""
    placed, problems, skeleton = [], [], skeleton_of(owner)
    for limb in limbs:
        spec = chain_of(limb)
        try:
            if not limb.is_sideways:
                spec = with_twist_spread(owner, spec)
            angle = angle_toward(plan_chain(skeleton, spec), spec, np.array(limb.bends))
            spec = replace(spec, pole_angle=angle)
            placed.append((limb, spec, placement(owner, spec)))
        except IKError as error:
            problems.append(Message("{name}: {error}", name=limb.name, error=error.message))
    return placed, problems


def _new_chains(
    owner: bpy.types.Object,
    placed: list[tuple[Limb, ChainSpec, Placement]],
    options: SetUpOptions,
    driven: set[str] | None,
) -> list[NewChain]:
    """Return the chains of limbs with their controls, and those of the toes of feet that roll.

    ``driven`` are the bones that chains drive; None if feet cannot roll.
    """
    chains: list[NewChain] = []
    places = {limb.name: place.target for limb, _, place in placed}
    for limb, spec, place in placed:
        other = places.get(opposite(limb.name)) if opposite(limb.name) != limb.name else None
        look = look_of(owner, limb, place.target, other)
        control = target_control(spec.name, place, options.parent, look)
        soft = float(place.soft) if LIMB_PRESETS[limb.kind].is_soft else 0.0
        chain = NewChain(spec, place, [control], soft=soft)
        chains += [chain] if driven is None else add_foot_roll(owner, limb, chain, driven)
    return chains


def _lacking_toes(
    owner: bpy.types.Object, limbs: Sequence[Limb], driven: set[str]
) -> list[NewChain]:
    """Return the missing toe chains of legs that have chains."""
    toes = []
    walking = (limb for limb in limbs if limb.kind is LimbKind.LEG and not limb.is_sideways)
    legs = {limb.end: limb for limb in walking if limb.end}
    for chain in chains_of(owner):
        target, _ = target_and_pole(chain)
        feet = legs.keys() & set(bones_of_chain(chain))
        toes += [find_missing_toes(owner, legs[foot], target, driven) for foot in feet if target]
    return [toe for toe in toes if toe]


def _add_chains(
    context: bpy.types.Context,
    owner: bpy.types.Object,
    chains: Sequence[NewChain],
    roots: Sequence[Control],
    kind: str,
) -> tuple[list[str], list[Anchor]]:
    """Make all controls at once and add the chains; return their names, and the new roots."""
    controls = [control for chain in chains for control in chain.controls]
    anchors, names = iter(make_controls(context, owner, [*controls, *roots], kind)), []
    for chain in chains:
        *_, target = [next(anchors) for _ in chain.controls]
        drive_foot(target)
        angle = float(chain.place.pole_angle)
        spec = replace(chain.spec, pole_angle=angle, target=target)
        settings = add_chain(owner, spec, chain.place.bone_count, preferences(context))
        if chain.soft:
            settings.soft_distance = chain.soft
        store(settings)
        names.append(settings.name)
    return names, list(anchors)
