"""Inverse kinematics of bone chains: NumPy only, armature space only, no Blender."""

from .batch import solve_batch
from .bend import bend_side
from .blend import batch_rotations, bone_rotations
from .chain import Chain, Goal, Solution, SolveOptions, Solver, Status
from .chains import FEW, STATUSES, Chains, Goals, Solutions
from .errors import (
    IKError,
    InvalidChainError,
    InvalidGoalError,
    InvalidOptionError,
    SolverMismatchError,
)
from .follow import Lead, follow
from .joints import JointKind, Joints, free_joints
from .limb_turns import LimbTurns, limb_turns
from .limits import clamped_rotations as clamped
from .soft import distance_in_reach
from .solve import solve
from .two_bone_turns import TwoBoneTurns

__all__ = [
    "FEW",
    "STATUSES",
    "Chain",
    "Chains",
    "Goal",
    "Goals",
    "IKError",
    "InvalidChainError",
    "InvalidGoalError",
    "InvalidOptionError",
    "JointKind",
    "Joints",
    "Lead",
    "LimbTurns",
    "Solution",
    "Solutions",
    "SolveOptions",
    "Solver",
    "SolverMismatchError",
    "Status",
    "TwoBoneTurns",
    "batch_rotations",
    "bend_side",
    "bone_rotations",
    "clamped",
    "distance_in_reach",
    "follow",
    "free_joints",
    "limb_turns",
    "solve",
    "solve_batch",
]
