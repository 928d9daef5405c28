"""Solve a tree of chains on a pose: its frames to the core, local rotations back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..core import Chain, Goal, Joints, Solution, SolveOptions, Solver, Topology, solve
from ..core.algebra import rotation
from . import spaces
from .chain_frames import part_way
from .errors import RigError
from .jointed_solving import AGREES, FLAT
from .joints import BoneJoints
from .spec import ChainSpec, NegativeScale
from .targets import Target
from .tree_plan import free_joints_of
from .tree_pose import TreeFrame, TreePose
from .tree_rolls import limb_root, with_rolls_of_start

Array = npt.NDArray[np.float64]

# As for chains with limits, frames of bones that do not take the whole matrix of their parent are
# measured again on the solved pose. Under strongly sheared parents that gains a digit in a few.
FRAME_PASSES = 24


@dataclass(frozen=True)
class TreeStart:
    """A tree in its start pose; kept from solve to solve, for the core compiles it.

    Attributes:
        frame: What stays while its bones rotate.
        pose: The start pose.
        tree: The same for the core.
    """

    frame: TreeFrame
    pose: TreePose
    tree: Chain


@dataclass(frozen=True)
class SolvedTree:
    """A solved tree.

    Attributes:
        solution: From the last pass, of the bones that are solved together.
        pose: Of all bones.
        tip_gaps: Radians that are left to the wanted orientations of tips, shape (E,).
    """

    solution: Solution
    pose: TreePose
    tip_gaps: Array


def tree_start(frame: TreeFrame, rotations: Array) -> TreeStart:
    """Return the tree started from local rotations, shape (k, 3, 3)."""
    pose = frame.posed(rotations)
    return TreeStart(frame, pose, _core_tree(frame, pose))


def solved_tree(
    start: TreeStart, world: Array, targets: Sequence[Target | None], weights: Array
) -> SolvedTree:
    """Return the pose that brings the effectors to their targets.

    Args:
        start: The start pose.
        world: The armature's world matrix, shape (4, 4).
        targets: Of the chains, None for those that have none to follow now.
        weights: Of the effectors, shape (E,).

    Raises:
        IKError: If tree or goals do not fit; the text says what to do next.
    """
    frame, pose, tree = start.frame, start.pose, start.tree
    plan = frame.plan
    own = plan.joints or free_joints_of(len(plan.bones))
    options = _in_armature_space(plan.options, world)
    wanted = _orientations(frame, world, targets)
    goals = _goals(frame, start.pose, world, targets, weights)
    reach = float(np.max(frame.lengths(start.pose, np.eye(3))))
    for number in range(FRAME_PASSES):
        solution = solve(tree, _turned(goals, frame, pose, wanted), options)
        assert solution.local_rotations_wxyz is not None
        rotations = pose.rotations.copy()
        local = own.take(slice(plan.count)).local_of(solution.local_rotations_wxyz)
        rotations[: plan.count] = rotation.matrix_from_quaternion(local)
        pose = frame.posed(rotations)
        points = np.concatenate((pose.heads[: plan.count], pose.effectors))
        if np.abs(points - solution.joint_positions).max() <= AGREES * reach:
            break
        if number == 0:
            options = replace(options, solver=Solver.NEWTON)
        tree = _core_tree(frame, pose)
    if plan.joints is None:
        pose = _rolled(start, pose, targets, wanted, AGREES * reach)
    tip_gaps = np.array(solution.tip_gap)
    for chain, matrix in enumerate(wanted):
        if matrix is not None and plan.turns_afterwards(chain):
            pose, tip_gaps[chain] = _with_tip(frame, start.pose, pose, chain, matrix)
    return SolvedTree(solution, pose, tip_gaps)


def _rolled(
    start: TreeStart,
    pose: TreePose,
    targets: Sequence[Target | None],
    wanted: Sequence[Array | None],
    accepted: float,
) -> TreePose:
    """Return a pose without needless rolls, unless uneven scales make the effectors feel them."""
    plan = start.frame.plan
    kept = {int(plan.carriers[i]) for i, matrix in enumerate(wanted) if matrix is not None}
    kept |= {limb_root(plan, i) for i, each in enumerate(targets) if each and each.pole is not None}
    rolled = with_rolls_of_start(start.frame, start.pose, pose, kept)
    is_same = np.abs(rolled.effectors - pose.effectors).max() <= accepted
    return rolled if is_same else pose


def _core_tree(frame: TreeFrame, pose: TreePose) -> Chain:
    """Return the bones that are solved together, with their frames as they stand in a pose."""
    plan, count = frame.plan, frame.plan.count
    own = (plan.joints or free_joints_of(len(plan.bones))).take(slice(count))
    above = np.concatenate((pose.frames @ pose.rotations, np.eye(3)[None]))[plan.parents[:count]]
    sizes = np.linalg.norm(pose.frames[:count], axis=(1, 2))
    if (np.abs(np.linalg.det(pose.frames[:count])) <= FLAT * sizes**3).any():
        raise RigError("A bone of the tree is scaled flat: give it a scale above zero.")
    offsets = np.linalg.solve(above, pose.frames[:count])
    if own.zero_wxyz is not None:
        offsets = offsets @ rotation.matrix_from_quaternion(own.zero_wxyz)
    return Chain(
        np.concatenate((pose.heads[:count], pose.effectors)),
        topology=Topology(plan.parents[:count].tolist(), plan.carriers.tolist()),
        joints=_core_joints(own, offsets, pose.rotations[:count]),
        bend_direction=frame.hints(pose)[:count],
    )


def _core_joints(own: BoneJoints, offsets: Array, rotations: Array) -> Joints:
    return Joints(
        kinds=own.kinds,
        offsets=offsets,
        start_wxyz=own.turns_of(rotation.quaternion_from_matrix(rotations)),
        low=own.low,
        high=own.high,
        mobility=1.0 - own.stiffness,
        slide_low=np.zeros(len(offsets)),
        slide_high=np.zeros(len(offsets)),
    )


def _goals(
    frame: TreeFrame,
    start: TreePose,
    world: Array,
    targets: Sequence[Target | None],
    weights: Array,
) -> Goal:
    """Return the goals in armature space, without the turns of tips."""
    to_armature = np.linalg.inv(world)
    places, poles = start.effectors.copy(), np.zeros_like(start.effectors)
    has_poles, angles = np.zeros(len(targets), dtype=np.bool_), np.zeros(len(targets))
    for chain, target in enumerate(targets):
        if target is None:
            continue
        places[chain] = spaces.transform_point(to_armature, target.matrix[:3, 3])
        if target.pole is not None:
            poles[chain] = spaces.transform_point(to_armature, target.pole)
            has_poles[chain] = True
            angles[chain] = _pole_angle(frame.plan.limbs[chain].job.spec, target)
    return Goal(
        target_position=places,
        weight=weights,
        pole_position=poles if has_poles.any() else None,
        has_pole=has_poles.tolist(),
        pole_angle=angles,
    )


def _pole_angle(spec: ChainSpec, target: Target) -> float:
    """Return the angle from the pole at which a limb bends: half a turn further if flipped."""
    angle = spec.pole_angle
    if spec.negative_scale is NegativeScale.KEEP and target.unmirrored is not None:
        angle = -angle
    return angle + (np.pi if spec.options.use_flip_bend else 0.0)


def _orientations(
    frame: TreeFrame, world: Array, targets: Sequence[Target | None]
) -> list[Array | None]:
    """Return the orientations that tips shall take, armature space, shape (3, 3) each."""
    found: list[Array | None] = []
    for limb, target in zip(frame.plan.limbs, targets, strict=True):
        spec = limb.job.spec
        if target is None or not spec.use_rotation or spec.options.orient_weight == 0.0:
            found.append(None)
            continue
        found.append(spaces.orientation(np.linalg.solve(world[:3, :3], target.matrix[:3, :3])))
    return found


def _turned(goals: Goal, frame: TreeFrame, pose: TreePose, wanted: Sequence[Array | None]) -> Goal:
    """Return goals with the turns of tips, told from the pose that the solve starts from."""
    plan = frame.plan
    turns = np.tile([1.0, 0.0, 0.0, 0.0], (len(wanted), 1))
    has_turns = np.zeros(len(wanted), dtype=np.bool_)
    for chain, matrix in enumerate(wanted):
        if matrix is not None and not plan.turns_afterwards(chain):
            here = spaces.orientation(pose.matrices[plan.carriers[chain]])
            turns[chain] = rotation.quaternion_from_matrix(matrix @ here.T)
            has_turns[chain] = True
    if not has_turns.any():
        return goals
    return replace(goals, tip_rotation_wxyz=turns, has_tip_rotation=has_turns.tolist())


def _with_tip(
    frame: TreeFrame, start: TreePose, pose: TreePose, chain: int, orientation: Array
) -> tuple[TreePose, float]:
    """Return a pose whose tip beyond an effector is turned, and the radians that it lacks."""
    plan, row = frame.plan, int(frame.plan.rows[chain][-1])
    whole = start.matrices[row]
    matrix = orientation @ spaces.orientation(whole).T @ whole
    above = spaces.parent_frames(pose.matrices[plan.parents[row]], frame.frames[row])
    wanted = spaces.local_from_pose(above, matrix, frame.scale[row])
    share = plan.limbs[chain].job.spec.options.orient_weight
    wanted = part_way(pose.rotations[row], wanted, share)
    rotations, gap = pose.rotations.copy(), 0.0
    rotations[row] = wanted
    if plan.joints is not None:
        own = np.array([row])
        rotations[own] = plan.joints.take(own).clamped(rotations[own])
        left = rotation.quaternion_from_matrix(rotations[row].T @ wanted)
        gap = 2.0 * float(np.arctan2(np.linalg.norm(left[1:]), left[0]))
    return frame.posed(rotations), gap


def _in_armature_space(options: SolveOptions, world: Array) -> SolveOptions:
    """Return options with distances in armature space that hold in every direction."""
    largest = float(np.linalg.svd(world[:3, :3], compute_uv=False)[0])
    return replace(
        options,
        tolerance=options.tolerance / largest,
        soft_distance=options.soft_distance / largest,
    )
