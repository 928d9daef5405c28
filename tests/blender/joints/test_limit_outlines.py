"""Limits as they are drawn: bones that their limits hold lie on the drawn boundary."""

import bpy
import numpy as np
import pytest

from blender_ik_addon.core import JointKind
from blender_ik_addon.core.algebra import rotation
from blender_ik_addon.properties.records import chain_spec
from blender_ik_addon.rig.reading.skeleton import compiled
from blender_ik_addon.rig.reading.world import uids_in
from blender_ik_addon.rig.shapes import chain_shape
from blender_ik_addon.rig.shapes.chain_lines import ChainRows, read_posed
from blender_ik_addon.rig.shapes.limit_shapes import LimitPart, find_bounds
from tests.blender.joints.test_limits_held import limit
from tests.blender.setups import jointed_rigs, rigs
from tests.core.limited_rigs import FREE_AXES
from tests.helpers import Array, make_rng

# Of the size that is drawn: float32 poses, and between its points a line cuts the boundary short.
EXACT, CUT = 2e-5, 4e-3
RANGES = {"x": (-12.0, 20.0), "y": (-15.0, 25.0), "z": (-18.0, 10.0)}
# Without rest, and from rest to one side.
AWAY = {"x": (15.0, 50.0), "y": (10.0, 40.0), "z": (0.0, 30.0)}
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


def shape_of(ob: bpy.types.Object) -> tuple[chain_shape.ChainShape, Array]:
    """Return the shape of the first chain and its joints, on the pose as Blender evaluated it."""
    graph, skeleton = bpy.context.evaluated_depsgraph_get(), compiled(ob)
    spec = chain_spec(ob.chain_ik.chains[0])
    posed = read_posed(ob.evaluated_get(graph), len(skeleton.names))
    known = graph, ob, skeleton, posed, uids_in(bpy.context.scene)
    found = np.array(chain_shape.find_places([spec.target, spec.pole], *known))
    places = [each if np.isfinite(each).all() else None for each in found]
    shape = chain_shape.compile_shape(ob, skeleton, spec)
    points = ChainRows.of([shape.plan]).place([posed])
    return chain_shape.place_shape(shape, points, posed, *places), points


def make_leg(seed: int, **settings: object) -> bpy.types.Object:
    """Return a chain of three bones with rolls, on an armature object that is turned and scaled."""
    rng = make_rng(seed)
    ob = rigs.make_rig(rigs.zigzag(3, seed=seed, length=0.5), rolls=rng.uniform(-3.0, 3.0, 3))
    ob.rotation_euler, ob.location = rng.uniform(-3.0, 3.0, 3), rng.uniform(-1.0, 1.0, 3)
    rigs.change(ob, scale=(1.3, 1.3, 1.3))
    place = ob.matrix_world @ rigs.Vector(NEAR)
    rigs.add_chain(ob, "Bone.2", rigs.make_empty(location=place), **settings)
    return ob


def gap_to_line(point: Array, line: Array) -> float:
    """Return how far a point is from a line that is closed."""
    ways = np.roll(line, -1, axis=0) - line
    squares = np.maximum(np.einsum("pi,pi->p", ways, ways), 1e-30)
    shares = np.clip(np.einsum("pi,pi->p", point - line, ways) / squares, 0.0, 1.0)
    return float(np.linalg.norm(line + shares[:, None] * ways - point, axis=1).min())


def check_held(ob: bpy.types.Object, bone: str, row: int) -> None:
    """Check that a bone that its limits hold lies on the boundary that is drawn for it."""
    assert "imits" in ob.chain_ik.chains[0].status, ob.chain_ik.chains[0].status
    limits = shape_of(ob)[0].limits
    posed = rigs.evaluated(ob)
    axes = np.array(posed.matrix_world @ posed.pose.bones[bone].matrix)[:3, :3]
    _, along, across = (axes / np.linalg.norm(axes, axis=0)).T
    found = 0
    for number, outline in enumerate(limits.outlines.outlines):
        if outline.row != row:
            continue
        size, centre = limits.sizes[number], limits.centres[number]
        line = limits.points[limits.outlines.outline_of == number]
        if outline.part is LimitPart.TWIST:
            needle = centre + size * across
            np.testing.assert_allclose(limits.present[number], needle, atol=EXACT * size)
            np.testing.assert_allclose((line - centre) @ along, 0.0, atol=EXACT * size)
            continue
        found += 1
        np.testing.assert_allclose(centre, rigs.head(ob, bone), atol=1e-5)
        tip = centre + size * along
        np.testing.assert_allclose(limits.present[number], tip, atol=EXACT * size)
        if outline.part is LimitPart.SWING:
            assert gap_to_line(tip, line) < CUT * size
        else:
            ends = np.linalg.norm(line[[0, -1]] - tip, axis=1)
            assert ends.min() < 10.0 * EXACT * size, ends
    assert found == 1


@pytest.mark.every_case
@pytest.mark.parametrize("relative_to", ["REST", "PARENT", "CHILD"])
@pytest.mark.parametrize("ranges", [RANGES, AWAY], ids=["with rest", "away from rest"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_bone_that_its_own_joint_holds_lies_on_the_drawn_boundary(
    kind: str, relative_to: str, ranges: dict
) -> None:
    ob = make_leg(0)
    holder = "Bone.0" if relative_to == "CHILD" else "Bone.1"
    ends = {axis: ranges[axis] for axis in KINDS[kind]}
    for bone, own in ((holder, relative_to), ("Bone.2", "REST")):
        jointed_rigs.give(ob.chain_ik.chains[0], bone, kind, cone=15.0, relative_to=own, **ends)
    bpy.context.view_layer.update()
    check_held(ob, "Bone.1", 1)
    if (relative_to, ranges) == ("REST", RANGES) and kind != "CONE":
        # The bones' own limits.
        ob.chain_ik.chains[0].joints.clear()
        for bone in ("Bone.1", "Bone.2"):
            joint = JointKind[kind]
            limit(ob.pose.bones[bone], joint, [RANGES["xyz"[axis]] for axis in FREE_AXES[joint]])
        rigs.tagged(ob)
        check_held(ob, "Bone.1", 1)
    # Below a bone that is scaled flat they are drawn as well, wherever.
    rigs.change(ob.pose.bones["Bone.0"], scale=(0.0, 1.0, 1.0))
    assert np.isfinite(shape_of(ob)[0].limits.points).all()


def test_a_swing_that_is_limited_about_one_axis_is_drawn_as_a_band_up_to_half_a_turn() -> None:
    low, high = np.full(3, -np.inf), np.full(3, np.inf)
    low[0], high[0] = np.radians(RANGES["x"])
    (swing,) = find_bounds(JointKind.SWING, tuple(low), tuple(high))
    line = swing.line
    turned = rotation.between(np.broadcast_to(np.eye(3)[1], line.shape), line)
    is_half = line[:, 1] < -0.999
    bends = np.degrees(2.0 * np.arcsin(turned[~is_half, 1]))
    assert np.isclose(bends[:, None], RANGES["x"]).any(axis=1).all()
    assert 0 < is_half.sum() < 10
    assert np.ptp(turned[~is_half, 3]) > 1.9
