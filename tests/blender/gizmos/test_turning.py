"""Ends of limits, which move on arcs, and the pole angle, which turns on a dial."""

import math
from pathlib import Path

import bpy
import numpy as np
import pytest

from blender_ik_addon.properties.records import chain_spec
from blender_ik_addon.rig.reading.refusals import RigError
from blender_ik_addon.rig.shapes.limit_ends import LimitEnd, find_ends
from blender_ik_addon.rig.tools.pole_axis import pole_axis
from tests.blender.setups import rigs
from tests.blender.setups.jointed_rigs import add_joint
from tests.blender.setups.saved_rigs import linked
from tests.blender.setups.selecting import press, refusal

set_limit = bpy.ops.pose.chain_ik_set_limit

RANGES = {"x": (-50.0, 40.0), "y": (-30.0, 60.0), "z": (10.0, 70.0)}
KINDS = {
    "BALL": "xyz",
    "HINGE_X": "x",
    "HINGE_Y": "y",
    "HINGE_Z": "z",
    "ELBOW_X": "xy",
    "ELBOW_Z": "yz",
    "SWING": "xz",
}
# Sizes of the marks of limits, as shares of the bone's length.
BEND, TWIST, TWIST_AT = 0.45, 0.22, 0.3


def make_limb(**settings: object) -> tuple[bpy.types.Object, bpy.types.PropertyGroup]:
    ob = rigs.make_rig(rigs.zigzag(3, seed=4), rolls=(0.3, -0.8, 1.9))
    ob.location, ob.rotation_euler, ob.scale = (0.3, 0.2, 0.1), (0.2, -0.3, 0.8), (-1, 1, 1)
    chain = rigs.add_chain(ob, "Bone.2", rigs.make_empty(), mute=True, **settings)
    rigs.updated()
    rigs.enter(ob, "POSE")
    return ob, chain


def ends(ob: bpy.types.Object, bone: str = "Bone.1") -> dict[tuple[str, str], LimitEnd]:
    limit_ends = find_ends(ob, chain_spec(ob.chain_ik.chains[0]), bone)
    return {("xyz"[end.axis], "max" if end.is_max else "min"): end for end in limit_ends}


def pose(ob: bpy.types.Object, bone: str, axis: str, angle: float) -> None:
    ob.pose.bones[bone].rotation_mode = "XYZ"
    ob.pose.bones[bone].rotation_euler = [angle if letter == axis else 0.0 for letter in "xyz"]
    rigs.updated()


def mark(ob: bpy.types.Object, bone: str, axis: str) -> np.ndarray:
    """Return the point of a bone's axis on the arc of its swing or twist, world space."""
    posed = rigs.evaluated(ob)
    matrix = np.array(posed.matrix_world @ posed.pose.bones[bone].matrix)
    length = posed.pose.bones[bone].length
    if axis == "y":
        return matrix[:3, 3] + length * (TWIST_AT * matrix[:3, 1] + TWIST * matrix[:3, 2])
    return matrix[:3, 3] + length * BEND * matrix[:3, 1]


@pytest.mark.parametrize("kind", KINDS)
def test_an_end_is_where_a_bone_points_that_is_turned_to_the_limit(kind):
    ob, chain = make_limb()
    ranges = {axis: RANGES[axis] for axis in KINDS[kind]}
    if kind == "BALL":
        # A swing about X alone leaves Z at rest, which its range must include.
        ranges["z"] = (-10.0, 70.0)
    if kind == "SWING":
        ranges["z"] = (-20.0, 20.0)
    add_joint(chain, "Bone.1", kind, **ranges)
    assert set(ends(ob)) == {(axis, end) for axis in KINDS[kind] for end in ("min", "max")}
    for (axis, word), end in ends(ob).items():
        angle = math.radians(ranges[axis][word == "max"])
        assert math.isclose(end.angle, angle, abs_tol=1e-6)
        pose(ob, "Bone.1", axis, angle)
        end = ends(ob)[axis, word]
        np.testing.assert_allclose(end.point, mark(ob, "Bone.1", axis), atol=2e-6)
        assert_is_drawn(end)


def assert_is_drawn(end: LimitEnd) -> None:
    drawn = end.limits.points[end.limits.outlines.outline_of == end.outline]
    assert np.linalg.norm(drawn - end.point, axis=1).min() < 1e-6


