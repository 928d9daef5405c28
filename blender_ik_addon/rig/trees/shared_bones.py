"""Groups of chains that are solved together: chains that share bones form one tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...core import Solver
from ...core.model.message import Message
from ..planning.live_chain import LiveChain
from ..planning.order import Group, find_closing_chain
from ..reading.chain_plan import ChainPlan
from ..reading.dependencies import Point
from ..reading.spec import ChainSpec

TREE_SOLVERS = (Solver.NEWTON, Solver.FABRIK)
"""The solvers that solve trees."""


def group_chains(live_chains: Sequence[LiveChain]) -> tuple[tuple[Group, ...], dict[int, Message]]:
    """Return the groups of chains that are solved together, and why others are not solved.

    Groups are in the order of their first chains; the reasons are by index of the chain. Chains of
    one armature object are in the order of its list.
    """
    excluded: dict[int, Message] = {}
    while True:
        groups, refused = _group_writers(live_chains, excluded)
        conflict = _conflict(live_chains, groups)
        if conflict is None and (cycle := find_closing_chain(live_chains, groups)) is not None:
            conflict = cycle[0], _ring_message(*(live_chains[i] for i in cycle))
        if conflict is None:
            return groups, refused | excluded
        excluded[conflict[0]] = conflict[1]


def _ring_message(chain: LiveChain, other: LiveChain) -> Message:
    """Return why a chain that closes a ring with another one is refused."""
    is_same = chain.object == other.object
    return Message(
        "This chain and chain '{name}' follow each other: give one of the two a target that"
        " neither of them moves."
        if is_same
        else "This chain and chain '{name}' of '{name2}' follow each other: give one of the two a"
        " target that neither of them moves.",
        name=other.spec.name,
        name2=other.object.name,
    )


def _group_writers(
    live_chains: Sequence[LiveChain], excluded: dict[int, Message]
) -> tuple[tuple[Group, ...], dict[int, Message]]:
    """Return groups of chains that write common bones, and why others fit in no group."""
    first_writer: dict[Point, int] = {}
    written: dict[int, list[Point]] = {}
    refused: dict[int, Message] = {}
    # Chains of bodies come first: a chain that does not fit a body is refused, not the body.
    order = sorted(range(len(live_chains)), key=lambda i: live_chains[i].plan.body_root < 0)
    for i in order:
        if i in excluded:
            continue
        points = live_chains[i].points()
        shared = {first_writer[point] for point in points if point in first_writer}
        problem = _problem(live_chains, i, shared) if shared else None
        if problem is not None:
            refused[i] = problem
            continue
        written[i] = points
        for point in points:
            first_writer.setdefault(point, i)
    return group_by_bones(written), refused


def group_by_bones(written: Mapping[int, Iterable[object]]) -> tuple[Group, ...]:
    """Return groups of chains that share written bones, directly or through other chains.

    ``written`` are the bones that each chain writes, by index of the chain.
    """
    first_writer: dict[object, int] = {}
    group_of: dict[int, list[int]] = {}
    for i, bones in written.items():
        members = group_of[i] = [i]
        for bone in bones:
            others = group_of[first_writer.setdefault(bone, i)]
            if others is not members:
                members += others
                group_of.update(dict.fromkeys(others, members))
    groups = {id(members): tuple(sorted(members)) for members in group_of.values()}
    return tuple(sorted(groups.values()))


def limb_count(plan: ChainPlan, others: Iterable[ChainPlan]) -> int:
    """Return how many bones the pole of a chain turns, counted from its effector upward.

    As ``BoneHierarchy.limb``, for chains that are not solved together yet. ``others`` are all
    chains that are or will be live, with or without this one.
    """
    neighbours = [other for other in others if not set(other.written).isdisjoint(plan.written)]
    known = set(plan.segments).union(*[other.segments for other in neighbours])
    carrier = plan.segments[-1]
    path = [bone for bone in plan.skeleton.ancestors(carrier) if bone in known]
    above = [plan.skeleton.ancestors(other.segments[-1]) for other in neighbours]
    shared = set[int]().union(*[bones for bones in above if carrier not in bones])
    private = [bone for bone in path if bone not in shared]
    return len(private if len(private) > 1 else path)


def _problem(live_chains: Sequence[LiveChain], i: int, others: Iterable[int]) -> Message | None:
    """Return why chain ``i`` cannot be solved together with other chains that write its bones."""
    plan = live_chains[i].plan
    for other in sorted(others):
        common = plan.in_common(live_chains[other].plan)
        name = live_chains[other].spec.name
        for index, whose in ((i, Message("this chain")), (other, f"'{name}'")):
            chain = live_chains[index]
            cure = cure_of(chain.plan, chain.spec, slides=chain.slide is not None)
            if cure is not None and common:
                return Message(
                    "Bone '{bone}' already belongs to chain '{name}', and the two chains cannot be"
                    " solved together: {cure} for {whose}, or shorten or mute one of them.",
                    bone=plan.skeleton.names[common[0]],
                    name=name,
                    cure=cure,
                    whose=whose,
                )
    return None


def cure_of(plan: ChainPlan, spec: ChainSpec, *, slides: bool) -> Message | None:
    """Return the change that a chain needs before it can share bones; None if it needs none."""
    if plan.body_root < 0 and spec.options.solver not in TREE_SOLVERS:
        return Message("choose Newton or FABRIK as the solver")
    if spec.use_stretch:
        return Message("switch Stretch off")
    if slides:
        return Message("switch the slides of joints off")
    return None


def _conflict(
    live_chains: Sequence[LiveChain], groups: Sequence[Group]
) -> tuple[int, Message] | None:
    """Return the index of a chain that follows a bone of its tree, with a message; None without."""
    for group in groups:
        for i in reversed(group) if len(group) > 1 else ():
            followed = set(live_chains[i].moved_by.anchor_points)
            for other in group:
                if not followed.isdisjoint(live_chains[other].points()):
                    name = live_chains[other].spec.name
                    return i, (
                        Message(
                            "This chain follows bones of chain '{name}' and shares other bones with"
                            " it: choose a target and a pole that neither chain moves.",
                            name=name,
                        )
                    )
    return None
