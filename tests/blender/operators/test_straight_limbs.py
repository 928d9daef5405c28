"""Limbs set up by *Set Up Limbs*, also straight ones: they bend the right way and never pop."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Quaternion, Vector

from blender_ik_addon.properties.records import chain_spec
from blender_ik_addon.rig.controls.default_poles import placement
from blender_ik_addon.rig.frames.bend_sides import find_facing_sides
from blender_ik_addon.rig.tools.fk_ik import find_matching_pole_angle
from tests.blender.operators.test_characters import add_rig
from tests.blender.setups import rigs
from tests.blender.setups.selecting import press, unmoved
from tests.core.chains import side_of, unit
from tests.helpers import make_rng

pytestmark = [pytest.mark.slow, pytest.mark.oldest]

setup = bpy.ops.pose.chain_ik_setup
SIDES = {"L": 1.0, "R": -1.0}
X, FRONT, UP = np.eye(3) * ((1,), (-1,), (1,))
# Least cosine of the angle between the bend direction of a limb and the expected one.
MIN_COSINE = 0.98
LIMBS = [(f"{limb}.{side}", sign) for limb, sign in (("Arm", -1.0), ("Leg", 1.0)) for side in SIDES]


def make_person(
    roll: float = 0.0,
    *,
    has_feet: bool = True,
    turn: Matrix | None = None,
    is_laid_out: bool = False,
):
    """Return an upright armature with straight arms and legs that faces -Y.

    If it is laid out, its legs point upward along its trunk.
    """
    ob = rigs.make_rig([(0, 0, 1), (0, 0, 1.1), (0, 0, 1.3), (0, 0, 1.5)], name="Person")
    for side, x in SIDES.items():
        arm = [(x * at, 0, 1.45) for at in (0.15, 0.42, 0.68, 0.78)]
        names = [f"{name}.{side}" for name in ("upper_arm", "forearm", "hand")]
        rigs.add_bones(ob, arm, names=names, parent="Bone.2", rolls=[roll] * 3)
        leg = [(x * 0.1, 0, 0.95), (x * 0.1, 0, 0.5), (x * 0.1, 0, 0.08), (x * 0.1, -0.13, 0.02)]
        names = [f"{name}.{side}" for name in ("thigh", "shin", "foot")]
        joints = leg if has_feet else leg[:3]
        if is_laid_out:
            joints = [(x, y, 1.9 - z) for x, y, z in joints]
        rolls = [roll] * (len(joints) - 1)
        rigs.add_bones(ob, joints, names=names[: len(rolls)], parent="Bone.0", rolls=rolls)
    if turn is not None:
        ob.data.transform(turn)
        rigs.change(ob, matrix_world=turn.inverted())
    return ob


def bulge(ob: bpy.types.Object, name: str) -> np.ndarray:
    """Return the offset of the middle joint of a limb from the line between its ends."""
    lower = ob.pose.bones[ob.chain_ik.chains[name].bone]
    root, end = rigs.head(ob, lower.parent.name), rigs.tail(ob, lower.name)
    return side_of(np.array([root, rigs.head(ob, lower.name), end]), end)


def bend_direction(ob: bpy.types.Object, name: str) -> np.ndarray:
    """Return the direction in which a limb bends when its end moves toward its root."""
    chain = ob.chain_ik.chains[name]
    bone = chain.subtarget.replace("Ankle", "Target")
    control, root = ob.pose.bones[bone], ob.pose.bones[chain.bone].parent
    matrix = control.matrix.copy()
    matrix.translation = matrix.translation.lerp(root.head, 0.35)
    before = control.matrix.copy()
    rigs.change(control, matrix=matrix)
    assert chain.status.startswith("Reached")
    direction = unit(bulge(ob, name))
    rigs.change(control, matrix=before)
    return direction


def assert_bends_as_bodies_do(ob: bpy.types.Object) -> None:
    for name, sign in LIMBS:
        assert bend_direction(ob, name) @ FRONT * sign > MIN_COSINE, name


@pytest.mark.parametrize(
    ("roll", "use_limits"),
    # Limits only without roll: hinges need a bend about one of the bones' axes.
    [(0.0, False), (0.0, True), (1.2, False), (-2.6, False)],
)
def test_knees_bend_forward_and_elbows_backward(roll, use_limits):
    ob = make_person(roll)
    with unmoved(ob):
        press(setup, control="BONE", use_limits=use_limits)
    assert_bends_as_bodies_do(ob)


@pytest.mark.parametrize(
    ("seed", "make", "size"),
    [
        *((seed, partial(make_person, 0.9), 0.5 + seed // 4) for seed in range(8)),
        (0, partial(add_rig, "horse"), 0.2),
        (3, partial(add_rig, "bird"), 0.2),
    ],
)
def test_bodies_that_are_posed_are_set_up_without_moving(rigify, seed, make, size):
    """A limb straight at rest leans to its bend side, so its pole angle depends on itself."""
    ob, rng = make(), make_rng(seed)
    for bone in ob.pose.bones:
        bone.rotation_mode, turn = "QUATERNION", size * rng.normal(size=3)
        bone.rotation_quaternion = Quaternion(turn, float(np.linalg.norm(turn)))
    rigs.updated()
    with unmoved(ob):
        press(setup, control="BONE")
    assert {chain.status for chain in ob.chain_ik.chains} == {"Reached"}


@pytest.mark.parametrize(
    ("has_feet", "turn"), [(False, None), (True, Matrix.Rotation(-np.pi / 2.0, 4, "X"))]
)
def test_feet_or_sides_tell_where_a_body_faces_whatever_is_up(has_feet, turn):
    ob = make_person(0.4, has_feet=has_feet, turn=turn)
    press(setup, control="BONE")
    assert_bends_as_bodies_do(ob)


@pytest.mark.parametrize("share", [0.97, 0.99, 1.0, 1.2])
def test_a_pole_for_a_limited_arm_near_full_reach_turns_nothing(rigify, share):
    """What is left of a bend beside the elbow's axis points to another side than the elbow."""
    ob = add_rig("human")
    press(setup, kinds={"ARM"}, control="EMPTY", use_limits=True)
    chain = ob.chain_ik.chains["Arm.L"]
    ob.chain_ik.active_index = list(ob.chain_ik.chains).index(chain)
    root = np.array(ob.pose.bones["upper_arm.L"].head)
    toward = unit(rigs.tail(ob, "forearm.L") - root) + 0.5 * FRONT + 0.3 * UP
    length = sum(ob.data.bones[f"{name}.L"].length for name in ("upper_arm", "forearm"))
    place = Vector(root + share * length * unit(toward))
    matrix = chain.target.matrix_world.copy()
    matrix.translation = ob.matrix_world @ place
    rigs.change(chain.target, matrix_world=matrix)
    # Held back by limits, the bones are where they are to a ten-thousandth.
    with unmoved(ob, 1e-4):
        press(bpy.ops.pose.chain_ik_pole_add, control="EMPTY")
    assert chain.pole_target is not None


