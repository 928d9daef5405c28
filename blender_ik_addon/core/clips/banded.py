"""Second differences of many numbers along frames, made least: block-pentadiagonal systems."""

from __future__ import annotations

import numpy as np

from ..algebra.arithmetic import Array


def spread_back(second: Array) -> Array:
    """Return what second differences (F - 2, ...) make of the F frames: their transpose."""
    found = np.zeros((len(second) + 2, *second.shape[1:]))
    found[:-2] += second
    found[1:-1] -= 2.0 * second
    found[2:] += second
    return found


def bands(count: int) -> tuple[Array, Array, Array]:
    """Return the diagonals of the square of second differences: on it, one and two frames off."""
    inside = np.zeros(count + 4)
    inside[2:count] = 1.0
    return (
        inside[2:-2] + 4.0 * inside[1:-3] + inside[:-4],
        -2.0 * (inside[2:-2] + inside[1:-3]),
        inside[2:-2],
    )


def solve_least(moving: Array, weight: Array, pull: Array) -> Array:
    """Return what makes second differences of numbers least, along the ways that frames leave.

    With P_f the projector of a frame, D the second differences and W the weights it solves
    P (D'D + W) P x = P g, and x = P x. Two frames make a block, so the system is block-tridiagonal,
    and its cost is linear in frames.

    Args:
        moving: P_f, shape (F, n, n).
        weight: W, what holds each frame where it is, shape (F,).
        pull: g, shape (F, n).
    """
    frames, n = pull.shape
    if frames % 2:
        nothing = np.zeros((1, n, n))
        moving = np.concatenate((moving, nothing))
        weight, pull = np.append(weight, 1.0), np.concatenate((pull, nothing[0, :1]))
    on, one, two = (np.concatenate((band, [0.0] * (frames % 2))) for band in bands(frames))
    still = np.eye(n) - moving
    diagonal = (on + weight)[:, None, None] * moving + still
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
        block: On the diagonal, shape (h, n, n); lost.
        after: To the right of it, shape (h - 1, n, n); lost.
        right: Right side, shape (h, n); lost.
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
