"""Save what the core solves, and compare another checkout's poses with it.

    python -m tests.core.saved_poses save out/poses.npz            of the checkout on the path
    python -m tests.core.saved_poses compare out/poses.npz         with the checkout on the path
    python -m tests.core.saved_poses compare out/poses.npz --group limited --count 20

Equal are poses whose bones turn within 1e-5 rad and whose points lie within 1e-5 of the length.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from blender_ik_addon.core import Goals, Solutions, bone_rotations, solve_batch
from tests.core.chains import unit
from tests.core.limited_rigs import at_rest, multiply
from tests.core.pose_cases import COUNT, Case, all_cases, parents_of

Array = npt.NDArray[np.float64]
CONJUGATE = np.array([1.0, -1.0, -1.0, -1.0])
EQUAL = 1e-5
# Residuals are the same within this share of the length; targets are met to a millionth.
SAME, ARRIVED = 1e-6, 1.01e-6
# Radians of tip turns and poles that count as another answer.
AIMED = 1e-3
# Joints off the line from root to tip, as a share of it, that give a chain no side.
STRAIGHT = 1e-4
# Rows of each case that are also solved one by one.
ALONE = 5
LISTED = 25


class Poses(NamedTuple):
    """What has become of B chains.

    Attributes:
        joints: Shape (B, n + E, 3).
        turns: Of bones from where they start, seen from their parents, wxyz, (B, n, 4).
        residual: Largest of a chain's effectors, as all that follows of shape (B,).
        status: The code of that effector.
        iterations: Used.
        length: All bones together.
        aim: Radians that are left to tip turns, and of chains to their poles.
    """

    joints: Array
    turns: Array
    residual: Array
    status: Array
    iterations: Array
    length: Array
    aim: Array


def solved(case: Case) -> Iterator[tuple[str, Poses]]:
    """Solve a case in one call, and its first chains one by one."""
    yield f"{case.name}/together", _solve(case, np.arange(len(case.chains)))
    rows = [_solve(case, np.array([row])) for row in range(min(ALONE, len(case.chains)))]
    yield f"{case.name}/alone", Poses(*(np.concatenate(each) for each in zip(*rows, strict=True)))


def _solve(case: Case, rows: npt.NDArray[np.int64]) -> Poses:
    chains = case.chains.take(rows)
    found = solve_batch(chains, case.goals.take(rows), case.options)
    residual, status = found.residual.reshape(len(rows), -1), found.status_code
    worst = np.arange(len(rows)), residual.argmax(axis=1)
    return Poses(
        found.joint_positions,
        _turns(case, rows, found),
        residual[worst],
        status.reshape(residual.shape)[worst],
        found.iterations,
        chains.max_reach,
        _aims_left(case.goals.take(rows), found, is_tree=chains.topology is not None),
    )


def _aims_left(goals: Goals, found: Solutions, *, is_tree: bool) -> Array:
    """Return the radians that are left to what is asked besides positions, (B,)."""
    points, gaps = found.joint_positions, np.abs(np.atleast_1d(found.tip_gap))
    left: Array = np.zeros(len(points)) + gaps.reshape(len(gaps), -1).max(axis=1)
    if goals.pole_position is None or goals.tip_rotation_wxyz is not None or is_tree:
        return left
    root, chord = points[:, :1], unit(points[:, -1] - points[:, 0])
    side, pole = (points[:, 1:-1] - root).sum(axis=1), goals.pole_position - root[:, 0]
    side, pole = (v - chord * (v * chord).sum(axis=1, keepdims=True) for v in (side, pole))
    sine = (chord * np.cross(pole, side)).sum(axis=1)
    angle = np.arctan2(sine, (pole * side).sum(axis=1)) - goals.pole_angle
    # A straight chain has no side.
    is_bent = np.linalg.norm(side, axis=1) > STRAIGHT * np.linalg.norm(points[:, -1] - root[:, 0])
    return left + is_bent * np.abs((angle + np.pi) % (2.0 * np.pi) - np.pi)


def _turns(case: Case, rows: npt.NDArray[np.int64], found: Solutions) -> Array:
    """Return how bones have turned from where they start, seen from their parents."""
    chains = case.chains.take(rows)
    if found.local_rotations_wxyz is not None:
        start = at_rest(chains.bone_count)
        if chains.joints is not None:
            start = chains.joints.start_wxyz
        return multiply(start * CONJUGATE, found.local_rotations_wxyz)
    if chains.topology is not None or str(case.options.solver) == "FOLLOW":
        return np.broadcast_to(at_rest(chains.bone_count), (len(rows), chains.bone_count, 4))
    whole = bone_rotations(chains, found)
    above = list(parents_of(chains))
    before = np.concatenate((whole, np.broadcast_to(at_rest(1), (len(rows), 1, 4))), axis=1)
    return multiply(before[:, above] * CONJUGATE, whole)


def solve_all(cases: Iterable[Case], group: str = "") -> dict[str, Poses]:
    """Return the poses of all cases whose names contain a text."""
    return {name: poses for case in cases if group in case.name for name, poses in solved(case)}


def save(file: Path, found: dict[str, Poses]) -> None:
    """Write poses."""
    file.parent.mkdir(parents=True, exist_ok=True)
    arrays = {
        f"{name}|{key}": array
        for name, poses in found.items()
        for key, array in poses._asdict().items()
    }
    np.savez_compressed(file, **arrays)


def load(file: Path) -> dict[str, Poses]:
    """Read poses."""
    found: dict[str, dict[str, Array]] = defaultdict(dict)
    with np.load(file) as arrays:
        for key in arrays.files:
            name, field = key.rsplit("|", 1)
            found[name][field] = arrays[key]
    return {name: Poses(**fields) for name, fields in found.items()}


class Counts(NamedTuple):
    """Chains by what has become of them, the reference's first; see ``report``."""

    rows: int = 0
    arrived_before: int = 0
    arrived: int = 0
    equal: int = 0
    nearer: int = 0
    farther: int = 0
    better: int = 0
    same: int = 0
    worse: int = 0
    aims_lost: int = 0
    aims_won: int = 0
    iterations_before: int = 0
    iterations: int = 0


