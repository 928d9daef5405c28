"""Solve a chain now, once, without leaving one behind."""

from __future__ import annotations

from dataclasses import replace

import bpy

from .channels import read_pose
from .joints import read_joints
from .outcome import Outcome
from .own_joints import chain_joints
from .plan import check, planned
from .skeleton import compiled
from .solving import solve_chain
from .spec import ChainSpec
from .start import start_channels, stored_bones
from .targets import read_target
from .world import WorldMatrices
from .writer import write_rotation


def solve_once(
    depsgraph: bpy.types.Depsgraph,
    armature_object: bpy.types.Object,
    spec: ChainSpec,
) -> Outcome:
    """Solve a chain from what stands there now, or as it says, and write its bones.

    Raises:
        IKError: If the chain cannot be solved; nothing is written then.
    """
    scene = depsgraph.scene
    skeleton = compiled(armature_object)
    plan = planned(skeleton, spec)
    check(armature_object, skeleton, plan, spec, {member.session_uid for member in scene.objects})
    pose = read_pose(armature_object.evaluated_get(depsgraph))
    if not spec.stored_pose:
        spec = replace(spec, stored_pose=stored_bones(skeleton, pose, plan, with_scale=False))
    frame = scene.frame_current_final
    start, stored = start_channels(armature_object, skeleton, pose, plan, spec, frame, None)
    target = read_target(armature_object, spec, WorldMatrices(depsgraph))
    joints = chain_joints(read_joints(armature_object), skeleton, plan, spec)
    outcome = solve_chain(skeleton, pose, plan, spec, target, start, stored, joints)
    write_rotation(armature_object, plan.written, pose.modes[plan.written], outcome.channels)
    return outcome
