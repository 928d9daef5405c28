"""The chains and targets of published measurements of other solvers."""

import functools
import json
from pathlib import Path

import numpy as np

from blender_ik_addon.core import Chain, Solution, Solver
from tests.core.chains import Array, solved

FILE = Path(__file__).resolve().parent.parent / "data" / "cases.json"
# The cap on iterations in all of these measurements.
CAP = 500


def peer_case(count: int) -> tuple[Chain, Array]:
    """Return the chain of ``count`` bones, and its 100 targets."""
    cases = json.loads(FILE.read_text(encoding="utf-8"))
    case = cases["two_bone"] if count == 2 else cases["chains"][str(count)]
    return Chain(np.array(case["initial"])), np.array(case["targets"])


@functools.cache
def peer_solutions(
    count: int, solver: Solver, tolerance: float, *, use_finish: bool = True
) -> list[Solution]:
    """Solve all targets from the same start; the tolerance is a share of the chain's length."""
    chain, targets = peer_case(count)
    options = {"iterations": CAP, "use_finish": use_finish}
    return [solved(chain, target, solver, tolerance, **options) for target in targets]


def median_iterations(solutions: list[Solution]) -> float:
    return float(np.median([solution.iterations for solution in solutions]))
