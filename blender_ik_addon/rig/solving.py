"""Solve one chain on a pose: joints to the core, and back to rotation channels."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..core import Forces, Goal, InvalidChainError, SolveOptions, Status
from ..core.algebra import rotation
from . import spaces
from .chain_pose import ChainFrame, ChainPose, framed, part_way
from .channels import Pose, channels_of, matrices_of, with_locks
from .checks import check_shape
from .forces import acting_forces
from .free_solving import LENGTHS_AGREE, solved_freely
from .gradual import Step, Stepped, stepped_pose
from .jointed_solving import JointedPose, in_ranges, solved_with_joints
from .joints import BoneJoints
from .outcome import Outcome
from .plan import ChainPlan
from .reasons import Reasons, reasons_of, turns_tip_first
from .side import flips
from .skeleton import Skeleton
from .slide import ChainSlide
from .spec import ChainSpec, NegativeScale, StartFrom
from .stretch import ChainStretch
from .targets import Target

Array = npt.NDArray[np.float64]

SHORTEST_SEGMENT = 1e-9


def solve_chain(
    skeleton: Skeleton,
    pose: Pose,
    plan: ChainPlan,
    spec: ChainSpec,
    target: Target,
    start: Array,
    stored: Array,
    joints: BoneJoints | None,
    stretch: ChainStretch | None = None,
    slide: ChainSlide | None = None,
    step: Step | None = None,
) -> Outcome:
    """Return the channels that bring a chain to its target.

    Args:
        skeleton: The armature's bones.
        pose: The present pose; the bones above the chain stand where they shall.
        plan: The chain's bones.
        spec: The chain's settings.
        target: What to follow.
        start: Rotation channels of the written bones to start from, shape (k, 4).
        stored: Their stored pose, shape (k, 4).
        joints: Of the written bones; None where all turn freely.
        stretch: How far they may grow; None where none is to.
        slide: How far they may slide; None where none is to.
        step: How far to go to the solution; None to be there at once. Needs joints.

    Raises:
        IKError: If chain, goal or solver do not fit; the text says what to do next.
    """
    modes = pose.modes[plan.written]
    frame = framed(skeleton, pose, plan, stretch, slide)
    zero = matrices_of(stored, modes)
    asked = _asked(skeleton, pose, plan, spec, target, frame, matrices_of(start, modes), zero)
    forces = acting_forces(spec, joints, asked.start, zero, pose.world)
    found, stepped = _found(frame, asked, joints, forces, step)
    rotations, scale, slides = _blended(zero, found.pose, frame, joints, spec.influence)
    # Channels stay near those that the chain starts from, or from its zero where that is the rest.
    near = start if spec.start_from is StartFrom.CURRENT else stored
    channels, has_locks = locked_channels(rotations, near, pose, plan)
    solved = found.pose
    if has_locks or spec.influence < 1.0:
        solved = frame.posed(matrices_of(channels, modes), scale, slides)
    residual, reach = _measured(pose, target, solved)
    return Outcome(
        channels,
        _status(found.solution.status, residual - LENGTHS_AGREE * reach, spec),
        residual,
        found.solution.iterations,
        has_locks,
        held_by=holding(skeleton, plan, found.solution.holds, found.solution.slide_holds),
        tip_gap=found.tip_gap,
        why=_reasons(plan, spec, joints, found),
        others=_others(stretch, scale, slide, slides),
        lacks_stretch=stretch is not None and not stretch.may_grow,
        connected=() if slide is None else slide.connected,
        location_locked=() if slide is None else slide.locked,
        stepped=stepped,
    )


def locked_channels(
    rotations: Array, near: Array, pose: Pose, plan: ChainPlan
) -> tuple[Array, bool]:
    """Return the channels of a chain with locked ones held, and whether any were held.

    Args:
        rotations: Local rotations of the written bones, shape (k, 3, 3).
        near: Channels to stay near, and that locked ones hold, shape (k, 4).
        pose: Tells modes and locks.
        plan: The chain's bones.
    """
    modes = pose.modes[plan.written]
    locks, uses_4d_locks = pose.locks[plan.written], pose.uses_4d_locks[plan.written]
    free = channels_of(rotations, modes, near)
    channels = with_locks(free, modes, near, locks, uses_4d_locks)
    return channels, bool(locks.any()) and not np.allclose(channels, free, atol=1e-6)


def _blended(
    zero: Array, pose: ChainPose, frame: ChainFrame, joints: BoneJoints | None, influence: float
) -> tuple[Array, Array, Array | None]:
    """Return rotations (k, 3, 3), scales (k, 3) and slides (k,) a share of the way to a pose."""
    rotations = part_way(zero, pose.rotations, influence)
    scale = frame.scale + influence * (pose.scale - frame.scale)
    slides = None
    if frame.slide is not None and pose.slides is not None:
        slides = frame.slide.within(influence * pose.slides)
    if joints is not None and influence < 1.0:
        rotations = in_ranges(rotations, joints)
    return rotations, scale, slides


def _others(
    stretch: ChainStretch | None, scale: Array, slide: ChainSlide | None, slides: Array | None
) -> dict[str, Array]:
    """Return the channels besides rotations that a chain writes, by property name."""
    others = {} if stretch is None else {"scale": scale}
    if slide is not None and slides is not None:
        others["location"] = slide.location(slides)
    return others


class _Asked(NamedTuple):
    """What is asked of a chain, in armature space.

    ``lengths`` are those that segments have grown to in the start pose; None without growth.
    """

    start: ChainPose
    goal: Goal
    options: SolveOptions
    tip_turn: Array | None
    lengths: Array | None


def _asked(
    skeleton: Skeleton,
    pose: Pose,
    plan: ChainPlan,
    spec: ChainSpec,
    target: Target,
    frame: ChainFrame,
    start: Array,
    zero: Array,
) -> _Asked:
    """Return what is asked of a chain that starts from local rotations (k, 3, 3).

    ``zero`` are those of the stored pose, of the same shape.
    """
    check_shape(pose.world)
    slides = _start_slides(pose, plan, spec, frame)
    start_pose = frame.posed(_start_rotations(start, zero, spec), slides=slides)
    check_segments(skeleton, pose, plan, start_pose)
    use_flip = flips(spec, target, frame, start_pose, frame.posed(zero))
    options = _options(spec, pose.world[:3, :3], use_flip=use_flip)
    tip_turn = _tip_turn(pose, spec, target, start_pose)
    goal = _goal(pose, plan, spec, target, tip_turn)
    lengths = None
    if frame.stretch is not None:
        lengths = frame.stretch.grown(start_pose.joints, frame.along(), goal, options)
    if lengths is not None:
        start_pose = frame.stretched(start_pose.rotations, lengths)
        tip_turn = _tip_turn(pose, spec, target, start_pose)
        goal = _goal(pose, plan, spec, target, tip_turn)
        # What the bones grow by has the soft distance in it.
        options = replace(options, soft_distance=0.0)
    return _Asked(start_pose, goal, options, tip_turn, lengths)


def _found(
    frame: ChainFrame,
    asked: _Asked,
    joints: BoneJoints | None,
    forces: Forces | None,
    step: Step | None,
) -> tuple[JointedPose, Stepped | None]:
    """Return the solved pose, or how far a step leads to it."""
    start, goal, options, tip_turn, lengths = asked
    if joints is not None:
        found = None if step is None else step.found
        if found is None:
            found = solved_with_joints(
                frame, start, goal, options, tip_turn, joints, lengths, forces
            )
        return (found, None) if step is None else stepped_pose(frame, start, found, joints, step)
    solution, solved = solved_freely(
        frame, start, goal, options, tip_turn, is_stretched=lengths is not None
    )
    return JointedPose(solution, solved, tip_gap=0.0), None


def _measured(pose: Pose, target: Target, solved: ChainPose) -> tuple[float, float]:
    """Return the distance from effector to target and the chain's length, in scene units."""
    effector = spaces.transform_point(pose.world, solved.joints[-1])
    residual = float(np.linalg.norm(effector - target.matrix[:3, 3]))
    segments = np.diff(solved.joints, axis=0) @ pose.world[:3, :3].T
    return residual, float(np.linalg.norm(segments, axis=1).sum())


