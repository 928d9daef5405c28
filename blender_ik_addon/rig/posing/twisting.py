"""Twist spread switched on where it changes nothing at present."""

from __future__ import annotations

from dataclasses import replace

import bpy
import numpy as np

from ...core.algebra import rotation
from ..anatomy.free_bones import free_bones
from ..frames.twist_rows import Limb, twist_spread
from ..planning.hanging import hanging_of
from ..reading.chain_plan import plan_or_none
from ..reading.channels import quaternions_of, read_pose
from ..reading.skeleton import compiled
from ..reading.spec import ChainSpec

# Bones may turn by so much, in numbers of a quaternion.
STILL = 1e-6


def with_twist_spread(armature_object: bpy.types.Object, spec: ChainSpec) -> ChainSpec:
    """Return a chain that spreads turns, if it has bones for that and its pose stays as it is."""
    skeleton, wanted = compiled(armature_object), replace(spec, use_twist_spread=True)
    plan = plan_or_none(skeleton, wanted)
    if plan is None or not plan.spread:
        return spec
    helpers, pose = plan.limb[plan.tip_row + 1 :], read_pose(armature_object)
    bones, hanging = hanging_of([plan.by_itself])
    spread = twist_spread(plan.spread, hanging.parents, [Limb(skeleton, pose, bones)])
    if spread is None or not free_bones(armature_object, skeleton)[helpers].all():
        return spec
    local = quaternions_of(pose.rotation[bones], pose.modes[bones])[None]
    after = spread.spread(local, local, np.ones(local.shape[:2]))
    is_still = np.abs(rotation.nearest_quaternion(after, local) - local).max() <= STILL
    return wanted if is_still and spread.may_roll.any() else spec