@pytest.mark.parametrize(
    ("control", "way"), [("Torso", (0.0, 0.0, -0.2)), ("Arm Target.L", (-0.5, -0.3, -1.1))]
)
def test_a_body_crouches_with_its_knees_forward(control, way):
    ob = make_person(1.2)
    press(setup, control="BONE", use_body=True)
    bone = ob.pose.bones[control]
    rigs.change(bone, matrix=Matrix.Translation(way) @ bone.matrix)
    for side in SIDES:
        offset = bulge(ob, f"Leg.{side}")
        assert offset @ FRONT > 0.7 * np.linalg.norm(offset) > 0.04


def test_legs_of_a_body_that_is_laid_out_at_rest_hold_their_knees_in_place():
    """Recorded clips have such rest poses: a bend side carried from rest flipped at each step."""
    ob = make_person(is_laid_out=True)
    for name, angle in (("thigh", 3.0), ("shin", 0.3)):
        for side in SIDES:
            bone = ob.pose.bones[f"{name}.{side}"]
            rigs.change(bone, rotation_mode="XYZ", rotation_euler=(angle, 0.0, 0.0))
    with unmoved(ob):
        press(setup, control="BONE")
    for side, x in SIDES.items():
        control, before = ob.pose.bones[f"Leg Target.{side}"], rigs.head(ob, f"shin.{side}")
        rigs.change(control, matrix=Matrix.Translation((0.02 * x, 0.0, 0.0)) @ control.matrix)
        assert 0.0 < np.linalg.norm(rigs.head(ob, f"shin.{side}") - before) < 0.04


def test_limbs_face_their_poles_side_by_side_as_each_alone():
    rng = make_rng(29)
    joints = np.cumsum(rng.normal(size=(6, 3, 3)) * 0.05 + UP, axis=1)
    side, carried = unit(rng.normal(size=(2, 6, 3)))
    carried[0] = 0.0
    inputs = joints, side, carried
    together = find_facing_sides(*inputs)
    alone = [find_facing_sides(*(each[row : row + 1] for each in inputs))[0] for row in range(6)]
    np.testing.assert_allclose(together, alone, atol=1e-6)
    assert np.abs(together - side).max(axis=1).min() > 1e-3


