"""Chains as they hang now: what of them stays while their bones rotate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import NamedTuple

import numpy as np

from ...core.algebra.arithmetic import Array, Flags
from ..planning.hanging import Hanging
from ..planning.live_chain import LiveChain, segments_of
from ..planning.slide import ChainSlide
from ..planning.stretch import ChainStretch
from ..reading import spaces
from ..reading.chain_plan import ChainPlan, rest_side, straight_angle
from ..reading.channels import Pose
from ..reading.rows import stacked
from ..reading.skeleton import Skeleton
from ..trees.tree_plan import TreePlan
from .chain_frames import ChainFrames


class Hung(NamedTuple):
    """One chain to frame: the armature's bones, their pose, which bones, what may grow or slide.

    The angle is that of ``rest_side``.
    """

    skeleton: Skeleton
    pose: Pose
    plan: ChainPlan
    stretch: ChainStretch | None = None
    slide: ChainSlide | None = None
    angle: float = 0.0


def framed_chains(live_chains: Sequence[LiveChain], poses: Sequence[Pose]) -> ChainFrames:
    """Return what of live chains alike stays, in these poses of their armature objects."""
    pairs = zip(live_chains, poses, strict=True)
    return framed(
        [
            Hung(
                own.skeleton,
                pose,
                own.plan,
                own.stretch,
                own.slide,
                straight_angle(own.spec),
            )
            for own, pose in pairs
        ]
    )


def framed(chains: Sequence[Hung]) -> ChainFrames:
    """Return what of chains alike stays while their bones rotate, where they hang now."""
    plan = chains[0].plan
    hang = Hanging.of_chain(chains[0].skeleton, plan)
    # Chains of a crowd have equal bones, and share their plans.
    plans = {id(chain.plan): chain for chain in chains}
    rest = {each: chain.skeleton.frames.take(chain.plan.limb) for each, chain in plans.items()}
    hints, is_bent = _rest_sides([[(each.skeleton, each.plan, each.angle)] for each in chains])
    roots = [int(chain.plan.segments[0]) for chain in chains]
    segments = np.array(
        [segments_of(each.skeleton, each.pose, each.plan, each.slide) for each in chains]
    )
    ways = np.zeros((len(chains), len(plan.limb), 3))
    ways[:, 1 : plan.tip_row + 1] = segments[:, : plan.tip_row]
    return ChainFrames(
        hanging=hang,
        rest=rest_by_generation(hang, [rest[id(chain.plan)] for chain in chains]),
        scale=np.array([_scale_of(chain) for chain in chains]),
        ways=ways,
        ends=segments[:, -1:],
        parent=np.array([_above(*each) for each in zip(chains, roots, strict=True)]),
        root=np.array(
            [chain.pose.matrices[root, :3, 3] for chain, root in zip(chains, roots, strict=True)]
        ),
        hints=hints,
        is_bent=is_bent,
        compiled=len(chains),
        stretch=stacked([chain.stretch for chain in chains]),
        slide=stacked([chain.slide for chain in chains]),
    )


def framed_trees(plans: Sequence[TreePlan], *, is_even: bool) -> ChainFrames:
    """Return what of trees alike stays while their bones rotate, wherever they hang.

    Args:
        plans: The trees.
        is_even: Whether their root bones turn in the very spaces that they are solved in.
    """
    hang, count = plans[0].hanging, len(plans)
    rest = rest_by_generation(hang, [plan.skeleton.frames.take(plan.bones) for plan in plans])
    hints, is_bent = _rest_sides(
        [
            [(each.skeleton, each.plan, straight_angle(each.spec)) for each in own.live_chains]
            for own in plans
        ]
    )
    if is_even:
        nothing = np.tile(np.eye(3), (count, 1, 1, 1))
        takes_all = np.ones((count, 1), dtype=np.bool_)
        whole = np.full((count, 1), spaces.InheritScale.FULL, dtype=np.int32)
        rest = (spaces.RestFrames(nothing, nothing, takes_all, whole), *rest[1:])
    return ChainFrames(
        hanging=hang,
        rest=rest,
        scale=np.array([plan.scale for plan in plans]),
        ways=np.array([plan.ways for plan in plans]),
        ends=np.array([plan.ends for plan in plans]),
        parent=np.tile(np.eye(3), (count, 1, 1)),
        root=np.zeros((count, 3)),
        hints=hints,
        is_bent=is_bent,
        compiled=count,
        floating=stacked([plan.floating for plan in plans]),
    )


def rest_by_generation(
    hang: Hanging, rest: Sequence[spaces.RestFrames]
) -> tuple[spaces.RestFrames, ...]:
    """Return the rest frames of chains or trees alike, a record of (B, g) for each generation."""
    columns = [
        np.array([getattr(each, field.name) for each in rest])
        for field in fields(spaces.RestFrames)
    ]
    return tuple(
        spaces.RestFrames(*(column[:, rows] for column in columns)) for rows, _ in hang.generations
    )


def _above(chain: Hung, root: int) -> Array:
    parent = int(chain.skeleton.parents[root])
    return chain.pose.matrices[parent, :3, :3] if parent >= 0 else np.eye(3)


def _scale_of(chain: Hung) -> Array:
    scale: Array = chain.pose.scale[chain.plan.limb]
    if chain.stretch is not None:
        # What may be locked holds what stands there, the rest what stood there before any growth.
        scale = np.where(chain.stretch.is_locked, scale, chain.stretch.scale)
    return scale


def _rest_sides(
    chains: Sequence[Sequence[tuple[Skeleton, ChainPlan, float]]],
) -> tuple[Array, Flags]:
    """Return what ``rest_side`` tells of B times E chains, shapes (B, E, 3) and (B, E)."""
    known = {(id(plan), angle): (skeleton, plan) for own in chains for skeleton, plan, angle in own}
    found = {key: rest_side(*chain, key[1]) for key, chain in known.items()}
    sides = [[found[id(plan), angle] for _, plan, angle in own] for own in chains]
    hints, is_bent = ([[each[i] for each in own] for own in sides] for i in range(2))
    return np.array(hints), np.array(is_bent)
