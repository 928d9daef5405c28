"""Outcomes of solves: what one did to a chain, and what keeps it from its target."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...core import Status
from ...core.algebra.arithmetic import Array, Indices
from ...core.model.message import Message
from ...core.model.status import STATUSES
from ..planning.joints_of_chain import cones
from ..planning.order import PlannedChain
from ..trees.driven import Driven
from .reasons import Reasons, reasons_of
from .solved import Solved

# A chain that pulls less than this share of the hardest pull is not named. A chain that weighs less
# than this share of another gives way to it.
MIN_PULL = 0.01
# As above, for chains of a body that are not pinned: all of them hold a little.
MIN_HOLD = 0.2
# Share of a chain's length by which constraints have to move its tip to be named. Float32 poses
# cause smaller gaps, and nobody sees them.
MIN_SHIFT = 1e-3
# The limits of a bone by axis, and those of a bone in a cone.
_AXES = ("{bone} X", "{bone} Y", "{bone} Z", "{bone} slide")
_CONE = ("{bone} cone", "{bone} Y", "{bone} cone", "{bone} slide")


@dataclass(frozen=True)
class Outcome:
    """Outcome of one solve for one chain.

    Attributes:
        status: Status of the chain after the solve.
        residual: Distance from effector to target on the written pose, in scene units.
        iterations: Number of sweeps.
        has_locks: Whether locked rotation channels kept bones from following.
        only_turns: Whether the chain is a single bone, which no solve brings nearer to its target.
        held_by: Bones and axes whose limits keep the effector from the target, as "Knee X".
        tip_gap: Angle from the tip to the requested orientation, radians.
        why: Options and joints of the chain, to explain the status.
        lacks_stretch: Whether the chain is to stretch, and none of its bones may.
        lacks_hand: Whether it is to turn a hand or foot, has none, and needs all bones to reach.
        connected: Bones that are to slide and cannot, as they are connected to their parents.
        location_locked: Bones that are to slide and whose location is locked.
        is_eased: Whether the chain eases toward its target in time.
        tree: Indices of the other chains of the object that form one tree with this chain.
        outweighed_by: Names of the chains, or of the floor, that keep the effector from the target.
        pins: Names of the pinned chains of its body that do so.
        gives_way: Whether its body moves so that any chain reaches.
        put_back: Bones that the user has posed since, and that the chain has posed again.
        keys_before: Channels with keys at this frame before, by bone and property; None if unknown.
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
    solved: Solved, driven: Driven, row: int, chain: int, weights: Array | None
) -> Outcome:
    """Return the outcome of a solve for a chain.

    ``row`` is that of the driven bones in the result, ``chain`` the number of the chain among
    theirs, and ``weights`` are those of the effectors, (E,); None for a chain alone.
    """
    live_chain, hang = driven.live_chains[chain], driven.hanging
    spec, slide, rows = live_chain.spec, live_chain.slide, np.array(hang.rows[chain])
    status, tip_gap = _list_statuses(solved, row)[chain], float(solved.tip_gaps[row, chain])
    channels, segments = solved.channels[row, rows], rows[rows < hang.count]
    pins, outweighing = _name_holders(solved, driven, row, chain, weights)
    return Outcome(
        status=status,
        residual=float(solved.residuals[row, chain]),
        iterations=int(solved.iterations[row]),
        has_locks=bool(solved.is_held_by_lock[row, rows].any()),
        only_turns=weights is None and live_chain.only_turns,
        held_by=_name_limits(solved, driven, row, segments, live_chain)
        if status is Status.LIMITED
        else (),
        tip_gap=tip_gap,
        why=reasons_of(driven, chain, channels, tip_gap, is_alone=weights is None),
        lacks_stretch=live_chain.stretch is not None and not live_chain.can_grow,
        lacks_hand=spec.use_rotation and not (live_chain.plan.turns_tip or spec.is_dragged),
        connected=() if slide is None else slide.connected,
        location_locked=() if slide is None else slide.locked,
        is_eased=spec.easing is not None,
        tree=tuple(other.index for other in driven.live_chains if other is not live_chain),
        outweighed_by=outweighing,
        pins=pins,
        gives_way=_gives_way(solved, row),
    )


