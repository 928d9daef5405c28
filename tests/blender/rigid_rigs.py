"""Random chains of rigid bones in numbers, under all kinds of parents.

Chains of one *kind* may be solved side by side. Every armature object holds one chain of each kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import bpy
import numpy as np
import numpy.typing as npt

from tests.blender import rigs, scaled_rigs
from tests.core.chains import random_direction, unit
from tests.helpers import make_rng

Array = npt.NDArray[np.float64]

INHERIT = ("FULL", "FIX_SHEAR", "AVERAGE", "NONE", "NONE_LEGACY", "ALIGNED")
COUNTS = {"TWO_BONE": (2,), "NEWTON": (1, 2, 3, 7), "FABRIK": (1, 2, 3, 7), "CCD": (1, 2, 3, 7)}
# Sweeps of these take long, and whether they arrive is not the question here.
CAPS = {"FABRIK": 12, "CCD": 12}
# Away from full reach and from the root, where the last digits of float32 would decide the pose.
SHARES = {"in reach": (0.3, 0.9), "too far": (1.05, 3.0), "too near": (0.2, 0.8)}
ON_ONE_RIG = 12
PARENTS = ("", "Turned", "Scaled")
WORLDS = ("turned", "scaled", "uneven", "mirrored", "turned out", "sheared", "twice mirrored")


@dataclass(frozen=True)
class Kind:
    """What chains have in common that are solved side by side.

    Attributes:
        solver: Its name.
        count: Bones between root and effector.
        has_pole: Whether the chain has a pole.
        use_tail: Whether the effector is the tip bone's tail.
        weight: Of the target's rotation; None without it.
        modes: Rotation modes of the bones from the root on, the tip's last.
    """

    solver: str
    count: int
    has_pole: bool = False
    use_tail: bool = True
    weight: float | None = None
    modes: tuple[str, ...] = ()

    @property
    def bones(self) -> int:
        """The number of bones, that of a tip beyond the effector included."""
        return self.count + (not self.use_tail)


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
    """A chain to be: names of its armature object and bones, root first, and where it is asked to.

    Attributes:
        rig: Name of the armature object.
        bones: Names, that of a tip beyond the effector last.
        kind: What others may have in common with it.
        index: Of the chain in the object's list.
        region: Where its target lies.
    """

    rig: str
    bones: tuple[str, ...]
    kind: Kind
    index: int
    region: str = "in reach"

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


def build(of_kinds: Sequence[Kind], copies: int, seed: int) -> list[Limb]:
    """Return limbs of so many chains of each kind, posed, with targets and poles.

    Args:
        of_kinds: What to build.
        copies: Chains of each kind, every one on another armature object.
        seed: Of everything that is random.
    """
    rng = make_rng(seed)
    bpy.context.scene.chain_ik.use_live = False
    parts = [of_kinds[i : i + ON_ONE_RIG] for i in range(0, len(of_kinds), ON_ONE_RIG)]
    limbs = [
        limb
        for number, part in enumerate(part for _ in range(copies) for part in parts)
        for limb in _built(part, number, WORLDS[(number + seed) % len(WORLDS)], rng)
    ]
    bpy.context.scene.chain_ik.use_live = True
    return limbs


def _built(of_kinds: Sequence[Kind], number: int, world: str, rng: np.random.Generator) -> list[Limb]:
    ob = rigs.make_armature(f"Rig {number}")
    names = _add_bones(ob, of_kinds, rng)
    _pose(ob, of_kinds, names, rng)
    _place(ob, world, rng)
    rigs.turn_bones(ob, seed=int(rng.integers(1000)), angle=0.6)
    joints = _Joints(ob)
    pairs = zip(of_kinds, names, strict=True)
    return [_follow(ob, bones, kind, joints, rng) for kind, bones in pairs]


def _add_bones(
    ob: bpy.types.Object, of_kinds: Sequence[Kind], rng: np.random.Generator
) -> list[list[str]]:
    """Add parents, and a chain of bones of each kind; return the chains' names, root first."""
    rigs.enter(ob, "EDIT")
    for name in PARENTS[1:]:
        bone = ob.data.edit_bones.new(name)
        bone.tail = (0.1, 0.2, 0.5)
    names = [_add_chain(ob, i, kind, rng) for i, kind in enumerate(of_kinds)]
    bpy.ops.object.mode_set(mode="OBJECT")
    return names


def _add_chain(
    ob: bpy.types.Object, number: int, kind: Kind, rng: np.random.Generator
) -> list[str]:
    bones, count = ob.data.edit_bones, kind.bones
    lengths = rng.uniform(0.3, 1.2, count)
    if rng.random() < 0.3:
        lengths[rng.integers(count)] *= 6.0
    bends = 0.0 if rng.random() < 0.2 else 0.4
    steps = lengths[:, None] * unit(rng.normal(size=(count, 3)) * bends + rng.normal(size=3))
    heads = rng.uniform(-1.0, 1.0, 3) + np.vstack((np.zeros(3), np.cumsum(steps, axis=0)))
    is_connected = rng.random() < 0.5
    above = bones.get(str(rng.choice(PARENTS)))
    names = []
    for i in range(count):
        bone = bones.new(f"{number}.{i}")
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