def test_an_added_pole_keeps_the_bend_direction_of_a_straight_limb():
    ob = make_person(0.7)
    press(setup, control="BONE")
    before = {name: bend_direction(ob, name) for name, _ in LIMBS}
    for index, chain in enumerate(ob.chain_ik.chains):
        if chain.name in before:
            ob.chain_ik.active_index = index
            press(bpy.ops.pose.chain_ik_pole_add, control="BONE")
    for name, direction in before.items():
        assert bend_direction(ob, name) @ direction > MIN_COSINE, name


def test_a_straight_pose_keeps_the_pole_angle_that_its_limb_has():
    """Also far from rest, where the carried bend side depends on the angle."""
    ob = make_person()
    press(setup, control="BONE")
    chain, arm = ob.chain_ik.chains["Arm.L"], ob.pose.bones["upper_arm.L"]
    rigs.change(chain, pole_angle=0.7)
    for turn in ((0.0, 0.0, 0.0), (0.5, 0.3, -1.1)):
        rigs.change(chain, mute=True)
        rigs.change(arm, rotation_mode="XYZ", rotation_euler=turn)
        assert find_matching_pole_angle(ob, chain_spec(chain)) == pytest.approx(0.7, abs=1e-5)
        rigs.change(arm, rotation_euler=(0.0, 0.0, 0.0))
        rigs.change(chain, mute=False)
    assert bend_direction(ob, "Arm.L") @ Vector((0, 1, 0)) < MIN_COSINE


def test_a_dragged_chain_has_no_bend_side():
    """The solver Follow uses no bend side, with any settings of the chain."""
    ob, _ = rigs.make_arm(pole_mode="FOLLOW", pole_angle=0.7, solver="FOLLOW")
    assert float(placement(ob, chain_spec(ob.chain_ik.chains[0])).pole_angle) == 0.0


# Moves of the controls of limbs with such bones, for the left side.
MOVES = {"Arm": (-0.1, -0.2, 0.15), "Leg": (0.05, -0.2, 0.2)}


def lay_aside(ob: bpy.types.Object) -> None:
    """Turn all bones about their heads, across their former directions."""
    rng = make_rng(3)
    with rigs.editing(ob) as bones:
        rigs.set_each(bones, use_connect=False)
        for bone in bones:
            old = bone.tail - bone.head
            bone.tail = bone.head + old.cross(Vector(rng.normal(size=3))).normalized() * old.length


def shorten(ob: bpy.types.Object) -> None:
    """Shorten all bones, so that they end before the next ones, as importers leave twist bones."""
    with rigs.editing(ob) as bones:
        rigs.set_each(bones, use_connect=False)
        for bone in bones:
            bone.tail = bone.head.lerp(bone.tail, 0.45)


@pytest.mark.parametrize("use_body", [False, True])
@pytest.mark.parametrize("leave", [lay_aside, shorten])
def test_limbs_reach_with_the_heads_of_hands_and_feet_as_if_bones_ended_there(leave, use_body):
    poses = []
    for is_imported in (False, True):
        ob = make_person(0.4)
        if is_imported:
            leave(ob)
        before = {bone.name: rigs.head(ob, bone.name) for bone in ob.pose.bones}
        # Only limbs are compared: spines reach with the tail of the chest, which has another place.
        press(setup, control="BONE", use_body=use_body, kinds={"ARM", "LEG"})
        rigs.updated()
        assert all(chain.status.startswith("Reached") for chain in ob.chain_ik.chains)
        for name, head in before.items():
            np.testing.assert_allclose(rigs.head(ob, name), head, atol=2e-6)
        for side, x in SIDES.items():
            for limb in ("Arm", "Leg"):
                control = ob.pose.bones[f"{limb} Target.{side}"]
                move = Vector(MOVES[limb]) * Vector((x, 1.0, 1.0))
                rigs.change(control, matrix=Matrix.Translation(move) @ control.matrix)
        assert all(chain.status.startswith("Reached") for chain in ob.chain_ik.chains)
        poses.append({name: rigs.head(ob, name) for name in before})
        bpy.data.objects.remove(ob)
    for name, head in poses[0].items():
        np.testing.assert_allclose(poses[1][name], head, atol=2e-5, err_msg=name)


