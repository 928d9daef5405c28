"""Least squares of second differences along frames: block-pentadiagonal systems."""

from __future__ import annotations

import numpy as np

from ..algebra.arithmetic import Array


def transpose_differences(second: Array) -> Array:
    """Return the transpose of second differences, applied to (F - 2, ...): shape (F, ...)."""
    result = np.zeros((len(second) + 2, *second.shape[1:]))
    result[:-2] += second
    result[1:-1] -= 2.0 * second
    result[2:] += second
    return result


def make_bands(count: int) -> tuple[Array, Array, Array]:
    """Return the main diagonal of the square D'D of second differences, and the next two."""
    inside = np.zeros(count + 4)
    inside[2:count] = 1.0
    return (
        inside[2:-2] + 4.0 * inside[1:-3] + inside[:-4],
        -2.0 * (inside[2:-2] + inside[1:-3]),
        inside[2:-2],
    )


def solve_smooth(moving: Array, weight: Array, pull: Array) -> Array:
    """Return the numbers (F, n) with the least second differences, in the free subspaces of frames.

    With P_f the projector of a frame, D the second differences and W the weights it solves
    P (D'D + W) P x = P g, and x = P x. Two frames make a block, so the system is block-tridiagonal,
    and its cost is linear in frames.

    Args:
        moving: P_f, shape (F, n, n).
        weight: W, the weight that holds each frame at zero, shape (F,).
        pull: g, shape (F, n).
    """
    frames, n = pull.shape
    if frames % 2:
        padding = np.zeros((1, n, n))
        moving = np.concatenate((moving, padding))
        weight, pull = np.append(weight, 1.0), np.concatenate((pull, padding[0, :1]))
    on, one, two = (np.concatenate((band, [0.0] * (frames % 2))) for band in make_bands(frames))
    blocked = np.eye(n) - moving
    diagonal = (on + weight)[:, None, None] * moving + blocked
    beside = one[:-1, None, None] * (moving[:-1] @ moving[1:])
    beyond = two[:-2, None, None] * (moving[:-2] @ moving[2:])
    half = len(pull) // 2
    block, after = np.zeros((half, 2 * n, 2 * n)), np.zeros((half - 1, 2 * n, 2 * n))
    block[:, :n, :n], block[:, n:, n:] = diagonal[::2], diagonal[1::2]
    block[:, :n, n:], block[:, n:, :n] = beside[::2], beside[::2].swapaxes(1, 2)
    after[:, :n, :n], after[:, n:, n:] = beyond[::2], beyond[1::2]
    after[:, n:, :n] = beside[1::2]
    right = np.einsum("fij,fj->fi", moving, pull).reshape(half, 2 * n)
    return _solve_blocks(block, after, right).reshape(-1, n)[:frames]


def _solve_blocks(block: Array, after: Array, right: Array) -> Array:
    """Return the solution (h, n) of a symmetric block-tridiagonal system, one block after another.

    Args:
        block: Blocks on the diagonal, shape (h, n, n); overwritten.
        after: Blocks to the right of them, shape (h - 1, n, n); overwritten.
        right: Right side, shape (h, n); overwritten.
    """
    for row, beside in enumerate(after):
        both = np.column_stack((beside, right[row]))
        solved = np.linalg.solve(block[row], both)
        block[row + 1] -= beside.T @ solved[:, :-1]
        right[row + 1] -= beside.T @ solved[:, -1]
        after[row], right[row] = solved[:, :-1], solved[:, -1]
    right[-1] = np.linalg.solve(block[-1], right[-1])
    for row in reversed(range(len(after))):
        right[row] -= after[row] @ right[row + 1]
    return right
