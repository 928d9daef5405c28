"""The chains that operators match, the obstacles of other chains, and goals of controls."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import suppress
from typing import Any, cast

import bpy
from bpy.props import BoolProperty

from ...core import IKError
from ...core.model.message import Message
from ...properties.chain_lists import toes_of
from ...properties.chains import ChainGroup, chain_key, chains_of, is_idle, live_chains, owner_of
from ...properties.records import belongs_to_body, bones_of_chains, chain_spec
from ...properties.sharing import limb_of
from ...properties.status import gives_way
from ...rig.reading.refusals import RigError, listed
from ...rig.reading.spec import ChainSpec
from ...rig.tools.fk_ik import (
    ControlGoals,
    find_control_goals,
    find_matching_pole_angle,
    is_at_goals,
)
from ...rig.trees.shared_bones import group_by_bones
from .. import selection
from ..bake import FrameRange
from ..base import SKIP_SAVE, ChainOperator

SpecsByRig = dict[bpy.types.Object, dict[int, ChainSpec]]
"""Chains by armature object and index, because evaluation makes references to settings invalid."""

Bends = list[tuple[bpy.types.Object, int, float, float]]
"""Armature object and index of chains, their pole angles, and the angles that match the pose."""


class Matching(ChainOperator):
    """The base of the operators that match FK and IK for all selected chains."""

    @classmethod
    def problem(cls, context: bpy.types.Context) -> str:
        if problem := super().problem(context):
            return problem
        # The active chain first: this runs at every redraw, and mostly that chain has no obstacle.
        obstacle = cls.obstacle(selection.chain(context))
        others = selection.chosen_chains(context) if obstacle else []
        return obstacle if all(map(cls.obstacle, others)) else ""

    @classmethod
    def obstacle(cls, settings: ChainGroup) -> str:
        """Return why a chain cannot be matched, in words; empty if it can."""
        if settings.solver == "FOLLOW":
            return "A chain with the solver Follow continues from its last pose: bake it instead."
        return "" if settings.target is not None else "This chain has no target: choose one first."

    def choose(
        self,
        chains: list[ChainGroup],
        check: Callable[[ChainGroup], object],
        accepts_toes: Callable[[ChainGroup], bool] = lambda _: True,
    ) -> SpecsByRig:
        """Return the chains without obstacles, with their toes; report the others by name.

        ``check`` raises an ``IKError`` if a chain has another obstacle. ``accepts_toes`` tells
        whether the chain of toes joins the foot that carries its control.

        Raises:
            IKError: If there is only one candidate, and it has an obstacle.
        """
        chosen: SpecsByRig = {}
        problems = []
        queue = list(chains)
        for settings in queue:
            try:
                if obstacle := self.obstacle(settings):
                    raise RigError(obstacle)
                check(settings)
            except IKError as error:
                if chains == [settings]:
                    raise
                problems.append(Message("{name}: {error}", name=settings.name, error=error.message))
            else:
                _, index = chain_key(settings)
                chosen.setdefault(owner_of(settings), {})[index] = chain_spec(settings)
                queue += [
                    toe for toe in toes_of(settings) if toe not in queue and accepts_toes(toe)
                ]
        for problem in problems:
            (self.warn if chosen else self.refuse)(problem)
        return chosen


class PlacesControls(Matching):
    """The base of those that place targets and poles by the pose."""

    @classmethod
    def obstacle(cls, settings: ChainGroup) -> str:
        return super().obstacle(settings) or selection.problem_of_pose(owner_of(settings))

    def warn_of_weight(self, chains: Iterable[ChainGroup]) -> None:
        """Warn of chains that gravity bends out of the pose from which they start."""
        specs = [chain_spec(settings) for settings in chains]
        names = ", ".join(spec.name for spec in specs if spec.force and spec.force.has_weight)
        if names:
            self.warn(
                "Gravity bends {names} out of this pose: to keep the pose, set Gravity to 0.",
                names=names,
            )

    def warn_of_limits(self, turned: Sequence[Message]) -> None:
        """Warn of chains that their limits turn out of the pose, in words, with the angles."""
        if turned:
            self.warn(
                "Limits turn {names} out of this pose: to keep the pose, change the joints or"
                " untick Limits, or undo this and pose inside of the limits first.",
                names=listed(turned),
            )


class OptionalFrameRange(FrameRange):
    """The frames of an operator that works on one frame or on a range."""

    use_range: BoolProperty(
        name="Range", description="Work on each frame of a range, and set keys", options=SKIP_SAVE
    )

    def draw(self, context: bpy.types.Context | None) -> None:
        """Draw the options; the ends of the range come last, if there is a range."""
        layout = cast(Any, self).layout
        layout.use_property_split = True
        names = [name for name in type(self).__annotations__ if not name.startswith("_")]
        ends = tuple(FrameRange.__annotations__) if self.use_range else ()
        for name in (*names, "use_range", *ends):
            layout.prop(self, name)


def settings_of(chosen: SpecsByRig) -> list[ChainGroup]:
    """Return valid references to the settings of chains."""
    return [owner.chain_ik.chains[index] for owner, specs in chosen.items() for index in specs]


def find_goals(
    settings: ChainGroup, scene: bpy.types.Scene, live: Iterable[ChainGroup] | None = None
) -> ControlGoals:
    """Return the goals of a chain's target and pole that match the pose.

    The controls will be moved in that scene. ``live`` are the chains of the object that will be
    live; None for those that are now.

    Raises:
        IKError: If the controls cannot be moved there.
    """
    owner, spec = owner_of(settings), chain_spec(settings)
    limb = limb_of(owner, spec, live_chains(owner) if live is None else live)
    return find_control_goals(owner, spec, limb, scene)


def find_all_goals(
    chosen: SpecsByRig, scene: bpy.types.Scene, leaving: SpecsByRig | None = None
) -> ControlGoals:
    """Return the goals of the targets and poles of chains, one goal for a shared control.

    The chosen chains will be live, and chains that are ``leaving`` will not.
    """
    goals: ControlGoals = {}
    inactive = settings_of(leaving or {})
    for owner, specs in chosen.items():
        active = settings_of({owner: specs})
        live = [
            chain
            for chain in chains_of(owner)
            if chain not in inactive and (chain in active or not is_idle(chain))
        ]
        for settings in active:
            goals |= find_goals(settings, scene, live)
    return goals


def find_dependent(chosen: SpecsByRig) -> SpecsByRig:
    """Return the other chains whose poses depend on chains, and on the start pose of these.

    These are the limbs of bodies that give way, and chains that share bones.
    """
    dependent: SpecsByRig = {}
    for owner, specs in chosen.items():
        chains = chains_of(owner)
        for index in sorted(_limbs_beside(chains, specs) | _sharing(owner, specs)):
            settings = chains[index]
            if not is_idle(settings) and index not in specs:
                with suppress(IKError):
                    dependent.setdefault(owner, {})[index] = chain_spec(settings)
    return dependent


def _limbs_beside(chains: Sequence[ChainGroup], specs: Container[int]) -> set[int]:
    """Return the limbs of a body that gives way, if some of the chains are among them."""
    limbs = {i: chain for i, chain in enumerate(chains) if belongs_to_body(chain)}
    is_of_body = any(i in specs for i in limbs)
    return set(limbs) if is_of_body and any(map(gives_way, limbs.values())) else set()


def _sharing(owner: bpy.types.Object, specs: Container[int]) -> set[int]:
    """Return the chains that are or will be in one tree with some chains of an object."""
    bones = enumerate(bones_of_chains(owner))
    chains = chains_of(owner)
    driven = {
        i: names
        for i, names in bones
        if not belongs_to_body(chains[i]) and (i in specs or not is_idle(chains[i]))
    }
    trees = [tree for tree in group_by_bones(driven) if any(i in specs for i in tree)]
    return set[int]().union(*trees)


def find_pulling(dependent: SpecsByRig, scene: bpy.types.Scene) -> SpecsByRig:
    """Return those dependent chains that are not at their targets, and so still pull.

    Chains whose controls cannot be moved are left out.
    """
    pulling: SpecsByRig = {}
    for settings in settings_of(dependent):
        owner, (_, index) = owner_of(settings), chain_key(settings)
        with suppress(IKError):
            if not is_at_goals(find_goals(settings, scene), dependent[owner][index]):
                pulling.setdefault(owner, {})[index] = dependent[owner][index]
    return pulling


def union_of(*choices: SpecsByRig) -> SpecsByRig:
    """Return the union of sets of chains."""
    union: SpecsByRig = {}
    for chains in choices:
        for owner, specs in chains.items():
            union.setdefault(owner, {}).update(specs)
    return union


def find_bends(chosen: SpecsByRig) -> Bends:
    """Return chains that bend with their bodies, with their pole angles and the matching ones."""
    bends = []
    for settings in settings_of(chosen):
        owner, (_, index) = owner_of(settings), chain_key(settings)
        angle = find_matching_pole_angle(owner, chain_spec(settings))
        if angle is not None:
            bends.append((owner, index, settings.pole_angle, angle))
    return bends


def new_interpolation(context: bpy.types.Context) -> str:
    """Return the interpolation of new keys from the preferences."""
    return context.preferences.edit.keyframe_new_interpolation_type
