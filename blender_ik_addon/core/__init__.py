"""Inverse kinematics of bone chains: NumPy only, armature space only, no Blender."""

from .chain import Chain, Goal, Solution, SolveOptions, Solver, Status
from .chains import Chains, Goals, Solutions
from .equilibrium.creature_files import (
    LARGEST_CREATURE,
    Creature,
    Curve,
    parse_creature,
    write_creature,
)
from .equilibrium.easing import Easing, Stance, eased
from .errors import (
    IKError,
    InvalidChainError,
    InvalidCreatureError,
    InvalidGoalError,
    InvalidOptionError,
    SolverMismatchError,
)
from .forces import Forces, StepMode, make_forces
from .joints import JointKind, Joints, free_joints
from .kinematics.bend_plane import bend_side
from .kinematics.reach import distance_in_reach
from .limits import clamped_rotations as clamped
from .solve_trees import solve_tree, solve_trees
from .solvers.follow import Lead
from .solving.bone_rotations import batch_rotations, bone_rotations
from .solving.solve import solve, solve_batch
from .status_codes import STATUSES
from .tree import Tree
from .tree_goals import TreeGoals
from .tree_solutions import TreeSolution, TreeSolutions
from .trees import Trees

__all__ = [
    "LARGEST_CREATURE",
    "STATUSES",
    "Chain",
    "Chains",
    "Creature",
    "Curve",
    "Easing",
    "Forces",
    "Goal",
    "Goals",
    "IKError",
    "InvalidChainError",
    "InvalidCreatureError",
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
    "Stance",
    "Status",
    "StepMode",
    "Tree",
    "TreeGoals",
    "TreeSolution",
    "TreeSolutions",
    "Trees",
    "batch_rotations",
    "bend_side",
    "bone_rotations",
    "clamped",
    "distance_in_reach",
    "eased",
    "free_joints",
    "make_forces",
    "parse_creature",
    "solve",
    "solve_batch",
    "solve_tree",
    "solve_trees",
    "write_creature",
]
