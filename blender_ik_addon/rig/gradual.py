"""Chains that ease toward their targets: how far they go in the time that has passed."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..core import Status
from ..core.algebra import rotation
from ..core.equilibrium.easing import Easing, Stance, eased
from ..core.kinematics.joint_limits import clamp_rotations as clamped
from ..core.model.status import BLENDED
from .chain_pose import ChainFrame, ChainPose
from .history import Memento
from .jointed_solving import JointedPose
from .joints import BoneJoints
from .moment import Moment
from .spec import ChainSpec

Array = npt.NDArray[np.float64]
Inputs = tuple[bytes | None, ...]

# Nearer than this, in radians and in lengths of the chain, a bone has arrived and stands still.
ARRIVED = 1e-9
# Nearer than this nobody sees it move: where the pose falls short of the target, that is said.
NEARLY = 1e-3


class Step(NamedTuple):
    """A chain on its way through time.

    Attributes:
        easing: How it goes.
        seconds: Since it stood as it remembers; zero or more.
        now: How it stood; None to stand in the start pose.
        before: What it aimed at then; None for what it aims at now.
        found: The solved pose that it goes to, if that is known already.
    """

    easing: Easing
    seconds: float
    now: Stance | None
    before: Stance | None
    found: JointedPose | None = None


class Stepped(NamedTuple):
    """What a step has led to.

    Attributes:
        now: Where the chain stands.
        wanted: Where it aims.
        start: Where it starts from.
        found: The solved pose that it goes to.
    """

    now: Stance
    wanted: Stance
    start: Stance
    found: JointedPose


class Eased(NamedTuple):
    """What a chain that eases remembers of one moment.

    Attributes:
        inputs: What the solve depended on.
        spec: Its settings.
        stepped: Where it stood, and where it was going.
    """

    inputs: Inputs
    spec: ChainSpec
    stepped: Stepped


def easing_of(spec: ChainSpec) -> Easing | None:
    """Return how a chain eases; None if it is at its target at once."""
    return None if spec.force is None else spec.force.easing


def next_step(
    last: Memento[Eased] | None, easing: Easing, spec: ChainSpec, moment: Moment, inputs: Inputs
) -> Step:
    """Return the step that a chain makes at a moment.

    While time stands still and something that it follows is dragged, each update counts as one
    frame. Where nothing has changed no time passes.

    Args:
        last: What the moment follows on; None to start again.
        easing: How the chain goes.
        spec: Its settings.
        moment: When.
        inputs: What the solve depends on besides.
    """
    if last is None:
        return Step(easing, 0.0, None, None)
    was, frames = last.kept, moment.frame - last.frame
    if frames == 0.0:
        is_same = inputs == was.inputs and spec == was.spec
        seconds = 0.0 if is_same else moment.seconds
        return Step(easing, seconds, was.stepped.now, was.stepped.wanted)
    # What was dragged about at the first frame is no part of the motion that begins there.
    now = was.stepped.start if last.frame == moment.first else was.stepped.now
    return Step(easing, frames * moment.seconds, now, was.stepped.wanted)


def stepped_pose(
    frame: ChainFrame, start: ChainPose, found: JointedPose, joints: BoneJoints, step: Step
) -> tuple[JointedPose, Stepped]:
    """Return a chain on its way to a solved pose.

    Args:
        frame: What of the chain stays while its bones rotate.
        start: The pose that the solve started from.
        found: The solved pose.
        joints: Of the written bones.
        step: How far to go.
    """
    reach = float(np.linalg.norm(np.diff(start.joints, axis=0), axis=1).sum())
    # The start pose that the solve takes has grown already.
    ungrown = start if frame.stretch is None else frame.posed(start.rotations)
    begun, wanted = _stance(frame, ungrown, joints), _stance(frame, found.pose, joints)
    now = begun if step.now is None or _differ(step.now, wanted) else step.now
    before = wanted if step.before is None or _differ(step.before, wanted) else step.before
    slid = 0 if frame.slide is None else len(frame.frames)
    sizes = np.where(np.arange(len(wanted.way)) < slid, reach, 1.0)[:, None]
    stands = eased(
        now, before, wanted, sizes, step.easing, step.seconds, functools.partial(_clamped, joints)
    )
    stepped = Stepped(stands, wanted, begun, found)
    apart = _apart(stands, wanted, sizes)
    if apart <= ARRIVED:
        return found, stepped._replace(now=wanted)
    ways = stands.way[:, 0]
    local = joints.local_of(stands.turn[..., 0])
    pose = frame.posed(
        rotation.matrix_from_quaternion(local),
        None if frame.stretch is None else ways[slid:].reshape(-1, 3),
        ways[:slid] if slid else None,
    )
    if apart <= NEARLY and found.solution.status is not Status.REACHED:
        return JointedPose(found.solution, pose, found.tip_gap), stepped
    # What holds the pose that it goes to says nothing of where it is.
    solution = replace(found.solution, status_code=BLENDED, holds=None, slide_holds=None)
    return JointedPose(solution, pose, tip_gap=0.0), stepped


def _stance(frame: ChainFrame, pose: ChainPose, joints: BoneJoints) -> Stance:
    """Return how a chain of k bones stands: turns (k, 4, 1); slides and scales, if any, (w, 1)."""
    turn = joints.turns_of(rotation.quaternion_from_matrix(pose.rotations))
    ways = [np.empty(0)]
    if frame.slide is not None and pose.slides is not None:
        ways.append(pose.slides)
    if frame.stretch is not None:
        ways.append(pose.scale.ravel())
    return Stance(turn[..., None], np.concatenate(ways)[:, None])


def _differ(one: Stance, other: Stance) -> bool:
    """Tell whether stances are of different bones, or of bones that slide and others."""
    return one.turn.shape != other.turn.shape or one.way.shape != other.way.shape


def _clamped(joints: BoneJoints, turn: Array) -> Array:
    """Return turns (k, 4, 1) inside the ranges of the joints."""
    if joints.is_free:
        return turn
    held = clamped(joints.kinds, turn[..., 0], joints.low, joints.high)
    return held[..., None]


def _apart(one: Stance, other: Stance, sizes: Array) -> float:
    """Return how far stances are apart: the largest angle or way, in radians and in sizes."""
    between = rotation.multiply(rotation.conjugate(one.turn[..., 0]), other.turn[..., 0])
    angles = 2.0 * np.linalg.norm(between[:, 1:], axis=1)
    ways = np.abs(one.way - other.way) / sizes
    return float(np.max(np.concatenate((angles, ways.ravel()))))
