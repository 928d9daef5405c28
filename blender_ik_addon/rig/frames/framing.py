"""Chains as they hang now: what of them stays while their bones rotate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np

from ...core.algebra.arithmetic import Array, Flags
from ..planning.hanging import Hanging, hanging_of, lying
from ..reading import spaces
from ..reading.chain_plan import ChainPlan, rest_side, straight_angle
from ..reading.channels import Pose
from ..reading.rows import stacked
from ..trees.body_plan import BodyPlan
from ..trees.driven import Driven
from .chain_frames import ChainFrames


def framed(driven: Sequence[Driven], *, is_even: bool = False) -> ChainFrames:
    """Return what of chains or trees alike stays while their bones rotate, wherever they hang.

    Args:
        driven: The chains or trees.
        is_even: Whether their root bones turn in the very spaces that they are solved in.
    """
    hang, count = driven[0].hanging, len(driven)
    # Chains of a crowd have equal bones, and share them.
    frames = {id(each.bones): each for each in driven}
    known = {key: each.skeleton.frames.take(each.bones) for key, each in frames.items()}
    rest = rest_by_generation(hang, [known[id(each.bones)] for each in driven])
    hints, is_bent = rest_sides(driven)
    if is_even:
        nothing = np.tile(np.eye(3), (count, 1, 1, 1))
        takes_all = np.ones((count, 1), dtype=np.bool_)
        whole = np.full((count, 1), spaces.InheritScale.FULL, dtype=np.int32)
        rest = (spaces.RestFrames(nothing, nothing, takes_all, whole), *rest[1:])
    alone = [each.live_chains[0] for each in driven if not each.is_tree]
    return ChainFrames(
        hanging=hang,
        rest=rest,
        scale=np.array([each.scale for each in driven]),
        ways=np.array([each.ways for each in driven]),
        ends=np.array([each.ends for each in driven]),
        parent=np.tile(np.eye(3), (count, 1, 1)),
        root=np.zeros((count, 3)),
        hints=hints,
        is_bent=is_bent,
        compiled=count,
        stretch=stacked([chain.stretch for chain in alone]),
        slide=stacked([each.slide for each in driven]),
        floating=stacked([each.floating for each in driven if isinstance(each, BodyPlan)]),
    )


def framed_in_poses(plan: ChainPlan, poses: Sequence[Pose]) -> ChainFrames:
    """Return what of a chain by itself stays while its bones rotate, as it hangs in poses."""
    skeleton, plan = plan.skeleton, plan.by_itself
    hung = bones, hang = hanging_of([plan])
    root, count = int(bones[0]), len(poses)
    above = int(skeleton.parents[root])
    nothing, side = np.eye(3), rest_side(plan)
    ways, ends = lying([plan], hung, lambda some: np.array([pose.location[some] for pose in poses]))
    parent = [pose.matrices[above, :3, :3] if above >= 0 else nothing for pose in poses]
    return ChainFrames(
        hanging=hang,
        rest=rest_by_generation(hang, [skeleton.frames.take(bones)] * count),
        scale=np.array([pose.scale[bones] for pose in poses]),
        ways=ways,
        ends=ends,
        parent=np.array(parent),
        root=np.array([pose.matrices[root, :3, 3] for pose in poses]),
        hints=np.tile(side[0], (count, 1, 1)),
        is_bent=np.full((count, 1), side[1]),
        compiled=count,
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


def rest_sides(driven: Sequence[Driven]) -> tuple[Array, Flags]:
    """Return what ``rest_side`` tells of B times E chains, shapes (B, E, 3) and (B, E)."""
    chains = [
        [(each.plan, straight_angle(each.spec)) for each in own.live_chains] for own in driven
    ]
    found = {key: rest_side(*key) for key in {key for own in chains for key in own}}
    sides = [[found[key] for key in own] for own in chains]
    hints, is_bent = ([[each[i] for each in own] for own in sides] for i in range(2))
    return np.array(hints), np.array(is_bent)
