"""Elbows and knees of characters as *Set Up Limbs* leaves them: nothing pops, whatever moves."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import bpy
import numpy as np
import pytest
from mathutils import Quaternion, Vector

from tests.blender.setups import rigs
from tests.blender.setups.selecting import press
from tests.helpers import make_rng

pytestmark = [pytest.mark.slow, pytest.mark.oldest]

setup = bpy.ops.pose.chain_ik_setup
# How much farther an elbow or knee may move in a step than the target, which moves on a path of
# steps that are small beside the limb.
FASTEST = 4.0
STEPS = 30
X, FRONT, UP = np.eye(3) * ((1,), (-1,), (1,))


def make(name: str, **settings: object) -> bpy.types.Object:
    """Return one of Rigify's metarigs, set up."""
    getattr(bpy.ops.object, f"armature_{name}_metarig_add")()
    press(setup, control="BONE", **settings)
    rigs.updated()
    return bpy.context.object


@pytest.mark.parametrize(("seed", "name"), [(0, "horse"), (3, "bird")])
def test_a_posed_character_is_set_up_without_moving(rigify, name, seed):
    getattr(bpy.ops.object, f"armature_{name}_metarig_add")()
    ob = bpy.context.object
    rng = make_rng(seed)
    for bone in ob.pose.bones:
        bone.rotation_mode = "QUATERNION"
        turn = rng.normal(size=3) * 0.2
        bone.rotation_quaternion = Quaternion(turn, float(np.linalg.norm(turn)))
    rigs.updated()
    before = {bone.name: np.array(bone.matrix) for bone in ob.pose.bones}
    press(setup, control="BONE")
    for bone, matrix in before.items():
        np.testing.assert_allclose(rigs.evaluated(ob).pose.bones[bone].matrix, matrix, atol=2e-5)


def line(*corners: Sequence[float]) -> np.ndarray:
    shares = np.linspace(0.0, 1.0, STEPS, endpoint=False)[:, None]
    ways = pairwise(corners)
    return np.concatenate([np.array(a) + (np.array(b) - a) * shares for a, b in ways])


def circle(middle: np.ndarray, first: np.ndarray, second: np.ndarray, radius: float) -> np.ndarray:
    angles = np.linspace(0.0, 2.0 * np.pi, 4 * STEPS)[:, None]
    return middle + radius * (np.cos(angles) * first + np.sin(angles) * second)


def speeds(ob: bpy.types.Object, name: str, path: np.ndarray) -> np.ndarray:
    """Return how far the joints of a limb move for what its target moves, a row for each step."""
    for chain in ob.chain_ik.chains:
        # The others stand still, and take time.
        chain.mute = chain.name != name
    chain = ob.chain_ik.chains[name]
    control = ob.pose.bones[chain.subtarget]
    home, joints = control.matrix.copy(), []
    bone = ob.pose.bones[chain.bone]
    inner = [bone, *bone.parent_recursive][: chain.chain_count - 1]
    for point in path:
        matrix = home.copy()
        matrix.translation = Vector(point)
        control.matrix = matrix
        rigs.updated()
        assert chain.status.startswith("Reached"), (point, chain.status)
        joints.append([list(rigs.evaluated(ob).pose.bones[each.name].head) for each in inner])
    moved = np.linalg.norm(np.diff(joints, axis=0), axis=2).max(axis=1)
    return moved / np.linalg.norm(np.diff(path, axis=0), axis=1)


def paths_of_leg(root: np.ndarray, end: np.ndarray) -> dict[str, np.ndarray]:
    """Return where a foot goes: raised in front, to the side, behind, and round at the hip."""
    reach = np.linalg.norm(end - root)
    near = root + 0.95 * (end - root)
    down = (end - root) / reach
    side = X * np.sign(root[0])
    return {
        "in front": line(near, root + 0.8 * reach * FRONT, root + 0.65 * reach * (FRONT - down)),
        "to the side": line(near, root + 0.85 * reach * side, root + 0.6 * reach * (side - down)),
        "behind": line(near, root - 0.8 * reach * FRONT),
        "round": circle(root + 0.25 * reach * (down + side), side, FRONT, 0.6 * reach),
    }


@pytest.mark.parametrize(
    ("name", "use_limits"),
    [("human", True), ("cat", False)],
)
def test_a_crouch_pops_no_knee_from_the_first_touch_on(rigify, name, use_limits):
    """A hind leg bends to both sides, so it has next to no side of its own."""
    ob = make(name, use_limits=use_limits)
    hips, joints = ob.pose.bones[ob.chain_ik.body.root], []
    height = hips.bone.head_local.z
    depths = np.append(0.0, np.geomspace(5e-4, 0.25, STEPS)) * height
    for depth in depths:
        hips.location = hips.bone.matrix_local.to_3x3().inverted() @ Vector((0.0, 0.0, -depth))
        rigs.updated()
        joints.append([list(bone.head) for bone in rigs.evaluated(ob).pose.bones])
    moved = np.linalg.norm(np.diff(joints, axis=0), axis=2).max(axis=1)
    # A knee that is bent by ten degrees goes out by the half cotangent of five for each way down.
    assert (moved / np.diff(depths)).max() < (6.0 if name == "human" else FASTEST)


def test_a_kick_pops_no_knee(rigify):
    ob = make("human")
    chain = ob.chain_ik.chains["Leg.L"]
    tip = ob.pose.bones[chain.bone]
    root = [tip, *tip.parent_recursive][chain.chain_count - 1]
    for path, points in paths_of_leg(np.array(root.head), np.array(tip.tail)).items():
        assert speeds(ob, "Leg.L", points).max() < FASTEST, path


def test_a_hand_goes_round_the_head_and_pops_no_elbow(rigify):
    ob = make("human")
    head = np.array(ob.pose.bones["spine.006"].head)
    points = circle(head + 0.15 * UP, X, FRONT, 0.16)
    assert speeds(ob, "Arm.L", points).max() < FASTEST


def over_shoulder(bones: bpy.types.bpy_prop_collection) -> np.ndarray:
    """Return a way to the other shoulder; a side as the arm carries it from rest turns over."""
    own = np.array(bones["upper_arm.R"].head)
    reach = bones["upper_arm.R"].length + bones["forearm.R"].length
    other = own * (-1, 1, 1)
    return line(own + 0.85 * reach * FRONT, other + 0.1 * FRONT, other + 0.12 * FRONT - 0.15 * UP)


def up_to_head(bones: bpy.types.bpy_prop_collection) -> np.ndarray:
    """Return a way of a foot that is raised to the head."""
    hip, foot = np.array(bones["thigh.L"].head), np.array(bones["shin.L"].tail)
    head = np.array(bones["spine.006"].tail)
    high = head + (head[2] - hip[2]) * 0.1 * FRONT
    reach = bones["thigh.L"].length + bones["shin.L"].length
    high = hip + (high - hip) * min(1.0, 0.95 * reach / np.linalg.norm(high - hip))
    return line(hip + 0.95 * (foot - hip), hip + 0.85 * reach * FRONT, high)


@pytest.mark.parametrize(("limb", "path"), [("Arm.R", over_shoulder), ("Leg.L", up_to_head)])
def test_a_long_way_pops_neither_elbow_nor_knee(rigify, limb, path):
    ob = make("human")
    assert speeds(ob, limb, path(ob.pose.bones)).max() < FASTEST
