"""From positions to bone rotations, and poses on the way to them."""

from __future__ import annotations

import numpy as np

from ..chain import Chain, Solution
from ..chains import Chains, Solutions
from ..errors import InvalidChainError
from ..kinematics.transport import carry_rotation
from ..rotation import Array, conjugate, multiply, normalised, power, rotate


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

    Raises:
        InvalidChainError: If the chain has joints; its solution tells local rotations.
    """
    _check_free(chain)
    if solution.blended_rotations_wxyz is not None:
        return solution.blended_rotations_wxyz
    return _rotations(
        chain, solution.joint_positions, solution.chain_rotation_wxyz, solution.tip_rotation_wxyz
    )


def _rotations(
    chain: Chain, joints: Array, chain_rotation: Array, tip_rotation: Array | None
) -> Array:
    points, turn, normal = chain.joint_positions, chain_rotation[None], np.array(chain.bend_normal)
    start, wanted = points[1:] - points[:-1], joints[1:] - joints[:-1]
    rotations: Array = carry_rotation(turn, start[None], wanted[None], normal[None])[0]
    if tip_rotation is not None:
        rotations[-1] = tip_rotation
    return rotations


def batch_rotations(chains: Chains, solutions: Solutions) -> Array:
    """Return the rotation of every bone from the start poses to solutions, as ``bone_rotations``.

    Args:
        chains: The chains that were solved.
        solutions: What ``solve_batch`` returned for them.

    Returns:
        Unit quaternions wxyz in armature space, shape (B, n, 4).

    Raises:
        InvalidChainError: As ``bone_rotations``.
    """
    _check_free(chains)
    if solutions.blended_rotations_wxyz is not None:
        return solutions.blended_rotations_wxyz
    joints, turns = solutions.joint_positions, solutions.chain_rotations_wxyz
    tips = solutions.tip_rotations_wxyz
    points, normal = chains.joint_positions, np.array(chains.bend_normal).T
    start, wanted = points[:, 1:] - points[:, :-1], joints[:, 1:] - joints[:, :-1]
    rotations = carry_rotation(turns, start, wanted, normal)
    if tips is not None:
        rotations[:, -1] = tips
    return rotations


def _check_free(chain: Chain | Chains) -> None:
    if chain.joints is not None:
        raise InvalidChainError(
            "Chains with joints turn by more than their positions tell:"
            " read the local rotations of their solutions."
        )


def blended(
    chain: Chain, joints: Array, chain_rotation: Array, tip_rotation: Array | None, share: float
) -> tuple[Array, Array]:
    """Return a share of a solution: every bone turns that share of its way, seen from its parent.

    Args:
        chain: The chain with its start pose.
        joints: Solved joints, shape (n + 1, 3).
        chain_rotation: Turn of the whole chain wxyz, shape (4,).
        tip_rotation: Turn of the tip bone wxyz, shape (4,), or None.
        share: From 0 to 1.

    Returns:
        Joints of the blended pose, shape (n + 1, 3), and its bone rotations wxyz, shape (n, 4).
    """
    rotations = _rotations(chain, joints, chain_rotation, tip_rotation)
    parents = np.vstack(([1.0, 0.0, 0.0, 0.0], rotations[:-1]))
    own_turns = power(multiply(conjugate(parents), rotations), share)
    start = np.diff(chain.joint_positions, axis=0)
    blended_joints, blended_rotations = np.empty_like(joints), np.empty_like(rotations)
    blended_joints[0] = joints[0]
    carried = np.array([1.0, 0.0, 0.0, 0.0])
    for i, own_turn in enumerate(own_turns):
        carried = normalised(multiply(carried, own_turn))
        blended_rotations[i] = carried
        blended_joints[i + 1] = blended_joints[i] + rotate(carried, start[i])
    return blended_joints, blended_rotations
