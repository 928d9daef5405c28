"""The feet of chains: heel, toe and sole, and their motion through a clip."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ...core.algebra import rotation
from ...core.clips.contacts import HEIGHT
from ...core.clips.footholds import Foot, Motion
from ..anatomy.bone_names import BodyPart, Side, read
from ..anatomy.soles import heel_and_toe, up_in
from ..controls.default_poles import Placement
from ..reading.chain_plan import ChainPlan, plan_chain
from ..reading.channels import Pose
from ..reading.skeleton import Skeleton
from ..reading.spaces import transform_direction, transform_point
from ..reading.spec import ChainSpec

TRUNK = frozenset((BodyPart.SPINE, BodyPart.NECK, BodyPart.HEAD, BodyPart.TAIL))
"""Parts of a body that are never in contact with the ground, however still they are."""
# Ratio of a body's height to the length of its longest limb, as of a human's height to the leg.
HEIGHT_OF_LIMB = HEIGHT / 0.83


@dataclass(frozen=True)
class ClipLimb:
    """A chain in a clip.

    Attributes:
        spec: Its settings.
        plan: Its bones.
        placed: Places of its controls, frame by frame.
        motion: Motion of its target, world space.
        foot: Its foot or hand; None for a limb that is never in contact with the ground.
    """

    spec: ChainSpec
    plan: ChainPlan
    placed: Placement
    motion: Motion
    foot: Foot | None


def find_limbs(
    skeleton: Skeleton,
    specs: Mapping[int, ChainSpec],
    placed: Mapping[int, Placement],
    poses: list[Pose],
) -> dict[int, ClipLimb]:
    """Return the chains in a clip, by their indices.

    ``placed`` are the places of their controls, frame by frame, and ``poses`` those of their
    armature object, one per frame.
    """
    plans = {index: plan_chain(skeleton, spec) for index, spec in specs.items()}
    contact_chains = find_contact_chains(plans)
    spaces, limbs = np.array([pose.world[:3, :3] for pose in poses]), {}
    for index, plan in plans.items():
        target = placed[index].target
        turns = rotation.without_flips(rotation.quaternion_from_matrix(target[:, :3, :3]))
        motion = Motion(target[:, :3, 3], turns, spaces)
        foot = _measure_foot(plan, motion, poses) if index in contact_chains else None
        limbs[index] = ClipLimb(specs[index], plan, placed[index], motion, foot)
    return limbs


def find_contact_chains(plans: Mapping[int, ChainPlan]) -> set[int]:
    """Return the indices of the chains of an armature that may be in contact with the ground.

    A trunk never is, nor chains below a foot or a hand, like toes and fingers. A chain that carries
    chains of both sides is a trunk, whatever its name, like the hips of a body.
    """
    above = {i: set(plan.skeleton.ancestors(plan.root)[1:]) for i, plan in plans.items()}
    sides = {i: read(plan.skeleton.names[plan.root]).side for i, plan in plans.items()}

    def carries_both_sides(tip: int) -> bool:
        return {Side.LEFT, Side.RIGHT} <= {sides[i] for i in plans if tip in above[i]}

    ends = {
        i: plan.tip
        for i, plan in plans.items()
        if read(plan.skeleton.names[plan.tip]).part not in TRUNK
        and not carries_both_sides(plan.tip)
    }
    return {i for i in ends if above[i].isdisjoint(ends.values())}


def measure_height(limbs: Iterable[ClipLimb]) -> float:
    """Return the height of the body that limbs belong to, world space."""
    lengths = [float(np.median(limb.placed.length)) for limb in limbs if limb.foot]
    return HEIGHT_OF_LIMB * max(lengths, default=1.0)


def _measure_foot(plan: ChainPlan, motion: Motion, poses: list[Pose]) -> Foot:
    """Return heel and toe of the bone that a target turns; without one, the end of the chain."""
    if not plan.turns_tip:
        return Foot(np.zeros((2, 3)), np.zeros(2))
    tip = plan.tip
    points, heights = heel_and_toe(plan.skeleton, tip, up_in(poses[0].world))
    in_tip = transform_point(np.linalg.inv(plan.skeleton.rest[tip]), points)
    matrices = np.array([pose.world @ pose.matrices[tip] for pose in poses])
    paths = transform_point(matrices[:, None], in_tip) - motion.places[:, None]
    ends = np.median(transform_direction(np.linalg.inv(motion.axes)[:, None], paths), axis=0)
    scale = float(np.linalg.norm(ends[1] - ends[0]) / np.linalg.norm(points[1] - points[0]))
    return Foot(ends, scale * heights)