def compare(before: Poses, after: Poses) -> tuple[Counts, Array]:
    """Return the counts, and how bad each row is (B,): 0 for one that is no worse.

    Of what arrives in both it is how much farther from the start the pose lies, in radians; of
    the rest by how much the residual is larger, in lengths; lost arrivals count for one more.
    """
    off, off_before = after.residual / after.length, before.residual / before.length
    has, had = off <= ARRIVED, off_before <= ARRIVED
    both, rest = has & had, ~(has & had)
    turned = _angles(multiply(before.turns * CONJUGATE, after.turns)).max(axis=1)
    apart = np.linalg.norm(after.joints - before.joints, axis=-1).max(axis=1) / after.length
    is_equal = both & (turned <= EQUAL) & (apart <= EQUAL)
    way, way_before = (np.sqrt((_angles(p.turns) ** 2).sum(axis=1)) for p in (after, before))
    is_nearer = both & ~is_equal & (way <= way_before)
    is_farther = both & ~is_equal & ~is_nearer
    is_better, is_worse = rest & (off < off_before - SAME), rest & (off > off_before + SAME)
    masks = (had, has, is_equal, is_nearer, is_farther, is_better)
    masks += (rest & ~is_better & ~is_worse, is_worse)
    masks += (after.aim > before.aim + AIMED, before.aim > after.aim + AIMED)
    bad = np.where(is_farther, way - way_before, 0.0) + np.where(is_worse, off - off_before, 0.0)
    bad += had & ~has
    sums = (int(mask.sum()) for mask in masks)
    used = (int(each.iterations.sum()) for each in (before, after))
    return Counts(len(has), *sums, *used), bad


def _angles(turns: Array) -> Array:
    vector = np.linalg.norm(turns[..., 1:], axis=-1)
    angles: Array = 2.0 * np.arctan2(vector, np.abs(turns[..., 0]))
    return angles


def report(before: dict[str, Poses], after: dict[str, Poses], depth: int = 1) -> list[str]:
    """Return a table by the first parts of the cases' names, and the worst chains.

    Of chains that arrive in both it tells whose poses are equal, nearer to the start or farther;
    of all others whose residuals are smaller, the same or larger.
    """
    totals: dict[str, Counts] = defaultdict(Counts)
    worst: list[tuple[float, str]] = []
    for name in before.keys() & after.keys():
        counts, bad = compare(before[name], after[name])
        parts = name.split("/")
        for key in ("/".join((*parts[:depth], parts[-2])), "all"):
            totals[key] = Counts(*map(sum, zip(totals[key], counts, strict=True)))
        worst += [(float(each), f"{name} {row}") for row, each in enumerate(bad) if each > 0.0]
    titles = [field.replace("_", " ") for field in Counts._fields]
    lines = [f"| cases | {' | '.join(titles)} |", "|---|" + "---:|" * len(titles)]
    lines += [f"| {key} | {' | '.join(map(str, totals[key]))} |" for key in sorted(totals)]
    lines += ["", f"Worse: {len(worst)}, of which the worst:"]
    lines += [f"- {bad:.2e} {name}" for bad, name in sorted(worst, reverse=True)[:LISTED]]
    lost = sorted(before.keys() ^ after.keys())
    return [*lines, *(f"- in one of both only: {name}" for name in lost)]


def main() -> None:
    """Save or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", choices=("save", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--group", default="", help="a part of the cases' names")
    parser.add_argument("--count", type=int, default=COUNT, help="chains of each case")
    options = parser.parse_args()
    found = solve_all(all_cases(options.count), options.group)
    if options.work == "save":
        save(options.file, found)
        print(f"{len(found)} cases, {sum(len(p.residual) for p in found.values())} poses")
        return
    before = {name: each for name, each in load(options.file).items() if options.group in name}
    print("\n".join(report(before, found)))


if __name__ == "__main__":
    sys.exit(main())
