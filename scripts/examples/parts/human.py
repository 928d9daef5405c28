"""A person of 1.77 m who looks along -Y: bones, body, and the chains of arms and legs."""

from __future__ import annotations

import math

import bpy

from examples.parts import bodies, rigs
from examples.parts.bodies import Stick
from examples.parts.rigs import Bone, Point

FRONT, BACK = (0.0, -1.0, 0.0), (0.0, 1.0, 0.0)
SIDES = {"L": 1.0, "R": -1.0}

# Metres, left side; the right side is its mirror image.
_MIDDLE = {
    "hips": Bone((0.0, 0.0, 0.94), (0.0, 0.0, 1.06)),
    "spine": Bone((0.0, 0.0, 1.06), (0.0, 0.01, 1.25), "hips"),
    "chest": Bone((0.0, 0.01, 1.25), (0.0, 0.02, 1.46), "spine"),
    "neck": Bone((0.0, 0.02, 1.46), (0.0, 0.0, 1.56), "chest"),
    "head": Bone((0.0, 0.0, 1.56), (0.0, 0.0, 1.77), "neck"),
}
# Bone, and radii at its head and tail.
_SIDE = {
    "shoulder": (Bone((0.02, 0.0, 1.43), (0.17, 0.01, 1.43), "chest"), 0.05, 0.062),
    "upper_arm": (Bone((0.17, 0.01, 1.43), (0.30, 0.04, 1.165), "shoulder", FRONT), 0.052, 0.043),
    "forearm": (Bone((0.30, 0.04, 1.165), (0.39, -0.03, 0.925), "upper_arm", FRONT), 0.043, 0.03),
    "hand": (Bone((0.39, -0.03, 0.925), (0.42, -0.07, 0.79), "forearm", FRONT), 0.036, 0.026),
    "thigh": (Bone((0.09, 0.0, 0.92), (0.10, -0.02, 0.50), "hips", BACK), 0.088, 0.058),
    "shin": (Bone((0.10, -0.02, 0.50), (0.10, 0.03, 0.09), "thigh", BACK), 0.057, 0.038),
    "foot": (Bone((0.10, 0.03, 0.09), (0.11, -0.11, 0.025), "shin"), 0.042, 0.034),
    "toes": (Bone((0.11, -0.11, 0.025), (0.11, -0.18, 0.025), "foot"), 0.033, 0.022),
}


def add_person(name: str) -> bpy.types.Object:
    """Return the rig of a person without body and chains, with hinges at elbows and knees."""
    table = dict(_MIDDLE)
    for side in SIDES:
        for part, (bone, *_) in _SIDE.items():
            parent = f"{bone.parent}.{side}" if bone.parent in _SIDE else bone.parent
            table[f"{part}.{side}"] = Bone(*_ends(bone, side), parent, bone.bends_to)
    rig = rigs.add_rig(name, table)
    for side in SIDES:
        for name, low, high in ((f"forearm.{side}", -20.0, 130.0), (f"shin.{side}", -9.0, 140.0)):
            bone = rig.pose.bones[name]
            bone.lock_ik_y = bone.lock_ik_z = bone.use_ik_limit_x = True
            bone.ik_min_x, bone.ik_max_x = math.radians(low), math.radians(high)
    return rig


def add_arm(rig: bpy.types.Object, side: str, control: str = "BONE") -> bpy.types.PropertyGroup:
    """Add a Two-Bone chain with target, pole and hand to an arm, and return it."""
    bones = [f"{part}.{side}" for part in ("upper_arm", "forearm", "hand")]
    rigs.colour_chain(rig, bones, "THEME04" if side == "L" else "THEME03")
    options = {"solver": "TWO_BONE", "use_pole": True, "control": control}
    return rigs.add_chain(rig, f"Arm.{side}", bones, **options)


def make_whole_body(rig: bpy.types.Object) -> None:
    """Set up the limbs of a person, who is the active object, as one body with pinned feet."""
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.pose.chain_ik_setup(control="BONE")
    bpy.ops.pose.chain_ik_body(control="BONE")
    bpy.ops.object.mode_set(mode="OBJECT")


def limb_colours() -> dict[str, str]:
    """Return the colours of the bones of arms and legs by name, one colour per side."""
    colours = {"L": "chain", "R": "second"}
    return {f"{part}.{side}": colours[side] for side in SIDES for part in _SIDE}


def add_body(rig: bpy.types.Object, colours: dict[str, str], round_: int = bodies.ROUND) -> None:
    """Add a simple body to a person, with special colours of some bones."""
    sticks = [
        Stick("hips", (-0.075, 0.0, 0.95), (0.075, 0.0, 0.95), 0.105, flat=0.9),
        Stick("spine", (0.0, 0.0, 1.04), (0.0, 0.01, 1.22), 0.115, 0.125),
        Stick("chest", (-0.055, 0.015, 1.34), (0.055, 0.015, 1.34), 0.125),
        Stick("neck", (0.0, 0.02, 1.42), (0.0, 0.005, 1.58), 0.058, 0.052),
        Stick("head", (0.0, -0.005, 1.635), (0.0, 0.0, 1.68), 0.078, 0.092),
    ]
    for side, sign in SIDES.items():
        for part, (bone, *radii) in _SIDE.items():
            name = f"{part}.{side}"
            sticks.append(Stick(name, *_ends(bone, side), *radii, colours.get(name, "body")))
        sticks.append(Stick("head", *[(sign * 0.033, -0.083, 1.665)] * 2, 0.013, colour="dark"))
    bodies.add_body(rig, sticks, round_)


def _ends(bone: Bone, side: str) -> list[Point]:
    """Return head and tail of a bone on one side."""
    return [(SIDES[side] * x, y, z) for x, y, z in (bone.head, bone.tail)]
