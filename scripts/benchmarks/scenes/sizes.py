"""How big the measured work is. No NumPy: the launcher reads it, too."""

from __future__ import annotations

import dataclasses

# How far bones of a start pose that does not lie in a plane climb out of it, as a share of their
# length: most rigs are modelled flat, and posed ones are not.
CLIMB = 0.3
# Name of a case -> bones of its chains, targets, and how far the start pose climbs out of its
# plane, if at all. One start pose is solved for every target.
CORE_CASES: dict[str, tuple[int, int] | tuple[int, int, float]] = {
    "one 10": (10, 100),
    "one 10 climbing": (10, 100, CLIMB),
    "one 50": (50, 100),
    "one 100": (100, 100),
    "2 x 1000": (2, 1000),
    "2 x 2000": (2, 2000),
    "2 x 10000": (2, 10000),
    "10 x 400": (10, 400),
    "10 x 800": (10, 800),
    "20 x 400": (20, 400),
}


@dataclasses.dataclass(frozen=True)
class Layout:
    """A scene of rigs: armatures with as many equal limbs each.

    Attributes:
        armatures: Armature objects, each with armature data of its own.
        limbs: Chains of one armature; more than one hang under a common root bone.
        bones: Bones of a limb, each one unit long.
        relative_tolerance: Accepted residual as a share of a limb's length.
        climb: How far bones climb out of the plane of their limb, as a share of their length.
    """

    armatures: int
    limbs: int
    bones: int
    relative_tolerance: float
    climb: float = 0.0

    @property
    def chains(self) -> int:
        """All limbs of the scene."""
        return self.armatures * self.limbs

    @property
    def tolerance(self) -> float:
        """Accepted residual in scene units."""
        return self.relative_tolerance * self.bones

    @property
    def has_root(self) -> bool:
        """Whether the limbs hang under a common bone."""
        return self.limbs > 1


# 5e-6 of a limb of two bones is a chain's default tolerance, 1e-5.
LAYOUTS: dict[str, Layout] = {
    "100 x 4 x 2": Layout(100, 4, 2, 5e-6),
    "50 x 4 x 2": Layout(50, 4, 2, 5e-6),
    "40 x 4 x 10": Layout(40, 4, 10, 1e-4),
    "40 x 4 x 10 climbing": Layout(40, 4, 10, 1e-4, CLIMB),
    "25 x 4 x 2": Layout(25, 4, 2, 5e-6),
    "25 x 4 x 10": Layout(25, 4, 10, 1e-4),
    "1 x 1 x 4": Layout(1, 1, 4, 1e-4),
    "1 x 4 x 10": Layout(1, 4, 10, 1e-4),
    "500 x 4 x 2": Layout(500, 4, 2, 5e-6),
    "1 x 4 x 2": Layout(1, 4, 2, 5e-6),
    "1 x 50": Layout(1, 1, 50, 1e-4),
    "1 x 50 climbing": Layout(1, 1, 50, 1e-4, CLIMB),
    "1 x 150": Layout(1, 1, 150, 1e-4),
    "1 x 300": Layout(1, 1, 300, 1e-4),
}
