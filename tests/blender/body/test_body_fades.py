"""Limbs that carry other chains of a body fade out with these, as they do without a body."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np
import pytest

from blender_ik_addon.properties.records import controls_of_chain
from tests.blender.body import human_bodies as bodies
from tests.blender.setups import rigs
from tests.blender.setups.selecting import press

MAX_UNEVENNESS = 1.6
"""Largest step of a bone that turns evenly, as a multiple of the mean step."""
LIFTED = (0.2, -0.4, 0.4)
"""Offset of a foot within the reach of its leg."""
FAR = (0.5, -0.9, 0.5)
"""Offset of a foot out of the reach of its leg."""


def lift(ob: bpy.types.Object, name: str, offset: Sequence[float], *, pin: bool) -> None:
    """Move the control of a limb from where it is: that of a foot carries the toe's target."""
    chain = ob.chain_ik.chains[name]
    rigs.change(chain, use_pin=pin)
    anchor = controls_of_chain(chain)[0]
    control = ob.pose.bones[anchor.bone]
    matrix = control.matrix.copy()
    matrix.translation += bodies.Vector(offset)
    rigs.change(control, matrix=matrix)


def faded(ob: bpy.types.Object, name: str, count: int = 20) -> list[dict[str, np.ndarray]]:
    """Return the evaluated matrices of deforming bones while the influence rises from 0 to 1."""
    shown = []
    for influence in np.linspace(0.0, 1.0, count + 1):
        rigs.change(ob.chain_ik.chains[name], influence=float(influence))
        matrices = rigs.matrices(ob)
        shown.append({bone.name: matrices[bone.name] for bone in ob.data.bones if bone.use_deform})
    return shown


def turns(shown: Sequence[dict[str, np.ndarray]], bone: str) -> np.ndarray:
    """Return the angles by which a bone turns from one pose to the next, degrees."""
    axes = np.array([matrices[bone][:3, :3] for matrices in shown])
    traces = np.einsum("nij,nij->n", axes[:-1], axes[1:])
    return np.degrees(np.arccos(np.clip((traces - 1.0) / 2.0, -1.0, 1.0)))


@pytest.mark.parametrize("pin", [False, True])
@pytest.mark.parametrize(
    ("name", "bone", "offset"),
    [("Leg.L", "thigh.L", LIFTED), ("Arm.L", "upper_arm.L", (-0.3, -0.3, 0.2))],
)
def test_a_limb_that_carries_chains_fades_with_them_as_without_a_body(
    body, name, bone, offset, pin
):
    """Once the target of the toe still pulled a leg that had faded out."""
    if name == "Arm.L":
        press(bpy.ops.pose.chain_ik_setup, kinds={"FINGER"}, control="BONE")
    lift(body, name, offset, pin=pin)
    shown = faded(body, name)
    steps = turns(shown, bone)
    assert steps.mean() > 0.5
    assert steps.max() < MAX_UNEVENNESS * steps.mean()
    assert_as_without_body(body, name, shown)


def assert_as_without_body(
    body: bpy.types.Object, name: str, shown: Sequence[dict[str, np.ndarray]]
) -> None:
    rigs.change(body.chain_ik.body, use_body=False)
    for in_body, alone in zip(shown, faded(body, name, len(shown) - 1), strict=True):
        assert bodies.farthest(alone, in_body) < 4.0 * bodies.PLACE_TOLERANCE


def test_a_finger_stretches_to_its_target_while_its_arm_fades(body):
    press(bpy.ops.pose.chain_ik_setup, kinds={"FINGER"}, control="BONE")
    rigs.change(body.chain_ik.chains["Index.L"], use_stretch=True)
    for number in (1, 2, 3):
        body.pose.bones[f"f_index.0{number}.L"].ik_stretch = 0.8
    lift(body, "Arm.L", (-0.3, -0.3, 0.2), pin=False)
    shown = faded(body, "Arm.L", 4)
    assert np.linalg.norm(shown[0]["f_index.02.L"][:3, 1]) > 1.5
    assert_as_without_body(body, "Arm.L", shown)


@pytest.mark.parametrize("pin", [False, True])
def test_a_leg_out_of_reach_fades_evenly_with_its_toe_and_the_body(body, pin):
    rest = rigs.matrices(body)
    lift(body, "Leg.L", FAR, pin=pin)
    shown = faded(body, "Leg.L")
    assert bodies.farthest({"foot.L": rest["foot.L"]}, shown[0]) < bodies.PLACE_TOLERANCE
    assert bodies.farthest({"spine": shown[0]["spine"]}, shown[-1]) > 0.01
    steps = turns(shown, "thigh.L")
    assert steps.max() < MAX_UNEVENNESS * steps.mean()


def test_a_leg_without_pull_takes_the_pull_from_its_toe(body):
    before = bodies.places(body)[bodies.HIPS]
    lift(body, "Leg.L", FAR, pin=False)
    moved = []
    for pull in (1.0, 0.0):
        rigs.change(body.chain_ik.chains["Leg.L"], pull=pull)
        moved.append(np.abs(bodies.places(body)[bodies.HIPS] - before).max())
    assert moved[0] > 0.01
    assert moved[1] < 1e-3


def test_the_bones_of_a_leg_that_has_faded_out_can_be_posed_although_its_toe_is_live(body):
    lift(body, "Leg.L", LIFTED, pin=True)
    chain, thigh = body.chain_ik.chains["Leg.L"], body.pose.bones["thigh.L"]
    rigs.change(chain, influence=0.0)
    pose = np.array((0.96, 0.28, 0.0, 0.0))
    rigs.change(thigh, rotation_quaternion=pose)
    # It stays, and the leg starts from it and returns to it.
    for influence in (0.0, 1e-5, 1.0, 0.0):
        rigs.change(chain, influence=influence)
        if influence < 1.0:
            assert np.abs(np.array(thigh.rotation_quaternion) - pose).max() < 1e-4


def test_a_pinned_toe_holds_its_place_whatever_the_influence_of_its_leg(body):
    lift(body, "Leg.L", LIFTED, pin=False)
    rigs.change(body.chain_ik.chains["Toe.L"], use_pin=True)
    shown = faded(body, "Leg.L", 2)
    assert body.chain_ik.chains["Toe.L"].status.startswith("Reached")
    for matrices in shown[:-1]:
        assert bodies.farthest({"toe.L": shown[-1]["toe.L"]}, matrices) < bodies.PIN_TOLERANCE
