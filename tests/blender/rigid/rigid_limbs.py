"""Random chains of rigid bones under all kinds of parents, and the two ways to solve them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import bpy
import numpy as np
import numpy.typing as npt
import pytest

from blender_ik_addon.rig.batches import rig_state
from blender_ik_addon.rig.live import live
from tests.blender.setups import rigs, scaled_rigs, warm_rigs
from tests.core.chains import random_direction
from tests.helpers import make_rng

Array = npt.NDArray[np.float64]

INHERIT = ("FULL", "FIX_SHEAR", "AVERAGE", "NONE", "NONE_LEGACY", "ALIGNED")
PARENTS = ("", "Turned", "Scaled")
WORLDS = ("plain", "scaled", "uneven", "mirrored", "turned out", "sheared", "twice mirrored")


@dataclass(frozen=True)
class Kind:
    """What chains have in common that are solved side by side.

    Attributes:
        solver: Its name.
        count: Bones between root and effector.
        has_pole: Whether the chain has a pole.
        settings: Others.
        modes: Rotation modes of the bones, repeated.
        distance: From the root to the target, as a share of the reach.
    """

    solver: str
    count: int
    has_pole: bool = False
    settings: dict[str, object] = field(default_factory=dict)
    modes: tuple[str, ...] = ("QUATERNION",)
    distance: float = 0.7

    @property
    def bones(self) -> int:
        """The number of bones, that of a tip beyond the effector included."""
        return self.count + (not self.settings.get("use_tail", True))


def _turned(weight: float, **settings: object) -> dict[str, object]:
    return {"use_rotation": True, "orient_weight": weight, **settings}


KINDS = (
    Kind("TWO_BONE", 2),
    Kind("TWO_BONE", 2, True, {"use_flip_bend": True}, ("XYZ",)),
    Kind("TWO_BONE", 2, False, _turned(1.0, use_tail=False), ("AXIS_ANGLE", "QUATERNION")),
    Kind("TWO_BONE", 3, True, _turned(1.0)),
    Kind("TWO_BONE", 2, False, {"negative_scale": "KEEP"}, distance=1.4),
    Kind("NEWTON", 1, False, {}, ("ZYX",)),
    Kind("NEWTON", 3, True, {"pole_angle": 0.7}, ("YXZ", "QUATERNION")),
    Kind("NEWTON", 4, False, {"use_flip_bend": True, "start_from": "REST"}),
    Kind("NEWTON", 3, True, _turned(1.0), ("AXIS_ANGLE",)),
    Kind("NEWTON", 3, False, _turned(0.35, use_tail=False), ("XZY", "QUATERNION")),
    Kind("NEWTON", 5, False, {}, distance=1.2),
    Kind("FABRIK", 4, False, {}, ("QUATERNION", "ZXY")),
    Kind("CCD", 3, True, {"start_from": "REST"}, ("YZX",)),
)


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
        return bpy.data.objects[self.rig]

    @property
    def settings(self) -> bpy.types.PropertyGroup:
        return self.object.chain_ik.chains[self.index]

    @property
    def pose_bones(self) -> list[bpy.types.PoseBone]:
        return [self.object.pose.bones[name] for name in self.bones]


def build(of_kinds: Sequence[Kind], copies: int, seed: int) -> list[Limb]:
    """Return chains of each kind on so many armature objects, posed; not solved yet."""
    rng, limbs = make_rng(seed), []
    with rigs.at_rest():
        for number in range(copies):
            ob = rigs.make_armature(f"Rig {number}")
            for parent in PARENTS[1:]:
                rigs.add_bones(ob, ((0, 0, 0), (0.1, 0.2, 0.5)), prefix=parent)
            names = [_add_bones(ob, f"{i}", kind, rng) for i, kind in enumerate(of_kinds)]
            _place(ob, WORLDS[(number + seed) % len(WORLDS)], rng)
            ob.pose.bones["Scaled.0"].scale = [rng.uniform(0.6, 1.6)] * 3
            rigs.turn_bones(ob, seed=1000 * seed + number, angle=0.6)
            for i, (kind, bones) in enumerate(zip(of_kinds, names, strict=True)):
                limbs.append(Limb(ob.name, tuple(bones), kind, i))
                _follow(limbs[-1], rng)
    return limbs


def _add_bones(
    ob: bpy.types.Object, prefix: str, kind: Kind, rng: np.random.Generator
) -> list[str]:
    """Add a chain of bones under one of the parents, and return their names, root first."""
    steps = rng.normal(size=(kind.bones, 3)) * 0.35 + (0.0, 0.0, 1.0)
    steps *= rng.uniform(0.3, 1.2, (kind.bones, 1))
    heads = rng.uniform(-1.0, 1.0, 3) + np.vstack((np.zeros(3), np.cumsum(steps, axis=0)))
    parent = str(rng.choice(PARENTS))
    names = rigs.add_bones(
        ob,
        heads,
        prefix=prefix,
        parent=parent and f"{parent}.0",
        tails=heads[1:] + rng.uniform(-0.1, 0.1, (kind.bones, 3)) if rng.random() < 0.5 else None,
        rolls=list(rng.uniform(-3.0, 3.0, kind.bones)),
        modes=np.resize(kind.modes, kind.bones).tolist(),
    )
    bones = [ob.pose.bones[name] for name in names]
    # The finished columns of an aligned bone are scaled, which no base can show.
    bones[0].bone.inherit_scale = str(rng.choice(INHERIT[:-1] if parent == "Scaled" else INHERIT))
    bones[0].bone.use_inherit_rotation = rng.random() < 0.7
    for bone in bones:
        bone.bone.use_local_location = rng.random() < 0.5
        bone.location = rng.uniform(-0.2, 0.2, 3)
        bone.scale = [rng.uniform(0.7, 1.4)] * 3
    return names


def _place(ob: bpy.types.Object, world: str, rng: np.random.Generator) -> None:
    """Turn, scale, mirror or shear an armature object."""
    ob.location, ob.rotation_euler = rng.uniform(-0.5, 0.5, 3), rng.uniform(-3.0, 3.0, 3)
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


def _follow(limb: Limb, rng: np.random.Generator) -> None:
    """Add the chain of a limb, with its target and pole."""
    ob, kind = limb.object, limb.kind
    posed = rigs.evaluated(ob)
    world, bones = posed.matrix_world, [posed.pose.bones[name] for name in limb.bones]
    ends = np.array([*(bone.head for bone in bones), bones[-1].tail])[: kind.count + 1]
    reach = float(np.linalg.norm(np.diff(ends, axis=0), axis=1).sum())
    along, aside = random_direction(rng), random_direction(rng)
    aside -= along * (along @ aside)
    name = f"{limb.rig} {limb.index}"
    target = rigs.make_empty(
        f"{name} Target", world @ rigs.Vector(ends[0] + kind.distance * reach * along)
    )
    target.rotation_euler, target.scale = rng.uniform(-3.0, 3.0, 3), rng.uniform(0.5, 2.0, 3)
    settings = {"chain_count": kind.count, "tolerance": 1e-5, **kind.settings}
    if world.determinant() < 0.0:
        # A mirrored object whose chain keeps its bend is not solved in the space of its root.
        settings["negative_scale"] = "MIRROR"
    if kind.has_pole:
        place = world @ rigs.Vector(ends[0] + reach * (along + 2.0 * aside))
        settings["pole_target"] = rigs.make_empty(f"{name} Pole", place)
    rigs.add_chain(ob, limb.bones[-1], target, name=name, solver=kind.solver, **settings)


def ways(limbs: Sequence[Limb]) -> tuple[dict[str, int], set[str]]:
    """Return the names of chains solved as rigid, with how many beside, and of those that are not.

    Chains are named as their settings are.
    """
    (graph,) = live.memory.graphs.values()
    (level,) = graph.levels
    beside, alone = {}, set()
    names = {(limb.object.session_uid, limb.index): limb.settings.name for limb in limbs}
    for batch in level.batches:
        for uid, chain in zip(batch.uids, batch.live_chains, strict=True):
            if batch.is_even:
                beside[names[uid, chain.job.index]] = len(batch.live_chains)
            else:
                alone.add(names[uid, chain.job.index])
    assert {limb.settings.name for limb in limbs} == beside.keys() | alone
    return beside, alone


def assert_quick(limbs: Sequence[Limb], copies: int) -> None:
    """Check that chains take the quick path, so many or more side by side."""
    beside, alone = ways(limbs)
    assert not alone
    assert min(beside.values()) >= copies


def channels(limb: Limb) -> Array:
    """Return what the rotation channels of a chain's bones hold, shape (k, 4)."""
    bones = limb.pose_bones
    return np.array([(*getattr(b, rigs.rotation_property(b)), 0.0)[:4] for b in bones])


def pose(limb: Limb, values: Array) -> None:
    """Put what was read back into the rotation channels of a chain's bones."""
    for bone, row in zip(limb.pose_bones, values, strict=True):
        name = rigs.rotation_property(bone)
        setattr(bone, name, row[: len(getattr(bone, name))])


def bone_by_bone(limbs: Sequence[Limb], monkeypatch: pytest.MonkeyPatch) -> None:
    """Solve chains anew, as if no bone were rigid."""
    with monkeypatch.context() as patch:
        patch.setattr(rig_state, "keeps_shape", lambda *_: False)
        warm_rigs.forget()
        rigs.updated()
        assert not ways(limbs)[0]
