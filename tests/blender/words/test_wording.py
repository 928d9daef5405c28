"""Status lines: every way a solve can end, said in words that tell an animator what to do."""

from __future__ import annotations

import re

import bpy
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from blender_ik_addon.core import SolveOptions, Solver, Status
from blender_ik_addon.rig.posing.outcome import Outcome
from blender_ik_addon.rig.posing.reasons import Reasons
from blender_ik_addon.rig.tools.lengths import (
    UNITS,
    LengthUnit,
    length_in_words,
    length_unit,
    short_length,
)
from blender_ik_addon.rig.tools.wording import outcome_in_words
from tests.blender.setups import rigs

UNIT = LengthUnit()


@pytest.mark.parametrize(
    ("length", "words"),
    [
        (0.0, "0 m"),
        (2e-7, "0 m"),
        (1.5e-5, "15 µm"),
        (2.5e-4, "0.25 mm"),
        (1e-3, "1 mm"),
        (9.5e-3, "9.5 mm"),
        (0.012, "1.2 cm"),
        (0.34, "34 cm"),
        (1.0, "1 m"),
        (2.34, "2.3 m"),
        (42.0, "42 m"),
        (1234.0, "1.2 km"),
        (3.4e38, "3.4e+38 m"),
    ],
)
def test_lengths_have_two_digits_and_a_fitting_unit(length, words):
    assert length_in_words(length, UNIT) == words


@pytest.mark.parametrize(
    ("system", "unit", "words"),
    [
        ("METRIC", "ADAPTIVE", "1.2 cm"),
        ("METRIC", "METERS", "0.012 m"),
        ("METRIC", "MILLIMETERS", "12 mm"),
        ("METRIC", "MICROMETERS", "12345 µm"),
        ("IMPERIAL", "ADAPTIVE", "486 thou"),
        ("IMPERIAL", "INCHES", '0.49"'),
        ("IMPERIAL", "FEET", "0.041'"),
        ("NONE", "ADAPTIVE", "0.012"),
    ],
)
def test_lengths_are_told_in_the_unit_of_the_scene(system, unit, words):
    settings = bpy.context.scene.unit_settings
    settings.system, settings.length_unit = system, unit
    assert length_in_words(0.012345, length_unit(bpy.context.scene)) == words


def test_every_unit_that_a_scene_offers_is_known():
    settings = bpy.context.scene.unit_settings
    for system in ("METRIC", "IMPERIAL"):
        settings.system = system
        for unit in ("ADAPTIVE", *UNITS):
            try:
                settings.length_unit = unit
            except TypeError:
                continue
            if unit == "ADAPTIVE":
                continue
            size, ending = UNITS[unit]
            exact = bpy.utils.units.to_value(system, "LENGTH", f"1{ending.replace('µ', 'u')}")
            assert exact == pytest.approx(size, rel=1e-6), unit


@given(st.floats(1e-5, 1e5))
@example(0.9996)
@example(99.6)
@example(0.0996)
@example(9.96e-5)
def test_a_length_is_right_to_two_digits(length):
    words = length_in_words(length, UNIT)
    read = bpy.utils.units.to_value("METRIC", "LENGTH", words.replace("µ", "u"))
    assert read == pytest.approx(length, rel=0.051), words


@pytest.mark.parametrize(("metres", "words"), [(0.01, "2 cm"), (0.001, "2 mm"), (1000.0, "2 km")])
def test_lengths_follow_the_unit_scale_of_the_scene(metres, words):
    assert length_in_words(2.0, LengthUnit(metres=metres)) == words


def outcome(
    status: Status,
    residual: float,
    iterations: int = 0,
    solver: str = "NEWTON",
    cap: int = 500,
    **others: object,
) -> Outcome:
    options = SolveOptions(solver=Solver(solver), iterations=cap)
    others.setdefault("has_locks", False)
    return Outcome(np.zeros((2, 4)), status, residual, iterations, why=Reasons(options), **others)


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        (outcome(Status.REACHED, 2e-5, 5), "Reached (20 µm, 5 iterations)"),
        (outcome(Status.REACHED, 2e-5, 1), "Reached (20 µm, 1 iteration)"),
        (outcome(Status.REACHED, 2e-5), "Reached (20 µm)"),
        (outcome(Status.REACHED, 2e-7, 5), "Reached (5 iterations)"),
        (outcome(Status.REACHED, 0.0), "Reached"),
        (outcome(Status.EXTENDED, 0.34), "Out of reach by 34 cm: extended"),
        (outcome(Status.FOLDED, 0.05), "Too near by 5 cm: folded"),
        (
            outcome(Status.ITERATIONS_USED_UP, 0.002, 30, "CCD", 30),
            "Stopped 2 mm short after 30 iterations: raise Iterations or choose the solver Newton",
        ),
        (
            outcome(Status.ITERATIONS_USED_UP, 0.002, 1, "NEWTON", 1),
            "Stopped 2 mm short after 1 iteration: raise Iterations",
        ),
        (
            outcome(Status.ITERATIONS_USED_UP, 0.002, 30, "CCD", 31),
            "Stopped 2 mm short: no nearer pose was found",
        ),
        (
            outcome(Status.OUTWEIGHED, 0.12, 9, pins=("Leg.L", "Leg.R")),
            "Held back by Leg.L and Leg.R (pinned): 12 cm",
        ),
        (
            outcome(Status.LIMITED, 0.12, 9, pins=("Leg.L",)),
            "Held back by Leg.L (pinned): 12 cm",
        ),
        (
            outcome(Status.OUTWEIGHED, 0.12, 9, pins=("Leg.L",), outweighed_by=("Floor", "Arm.R")),
            "Held back by Leg.L (pinned), Floor, Arm.R: 12 cm",
        ),
        (outcome(Status.BLENDED, 0.1, 4), "Part of the way by influence, 10 cm left"),
        (
            outcome(Status.ITERATIONS_USED_UP, 0.1, 4, has_locks=True),
            "Held back by locked rotation channels, 10 cm left: unlock them, or shorten the chain",
        ),
    ],
)
def test_every_end_of_a_solve_has_its_words(ended, words):
    assert outcome_in_words(ended, UNIT) == words


