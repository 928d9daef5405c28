"""Rotations of bones from positions of joints, and poses turned part of the way to them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..algebra import turns
from ..algebra.arithmetic import Array
from ..algebra.chains_first import chains_first
from ..algebra.rotation import conjugate, multiply, normalize, power, rotate
from ..kinematics.task import turns_tips
from ..kinematics.transport import carry_rotation
from ..model.chains import Chain, Chains
from ..model.errors import InvalidChainError
from ..model.goals import Goals
from ..model.options import SolveOptions
from ..model.solutions import Solution, Solutions
from .compiled_chains import CompiledChains, compile_chains


def bone_rotations(chain: Chain, solution: Solution) -> Array:
    """Return the rotation of every bone from the start pose to a solution.

    The chain turns as a whole first. Each bone then swings the rest of the way, relative to its
    parent, by the shortest rotation, so it keeps its roll relative to its parent. Unit quaternions
    wxyz in armature space, shape (n, 4), or (B, n, 4): rotation i turns the start orientation of
    bone i to its solved one.

    Raises InvalidChainError if the chain has joints or is a tree; its solution has local rotations.
    """
    if chain.joints is not None or chain.topology is not None:
        raise InvalidChainError(
            "Positions do not determine the rotations of trees and of chains with joints:"
            " read the local rotations of their solutions."
        )
    # A single chain may be one of a batch of one.
    sizes = [
        record.joint_positions.reshape(-1, *record.joint_positions.shape[-2:]).shape
        for record in (chain, solution)
    ]
    if sizes[0] != sizes[1]:
        raise InvalidChainError(
            f"The chain has joints of shape {chain.joint_positions.shape} and the solution"
            f" {solution.joint_positions.shape}: give the chain that was solved."
        )
    if solution.blended_rotations_wxyz is not None:
        return solution.blended_rotations_wxyz
    if isinstance(solution, Solutions):
        return _rotate_bones(compile_chains(chain), solution)
    rotations: Array = _rotate_bones(compile_chains(chain), solution.as_batch())[0]
    return rotations


def _rotate_bones(compiled: CompiledChains, solutions: Solutions) -> Array:
    """Return the rotations of the bones of B chains, shape (B, n, 4)."""
    points = solutions.joint_positions
    segments = points[:, 1:] - points[:, :-1]
    rotations = carry_rotation(solutions.chain_rotation_wxyz, compiled.swings, segments)
    if solutions.tip_rotation_wxyz is not None:
        rotations[:, -1] = solutions.tip_rotation_wxyz
    return rotations


def turn_part_way(points: Array, turns: Array, share: float) -> Array:
    """Return joints (B, n + 1, 3) after a share of the turns (B, n, 4), relative to parents."""
    local = turns.copy()
    local[:, 1:] = multiply(conjugate(turns[:, :-1]), turns[:, 1:])
    local, turned, segments = power(local, share), points.copy(), np.diff(points, axis=1)
    carried = np.array([1.0, 0.0, 0.0, 0.0])
    for bone in range(turns.shape[1]):
        carried = normalize(multiply(carried, local[:, bone]))
        turned[:, bone + 1] = turned[:, bone] + rotate(carried, segments[:, bone])
    return turned


def drop_joints(chains: Chains, batch: Solutions, goals: Goals, options: SolveOptions) -> Solutions:
    """Return solutions of chains that have joints for the solve only, as those without joints."""
    assert batch.local_rotations_wxyz is not None
    with_joints = compile_chains(compile_chains(chains).unconstrained)
    tree, start = with_joints.tree, with_joints.start_posed.axes
    posed = tree.pose(tree.joints.to_turns(batch.local_rotations_wxyz)).axes
    turned = turns.from_matrices(np.einsum("nijb,nkjb->nikb", posed, start))
    rotations = chains_first(turned)
    return replace(
        batch,
        tip_rotation_wxyz=rotations[:, -1] if turns_tips(goals, options) else None,
        blended_rotations_wxyz=rotations,
        local_rotations_wxyz=None,
        slides=None,
        holds=None,
        tip_gap=0.0,
    )
