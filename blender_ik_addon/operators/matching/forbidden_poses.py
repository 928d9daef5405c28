"""Poses that the limits of chains do not allow, and how far these turn when chains take over."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import nullcontext, suppress
from typing import NamedTuple

import bpy
import numpy as np

from ...core import IKError
from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array
from ...core.model.message import Message
from ...properties.records import chain_spec
from ...rig.frames.chain_poses import angles_between
from ...rig.keying.playing import preserve_frame
from ...rig.planning.known_skeletons import skeleton_of
from ...rig.reading.chain_plan import plan_chain
from ...rig.reading.channels import Pose, read_pose
from ...rig.reading.spec import ChainSpec
from ...rig.tools.fk_ik import measure_excess
from ...rig.tools.trial_solve import find_poses
from .. import selection
from .matched_chains import SpecsByRig

# Minimum turn of a bone that is reported, in radians. If ten times larger, pops would be silent.
MIN_TURN = math.radians(1.0)


class ForbiddenPose(NamedTuple):
    """The pose of a chain, outside of its limits.

    Attributes:
        owner: The armature object.
        chain: Index of the chain.
        frame: The frame of the pose.
        excess: Largest angle by which a bone is outside of its range, radians.
        turns: Rotations wxyz of the written bones, armature space, shape (k, 4).
    """

    owner: bpy.types.Object
    chain: int
    frame: int
    excess: float
    turns: Array

    @property
    def spec(self) -> ChainSpec:
        """The present settings of the chain."""
        return chain_spec(self.owner.chain_ik.chains[self.chain])


def find_forbidden(chosen: SpecsByRig, frame: int) -> list[ForbiddenPose]:
    """Return the present poses that the limits of chains do not allow."""
    found = []
    for owner, specs in chosen.items():
        for index, spec in specs.items():
            # A chain that cannot be solved says so in its status.
            with suppress(IKError):
                if excess := measure_excess(owner, spec):
                    turns = _turns_in(read_pose(owner), owner, spec)
                    found.append(ForbiddenPose(owner, index, frame, excess, turns))
    return found


def _turns_in(pose: Pose, owner: bpy.types.Object, spec: ChainSpec) -> Array:
    """Return the rotations wxyz (k, 4) of the bones that a chain writes, armature space."""
    matrices = pose.matrices[plan_chain(skeleton_of(owner), spec).written]
    return rotation.quaternion_from_matrix(rotation.orientation(matrices[:, :3, :3]))


def worst_by_chain(poses: Iterable[ForbiddenPose]) -> list[ForbiddenPose]:
    """Return for each chain the pose that is farthest outside of its limits."""
    ordered = sorted(poses, key=lambda pose: pose.excess)
    return list({(pose.owner, pose.chain): pose for pose in ordered}.values())


def turned_when_shown(poses: Iterable[ForbiddenPose]) -> list[Message]:
    """Return the chains that have left their poses, and by what angles, in words."""
    words = []
    for pose in poses:
        shown = _turns_in(read_pose(pose.owner), pose.owner, pose.spec)
        words += _turn_in_words(pose, pose.turns, shown)
    return words


def turned_when_solved(poses: Sequence[ForbiddenPose], context: bpy.types.Context) -> list[Message]:
    """Return the chains that will leave their poses when they take over, as ``turned_when_shown``.

    Their frames are named if these are not the present one.
    """
    words, scene = list[Message](), selection.scene_of(context)
    present = scene.frame_current
    # Poses without keys are lost when the frame is set.
    is_here = all(pose.frame == present for pose in poses)
    with nullcontext() if is_here else preserve_frame(scene):
        for pose in poses:
            if not is_here:
                scene.frame_set(pose.frame)
            # A chain that cannot be solved does not take over.
            with suppress(IKError):
                solved = find_poses(context.evaluated_depsgraph_get(), pose.owner, pose.spec)
                turns = [_turns_in(one, pose.owner, pose.spec) for one in solved]
                words += _turn_in_words(pose, *turns, has_frame=pose.frame != present)
    return words


def _turn_in_words(
    pose: ForbiddenPose, before: Array, after: Array, *, has_frame: bool = False
) -> list[Message]:
    """Return a chain and its largest turn between two poses, (k, 4) each; empty if it is small."""
    turn = float(np.max(angles_between(before, after)))
    text = "{name} ({degrees}° at frame {frame})" if has_frame else "{name} ({degrees}°)"
    degrees = f"{math.degrees(turn):.0f}"
    words = Message(text, name=pose.spec.name, degrees=degrees, frame=pose.frame)
    return [words] if turn > MIN_TURN else []