def _reasons(
    plan: ChainPlan, spec: ChainSpec, joints: BoneJoints | None, found: JointedPose
) -> Reasons:
    return reasons_of(
        spec.options,
        joints,
        found.pose.rotations,
        len(plan.segments),
        found.tip_gap,
        is_tip_beyond=not plan.ends_at_tail,
        turns_tip_first=turns_tip_first(spec),
    )


def holding(
    skeleton: Skeleton,
    plan: ChainPlan,
    holds: npt.NDArray[np.bool_] | None,
    slide_holds: npt.NDArray[np.bool_] | None = None,
) -> tuple[str, ...]:
    """Return the bones and axes whose limits hold a chain back, in words, root first.

    Args:
        skeleton: The armature's bones.
        plan: The chain's bones.
        holds: Of the segments about X, Y and Z, shape (m, 3); None for none.
        slide_holds: Of their slides, shape (m,); None for none.
    """
    if holds is None:
        return ()
    if slide_holds is not None:
        holds = np.column_stack((holds, slide_holds))
    words = ("X", "Y", "Z", "slide")
    return tuple(
        f"{skeleton.names[plan.segments[bone]]} {words[axis]}"
        for bone, axis in np.argwhere(holds).tolist()
    )


def _start_rotations(start: Array, zero: Array, spec: ChainSpec) -> Array:
    """Return the local rotations to start from, shape (k, 3, 3).

    What stands there now is, of a chain with influence, a share of its last solution. The solve
    goes on from the whole of it; from the share it would creep at every update.
    """
    influence = spec.influence
    if spec.start_from is not StartFrom.CURRENT or influence == 1.0:
        return start
    return zero if influence == 0.0 else part_way(zero, start, 1.0 / influence)


