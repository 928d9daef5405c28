"""Pole angles of Blender's IK constraint and of chains, each computed from the other.

The constraint turns its start pose about the root as one piece, until its end lies on the line to
the target and a vector of the root bone faces the pole: its X axis, turned toward Z by the pole
angle. Chains turn their bend side to the pole, and then by the pole angle. So the two angles differ
by the direction of the root bone relative to the bend of the start pose.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ...core.algebra.arithmetic import Array
from ..frames.bend_sides import find_sides
from ..frames.framing import build_frames_in_poses
from ..keying.setting_moves import ValueChange
from ..planning.checks import check_segments
from ..planning.order import PlannedChain
from ..reading.channels import Pose, matrices_of
from ..reading.refusals import RigError

UNCHANGED = ValueChange(lambda value: value, 1.0, 0.0)
# Radians by which half a turn may be exceeded, for rounding to float32.
ANGLE_TOLERANCE = 1e-6


def root_axes(chain: PlannedChain, pose: Pose, channels: Array) -> Array:
    """Return the X and Z axes of a root bone in the plane across the chord of a start pose, (2, 2).

    Rows are X and Z. Columns are the components along the bend side, and along the direction a
    quarter turn counter-clockwise from it, seen from the target. ``channels`` are the rotation
    channels of the start pose, shape (k, 4).

    Raises:
        InvalidChainError: If a bone has no length.
    """
    plan = chain.plan
    frames = build_frames_in_poses(plan, [pose])
    limb_channels = channels[: len(plan.limb)]
    posed = frames.posed(matrices_of(limb_channels, pose.modes[plan.limb])[None])
    check_segments(lambda _: plan, posed.joints)
    joints = posed.joints[:, :-1] if plan.bends_without_tip else posed.joints
    side = find_sides(joints, frames.natural_sides(posed)[:, 0])[0]
    chord = joints[0, -1] - joints[0, 0]
    chord = chord / max(float(np.linalg.norm(chord)), 1e-12)
    side = side - chord * (side @ chord)
    side = side / max(float(np.linalg.norm(side)), 1e-12)
    axes: Array = posed.matrices[0, 0].T[[0, 2]]
    # A bone that is scaled flat may have no axis here: then any angle is as good as another.
    axes = axes / np.maximum(np.linalg.norm(axes, axis=1, keepdims=True), np.finfo(float).tiny)
    components: Array = axes @ np.stack((side, np.cross(chord, side)), axis=1)
    return components


def angle_of_chain(axes: Array, angle: float) -> float:
    """Return the pole angle of a chain that bends as a constraint with an angle, in radians.

    The axes are those of ``root_axes``.
    """
    side, across = np.array((math.cos(angle), math.sin(angle))) @ axes
    return -math.atan2(across, side)


def angle_of_constraint(axes: Array, angle: float, *, flips: bool) -> float:
    """Return the pole angle of a constraint that bends as a chain with an angle, in radians.

    The axes are those of ``root_axes``; ``flips`` tells whether the chain flips its bend.
    """
    angle += math.pi * flips
    facing = np.array((math.cos(angle), -math.sin(angle)))
    # If the root bone is square to its chord, only one of its directions can face the pole.
    cosine, sine = np.linalg.pinv(axes.T, rcond=1e-6) @ facing
    return math.atan2(sine, cosine)


def change_of(angle_of: Callable[[float], float], angle: float) -> ValueChange:
    """Return the change of an animated pole angle, without jumps by full turns.

    ``angle_of`` converts an angle, to within half a turn to either side. The offset of the present
    angle is used for everything without keys.
    """
    offset = math.remainder(angle_of(angle) - angle, math.tau)

    def of_key(value: float) -> float:
        return value + offset + math.remainder(angle_of(value) - value - offset, math.tau)

    return ValueChange(of_key, 1.0, offset)


def in_range(change: ValueChange, keys: Sequence[float]) -> ValueChange:
    """Return a change, shifted by -1, 0 or 1 turns to keep keys in the range of constraints.

    Raises:
        RigError: If none of these shifts does.
    """
    for turn in (0.0, -math.tau, math.tau):
        if all(abs(change.of_key(key) + turn) <= math.pi + ANGLE_TOLERANCE for key in keys):
            break
    else:
        raise RigError(
            "Keys of its Pole Angle would exceed 180 degrees, the maximum of a constraint: change"
            " these keys first."
        )
    return ValueChange(lambda value: change.of_key(value) + turn, 1.0, change.offset + turn)
