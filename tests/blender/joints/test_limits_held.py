"""Bones that never leave their IK limits, as read back from Blender's matrices.

A limited limb reaches each target that a pose inside its limits reaches. A bone that its limits
hold lies on the boundary that the overlay draws.
"""

from collections.abc import Callable

import bpy
import numpy as np
import pytest
from mathutils import Quaternion

from blender_ik_addon.core import JointKind
from blender_ik_addon.core.algebra import rotation
from blender_ik_addon.properties.records import chain_spec
from blender_ik_addon.rig.planning.known_skeletons import skeleton_of
from blender_ik_addon.rig.reading.world import uids_in
from blender_ik_addon.rig.shapes import chain_shape
from blender_ik_addon.rig.shapes.chain_lines import ChainRows, read_evaluated_pose
from blender_ik_addon.rig.shapes.limit_shapes import find_bounds
from tests.blender.setups import jointed_rigs, rigs, scaled_rigs
from tests.core.limited_rigs import FREE_AXES, violation
from tests.core.limited_rigs import make_rig as core_rig
from tests.helpers import Array, make_rng

K = JointKind
# How far a bone may lie outside its limits, radians.
MAX_VIOLATION = 1e-6
SOLVERS = ("NEWTON", "FABRIK", "CCD")
# The same where float32 matrices with scales are multiplied and inverted.
SCALED_VIOLATION = 4e-6
ARM = (
    (K.BALL, ((-90, 90), (-60, 60), (-90, 90))),
    (K.HINGE_X, ((0, 150),)),
    (K.SWING, ((-40, 40), (-60, 60))),
)
TAIL = ((K.BALL, ((-30, 30), (-20, 20), (-30, 30))),) * 6
SPIDER = (
    (K.HINGE_Y, ((-70, 70),)),
    (K.HINGE_X, ((-60, 60),)),
    (K.HINGE_X, ((-120, 0),)),
    (K.HINGE_Z, ((-90, 10),)),
)
ODD = (
    (K.ELBOW_X, ((-50, 100), (-40, 40))),
    (K.FIXED, ()),
    (K.ELBOW_Z, ((-30, 30), (-100, 10))),
    (K.SWING, ((0, 50), (-60, 0))),
)
LIMBS = {"arm": ARM, "tail": TAIL, "spider": SPIDER, "odd": ODD}


def limit(pose_bone: bpy.types.PoseBone, kind: JointKind, ranges: tuple) -> None:
    for axis, letter in enumerate("xyz"):
        setattr(pose_bone, f"lock_ik_{letter}", axis not in FREE_AXES[kind])
    for axis, (low, high) in zip(FREE_AXES[kind], ranges, strict=True):
        letter = "xyz"[axis]
        setattr(pose_bone, f"use_ik_limit_{letter}", True)
        setattr(pose_bone, f"ik_min_{letter}", np.radians(low))
        setattr(pose_bone, f"ik_max_{letter}", np.radians(high))


def limits_of(pose_bone: bpy.types.PoseBone) -> tuple[Array, Array]:
    is_limited = np.array([getattr(pose_bone, f"use_ik_limit_{axis}") for axis in "xyz"])
    low = np.array([getattr(pose_bone, f"ik_min_{axis}") for axis in "xyz"])
    high = np.array([getattr(pose_bone, f"ik_max_{axis}") for axis in "xyz"])
    return np.where(is_limited, low, -np.inf), np.where(is_limited, high, np.inf)


def turn_of(ob: bpy.types.Object, pose_bone: bpy.types.PoseBone) -> Array:
    """Return the bone's turn from rest in its local axes, without scale, shape (3, 3)."""
    matrix = jointed_rigs.local(ob, pose_bone.name)
    return matrix / np.linalg.norm(matrix, axis=0)


def violations(ob: bpy.types.Object, limb: tuple) -> Array:
    """Return how far each evaluated bone lies outside its limits, radians, shape (n,)."""
    posed = rigs.evaluated(ob).pose.bones
    return np.array(
        [
            violation(
                kind, rotation.quaternion_from_matrix(turn_of(ob, posed[i])), *limits_of(posed[i])
            )
            for i, (kind, _) in enumerate(limb)
        ]
    )