def gap_after_constraints(residual: float, end: Array, goal: Array, joints: Array) -> float | None:
    """Return how far constraints moved a chain's end off its goal; None if they did not.

    Blender evaluates constraints after the chain has written, so its solve does not know of them.

    Args:
        residual: Distance after the solve.
        end: Shown place of the effector, shape (3,).
        goal: Place of the target, shape (3,).
        joints: Shown joints, shape (m + 1, 3).
    """
    gap = float(np.linalg.norm(goal - end))
    length = float(np.linalg.norm(np.diff(joints, axis=0), axis=1).sum())
    return gap if gap > residual + MIN_SHIFT * length else None


def _gives_way(solved: Solved, row: int) -> bool:
    return solved.forces is not None and bool(solved.forces[row].any())


def _list_statuses(solved: Solved, row: int) -> list[Status]:
    return [STATUSES[code] for code in solved.status_codes[row].tolist()]


def _name_limits(
    solved: Solved, driven: Driven, row: int, segments: Indices, chain: PlannedChain
) -> tuple[str, ...]:
    """Return the bones and axes whose limits hold a chain back, as words, root first."""
    if solved.holds is None:
        return ()
    holds = solved.holds[row]
    if solved.slide_holds is not None:
        holds = np.column_stack((holds, solved.slide_holds[row]))
    names, round_bones = driven.skeleton.names, cones(chain.plan, chain.spec)
    limits = [
        (bone := int(driven.bones[segments[i]]), (_CONE if bone in round_bones else _AXES)[axis])
        for i, axis in np.argwhere(holds[segments]).tolist()
    ]
    # Both axes of a cone are one limit.
    return tuple(Message(limit, bone=names[bone]) for bone, limit in dict.fromkeys(limits))


def _name_holders(
    solved: Solved, driven: Driven, row: int, chain: int, weights: Array | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of pins that keep a chain from its target, and of others.

    In a body these are the chains of the same or a higher priority: pins in the order of the list,
    others by the force with which they hold. The floor comes right after pins.
    """
    if weights is None:
        return (), ()
    priorities = driven.priorities
    if solved.forces is None or priorities is None or not _gives_way(solved, row):
        return (), _name_outweighing(solved, driven, row, chain, weights)
    forces, floor, priority = solved.forces[row], len(driven.specs), priorities[chain]
    ranks, is_there = (*priorities, 1), (*(weights > 0.0), True)
    holders = [
        other
        for other in np.argsort(-forces, kind="stable").tolist()
        if other != chain and is_there[other] and ranks[other] <= priority
    ]
    hardest = max((forces[other] for other in holders), default=0.0)
    strong = [other for other in holders if forces[other] > MIN_PULL * hardest]
    names = [spec.name for spec in driven.specs]
    if (anchor := driven.specs[0].floor) is not None:
        names.append(anchor.object.name)
    pins = [names[other] for other in sorted(strong) if other != floor and ranks[other] == 0]
    others = [other for other in strong if ranks[other] > 0 and forces[other] > MIN_HOLD * hardest]
    return tuple(pins), tuple(names[other] for other in others)


def _name_outweighing(
    solved: Solved, driven: Driven, row: int, chain: int, weights: Array
) -> tuple[str, ...]:
    """Return the names of the chains that pull at bones of a chain, the hardest first.

    A chain that has arrived pulls only if it is so much heavier that its gap is within tolerance.
    """
    all_rows, statuses = driven.hanging.rows, _list_statuses(solved, row)
    limb_rows, pulls = set(all_rows[chain]), weights * solved.residuals[row]
    others = [
        other
        for other in np.argsort(-pulls, kind="stable").tolist()
        if other != chain
        and weights[other] > 0.0
        and not limb_rows.isdisjoint(all_rows[other])
        and (statuses[other] is not Status.REACHED or weights[chain] < MIN_PULL * weights[other])
    ]
    hardest = max((pulls[other] for other in others), default=0.0)
    return tuple(driven.specs[other].name for other in others if pulls[other] >= MIN_PULL * hardest)
