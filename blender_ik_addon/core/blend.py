"""From positions to bone rotations, and the share of them that ``influence`` asks for."""

from __future__ import annotations

import numpy as np

from .chain import Chain, Solution
from .rotation import Array, between, conjugate, multiply, normalised, power, rotate


def bone_rotations(chain: Chain, solution: Solution) -> Array:
    """Return the rotation of every bone from the start pose to a solution.

    The chain turns as a whole first; each bone then swings the rest of the way, seen from its
    parent, by the shortest rotation, so it keeps its roll against its parent.

    Args:
        chain: The chain that was solved.
        solution: What ``solve`` returned for it.

    Returns:
        Unit quaternions wxyz in armature space, shape (n, 4): rotation i turns the start
        orientation of bone i to its solved one.
    """
    if solution.blended_rotations_wxyz is not None:
        return solution.blended_rotations_wxyz
    return _rotations(
        chain, solution.joint_positions, solution.chain_rotation_wxyz, solution.tip_rotation_wxyz
    )


def _rotations(
    chain: Chain, joints: Array, chain_rotation: Array, tip_rotation: Array | None
) -> Array:
    lengths = chain.segment_lengths[:, None]
    start = np.diff(chain.joint_positions, axis=0) / lengths
    wanted = np.diff(joints, axis=0) / np.linalg.norm(np.diff(joints, axis=0), axis=1)[:, None]
    rotations = np.empty((len(lengths), 4))
    carried = chain_rotation
    for i, direction in enumerate(wanted):
        carried = normalised(multiply(between(rotate(carried, start[i]), direction), carried))
        rotations[i] = carried
    if tip_rotation is not None:
        rotations[-1] = tip_rotation
    return rotations


def blended(
    chain: Chain, joints: Array, chain_rotation: Array, tip_rotation: Array | None, influence: float
) -> tuple[Array, Array]:
    """Return a share of a solution: every bone turns that share of its way, seen from its parent.

    Args:
        chain: The chain with its start pose.
        joints: Solved joints, shape (n + 1, 3).
        chain_rotation: Turn of the whole chain wxyz, shape (4,).
        tip_rotation: Turn of the tip bone wxyz, shape (4,), or None.
        influence: From 0 to 1.

    Returns:
        Joints of the blended pose, shape (n + 1, 3), and its bone rotations wxyz, shape (n, 4).
    """
    rotations = _rotations(chain, joints, chain_rotation, tip_rotation)
    parents = np.vstack(([1.0, 0.0, 0.0, 0.0], rotations[:-1]))
    own_turns = power(multiply(conjugate(parents), rotations), influence)
    start = np.diff(chain.joint_positions, axis=0)
    blended_joints, blended_rotations = np.empty_like(joints), np.empty_like(rotations)
    blended_joints[0] = joints[0]
    carried = np.array([1.0, 0.0, 0.0, 0.0])
    for i, own_turn in enumerate(own_turns):
        carried = normalised(multiply(carried, own_turn))
        blended_rotations[i] = carried
        blended_joints[i + 1] = blended_joints[i] + rotate(carried, start[i])
    return blended_joints, blended_rotations
