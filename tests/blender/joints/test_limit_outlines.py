"""Limits as they are drawn: bones that their limits hold lie on the drawn boundary.

Of the boundary alone: a little farther out is clamped back, a little farther in stays.
"""

from __future__ import annotations

import math

import bpy
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blender_ik_addon.core import JointKind
from blender_ik_addon.core.algebra import rotation
from blender_ik_addon.core.kinematics.joint_limits import clamp_rotations
from blender_ik_addon.properties.records import chain_spec
from blender_ik_addon.rig.reading.skeleton import compiled
from blender_ik_addon.rig.reading.world import uids_in
from blender_ik_addon.rig.shapes.chain_lines import ChainRows, read_posed
from blender_ik_addon.rig.shapes.chain_shape import (
    ChainShape,
    compile_shape,
    find_place,
    place_shape,
)
from blender_ik_addon.rig.shapes.limit_outlines import Part
from blender_ik_addon.rig.shapes.limit_shapes import find_shape
from tests.blender.joints.test_limits_held import limit
from tests.blender.setups import jointed_rigs, rigs
from tests.core.limited_rigs import FREE_AXES, X, Y, Z, about, multiply
from tests.helpers import assert_rotations_close, make_rng

Array = npt.NDArray[np.float64]

# Of the size that is drawn: float32 poses, and between its points a line cuts the boundary short.
EXACT, CUT = 2e-5, 4e-3
RANGES = {"x": (-12.0, 20.0), "y": (-15.0, 25.0), "z": (-18.0, 10.0)}
KINDS = {
    "BALL": "xyz",
    "CONE": "y",
    "SWING": "xz",
    "HINGE_X": "x",
    "HINGE_Z": "z",
    "ELBOW_X": "xy",
    "ELBOW_Z": "yz",
}
# A target that a chain of three bones cannot come to without bending far.
NEAR = (0.5, 0.45, 0.4)


def shape_of(ob: bpy.types.Object) -> tuple[ChainShape, Array]:
    """Return the shape of the first chain and its joints, on the pose as Blender evaluated it."""
    graph, skeleton = bpy.context.evaluated_depsgraph_get(), compiled(ob)
    spec = chain_spec(ob.chain_ik.chains[0])
    posed = read_posed(ob.evaluated_get(graph), len(skeleton.names))
    known = graph, ob, skeleton, posed, uids_in(bpy.context.scene)
    places = [find_place(each, *known) for each in (spec.target, spec.pole)]
    shape = compile_shape(ob, skeleton, spec, {})
    points = ChainRows.of(skeleton, [shape.plan]).place([posed])
    return place_shape(shape, points, posed, *places), points


def make_leg(seed: int, **settings: object) -> bpy.types.Object:
    """Return a chain of three bones with rolls, on an armature object that is turned and scaled."""
    rng = make_rng(seed)
    ob = rigs.make_rig(rigs.zigzag(3, seed=seed, length=0.5), rolls=rng.uniform(-3.0, 3.0, 3))
    ob.rotation_euler, ob.location = rng.uniform(-3.0, 3.0, 3), rng.uniform(-1.0, 1.0, 3)
    ob.scale = (1.3, 1.3, 1.3)
    bpy.context.view_layer.update()
    place = ob.matrix_world @ rigs.Vector(NEAR)
    rigs.add_chain(ob, "Bone.2", rigs.make_empty(location=place), **settings)
    return ob


def axis_of(ob: bpy.types.Object, bone: str) -> Array:
    """Return the unit axis of a bone as evaluated, world space."""
    axis = rigs.tail(ob, bone) - rigs.head(ob, bone)
    return axis / np.linalg.norm(axis)


def gap_to_line(point: Array, line: Array, *, is_closed: bool) -> float:
    """Return the distance from a point to a line of points."""
    starts, ends = line, np.roll(line, -1, axis=0)
    if not is_closed:
        starts, ends = starts[:-1], ends[:-1]
    ways = ends - starts
    squares = np.maximum(np.einsum("pi,pi->p", ways, ways), 1e-30)
    shares = np.clip(np.einsum("pi,pi->p", point - starts, ways) / squares, 0.0, 1.0)
    return float(np.linalg.norm(starts + shares[:, None] * ways - point, axis=1).min())


def check_held(ob: bpy.types.Object, bone: str, row: int) -> None:
    """Check that a bone that its limits hold lies on the boundary that is drawn for it."""
    assert "imits" in ob.chain_ik.chains[0].status, ob.chain_ik.chains[0].status
    limits = shape_of(ob)[0].limits
    found = 0
    for number, outline in enumerate(limits.outlines.outlines):
        if outline.row != row or outline.part is Part.TWIST:
            continue
        found += 1
        size, centre = limits.sizes[number], limits.centres[number]
        np.testing.assert_allclose(centre, rigs.head(ob, bone), atol=1e-5)
        tip = centre + size * axis_of(ob, bone)
        np.testing.assert_allclose(limits.present[number], tip, atol=EXACT * size)
        line = limits.points[limits.outlines.outline_of == number]
        if outline.part is Part.SWING:
            assert gap_to_line(tip, line, is_closed=True) < CUT * size
        else:
            ends = np.linalg.norm(line[[0, -1]] - tip, axis=1)
            assert ends.min() < 10.0 * EXACT * size, ends
    assert found == 1


