"""Rigs whose targets wander over many frames, and the poses that Blender evaluates of them."""

from typing import NamedTuple

import bpy
import numpy as np

from blender_ik_addon.core.algebra import rotation
from blender_ik_addon.core.clips.jumps import find_largest_turns
from blender_ik_addon.core.clips.whole_clip import acceleration
from tests.blender.setups import rigs
from tests.blender.setups.selecting import press, select_objects
from tests.helpers import Array, make_rng

LAST = 32
# Promised distance of a tip from its target, as a share of the chain's length.
MAX_DISTANCE = 1e-5


class Played(NamedTuple):
    """All frames as Blender evaluates them: world space, and rotations relative to parents wxyz."""

    poses: Array
    local: Array
    tails: Array

    @property
    def acceleration(self) -> float:
        return acceleration(self.local)

    @property
    def largest_turn(self) -> float:
        return float(find_largest_turns(self.local).max())


def play(ob: bpy.types.Object) -> Played:
    poses, local, tails = [], [], []
    for frame in range(1, LAST + 1):
        depsgraph = rigs.go_to(frame)
        bones = rigs.evaluated(ob, depsgraph).pose.bones
        matrices = {bone.name: np.array(bone.matrix) for bone in bones}
        world = rigs.world_matrix(ob, depsgraph)
        poses.append([world @ matrices[bone.name] for bone in bones])
        tails.append([(world @ [*bone.tail, 1.0])[:3] for bone in bones])
        above = [np.eye(4) if bone.parent is None else matrices[bone.parent.name] for bone in bones]
        turns = [np.linalg.solve(a, matrices[b.name]) for a, b in zip(above, bones, strict=True)]
        local.append(rotation.quaternion_from_matrix(np.array(turns)[:, :3, :3]))
    return Played(np.array(poses), np.array(local), np.array(tails))


def wander(target: bpy.types.Object, places: Array) -> None:
    """Replace the keys of a target by places, evenly spaced over all frames."""
    target.animation_data_clear()
    frames = np.linspace(1, LAST, len(places)).round().astype(int)
    rigs.key(target, "location", dict(zip(frames.tolist(), map(tuple, places), strict=True)))


def around(centre: Array, size: float, seed: int, count: int = 9) -> Array:
    return np.asarray(centre) + size * make_rng(seed).uniform(-1.0, 1.0, (count, 3))


def make_tail(count: int = 5, seed: int = 1, modes: str = "QUATERNION", **settings: object):
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, LAST
    ob = rigs.make_rig(rigs.zigzag(count), modes=modes)
    target = rigs.make_empty("Target")
    wander(target, around((0.2 * count, 0.1 * count, 0.55 * count), 0.35 * count, seed))
    rigs.add_chain(ob, f"Bone.{count - 1}", target, **settings)
    select_objects(active=ob)
    return ob, target


def bake(**options: object) -> None:
    press(bpy.ops.pose.chain_ik_bake, **{"method": "CLIP", "which": "ALL", **options})


def targets_of(target: bpy.types.Object) -> Array:
    return np.array([rigs.position(target, rigs.go_to(frame)) for frame in range(1, LAST + 1)])


def improve(
    ob: bpy.types.Object,
    targets: dict[str, bpy.types.Object],
    length: float,
    *,
    least: int = LAST // 4,
    **options: object,
) -> tuple[Played, Played]:
    """Bake all chains as a clip, check that it is smoother, and return it before and after.

    Tips that were at their targets still are, and they were so at ``least`` frames or more.
    """
    before, rows = play(ob), [bone.name for bone in ob.pose.bones]
    places = {tip: targets_of(target) for tip, target in targets.items()}
    bake(**options)
    after = play(ob)
    for tip, place in places.items():
        one, other = (
            np.linalg.norm(clip.tails[:, rows.index(tip)] - place, axis=1) / length
            for clip in (before, after)
        )
        was_reached = one <= MAX_DISTANCE
        assert was_reached.sum() >= least
        assert (other[was_reached] <= MAX_DISTANCE).all(), other[was_reached].max()
    # Chains that are baked frame by frame would keep all of it.
    assert after.acceleration < 0.999 * before.acceleration
    return before, after
