"""Chains that ease toward their targets: how far they go in the time that has passed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...core import Status
from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Flags
from ...core.model.status import BLENDED, STATUSES
from ..frames.chain_frames import ChainFrames
from ..frames.chain_joints import ChainJoints
from ..frames.chain_poses import ChainPoses
from ..reading.moment import Moment
from ..reading.rows import take_rows
from ..reading.spec import ChainSpec, Easing
from .easing import Stance, eased
from .free_solving import SolvedPoses
from .history import Memento

# Nearer than this, in radians and in lengths of the chain, a bone has arrived and stands still.
ARRIVED = 1e-9
# Nearer than this nobody sees it move: where the pose falls short of the target, that is said.
NEARLY = 1e-3
REACHED = STATUSES.index(Status.REACHED)


class Step(NamedTuple):
    """One chain on its way through time.

    Attributes:
        seconds: Since it stood as it remembers; zero or more.
        inputs: What the solve depends on besides the chain.
        spec: Its settings.
        now: How it stood; None to stand in the start pose.
        before: What it aimed at then; None for what it aims at now.
    """

    seconds: float
    inputs: bytes
    spec: ChainSpec
    now: Stance | None = None
    before: Stance | None = None


class Eased(NamedTuple):
    """What a chain that eases remembers of one moment: what a step has led to.

    Attributes:
        now: How it stood.
        wanted: How it aimed to stand.
        start: How it started from.
        inputs: As in ``Step``.
        spec: Its settings.
    """

    now: Stance
    wanted: Stance
    start: Stance
    inputs: bytes
    spec: ChainSpec


def next_step(last: Memento[Eased] | None, spec: ChainSpec, moment: Moment, inputs: bytes) -> Step:
    """Return the step that a chain makes at a moment.

    While time stands still and something that it follows is dragged, each update counts as one
    frame. Where nothing has changed no time passes.

    Args:
        last: What the moment follows on; None to start again.
        spec: Its settings.
        moment: When.
        inputs: What the solve depends on besides.
    """
    if last is None:
        return Step(0.0, inputs, spec)
    was, frames = last.kept, moment.frame - last.frame
    if frames == 0.0:
        is_same = inputs == was.inputs and spec == was.spec
        return Step(0.0 if is_same else moment.seconds, inputs, spec, was.now, was.wanted)
    # What was dragged about at the first frame is no part of the motion that begins there.
    now = was.start if last.frame == moment.first else was.now
    return Step(frames * moment.seconds, inputs, spec, now, was.wanted)


def step_poses(
    frames: ChainFrames,
    start: ChainPoses,
    found: SolvedPoses,
    joints: ChainJoints,
    easing: Easing,
    steps: Sequence[Step],
) -> tuple[SolvedPoses, list[Eased]]:
    """Return chains on their way to solved poses.

    Args:
        frames: What of the chains stays while their bones rotate.
        start: The poses that the solve started from.
        found: The solved poses.
        joints: Of the written bones.
        easing: How they go.
        steps: How far, one a chain.
    """
    # The start pose that the solve takes has grown already.
    ungrown = start if frames.stretch is None else frames.posed(start.rotations)
    begun, wanted = _stance(frames, ungrown, joints), _stance(frames, found.poses, joints)
    now = _stacked([step.now for step in steps], begun)
    before = _stacked([step.before for step in steps], wanted)
    slid = 0 if frames.slide is None else frames.scale.shape[1]
    is_slide = np.arange(wanted.way.shape[1]) < slid
    sizes = np.where(is_slide, frames.lengths(start), 1.0)
    stands = _ease(now, before, wanted, sizes, easing, steps, joints)
    apart = _measure_gaps(stands, wanted, sizes)
    has_arrived = apart <= ARRIVED
    there = np.flatnonzero(has_arrived)
    stands = stands.put(there, wanted.take(there))
    stepped = [
        Eased(*take_rows((stands, wanted, begun), np.array([row])), step.inputs, step.spec)
        for row, step in enumerate(steps)
    ]
    posed = frames.posed(
        rotation.matrix_from_quaternion(joints.local_of(stands.turn)),
        None if frames.stretch is None else stands.way[:, slid:].reshape(len(steps), -1, 3),
        stands.way[:, :slid] if slid else None,
    )
    codes, left = found.solutions.status_code, ~has_arrived
    # What holds the pose that a chain goes to says nothing of where it is.
    is_on_its_way = left & ((apart > NEARLY) | (codes == REACHED))
    solutions = replace(
        found.solutions,
        status_code=np.where(is_on_its_way, BLENDED, codes),
        holds=_clear(found.solutions.holds, is_on_its_way),
        slide_holds=_clear(found.solutions.slide_holds, is_on_its_way),
    )
    gaps = np.where(is_on_its_way, 0.0, found.tip_gaps)
    rows = np.flatnonzero(left)
    return SolvedPoses(solutions, found.poses.put(rows, posed.take(rows)), gaps), stepped


def _ease(
    now: Stance,
    before: Stance,
    wanted: Stance,
    sizes: Array,
    easing: Easing,
    steps: Sequence[Step],
    joints: ChainJoints,
) -> Stance:
    """Return how chains stand after their steps; those of the same time go together."""
    seconds, found = np.array([step.seconds for step in steps]), now
    for each in np.unique(seconds).tolist():
        rows = np.flatnonzero(seconds == each)
        some, own = take_rows((now, before, wanted, sizes), rows), joints.take(rows)
        found = found.put(rows, eased(*some, easing, each, own.clamped_turns))
    return found


def _stacked(each: Sequence[Stance | None], otherwise: Stance) -> Stance:
    """Return stances side by side; of none, or of other bones, a row of another one instead."""
    turn, way = otherwise.turn.copy(), otherwise.way.copy()
    for row, own in enumerate(each):
        if own is None:
            continue
        # Bones that slide now, or grow, did not then.
        if (own.turn.shape[1:], own.way.shape[1:]) == (turn.shape[1:], way.shape[1:]):
            turn[row], way[row] = own.turn[0], own.way[0]
    return Stance(turn, way)


def _clear(flags: Flags | None, rows: Flags) -> Flags | None:
    if flags is None:
        return None
    return flags & ~rows.reshape(-1, *(1,) * (flags.ndim - 1))


def _stance(frames: ChainFrames, poses: ChainPoses, joints: ChainJoints) -> Stance:
    """Return how chains stand: their turns; their slides and scales, if any."""
    turn = joints.turns_of(rotation.quaternion_from_matrix(poses.rotations))
    ways = [np.empty((len(turn), 0))]
    if frames.slide is not None and poses.slides is not None:
        ways.append(poses.slides)
    if frames.stretch is not None:
        ways.append(poses.scale.reshape(len(turn), -1))
    return Stance(turn, np.concatenate(ways, axis=1))


def _measure_gaps(one: Stance, other: Stance, sizes: Array) -> Array:
    """Return how far stances are apart: largest angles or ways, in radians and in sizes, (b,)."""
    between = rotation.multiply(rotation.conjugate(one.turn), other.turn)
    angles = 2.0 * np.linalg.norm(between[..., 1:], axis=-1)
    ways = np.abs(one.way - other.way) / sizes
    return np.concatenate((angles, ways), axis=1).max(axis=1)
