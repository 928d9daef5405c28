"""Twist spread, switched on where it does not change the present pose."""

from __future__ import annotations

from dataclasses import replace

import bpy
import numpy as np

from ...core.algebra import rotation
from ..anatomy.free_bones import free_bones
from ..frames.twist_rows import twist_spread
from ..planning.known_skeletons import skeleton_of
from ..planning.live_chain import LiveChain
from ..reading.chain_plan import plan_or_none
from ..reading.channels import quaternions_of, read_pose
from ..reading.dependencies import Dependencies
from ..reading.spec import ChainSpec
from ..trees.uniting import unite_chains

# Greatest change of a quaternion component that counts as none.
MAX_CHANGE = 1e-6


def with_twist_spread(armature_object: bpy.types.Object, spec: ChainSpec) -> ChainSpec:
    """Return a chain with twist spread, if it has twist bones and its pose stays the same."""
    skeleton, spreading = skeleton_of(armature_object), replace(spec, use_twist_spread=True)
    plan = plan_or_none(skeleton, spreading)
    if plan is None or not plan.spread:
        return spec
    plan, pose = plan.by_itself, read_pose(armature_object)
    helpers, channels = plan.written[plan.tip_row + 1 :], pose.rotation[plan.written]
    inputs = armature_object, 0, spreading, plan, Dependencies().freeze()
    chain = LiveChain(*inputs, channels, channels, is_settled=True, joints=None, stretch=None)
    spread = twist_spread([unite_chains([chain], pose, None)])
    if spread is None or not free_bones(armature_object, skeleton)[helpers].all():
        return spec
    local = quaternions_of(channels, pose.modes[plan.written])[None]
    after = spread.spread(local, local, np.ones(local.shape[:2]))
    is_still = np.abs(rotation.nearest_quaternion(after, local) - local).max() <= MAX_CHANGE
    return spreading if is_still and spread.may_roll.any() else spec
