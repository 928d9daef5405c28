"""Which chains are solved together: those that share bones are one tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...core import Solver
from ..planning.live_chain import LiveChain
from ..planning.order import Group, closing_chain
from ..reading.chain_plan import ChainPlan
from ..reading.dependencies import Point
from ..reading.spec import ChainSpec

SOLVERS = (Solver.NEWTON, Solver.FABRIK)
"""Those that solve trees."""


def united(live_chains: Sequence[LiveChain]) -> tuple[tuple[Group, ...], dict[int, str]]:
    """Return which chains are solved together, in the order of their first ones, and the others.

    Of these, by index, why they are not solved.

    Args:
        live_chains: All live chains, those of one armature object in the order of its list.
    """
    lost: dict[int, str] = {}
    while True:
        groups, refused = _sharing(live_chains, lost)
        found = _carried(live_chains, groups)
        if found is None and (ring := closing_chain(live_chains, groups)) is not None:
            name = live_chains[ring[1]].spec.name
            text = (
                f"This chain and chain '{name}' follow each other:"
                " give one of the two a target that neither of them moves."
            )
            found = ring[0], text
        if found is None:
            return groups, refused | lost
        lost[found[0]] = found[1]


def _sharing(
    live_chains: Sequence[LiveChain], lost: dict[int, str]
) -> tuple[tuple[Group, ...], dict[int, str]]:
    """Put chains that write a bone in common into groups; tell which cannot be put there."""
    first: dict[Point, int] = {}
    written: dict[int, list[Point]] = {}
    refused: dict[int, str] = {}
    # What does not fit to a body is refused, not the body.
    order = sorted(range(len(live_chains)), key=lambda i: live_chains[i].plan.body_root < 0)
    for i in order:
        if i in lost:
            continue
        points = live_chains[i].points()
        shared = {first[point] for point in points if point in first}
        problem = _problem(live_chains, i, shared) if shared else None
        if problem is not None:
            refused[i] = problem
            continue
        written[i] = points
        for point in points:
            first.setdefault(point, i)
    return sharing(written), refused


def sharing(written: Mapping[int, Iterable[object]]) -> tuple[Group, ...]:
    """Return which chains write bones in common, straight or by way of others.

    Args:
        written: The bones that each chain writes, by its index.
    """
    first: dict[object, int] = {}
    group_of: dict[int, list[int]] = {}
    for i, bones in written.items():
        members = group_of[i] = [i]
        for bone in bones:
            others = group_of[first.setdefault(bone, i)]
            if others is not members:
                members += others
                group_of.update(dict.fromkeys(others, members))
    groups = {id(members): tuple(sorted(members)) for members in group_of.values()}
    return tuple(sorted(groups.values()))


def limb_count(plan: ChainPlan, others: Iterable[ChainPlan]) -> int:
    """Return how many bones the pole of a chain turns, counted up from its effector.

    As ``Hanging.limb_root``, for chains that are not solved together yet.

    Args:
        plan: The chain's bones.
        others: Those of all chains that are or will be live; its own may be one of them.
    """
    sharing = [each for each in others if not set(each.written).isdisjoint(plan.written)]
    known = set(plan.segments).union(*[each.segments for each in sharing])
    carrier = plan.segments[-1]
    path = [bone for bone in plan.skeleton.ancestors(carrier) if bone in known]
    above = [plan.skeleton.ancestors(each.segments[-1]) for each in sharing]
    taken = set[int]().union(*[bones for bones in above if carrier not in bones])
    own = [bone for bone in path if bone not in taken]
    return len(own if len(own) > 1 else path)


def _problem(live_chains: Sequence[LiveChain], i: int, others: Iterable[int]) -> str | None:
    """Return why a chain cannot be solved together with those that it shares bones with.

    Args:
        live_chains: All chains.
        i: The chain.
        others: Those that write bones of it.
    """
    plan = live_chains[i].plan
    for other in sorted(others):
        common = plan.in_common(live_chains[other].plan)
        for each, whose in ((i, "this chain"), (other, f"'{live_chains[other].spec.name}'")):
            chain = live_chains[each]
            cure = cure_of(chain.plan, chain.spec, slides=chain.slide is not None)
            if cure is not None and common:
                name, bone = live_chains[other].spec.name, plan.skeleton.names[common[0]]
                return (
                    f"Bone '{bone}' already belongs to chain '{name}', and they cannot be solved"
                    f" together: {cure} for {whose}, shorten one of the two or mute it."
                )
    return None


def cure_of(plan: ChainPlan, spec: ChainSpec, *, slides: bool) -> str | None:
    """Return what a chain needs to share bones; None for nothing.

    Args:
        plan: Its bones.
        spec: Its settings.
        slides: Whether a joint of it slides.
    """
    if plan.body_root < 0 and spec.options.solver not in SOLVERS:
        return "choose Newton or FABRIK as the solver"
    if spec.use_stretch:
        return "switch Stretch off"
    if slides:
        return "switch the slides of joints off"
    return None


def _carried(live_chains: Sequence[LiveChain], groups: Sequence[Group]) -> tuple[int, str] | None:
    """Return a chain that follows a bone of its own tree, and why that cannot be."""
    for group in groups:
        for i in reversed(group) if len(group) > 1 else ():
            followed = set(live_chains[i].moved_by.anchor_points)
            for other in group:
                if not followed.isdisjoint(live_chains[other].points()):
                    name = live_chains[other].spec.name
                    return i, (
                        f"This chain follows bones of chain '{name}' and shares others with it:"
                        " choose a target and a pole that neither of them moves."
                    )
    return None
