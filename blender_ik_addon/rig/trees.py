"""Which chains are solved together: those that share bones are one tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..core import Solver
from .dependencies import Point
from .limb import Limb
from .order import Group
from .rings import closing_chain

SOLVERS = (Solver.NEWTON, Solver.FABRIK)
"""Those that solve trees."""


@dataclass(frozen=True)
class United:
    """What of chains is solved together.

    Attributes:
        groups: In the order of their first chains.
        refused: Chains that are not solved, by index, and why.
    """

    groups: tuple[Group, ...]
    refused: dict[int, str]


def united(limbs: Sequence[Limb]) -> United:
    """Return which chains are solved together, and which cannot be.

    Args:
        limbs: All live chains, those of one armature object in the order of its list.
    """
    jobs = [limb.job for limb in limbs]
    lost: dict[int, str] = {}
    while True:
        groups, refused = _sharing(limbs, lost)
        found = _carried(limbs, groups)
        if found is None and (ring := closing_chain(jobs, groups)) is not None:
            i, other = ring
            found = i, _ring_in_words(limbs[other])
        if found is None:
            return United(groups, refused | lost)
        lost[found[0]] = found[1]


def _sharing(
    limbs: Sequence[Limb], lost: dict[int, str]
) -> tuple[tuple[Group, ...], dict[int, str]]:
    """Put chains that write a bone in common into groups; tell which cannot be put there."""
    first: dict[Point, int] = {}
    group_of: dict[int, list[int]] = {}
    refused: dict[int, str] = {}
    for i, limb in enumerate(limbs):
        if i in lost:
            continue
        points = limb.job.points()
        shared = {first[point]: point for point in reversed(points) if point in first}
        problem = _problem(limbs, i, shared) if shared else None
        if problem is not None:
            refused[i] = problem
            continue
        members = [i]
        for other in shared:
            if group_of[other] is not members:
                members += group_of[other]
                group_of.update(dict.fromkeys(group_of[other], members))
        group_of[i] = members
        for point in points:
            first.setdefault(point, i)
    groups = {id(members): tuple(sorted(members)) for members in group_of.values()}
    return tuple(sorted(groups.values())), refused


def _problem(limbs: Sequence[Limb], i: int, shared: dict[int, Point]) -> str | None:
    """Return why a chain cannot be solved together with those that it shares bones with.

    Args:
        limbs: All chains.
        i: The chain.
        shared: A bone in common with each other chain.
    """
    for other, (_, bone) in sorted(shared.items()):
        for each, whose in ((i, "this chain"), (other, f"'{limbs[other].job.spec.name}'")):
            cure = _cure(limbs[each])
            if cure is not None:
                name = limbs[other].job.spec.name
                return (
                    f"Bone '{bone}' is already driven by chain '{name}', and they cannot be solved"
                    f" together: {cure} for {whose}, shorten one of the two or mute it."
                )
    return None


def _cure(limb: Limb) -> str | None:
    """Return what a chain needs to share bones; None for nothing."""
    if limb.job.spec.options.solver not in SOLVERS:
        return "choose Newton or FABRIK as the solver"
    if limb.job.spec.use_stretch:
        return "switch Stretch off"
    if limb.slide is not None:
        return "switch the slides of joints off"
    return None


def _carried(limbs: Sequence[Limb], groups: Sequence[Group]) -> tuple[int, str] | None:
    """Return a chain that follows a bone of its own tree, and why that cannot be."""
    for group in groups:
        for i in reversed(group) if len(group) > 1 else ():
            followed = set(limbs[i].job.moved_by.anchor_points)
            for other in group:
                if not followed.isdisjoint(limbs[other].job.points()):
                    name = limbs[other].job.spec.name
                    return i, (
                        f"This chain follows bones of chain '{name}' and shares others with it:"
                        " choose a target and a pole that neither of them moves."
                    )
    return None


def _ring_in_words(other: Limb) -> str:
    return (
        f"This chain and chain '{other.job.spec.name}' follow each other:"
        " give one of the two a target that neither of them moves."
    )
