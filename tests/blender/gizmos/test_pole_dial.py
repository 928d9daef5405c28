"""The pole angle as a dial: the bend turns with it about the line from root to target, as seen."""

from __future__ import annotations

import math

import bpy
import numpy as np
import pytest

from blender_ik_addon.properties.records import chain_spec
from blender_ik_addon.rig.reading.refusals import RigError
from blender_ik_addon.rig.tools.pole_axis import pole_axis
from tests.blender.setups import rigs
from tests.blender.setups.jointed_rigs import give
from tests.blender.setups.selecting import press, refusal

turn_pole = bpy.ops.pose.chain_ik_turn_pole

LIMB = ((0.0, 0.0, 0.0), (0.1, -0.2, 1.0), (0.0, 0.0, 2.0), (0.1, 0.0, 2.4))
ANGLES = (0.6, -1.3, 3.0)


def make_arm(scale=(1, 1, 1), **settings: object) -> bpy.types.Object:
    """Return an armature object in pose mode with an arm that has a pole."""
    ob = rigs.make_rig(LIMB)
    ob.location, ob.rotation_euler, ob.scale = (0.3, 0.2, 0.1), (0.2, -0.3, 0.8), scale
    rigs.updated()
    target, pole = ((0.5, 0.4, 1.1), (0.2, -3.0, 1.0))
    chain = rigs.add_chain(
        ob, "Bone.2", rigs.make_empty("Target", ob.matrix_world @ rigs.Vector(target)), **settings
    )
    chain.pole_target = rigs.make_empty("Pole", ob.matrix_world @ rigs.Vector(pole))
    rigs.updated()
    rigs.enter(ob, "POSE")
    return ob


def turned(ob: bpy.types.Object, before: np.ndarray) -> float:
    """Return by how much the first joint has turned about the dial's line, as it is seen."""
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
        gap = math.remainder(turned(ob, before) - angle, math.tau)
        # Uneven scale stretches angles, so only the sense is the same.
        is_even = len({abs(value) for value in scale}) == 1
        assert abs(gap) < (1e-4 if is_even else 1.2)


def test_the_line_leads_to_the_target_where_limits_keep_the_chain_from_it():
    ob = make_arm()
    chain = ob.chain_ik.chains[0]
    for bone in ("Bone.0", "Bone.1", "Bone.2"):
        give(chain, bone, "HINGE_X", x=(-5, 5))
    rigs.updated()
    target = rigs.position(chain.target)
    assert np.linalg.norm(rigs.tail(ob, "Bone.2") - target) > 0.1
    np.testing.assert_allclose(pole_axis(ob, chain_spec(chain)).end, target, atol=1e-6)


def test_auto_keying_keys_an_angle_that_has_keys_and_no_other():
    ob = make_arm()
    path = "chain_ik.chains[0].pole_angle"
    scene = bpy.context.scene
    scene.tool_settings.use_keyframe_insert_auto = True
    try:
        press(turn_pole, angle=0.4)
        assert rigs.curves_of(ob) == []
        ob.keyframe_insert(path, frame=1)
        scene.frame_set(5)
        press(turn_pole, angle=1.0)
    finally:
        scene.tool_settings.use_keyframe_insert_auto = False
    (curve,) = rigs.curves_of(ob)
    keys = [tuple(point.co) for point in curve.keyframe_points]
    np.testing.assert_allclose(keys, [(1.0, 0.4), (5.0, 1.0)], atol=1e-6)


def test_an_angle_that_is_no_number_or_has_a_driver_or_no_pole_is_refused():
    ob = make_arm()
    chain = ob.chain_ik.chains[0]
    assert "not a finite number" in refusal(turn_pole, angle=math.nan)
    assert chain.pole_angle == 0.0
    chain.driver_add("pole_angle").driver.expression = "0.3"
    rigs.updated()
    text = refusal(turn_pole, angle=1.0)
    assert text == "The pole angle of this chain has drivers: remove its drivers first."
    assert chain.pole_angle == pytest.approx(0.3)
    chain.pole_target = None
    assert "no pole" in refusal(turn_pole, angle=1.0)
    # The ends of what bends meet.
    ob = rigs.make_rig([(0, 0, 0), (0, 0, 1), (0.5, 0, 0.5), (0, 0, 0)])
    rigs.add_chain(ob, "Bone.2", None)
    rigs.updated()
    with pytest.raises(RigError, match="The root and the end of what bends are in one place"):
        pole_axis(ob, chain_spec(ob.chain_ik.chains[0]))
