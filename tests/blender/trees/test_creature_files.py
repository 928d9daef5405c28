"""Creature files are read, written, spread over any number of bones, and their mistakes named."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from blender_ik_addon.rig.anatomy.creature_files import (
    InvalidCreatureError,
    parse_creature,
    write_creature,
)

FOLDER = Path(__file__).resolve().parents[3] / "blender_ik_addon" / "creatures"
SHIPPED = ("dinosaur_neck", "hanging_arm", "snake")
numbers = st.floats(0.0, 100.0)
curves = st.one_of(
    numbers,
    st.lists(numbers, min_size=1, max_size=5),
    st.lists(numbers, min_size=1, max_size=4).map(
        lambda values: [[i / 7.0, value] for i, value in enumerate(values)]
    ),
)


def shipped(name):
    return parse_creature((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def text_of(**entries):
    return json.dumps({"creature": 1, **entries})


@pytest.mark.parametrize("name", SHIPPED)
def test_what_is_written_reads_back_the_same(name):
    creature = shipped(name)
    again = parse_creature(write_creature(creature))
    assert write_creature(again) == write_creature(creature)
    assert again.name == creature.name
    ours, theirs = again.forces(np.ones(9)), creature.forces(np.ones(9))
    for each in ("stiffness", "masses", "gravity", "comfort_low"):
        np.testing.assert_array_equal(getattr(ours, each), getattr(theirs, each))


def test_lists_lead_from_root_to_tip_bend_where_they_say_and_bones_weigh_by_their_lengths():
    forces = parse_creature(text_of(stiffness=[0, 1], mass=2)).forces([3.0, 1.0])
    np.testing.assert_allclose(forces.masses, [1.5, 0.5])
    np.testing.assert_allclose(forces.stiffness, [0.375, 0.875])
    even = parse_creature(text_of(stiffness=[0, 1, 0])).forces(np.ones(4))
    np.testing.assert_allclose(even.stiffness, [0.25, 0.75, 0.75, 0.25])
    placed = parse_creature(text_of(stiffness=[[0, 1], [0.5, 1], [0.75, 3]])).forces(np.ones(4))
    np.testing.assert_allclose(placed.stiffness, [1, 1, 2, 3])


def test_comfort_is_told_in_degrees():
    told = {"x": [[-10, -20], 30], "z": [-5, 5]}
    forces = parse_creature(text_of(comfort=told)).forces(np.ones(2))
    np.testing.assert_allclose(np.degrees(forces.comfort_low), [[-12.5, 0, -5], [-17.5, 0, -5]])
    np.testing.assert_allclose(np.degrees(forces.comfort_high), [[30, 0, 5], [30, 0, 5]])


BAD = {
    "no JSON": "{",
    "another version": '{"creature": 2}',
    "no mark": '{"name": "Snake"}',
    "an unknown entry": text_of(stifness=1),
    "a name that is a number": text_of(name=3),
    "a negative stiffness": text_of(stiffness=-1),
    "true for a number": text_of(mass=True),
    "an empty list": text_of(mass=[]),
    "places that go back": text_of(mass=[[0.5, 1], [0.2, 1]]),
    "not finite": '{"creature": 1, "mass": Infinity}',
    "not a number": '{"creature": 1, "stiffness": NaN}',
    "more than float32 holds": text_of(stiffness=1e39),
    "as many digits as no float holds": '{"creature": 1, "gravity": ' + "9" * 400 + "}",
    "more digits than Python reads": '{"creature": 1, "gravity": -' + "9" * 5000 + "}",
    "nested lists": '{"creature": 1, "mass": ' + "[" * 10_000 + "]" * 10_000 + "}",
    "brackets that never close": "[" * 500_000,
    "half a character as name": '{"creature": 1, "name": "\\ud800"}',
    "half a character as entry": '{"creature": 1, "\\udfff": 1}',
    "nothing as a character of the name": '{"creature": 1, "name": "a\\u0000b"}',
    "a text without end": '{"creature": 1, "name": "' + "a" * 1_000_000 + '"}',
    "comfort of another axis": text_of(comfort={"w": [0, 1]}),
    "comfort of one end": text_of(comfort={"x": [1]}),
    "comfort the wrong way round": text_of(comfort={"x": [5, -5]}),
    "comfort that crosses": text_of(comfort={"x": [[-5, 5], [5, -5]]}),
    "comfort beyond half a turn": text_of(comfort={"x": [-270, 5]}),
    "joints as a word": text_of(joints="HINGE_X"),
    "an unknown joint": text_of(joints=["HINGE"]),
}


@pytest.mark.every_case
@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_told_in_one_sentence_that_says_what_to_do(name):
    with pytest.raises(InvalidCreatureError) as caught:
        parse_creature(BAD[name])
    assert_is_one_sentence(str(caught.value))


def assert_is_one_sentence(text):
    assert ": " in text
    assert text.endswith(".")
    assert len(text) < 250
    assert not set(text) & {"\0", "\n"}
    text.encode("utf-8")


@pytest.mark.parametrize("value", [3.4028235e38, -3.4028235e38, 1e-46, 5e-324, 10**38])
def test_what_blender_can_store_is_read(value):
    assert parse_creature(text_of(gravity=value)).gravity == float(value)
    assert math.isfinite(np.float32(value))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
entries = st.fixed_dictionaries(
    {"creature": st.just(1)},
    optional={
        "name": json_values,
        "stiffness": json_values | curves,
        "mass": json_values | curves,
        "gravity": json_values,
        "comfort": json_values | st.dictionaries(st.sampled_from("xyz"), st.lists(curves)),
        "joints": json_values | st.lists(st.sampled_from(["BALL", "FIXED", "HINGE"])),
    },
)
any_text = st.text() | json_values.map(json.dumps) | entries.map(json.dumps)


@settings(max_examples=50)
@given(any_text, st.integers(0, 1000), st.text(max_size=3))
@example('{"creature": 1, "name": "\ud800"}', 0, "")
def test_any_text_tells_a_creature_or_is_refused_in_one_sentence(text, place, inserted):
    for told in (text, text[:place] + inserted + text[place:]):
        try:
            creature = parse_creature(told)
        except InvalidCreatureError as error:
            assert_is_one_sentence(str(error))
        else:
            again = parse_creature(write_creature(creature))
            assert write_creature(again) == write_creature(creature)
            again.name.encode("utf-8")
            for curve in (creature.stiffness, creature.mass, *np.ravel(creature.comfort)):
                assert np.isfinite(curve.values.astype(np.float32)).all()
