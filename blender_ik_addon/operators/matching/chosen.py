"""The chains that operators match, what keeps others from it, and where controls belong."""

from __future__ import annotations

from collections.abc import Callable, Container
from contextlib import suppress
from typing import Any, cast

import bpy
from bpy.props import BoolProperty

from ...core import IKError
from ...properties.chains import ChainGroup, chain_key, chains_of, owner_of
from ...properties.lists import toes_of
from ...properties.records import belongs_to_body, chain_spec
from ...properties.sharing import limb_of
from ...properties.status import gives_way
from ...rig.reading.refusals import RigError
from ...rig.reading.spec import ChainSpec
from ...rig.tools.fk_ik import Goals, find_bend, find_match, is_met
from .. import selection
from ..bake import Ranged
from ..base import ANEW, ChainOperator

Chosen = dict[bpy.types.Object, dict[int, ChainSpec]]
"""Chains by armature object and index: evaluating makes references to their settings invalid."""


class Matching(ChainOperator):
    """The base of the operators that match FK and IK, for all chains of what is selected."""

    @classmethod
    def problem(cls, context: bpy.types.Context) -> str:
        problem = selection.problem_of_chain(context)
        if problem:
            return problem
        # The active one first: this is asked at every redraw, and mostly nothing is in its way.
        obstacle = cls.obstacle(selection.chain(context))
        others = selection.chosen_chains(context) if obstacle else []
        return obstacle if all(map(cls.obstacle, others)) else ""

    @classmethod
    def obstacle(cls, settings: ChainGroup) -> str:
        """Return what keeps a chain from being matched, in words; empty if nothing does."""
        if settings.solver == "FOLLOW":
            return "A chain with the solver Follow goes on from its last pose: bake it instead."
        return "" if settings.target is not None else "This chain has no target: choose one first."

    def choose(
        self,
        chains: list[ChainGroup],
        check: Callable[[ChainGroup], object],
        takes: Callable[[ChainGroup], bool] = lambda _: True,
    ) -> Chosen:
        """Return the chains of which nothing is in the way, with toes; report the others by name.

        Args:
            chains: To choose from.
            check: Raises an ``IKError`` if something is.
            takes: Tells whether toes go along with the foot that carries their control.

        Raises:
            IKError: If there is one chain only, and something is in its way.
        """
        chosen: Chosen = {}
        problems = []
        waiting = list(chains)
        for settings in waiting:
            try:
                if obstacle := self.obstacle(settings):
                    raise RigError(obstacle)
                check(settings)
            except IKError as error:
                if chains == [settings]:
                    raise
                problems.append(f"{settings.name}: {error}")
            else:
                _, index = chain_key(settings)
                chosen.setdefault(owner_of(settings), {})[index] = chain_spec(settings)
                waiting += [
                    each for each in toes_of(settings) if each not in waiting and takes(each)
                ]
        for problem in problems:
            (self.warn if chosen else self.refuse)(problem)
        return chosen


class AnyFrames(Ranged):
    """The frames of an operator on one frame or on a range."""

    use_range: BoolProperty(
        name="Range",
        description="Do it at each frame of a range, and set keys",
        options=ANEW,
    )

    def draw(self, context: bpy.types.Context | None) -> None:
        """Draw the options; the ends of the range come last, and only where there is one."""
        layout = cast(Any, self).layout
        layout.use_property_split = True
        names = [name for name in type(self).__annotations__ if not name.startswith("_")]
        ends = tuple(Ranged.__annotations__) if self.use_range else ()
        for name in (*names, "use_range", *ends):
            layout.prop(self, name)


def settings_of(chosen: Chosen) -> list[ChainGroup]:
    """Return the settings of chains as they are now."""
    return [owner.chain_ik.chains[index] for owner, specs in chosen.items() for index in specs]


def find_goals(
    settings: ChainGroup, scene: bpy.types.Scene, joining: Container[ChainGroup] = ()
) -> Goals:
    """Return where target and pole of a chain belong, with chains that will be live as well.

    Raises:
        IKError: If they cannot be moved there.
    """
    owner, spec = owner_of(settings), chain_spec(settings)
    return find_match(owner, spec, limb_of(owner, spec, joining), scene)


def find_all_goals(chosen: Chosen, scene: bpy.types.Scene) -> Goals:
    """Return where the targets and poles of chains belong; what several follow, once."""
    goals: Goals = {}
    joining = settings_of(chosen)
    for settings in joining:
        goals |= find_goals(settings, scene, joining)
    return goals


def find_held(chosen: Chosen) -> Chosen:
    """Return the other limbs of those bodies of chains that give way.

    The pose of such a body depends on all of its limbs, and on the pose that it starts from.
    """
    held: Chosen = {}
    for owner, specs in chosen.items():
        limbs = {i: each for i, each in enumerate(chains_of(owner)) if belongs_to_body(each)}
        if specs.keys().isdisjoint(limbs) or not any(map(gives_way, limbs.values())):
            continue
        for index, settings in limbs.items():
            is_whole = not settings.mute and settings.influence == 1.0
            if is_whole and index not in specs:
                with suppress(IKError):
                    held.setdefault(owner, {})[index] = chain_spec(settings)
    return held


def find_pulling(held: Chosen, scene: bpy.types.Scene) -> Chosen:
    """Return those of some chains that are not at their targets, and would go on pulling.

    Those whose controls cannot be moved are left out.
    """
    pulling: Chosen = {}
    for settings in settings_of(held):
        owner, (_, index) = owner_of(settings), chain_key(settings)
        with suppress(IKError):
            if not is_met(find_goals(settings, scene), held[owner][index]):
                pulling.setdefault(owner, {})[index] = held[owner][index]
    return pulling


def merged(*several: Chosen) -> Chosen:
    """Return chains of several choices as one."""
    found: Chosen = {}
    for each in several:
        for owner, specs in each.items():
            found.setdefault(owner, {}).update(specs)
    return found


def find_bends(chosen: Chosen) -> list[tuple[bpy.types.Object, int, float, float]]:
    """Return chains that bend with their bodies, their pole angles, and those that match."""
    found = []
    for settings in settings_of(chosen):
        owner, (_, index) = owner_of(settings), chain_key(settings)
        angle = find_bend(owner, chain_spec(settings))
        if angle is not None:
            found.append((owner, index, settings.pole_angle, angle))
    return found


def new_interpolation(context: bpy.types.Context) -> str:
    """Return how the user wants new keys to be interpolated."""
    return context.preferences.edit.keyframe_new_interpolation_type
