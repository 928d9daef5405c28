"""Robots whose bones slide, and how far Blender's evaluated bones have slid."""

import bpy
import numpy as np

from tests.blender.setups import rigs
from tests.blender.setups.jointed_rigs import against_rest, give
from tests.helpers import Array

LOW, HIGH = -0.4, 0.5
INSIDE, BEYOND, SHORT = 0.2, 0.9, -0.9
"""Slides that a target may ask for: within the range, beyond its end, before its beginning."""
READ_BACK = 1e-6
"""What float32 matrices may tell wrong of a unit length."""


def robot(
    slide: float = INSIDE, name: str = "Rig", **settings: object
) -> tuple[bpy.types.Object, bpy.types.Object, bpy.types.PropertyGroup]:
    """Return a rotating base, a shoulder of 120 degrees each way, and an arm that only slides.

    The bones stand on each other up Z, each of length one; the target asks for a slide.
    """
    ob = rigs.make_rig([(0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 0, 3)], name, is_connected=False)
    target, chain = rigs.follow(ob, "Bone.2", place(slide), empty=f"{name} Target", **settings)
    give(chain, "Bone.0", "HINGE_Y")
    give(chain, "Bone.1", "HINGE_X", x=(-120, 120))
    give(chain, "Bone.2", "FIXED", use_slide=True, slide_min=LOW, slide_max=HIGH)
    rigs.updated()
    return ob, target, chain


def place(slide: float, turn: float = 0.7, bend: float = 0.9) -> Array:
    """Return where the robot's tip stands, by its own arithmetic."""
    across, up = (2.0 + slide) * np.sin(bend), 1.0 + (2.0 + slide) * np.cos(bend)
    return np.array([across * np.cos(turn), across * np.sin(turn), up])


def moved(ob: bpy.types.Object, bone: str, depsgraph: bpy.types.Depsgraph | None = None) -> Array:
    """Return how far an evaluated head has left its rest place, in the bone's rest axes, (3,).

    From pose matrices alone, in the space of the posed parent: what a local location would say.
    """
    return against_rest(ob, bone, depsgraph)[:3, 3]


def locations(ob: bpy.types.Object) -> Array:
    """Return what the location channels of the original's bones hold, shape (n, 3)."""
    return np.array([bone.location for bone in ob.pose.bones])


def assert_lands(ob: bpy.types.Object, chain: bpy.types.PropertyGroup, tip: str = "Bone.2") -> None:
    rigs.assert_reaches(ob, tip, chain.target)
    assert chain.status.startswith("Reached"), chain.status