def _pose(
    ob: bpy.types.Object,
    of_kinds: Sequence[Kind],
    names: list[list[str]],
    rng: np.random.Generator,
) -> None:
    """Give bones their rotation modes, locations and scales."""
    bones = ob.pose.bones
    bones["Scaled"].scale = [rng.uniform(0.6, 1.6)] * 3
    for kind, chain in zip(of_kinds, names, strict=True):
        is_scaled = rng.random() < 0.5
        for name, mode in zip(chain, np.resize(kind.modes, len(chain)), strict=True):
            bones[name].rotation_mode = mode
            bones[name].location = rng.uniform(-0.1, 0.1, 3)
            if is_scaled:
                bones[name].scale = [rng.uniform(0.7, 1.4)] * 3
        if kind.use_tail and is_scaled:
            # Nothing hangs on the last bone that its scale could shear.
            bones[chain[-1]].scale = rng.uniform(0.7, 1.4, 3)


def _place(ob: bpy.types.Object, world: str, rng: np.random.Generator) -> None:
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


class _Joints:
    """Where the bones of a rig stand, armature space."""

    def __init__(self, ob: bpy.types.Object) -> None:
        posed = rigs.evaluated(ob)
        self.world = np.array(posed.matrix_world)
        self.heads = {bone.name: np.array(bone.head) for bone in posed.pose.bones}
        self.tails = {bone.name: np.array(bone.tail) for bone in posed.pose.bones}

    def of(self, bones: Sequence[str], kind: Kind) -> Array:
        """Return the joints from the root to the effector, shape (count + 1, 3)."""
        heads = [self.heads[bone] for bone in bones]
        return np.array([*heads, self.tails[bones[-1]]])[: kind.count + 1]


def _follow(
    ob: bpy.types.Object,
    bones: list[str],
    kind: Kind,
    joints: _Joints,
    rng: np.random.Generator,
) -> Limb:
    """Add a chain with random settings, and its target and pole."""
    name = f"{ob.name} {bones[-1]}"
    target = rigs.make_empty(f"{name} Target", (0.0, 0.0, 0.0))
    target.rotation_euler = rng.uniform(-3.0, 3.0, 3)
    target.scale = rng.uniform(0.5, 2.0, 3)
    region, at, around = _asked(joints, joints.of(bones, kind), target, kind, rng)
    world = joints.world[:3, :3]
    target.location = world @ at + joints.world[:3, 3]
    pole = None
    if kind.has_pole:
        pole = rigs.make_empty(f"{name} Pole", world @ around + joints.world[:3, 3])
    is_mirrored = np.linalg.det(world) < 0.0
    settings = {} if kind.weight is None else {"use_rotation": True, "orient_weight": kind.weight}
    rigs.add_chain(
        ob,
        bones[-1],
        target,
        name=name,
        solver=kind.solver,
        chain_count=kind.count,
        use_tail=kind.use_tail,
        pole_target=pole,
        pole_angle=rng.uniform(-7.0, 7.0),
        use_flip_bend=rng.random() < 0.5,
        negative_scale="MIRROR" if is_mirrored or rng.random() < 0.5 else "KEEP",
        start_from="KEYED" if rng.random() < 0.6 else "REST",
        iterations=CAPS.get(kind.solver, 500),
        tolerance=10.0 ** rng.uniform(-5.0, -3.0),
        **settings,
    )
    return Limb(ob.name, tuple(bones), kind, len(ob.chain_ik.chains) - 1, region)


def _asked(
    joints: _Joints,
    chain: Array,
    target: bpy.types.Object,
    kind: Kind,
    rng: np.random.Generator,
) -> tuple[str, Array, Array]:
    """Return where a target lies, and it and a pole in armature space."""
    lengths = np.linalg.norm(np.diff(chain, axis=0), axis=1)
    tip = np.zeros(3)
    if kind.weight == 1.0 and kind.use_tail:
        # The tip bone lies along the target's Y axis, and the others bring its head there.
        y_axis = np.array(target.rotation_euler.to_matrix())[:, 1]
        tip = lengths[-1] * unit(np.linalg.solve(joints.world[:3, :3], y_axis))
        lengths = lengths[:-1]
    reach = lengths.sum()
    least = max(0.0, 2.0 * lengths.max(initial=0.0) - reach)
    regions = list(SHARES) if least > 0.1 * reach and len(lengths) > 1 else list(SHARES)[:2]
    region = str(rng.choice(regions))
    share = rng.uniform(*SHARES[region])
    distance = {
        "in reach": least + share * (reach - least),
        "too far": share * reach,
        "too near": share * least,
    }[region]
    along = random_direction(rng)
    aside = unit(np.cross(along, random_direction(rng)))
    angle = rng.uniform(np.radians(30.0), np.radians(150.0))
    pole = 2.0 * lengths.sum() * (np.cos(angle) * along + np.sin(angle) * aside)
    return region, chain[0] + distance * along + tip, chain[0] + pole
