"""Chains and targets for every solver, made by one recipe.

Bones have unit length and the root is the origin, so a chain of n bones has length n. The name of
a case is its size: "10 x 400" is 400 targets of one chain of ten bones. "climbing" chains are not
planar: most rigs are modelled flat, but posed rigs are not.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

# Turn of the start pose, an arc, from the first bone to the last, radians.
TOTAL_TURN = math.pi / 3
# Step of a bone out of the plane in a climbing start pose, as a share of its length.
CLIMB = 0.3
SEED = 0


class Case(NamedTuple):
    """Joints of a start pose (n + 1, 3), and targets (m, 3), each to solve from that pose."""

    initial: Array
    targets: Array

    @classmethod
    def named(cls, name: str) -> Case:
        size, climb = parse_size(name)
        bones, targets = size
        return cls(make_arc(bones, climb), draw_targets(bones, targets))


def parse_size(name: str) -> tuple[list[int], float]:
    """Return the numbers in a name like "1 x 4 x 2 climbing", and the climb of the bones."""
    climb = CLIMB if name.endswith("climbing") else 0.0
    return [int(number) for number in name.replace("climbing", "").split("x")], climb


def make_arc(bones: int, climb: float = 0.0) -> Array:
    """Return the joints of an evenly bent chain in the XY plane, the first bone along X.

    With a climb, the chain is part of a helix.
    """
    angles = np.linspace(0.0, TOTAL_TURN, bones) if bones > 1 else np.zeros(1)
    flat = math.sqrt(1.0 - climb**2)
    steps = np.stack((flat * np.cos(angles), flat * np.sin(angles), np.full(bones, climb)), axis=1)
    return np.vstack((np.zeros(3), np.cumsum(steps, axis=0)))


def draw_targets(bones: int, count: int) -> Array:
    """Return targets that are uniform in a ball a little smaller than the chain's reach.

    Directions and shares of the reach are the same for every number of bones.
    """
    rng = np.random.default_rng(SEED)
    directions = rng.normal(size=(count, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    radius = 1.9 if bones == 2 else 0.9 * bones
    return radius * rng.random(count)[:, None] ** (1 / 3) * directions


def write_cases(path: Path, names: list[str]) -> None:
    """Write cases as JSON for solvers in other languages: name -> initial and targets."""
    cases = {name: Case.named(name)._asdict() for name in names}
    path.write_text(json.dumps(cases, default=np.ndarray.tolist), encoding="utf-8")
