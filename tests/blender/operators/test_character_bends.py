"""Elbows and knees of characters as *Set Up Limbs* leaves them: nothing pops, whatever moves."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import bpy
import numpy as np
import pytest
from mathutils import Vector

from tests.blender.operators.test_characters import add_rig
from tests.blender.setups import rigs
from tests.blender.setups.selecting import press

pytestmark = [pytest.mark.slow, pytest.mark.oldest]

setup = bpy.ops.pose.chain_ik_setup
# How much farther an elbow or knee may move in a step than the target, which moves on a path of
# steps that are small beside the limb.
FASTEST = 4.0
STEPS = 30
X, FRONT, UP = np.eye(3) * ((1,), (-1,), (1,))


def make(name: str, **settings: object) -> bpy.types.Object:
    """Return one of Rigify's metarigs, set up."""
    ob = add_rig(name)
    press(setup, control="BONE", **settings)
    rigs.updated()
    return ob


def line(*corners: Sequence[float]) -> np.ndarray:
    shares = np.linspace(0.0, 1.0, STEPS, endpoint=False)[:, None]
    ways = pairwise(corners)
    return np.concatenate([np.array(a) + (np.array(b) - a) * shares for a, b in ways])


def circle(middle: np.ndarray, first: np.ndarray, second: np.ndarray, radius: float) -> np.ndarray:
    angles = np.linspace(0.0, 2.0 * np.pi, 4 * STEPS)[:, None]
    return middle + radius * (np.cos(angles) * first + np.sin(angles) * second)


def speeds(ob: bpy.types.Object, name: str, path: np.ndarray) -> np.ndarray:
    """Return how far the joints of a limb move for what its target moves, a row for each step."""
    # The others stand still, and take time.
    rigs.mute_all_but(ob, name)
    chain = ob.chain_ik.chains[name]
    control = ob.pose.bones[chain.subtarget]
    home, joints = control.matrix.copy(), []
    bone = ob.pose.bones[chain.bone]
    inner = [bone, *bone.parent_recursive][: chain.chain_count - 1]
    for point in path:
        matrix = home.copy()
        matrix.translation = Vector(point)
        rigs.change(control, matrix=matrix)
        assert chain.status.startswith("Reached"), (point, chain.status)
        joints.append([list(rigs.evaluated(ob).pose.bones[each.name].head) for each in inner])
    moved = np.linalg.norm(np.diff(joints, axis=0), axis=2).max(axis=1)
    return moved / np.linalg.norm(np.diff(path, axis=0), axis=1)


@pytest.mark.parametrize(("name", "use_limits"), [("human", True), ("cat", False)])
def test_a_crouch_pops_no_knee_from_the_first_touch_on(rigify, name, use_limits):
    """A hind leg bends to both sides, so it has next to no side of its own."""
    ob = make(name, use_limits=use_limits)
    hips, joints = ob.pose.bones[ob.chain_ik.body.root], []
    depths = np.append(0.0, np.geomspace(5e-4, 0.25, STEPS)) * hips.bone.head_local.z
    for depth in depths:
        hips.location = hips.bone.matrix_local.to_3x3().inverted() @ Vector((0.0, 0.0, -depth))
        rigs.updated()
        joints.append([list(bone.head) for bone in rigs.evaluated(ob).pose.bones])
    moved = np.linalg.norm(np.diff(joints, axis=0), axis=2).max(axis=1)
    # A knee that is bent by ten degrees goes out by the half cotangent of five for each way down.
    assert (moved / np.diff(depths)).max() < (6.0 if name == "human" else FASTEST)


Ways = Callable[[bpy.types.bpy_prop_collection], list[np.ndarray]]


def kick(bones: bpy.types.bpy_prop_collection) -> list[np.ndarray]:
    """Return where a foot goes: raised in front, to the side, behind, and round at the hip."""
    hip, foot = np.array(bones["thigh.L"].head), np.array(bones["shin.L"].tail)
    reach = np.linalg.norm(foot - hip)
    near, down = hip + 0.95 * (foot - hip), (foot - hip) / reach
    return [
        line(near, hip + 0.8 * reach * FRONT, hip + 0.65 * reach * (FRONT - down)),
        line(near, hip + 0.85 * reach * X, hip + 0.6 * reach * (X - down)),
        line(near, hip - 0.8 * reach * FRONT),
        circle(hip + 0.25 * reach * (down + X), X, FRONT, 0.6 * reach),
    ]


def round_head(bones: bpy.types.bpy_prop_collection) -> list[np.ndarray]:
    head = np.array(bones["spine.006"].head)
    return [circle(head + 0.15 * UP, X, FRONT, 0.16)]


def over_shoulder(bones: bpy.types.bpy_prop_collection) -> list[np.ndarray]:
    """Return a way to the other shoulder; a side as the arm carries it from rest turns over."""
    own = np.array(bones["upper_arm.R"].head)
    reach = bones["upper_arm.R"].length + bones["forearm.R"].length
    other = own * (-1, 1, 1)
    ends = other + 0.1 * FRONT, other + 0.12 * FRONT - 0.15 * UP
    return [line(own + 0.85 * reach * FRONT, *ends)]


def up_to_head(bones: bpy.types.bpy_prop_collection) -> list[np.ndarray]:
    """Return a way of a foot that is raised to the head."""
    hip, foot = np.array(bones["thigh.L"].head), np.array(bones["shin.L"].tail)
    head = np.array(bones["spine.006"].tail)
    high = head + (head[2] - hip[2]) * 0.1 * FRONT
    reach = bones["thigh.L"].length + bones["shin.L"].length
    high = hip + (high - hip) * min(1.0, 0.95 * reach / np.linalg.norm(high - hip))
    return [line(hip + 0.95 * (foot - hip), hip + 0.85 * reach * FRONT, high)]


@pytest.mark.parametrize(
    ("limb", "ways"),
    [("Leg.L", kick), ("Arm.L", round_head), ("Arm.R", over_shoulder), ("Leg.L", up_to_head)],
)
def test_no_way_of_a_hand_or_foot_pops_an_elbow_or_a_knee(rigify, limb: str, ways: Ways) -> None:
    ob = make("human")
    for path in ways(ob.pose.bones):
        assert speeds(ob, limb, path).max() < FASTEST
