"""Chains with their controls for the limbs of a character that lack them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import bpy

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
from ...rig.posing.twisting import with_twist_spread
from ...rig.reading.refusals import RigError
from ...rig.reading.skeleton import compiled
from ...rig.reading.spec import ChainSpec, names_of_chains
from ...rig.tools.control_bones import takes_bones
from ...rig.tools.controls import (
    Control,
    Placement,
    placement,
    root_control,
    soft_distance,
    target_control,
)
from ...rig.tools.foot_controls import Foot, drive_foot, foot_of, lacking_toes
from ..controls import make_controls

ALL_HAVE = (
    "Every limb that was found has a chain already: to add another one, select its bones in pose"
    " mode and press +."
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
    names = _add_chains(context, owner, placed, wanted, driven if has_bones else None)
    names += _add_toes(context, owner, toes)
    limited = [limb for limb, *_ in placed]
    joints = _limit(owner, limited, names) if wanted.use_limits else None
    hung = _hang(context, owner, trunk, found) if trunk and (names or not free) else 0
    return Added(names, hung, problems, joints)


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
    placed, problems = [], []
    for limb in limbs:
        spec = with_twist_spread(owner, chain_of(limb))
        try:
            placed.append((limb, spec, placement(owner, spec)))
        except IKError as error:
            problems.append(f"{limb.name}: {error}")
    return placed, problems


def _add_chains(
    context: bpy.types.Context,
    owner: bpy.types.Object,
    placed: list[tuple[Limb, ChainSpec, Placement]],
    wanted: Wanted,
    driven: set[str] | None,
) -> list[str]:
    """Make all controls at once, add the chains and return their names.

    Args:
        context: See ``add_limbs``.
        owner: The original armature object.
        placed: Limbs with their chains and where their controls go.
        wanted: What is asked for.
        driven: Bones that chains drive, of an armature whose feet can roll; else None.
    """
    controls: list[Control] = []
    places = {limb.name: place.target for limb, _, place in placed}
    feet: list[Foot | None] = []
    for limb, spec, place in placed:
        other = places.get(opposite(limb.name)) if opposite(limb.name) != limb.name else None
        look = look_of(owner, limb, place.target, other)
        controls.append(target_control(spec.name, place, wanted.parent, look))
        feet.append(None if driven is None else foot_of(owner, limb, controls[-1], driven))
        controls += feet[-1].controls if feet[-1] else ()
    made = iter(make_controls(context, owner, controls, wanted.kind))
    names = []
    for (limb, spec, place), foot in zip(placed, feet, strict=True):
        target = next(made)
        if foot:
            turned = [next(made) for _ in foot.pivots]
            drive_foot(target, turned, foot.pivots)
            target = next(made)
        soft = soft_distance(place) if PRESETS[limb.kind].is_soft else 0.0
        names.append(_add_limb(context, owner, replace(spec, target=target), place, soft))
        if foot and foot.toes:
            toes, place_of_toes = foot.toes
            of_toes = replace(toes, target=next(made))
            names.append(_add_limb(context, owner, of_toes, place_of_toes))
    return names


def _lacking_toes(
    owner: bpy.types.Object, limbs: Sequence[Limb], driven: set[str]
) -> list[tuple[ChainSpec, Placement, Control]]:
    """Return the chains of toes that feet of legs with chains lack, and their controls."""
    found = []
    legs = {limb.end: limb for limb in limbs if limb.kind is LimbKind.LEG and limb.end}
    for chain in chains_of(owner):
        target, _ = target_and_pole(chain)
        feet = legs.keys() & set(bones_of_chain(chain))
        found += [lacking_toes(owner, legs[foot], target, driven) for foot in feet if target]
    return [each for each in found if each]


def _add_toes(
    context: bpy.types.Context,
    owner: bpy.types.Object,
    toes: Sequence[tuple[ChainSpec, Placement, Control]],
) -> list[str]:
    """Make the controls of toes, add their chains and return the names of these."""
    made = make_controls(context, owner, [control for *_, control in toes], "BONE")
    return [
        _add_limb(context, owner, replace(spec, target=target), place)
        for (spec, place, _), target in zip(toes, made, strict=True)
    ]


def _add_limb(
    context: bpy.types.Context,
    owner: bpy.types.Object,
    wanted: ChainSpec,
    place: Placement,
    soft: float = 0.0,
) -> str:
    """Add a chain whose target is there, and return its name."""
    name = free_name(names_of_chains(owner), wanted.name)
    wanted = replace(wanted, name=name, pole_angle=float(place.pole_angle))
    settings = add_chain(owner, wanted, place.bone_count, preferences(context))
    if soft:
        settings.soft_distance = soft
    store(settings)
    return name


def _lacks(owner: bpy.types.Object, trunk: Trunked, limbs: Sequence[Limb]) -> bool:
    """Tell whether a body that has all its chains lacks a root, or controls their spaces."""
    controls = controls_of(owner, limbs)
    return bool(controls) and (trunk.root is None or lacks_spaces(controls))


def _hang(
    context: bpy.types.Context, owner: bpy.types.Object, trunk: Trunked, limbs: Sequence[Limb]
) -> int:
    """Have the controls of a body go along with what carries them; return how many do now."""
    if trunk.root is None:
        (root,) = make_controls(context, owner, [root_control(owner, trunk.hips)], "BONE")
        trunk = replace(trunk, root=root)
    # What was made is to be evaluated before anything goes along with it.
    context.view_layer.update()
    return hang_controls(owner, compiled(owner), trunk, controls_of(owner, limbs))
