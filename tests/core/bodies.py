"""A person with floating hips and human joint ranges, for goals with priorities."""

from dataclasses import dataclass

import numpy as np

from blender_ik_addon.core import Chain, JointKind, Joints, Topology
from tests.helpers import Array

HEIGHT = 1.7
WIDE = (178.0, 178.0, 178.0)
# Name, parent, offset from the parent's head, least and greatest turns in degrees; X points left.
TRUNK = (
    ("hips", "root", (0.0, 0.0, 0.0), (-178.0, -178.0, -178.0), WIDE),
    ("spine", "hips", (0.0, 0.12, 0.0), (-30, -30, -25), (45, 30, 25)),
    ("chest", "spine", (0.0, 0.18, 0.0), (-25, -35, -25), (35, 35, 25)),
    ("neck", "chest", (0.0, 0.25, 0.0), (-40, -60, -35), (40, 60, 35)),
)
SIDE = (
    ("clavicle", "chest", (0.03, 0.2, 0.0), (-10, -15, -20), (10, 15, 20)),
    ("arm", "clavicle", (0.14, 0.0, 0.0), (-90, -90, -100), (90, 90, 100)),
    ("forearm", "arm", (0.28, 0.0, 0.0), (-1, -140, -1), (1, 140, 1)),
    ("hand", "forearm", (0.26, 0.0, 0.0), (-60, -30, -80), (60, 30, 80)),
    ("thigh", "hips", (0.1, -0.05, 0.0), (-120, -45, -50), (40, 45, 50)),
    ("shin", "thigh", (0.0, -0.43, 0.0), (-1, -20, -1), (150, 20, 1)),
    ("foot", "shin", (0.0, -0.42, 0.0), (-50, -20, -25), (40, 20, 25)),
)
SOLES = (("foot.L", (0.0, -0.08, 0.0)), ("foot.R", (0.0, -0.08, 0.0)))
PARTS = {
    "hand.L": (0.1, 0.0, 0.0),
    "hand.R": (-0.1, 0.0, 0.0),
    "neck": (0.0, 0.2, 0.0),
    "hips": (0.0, 0.1, 0.0),
}
FEET = (True, True, False)


@dataclass(frozen=True)
class Person:
    """A tree whose first bone floats; its effectors are both feet, then the parts to pull.

    Heads of bones and ends of effectors are in the rest pose.
    """

    chain: Chain
    names: tuple[str, ...]
    heads: Array
    ends: Array


def make_person(*parts: str, floats: bool = True) -> Person:
    """Return an upright person with effectors on some parts, by default the left hand.

    If the person does not float, its root bone is fixed.
    """
    effectors = (*SOLES, *((name, PARTS[name]) for name in parts or ("hand.L",)))
    rows = [("root", "", (0.0, 1.0, 0.0), (-180.0,) * 3, (180.0,) * 3), *TRUNK]
    for side, sign in (("L", 1.0), ("R", -1.0)):
        for name, parent, (x, y, z), low, high in SIDE:
            above = parent if parent in ("chest", "hips") else f"{parent}.{side}"
            rows.append((f"{name}.{side}", above, (sign * x, y, z), low, high))
    names = tuple(row[0] for row in rows)
    parents = [names.index(parent) if parent else -1 for _, parent, *_ in rows]
    heads = np.array([row[2] for row in rows], dtype=float)
    for bone, parent in enumerate(parents):
        heads[bone] += heads[parent] if parent >= 0 else 0.0
    ends = np.array([heads[names.index(name)] + offset for name, offset in effectors])
    count = len(names)
    kinds = (JointKind.FLOATING if floats else JointKind.FIXED, *[JointKind.BALL] * (count - 1))
    low, high = (np.radians([row[column] for row in rows]) for column in (3, 4))
    unturned = np.tile((1.0, 0.0, 0.0, 0.0), (count, 1))
    joints = Joints(kinds, np.tile(np.eye(3), (count, 1, 1)), unturned, low, high)
    topology = Topology(parents, [names.index(name) for name, _ in effectors])
    chain = Chain(np.concatenate((heads, ends)), joints=joints, topology=topology)
    return Person(chain, names, heads, ends)
