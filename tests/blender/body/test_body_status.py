"""A chain of a whole body that does not arrive says what holds it back."""

from __future__ import annotations

import re

import bpy
import pytest

from tests.blender.body.human_bodies import move
from tests.blender.setups import rigs

FAR = (2.0, -1.5, 0.5)
UP = (-0.66, -0.1, 2.0)
PINS = r"Held back by Leg\.L and Leg\.R \(pinned\): \d.*m"
ONE_PIN = r"Held back by Leg\.R \(pinned\): \d.*m"


def mute_all_but(ob: bpy.types.Object, *names: str) -> None:
    for chain in ob.chain_ik.chains:
        chain.mute = chain.name not in names
    rigs.updated()


def status(ob: bpy.types.Object, name: str = "Arm.L") -> str:
    return str(ob.chain_ik.chains[name].status)


@pytest.mark.parametrize(("legs", "told"), [(["Leg.L", "Leg.R"], PINS), (["Leg.R"], ONE_PIN)])
def test_a_hand_out_of_reach_names_the_pinned_feet_that_there_are(body, legs, told):
    mute_all_but(body, "Arm.L", *legs)
    assert status(body) == "Reached"
    move(body, "Arm Target.L", UP)
    assert re.fullmatch(told, status(body).split(";")[0])


def test_a_head_that_pulls_softly_names_what_holds_the_body(body):
    mute_all_but(body, "Neck", "Leg.L", "Leg.R")
    move(body, "Neck Target", (0.0, 0.0, 0.3))
    assert re.fullmatch(PINS, status(body, "Neck").split(";")[0])
    # Where the neck alone reaches, nothing holds it.
    move(body, "Neck Target", (0.0, 0.0, 0.0))
    assert status(body, "Neck") == "Reached"


def test_a_hand_out_of_reach_names_the_other_hand(body):
    mute_all_but(body, "Arm.L", "Arm.R")
    move(body, "Arm Target.L", FAR)
    assert status(body).startswith("Outweighed by Arm.R: ")
    # What comes first is not held back by what comes after it.
    body.chain_ik.chains["Arm.L"].priority = 1
    rigs.updated()
    assert status(body).startswith("Reached")
    assert status(body, "Arm.R").startswith("Outweighed by Arm.L: ")


def test_pins_are_named_before_others(body):
    mute_all_but(body, "Arm.L", "Arm.R", "Leg.L", "Leg.R")
    body.chain_ik.chains["Arm.R"].use_pin = True
    body.chain_ik.chains["Leg.L"].use_pin = body.chain_ik.chains["Leg.R"].use_pin = False
    for name in ("Leg.L", "Leg.R"):
        body.chain_ik.chains[name].priority = 1
    move(body, "Arm Target.L", FAR)
    assert re.match(r"Held back by Arm\.R \(pinned\)(, Leg\.[LR])*: ", status(body))


def test_a_spine_without_a_neck_leaves_hands_where_the_body_has_brought_them(body):
    body.chain_ik.chains["Neck"].mute = True
    move(body, "Arm Target.L", (0.1, -0.3, 0.1))
    shown = rigs.evaluated(body).pose.bones
    for side in "LR":
        assert status(body, f"Arm.{side}").startswith("Reached")
        gap = shown[f"hand.{side}"].head - shown[f"Arm Target.{side}"].head
        assert gap.length < 1e-4
