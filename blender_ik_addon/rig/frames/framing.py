"""Build ``ChainFrames``: the constants of chains under their present parents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np

from ...core.algebra.arithmetic import Array, Flags
from ..planning.bone_hierarchy import BoneHierarchy, find_heads_and_effectors, hanging_of
from ..reading import spaces
from ..reading.batch_record import stacked
from ..reading.bone_joints import BoneJoints, free_joints
from ..reading.chain_plan import ChainPlan, rest_side, straight_angle
from ..reading.channels import Pose
from ..trees.body_plan import BodyPlan
from ..trees.driven import Driven
from .chain_frames import ChainFrames


def build_frames(
    driven: Sequence[Driven], joints: BoneJoints | None, *, is_even: bool = False
) -> ChainFrames:
    """Return the frames of similar chains or trees, with roots at the origin and without parents.

    ``is_even``: the root bones turn in the very spaces that they are solved in. Without joints all
    bones turn freely.
    """
    hanging, count = driven[0].hanging, len(driven)
    # Chains of a crowd share one array of bones: take its rest frames once.
    frames = {id(tree.bones): tree for tree in driven}
    rest_of = {key: tree.skeleton.frames.take(tree.bones) for key, tree in frames.items()}
    rest = rest_by_generation(hanging, [rest_of[id(tree.bones)] for tree in driven])
    hints, is_bent = rest_sides(driven)
    if is_even:
        identity = np.tile(np.eye(3), (count, 1, 1, 1))
        takes_all = np.ones((count, 1), dtype=np.bool_)
        whole = np.full((count, 1), spaces.InheritScale.FULL, dtype=np.int32)
        rest = (spaces.RestFrames(identity, identity, takes_all, whole), *rest[1:])
    if joints is None and driven[0].is_tree:
        # The core solves trees by their joints.
        joints = stacked([free_joints(len(driven[0].bones))] * count)
    alone = [tree.live_chains[0] for tree in driven if not tree.is_tree]
    return ChainFrames(
        hanging=hanging,
        rest=rest,
        scale=np.array([tree.scale for tree in driven]),
        ways=np.array([tree.ways for tree in driven]),
        ends=np.array([tree.ends for tree in driven]),
        parent=np.tile(np.eye(3), (count, 1, 1)),
        root=np.zeros((count, 3)),
        hints=hints,
        is_bent=is_bent,
        compiled=count,
        stretch=stacked([chain.stretch for chain in alone]),
        slide=stacked([tree.slide for tree in driven]),
        floating=stacked([tree.floating for tree in driven if isinstance(tree, BodyPlan)]),
        joints=joints,
    )


def build_frames_in_poses(plan: ChainPlan, poses: Sequence[Pose]) -> ChainFrames:
    """Return the frames of one chain, solved by itself, in several poses of its armature."""
    skeleton, plan = plan.skeleton, plan.by_itself
    order = bones, hanging = hanging_of([plan])
    root, count = int(bones[0]), len(poses)
    above = int(skeleton.parents[root])
    identity, side = np.eye(3), rest_side(plan)
    ways, ends = find_heads_and_effectors(
        [plan], order, lambda rows: np.array([pose.location[rows] for pose in poses])
    )
    parents = [pose.matrices[above, :3, :3] if above >= 0 else identity for pose in poses]
    return ChainFrames(
        hanging=hanging,
        rest=rest_by_generation(hanging, [skeleton.frames.take(bones)] * count),
        scale=np.array([pose.scale[bones] for pose in poses]),
        ways=ways,
        ends=ends,
        parent=np.array(parents),
        root=np.array([pose.matrices[root, :3, 3] for pose in poses]),
        hints=np.tile(side[0], (count, 1, 1)),
        is_bent=np.full((count, 1), side[1]),
        compiled=count,
    )


def rest_by_generation(
    hang: BoneHierarchy, rest: Sequence[spaces.RestFrames]
) -> tuple[spaces.RestFrames, ...]:
    """Return the rest frames of similar trees, a record of (B, g) for each generation."""
    columns = [
        np.array([getattr(frames, field.name) for frames in rest])
        for field in fields(spaces.RestFrames)
    ]
    return tuple(
        spaces.RestFrames(*(column[:, rows] for column in columns)) for rows, _ in hang.generations
    )


def rest_sides(driven: Sequence[Driven]) -> tuple[Array, Flags]:
    """Return the results of ``rest_side`` for B times E chains, shapes (B, E, 3) and (B, E)."""
    keys = [
        [(chain.plan, straight_angle(chain.spec)) for chain in tree.live_chains] for tree in driven
    ]
    side_of = {key: rest_side(*key) for key in {key for row in keys for key in row}}
    sides = [[side_of[key] for key in row] for row in keys]
    hints, is_bent = ([[side[i] for side in row] for row in sides] for i in range(2))
    return np.array(hints), np.array(is_bent)