def make_limb(limb: tuple, modes: str = "QUATERNION") -> tuple[bpy.types.Object, list[str]]:
    """Return an armature with a crooked limited limb at rest, and the names of its bones."""
    count = len(limb)
    rolls = list(make_rng(5).uniform(-3.0, 3.0, count))
    ob = rigs.make_rig(rigs.zigzag(count, seed=3), rolls=rolls, modes=modes)
    for pose_bone, (kind, ranges) in zip(ob.pose.bones, limb, strict=True):
        limit(pose_bone, kind, ranges)
    return ob, [f"Bone.{i}" for i in range(count)]


def draw_targets(ob: bpy.types.Object, count: int, seed: int) -> Array:
    rng = make_rng(seed)
    length = len(ob.pose.bones)
    matrix = np.array(ob.matrix_world)
    shares = np.linspace(0.2, 1.3, count)[:, None]
    directions = rng.normal(size=(count, 3)) + np.array([0.0, 0.0, 1.5])
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    return shares * length * directions @ matrix[:3, :3].T + matrix[:3, 3]


def place_object(*scale: float) -> Callable[[bpy.types.Object], None]:
    def change(ob: bpy.types.Object) -> None:
        ob.scale, ob.location, ob.rotation_euler = scale, (1.0, 2.0, 3.0), (0.3, 0.4, 0.5)

    return change


def scale_two_bones(ob: bpy.types.Object) -> None:
    scaled_rigs.scale_bones(ob, dict.fromkeys(("Bone.0", "Bone.1"), (1.3, 0.8, 1.1)))


def pose_beyond_limits(ob: bpy.types.Object) -> None:
    for bone in ob.pose.bones[1:]:
        bone.rotation_quaternion = Quaternion((1.0, 0.3, 0.0), -1.0)


CASES = {
    "alone": (None, {}),
    "pole": (None, {"pole_angle": 0.7}),
    "part of the way": (None, {"influence": 0.25}),
    "most of the way": (None, {"influence": 0.7}),
    "turned tip": (None, {"use_rotation": True}),
    "three iterations": (None, {"iterations": 3}),
    "mirrored": (place_object(-1.0, 1.0, 1.0), {}),
    "small and turned out": (place_object(-0.01, -0.01, -0.01), {}),
    "uneven": (place_object(0.5, 2.0, 1.0), {}),
    "uneven bones": (scale_two_bones, {}),
    "posed beyond": (pose_beyond_limits, {}),
}


@pytest.mark.slow
@pytest.mark.every_case
@pytest.mark.parametrize("number", range(len(CASES)), ids=CASES)
def test_limits_hold(number):
    # Each case takes the next limb and the next solver.
    case, limb = list(CASES)[number], LIMBS[list(LIMBS)[number % len(LIMBS)]]
    (change, settings), solver = CASES[case], SOLVERS[number % len(SOLVERS)]
    ob, bones = make_limb(limb)
    if change:
        change(ob)
    if case == "pole":
        settings = {"pole_target": rigs.make_empty("Pole", (3.0, -2.0, 1.0)), **settings}
    tolerance, turned = SCALED_VIOLATION if case == "uneven bones" else MAX_VIOLATION, 0.0
    rigs.updated()
    places = draw_targets(ob, 2, seed=9)
    chain, target = scaled_rigs.follow(ob, bones, places[0], solver=solver, **settings)
    for place in places:
        target.location = target.rotation_euler = place
        rigs.updated()
        assert violations(ob, limb).max() <= tolerance, (place, violations(ob, limb), chain.status)
        turned = max(turned, max(np.abs(turn_of(ob, b) - np.eye(3)).max() for b in ob.pose.bones))
    assert turned > 0.05, "the limb turns"


@pytest.mark.slow
def test_without_limits_bones_turn_freely_and_by_default_they_do_not():
    ob, bones = make_limb(ARM)
    chain, target = scaled_rigs.follow(ob, bones, np.array([1.5, 0.3, -1.0]))
    assert chain.use_limits
    assert violations(ob, ARM).max() <= MAX_VIOLATION
    rigs.change(chain, use_limits=False)
    assert violations(ob, ARM).max() > 0.1
    assert scaled_rigs.miss(ob, bones, target) <= 1e-4


def find_reachable_point(ob, bones, limb, rng):
    """Return the place of the tip's tail for random turns inside the limits, world space."""
    turns = core_rig(limb).random_pose(rng)
    for bone, turn in zip(bones, turns, strict=True):
        ob.pose.bones[bone].rotation_quaternion = turn
    rigs.updated()
    point = rigs.tail(ob, bones[-1])
    for bone in bones:
        ob.pose.bones[bone].rotation_quaternion = Quaternion()
    rigs.updated()
    return point


