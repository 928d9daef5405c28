"""Inverse kinematics of bone chains: NumPy only, armature space only, no Blender."""

from .batch import solve_batch
from .bend import bend_side
from .blend import batch_rotations, bone_rotations
from .chain import Chain, Goal, Solution, SolveOptions, Solver, Status
from .chains import FEW, Chains, Goals, Solutions
from .creature import LARGEST_CREATURE, Creature, Curve, parse_creature, write_creature
from .easing import Easing, Stance, eased
from .errors import (
    IKError,
    InvalidChainError,
    InvalidCreatureError,
    InvalidGoalError,
    InvalidOptionError,
    SolverMismatchError,
)
from .follow import Lead, follow
from .forces import Forces, StepMode, make_forces
from .gradual import History, advance, advance_batch
from .joints import JointKind, Joints, free_joints
from .limits import clamped_rotations as clamped
from .planar_turns import PlanarTurns, planar_turns
from .single_planar_turns import SinglePlanarTurns
from .soft import distance_in_reach
from .solve import solve
from .solve_trees import solve_tree, solve_trees
from .status_codes import STATUSES
from .tree import Tree
from .tree_goals import TreeGoals
from .tree_solutions import TreeSolution, TreeSolutions
from .trees import Trees
from .two_bone_turns import TwoBoneTurns

__all__ = [
    "FEW",
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
    "History",
    "IKError",
    "InvalidChainError",
    "InvalidCreatureError",
    "InvalidGoalError",
    "InvalidOptionError",
    "JointKind",
    "Joints",
    "Lead",
    "PlanarTurns",
    "SinglePlanarTurns",
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
    "TwoBoneTurns",
    "advance",
    "advance_batch",
    "batch_rotations",
    "bend_side",
    "bone_rotations",
    "clamped",
    "distance_in_reach",
    "eased",
    "follow",
    "free_joints",
    "make_forces",
    "parse_creature",
    "planar_turns",
    "solve",
    "solve_batch",
    "solve_tree",
    "solve_trees",
    "write_creature",
]
