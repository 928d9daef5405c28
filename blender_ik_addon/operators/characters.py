"""The operators for whole characters: chains for all limbs at once, and for the other side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty

from ..core import IKError
from ..preferences import CONTROLS, new_chain
from ..properties import (
    OWN_WORDS,
    Trunked,
    active_armature,
    add_chain,
    bones_of_chain,
    bones_spec,
    chains_of,
    check_opposite,
    controls_of,
    copy_mirrored,
    free_name,
    hang_controls,
    lacks_spaces,
    movers,
    names_of_chains,
    owner_of,
    set_presets,
    store,
    target_and_pole,
    trunk_of,
)
from ..rig.anatomy.bone_names import opposite
from ..rig.anatomy.free_bones import free_bones
from ..rig.anatomy.limb_chains import PRESETS, chain_of, joints_of
from ..rig.anatomy.limbs import Limb, LimbKind, find_limbs
from ..rig.anatomy.symmetry import mirrored_in_world, mirrored_place
from ..rig.controls.control_sizes import look_of
from ..rig.controls.control_spaces import copy_spaces, finite_place, hangs
from ..rig.controls.foot_roll import control_above, is_mechanism
from ..rig.posing.twisting import with_twist_spread
from ..rig.reading.refusals import RigError
from ..rig.reading.skeleton import compiled
from ..rig.reading.spec import Anchor, ChainSpec
from ..rig.tools.control_bones import look_of_bone, takes_bones
from ..rig.tools.controls import (
    Control,
    Placement,
    Shape,
    placement,
    root_control,
    soft_distance,
    target_control,
)
from ..rig.tools.foot_controls import Foot, drive_foot, foot_of, lacking_toes, mirrored_foot
from ..translations import said
from . import selection
from .base import ANEW, ChainOperator
from .controls import NO_BONES, choose_control, make_controls, parents
from .joints import report_changes

KINDS = [(kind.name, kind.value, PRESETS[kind].word, 2**i) for i, kind in enumerate(LimbKind)]
USUAL = {kind.name for kind in LimbKind if kind is not LimbKind.FINGER}
SCOPES = (
    ("ALL", "All Limbs", "Every limb of the armature that is found by names and structure"),
    ("SELECTED", "Selected", "The limbs that have a selected bone"),
)
ALL_HAVE = (
    "Every limb that was found has a chain already: to add another one, select its bones in pose"
    " mode and press +."
)


class POSE_OT_chain_ik_setup(ChainOperator):
    """Add chains for the limbs of a whole character."""

    bl_idname = "pose.chain_ik_setup"
    bl_label = "Set Up Limbs"
    bl_description = (
        "Find the limbs of the armature by the names and parents of its bones,"
        " and add a chain with a target to each. Elbows and knees go along by themselves, controls"
        " with a root, the torso or each other. The pose does not move"
    )
    bl_options = {"REGISTER", "UNDO"}

    scope: EnumProperty(
        name="Limbs",
        description="Which limbs get chains",
        items=SCOPES,
        options=ANEW,
    )
    kinds: EnumProperty(
        name="Kinds",
        description="Which kinds of limbs get chains",
        translation_context=OWN_WORDS,
        items=KINDS,
        default=USUAL,
        options={"ENUM_FLAG"},
    )
    control: EnumProperty(
        name="Control",
        description="What targets and poles are, as in the preferences until it is chosen here",
        items=CONTROLS,
    )
    parent: StringProperty(
        name="Parent",
        description="The bone that all new control bones hang under, instead of a root and spaces"
        " of their own. Empty: none",
        search=parents,
    )
    use_limits: BoolProperty(
        name="Limits",
        description="Limit knees, elbows, fingers, necks and tails as in books of anatomy",
    )

    @classmethod
    def problem(cls, context: bpy.types.Context) -> str:
        return selection.problem_of_armature(context)

    def act(self, context: bpy.types.Context) -> set[str]:
        owner = cast(bpy.types.Object, active_armature(context))
        choose_control(self, context)
        skeleton = compiled(owner)
        is_free = free_bones(owner, skeleton)
        limbs = find_limbs(skeleton, is_free)
        wanted = self._wanted(context, owner, limbs)
        driven = _driven(owner)
        free = [limb for limb in wanted if driven.isdisjoint((*limb.bones, limb.end))]
        # Where a parent carries all controls, no root does.
        kind = self.control if takes_bones(owner) else "EMPTY"
        trunk = None if self.parent else trunk_of(owner, skeleton, is_free, limbs, kind)
        toes = _lacking_toes(owner, wanted, driven) if kind == "BONE" else []
        if not (free or toes or (trunk and _lacks(owner, trunk, limbs))):
            raise RigError(ALL_HAVE)
        placed, problems = _placed(owner, free)
        names = _add_chains(context, owner, placed, self.control, self.parent)
        names += _add_toes(context, owner, toes)
        if self.use_limits:
            self._limit(owner, [limb for limb, *_ in placed], names)
        count = 0
        if trunk and (names or not free):
            count = _hang(context, owner, trunk, limbs)
        if self.control == "BONE" and not takes_bones(owner):
            self.report({"INFO"}, said(NO_BONES))
        for problem in problems:
            self.report({"WARNING"} if names else {"ERROR"}, said(problem))
        if names:
            chains = f"{len(names)} chains" if len(names) != 1 else "1 chain"
            self.report({"INFO"}, said(f"Set up {chains}: {', '.join(names)}"))
        elif count:
            self.report({"INFO"}, said(f"Controls that got spaces: {count}"))
        return {"FINISHED"} if names or not free else {"CANCELLED"}

    def _limit(self, owner: bpy.types.Object, limbs: list[Limb], names: list[str]) -> None:
        """Give the limbs that have just been set up joints by anatomy."""
        for chain in chains_of(owner):
            if chain.name in names:
                chain.use_limits = True
        presets = {bone: joint for limb in limbs for bone, joint in joints_of(limb).items()}
        report_changes(self, set_presets(owner, presets))

    def _wanted(
        self, context: bpy.types.Context, owner: bpy.types.Object, found: Sequence[Limb]
    ) -> list[Limb]:
        """Return the limbs that are asked for.

        Raises:
            RigError: If none is found that could be asked for.
        """
        chosen = selection.selected_bones(context, owner)
        limbs = [
            limb
            for limb in found
            if limb.kind.name in self.kinds
            and (self.scope == "ALL" or not chosen.isdisjoint((*limb.bones, limb.end)))
        ]
        if not limbs:
            labels = ", ".join(kind.value for kind in LimbKind if kind.name in self.kinds) or "none"
            raise RigError(
                f"No limb of these kinds ({labels}) was found from bone names and parents: select"
                " the bones of a limb in pose mode and press +."
            )
        return limbs


class POSE_OT_chain_ik_mirror(ChainOperator):
    """Add the same chain on the other side of the character."""

    bl_idname = "pose.chain_ik_mirror"
    bl_label = "Mirror to Other Side"
    bl_description = (
        "Add the same chain on the other side, with its settings, joints, target"
        " and pole. The bones there are found by their names, such as .L and .R"
    )
    bl_options = {"REGISTER", "UNDO"}

    def act(self, context: bpy.types.Context) -> set[str]:
        source = selection.chain(context)
        owner = owner_of(source)
        index = owner.chain_ik.active_index
        check_opposite(source)
        spec, solver = bones_spec(source), source.solver
        length = placement(owner, spec).length
        target, pole = target_and_pole(source)
        for anchor, word in ((target, "target"), (pole, "pole")):
            if anchor is not None:
                finite_place(anchor, word)
        wanted = replace(
            spec,
            name=free_name(names_of_chains(owner), opposite(spec.name)),
            bone=opposite(spec.bone),
            target=target and _opposite_target(context, owner, target, length),
            pole=pole and _opposite_anchor(context, owner, pole, "SPHERE", length),
        )
        copy = add_chain(owner, wanted, 0, solver)
        for control, other in ((target, wanted.target), (pole, wanted.pole)):
            if control and other and control != other and not hangs(control_above(other)):
                source_control, copy_control = control_above(control), control_above(other)
                copy_spaces(source_control, copy_control, movers(), opposite)
        left_out = copy_mirrored(chains_of(owner)[index], copy)
        store(copy)
        if left_out:
            names = ", ".join(left_out)
            self.report(
                {"WARNING"}, said(f"Joints left out, as axes differ on the other side: {names}")
            )
        return {"FINISHED"}


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
    kind: str,
    parent: str,
) -> list[str]:
    """Make all controls at once, add the chains and return their names."""
    controls: list[Control] = []
    places = {limb.name: place.target for limb, _, place in placed}
    feet: list[Foot | None] = []
    rolls = kind == "BONE" and takes_bones(owner)
    driven = _driven(owner)
    for limb, spec, place in placed:
        other = places.get(opposite(limb.name)) if opposite(limb.name) != limb.name else None
        look = look_of(owner, limb, place.target, other)
        controls.append(target_control(spec.name, place, parent, look))
        feet.append(foot_of(owner, limb, controls[-1], driven) if rolls else None)
        controls += feet[-1].controls if feet[-1] else ()
    made = iter(make_controls(context, owner, controls, kind))
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
            wanted = replace(toes, target=next(made))
            names.append(_add_limb(context, owner, wanted, place_of_toes))
    return names


def _driven(owner: bpy.types.Object) -> set[str]:
    """Return the bones that chains drive."""
    return {bone for chain in chains_of(owner) for bone in bones_of_chain(chain)}


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
    wanted = replace(wanted, name=name, pole_angle=place.pole_angle)
    settings = add_chain(owner, wanted, place.bone_count, new=new_chain(context))
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


def _opposite_target(
    context: bpy.types.Context, owner: bpy.types.Object, target: Anchor, length: float
) -> Anchor:
    """Return the target of the other side; it is made if there is none, with what turns a foot."""
    if not is_mechanism(target) or opposite(target.bone) in owner.pose.bones:
        return _opposite_anchor(context, owner, target, "CUBE", length)
    control = _opposite_anchor(context, owner, control_above(target), "CUBE", length)
    # What was made is to be evaluated before anything hangs under it.
    context.view_layer.update()
    foot = mirrored_foot(owner, target, control.bone, length)
    made = make_controls(context, owner, foot.controls, "BONE")
    drive_foot(control, made, foot.pivots)
    return made[-1]


def _opposite_anchor(
    context: bpy.types.Context, owner: bpy.types.Object, anchor: Anchor, shape: Shape, length: float
) -> Anchor:
    """Return the control of the other side; it is made if there is none."""
    name = anchor.bone or anchor.object.name
    other = opposite(name)
    if anchor.bone and other != name and other in anchor.object.pose.bones:
        return Anchor(anchor.object, other)
    if not anchor.bone and other != name and other in context.scene.objects:
        return Anchor(context.scene.objects[other])
    look = look_of_bone(anchor.object, anchor.bone) if anchor.bone else None
    if look is not None:
        look = replace(look, matrix=mirrored_in_world(owner, look.matrix))
    parent = _opposite_pivot(anchor)
    control = Control(other, mirrored_place(owner, anchor), length, shape, parent, look)
    kind = "BONE" if anchor.bone and anchor.object == owner else "EMPTY"
    return make_controls(context, owner, [control], kind)[0]


def _opposite_pivot(control: Anchor) -> str:
    """Return what turns the foot of the other side where a control hangs on one; empty without."""
    bones = control.object.data.bones if control.bone else {}
    parent = bones[control.bone].parent if control.bone else None
    if parent is None or not is_mechanism(Anchor(control.object, parent.name)):
        return ""
    other = opposite(parent.name)
    return other if other in bones else ""


classes = (POSE_OT_chain_ik_setup, POSE_OT_chain_ik_mirror)
register, unregister = bpy.utils.register_classes_factory(classes)
