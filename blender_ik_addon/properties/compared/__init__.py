"""Solvers compared on one chain: solved beside the scene, and kept to be shown."""

from .kept import (
    ComparedChain,
    ComparedSolver,
    compared_chain,
    forget_compared,
    ghost_joints,
    is_in_use,
    keep_compared,
    kept_of,
    register,
    unregister,
)
from .marks import find_marked, mark_of
from .solving import COMPARED, compare_solvers

__all__ = [
    "COMPARED",
    "ComparedChain",
    "ComparedSolver",
    "compare_solvers",
    "compared_chain",
    "find_marked",
    "forget_compared",
    "ghost_joints",
    "is_in_use",
    "keep_compared",
    "kept_of",
    "mark_of",
    "register",
    "unregister",
]