@pytest.mark.parametrize("status", Status)
def test_no_status_is_without_words(status):
    assert outcome_in_words(outcome(status, 0.1, 3), UNIT)


def make_arm_with_status(location, **settings) -> bpy.types.PropertyGroup:
    ob, _ = rigs.make_arm(location, **settings)
    return ob.chain_ik.chains[0]


@pytest.mark.parametrize(
    ("location", "settings", "words"),
    [
        ((0.6, 0.5, 1.2), {"solver": "TWO_BONE"}, r"Reached"),
        ((0.6, 0.5, 1.2), {"solver": "FABRIK"}, r"Reached \((\d.* µm, )?\d+ iterations?\)"),
        ((3, 4, 0), {"solver": "NEWTON"}, r"Out of reach by 3 m: extended"),
        ((0.6, 0.5, 1.2), {"influence": 0.5}, r"Part of the way by influence, \d.* left"),
        ((0.6, 0.5, 1.2), {"mute": True}, "Muted"),
        ((0.6, 0.5, 1.2), {"solver": "CCD", "iterations": 1}, r"Stopped \d.* short after 1 .*"),
    ],
)
def test_a_live_chain_shows_how_its_last_solve_ended(location, settings, words):
    assert re.fullmatch(words, make_arm_with_status(location, **settings).status)


def test_a_dead_zone_is_reported_as_folded():
    ob = rigs.make_rig(((0, 0, 0), (0, 0, 1.5), (0.1, 0, 2.0)))
    chain = rigs.add_chain(ob, "Bone.1", rigs.make_empty(location=(0, 0, 0.5)))
    rigs.updated()
    assert re.fullmatch(r"Too near by 0.49 m: folded", chain.status)


def test_locked_bones_are_named_as_what_holds_the_chain_back():
    chain = make_arm_with_status((0.6, 0.5, 1.2))
    for bone in chain.id_data.pose.bones:
        bone.lock_rotation = (True, True, True)
        bone.lock_rotation_w = True
    rigs.updated()
    assert re.fullmatch(r"Held back by locked rotation channels, .* left: .*", chain.status)


def test_a_missing_bone_is_named_with_what_to_do():
    chain = make_arm_with_status((0.6, 0.5, 1.2))
    chain.bone = "hand.L"
    rigs.updated()
    assert chain.status == "Bone 'hand.L' no longer exists: choose another tip."
    assert chain.residual == -1.0


def test_a_chain_that_is_not_live_says_so():
    bpy.context.scene.chain_ik.use_live = False
    assert make_arm_with_status((0.6, 0.5, 1.2)).status == "Live is off"


def test_the_status_follows_the_unit_scale_of_the_scene():
    bpy.context.scene.unit_settings.scale_length = 0.01
    assert make_arm_with_status((3, 4, 0)).status == "Out of reach by 0.03 m: extended"


def test_the_residual_is_the_distance_that_is_left():
    ob, target = rigs.make_arm((3, 4, 0))
    left = np.linalg.norm(rigs.tail(ob, "Bone.1") - rigs.position(target))
    assert ob.chain_ik.chains[0].residual == pytest.approx(left, abs=1e-6)


SHORT = [
    (0.0, LengthUnit(), "0 m"),
    (1e-9, LengthUnit(), "0 m"),
    (7.7e-6, LengthUnit(), "7.7 µm"),
    (0.00089, LengthUnit(), "0.89 mm"),
    (0.0123, LengthUnit(), "1.2 cm"),
    (1.26, LengthUnit(), "1.3 m"),
    (4200.0, LengthUnit(), "4.2 km"),
    (0.0123, LengthUnit(metres=1000.0), "12 m"),
    (0.0127, LengthUnit("IMPERIAL"), "500 thou"),
    (0.5, LengthUnit("IMPERIAL"), "1.6'"),
    (0.00123, LengthUnit("NONE"), "0.0012"),
    (2.99, LengthUnit(unit="CENTIMETERS"), "299 cm"),
    (0.0123, LengthUnit(unit="METERS"), "0.012 m"),
    (2.99, LengthUnit("IMPERIAL", "INCHES"), '118"'),
]
LONG = [
    (7.7e-6, LengthUnit(unit="METERS"), "7.7 µm"),
    (0.0000123, LengthUnit(unit="CENTIMETERS"), "12 µm"),
    (2.99, LengthUnit("IMPERIAL", "THOU"), "9.8'"),
    (0.0000012, LengthUnit("NONE"), "1.2e-06"),
]


@pytest.mark.parametrize(("length", "unit", "words"), SHORT)
def test_lengths_in_narrow_columns_are_told_as_everywhere(length, unit, words):
    assert short_length(length, unit) == words == length_in_words(length, unit)


@pytest.mark.parametrize(("length", "unit", "words"), LONG)
def test_long_ones_take_the_unit_that_needs_the_least_room(length, unit, words):
    assert short_length(length, unit) == words
    assert len(words) < len(length_in_words(length, unit))
