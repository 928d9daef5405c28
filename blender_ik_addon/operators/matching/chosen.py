"""The chains that operators match, what keeps others from it, and where controls belong."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import suppress
from typing import Any, cast

import bpy
from bpy.props import BoolProperty

from ...core import IKError
from ...properties.chains import ChainGroup, chain_key, chains_of, is_idle, owner_of
from ...properties.lists import toes_of
from ...properties.records import belongs_to_body, bones_of_chains, chain_spec
from ...properties.sharing import limb_of, live_chains
from ...properties.status import gives_way
from ...rig.reading.refusals import RigError
from ...rig.reading.spec import ChainSpec
from ...rig.tools.fk_ik import Goals, find_bend, find_match, is_met
from ...rig.trees.shared_bones import sharing
from .. import selection
from ..bake import Ranged
from ..base import ANEW, ChainOperator

Chosen = dict[bpy.types.Object, dict[int, ChainSpec]]
"""Chains by armature object and index: evaluating makes references to their settings invalid."""

Bends = list[tuple[bpy.types.Object, int, float, float]]
"""Chains by armature object and index, with their pole angles, and with those that match."""


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
    settings: ChainGroup, scene: bpy.types.Scene, live: Iterable[ChainGroup] | None = None
) -> Goals:
    """Return where target and pole of a chain belong.

    Args:
        settings: Of the chain.
        scene: What the controls are to be moved in.
        live: The chains of its object that will be live; None for those that are.

    Raises:
        IKError: If they cannot be moved there.
    """
    owner, spec = owner_of(settings), chain_spec(settings)
    limb = limb_of(owner, spec, live_chains(owner) if live is None else live)
    return find_match(owner, spec, limb, scene)


def find_all_goals(chosen: Chosen, scene: bpy.types.Scene, leaving: Chosen | None = None) -> Goals:
    """Return where the targets and poles of chains belong; what several follow, once.

    Args:
        chosen: The chains, which will be live.
        scene: What the controls are to be moved in.
        leaving: Chains that will not be live any more.
    """
    goals: Goals = {}
    gone = settings_of(leaving or {})
    for owner, specs in chosen.items():
        coming = settings_of({owner: specs})
        live = [
            each
            for each in chains_of(owner)
            if each not in gone and (each in coming or not is_idle(each))
        ]
        for settings in coming:
            goals |= find_goals(settings, scene, live)
    return goals


def find_held(chosen: Chosen) -> Chosen:
    """Return the other chains whose poses depend on chains, and on the pose that they start from.

    These are the limbs of bodies that give way, and chains that share bones.
    """
    held: Chosen = {}
    for owner, specs in chosen.items():
        chains = chains_of(owner)
        for index in sorted(_limbs_beside(chains, specs) | _sharing(owner, specs)):
            settings = chains[index]
            if not is_idle(settings) and index not in specs:
                with suppress(IKError):
                    held.setdefault(owner, {})[index] = chain_spec(settings)
    return held


def _limbs_beside(chains: Sequence[ChainGroup], specs: Container[int]) -> set[int]:
    """Return the limbs of a body that gives way, if some chains are of them."""
    limbs = {i: each for i, each in enumerate(chains) if belongs_to_body(each)}
    is_of_body = any(i in specs for i in limbs)
    return set(limbs) if is_of_body and any(map(gives_way, limbs.values())) else set()


def _sharing(owner: bpy.types.Object, specs: Container[int]) -> set[int]:
    """Return the chains that are or will be one tree with some of an object."""
    bones = enumerate(bones_of_chains(owner))
    chains = chains_of(owner)
    driven = {
        i: names
        for i, names in bones
        if not belongs_to_body(chains[i]) and (i in specs or not is_idle(chains[i]))
    }
    trees = [tree for tree in sharing(driven) if any(i in specs for i in tree)]
    return set[int]().union(*trees)


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


def find_bends(chosen: Chosen) -> Bends:
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
