"""Facts that explain why an effector is not at its target, or a tip off its rotation."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ...core import SolveOptions
from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array
from ..reading.bone_joints import BoneJoints
from ..reading.chain_plan import ChainPlan
from ..reading.channels import matrices_of
from ..reading.spec import ChainSpec, NegativeScale
from ..trees.driven import Driven

# A joint nearer than this to an end of its range, in radians, is at that end: half a degree.
AT_END = 0.01


@dataclass(frozen=True)
class Reasons:
    """Options and joints of a chain, as far as they explain its status.

    Attributes:
        options: Options of the chain, or of the tree that it is solved with.
        has_locked_joints: Whether any joint on the way to the effector has an axis without room.
        is_rigid: Whether no joint on that way can turn or slide.
        is_at_limits: Whether any joint is at an end of its range, where a tip is off.
        is_tip_beyond: Whether the tip lies beyond the effector, so that only its own joint can keep
            it from the requested orientation.
        turns_tip_first: Whether the tip takes its orientation before its position counts.
        is_one_left: Whether that leaves one bone of two to reach with.
    """

    options: SolveOptions = field(default_factory=SolveOptions)
    has_locked_joints: bool = False
    is_rigid: bool = False
    is_at_limits: bool = False
    is_tip_beyond: bool = False
    turns_tip_first: bool = False
    is_one_left: bool = False


def reasons_of(
    driven: Driven, chain: int, channels: Array, tip_gap: float, *, is_alone: bool
) -> Reasons:
    """Return the facts that may explain a missed target.

    Args:
        driven: The chain, alone or with others of its tree.
        chain: Number of the chain among them.
        channels: Rotation channels of its written bones, shape (k, 4).
        tip_gap: Angle from the tip to the requested orientation, radians.
        is_alone: Whether the chain is not part of a tree.
    """
    hang, live_chain = driven.hanging, driven.live_chains[chain]
    rows = list(hang.rows[chain])
    segments = sum(row < hang.count for row in rows)
    if driven.joints is None:
        is_first = is_alone and turns_tip_first(live_chain.plan, live_chain.spec)
        is_one_left = is_first and segments == 2
        return Reasons(driven.options, turns_tip_first=is_first, is_one_left=is_one_left)
    joints, is_tip_beyond = driven.joints.take(np.array(rows)), hang.turns_afterwards(chain)
    is_off, joints_to_effector = tip_gap > 0.0 and not is_tip_beyond, joints.take(slice(segments))
    has_room = joints_to_effector.high - joints_to_effector.low > 2.0 * AT_END
    can_turn = ~joints_to_effector.is_locked & has_room
    return Reasons(
        driven.options,
        has_locked_joints=bool(joints_to_effector.is_locked.any() or not has_room.all()),
        is_rigid=(driven.is_tree or driven.slide is None) and not can_turn.any(),
        is_at_limits=is_off and _are_at_ends(joints, matrices_of(channels, driven.modes[rows])),
        is_tip_beyond=is_tip_beyond,
    )


def turns_tip_first(plan: ChainPlan, spec: ChainSpec) -> bool:
    """Return whether the effector is the tail of a tip that takes a rotation."""
    return plan.ends_at_tail and plan.turns_tip and spec.options.orient_weight > 0.0


def find_bend_line(
    plan: ChainPlan, spec: ChainSpec, points: Array, target: Array | None
) -> tuple[Array, Array]:
    """Return the joints that bend to a pole, and the end of their line from the root.

    Args:
        plan: The bones of the chain.
        spec: Its settings.
        points: Its joints, shape (m + 1, 3).
        target: Place of its target in the same space, shape (3,); None without one.
    """
    if turns_tip_first(plan, spec):
        # A tip that takes the target's rotation does not bend.
        return points[:-1], points[-2]
    # Use the target itself, even if limits keep the chain from it.
    return points, points[-1] if target is None else target


def _are_at_ends(joints: BoneJoints, rotations: Array) -> bool:
    turns = joints.turns_of(rotation.quaternion_from_matrix(rotations))
    has_room = joints.high - joints.low > 2.0 * AT_END
    low, high = joints.low + AT_END * has_room, joints.high - AT_END * has_room
    inner = replace(joints, low=low, high=high).clamped_turns(turns)
    gaps = rotation.multiply(rotation.conjugate(turns), inner)
    return bool((np.linalg.norm(gaps[:, 1:], axis=1) > 0.1 * AT_END).any())


def sense_of_pole_angle(world: Array, spec: ChainSpec) -> float:
    """Return 1 where a greater pole angle is seen to turn counter-clockwise, otherwise -1.

    ``world`` is the matrix of the armature object, shape (4, 4).
    """
    # KEEP reverses the angle inside of a mirrored armature, so that it looks right.
    is_mirrored = spec.negative_scale is NegativeScale.MIRROR and np.linalg.det(world[:3, :3]) < 0.0
    return -1.0 if is_mirrored else 1.0