@pytest.mark.parametrize("leave", [lay_aside, shorten])
def test_hands_and_feet_take_the_turns_of_their_controls(leave):
    ob = make_person()
    leave(ob)
    press(setup, control="BONE", use_limits=True, kinds={"ARM", "LEG"})
    chains, has_axes = ob.chain_ik.chains, leave is shorten
    assert {name for name, _ in LIMBS} == set(chains.keys())
    assert all(bool(chain.joints) == has_axes for chain in chains)
    assert ("Foot Roll" in ob.pose.bones["Leg Target.L"]) == has_axes
    for chain in chains:
        control, tip = ob.pose.bones[chain.subtarget.replace("Ankle", "Target")], chain.bone
        assert (chain.use_tail, chain.use_rotation) == (False, True)
        turn = Matrix.Rotation(0.3, 4, "Z")
        before = rigs.matrices(ob)[tip][:3, :3]
        place = Matrix.Translation(control.matrix.translation)
        rigs.change(control, matrix=place @ turn @ place.inverted() @ control.matrix)
        after = rigs.matrices(ob)[tip][:3, :3]
        np.testing.assert_allclose(after, np.array(turn.to_3x3()) @ before, atol=1e-5)


# Largest ratio of the moves of an elbow or knee and of the target in one step. Steps of the path
# are small beside the limb.
MAX_SPEED = 4.0
STEPS = 30


def make(name: str, **settings: object) -> bpy.types.Object:
    """Return a metarig of Rigify, set up."""
    ob = add_rig(name)
    press(setup, control="BONE", **settings)
    rigs.updated()
    return ob


def line(*corners: Sequence[float]) -> np.ndarray:
    shares = np.linspace(0.0, 1.0, STEPS, endpoint=False)[:, None]
    pairs = pairwise(corners)
    return np.concatenate([np.array(a) + (np.array(b) - a) * shares for a, b in pairs])


def circle(middle: np.ndarray, first: np.ndarray, second: np.ndarray, radius: float) -> np.ndarray:
    angles = np.linspace(0.0, 2.0 * np.pi, 4 * STEPS)[:, None]
    return middle + radius * (np.cos(angles) * first + np.sin(angles) * second)


def speeds(ob: bpy.types.Object, name: str, path: np.ndarray) -> np.ndarray:
    """Return the largest move of a joint of a limb per move of its target, shape (steps,)."""
    # Other chains only take time, as their targets do not move.
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
        joints.append([list(rigs.evaluated(ob).pose.bones[joint.name].head) for joint in inner])
    moved = np.linalg.norm(np.diff(joints, axis=0), axis=2).max(axis=1)
    return moved / np.linalg.norm(np.diff(path, axis=0), axis=1)


@pytest.mark.parametrize(("name", "use_limits"), [("human", True), ("cat", False)])
def test_a_crouch_pops_no_knee_from_the_first_touch_on(rigify, name, use_limits):
    """A hind leg bends to both sides, so it has hardly any bend side."""
    ob = make(name, use_limits=use_limits)
    hips, joints = ob.pose.bones[ob.chain_ik.body.root], []
    depths = np.append(0.0, np.geomspace(5e-4, 0.25, STEPS)) * hips.bone.head_local.z
    for depth in depths:
        hips.location = hips.bone.matrix_local.to_3x3().inverted() @ Vector((0.0, 0.0, -depth))
        rigs.updated()
        joints.append([list(bone.head) for bone in rigs.evaluated(ob).pose.bones])
    moved = np.linalg.norm(np.diff(joints, axis=0), axis=2).max(axis=1)
    # For a knee bent by ten degrees, the ratio is half the cotangent of five degrees.
    assert (moved / np.diff(depths)).max() < (6.0 if name == "human" else MAX_SPEED)


MakePaths = Callable[[bpy.types.bpy_prop_collection], list[np.ndarray]]


def kick(bones: bpy.types.bpy_prop_collection) -> list[np.ndarray]:
    """Return paths of a foot: to the front, the side and the back, and around the hip."""
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
    """Return a path to the other shoulder, where a bend side carried from rest flips."""
    shoulder = np.array(bones["upper_arm.R"].head)
    reach = bones["upper_arm.R"].length + bones["forearm.R"].length
    other = shoulder * (-1, 1, 1)
    ends = other + 0.1 * FRONT, other + 0.12 * FRONT - 0.15 * UP
    return [line(shoulder + 0.85 * reach * FRONT, *ends)]


def up_to_head(bones: bpy.types.bpy_prop_collection) -> list[np.ndarray]:
    """Return a path of a foot up to the head."""
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
def test_no_path_of_a_hand_or_foot_pops_elbows_or_knees(rigify, limb: str, ways: MakePaths) -> None:
    ob = make("human")
    for path in ways(ob.pose.bones):
        assert speeds(ob, limb, path).max() < MAX_SPEED
