"""Pull a person beside SciPy, and along smooth paths, and print tables and what falls short.

    PYTHONPATH=.:scripts python -m benchmarks.whole_body.core_figures 80 200      in the checkout

So many pulls of each part, and so many paths. Needs NumPy and SciPy.
"""

from __future__ import annotations

import sys

import numpy as np

from benchmarks.tables import make_table
from blender_ik_addon.core import SolveOptions
from tests.core.bodies import HEIGHT, PARTS, make_person
from tests.core.solving.body_in_scipy import PulledPerson
from tests.core.solving.pulled_bodies import find_speeds, pull_at, smooth_path
from tests.helpers import make_rng

STARTS = 4
# Joints may move so many times as fast as the target.
FAST = 4.0
# Nearness is as good as SciPy's within this share of it.
AS_NEAR = 1e-3
PULLS_HEAD = (
    *("part", "met", "SciPy", "of those met", "as near", "slip", "turned", "past"),
    *("short of SciPy", "farther from rest"),
)
PATHS_HEAD = ("the target is", "steps", "faster than 4 times the target", "path, step, how fast")


def compare_pulls(part: str, count: int) -> tuple[str, ...]:
    """Return a row about pulls at one part; those that fall short by their seeds."""
    person = make_person(part)
    pulled = [pull_at(person, seed) for seed in range(count)]
    targets = enumerate(each.target for each in pulled)
    peers = [PulledPerson(person, at).solve(STARTS, make_rng(seed)) for seed, at in targets]
    is_met, is_reached = (
        np.array(each) for each in ([p.is_met for p in pulled], [p.is_reached for p in peers])
    )
    more = np.array([a.nearness / b.nearness - 1.0 for a, b in zip(pulled, peers)])
    both = is_met & is_reached
    return (
        part,
        f"{is_met.mean():.1%}",
        str(is_reached.sum()),
        f"{both.sum() / max(is_reached.sum(), 1):.1%}",
        f"{np.mean(more[both] <= AS_NEAR):.1%}",
        f"{max(each.residual[:2].max() for each in pulled) / HEIGHT:.1e}",
        f"{max(each.turned for each in pulled):.1e}",
        f"{max(each.past for each in pulled):.1e}",
        ", ".join(f"{i} ({pulled[i].status})" for i in np.flatnonzero(is_reached & ~is_met)),
        ", ".join(f"{i} ({more[i]:.1e})" for i in np.flatnonzero(both & (more > AS_NEAR))),
    )


def measure_paths(count: int) -> list[tuple[str, ...]]:
    """Return a row for targets that are met, held back, or at the edge: how fast joints move."""
    person, options = make_person("hand.L"), SolveOptions(tolerance=1e-6, stays_near=True)
    found = [find_speeds(person, smooth_path(person, seed), options) for seed in range(count)]
    speeds, kinds = (np.array(each) for each in zip(*found))
    rows = []
    for kind in ("met", "edge", "held back"):
        fast = np.argwhere((speeds > FAST) & (kinds == kind))
        steps = ", ".join(f"{path}, {step}: {speeds[path, step]:.1f}" for path, step in fast)
        rows.append((kind, str((kinds == kind).sum()), str(len(fast)), steps))
    return rows


if __name__ == "__main__":
    pulls, paths = map(int, sys.argv[1:])
    print(make_table(PULLS_HEAD, [compare_pulls(part, pulls) for part in PARTS]))
    print(make_table(PATHS_HEAD, measure_paths(paths)))
