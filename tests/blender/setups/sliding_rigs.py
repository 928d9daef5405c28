"""Robots with sliding bones, and the slides of Blender's evaluated bones."""

import bpy
import numpy as np

from tests.blender.setups import rigs
from tests.blender.setups.jointed_rigs import add_joint, against_rest
from tests.helpers import Array

LOW, HIGH = -0.4, 0.5
INSIDE, BEYOND, SHORT = 0.2, 0.9, -0.9
"""Slides that a target needs: within the range, above its maximum, below its minimum."""
READ_ERROR = 1e-6
"""Tolerance of slides that are read from float32 matrices, in scene units."""


def robot(
    slide: float = INSIDE, name: str = "Rig", **settings: object
) -> tuple[bpy.types.Object, bpy.types.Object, bpy.types.PropertyGroup]:
    """Return a robot, its target and its chain: a rotating base, a shoulder, and a sliding arm.

    The shoulder turns 120 degrees each way. The bones form a line up Z, each of length one.
    """
    ob = rigs.make_rig([(0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 0, 3)], name, is_connected=False)
    target, chain = rigs.follow(ob, "Bone.2", place(slide), empty=f"{name} Target", **settings)
    add_joint(chain, "Bone.0", "HINGE_Y")
    add_joint(chain, "Bone.1", "HINGE_X", x=(-120, 120))
    add_joint(chain, "Bone.2", "FIXED", use_slide=True, slide_min=LOW, slide_max=HIGH)
    rigs.updated()
    return ob, target, chain


def place(slide: float, turn: float = 0.7, bend: float = 0.9) -> Array:
    """Return the position of the robot's tip, computed from slide, turn and bend."""
    across, up = (2.0 + slide) * np.sin(bend), 1.0 + (2.0 + slide) * np.cos(bend)
    return np.array([across * np.cos(turn), across * np.sin(turn), up])


def moved(ob: bpy.types.Object, bone: str, depsgraph: bpy.types.Depsgraph | None = None) -> Array:
    """Return the offset of an evaluated head from its rest place, in the bone's rest axes, (3,).

    It is computed from pose matrices alone, relative to the posed parent, as a local location is.
    """
    return against_rest(ob, bone, depsgraph)[:3, 3]


def locations(ob: bpy.types.Object) -> Array:
    """Return the location channels of the original object's bones, shape (n, 3)."""
    return np.array([bone.location for bone in ob.pose.bones])


def assert_lands(ob: bpy.types.Object, chain: bpy.types.PropertyGroup, tip: str = "Bone.2") -> None:
    rigs.assert_reaches(ob, tip, chain.target)
    assert chain.status.startswith("Reached"), chain.status
