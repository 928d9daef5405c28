"""Status lines: every way a solve can end, and lengths as people read them."""

from __future__ import annotations

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
# What is as short in narrow columns as everywhere.
LENGTHS = [
    (0.0, UNIT, "0 m"),
    (2e-7, UNIT, "0 m"),
    (1.5e-5, UNIT, "15 µm"),
    (2.5e-4, UNIT, "0.25 mm"),
    (9.5e-3, UNIT, "9.5 mm"),
    (0.012, UNIT, "1.2 cm"),
    (0.34, UNIT, "34 cm"),
    (1.0, UNIT, "1 m"),
    (2.34, UNIT, "2.3 m"),
    (1234.0, UNIT, "1.2 km"),
    (2.0, LengthUnit(metres=0.01), "2 cm"),
    (0.0123, LengthUnit(metres=1000.0), "12 m"),
    (0.0127, LengthUnit("IMPERIAL"), "500 thou"),
    (0.5, LengthUnit("IMPERIAL"), "1.6'"),
    (0.00123, LengthUnit("NONE"), "0.0012"),
    (2.99, LengthUnit(unit="CENTIMETERS"), "299 cm"),
    (2.99, LengthUnit("IMPERIAL", "INCHES"), '118"'),
]
# What is shorter in another unit than the scene's.
LONG = [
    (7.7e-6, LengthUnit(unit="METERS"), "7.7 µm"),
    (0.0000123, LengthUnit(unit="CENTIMETERS"), "12 µm"),
    (2.99, LengthUnit("IMPERIAL", "THOU"), "9.8'"),
    (0.0000012, LengthUnit("NONE"), "1.2e-06"),
]


def test_lengths_have_two_digits_and_a_fitting_unit_and_in_narrow_columns_the_shortest():
    for length, unit, words in LENGTHS:
        assert short_length(length, unit) == words == length_in_words(length, unit)
    for length, unit, words in LONG:
        assert short_length(length, unit) == words
        assert len(words) < len(length_in_words(length, unit))


@pytest.mark.parametrize(
    ("system", "unit", "words"),
    [
        ("METRIC", "ADAPTIVE", "1.2 cm"),
        ("METRIC", "METERS", "0.012 m"),
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
    for unit, (size, ending) in UNITS.items():
        system = "METRIC" if unit.endswith("METERS") else "IMPERIAL"
        bpy.context.scene.unit_settings.system = system
        bpy.context.scene.unit_settings.length_unit = unit
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


def outcome(
    status: Status,
    residual: float,
    iterations: int = 0,
    cap: int = 500,
    **others: object,
) -> Outcome:
    options = SolveOptions(solver=Solver.CCD, iterations=cap)
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
        (outcome(Status.ITERATIONS_USED_UP, 0.002, 30), "Stopped 2 mm short: no nearer pose was"),
        (outcome(Status.OUTWEIGHED, 0.12, pins=("L", "R")), "Held back by L and R (pinned): 12 cm"),
        (outcome(Status.LIMITED, 0.12, pins=("L",)), "Held back by L (pinned): 12 cm"),
        (
            outcome(Status.OUTWEIGHED, 0.12, 9, pins=("Leg.L", "Leg.R"), outweighed_by=("Floor",)),
            "Held back by Leg.L, Leg.R (pinned), Floor: 12 cm",
        ),
    ],
)
def test_every_end_of_a_solve_has_its_words(ended, words):
    assert outcome_in_words(ended, UNIT).startswith(words)
    assert all(outcome_in_words(outcome(status, 0.1, 3), UNIT) for status in Status)


def test_the_residual_is_the_distance_that_is_left_and_is_told_in_the_scenes_units():
    bpy.context.scene.unit_settings.scale_length = 0.01
    ob, target = rigs.make_arm((3, 4, 0))
    chain = ob.chain_ik.chains[0]
    assert chain.status == "Out of reach by 0.03 m: extended"
    left = np.linalg.norm(rigs.tail(ob, "Bone.1") - rigs.position(target))
    assert chain.residual == pytest.approx(left, abs=1e-6)
    chain.bone = "Gone"
    rigs.updated()
    assert chain.residual == -1.0
