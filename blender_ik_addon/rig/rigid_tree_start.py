"""The start poses of trees of rigid bones, in the spaces that their root bones turn in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..core import Chains, Joints, Topology
from ..core.algebra import rotation
from .rigid_tree import RigidTree
from .tree_plan import NOT_TURNED

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Generations = tuple[tuple[Indices, Indices], ...]
"""Rows of bones and of their parents: those below the root, those below these, and so on."""


@dataclass(frozen=True)
class RigidTreeStart:
    """B trees alike of k bones and E effectors.

    Attributes:
        generations: The bones below the root.
        offsets: Rest rotations seen from the parents wxyz, no turn for the root, shape (B, k, 4).
        local: Local rotations wxyz, shape (B, k, 4).
        whole: Rotations of the posed bones, shape (B, k, 4).
        scale: Scale channels, shape (B, k, 3).
        heads: Shape (B, k, 3).
        effectors: Shape (B, E, 3).
        lengths: Of the ways from the root to the effectors along the bones, shape (B, E).
        hints: Where bones in one line bend, shape (B, k, 3).
    """

    generations: Generations
    offsets: Array
    local: Array
    whole: Array
    scale: Array
    heads: Array
    effectors: Array
    lengths: Array
    hints: Array


def posed_trees(trees: Sequence[RigidTree]) -> RigidTreeStart:
    """Return the start poses of trees that have the same ``likeness``."""
    first, plans = trees[0].plan, [tree.plan for tree in trees]
    local = np.array([tree.local_wxyz for tree in trees])
    offsets = np.array([plan.skeleton.offsets_wxyz[plan.bones] for plan in plans])
    # A base is the space that the root turns in: nothing is left of its own offset.
    offsets[:, 0] = NOT_TURNED
    scale = np.array([tree.scale for tree in trees])
    generations = generations_of(first.parents)
    whole = turned_trees(generations, rotation.multiply(offsets, local))
    ways = np.array([plan.ways for plan in plans])
    ends = np.array([plan.ends for plan in plans])
    size, heads, lengths = (
        np.ones(scale.shape[:2]),
        np.zeros(scale.shape),
        np.zeros(scale.shape[:2]),
    )
    for rows, above in generations:
        size[:, rows] = size[:, above] * scale[:, above, 1]
        step = rotation.rotate(whole[:, above], scale[:, above] * ways[:, rows])
        step *= size[:, above, None]
        heads[:, rows] = heads[:, above] + step
        lengths[:, rows] = lengths[:, above] + np.linalg.norm(step, axis=2)
    on = first.carriers
    last = size[:, on, None] * rotation.rotate(whole[:, on], scale[:, on] * ends)
    return RigidTreeStart(
        generations=generations,
        offsets=offsets,
        local=local,
        whole=whole,
        scale=scale,
        heads=heads,
        effectors=heads[:, on] + last,
        lengths=lengths[:, on] + np.linalg.norm(last, axis=2),
        hints=_hints(trees, whole, scale * size[:, :, None]),
    )


def _hints(trees: Sequence[RigidTree], whole: Array, scale: Array) -> Array:
    """Return where bones in one line bend, by their rotations and whole scales, (B, k, 3)."""
    hints = np.zeros(scale.shape)
    bends = np.array([tree.plan.bends for tree in trees])
    for chain, own in reversed(list(enumerate(trees[0].plan.rows))):
        root = int(own[0])
        hints[:, own] = rotation.rotate(whole[:, root], scale[:, root] * bends[:, chain])[:, None]
    return hints


def generations_of(parents: Indices) -> Generations:
    """Return the bones below the one root, by how many others are above them."""
    depth = np.zeros(len(parents), dtype=np.int64)
    for row, above in enumerate(parents.tolist()):
        depth[row] = depth[above] + 1 if above >= 0 else 0
    levels = (np.flatnonzero(depth == number) for number in range(1, 1 + max(depth.tolist())))
    return tuple((rows, parents[rows]) for rows in levels)


def turned_trees(generations: Generations, steps: Array) -> Array:
    """Return the rotations of posed bones (B, k, 4), each a step (B, k, 4) from its parent's."""
    whole = steps.copy()
    for rows, above in generations:
        whole[:, rows] = rotation.multiply(whole[:, above], steps[:, rows])
    return whole


def core_trees(trees: Sequence[RigidTree], start: RigidTreeStart) -> Chains:
    """Return the bones of trees that are solved together, for the core."""
    plan = trees[0].plan
    count = plan.count
    offsets = rotation.matrix_from_quaternion(start.offsets[:, :count])
    offsets[:, 1:] *= start.scale[:, plan.parents[1:count], 1][:, :, None, None]
    local, zero = start.local[:, :count], zeros_of(trees)
    if zero is not None:
        offsets = offsets @ rotation.matrix_from_quaternion(zero[:, :count])
        local = rotation.multiply(rotation.conjugate(zero[:, :count]), local)
    joints = [tree.joints for tree in trees]
    nothing = np.zeros(offsets.shape[:2])
    return Chains(
        np.concatenate((start.heads[:, :count], start.effectors), axis=1),
        topology=Topology(plan.parents[:count].tolist(), plan.carriers.tolist()),
        joints=Joints(
            kinds=joints[0].kinds[:count],
            offsets=offsets,
            start_wxyz=local,
            low=np.array([each.low[:count] for each in joints]),
            high=np.array([each.high[:count] for each in joints]),
            mobility=1.0 - np.array([each.stiffness[:count] for each in joints]),
            slide_low=nothing,
            slide_high=nothing,
        ),
        bend_direction=start.hints[:, :count],
    )


def zeros_of(trees: Sequence[RigidTree]) -> Array | None:
    """Return the local rotations that count as no turn, wxyz (B, k, 4); None where all are rest."""
    zeros = [tree.joints.zero_wxyz for tree in trees]
    if all(zero is None for zero in zeros):
        return None
    rest = np.tile(NOT_TURNED, (len(trees[0].plan.bones), 1))
    return np.array([rest if zero is None else zero for zero in zeros])
