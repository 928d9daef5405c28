"""The five chains of the demonstration, named after the bones of Rigify's human metarig."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Limb:
    """One chain.

    Attributes:
        name: How tables and pictures call it.
        bones: Names of the bones that reach from its root to its effector, root first.
        end: Bone after them that takes the target's rotation: soles and the head stay level.
        has_pole: Whether a pole says where elbow or knee points.
        colour: Of its bones, its target and the target's path, "#rrggbb".
    """

    name: str
    bones: tuple[str, ...]
    end: str | None
    has_pole: bool
    colour: str


SPINE = tuple(f"spine.00{number}" for number in range(1, 6))

LIMBS = (
    Limb("spine", SPINE, "spine.006", has_pole=False, colour="#f2c14e"),
    Limb("left arm", ("upper_arm.L", "forearm.L"), None, has_pole=True, colour="#ff7a59"),
    Limb("right arm", ("upper_arm.R", "forearm.R"), None, has_pole=True, colour="#38c6d9"),
    Limb("left leg", ("thigh.L", "shin.L"), "foot.L", has_pole=True, colour="#e05c9a"),
    Limb("right leg", ("thigh.R", "shin.R"), "foot.R", has_pole=True, colour="#7f8cff"),
)