@pytest.mark.parametrize("relative_to", ["REST", "PARENT", "CHILD"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_bone_that_its_own_joint_holds_lies_on_the_drawn_boundary(
    kind: str, relative_to: str
) -> None:
    ob = make_leg(0)
    chain = ob.chain_ik.chains[0]
    holder = "Bone.0" if relative_to == "CHILD" else "Bone.1"
    ends = {axis: RANGES[axis] for axis in KINDS[kind]}
    for bone, own in ((holder, relative_to), ("Bone.2", "REST")):
        jointed_rigs.give(chain, bone, kind, cone=15.0, relative_to=own, **ends)
    bpy.context.view_layer.update()
    check_held(ob, "Bone.1", 1)


@pytest.mark.parametrize("kind", ["BALL", "SWING", "HINGE_X", "HINGE_Z", "ELBOW_X", "ELBOW_Z"])
def test_a_bone_that_its_ik_limits_hold_lies_on_the_drawn_boundary(kind: str) -> None:
    ob, joint = make_leg(1), JointKind[kind]
    for bone in ("Bone.1", "Bone.2"):
        limit(ob.pose.bones[bone], joint, [RANGES["xyz"[axis]] for axis in FREE_AXES[joint]])
    bpy.context.view_layer.update()
    check_held(ob, "Bone.1", 1)


@pytest.mark.parametrize("relative_to", ["REST", "PARENT"])
@pytest.mark.parametrize("kind", ["BALL", "ELBOW_X", "HINGE_Y"])
def test_a_twisted_bone_shows_its_twist_on_the_drawn_arc(kind: str, relative_to: str) -> None:
    ob = make_leg(1, mute=True)
    ends = {axis: RANGES[axis] for axis in KINDS.get(kind, "y")}
    chain = ob.chain_ik.chains[0]
    jointed_rigs.give(chain, "Bone.1", kind, relative_to=relative_to, **ends)
    # Where the joint counts from rest, this stands at the greatest twist.
    ob.pose.bones["Bone.1"].rotation_quaternion = (
        np.cos(np.radians(12.5)),
        0.0,
        np.sin(np.radians(12.5)),
        0.0,
    )
    bpy.context.view_layer.update()
    limits = shape_of(ob)[0].limits
    (number,) = [
        number
        for number, each in enumerate(limits.outlines.outlines)
        if each.part is Part.TWIST and each.row == 1
    ]
    size, centre = limits.sizes[number], limits.centres[number]
    posed = rigs.evaluated(ob)
    matrix = np.array(posed.matrix_world @ posed.pose.bones["Bone.1"].matrix)[:3, 2]
    needle = centre + size * matrix / np.linalg.norm(matrix)
    np.testing.assert_allclose(limits.present[number], needle, atol=EXACT * size)
    line = limits.points[limits.outlines.outline_of == number]
    if relative_to == "REST":
        np.testing.assert_allclose(line[-1], needle, atol=10.0 * EXACT * size)
    across = (line - centre) @ axis_of(ob, "Bone.1")
    np.testing.assert_allclose(across, 0.0, atol=EXACT * size)


AXIS_Y, AXIS_Z = np.eye(3)[1:]
# Pushes, in sines or radians, and what rounding leaves of 1.
PUSH, ROUNDING = 1e-5, 1e-9
# Nearer to half a turn than this cosine, half a turn is the boundary, not a range.
HALF_TURN = 1e-3
BENDS = {
    JointKind.HINGE_X: X,
    JointKind.HINGE_Z: Z,
    JointKind.ELBOW_X: X,
    JointKind.ELBOW_Z: Z,
}
SWINGS = (JointKind.BALL, JointKind.SWING)
TWISTS = tuple(kind for kind, axes in FREE_AXES.items() if Y in axes)
ANGLES = np.arange(8) * math.pi / 4.0
WAYS = np.column_stack((np.cos(ANGLES), np.sin(ANGLES)))

few = settings(max_examples=40)
size = st.sampled_from([math.inf, 0.0]) | st.floats(0.1, 2.9)


@st.composite
def ranges(draw):
    """Return ranges with rest among them, one-sided, without room, away from rest, all around."""
    low, high = np.array([-draw(size) for _ in range(3)]), np.array([draw(size) for _ in range(3)])
    for axis in range(3):
        if draw(st.booleans()) and math.isfinite(low[axis]) and math.isfinite(high[axis]):
            low[axis] = draw(st.floats(-4.0, 3.0))
            high[axis] = low[axis] + draw(st.floats(0.1, 7.0))
        elif draw(st.booleans()):
            low[axis], high[axis] = draw(st.sampled_from([(-math.inf, 1.0), (-1.0, math.inf)]))
            ends = low if math.isfinite(low[axis]) else high
            ends[axis] = draw(st.floats(-4.0, 4.0))
    return low, high


def clamped(kind, turns, low, high):
    """Return turns (m, 4) or one of them clamped."""
    rows = np.atleast_2d(turns)[:, None]
    held = clamp_rotations((kind,), rows, low[None], high[None])[:, 0]
    return held if np.ndim(turns) == 2 else held[0]


def some_twist(kind, low, high):
    """Return a twist inside the range of a kind, as a turn about Y."""
    if Y not in FREE_AXES[kind]:
        return about(Y, 0.0)
    least, most = (end if math.isfinite(end) else 0.0 for end in (low[Y], high[Y]))
    inside = 0.5 * (least + most) if least <= most else max(least, most)
    return about(Y, min(max(inside, low[Y]), high[Y]))


def swing_by(sines):
    """Return the swings of sines (m, 2) about X and Z."""
    cosine = np.sqrt(np.maximum(0.0, 1.0 - (sines * sines).sum(axis=-1)))
    return np.stack((cosine, sines[..., 0], np.zeros_like(cosine), sines[..., 1]), axis=-1)


def swing_of(turns):
    """Return what turns (..., 4) do after their twists, (..., 4)."""
    twists = turns * [1.0, 0.0, 1.0, 0.0]
    return multiply(turns, rotation.conjugate(rotation.normalize(twists)))


def middle_of(low, high):
    """Return where a range of swings counts from: rest, or the end that is nearest to it."""
    ends = [min(max(0.0, low[axis]), high[axis]) for axis in (X, Z)]
    return np.sin(0.5 * np.clip(ends, -math.pi, math.pi))


@pytest.mark.parametrize("kind", SWINGS)
@few
@given(edges=ranges())
def test_a_swing_beyond_its_drawn_boundary_is_clamped_back_and_one_inside_stays(kind, edges):
    low, high = edges
    boundary = find_shape(kind, low, high).swing
    if boundary is None:
        assert np.isinf([low[X], low[Z], high[X], high[Z]]).all()
        return
    twist, middle = some_twist(kind, low, high), middle_of(low, high)
    swings = rotation.between(np.broadcast_to(AXIS_Y, boundary.shape), boundary)
    sines = swings[swings[:, 0] >= HALF_TURN][:, [1, 3]]
    for inside in (sines, middle + (1.0 - PUSH) * (sines - middle)):
        turns = multiply(swing_by(inside), twist)
        assert_rotations_close(clamped(kind, turns, low, high), turns, ROUNDING)
    moves = []
    for way in WAYS:
        outside = sines + PUSH * way
        held = swing_of(clamped(kind, multiply(swing_by(outside), twist), low, high))
        moves.append(np.linalg.norm(held[:, [1, 3]] - outside, axis=1))
    # Of eight ways one is nearly straight out, and all of that is taken back.
    assert (np.max(moves, axis=0) > 0.9 * PUSH).all()


@pytest.mark.parametrize("kind", BENDS)
@few
@given(edges=ranges())
def test_a_bend_beyond_its_drawn_arc_is_clamped_back_and_one_inside_stays(kind, edges):
    low, high = edges
    axis, twist = BENDS[kind], some_twist(kind, low, high)
    arc = find_shape(kind, low, high).bend
    assert arc.axis == axis
    check_arc(kind, arc, edges, lambda angle: multiply(about(axis, angle), twist), AXIS_Y)


@pytest.mark.parametrize("kind", TWISTS)
@few
@given(edges=ranges())
def test_a_twist_beyond_its_drawn_arc_is_clamped_back_and_one_inside_stays(kind, edges):
    low, high = edges
    arc = find_shape(kind, low, high).twist
    if arc is None:
        assert high[Y] - low[Y] >= math.tau
        return
    assert arc.axis == Y
    swing = swing_of(clamped(kind, about(Y, 0.0), low, high))
    if swing[0] < HALF_TURN:
        # There is no telling swing from twist.
        return
    check_arc(kind, arc, edges, lambda angle: multiply(swing, about(Y, angle)), AXIS_Z, swing)


def check_arc(kind, arc, edges, turn_by, carried, before=None):
    """Check that an arc shows where turns carry an axis, and ends where they are clamped."""
    low, high = edges
    directions = arc.trace()
    turns = np.array([turn_by(a) for a in np.linspace(arc.least, arc.most, len(directions))])
    assert_rotations_close(clamped(kind, turns, low, high), turns, ROUNDING)
    seen = rotation.rotate(turns, np.broadcast_to(carried, directions.shape))
    if before is not None:
        back = rotation.conjugate(np.broadcast_to(before, turns.shape))
        seen = rotation.rotate(back, seen)
    np.testing.assert_allclose(seen, directions, atol=ROUNDING)
    if not arc.has_ends:
        assert high[arc.axis] - low[arc.axis] >= math.tau
        return
    assert arc.most - arc.least < math.tau
    for end, given_end, out in ((arc.least, low, -PUSH), (arc.most, high, PUSH)):
        if math.isfinite(given_end[arc.axis]):
            back = clamped(kind, turn_by(end + out), low, high)
            assert_rotations_close(back, turn_by(end), ROUNDING)
