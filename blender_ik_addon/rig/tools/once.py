"""Solve a chain now, once, without leaving one behind."""

from __future__ import annotations

from dataclasses import replace

import bpy
import numpy as np

from ...core.algebra.arithmetic import Array, Indices
from ..batches.changes import OtherChannels
from ..frames.places import Places, in_armatures
from ..live.writer import write_others, write_rotation
from ..planning.checks import check_channels, check_pose
from ..planning.driven import Driven, driven_alone
from ..planning.live_chain import LiveChain
from ..planning.located import check_moved
from ..planning.order import Job
from ..planning.own_joints import chain_joints
from ..planning.start_channels import start_channels, stored_bones
from ..posing.drags import Begun
from ..posing.follow_solve import FollowSolve
from ..posing.frame_solve import FrameSolve
from ..posing.outcome import Outcome, outcome_of
from ..posing.solved import Asked
from ..reading.bone_joints import read_joints
from ..reading.chain_plan import check, planned
from ..reading.channels import Pose, read_pose
from ..reading.skeleton import compiled
from ..reading.spec import ChainSpec
from ..reading.world import WorldMatrices, find_unmirrored, uids_in


def solve_once(
    depsgraph: bpy.types.Depsgraph,
    armature_object: bpy.types.Object,
    spec: ChainSpec,
) -> Outcome:
    """Solve a chain from the pose that its settings choose, and write its bones.

    Raises:
        IKError: If the chain cannot be solved; nothing is written then.
    """
    scene = depsgraph.scene
    assert scene is not None
    # A chain that is solved once moves no bones but its own.
    skeleton, spec = compiled(armature_object), replace(spec, body=None)
    plan = planned(skeleton, spec)
    moved_by = check(armature_object, skeleton, plan, spec, uids_in(scene))
    evaluated = armature_object.evaluated_get(depsgraph)
    pose = read_pose(evaluated)
    check_pose(armature_object, skeleton, pose, plan)
    if not spec.stored_pose:
        spec = replace(spec, stored_pose=stored_bones(skeleton, pose, plan, spec))
    frame = scene.frame_current_final
    job = Job(armature_object, 0, spec, skeleton, plan, moved_by)
    start, stored = start_channels(job, pose, frame, None)
    check_channels(skeleton, plan, start)
    assert spec.target is not None
    world = WorldMatrices(depsgraph)
    matrix = world.matrix(spec.target, "target")[None]
    pole = None if spec.pole is None else world.matrix(spec.pole, "pole")[None, None, :3, 3]
    if spec.is_dragged:
        check_moved(job)
    joints = chain_joints(read_joints(armature_object), skeleton, plan, spec)
    modes = pose.modes[plan.written]
    live_chain = LiveChain(job, start, stored, modes, False, joints, None, keeps_shape=False)
    driven = driven_alone(live_chain)
    places = in_armatures([driven], [pose], [find_unmirrored(evaluated)])
    rows = np.zeros(1, dtype=np.int64)
    if spec.is_dragged:
        outcome = _drag(driven, pose, places, rows, matrix[:, :3, 3])
    else:
        has_all, stands = np.ones(1, dtype=np.bool_), pose.rotation[plan.written][None]
        asked = Asked(rows, matrix[None], pole, stands, has_all)
        outcome = outcome_of(FrameSolve([driven], [pose]).solved(asked, places)[0], driven, 0)
    write_rotation(armature_object, plan.written, modes, outcome.channels)
    return outcome


def _drag(driven: Driven, pose: Pose, places: Places, rows: Indices, targets: Array) -> Outcome:
    """Drag a chain to its target from its start, and write where its root is."""
    solve, near, root = FollowSolve([driven], [pose]), driven.start[None], driven.bones[:1]
    home = pose.location[root]
    begun = Begun.anew(rows, targets, solve.settings.start, home, near, home, driven.hanging.count)
    outcome = outcome_of(solve.dragged(begun, places).solved, driven, 0)
    moved = outcome.others["location"].astype(np.float32)
    write_others(driven.live_chains[0].job.object, {"location": OtherChannels(root, moved)})
    return outcome