def _start_slides(pose: Pose, plan: ChainPlan, spec: ChainSpec, frame: ChainFrame) -> Array | None:
    """Return the slides to start from, shape (k,); None where nothing slides.

    As for rotations, what stands there with influence is a share of the last solution.
    """
    if frame.slide is None:
        return None
    influence = spec.influence
    if spec.start_from is not StartFrom.CURRENT or influence == 0.0:
        return np.zeros(len(frame.frames))
    return frame.slide.within(frame.slide.slides_at(pose.location[plan.written]) / influence)


def _status(of_core: Status, residual: float, spec: ChainSpec) -> Status:
    """Return how the solve ended on the bones themselves.

    Args:
        of_core: How it ended on the joints.
        residual: Less what float32 parents make of a solve that has arrived.
        spec: With the tolerance in scene units, and the influence.
    """
    if residual <= spec.options.tolerance:
        return Status.REACHED
    if spec.influence < 1.0:
        return Status.BLENDED
    return Status.ITERATIONS_USED_UP if of_core is Status.REACHED else of_core


def check_segments(skeleton: Skeleton, pose: Pose, plan: ChainPlan, start: ChainPose) -> None:
    """Raise if a start pose has a bone without length.

    Raises:
        IKError: With the name of the bone, and what to do next.
    """
    lengths = np.linalg.norm(np.diff(start.joints, axis=0), axis=1)
    short = np.flatnonzero(lengths <= SHORTEST_SEGMENT * lengths.sum())
    if short.size:
        name = skeleton.names[plan.segments[short[0]]]
        raise InvalidChainError(
            f"Bone '{name}' has no length to turn:"
            " check its scale and location, or leave it out of the chain."
        )


def _tip_turn(pose: Pose, spec: ChainSpec, target: Target, start: ChainPose) -> Array | None:
    """Return the turn of the tip bone to the target's orientation, armature space, (3, 3)."""
    if not spec.use_rotation or spec.options.orient_weight == 0.0:
        return None
    wanted = spaces.orientation(np.linalg.solve(pose.world[:3, :3], target.matrix[:3, :3]))
    turn: Array = wanted @ spaces.orientation(start.matrices[-1]).T
    return turn


def _goal(
    pose: Pose,
    plan: ChainPlan,
    spec: ChainSpec,
    target: Target,
    tip_turn: Array | None,
) -> Goal:
    to_armature = np.linalg.inv(pose.world)
    angle = spec.pole_angle
    if spec.negative_scale is NegativeScale.KEEP and target.unmirrored is not None:
        angle = -angle
    pole = target.pole
    tip_rotation = None
    if tip_turn is not None and plan.ends_at_tail:
        tip_rotation = rotation.quaternion_from_matrix(tip_turn)
    return Goal(
        target_position=spaces.transform_point(to_armature, target.matrix[:3, 3]),
        pole_position=None if pole is None else spaces.transform_point(to_armature, pole),
        pole_angle=angle,
        tip_rotation_wxyz=tip_rotation,
    )


def _options(spec: ChainSpec, world: Array, *, use_flip: bool) -> SolveOptions:
    """Return the options in armature space; distances that hold in every direction.

    The chain's own zero is the stored pose, not the start: influence is applied afterwards.
    """
    largest = float(np.linalg.svd(world, compute_uv=False)[0])
    return replace(
        spec.options,
        tolerance=spec.options.tolerance / largest,
        soft_distance=spec.options.soft_distance / largest,
        use_flip_bend=use_flip,
    )
