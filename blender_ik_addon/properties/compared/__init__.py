"""Solvers compared on one chain: solved beside the scene, and kept to be shown."""

from .kept import (
    ComparedChain,
    ComparedSolver,
    compared_chain,
    forget_compared,
    ghost_joints,
    keep_compared,
    kept_of,
    register,
    unregister,
)
from .solving import compare_solvers

__all__ = [
    "ComparedChain",
    "ComparedSolver",
    "compare_solvers",
    "compared_chain",
    "forget_compared",
    "ghost_joints",
    "keep_compared",
    "kept_of",
    "register",
    "unregister",
]
