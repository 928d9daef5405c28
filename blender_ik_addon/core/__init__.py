"""Inverse kinematics of bone chains: NumPy only, armature space only, no Blender."""

from .model.chains import Chain, Chains
from .model.errors import (
    IKError,
    InvalidChainError,
    InvalidGoalError,
    InvalidOptionError,
    SolverMismatchError,
)
from .model.forces import Forces, StepMode
from .model.goals import Goal, Goals
from .model.joints import JointKind, Joints
from .model.options import Lead, SolveOptions, Solver
from .model.solutions import Solution, Solutions
from .model.status import Status
from .solve_trees import solve_tree, solve_trees
from .solving.bone_rotations import bone_rotations
from .solving.solve import solve, solve_batch
from .tree import Tree
from .tree_goals import TreeGoals
from .tree_solutions import TreeSolution, TreeSolutions
from .trees import Trees

__all__ = [
    "Chain",
    "Chains",
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
    "Tree",
    "TreeGoals",
    "TreeSolution",
    "TreeSolutions",
    "Trees",
    "bone_rotations",
    "solve",
    "solve_batch",
    "solve_tree",
    "solve_trees",
]
