"""The chains and targets that every solver gets, by one recipe.

Bones have unit length, the root is the origin, so a chain of n bones is n long. A case is named by
its size, "10 x 400" is 400 targets of one chain of ten bones. "climbing" chains lie in no plane:
most rigs are modelled flat, and posed ones are not.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

# The start pose is an arc that turns by this much from the first bone to the last.
TOTAL_TURN = math.pi / 3
# How far bones of a climbing start pose leave its plane, as a share of their length.
CLIMB = 0.3
SEED = 0


class Case(NamedTuple):
    """Joints of a start pose (n + 1, 3), and targets (m, 3), each solved for from that pose."""

    initial: Array
    targets: Array

    @classmethod
    def named(cls, name: str) -> Case:
        size, climb = split(name)
        bones, targets = size
        return cls(arc(bones, climb), targets_in_reach(bones, targets))


def split(name: str) -> tuple[list[int], float]:
    """Return the numbers of a name such as "1 x 4 x 2 climbing", and how far bones climb."""
    climb = CLIMB if name.endswith("climbing") else 0.0
    return [int(number) for number in name.replace("climbing", "").split("x")], climb


def arc(bones: int, climb: float = 0.0) -> Array:
    """Return the joints of a chain in the XY plane, evenly bent, the first bone along X.

    One that climbs is part of a helix.
    """
    angles = np.linspace(0.0, TOTAL_TURN, bones) if bones > 1 else np.zeros(1)
    flat = math.sqrt(1.0 - climb**2)
    steps = np.stack((flat * np.cos(angles), flat * np.sin(angles), np.full(bones, climb)), axis=1)
    return np.vstack((np.zeros(3), np.cumsum(steps, axis=0)))


def targets_in_reach(bones: int, count: int) -> Array:
    """Return targets that are uniform in a ball a little smaller than the chain's reach.

    The directions and the shares of the reach are the same for every bone count.
    """
    rng = np.random.default_rng(SEED)
    directions = rng.normal(size=(count, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    radius = 1.9 if bones == 2 else 0.9 * bones
    return radius * rng.random(count)[:, None] ** (1 / 3) * directions


def write(path: Path, names: list[str]) -> None:
    """Write cases as JSON, for solvers in other languages: name to initial and targets."""
    cases = {name: Case.named(name)._asdict() for name in names}
    path.write_text(json.dumps(cases, default=np.ndarray.tolist), encoding="utf-8")