SCALES = ((1.0, 1.0, 1.0), (-1.0, 1.0, 1.0), (0.5, 2.0, 1.0))


@pytest.mark.slow
@pytest.mark.parametrize("solver", [*SOLVERS, "FORCE"])
@pytest.mark.parametrize(
    ("limb", "unturned"),
    [*((limb, ()) for limb in LIMBS), ("five", (2,)), ("five", (1, 3)), ("five", (4,))],
)
@pytest.mark.parametrize("has_pole", [False, True], ids=["free", "pole"])
def test_a_limited_limb_arrives_also_where_bones_do_not_inherit_rotation(
    limb, unturned, solver, has_pole
):
    limits = {**LIMBS, "five": ((K.BALL, ((-57, 57),) * 3),) * 5}[limb]
    ob, bones = make_limb(limits)
    scaled_rigs.set_bones(ob, [bones[i] for i in unturned], use_inherit_rotation=False)
    if not unturned:
        ob.scale = SCALES[(list(LIMBS).index(limb) + has_pole) % len(SCALES)]
    ob.rotation_euler, rng = (0.3, -0.2, 0.4), make_rng(3)
    rigs.updated()
    places = [find_reachable_point(ob, bones, limits, rng) for _ in range(4)]
    settings = {"pole_target": rigs.make_empty("Pole", (2.0, -3.0, 1.0))} if has_pole else {}
    _, target = scaled_rigs.follow(ob, bones, places[0], solver=solver, **settings)
    for target.location in places:
        rigs.updated()
        assert scaled_rigs.miss(ob, bones, target) <= 1e-3
        # Matrices do not tell the local turn where rotation is not inherited: read the channels.
        for (kind, _), bone in zip(limits, rigs.evaluated(ob).pose.bones, strict=True):
            assert violation(kind, np.array(bone.rotation_quaternion), *limits_of(bone)) <= 1e-6


# Shares of the drawn size: errors of float32 poses, and of a line that cuts the curve short.
MAX_OFFSET, MAX_CUT = 2e-5, 4e-3
RANGES = {"x": (-12.0, 20.0), "y": (-15.0, 25.0), "z": (-18.0, 10.0)}
# Ranges that leave out rest, and one that begins at rest.
AWAY_FROM_REST = {"x": (15.0, 50.0), "y": (10.0, 40.0), "z": (0.0, 30.0)}
KINDS = {
    "BALL": "xyz",
    "CONE": "y",
    "SWING": "xz",
    "HINGE_X": "x",
    "HINGE_Z": "z",
    "ELBOW_X": "xy",
    "ELBOW_Z": "yz",
}
# A target so close that a chain of three bones has to bend far.
CLOSE_TARGET = (0.5, 0.45, 0.4)


def place_first_shape(ob: bpy.types.Object) -> tuple[chain_shape.ChainShape, Array]:
    """Return the shape and the joints of the first chain, placed on the evaluated pose."""
    graph, skeleton = bpy.context.evaluated_depsgraph_get(), skeleton_of(ob)
    spec = chain_spec(ob.chain_ik.chains[0])
    pose = read_evaluated_pose(ob.evaluated_get(graph), len(skeleton.names))
    present = uids_in(bpy.context.scene)
    rows = [np.array(chain_shape.find_place(i, graph, present)) for i in (spec.target, spec.pole)]
    places = [row if np.isfinite(row).all() else None for row in rows]
    shape = chain_shape.compile_shape(ob, skeleton, spec)
    joints = ChainRows.of([shape.plan]).place([pose])
    return chain_shape.place_shape(shape, joints, pose, *places), joints


def make_leg(seed: int, **settings: object) -> bpy.types.Object:
    """Return an armature object, turned and scaled, with a chain of three bones with rolls."""
    rng = make_rng(seed)
    ob = rigs.make_rig(rigs.zigzag(3, seed=seed, length=0.5), rolls=rng.uniform(-3.0, 3.0, 3))
    ob.rotation_euler, ob.location = rng.uniform(-3.0, 3.0, 3), rng.uniform(-1.0, 1.0, 3)
    rigs.change(ob, scale=(1.3, 1.3, 1.3))
    place = ob.matrix_world @ rigs.Vector(CLOSE_TARGET)
    rigs.add_chain(ob, "Bone.2", rigs.make_empty(location=place), **settings)
    return ob


