"""Pull a person beside SciPy, and along smooth paths, and print a table and what falls short.

    PYTHONPATH=.:scripts python -m benchmarks.whole_body.core_figures            in the checkout
    PYTHONPATH=.:scripts python -m benchmarks.whole_body.core_figures pulls 80
    PYTHONPATH=.:scripts python -m benchmarks.whole_body.core_figures paths 200

Needs NumPy and SciPy.
"""

from __future__ import annotations

import sys

import numpy as np

from blender_ik_addon.core import SolveOptions
from tests.core.bodies import HEIGHT, PARTS, make_person
from tests.core.solving.body_in_scipy import PulledPerson
from tests.core.solving.pulled_bodies import Pulled, find_speeds, pull_at, smooth_path
from tests.helpers import make_rng

PULLS, PATHS = 80, 200
STARTS = 4
# Joints may move so many times as fast as the target.
FAST = 4.0
# Nearness is as good as SciPy's within this share of it.
AS_NEAR = 1e-3


def compare_pulls(part: str, count: int) -> list[str]:
    """Return the rows of a table, and the seeds that fall short, of pulls at one part."""
    person = make_person(part)
    pulled = [pull_at(person, seed) for seed in range(count)]
    peers = [
        PulledPerson(person, each.target).solve(STARTS, make_rng(seed))
        for seed, each in enumerate(pulled)
    ]
    both = [each.is_met and peer.is_reached for each, peer in zip(pulled, peers, strict=True)]
    short = [
        f"{seed} ({each.residual[2]:.1e} m, {each.status})"
        for seed, (each, peer) in enumerate(zip(pulled, peers, strict=True))
        if peer.is_reached and not each.is_met
    ]
    more = [
        each.nearness / peer.nearness - 1.0
        for each, peer, is_both in zip(pulled, peers, both, strict=True)
        if is_both
    ]
    farther = [
        f"{seed} ({each.nearness / peer.nearness - 1.0:.1e})"
        for seed, (each, peer, is_both) in enumerate(zip(pulled, peers, both, strict=True))
        if is_both and each.nearness / peer.nearness - 1.0 > AS_NEAR
    ]
    reached = sum(peer.is_reached for peer in peers)
    return [
        f"| {part} | {count} | {np.mean([each.is_met for each in pulled]):.1%} "
        f"| {reached} | {sum(both) / max(reached, 1):.1%} "
        f"| {np.mean(np.array(more) <= AS_NEAR):.1%} | {_worst(pulled)} |",
        f"  {part}, short of SciPy: {', '.join(short) or 'none'}",
        f"  {part}, farther from the start than SciPy: {', '.join(farther) or 'none'}",
        f"  {part}, better than SciPy by more than 1e-3: {sum(np.array(more) < -AS_NEAR)}",
        f"  {part}, met and SciPy not: {sum(each.is_met for each in pulled) - sum(both)}",
    ]


def _worst(pulled: list[Pulled]) -> str:
    slips = max(each.residual[:2].max() for each in pulled) / HEIGHT
    turned = max(each.turned for each in pulled)
    past = max(each.past for each in pulled)
    return f"{slips:.1e} | {turned:.1e} | {past:.1e}"


def measure_paths(count: int) -> list[str]:
    """Return how fast joints move along smooth paths, and the steps in which they move faster."""
    person = make_person("hand.L")
    fast, lines, steps = {"met": 0, "edge": 0, "held back": 0}, [], 0
    of_kind = dict.fromkeys(fast, 0)
    options = SolveOptions(tolerance=1e-6, stays_near=True)
    for seed in range(count):
        path = smooth_path(person, seed)
        speeds, kinds = find_speeds(person, path, options)
        steps += len(speeds)
        for kind in fast:
            of_kind[kind] += int((kinds == kind).sum())
            fast[kind] += int(((speeds > FAST) & (kinds == kind)).sum())
        lines += [
            f"  path {seed} step {step}: {speeds[step]:.1f}, {kinds[step]}"
            for step in np.flatnonzero(speeds > FAST)
        ]
    all_fast = sum(fast.values())
    head = [f"{steps} steps, {1.0 - all_fast / steps:.2%} at most {FAST:g} times the target's"]
    head += [f"{kind}: {fast[kind]} too fast of {of_kind[kind]}" for kind in fast]
    return [*head, *lines]


def main(arguments: list[str]) -> None:
    """Print all, or pulls or paths, so many of them."""
    kind = arguments[0] if arguments else "all"
    count = int(arguments[1]) if len(arguments) > 1 else None
    if kind in ("all", "pulls"):
        print("| part | pulls | met | SciPy | of those met | as near | slip | turned | past |")
        print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
        for part in PARTS:
            print("\n".join(compare_pulls(part, count or PULLS)), flush=True)
    if kind in ("all", "paths"):
        print("\n".join(measure_paths(count or PATHS)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
