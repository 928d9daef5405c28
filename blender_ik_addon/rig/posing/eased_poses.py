"""Chains that ease toward their targets: how far they go in the time that has passed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Flags
from ...core.model.status import BLENDED, REACHED
from ..frames.chain_frames import ChainFrames
from ..frames.chain_poses import ChainPoses
from ..reading.batch_record import take_rows
from ..reading.bone_joints import BoneJoints
from ..reading.moment import Moment
from ..reading.spec import ChainSpec, Easing
from .easing import JointPose, eased
from .free_solving import SolvedPoses
from .history import Memento

# Distance to its aim at which a bone stops, in radians, and in chain lengths for slides.
ARRIVAL_TOLERANCE = 1e-9
# Nobody sees motion below this distance: the status is then that of the aimed pose.
VISIBLE_GAP = 1e-3


class Step(NamedTuple):
    """One time step of a chain that eases.

    Attributes:
        seconds: Time since the remembered state; zero or more.
        inputs: Inputs of the solve besides the chain, as bytes to compare.
        spec: Settings of the chain.
        now: Pose in the remembered state; None for the start pose.
        before: Pose that the chain aimed at then; None for the present aim.
    """

    seconds: float
    inputs: bytes
    spec: ChainSpec
    now: JointPose | None = None
    before: JointPose | None = None


class Eased(NamedTuple):
    """State that a chain with easing remembers of one moment: the result of a step.

    Attributes:
        now: Pose of the chain.
        target: Pose that the chain aimed at.
        start: Start pose of the solve.
        inputs: As in ``Step``.
        spec: Settings of the chain.
    """

    now: JointPose
    target: JointPose
    start: JointPose
    inputs: bytes
    spec: ChainSpec


def next_step(last: Memento[Eased] | None, spec: ChainSpec, moment: Moment, inputs: bytes) -> Step:
    """Return the time step that a chain makes at a moment.

    If the frame stays and an input changes, as while a target is dragged, each update counts as one
    frame. If nothing has changed, no time passes. It continues from the state ``last``; None to
    start again. ``inputs`` are those of the solve besides the chain, as bytes to compare.
    """
    if last is None:
        return Step(0.0, inputs, spec)
    state, frames = last.state, moment.frame - last.frame
    if frames == 0.0:
        is_same = inputs == state.inputs and spec == state.spec
        return Step(0.0 if is_same else moment.seconds, inputs, spec, state.now, state.target)
    # Drags at the first frame are not part of the motion that begins there.
    now = state.start if last.frame == moment.first else state.now
    return Step(frames * moment.seconds, inputs, spec, now, state.target)


def step_poses(
    frames: ChainFrames,
    start: ChainPoses,
    solved: SolvedPoses,
    easing: Easing,
    steps: Sequence[Step],
) -> tuple[SolvedPoses, list[Eased]]:
    """Return chains on their way to solved poses, and what they remember of it.

    The start poses are those of the solve. There is one time step for each chain.
    """
    joints = frames.joints
    assert joints is not None
    # If chains stretch, the start pose of the solve has its bones grown already.
    ungrown = start if frames.stretch is None else frames.posed(start.rotations)
    initial, target = _read_pose(frames, ungrown, joints), _read_pose(frames, solved.poses, joints)
    now = _stack_states([step.now for step in steps], initial)
    before = _stack_states([step.before for step in steps], target)
    slide_count = 0 if frames.slide is None else frames.scale.shape[1]
    is_slide = np.arange(target.way.shape[1]) < slide_count
    sizes = np.where(is_slide, frames.lengths(start), 1.0)
    pose = _ease(now, before, target, sizes, easing, steps, joints)
    apart = _find_gaps(pose, target, sizes)
    has_arrived = apart <= ARRIVAL_TOLERANCE
    arrived = np.flatnonzero(has_arrived)
    pose = pose.put(arrived, target.take(arrived))
    stepped = [
        Eased(*take_rows((pose, target, initial), np.array([row])), step.inputs, step.spec)
        for row, step in enumerate(steps)
    ]
    posed = frames.posed(
        rotation.matrix_from_quaternion(joints.local_of(pose.turn)),
        None if frames.stretch is None else pose.way[:, slide_count:].reshape(len(steps), -1, 3),
        pose.way[:, :slide_count] if slide_count else None,
    )
    codes, is_open = solved.solutions.status_code, ~has_arrived
    # Limits that hold the aimed pose say nothing of the pose on the way.
    is_on_its_way = is_open & ((apart > VISIBLE_GAP) | (codes == REACHED))
    solutions = replace(
        solved.solutions,
        status_code=np.where(is_on_its_way, BLENDED, codes),
        holds=_clear(solved.solutions.holds, is_on_its_way),
        slide_holds=_clear(solved.solutions.slide_holds, is_on_its_way),
    )
    gaps = np.where(is_on_its_way, 0.0, solved.tip_gaps)
    rows = np.flatnonzero(is_open)
    return SolvedPoses(solutions, solved.poses.put(rows, posed.take(rows)), gaps), stepped


def _ease(
    now: JointPose,
    before: JointPose,
    target: JointPose,
    sizes: Array,
    easing: Easing,
    steps: Sequence[Step],
    joints: BoneJoints,
) -> JointPose:
    """Return the poses of chains after their steps; steps of the same time go together."""
    seconds, result = np.array([step.seconds for step in steps]), now
    for duration in np.unique(seconds).tolist():
        rows = np.flatnonzero(seconds == duration)
        inputs, row_joints = take_rows((now, before, target, sizes), rows), joints.take(rows)
        result = result.put(rows, eased(*inputs, easing, duration, row_joints.clamped_turns))
    return result


def _stack_states(states: Sequence[JointPose | None], otherwise: JointPose) -> JointPose:
    """Return states as one record; a row of ``otherwise`` replaces a missing or different one."""
    turn, way = otherwise.turn.copy(), otherwise.way.copy()
    for row, state in enumerate(states):
        if state is None:
            continue
        # Bones that slide or grow now may not have done so then.
        if (state.turn.shape[1:], state.way.shape[1:]) == (turn.shape[1:], way.shape[1:]):
            turn[row], way[row] = state.turn[0], state.way[0]
    return JointPose(turn, way)


def _clear(flags: Flags | None, rows: Flags) -> Flags | None:
    if flags is None:
        return None
    return flags & ~rows.reshape(-1, *(1,) * (flags.ndim - 1))


def _read_pose(frames: ChainFrames, poses: ChainPoses, joints: BoneJoints) -> JointPose:
    """Return the turns of chains, and their slides and scales, if any."""
    turn = joints.turns_of(rotation.quaternion_from_matrix(poses.rotations))
    parts = [np.empty((len(turn), 0))]
    if frames.slide is not None and poses.slides is not None:
        parts.append(poses.slides)
    if frames.stretch is not None:
        parts.append(poses.scale.reshape(len(turn), -1))
    return JointPose(turn, np.concatenate(parts, axis=1))


def _find_gaps(one: JointPose, other: JointPose, sizes: Array) -> Array:
    """Return the largest angle or displacement between poses, radians or shares of sizes, (b,)."""
    between = rotation.multiply(rotation.conjugate(one.turn), other.turn)
    angles = 2.0 * np.linalg.norm(between[..., 1:], axis=-1)
    displacements = np.abs(one.way - other.way) / sizes
    return np.concatenate((angles, displacements), axis=1).max(axis=1)
