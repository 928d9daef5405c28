"""What one solve did to a chain, alone or of a tree, and what keeps it from its target."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...core import Status
from ...core.algebra.arithmetic import Array, Indices
from ...core.model.status import STATUSES
from ..planning.order import PlannedChain
from ..planning.own_joints import cones
from ..trees.driven import Driven
from .reasons import Reasons, reasons_of
from .solved import Solved

# Chains that pull less than this share of the hardest pull are not named, and one that weighs less
# than this share of another gives way to it.
HARDLY = 0.01
# The same of chains of a body that are not pinned: all of them hold a little.
MUCH = 0.2
# Share of a chain's length by which constraints have to move its tip off its target to be named:
# float32 poses make less of it, and nobody sees less.
MOVED_AFTER = 1e-3


@dataclass(frozen=True)
class Outcome:
    """What one solve did.

    Attributes:
        status: How the solve ended.
        residual: From effector to target on the pose that it gave, in scene units.
        iterations: Sweeps used.
        has_locks: Whether locked rotation channels kept bones from following.
        only_turns: Whether it is one bone alone, which no solve brings nearer to its target.
        held_by: Bones and axes whose limits keep the effector from the target, such as "Knee X".
        tip_gap: Radians that are left to the wanted orientation of the tip.
        why: What the chain was asked, and how its joints stand.
        lacks_stretch: Whether the chain is to stretch and none of its bones may.
        lacks_hand: Whether it is to turn a hand or foot, has none, and needs all bones to reach.
        connected: Bones that are to slide and cannot, as they are connected to their parents.
        location_locked: Bones that are to slide and whose location is locked.
        is_eased: Whether the chain eases toward its target in time.
        tree: Indices of the other chains of the object that it is one tree with.
        outweighed_by: Names of those that keep the effector from the target, or of the floor.
        pins: The same of pinned chains of its body.
        gives_way: Whether its body moves for any chain to reach.
        put_back: Bones that somebody has posed since, which the chain has put back.
        keys_before: Which channels had keys at this frame before that, by bone and property; None
            if it is not known.
    """

    status: Status
    residual: float
    iterations: int
    has_locks: bool
    only_turns: bool = False
    held_by: tuple[str, ...] = ()
    tip_gap: float = 0.0
    why: Reasons = field(default_factory=Reasons)
    lacks_stretch: bool = False
    lacks_hand: bool = False
    connected: tuple[str, ...] = ()
    location_locked: tuple[str, ...] = ()
    is_eased: bool = False
    tree: tuple[int, ...] = ()
    outweighed_by: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()
    gives_way: bool = False
    put_back: tuple[str, ...] = ()
    keys_before: frozenset[tuple[str, str]] | None = None


def outcome_of(
    solved: Solved, driven: Driven, row: int, chain: int = 0, weights: Array | None = None
) -> Outcome:
    """Return what a solve did to a chain.

    Args:
        solved: The solve.
        driven: What the chain drives, alone or with others.
        row: Of that in the solve.
        chain: Its number there.
        weights: Of the effectors, shape (E,); None for a chain alone.
    """
    live_chain, hang = driven.live_chains[chain], driven.hanging
    spec, slide, rows = live_chain.spec, live_chain.slide, np.array(hang.rows[chain])
    status, tip_gap = _statuses(solved, row)[chain], float(solved.tip_gaps[row, chain])
    channels, segments = solved.channels[row, rows], rows[rows < hang.count]
    pins, outweighing = _holding_back(solved, driven, row, chain, weights)
    return Outcome(
        status=status,
        residual=float(solved.residuals[row, chain]),
        iterations=int(solved.iterations[row]),
        has_locks=bool(solved.is_kept[row, rows].any()),
        only_turns=weights is None and live_chain.only_turns,
        held_by=_holding(solved, driven, row, segments, live_chain)
        if status is Status.LIMITED
        else (),
        tip_gap=tip_gap,
        why=reasons_of(driven, chain, channels, tip_gap, is_alone=weights is None),
        lacks_stretch=live_chain.stretch is not None and not live_chain.may_grow,
        lacks_hand=spec.use_rotation and not (live_chain.plan.turns_tip or spec.is_dragged),
        connected=() if slide is None else slide.connected,
        location_locked=() if slide is None else slide.locked,
        is_eased=spec.easing is not None,
        tree=tuple(each.index for each in driven.live_chains if each is not live_chain),
        outweighed_by=outweighing,
        pins=pins,
        gives_way=_gives_way(solved, row),
    )


def left_after(residual: float, end: Array, goal: Array, joints: Array) -> float | None:
    """Return how far constraints have moved the end of a chain off its goal; None if they have not.

    Blender evaluates them after the chain has written, so its solve does not know of them.

    Args:
        residual: What the solve has left.
        end: Where the effector is shown, shape (3,).
        goal: Shape (3,).
        joints: As shown, shape (m + 1, 3).
    """
    gap = float(np.linalg.norm(goal - end))
    length = float(np.linalg.norm(np.diff(joints, axis=0), axis=1).sum())
    return gap if gap > residual + MOVED_AFTER * length else None


def _gives_way(solved: Solved, row: int) -> bool:
    return solved.forces is not None and bool(solved.forces[row].any())


def _statuses(solved: Solved, row: int) -> list[Status]:
    return [STATUSES[code] for code in solved.status_codes[row].tolist()]


def _holding(
    solved: Solved, driven: Driven, row: int, segments: Indices, own: PlannedChain
) -> tuple[str, ...]:
    """Return the bones and axes whose limits hold a chain back, in words, root first."""
    if solved.holds is None:
        return ()
    holds = solved.holds[row]
    if solved.slide_holds is not None:
        holds = np.column_stack((holds, solved.slide_holds[row]))
    words, names = ("X", "Y", "Z", "slide"), driven.skeleton.names
    cone, round_bones = ("cone", "Y", "cone", "slide"), cones(own.plan, own.spec)
    found = [
        (bone := int(driven.bones[segments[i]]), (cone if bone in round_bones else words)[axis])
        for i, axis in np.argwhere(holds[segments]).tolist()
    ]
    # Both axes of a cone are one limit.
    return tuple(f"{names[bone]} {word}" for bone, word in dict.fromkeys(found))


def _holding_back(
    solved: Solved, driven: Driven, row: int, chain: int, weights: Array | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of pins that keep a chain from its target, and of others.

    In a body that is what comes before it or is as good, pins in the order of the list, others by
    how hard they hold. The floor comes right after pins.
    """
    if weights is None:
        return (), ()
    priorities = driven.priorities
    if solved.forces is None or priorities is None or not _gives_way(solved, row):
        return (), _outweighing(solved, driven, row, chain, weights)
    forces, floor, own = solved.forces[row], len(driven.specs), priorities[chain]
    ranks, is_there = (*priorities, 1), (*(weights > 0.0), True)
    before = [
        other
        for other in np.argsort(-forces, kind="stable").tolist()
        if other != chain and is_there[other] and ranks[other] <= own
    ]
    hardest = max((forces[other] for other in before), default=0.0)
    strong = [other for other in before if forces[other] > HARDLY * hardest]
    names = [spec.name for spec in driven.specs]
    if (anchor := driven.specs[0].floor) is not None:
        names.append(anchor.object.name)
    pins = [names[other] for other in sorted(strong) if other != floor and ranks[other] == 0]
    others = [other for other in strong if ranks[other] > 0 and forces[other] > MUCH * hardest]
    return tuple(pins), tuple(names[other] for other in others)


def _outweighing(
    solved: Solved, driven: Driven, row: int, chain: int, weights: Array
) -> tuple[str, ...]:
    """Return the names of the chains that pull at bones of a chain, the hardest first.

    One that has arrived pulls only if it is so much heavier that the rest is within tolerance.
    """
    all_rows, statuses = driven.hanging.rows, _statuses(solved, row)
    own, pulls = set(all_rows[chain]), weights * solved.residuals[row]
    others = [
        other
        for other in np.argsort(-pulls, kind="stable").tolist()
        if other != chain
        and weights[other] > 0.0
        and not own.isdisjoint(all_rows[other])
        and (statuses[other] is not Status.REACHED or weights[chain] < HARDLY * weights[other])
    ]
    hardest = max((pulls[other] for other in others), default=0.0)
    return tuple(driven.specs[other].name for other in others if pulls[other] >= HARDLY * hardest)
