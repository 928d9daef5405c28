"""Inverse kinematics of bone chains: NumPy only, armature space only, no Blender."""

from .model.chains import Chain, Chains
from .model.errors import (
    IKError,
    InvalidChainError,
    InvalidGoalError,
    InvalidOptionError,
    SolverMismatchError,
)
from .model.floor import Floor
from .model.forces import Forces, StepMode
from .model.goals import Goal, Goals
from .model.joints import JointKind, Joints
from .model.options import Lead, SolveOptions, Solver
from .model.solutions import Solution, Solutions
from .model.status import Status
from .model.topology import Topology
from .solving.bone_rotations import bone_rotations
from .solving.solve import solve, solve_batch

__all__ = [
    "Chain",
    "Chains",
    "Floor",
    "Forces",
    "Goal",
    "Goals",
    "IKError",
    "InvalidChainError",
    "InvalidGoalError",
    "InvalidOptionError",
    "JointKind",
    "Joints",
    "Lead",
    "Solution",
    "Solutions",
    "SolveOptions",
    "Solver",
    "SolverMismatchError",
    "Status",
    "StepMode",
    "Topology",
    "bone_rotations",
    "solve",
    "solve_batch",
]