def gap_to_line(point: Array, line: Array) -> float:
    """Return the distance of a point from a closed line of points (n, 3)."""
    segments = np.roll(line, -1, axis=0) - line
    squares = np.maximum(np.einsum("pi,pi->p", segments, segments), 1e-30)
    shares = np.clip(np.einsum("pi,pi->p", point - line, segments) / squares, 0.0, 1.0)
    return float(np.linalg.norm(line + shares[:, None] * segments - point, axis=1).min())


def assert_on_boundary(ob: bpy.types.Object, bone: str, row: int) -> None:
    """Check that a bone held by its limits lies on the boundary that is drawn for it."""
    assert "imits" in ob.chain_ik.chains[0].status, ob.chain_ik.chains[0].status
    limits = place_first_shape(ob)[0].limits
    posed = rigs.evaluated(ob)
    axes = np.array(posed.matrix_world @ posed.pose.bones[bone].matrix)[:3, :3]
    _, along, across = (axes / np.linalg.norm(axes, axis=0)).T
    count = 0
    for number, outline in enumerate(limits.outlines.outlines):
        if outline.row != row:
            continue
        size, centre = limits.sizes[number], limits.centres[number]
        line = limits.points[limits.outlines.outline_of == number]
        if outline.is_twist:
            needle = centre + size * across
            np.testing.assert_allclose(limits.present[number], needle, atol=MAX_OFFSET * size)
            np.testing.assert_allclose((line - centre) @ along, 0.0, atol=MAX_OFFSET * size)
            continue
        count += 1
        np.testing.assert_allclose(centre, rigs.head(ob, bone), atol=1e-5)
        tip = centre + size * along
        np.testing.assert_allclose(limits.present[number], tip, atol=MAX_OFFSET * size)
        if outline.arc is None:
            assert gap_to_line(tip, line) < MAX_CUT * size
        else:
            ends = np.linalg.norm(line[[0, -1]] - tip, axis=1)
            assert ends.min() < 10.0 * MAX_OFFSET * size, ends
    assert count == 1


@pytest.mark.every_case
@pytest.mark.parametrize("relative_to", ["REST", "PARENT", "CHILD"])
@pytest.mark.parametrize("ranges", [RANGES, AWAY_FROM_REST], ids=["with rest", "away from rest"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_bone_held_by_its_joint_lies_on_the_drawn_boundary(
    kind: str, relative_to: str, ranges: dict
) -> None:
    ob = make_leg(0)
    joint_owner = "Bone.0" if relative_to == "CHILD" else "Bone.1"
    ends = {axis: ranges[axis] for axis in KINDS[kind]}
    for bone, space in ((joint_owner, relative_to), ("Bone.2", "REST")):
        jointed_rigs.add_joint(
            ob.chain_ik.chains[0], bone, kind, cone=15.0, relative_to=space, **ends
        )
    bpy.context.view_layer.update()
    assert_on_boundary(ob, "Bone.1", 1)
    if (relative_to, ranges) == ("REST", RANGES) and kind != "CONE":
        # The limits of the bones, without joints of the chain.
        ob.chain_ik.chains[0].joints.clear()
        for bone in ("Bone.1", "Bone.2"):
            joint = JointKind[kind]
            limit(ob.pose.bones[bone], joint, [RANGES["xyz"[axis]] for axis in FREE_AXES[joint]])
        rigs.tagged(ob)
        assert_on_boundary(ob, "Bone.1", 1)
    # Below a flat bone the boundary is drawn too, at finite points.
    rigs.change(ob.pose.bones["Bone.0"], scale=(0.0, 1.0, 1.0))
    assert np.isfinite(place_first_shape(ob)[0].limits.points).all()


def test_a_swing_that_is_limited_about_one_axis_is_drawn_as_a_band_up_to_half_a_turn() -> None:
    low, high = np.full(3, -np.inf), np.full(3, np.inf)
    low[0], high[0] = np.radians(RANGES["x"])
    ((arc, line),) = find_bounds(JointKind.SWING, tuple(low), tuple(high))
    assert arc is None
    turned = rotation.between(np.broadcast_to(np.eye(3)[1], line.shape), line)
    is_half = line[:, 1] < -0.999
    bends = np.degrees(2.0 * np.arcsin(turned[~is_half, 1]))
    assert np.isclose(bends[:, None], RANGES["x"]).any(axis=1).all()
    assert 0 < is_half.sum() < 10
    assert np.ptp(turned[~is_half, 3]) > 1.9
