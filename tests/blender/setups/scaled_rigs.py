"""Rigs with random bones, scales and shear, and the distances by which their chains miss.

Distances are measured in world space on the evaluated rig, as shares of the limb's length
there, so that a bound means the same on a rig of 0.01 and on one of 100.
"""

from collections.abc import Sequence

import bpy
import numpy as np
from mathutils import Quaternion, Vector

from tests.blender.setups import rigs
from tests.helpers import Array, make_rng


def random_rig(
    rng: np.random.Generator,
    count: int = 3,
    *,
    above: int = 2,
    spread: float = 0.4,
    name: str = "Rig",
) -> tuple[bpy.types.Object, list[str]]:
    """Return an armature with random joints, tails and rolls, and the limb's bones, root first.

    ``above`` bones precede the limb's root. Each coordinate of a tail differs from the next joint
    by up to ``spread``; 0 connects the bones.
    """
    total = above + count
    steps = rng.normal(size=(total, 3)) * 0.35 + np.array([0.0, 0.0, 1.0])
    heads = np.vstack((np.zeros(3), np.cumsum(steps, axis=0)))
    tails = heads[1:] + rng.uniform(-spread, spread, (total, 3))
    ob = rigs.make_rig(
        heads, name, tails=tails if spread else None, rolls=list(rng.uniform(-3.0, 3.0, total))
    )
    return ob, [f"Bone.{i}" for i in range(above, total)]


def set_bones(ob: bpy.types.Object, bones: Sequence[str], **settings: object) -> None:
    for bone in bones:
        for name, value in settings.items():
            setattr(ob.data.bones[bone], name, value)


def scale_bones(ob: bpy.types.Object, scales: dict[str, Sequence[float]]) -> None:
    for bone, scale in scales.items():
        ob.pose.bones[bone].scale = scale


def random_quaternion(rng: np.random.Generator, angle: float) -> Quaternion:
    """Return a rotation by up to the angle, in radians, about a random axis."""
    return Quaternion(Vector(rng.normal(size=3)).normalized(), float(rng.uniform(-angle, angle)))


def turn(
    ob: bpy.types.Object, bones: Sequence[str], rng: np.random.Generator, angle: float
) -> None:
    """Turn bones in quaternion mode at random from their present pose."""
    for bone in bones:
        channel = ob.pose.bones[bone].rotation_quaternion
        ob.pose.bones[bone].rotation_quaternion = channel @ random_quaternion(rng, angle)


def reachable_point(
    ob: bpy.types.Object, bones: Sequence[str], rng: np.random.Generator, angle: float = 0.7
) -> Array:
    """Return the tip's tail, world space, in a random pose of the bones; restore the pose.

    It can be reached however bones inherit scale: under uneven scale, lengths depend on the pose.
    """
    before = [ob.pose.bones[bone].rotation_quaternion.copy() for bone in bones]
    turn(ob, bones, rng, angle)
    rigs.updated()
    point = rigs.tail(ob, bones[-1])
    for bone, quaternion in zip(bones, before, strict=True):
        ob.pose.bones[bone].rotation_quaternion = quaternion
    rigs.updated()
    return point


def joints(
    ob: bpy.types.Object, bones: Sequence[str], depsgraph: bpy.types.Depsgraph | None = None
) -> Array:
    heads = [rigs.head(ob, bone, depsgraph) for bone in bones]
    return np.array([*heads, rigs.tail(ob, bones[-1], depsgraph)])


def limb_length(ob: bpy.types.Object, bones: Sequence[str]) -> float:
    return float(np.linalg.norm(np.diff(joints(ob, bones), axis=0), axis=1).sum())


def miss(ob: bpy.types.Object, bones: Sequence[str], target: bpy.types.Object) -> float:
    """Return the distance of the tip's tail from the target, as a share of the limb's length."""
    gap = np.linalg.norm(rigs.tail(ob, bones[-1]) - rigs.position(target))
    return float(gap) / limb_length(ob, bones)


def follow(
    ob: bpy.types.Object, bones: Sequence[str], point: Array, **settings: object
) -> tuple[bpy.types.PropertyGroup, bpy.types.Object]:
    """Return a solved chain of these bones and its new target at a point in world space."""
    target = rigs.make_empty(f"{ob.name} Target", point)
    settings = {"chain_count": len(bones), **settings}
    chain = rigs.add_chain(ob, bones[-1], target, **settings)
    rigs.updated()
    return chain, target


def sheared_parent(
    scale: Sequence[float], turn_below: Quaternion, name: str = "Shear"
) -> bpy.types.Object:
    """Return an empty that shears its children, by uneven scale above a rotation."""
    above = rigs.make_empty(f"{name} Scale", (0.3, -0.2, 0.1))
    above.scale = scale
    below = rigs.make_empty(f"{name} Turn", (0.1, 0.2, -0.3), parent=above)
    below.rotation_mode = "QUATERNION"
    below.rotation_quaternion = turn_below
    return below


def axes_of_bone(ob, bone):
    posed = rigs.evaluated(ob)
    matrix = posed.matrix_world @ posed.pose.bones[bone].matrix
    return np.array(matrix.to_quaternion().to_matrix())


def axes_of_object(ob):
    return np.array(rigs.evaluated(ob).matrix_world.to_quaternion().to_matrix())


def turned_target(point, seed=0):
    target = rigs.make_empty("Target", point)
    target.rotation_mode = "QUATERNION"
    target.rotation_quaternion = random_quaternion(make_rng(seed), 1.5)
    return target
