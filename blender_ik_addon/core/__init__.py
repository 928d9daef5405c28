"""Inverse kinematics of bone chains: NumPy only, armature space only, no Blender."""

from .bend import bend_side
from .blend import bone_rotations
from .chain import Chain, Goal, Solution, SolveOptions, Solver, Status
from .errors import (
    IKError,
    InvalidChainError,
    InvalidGoalError,
    InvalidOptionError,
    SolverMismatchError,
)
from .solve import solve

__all__ = [
    "Chain",
    "Goal",
    "IKError",
    "InvalidChainError",
    "InvalidGoalError",
    "InvalidOptionError",
    "Solution",
    "SolveOptions",
    "Solver",
    "SolverMismatchError",
    "Status",
    "bend_side",
    "bone_rotations",
    "solve",
]
