"""Drag one chain on a pose by its tip or its root, and tell its rotation and location channels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import bpy
import numpy as np
import numpy.typing as npt

from ..core import Chains, Goals, Lead, SolveOptions, Solver, Status, solve_batch
from . import spaces
from .animation import driven_paths
from .chain_frames import ChainFrames
from .chain_poses import ChainPoses, part_way
from .channels import Pose, channels_of, matrices_of, with_locks
from .checks import check_shape
from .errors import RigError, no_length
from .framing import Hung, framed
from .limb import SHORTEST_SEGMENT
from .outcome import Outcome
from .plan import ChainPlan
from .skeleton import Skeleton
from .slide import head_at, is_connected
from .spec import ChainSpec
from .targets import Target

Array = npt.NDArray[np.float64]

# Farther from the origin, in lengths of the chain, float32 no longer tells its joints apart.
MOST_LENGTHS = 1e7
TOO_FAR = "The chain or its target is too far away to drag it there: bring them nearer."
# Below a parent that is flatter than this, float32 does not tell where a head is.
FLAT = 1e-4


@dataclass(frozen=True)
class FreePose:
    """The channels of a chain whose root is free: k rotations, and where the root is.

    Attributes:
        channels: Rotation channels of the written bones, shape (k, 4).
        location: Location channels of the first of them, shape (3,).
    """

    channels: Array
    location: Array


@dataclass(frozen=True)
class Dragged:
    """What dragging a chain led to.

    Attributes:
        outcome: With influence.
        rotations: Local rotations without, shape (k, 3, 3): the chain goes on from these.
        location: Of the root, without influence, shape (3,).
    """

    outcome: Outcome
    rotations: Array
    location: Array


class Stand(NamedTuple):
    """What a dragged chain remembers of one moment.

    Attributes:
        rotations: Local rotations without influence, shape (k, 3, 3).
        location: Of the root, without influence, shape (3,).
        channels: Rotation channels as they were written, shape (k, 4).
        written_location: Location channels of the root as they were written, shape (3,).
    """

    rotations: Array
    location: Array
    channels: npt.NDArray[np.float32]
    written_location: npt.NDArray[np.float32]


def check_dragged(armature_object: bpy.types.Object, skeleton: Skeleton, plan: ChainPlan) -> None:
    """Raise if the root of a chain cannot be moved.

    Raises:
        RigError: With one sentence that says what to do next.
    """
    root = plan.written[:1]
    name = skeleton.names[root[0]]
    if is_connected(skeleton, root)[0]:
        raise RigError(
            f"Bone '{name}' is connected to its parent, so it cannot be dragged:"
            " clear Connected in edit mode, or choose another solver."
        )
    if armature_object.pose.bones[name].lock_location[:] != (False, False, False):
        raise RigError(
            f"The location of bone '{name}' is locked, so it cannot be dragged: unlock it."
        )
    if (name, "location") in driven_paths(armature_object):
        raise RigError(
            f"Bone '{name}' has a driver on its location, which always wins:"
            " remove the driver, or choose another solver."
        )


def is_too_far(joints: Array, root: Array, target: Array) -> npt.NDArray[np.bool_]:
    """Tell which chains are so far from their space's origin that they lose their shape there.

    Args:
        joints: Of the chains, near the origin, shape (..., m + 1, 3).
        root: Where they start from, shape (..., 3).
        target: Where they are to be, shape (..., 3).
    """
    length = np.linalg.norm(np.diff(joints, axis=-2), axis=-1).sum(axis=-1)
    farthest = np.maximum(np.linalg.norm(root, axis=-1), np.linalg.norm(target, axis=-1))
    found: npt.NDArray[np.bool_] = farthest > MOST_LENGTHS * length
    return found


def whole_way(
    present: FreePose, home: FreePose, modes: npt.NDArray[np.int32], influence: float
) -> tuple[Array, Array]:
    """Return the rotations and the location that a pose is the share of that influence makes it.

    Args:
        present: What stands there.
        home: The pose without the chain.
        modes: Rotation modes, shape (k,).
        influence: From 0 to 1.
    """
    rotations, zero = matrices_of(present.channels, modes), matrices_of(home.channels, modes)
    if influence == 0.0:
        return zero, home.location
    location: Array = home.location + (present.location - home.location) / influence
    return part_way(zero, rotations, 1.0 / influence), location


def drag(
    skeleton: Skeleton,
    pose: Pose,
    plan: ChainPlan,
    spec: ChainSpec,
    target: Target,
    rotations: Array,
    location: Array,
    near: Array,
    home: FreePose,
) -> Dragged:
    """Return what brings the led end of a chain to its target, straight from where it is.

    Bones swing by the shortest rotations; their own joints, poles and rolls of targets are for
    chains whose root stays. Where locks or uneven scales keep bones from lying as they shall, the
    root is put so that the led end is at the target all the same.

    Args:
        skeleton: The armature's bones.
        pose: The present pose; the bones above the chain stand where they shall.
        plan: The chain's bones.
        spec: The chain's settings.
        target: What to follow.
        rotations: Local rotations to start from, shape (k, 3, 3).
        location: Location of the root to start from, shape (3,).
        near: Rotation channels to stay near, and that locked ones hold, shape (k, 4).
        home: The pose without the chain.

    Raises:
        IKError: If chain or target cannot be used; the text says what to do next.
    """
    check_shape(pose.world)
    root, lead = int(plan.written[0]), spec.options.lead
    frames = _at(framed([Hung(skeleton, pose, plan)]), skeleton, pose, root, location)
    start = frames.posed(rotations[None])
    _check_segments(skeleton, plan, start)
    _check_parent(skeleton, pose, root)
    goal = spaces.transform_point(np.linalg.inv(pose.world), target.matrix[:3, 3])
    if is_too_far(start.joints[0], start.joints[0, 0], goal):
        raise RigError(TOO_FAR)
    options = SolveOptions(solver=Solver.FOLLOW, lead=lead, max_bend=spec.options.max_bend)
    solutions = solve_batch(Chains(start.joints), Goals(goal[None]), options)
    there, held = frames.laid_along(start, solutions, None, 0.0), None
    if pose.locks[plan.written].any():
        held = _locked_channels(there.rotations[0], near, pose, plan)
        there = frames.posed(matrices_of(held, pose.modes[plan.written])[None])
    head = frames.root[0] + goal - _led(there, lead)
    end = _location_of(skeleton, pose, root, head)
    outcome = _part(skeleton, pose, plan, spec, target, frames, there, held, end, near, home)
    return Dragged(outcome, there.rotations[0], end)


def _check_segments(skeleton: Skeleton, plan: ChainPlan, start: ChainPoses) -> None:
    """Raise if a bone has no length."""
    lengths = np.linalg.norm(np.diff(start.joints[0], axis=0), axis=1)
    short = np.flatnonzero(lengths <= SHORTEST_SEGMENT * lengths.sum())
    if short.size:
        raise no_length(skeleton.names[plan.segments[short[0]]])


def _locked_channels(rotations: Array, near: Array, pose: Pose, plan: ChainPlan) -> Array:
    """Return the channels of local rotations (k, 3, 3) with locked ones held."""
    modes, locks = pose.modes[plan.written], pose.locks[plan.written]
    free = channels_of(rotations, modes, near)
    return with_locks(free, modes, near, locks, pose.uses_4d_locks[plan.written])


def _check_parent(skeleton: Skeleton, pose: Pose, root: int) -> None:
    """Raise if no location brings the head of a bone everywhere, as its parent is flat."""
    parent = int(skeleton.parents[root])
    if parent < 0:
        return
    sizes = np.linalg.svd(pose.matrices[parent][:3, :3], compute_uv=False)
    if sizes[-1] <= FLAT * sizes[0]:
        raise RigError(
            f"Bone '{skeleton.names[parent]}' is scaled flat, so nothing below it can be dragged:"
            " give it a scale above zero."
        )


def _part(
    skeleton: Skeleton,
    pose: Pose,
    plan: ChainPlan,
    spec: ChainSpec,
    target: Target,
    frames: ChainFrames,
    there: ChainPoses,
    held: Array | None,
    end: Array,
    near: Array,
    home: FreePose,
) -> Outcome:
    """Return the share that influence takes of a pose, and of the location (3,) of its root.

    ``held`` are the channels of the pose where some are locked. Locks of quaternions hold Euler
    angles, of which there are two sets for one rotation: locked again it might become another one.
    """
    root, modes, influence = int(plan.written[0]), pose.modes[plan.written], spec.influence
    channels = held
    if channels is None or influence < 1.0:
        share = part_way(matrices_of(home.channels, modes), there.rotations[0], influence)
        channels = _locked_channels(share, near, pose, plan)
    stands = home.location + influence * (end - home.location)
    shown = _at(frames, skeleton, pose, root, stands)
    led = _led(there, spec.options.lead) + shown.root[0] - frames.root[0]
    if influence < 1.0:
        led = _led(shown.posed(matrices_of(channels, modes)[None]), spec.options.lead)
    led = spaces.transform_point(pose.world, led)
    residual = float(np.linalg.norm(led - target.matrix[:3, 3]))
    others = pose.location[plan.written]
    others[0] = stands
    status = _status(residual, spec)
    return Outcome(channels, status, residual, 0, has_locks=False, others={"location": others})


def _status(residual: float, spec: ChainSpec) -> Status:
    # What is left without influence is what float64 makes of large coordinates.
    is_there = residual <= spec.options.tolerance or spec.influence == 1.0
    return Status.REACHED if is_there else Status.BLENDED


def _led(pose: ChainPoses, lead: Lead) -> Array:
    led: Array = pose.joints[0, -1 if lead is Lead.TIP else 0]
    return led


def _at(
    frames: ChainFrames, skeleton: Skeleton, pose: Pose, root: int, location: Array
) -> ChainFrames:
    """Return a chain whose root stands where its location channels put it."""
    return replace(frames, root=head_at(skeleton, pose, root, location)[None])


def _location_of(skeleton: Skeleton, pose: Pose, root: int, head: Array) -> Array:
    """Return the location channels that put the head of a bone somewhere, armature space, (3,)."""
    parent = int(skeleton.parents[root])
    if parent >= 0:
        above = pose.matrices[parent]
        head = np.linalg.pinv(above[:3, :3]) @ (head - above[:3, 3])
    return spaces.location_of_head(skeleton.offsets[root], head, skeleton.use_local_location[root])
