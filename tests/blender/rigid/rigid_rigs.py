"""Random chains of rigid bones in numbers, under all kinds of parents.

Chains of one *kind* are solved side by side where there are several.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import bpy
import numpy as np
import numpy.typing as npt

from tests.blender.rigid.rigid_goals import STRAIGHT, Joints, Kind, follow
from tests.blender.setups import rigs, scaled_rigs
from tests.core.chains import random_direction, unit
from tests.helpers import make_rng

Array = npt.NDArray[np.float64]

INHERIT = ("FULL", "FIX_SHEAR", "AVERAGE", "NONE", "NONE_LEGACY", "ALIGNED")
COUNTS = {"TWO_BONE": (2,), "NEWTON": (1, 2, 3, 7), "FABRIK": (1, 2, 3, 7), "CCD": (1, 2, 3, 7)}
# An armature object looks at all of its chains whenever one of them is set up.
ON_ONE_RIG = 12
PARENTS = ("", "Turned", "Scaled")
WORLDS = ("turned", "scaled", "uneven", "mirrored", "turned out", "sheared", "twice mirrored")


def kinds(seed: int, share: float = 1.0) -> list[Kind]:
    """Return a random share of all kinds, with random rotation modes."""
    rng, found = make_rng(seed), []
    for solver, counts in COUNTS.items():
        for count in counts:
            for has_pole, use_tail in ((False, False), (False, True), (True, False), (True, True)):
                for weight in (None, 0.0, 1.0):
                    # Two-Bone needs two bones besides a tip bone that is turned.
                    is_turned = solver == "TWO_BONE" and use_tail and weight == 1.0
                    kind = Kind(solver, count + is_turned, has_pole, use_tail, weight)
                    if rng.random() < share:
                        found.append(Kind(**{**vars(kind), "modes": _modes(rng, kind.bones)}))
    return found


def _modes(rng: np.random.Generator, count: int) -> tuple[str, ...]:
    """Return the same rotation mode for all bones, or one for each."""
    if rng.random() < 0.4:
        return ("QUATERNION",) * count
    return tuple(rng.choice(rigs.ROTATION_MODES, count if rng.random() < 0.7 else 1))


@dataclass(frozen=True)
class Limb:
    """A chain, by names.

    Attributes:
        rig: Name of the armature object.
        bones: Root first, and a tip beyond the effector last.
        kind: What others have in common with it.
        index: Of the chain in the object's list.
    """

    rig: str
    bones: tuple[str, ...]
    kind: Kind
    index: int

    @property
    def object(self) -> bpy.types.Object:
        """The armature object."""
        return bpy.data.objects[self.rig]

    @property
    def settings(self) -> bpy.types.PropertyGroup:
        """The chain's settings."""
        return self.object.chain_ik.chains[self.index]

    @property
    def key(self) -> tuple[int, int]:
        """What the solver's memory tells it by."""
        return self.object.session_uid, self.index


def build(
    of_kinds: Sequence[Kind],
    copies: int,
    seed: int,
    *,
    is_keyed: bool = False,
    is_planar: bool = False,
) -> list[Limb]:
    """Return limbs of so many chains of each kind, posed, with targets and poles; not solved yet.

    Args:
        of_kinds: What to build.
        copies: Chains of each kind, every one on another armature object.
        seed: Of everything that is random.
        is_keyed: Whether the bones' rotations are keyed.
        is_planar: Whether each chain lies in a plane, at rest.
    """
    rng = make_rng(seed)
    bpy.context.scene.chain_ik.use_live = False
    parts = [of_kinds[i : i + ON_ONE_RIG] for i in range(0, len(of_kinds), ON_ONE_RIG)]
    limbs = []
    for number, part in enumerate(part for _ in range(copies) for part in parts):
        ob = rigs.make_armature(f"Rig {number}")
        names = _add_bones(ob, part, rng, is_planar=is_planar)
        _pose(ob, part, names, rng, is_planar=is_planar)
        place(ob, WORLDS[(number + seed) % len(WORLDS)], rng)
        if not is_planar:
            rigs.turn_bones(ob, seed=1000 * seed + number, angle=0.6)
        if is_keyed:
            rigs.key_bones(ob, seed=1000 * seed + number)
        joints = Joints(ob)
        for kind, bones in zip(part, names, strict=True):
            limbs.append(Limb(ob.name, tuple(bones), kind, len(ob.chain_ik.chains)))
            follow(ob, bones, kind, joints, rng)
    bpy.context.scene.chain_ik.use_live = True
    return limbs


