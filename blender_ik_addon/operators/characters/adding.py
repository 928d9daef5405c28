"""Chains with their controls for the limbs of a character that lack them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import bpy
import numpy as np

from ...core import IKError
from ...preferences.addon import preferences
from ...properties.chains import chains_of, free_name
from ...properties.controls.hierarchy import (
    Trunked,
    controls_of,
    hang_controls,
    lacks_spaces,
    trunk_of,
)
from ...properties.joints.selected import JointChanges, set_presets
from ...properties.lists import add_chain
from ...properties.records import bones_of_chain, bones_of_chains, target_and_pole
from ...properties.stored import store
from ...rig.anatomy.bone_names import opposite
from ...rig.anatomy.limb_chains import PRESETS, chain_of, joints_of
from ...rig.anatomy.limbs import Limb, LimbKind
from ...rig.controls.control_sizes import look_of
from ...rig.controls.default_poles import Placement, placement, soft_distance
from ...rig.frames.carried_sides import angle_toward
from ...rig.planning.known_skeletons import skeleton_of
from ...rig.posing.twisting import with_twist_spread
from ...rig.reading.animation import bone_of_path, curves
from ...rig.reading.chain_plan import planned
from ...rig.reading.refusals import RigError
from ...rig.reading.spec import Anchor, ChainSpec, names_of_chains
from ...rig.tools.control_bones import takes_bones
from ...rig.tools.controls import Control, NewChain, root_control, target_control
from ...rig.tools.foot_controls import drive_foot, lacking_toes, rolling
from ..controls import make_controls
from ..selection import view_layer_of

ALL_HAVE = (
    "Every limb that was found has a chain already: for a chain of other bones, select these in"
    " pose mode and press +."
)


@dataclass(frozen=True)
class Wanted:
    """What a set-up is asked for.

    Attributes:
        limbs: That are to have chains.
        kind: Of controls, "BONE" or "EMPTY".
        parent: Of all control bones; empty for spaces of their own.
        use_limits: Whether new chains get joints by anatomy.
        use_body: Whether all chains become one body then.
    """

    limbs: list[Limb]
    kind: str
    parent: str
    use_limits: bool
    use_body: bool


@dataclass(frozen=True)
class Added:
    """What a set-up has added.

    Attributes:
        names: Of the chains.
        hung: How many controls have spaces now.
        problems: Why limbs got no chain, a sentence each.
        joints: What has become of joints by anatomy; None where none were asked for.
    """

    names: list[str]
    hung: int
    problems: list[str]
    joints: JointChanges | None


def add_limbs(
    context: bpy.types.Context, owner: bpy.types.Object, found: Sequence[Limb], wanted: Wanted
) -> Added:
    """Add what limbs lack: chains, controls, toes, and what carries them.

    Args:
        context: Its view layer shows where empties can go.
        owner: The original armature object.
        found: All limbs of its body.
        wanted: What is asked for.

    Raises:
        RigError: If they lack nothing, and are not to become a body.
    """
    has_bones = wanted.kind == "BONE" and takes_bones(owner)
    driven = {bone for bones in bones_of_chains(owner) for bone in bones}
    free = [limb for limb in wanted.limbs if driven.isdisjoint((*limb.bones, limb.end))]
    # Where a parent carries all controls, no root does.
    trunk = None if wanted.parent else trunk_of(owner, found, "BONE" if has_bones else "EMPTY")
    toes = _lacking_toes(owner, wanted.limbs, driven) if has_bones else []
    if not (free or toes or wanted.use_body or (trunk and _lacks(owner, trunk, found))):
        raise RigError(ALL_HAVE)
    placed, problems = _placed(owner, free)
    new = _new_chains(owner, placed, wanted, driven if has_bones else None)
    is_hung = trunk is not None and bool(new or toes or not free)
    roots = []
    if trunk is not None and trunk.root is None and is_hung:
        roots.append(root_control(owner, trunk.hips))
    names, made = _add(context, owner, [*new, *toes], roots, wanted.kind)
    limited = [limb for limb, *_ in placed]
    joints = _limit(owner, limited, names) if wanted.use_limits else None
    hung = 0
    if trunk is not None and is_hung:
        trunk = replace(trunk, root=made[0]) if made else trunk
        # What was made is to be evaluated before anything goes along with it.
        layer = view_layer_of(context)
        layer.update()
        controls = controls_of(owner, found)
        hung = hang_controls(owner, skeleton_of(owner), trunk, controls, layer)
    return Added(names, hung, problems, joints)


def with_keyed_bones(owner: bpy.types.Object, names: Sequence[str]) -> list[str]:
    """Return those of some chains of which a bone has keys at several frames."""
    keyed = {
        bone
        for curve in curves(owner)
        for bone in (bone_of_path(curve.data_path) or ())[:1]
        if len(curve.keyframe_points) > 1
    }
    chains = (chain for chain in chains_of(owner) if chain.name in names)
    return [each.name for each in chains if not keyed.isdisjoint(bones_of_chain(each))]


def _limit(owner: bpy.types.Object, limbs: list[Limb], names: list[str]) -> JointChanges:
    """Give the limbs that have just been set up joints by anatomy."""
    for chain in chains_of(owner):
        if chain.name in names:
            chain.use_limits = True
    presets = {bone: joint for limb in limbs for bone, joint in joints_of(limb).items()}
    return set_presets(owner, presets)


def _placed(
    owner: bpy.types.Object, limbs: list[Limb]
) -> tuple[list[tuple[Limb, ChainSpec, Placement]], list[str]]:
    """Return limbs with their chains and placements, and what is wrong with the others."""
    placed, problems, skeleton = [], [], skeleton_of(owner)
    for limb in limbs:
        spec = chain_of(limb)
        try:
            if not limb.is_sideways:
                spec = with_twist_spread(owner, spec)
            angle = angle_toward(planned(skeleton, spec), spec, np.array(limb.bends))
            spec = replace(spec, pole_angle=angle)
            placed.append((limb, spec, placement(owner, spec)))
        except IKError as error:
            problems.append(f"{limb.name}: {error}")
    return placed, problems


def _new_chains(
    owner: bpy.types.Object,
    placed: list[tuple[Limb, ChainSpec, Placement]],
    wanted: Wanted,
    driven: set[str] | None,
) -> list[NewChain]:
    """Return the chains of limbs with their controls, and those of the toes of feet that roll.

    Args:
        owner: The original armature object.
        placed: Limbs with their chains and where their controls go.
        wanted: What is asked for.
        driven: Bones that chains drive, of an armature whose feet can roll; else None.
    """
    found: list[NewChain] = []
    places = {limb.name: place.target for limb, _, place in placed}
    for limb, spec, place in placed:
        other = places.get(opposite(limb.name)) if opposite(limb.name) != limb.name else None
        look = look_of(owner, limb, place.target, other)
        control = target_control(spec.name, place, wanted.parent, look)
        soft = soft_distance(place) if PRESETS[limb.kind].is_soft else 0.0
        chain = NewChain(spec, place, [control], soft=soft)
        found += [chain] if driven is None else rolling(owner, limb, chain, driven)
    return found


def _lacking_toes(
    owner: bpy.types.Object, limbs: Sequence[Limb], driven: set[str]
) -> list[NewChain]:
    """Return the chains of toes that feet of legs with chains lack."""
    found = []
    walking = (limb for limb in limbs if limb.kind is LimbKind.LEG and not limb.is_sideways)
    legs = {limb.end: limb for limb in walking if limb.end}
    for chain in chains_of(owner):
        target, _ = target_and_pole(chain)
        feet = legs.keys() & set(bones_of_chain(chain))
        found += [lacking_toes(owner, legs[foot], target, driven) for foot in feet if target]
    return [each for each in found if each]


def _add(
    context: bpy.types.Context,
    owner: bpy.types.Object,
    chains: Sequence[NewChain],
    roots: Sequence[Control],
    kind: str,
) -> tuple[list[str], list[Anchor]]:
    """Make all controls at once and add the chains; return their names, and the roots."""
    controls = [control for chain in chains for control in chain.controls]
    made, names = iter(make_controls(context, owner, [*controls, *roots], kind)), []
    for chain in chains:
        *_, target = [next(made) for _ in chain.controls]
        drive_foot(target)
        name = free_name(names_of_chains(owner), chain.spec.name)
        angle = float(chain.place.pole_angle)
        spec = replace(chain.spec, name=name, pole_angle=angle, target=target)
        settings = add_chain(owner, spec, chain.place.bone_count, preferences(context))
        if chain.soft:
            settings.soft_distance = chain.soft
        store(settings)
        names.append(name)
    return names, list(made)


def _lacks(owner: bpy.types.Object, trunk: Trunked, limbs: Sequence[Limb]) -> bool:
    """Tell whether a body that has all its chains lacks a root, or controls their spaces."""
    controls = controls_of(owner, limbs)
    return bool(controls) and (trunk.root is None or lacks_spaces(controls))
