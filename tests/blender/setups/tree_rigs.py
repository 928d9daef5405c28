"""Rigs whose chains share bones, a Y and a spine with two arms, and checks of them."""

from dataclasses import dataclass
from typing import Any, Self

import bpy
import numpy as np

from blender_ik_addon.rig.frames import bases
from tests.blender.setups import rigs
from tests.blender.setups.jointed_rigs import tails_at, turn
from tests.helpers import make_rng

SOLVERS = ("NEWTON", "FABRIK")
TRUNK = ((0.0, 0.0, 0.0), (0.0, 0.08, 0.5), (0.0, 0.0, 1.0))
LEFT = ((0.0, 0.0, 1.0), (0.4, -0.06, 1.2), (0.8, 0.0, 1.4))
RIGHT = ((0.0, 0.0, 1.0), (-0.4, -0.06, 1.2), (-0.8, 0.0, 1.4))


@dataclass
class Rig:
    """An armature object and the tip bones of its chains, by chain name.

    ``length`` is that of the longest path of bones from the root to a tip, in scene units.
    """

    ob: bpy.types.Object
    tips: dict[str, str]
    length: float

    def chain(self, name: str) -> bpy.types.PropertyGroup:
        return self.ob.chain_ik.chains[name]

    def target(self, name: str) -> bpy.types.Object:
        return bpy.data.objects[f"{self.ob.name} {name}"]

    def follow(self, **settings: object) -> Self:
        """Add a chain up to the root and a target at the tail for every tip; return the rig."""
        for name, tip in self.tips.items():
            target = rigs.make_empty(f"{self.ob.name} {name}", rigs.tail(self.ob, tip))
            rigs.add_chain(self.ob, tip, target, name=name, tolerance=1e-7, **settings)
        rigs.updated()
        return self

    def gaps(self, depsgraph: bpy.types.Depsgraph | None = None) -> dict[str, float]:
        return {
            name: float(
                np.linalg.norm(
                    rigs.tail(self.ob, tip, depsgraph) - rigs.position(self.target(name), depsgraph)
                )
            )
            for name, tip in self.tips.items()
        }

    def assert_reached(self, miss: float = 1e-6) -> None:
        """Check that all tips are at their targets; ``miss`` is a share of the length."""
        depsgraph = rigs.updated()
        for name, gap in self.gaps(depsgraph).items():
            assert gap <= miss * self.length, (name, gap / self.length, self.chain(name).status)

    def place(self, seed: int, angle: float = 0.5) -> None:
        """Place the targets at the tips of a random pose, so that all can be reached."""
        rng, world = make_rng(seed), np.array(self.ob.matrix_world)
        turns = [turn(rng.normal(size=3), rng.uniform(-angle, angle)) for _ in self.ob.data.bones]
        for name, tail in zip(
            self.tips, tails_at(self.ob, turns, *self.tips.values()), strict=True
        ):
            self.target(name).location = world[:3, :3] @ tail + world[:3, 3]


def make_y(name: str = "Y", *, has_root: bool = False, **bones: object) -> Rig:
    """Return a trunk of two bones with two limbs of two bones, below an optional root bone."""
    ob = rigs.make_armature(name)
    if has_root:
        rigs.add_bones(ob, ((0, 0, -0.5), (0, 0.1, 0)), prefix="Root")
    rigs.add_bones(ob, TRUNK, prefix="Trunk", parent="Root.0" if has_root else "", **bones)
    rigs.add_bones(ob, LEFT, prefix="Left", parent="Trunk.1", **bones)
    rigs.add_bones(ob, RIGHT, prefix="Right", parent="Trunk.1", **bones)
    return Rig(ob, {"Left": "Left.1", "Right": "Right.1"}, 1.9)


def make_body(name: str = "Body") -> Rig:
    """Return a spine of four bones with two arms of collarbone, upper arm, forearm and hand."""
    ob = rigs.make_armature(name)
    spine = ((0, 0, 1), (0, 0.04, 1.15), (0, 0.03, 1.3), (0, -0.02, 1.42), (0, 0, 1.5))
    rigs.add_bones(ob, spine, prefix="Spine")
    tips = {}
    for side, word in ((1.0, "L"), (-1.0, "R")):
        points = np.array(
            [
                (0.02, 0.06, 1.5),
                (0.17, -0.05, 1.52),
                (0.44, -0.09, 1.36),
                (0.67, -0.02, 1.22),
                (0.75, 0.02, 1.17),
            ]
        ) * (side, 1.0, 1.0)
        names = rigs.add_bones(ob, points, prefix=f"Arm.{word}", parent="Spine.3")
        tips[f"Arm.{word}"] = names[-1]
    return Rig(ob, tips, 1.5)


RIGS = {"Y": make_y, "body": make_body}


def in_armatures(monkeypatch: Any) -> None:
    """Solve all trees in the spaces of their armatures, not of their root bones."""
    monkeypatch.setattr(bases, "MAX_UNEVENNESS", -1.0)