def _add_bones(
    ob: bpy.types.Object, of_kinds: Sequence[Kind], rng: np.random.Generator, *, is_planar: bool
) -> list[list[str]]:
    """Add parents, and a chain of bones of each kind; return the chains' names, root first."""
    rigs.enter(ob, "EDIT")
    for name in PARENTS[1:]:
        bone = ob.data.edit_bones.new(name)
        bone.tail = (0.1, 0.2, 0.5)
    names = [_add_chain(ob, i, kind, rng, is_planar=is_planar) for i, kind in enumerate(of_kinds)]
    bpy.ops.object.mode_set(mode="OBJECT")
    return names


def _add_chain(
    ob: bpy.types.Object, number: int, kind: Kind, rng: np.random.Generator, *, is_planar: bool
) -> list[str]:
    bones, count = ob.data.edit_bones, kind.bones
    lengths = rng.uniform(0.3, 1.2, count)
    if rng.random() < 0.3:
        lengths[rng.integers(count)] *= 6.0
    is_straight = rng.random() < 0.2
    askew = 0.0 if is_straight else 0.4
    steps = lengths[:, None] * unit(rng.normal(size=(count, 3)) * askew + random_direction(rng))
    above = bones.get(str(rng.choice(PARENTS)))
    if is_planar:
        normal = random_direction(rng)
        steps -= np.outer(steps @ normal, normal)
    _turn_from_back(steps, np.array([0.0, 1.0, 0.0] if above is None else above.vector))
    heads = rng.uniform(-1.0, 1.0, 3) + np.vstack((np.zeros(3), np.cumsum(steps, axis=0)))
    is_connected = rng.random() < 0.5 or is_planar
    names = []
    for i in range(count):
        bone = bones.new(f"{STRAIGHT if is_straight else ''}{number}.{i}")
        bone.head = heads[i]
        bone.tail = heads[i + 1] + (0.0 if is_connected else rng.uniform(-0.1, 0.1, 3))
        bone.roll = rng.uniform(-3.0, 3.0)
        bone.parent = above
        bone.use_connect = is_connected and i > 0
        bone.use_local_location = rng.random() < 0.5
        if i == 0 and above is not None:
            # The finished columns of an aligned bone are scaled, which no base can show.
            inherit = INHERIT[:-1] if above.name == "Scaled" else INHERIT
            bone.inherit_scale = str(rng.choice(inherit))
            bone.use_inherit_rotation = rng.random() < 0.7
        names.append(bone.name)
        above = bone
    return names


def _turn_from_back(steps: Array, above: Array) -> None:
    """Reverse bones (n, 3) that point back along the bone above, in place.

    Blender's own rest matrices of bones some degrees off that are skew, by up to 2e-5.
    """
    for step in steps:
        if step @ above < -0.5 * np.linalg.norm(step) * np.linalg.norm(above):
            step *= -1.0
        above = step


def _pose(
    ob: bpy.types.Object,
    of_kinds: Sequence[Kind],
    names: list[list[str]],
    rng: np.random.Generator,
    *,
    is_planar: bool,
) -> None:
    """Give bones their rotation modes, locations and scales."""
    bones = ob.pose.bones
    bones["Scaled"].scale = [rng.uniform(0.6, 1.6)] * 3
    for kind, chain in zip(of_kinds, names, strict=True):
        is_scaled = rng.random() < 0.5
        for name, mode in zip(chain, np.resize(kind.modes, len(chain)), strict=True):
            bones[name].rotation_mode = mode
            if not is_planar:
                bones[name].location = rng.uniform(-0.1, 0.1, 3)
            if is_scaled:
                bones[name].scale = [rng.uniform(0.7, 1.4)] * 3
        if kind.use_tail and is_scaled:
            # Nothing hangs on the last bone that its scale could shear.
            bones[chain[-1]].scale = rng.uniform(0.7, 1.4, 3)


def place(ob: bpy.types.Object, world: str, rng: np.random.Generator) -> None:
    """Turn, scale, mirror or shear an armature object."""
    ob.location = rng.uniform(-0.5, 0.5, 3)
    ob.rotation_euler = rng.uniform(-3.0, 3.0, 3)
    uneven = rng.uniform(0.6, 1.7, 3)
    scales = {
        "scaled": [1.6] * 3,
        "uneven": uneven,
        "mirrored": uneven * (-1.0, 1.0, 1.0),
        "turned out": [-0.7] * 3,
        "twice mirrored": uneven * (-1.0, 1.0, -1.0),
    }
    ob.scale = scales.get(world, [1.0] * 3)
    if world == "sheared":
        turn = scaled_rigs.random_quaternion(rng, 3.0)
        ob.parent = scaled_rigs.sheared_parent(uneven, turn, f"{ob.name} Shear")
