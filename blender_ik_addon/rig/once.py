"""Solve a chain now, once, without leaving one behind."""

from __future__ import annotations

from dataclasses import replace

import bpy
import numpy as np
import numpy.typing as npt

from ..core import Solver
from .changes import OtherChannels
from .channels import Pose, matrices_of, read_pose
from .checks import check_channels, check_pose
from .following import FreePose, check_dragged, drag
from .frame_solve import FrameSolve
from .joints import read_joints
from .limb import Limb
from .order import Job
from .outcome import Outcome
from .own_joints import chain_joints
from .places import find_places
from .plan import check, planned
from .skeleton import compiled
from .solved import Asked
from .spec import ChainSpec
from .start import start_channels, stored_bones
from .targets import Target, read_target
from .world import WorldMatrices
from .writer import write_others, write_rotation

Array = npt.NDArray[np.float64]


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
    present = {member.session_uid for member in scene.objects}
    moved_by = check(armature_object, skeleton, plan, spec, present)
    pose = read_pose(armature_object.evaluated_get(depsgraph))
    check_pose(armature_object, skeleton, pose, plan)
    if not spec.stored_pose:
        spec = replace(spec, stored_pose=stored_bones(skeleton, pose, plan, with_scale=False))
    frame = scene.frame_current_final
    start, stored = start_channels(armature_object, skeleton, pose, plan, spec, frame, None)
    check_channels(skeleton, plan, start)
    target = read_target(armature_object, spec, WorldMatrices(depsgraph))
    job = Job(armature_object, 0, spec, skeleton, plan, moved_by)
    if spec.options.solver is Solver.FOLLOW:
        return _dragged(job, pose, target, start, stored)
    joints = chain_joints(read_joints(armature_object), skeleton, plan, spec)
    modes = pose.modes[plan.written]
    limb = Limb(job, start, stored, modes, False, joints, None, is_rigid=False)
    asked = Asked(
        np.zeros(1, dtype=np.int64),
        target.matrix[None],
        None if target.pole is None else target.pole[None],
        pose.rotation[plan.written][None],
    )
    places = find_places([limb], [pose], [target.unmirrored])
    outcome = FrameSolve([limb], [pose]).solved(asked, places)[0].outcome(limb, 0)
    write_rotation(armature_object, plan.written, modes, outcome.channels)
    return outcome


def _dragged(job: Job, pose: Pose, target: Target, start: Array, stored: Array) -> Outcome:
    """Drag a chain to its target and write its bones, and where its root is."""
    owner, skeleton, plan, spec = job.object, job.skeleton, job.plan, job.spec
    check_dragged(owner, skeleton, plan)
    modes, root = pose.modes[plan.written], plan.written[:1]
    location = pose.location[root[0]]
    home, turns = FreePose(stored, location), matrices_of(start, modes)
    outcome = drag(skeleton, pose, plan, spec, target, turns, location, start, home).outcome
    moved = outcome.others["location"][:1].astype(np.float32)
    write_others(owner, {"location": OtherChannels(root, moved)})
    write_rotation(owner, plan.written, modes, outcome.channels)
    return outcome