@pytest.mark.parametrize(
    ("kind", "zero"),
    [("BALL", "REST"), ("ELBOW_X", "PARENT"), ("ELBOW_Z", "CHILD"), ("SWING", "REST")],
)
def test_a_moved_end_is_where_its_arc_predicts_it(kind, zero):
    ob, chain = make_limb()
    rigs.turn_bones(ob, seed=2, angle=0.6)
    joint = add_joint(
        chain,
        "Bone.0" if zero == "CHILD" else "Bone.1",
        kind,
        relative_to=zero,
        **{axis: RANGES[axis] for axis in KINDS[kind]},
    )
    for (axis, word), end in ends(ob).items():
        angle = end.angle + (0.2 if word == "max" else -0.2)
        (expected,) = end.points(np.array([angle]))
        assert np.linalg.norm(expected - end.point) > 0.01
        press(set_limit, bone="Bone.1", turn=axis.upper(), end=word.upper(), angle=angle)
        assert math.isclose(getattr(joint, f"{word}_{axis}"), angle, abs_tol=1e-6)
        np.testing.assert_allclose(ends(ob)[axis, word].point, expected, atol=2e-6)


def test_an_end_stops_at_the_other_one_and_where_blender_keeps_it_and_a_cone_has_one_angle():
    ob, chain = make_limb()
    joint = add_joint(chain, "Bone.1", "HINGE_X", x=(-20, 50))
    press(set_limit, bone="Bone.1", turn="X", end="MAX", angle=-1.0)
    assert joint.max_x == joint.min_x
    press(set_limit, bone="Bone.1", turn="X", end="MIN", angle=2.0)
    assert math.isclose(joint.min_x, math.radians(-20), abs_tol=1e-6)
    bone = ob.pose.bones["Bone.0"]
    bone.use_ik_limit_z, bone.ik_min_z, bone.ik_max_z = True, -0.5, 0.7
    press(set_limit, bone="Bone.0", turn="Z", end="MAX", angle=1.2)
    press(set_limit, bone="Bone.0", turn="Z", end="MIN", angle=0.4)
    assert math.isclose(bone.ik_max_z, 1.2, abs_tol=1e-6)
    assert bone.ik_min_z == ends(ob, "Bone.0")["z", "min"].angle == 0.0
    chain.joints.clear()
    joint = add_joint(chain, "Bone.1", "CONE", cone=40)
    assert len(ends(ob)) == 4
    for turn, end, angle in (("X", "MIN", -0.5), ("Z", "MAX", 0.9), ("X", "MAX", 0.3)):
        press(set_limit, bone="Bone.1", turn=turn, end=end, angle=angle)
        assert math.isclose(joint.cone_angle, abs(angle), abs_tol=1e-6)
        for limit_end in ends(ob).values():
            assert_is_drawn(limit_end)
    press(set_limit, bone="Bone.1", turn="X", end="MAX", angle=-0.3)
    assert joint.cone_angle == 0.0


def test_an_end_of_a_limit_that_does_not_exist_is_refused_with_advice():
    ob, chain = make_limb()
    joint = add_joint(chain, "Bone.1", "HINGE_X", x=(-20, 50))
    before = joint.max_x
    for bone, turn in (("Bone.1", "Z"), ("Bone.0", "X"), ("Gone", "X")):
        text = refusal(set_limit, bone=bone, turn=turn, end="MAX", angle=1.0)
        assert "switch Limits on" in text
    assert "name the bone of the chain whose limit you want to move" in refusal(set_limit)
    text = refusal(set_limit, bone="Bone.1", turn="X", end="MAX", angle=math.nan)
    assert "not a finite number" in text
    assert joint.max_x == before
    chain.use_limits = False
    assert "switch Limits on" in refusal(set_limit, bone="Bone.1", turn="X", end="MAX", angle=1.0)
    chain.use_limits, bone = True, ob.pose.bones["Bone.2"]
    bone.use_ik_limit_x = bone.use_ik_limit_z = True
    rigs.change(bone.driver_add("ik_max_x").driver, expression="0.5")
    text = refusal(set_limit, bone="Bone.2", turn="X", end="MAX", angle=0.9)
    assert text == "This limit of bone 'Bone.2' has drivers: remove its drivers first."
    press(set_limit, bone="Bone.2", turn="Z", end="MAX", angle=0.9)
    assert (bone.ik_max_x, bone.ik_max_z) == pytest.approx((0.5, 0.9))


def test_limits_of_a_librarys_bones_are_refused_and_joints_of_an_override_move(tmp_path: Path):
    ob, _ = make_limb()
    ob.pose.bones["Bone.1"].use_ik_limit_x = True
    ob.pose.bones["Bone.1"].ik_max_x = 0.5
    bpy.ops.object.mode_set(mode="OBJECT")
    (of_library,) = linked(tmp_path / "library.blend", "Rig")
    override = of_library.override_create(remap_local_usages=True)
    rigs.enter(override, "POSE")
    rigs.updated()
    chain = override.chain_ik.chains[0]
    arguments = {"bone": "Bone.1", "turn": "X", "end": "MAX", "angle": 1.0}
    assert "come from a library" in refusal(set_limit, **arguments)
    assert override.pose.bones["Bone.1"].ik_max_x == 0.5
    joint = add_joint(chain, "Bone.1", "HINGE_X", x=(-20, 50))
    press(set_limit, **arguments)
    assert math.isclose(joint.max_x, 1.0, abs_tol=1e-6)


