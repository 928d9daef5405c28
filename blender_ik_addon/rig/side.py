"""To which side a chain bends where no pole says so: mirrored, flipped, or as it stands."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core import bend_side
from .chain_pose import ChainFrame, ChainPose
from .spec import ChainSpec, NegativeScale, StartFrom
from .targets import Target

Array = npt.NDArray[np.float64]


def flips(
    spec: ChainSpec, target: Target, frame: ChainFrame, start: ChainPose, stored: ChainPose
) -> bool:
    """Return whether a chain bends to the other side than its start pose, or away from its pole.

    Args:
        spec: The chain's settings.
        target: Tells what negative scale mirrors.
        frame: The chain.
        start: The pose that it starts from.
        stored: Its stored pose.
    """
    use_flip = spec.options.use_flip_bend
    if spec.pole is not None:
        return use_flip
    side = side_of(spec, frame, start)
    if spec.negative_scale is NegativeScale.KEEP and target.unmirrored is not None:
        use_flip ^= bool(side @ target.unmirrored @ side < 0.0)
    if use_flip and spec.start_from is StartFrom.CURRENT:
        # Relative to the stored pose: a chain that starts from its own last pose would else
        # change sides at every update.
        stored_side = side_of(spec, frame, stored)
        carried = start.matrices[0] @ np.linalg.solve(stored.matrices[0], stored_side)
        use_flip = bool(side @ carried >= 0.0)
    return use_flip


def side_of(spec: ChainSpec, frame: ChainFrame, pose: ChainPose) -> Array:
    """Return where a pose of a chain bends, or would if it were bent: armature space, (3,)."""
    side = bend_side(bending_joints(pose.joints, spec))
    return frame.natural_side(pose) if side is None else side


def bending_joints(joints: Array, spec: ChainSpec) -> Array:
    """Return the joints of a chain that bend: without a tip that takes the target's rotation."""
    has_turned_tip = spec.use_rotation and spec.use_tail and len(joints) > 2
    return joints[:-1] if has_turned_tip else joints
