"""The chains and targets that every solver gets, by one recipe.

    python -m benchmarks.scenes.cases FILE     writes all cases as JSON, for solvers in any language

Bones have unit length, the root is the origin, so a chain of n bones is n long.
"""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.scenes.sizes import CORE_CASES

Array = npt.NDArray[np.float64]

# The start pose is an arc that turns by this much from the first bone to the last.
TOTAL_TURN = math.pi / 3
SEED = 0


@dataclasses.dataclass(frozen=True)
class Case:
    """One start pose and the targets that it is solved for, each from that pose.

    Attributes:
        initial: Joints of the start pose, shape (n + 1, 3).
        targets: Shape (m, 3).
    """

    initial: Array
    targets: Array

    @property
    def bones(self) -> int:
        """How many bones the chain has; its length too."""
        return len(self.initial) - 1

    @classmethod
    def of_size(cls, bones: int, targets: int, climb: float = 0.0) -> Case:
        """Return the case of so many bones and targets."""
        return cls(arc(bones, climb), targets_in_reach(bones, targets))


def arc(bones: int, climb: float = 0.0) -> Array:
    """Return the joints of a chain in the XY plane, evenly bent, the first bone along X.

    Args:
        bones: How many.
        climb: How far each climbs out of that plane; with some, the chain is part of a helix.
    """
    angles = np.linspace(0.0, TOTAL_TURN, bones) if bones > 1 else np.zeros(1)
    flat = math.sqrt(1.0 - climb**2)
    steps = np.stack((flat * np.cos(angles), flat * np.sin(angles), np.full(bones, climb)), axis=1)
    return np.vstack((np.zeros(3), np.cumsum(steps, axis=0)))


def targets_in_reach(bones: int, count: int, seed: int = SEED) -> Array:
    """Return targets that are uniform in a ball a little smaller than the chain's reach.

    The directions and the shares of the reach are the same for every bone count.
    """
    rng = np.random.default_rng(seed)
    directions = rng.normal(size=(count, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    radius = 1.9 if bones == 2 else 0.9 * bones
    return radius * rng.random(count)[:, None] ** (1 / 3) * directions


def write(path: Path) -> None:
    """Write all cases of the core's rows: name to bones, initial and targets."""
    cases = {name: Case.of_size(*size) for name, size in CORE_CASES.items()}
    text = json.dumps(
        {
            name: {
                "bones": case.bones,
                "initial": case.initial.tolist(),
                "targets": case.targets.tolist(),
            }
            for name, case in cases.items()
        }
    )
    path.write_text(text, encoding="utf-8")


def read(path: Path) -> dict[str, Case]:
    """Read what `write` has written."""
    cases = json.loads(path.read_text(encoding="utf-8"))
    return {
        name: Case(np.array(case["initial"]), np.array(case["targets"]))
        for name, case in cases.items()
    }


if __name__ == "__main__":
    write(Path(sys.argv[1]))