turn_pole = bpy.ops.pose.chain_ik_turn_pole

LIMB = ((0.0, 0.0, 0.0), (0.1, -0.2, 1.0), (0.0, 0.0, 2.0), (0.1, 0.0, 2.4))
ANGLES = (0.6, -1.3, 3.0)


def make_arm(scale=(1, 1, 1), **settings: object) -> bpy.types.Object:
    ob = rigs.make_rig(LIMB)
    rigs.change(ob, location=(0.3, 0.2, 0.1), rotation_euler=(0.2, -0.3, 0.8), scale=scale)
    target, pole = ((0.5, 0.4, 1.1), (0.2, -3.0, 1.0))
    chain = rigs.add_chain(
        ob, "Bone.2", rigs.make_empty("Target", ob.matrix_world @ rigs.Vector(target)), **settings
    )
    rigs.change(chain, pole_target=rigs.make_empty("Pole", ob.matrix_world @ rigs.Vector(pole)))
    rigs.enter(ob, "POSE")
    return ob


def turn_since(ob: bpy.types.Object, before: np.ndarray) -> float:
    line = pole_axis(ob, chain_spec(ob.chain_ik.chains[0]))
    arms = [point - line.root for point in (before, rigs.head(ob, "Bone.1"))]
    one, other = (arm - line.direction * (arm @ line.direction) for arm in arms)
    return line.sense * math.atan2(np.cross(one, other) @ line.direction, one @ other)


@pytest.mark.parametrize(
    ("scale", "settings"),
    [
        ((-1, 1, 1), {"negative_scale": "MIRROR"}),
        ((-1, -1, -1), {"negative_scale": "KEEP"}),
        ((1, -0.5, 1), {"negative_scale": "KEEP"}),
        ((2, 2, 2), {"use_flip_bend": True}),
        ((-1, 1, 1), {"use_flip_bend": True, "use_rotation": True}),
        ((-1, -1, 1), {"use_tail": False, "solver": "TWO_BONE"}),
    ],
)
def test_the_bend_turns_by_the_angle_about_the_dials_line_as_it_is_seen(scale, settings):
    ob = make_arm(scale, **settings)
    before = rigs.head(ob, "Bone.1")
    for angle in ANGLES:
        press(turn_pole, angle=angle)
        gap = math.remainder(turn_since(ob, before) - angle, math.tau)
        # Uneven scale stretches angles, so only the sense is the same.
        is_even = len({abs(value) for value in scale}) == 1
        assert abs(gap) < (1e-4 if is_even else 1.2)


def test_the_line_leads_to_the_target_even_if_limits_keep_the_chain_from_it():
    ob = make_arm()
    chain = ob.chain_ik.chains[0]
    for bone in ("Bone.0", "Bone.1", "Bone.2"):
        add_joint(chain, bone, "HINGE_X", x=(-5, 5))
    rigs.updated()
    target = rigs.position(chain.target)
    assert np.linalg.norm(rigs.tail(ob, "Bone.2") - target) > 0.1
    np.testing.assert_allclose(pole_axis(ob, chain_spec(chain)).end, target, atol=1e-6)


def test_auto_keying_keys_an_angle_that_has_keys_and_no_other():
    ob, scene = make_arm(), bpy.context.scene
    scene.tool_settings.use_keyframe_insert_auto = True
    press(turn_pole, angle=0.4)
    assert rigs.curves_of(ob) == []
    ob.keyframe_insert("chain_ik.chains[0].pole_angle", frame=1)
    scene.frame_set(5)
    press(turn_pole, angle=1.0)
    (curve,) = rigs.curves_of(ob)
    keys = [tuple(point.co) for point in curve.keyframe_points]
    np.testing.assert_allclose(keys, [(1.0, 0.4), (5.0, 1.0)], atol=1e-6)


def test_an_angle_that_is_not_a_number_or_has_a_driver_or_no_pole_is_refused():
    ob = make_arm()
    chain = ob.chain_ik.chains[0]
    assert "not a finite number" in refusal(turn_pole, angle=math.nan)
    assert chain.pole_angle == 0.0
    rigs.change(chain.driver_add("pole_angle").driver, expression="0.3")
    text = refusal(turn_pole, angle=1.0)
    assert text == "The pole angle of this chain has drivers: remove its drivers first."
    assert chain.pole_angle == pytest.approx(0.3)
    rigs.change(chain, pole_target=None)
    assert "no pole" in refusal(turn_pole, angle=1.0)
    # A closed chain has no line between root and end.
    ob = rigs.make_rig([(0, 0, 0), (0, 0, 1), (0.5, 0, 0.5), (0, 0, 0)])
    rigs.add_chain(ob, "Bone.2", None)
    rigs.updated()
    with pytest.raises(RigError, match="The root and the end of the bend are at the same point"):
        pole_axis(ob, chain_spec(ob.chain_ik.chains[0]))
