"""A whole body does not pass its floor, which is the XY plane of an object."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from mathutils import Euler, Matrix, Vector

from tests.blender.setups import rigs
from tests.blender.setups.selecting import press

pytestmark = pytest.mark.usefixtures("rigify")

# In metres, for a human of two.
PLACE = 4e-5
WRISTS = ("hand.L", "hand.R")
KNEES = ("shin.L", "shin.R")
ELBOWS = ("forearm.L", "forearm.R")


@pytest.fixture
def body(human):
    press(bpy.ops.pose.chain_ik_body)
    rigs.updated()
    return human


def lay_floor(ob: bpy.types.Object, matrix: Matrix | None = None) -> bpy.types.Object:
    floor = rigs.link(bpy.data.objects.new("Ground", None))
    floor.matrix_world = matrix or Matrix()
    ob.chain_ik.body.floor = floor
    rigs.updated()
    return floor


def put(ob: bpy.types.Object, name: str, way: tuple[float, float, float]) -> None:
    """Move a control from where it rests, in the space of the armature."""
    control = ob.pose.bones[name]
    control.location = control.bone.matrix_local.to_3x3().inverted() @ Vector(way)
    rigs.updated()


def heights(ob: bpy.types.Object, floor: bpy.types.Object, names=(*WRISTS, *KNEES, *ELBOWS)):
    evaluated, back = rigs.evaluated(ob), floor.matrix_world.normalized().inverted()
    heads = [evaluated.pose.bones[name].head for name in names]
    return np.array([(back @ (evaluated.matrix_world @ head)).z for head in heads])


def test_a_hand_that_is_pulled_below_the_floor_stops_on_it(body):
    way = (0.0, -0.3, -1.6)
    put(body, "Arm Target.L", way)
    put(body, "Arm Target.L", (0.0, 0.0, 0.0))
    floor = lay_floor(body)
    stood = [rigs.evaluated(body).pose.bones[name].matrix.copy() for name in ("foot.L", "foot.R")]
    put(body, "Arm Target.L", way)
    above = heights(body, floor)
    assert above.min() >= -PLACE
    assert above[0] <= PLACE
    for name, before in zip(("foot.L", "foot.R"), stood, strict=True):
        after = rigs.evaluated(body).pose.bones[name].matrix
        assert (after.translation - before.translation).length <= PLACE
    assert "Ground" in body.chain_ik.chains["Arm.L"].status


def test_without_the_floor_the_hand_goes_below(body):
    floor = lay_floor(body)
    body.chain_ik.body.floor = None
    put(body, "Arm Target.L", (0.0, -0.3, -1.6))
    assert heights(body, floor).min() < -0.02


def test_a_floor_that_rises_lifts_what_is_on_it(body):
    floor = lay_floor(body)
    put(body, "Arm Target.L", (0.0, -0.3, -1.6))
    floor.location.z = 0.15
    rigs.updated()
    assert heights(body, floor).min() >= -PLACE
    assert heights(body, floor)[0] <= PLACE


def test_a_pinned_foot_below_the_floor_stays_where_it_is(body):
    before = rigs.evaluated(body).pose.bones["foot.L"].matrix.translation.copy()
    lay_floor(body, Matrix.Translation((0.0, 0.0, 0.2)))
    after = rigs.evaluated(body).pose.bones["foot.L"].matrix.translation
    assert (after - before).length <= PLACE


def test_feet_that_are_not_pinned_stand_on_their_soles(body):
    for name in ("Leg.L", "Leg.R"):
        body.chain_ik.chains[name].use_pin = False
    lay_floor(body)
    for side in "LR":
        put(body, f"Leg Target.{side}", (0.0, 0.0, -0.3))
    shown = rigs.evaluated(body).pose.bones
    # Toes lie on the floor at rest, and ankles as high as they are above it.
    for side in "LR":
        assert shown[f"toe.{side}"].head.z >= -PLACE
        foot = shown[f"foot.{side}"]
        sole = foot.matrix @ (
            foot.bone.matrix_local.inverted()
            @ Vector((foot.bone.head_local.x, foot.bone.head_local.y, 0.0))
        )
        assert sole.z >= -PLACE


@pytest.mark.parametrize("scale", [(1.0, 1.0, 1.0), (-1.5, 1.5, 1.5)], ids=["as it is", "mirrored"])
def test_the_floor_may_stand_at_any_angle(body, scale):
    tilt = Euler((0.3, -0.2, 0.5)).to_matrix().to_4x4()
    body.matrix_world = Matrix.Translation((1.0, -2.0, 0.5)) @ tilt @ Matrix.Diagonal((*scale, 1.0))
    rigs.updated()
    floor = lay_floor(body, Matrix.Translation((1.0, -2.0, 0.5)) @ tilt)
    put(body, "Arm Target.L", (0.0, -0.3, -1.6))
    above = heights(body, floor)
    assert above.min() >= -PLACE * abs(scale[0])
    assert above[:2].min() <= PLACE * abs(scale[0])


def test_a_floor_that_is_hidden_holds(body):
    floor = lay_floor(body)
    floor.hide_viewport = True
    put(body, "Arm Target.L", (0.0, -0.3, -1.6))
    floor.location.z = 0.15
    put(body, "Arm Target.L", (0.0, -0.3, -1.5))
    assert floor.matrix_world.translation.z == pytest.approx(0.15)
    assert heights(body, floor).min() >= -PLACE


def test_a_floor_that_the_body_carries_is_told(body):
    floor = lay_floor(body)
    floor.parent, floor.parent_type, floor.parent_bone = body, "BONE", "hand.L"
    rigs.updated()
    assert body.chain_ik.chains["Arm.L"].status == (
        "The floor 'Ground' is moved by the chain that would follow it: clear its parent or"
        " constraint, or choose another object."
    )
