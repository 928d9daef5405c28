"""Chains that ease toward their targets: how far they go in the time that has passed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...core import Status
from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Flags, Indices
from ...core.model.status import BLENDED, STATUSES
from ..frames.chain_frames import ChainFrames
from ..frames.chain_joints import ChainJoints
from ..frames.chain_poses import ChainPoses
from ..reading.moment import Moment
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
        now: How it stood; None to stand in the start pose.
        before: What it aimed at then; None for what it aims at now.
    """

    seconds: float
    now: Stance | None
    before: Stance | None


class Stepped(NamedTuple):
    """What a step has led one chain to.

    Attributes:
        now: How it stands.
        wanted: How it aims to stand.
        start: How it starts from.
    """

    now: Stance
    wanted: Stance
    start: Stance


class Eased(NamedTuple):
    """What a chain that eases remembers of one moment.

    Attributes:
        inputs: What the solve depended on.
        spec: Its settings.
        stepped: Where it stood, and where it was going.
    """

    inputs: bytes
    spec: ChainSpec
    stepped: Stepped


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
        return Step(0.0, None, None)
    was, frames = last.kept, moment.frame - last.frame
    if frames == 0.0:
        is_same = inputs == was.inputs and spec == was.spec
        return Step(0.0 if is_same else moment.seconds, was.stepped.now, was.stepped.wanted)
    # What was dragged about at the first frame is no part of the motion that begins there.
    now = was.stepped.start if last.frame == moment.first else was.stepped.now
    return Step(frames * moment.seconds, now, was.stepped.wanted)


def step_poses(
    frames: ChainFrames,
    start: ChainPoses,
    found: SolvedPoses,
    joints: ChainJoints,
    easing: Easing,
    steps: Sequence[Step],
) -> tuple[SolvedPoses, list[Stepped]]:
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
    pairs = [(step.now, step.before) for step in steps]
    now = _stacked([each for each, _ in pairs], begun)
    before = _stacked([each for _, each in pairs], wanted)
    slid = 0 if frames.slide is None else frames.scale.shape[1]
    is_slide = np.arange(len(wanted.way))[:, None] < slid
    sizes = np.where(is_slide, frames.lengths(start)[:, 0], 1.0)
    stands = _ease(now, before, wanted, sizes, easing, steps, joints)
    apart = _measure_gaps(stands, wanted, sizes)
    has_arrived = apart <= ARRIVED
    stands = Stance(*(np.where(has_arrived, b, a) for a, b in zip(stands, wanted, strict=True)))
    stepped = [
        Stepped(_alone(stands, row), _alone(wanted, row), _alone(begun, row))
        for row in range(len(steps))
    ]
    local = joints.local_of(np.moveaxis(stands.turn, -1, 0))
    ways, count = stands.way.T, len(steps)
    posed = frames.posed(
        rotation.matrix_from_quaternion(local),
        None if frames.stretch is None else ways[:, slid:].reshape(count, -1, 3),
        ways[:, :slid] if slid else None,
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
    seconds = np.array([step.seconds for step in steps])
    turn, way = now.turn.copy(), now.way.copy()
    for each in np.unique(seconds).tolist():
        rows = np.flatnonzero(seconds == each)
        own, some = joints.take(rows), [_take(stance, rows) for stance in (now, before, wanted)]

        def clamped(turns: Array, own: ChainJoints = own) -> Array:
            return np.moveaxis(own.clamped_turns(np.moveaxis(turns, -1, 0)), 0, -1)

        stands = eased(some[0], some[1], some[2], sizes[:, rows], easing, each, clamped)
        turn[..., rows], way[..., rows] = stands
    return Stance(turn, way)


def _take(stance: Stance, rows: Indices) -> Stance:
    return Stance(stance.turn[..., rows], stance.way[..., rows])


def _alone(stance: Stance, row: int) -> Stance:
    return Stance(stance.turn[..., [row]], stance.way[..., [row]])


def _stacked(each: Sequence[Stance | None], otherwise: Stance) -> Stance:
    """Return stances side by side; of none, or of other bones, a row of another one instead."""
    rows = [
        _alone(otherwise, row)
        if own is None
        or own.turn.shape[:2] != otherwise.turn.shape[:2]
        # Bones that slide now, or grow, did not then.
        or len(own.way) != len(otherwise.way)
        else own
        for row, own in enumerate(each)
    ]
    return Stance(*(np.concatenate(parts, axis=-1) for parts in zip(*rows, strict=True)))


def _clear(flags: Flags | None, rows: Flags) -> Flags | None:
    if flags is None:
        return None
    cleared: Flags = flags & ~rows.reshape(-1, *(1,) * (flags.ndim - 1))
    return cleared


def _stance(frames: ChainFrames, poses: ChainPoses, joints: ChainJoints) -> Stance:
    """Return how chains stand: turns (k, 4, b); slides and scales, if any, (w, b)."""
    turn = joints.turns_of(rotation.quaternion_from_matrix(poses.rotations))
    ways = [np.empty((len(turn), 0))]
    if frames.slide is not None and poses.slides is not None:
        ways.append(poses.slides)
    if frames.stretch is not None:
        ways.append(poses.scale.reshape(len(turn), -1))
    return Stance(np.moveaxis(turn, 0, -1), np.concatenate(ways, axis=1).T)


def _measure_gaps(one: Stance, other: Stance, sizes: Array) -> Array:
    """Return how far stances are apart: largest angles or ways, in radians and in sizes, (b,)."""
    here, there = (np.moveaxis(each.turn, 1, -1) for each in (one, other))
    between = rotation.multiply(rotation.conjugate(here), there)
    angles = 2.0 * np.linalg.norm(between[..., 1:], axis=-1)
    ways = np.abs(one.way - other.way) / sizes
    largest: Array = np.concatenate((angles, ways)).max(axis=0)
    return largest
