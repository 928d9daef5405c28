"""Creatures: shipped ones load and solve, saved files load the same, and bad files are refused."""

import json
import math
import os
import tracemalloc
from pathlib import Path

import bpy
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from blender_ik_addon.core import Goal, SolveOptions, Solver, solve
from blender_ik_addon.rig.anatomy.creature_files import (
    InvalidCreatureError,
    parse_creature,
    write_creature,
)
from tests.blender.setups import rigs
from tests.blender.setups.pulled_rigs import bone_lengths, core_chain, joints_of, set_forces
from tests.blender.setups.selecting import press, refusal, select_objects
from tests.helpers import assert_positions_close

load = bpy.ops.pose.chain_ik_creature_load
save = bpy.ops.pose.chain_ik_creature_save
FOLDER = Path(__file__).resolve().parents[3] / "blender_ik_addon" / "creatures"
CUSTOM = {
    "creature": 1,
    "name": "Tail",
    "stiffness": [[0, 5], [0.3, 1.25], [1, 0.5]],
    "mass": [1, 0.5, 0.25],
    "gravity": 0.75,
    "comfort": {"x": [-10, 20], "y": [0, 0], "z": [[-5, -15], [5, 15]]},
    "joints": ["HINGE_X", "BALL"],
}


def make_creature(count: int = 6, **settings: object):
    """Return an active armature object, the target of its chain, and the chain."""
    ob = rigs.make_rig(rigs.zigzag(count))
    share = count / 6.0
    target = rigs.make_empty("Target", (1.2 * share, 1.5 * share, 2.5 * share))
    chain = rigs.add_chain(ob, f"Bone.{count - 1}", target, **settings)
    select_objects(active=ob)
    return ob, target, chain


@pytest.mark.parametrize(
    ("name", "count"), [("SNAKE", 9), ("DINOSAUR_NECK", 17), ("HANGING_ARM", 3)]
)
def test_shipped_creatures_load_and_pose_the_chain_as_the_core_does(name, count):
    ob, target, chain = make_creature(count)
    press(load, creature=name)
    assert chain.solver == "FORCE"
    creature = parse_creature((FOLDER / f"{name.lower()}.json").read_text(encoding="utf-8"))
    lengths = bone_lengths(ob)
    reference = core_chain(ob, creature.forces(lengths), creature.kinds(count))
    solution = solve(reference, Goal(rigs.position(target)), SolveOptions(Solver.FORCE))
    assert_positions_close(joints_of(ob), solution.joint_positions, 2e-6 * lengths.sum())
    rigs.assert_reaches(ob, f"Bone.{count - 1}", target)
    assert chain.status.startswith("Reached"), chain.status


def test_a_file_with_curves_is_saved_as_it_was_loaded(tmp_path):
    _, _, chain = make_creature()
    source, copy = tmp_path / "tail.json", tmp_path / "copy.json"
    source.write_text(json.dumps(CUSTOM), encoding="utf-8")
    press(load, filepath=str(source))
    assert json.loads(chain.force.creature) == CUSTOM
    assert save(filepath=str(copy)) == {"FINISHED"}
    assert json.loads(copy.read_text(encoding="utf-8")) == CUSTOM
    press(load, filepath=str(copy))
    assert json.loads(chain.force.creature) == CUSTOM
    chain.force.gravity = 0.5
    assert save(filepath=str(copy.with_suffix(""))) == {"FINISHED"}
    assert json.loads(copy.read_text(encoding="utf-8"))["gravity"] == 0.5


def test_numbers_of_the_panel_are_saved_and_loaded(tmp_path):
    ob, _, chain = make_creature(solver="FORCE")
    chain.name = "Neck"
    set_forces(chain, stiffness_root=4.1, stiffness_tip=0.3, mass=1.7, gravity=0.2)
    set_forces(chain, comfort_root=np.radians(2.5), comfort_tip=np.radians(20.0))
    pose = rigs.pose(ob, rigs.updated())
    path = tmp_path / "neck.json"
    assert save(filepath=str(path)) == {"FINISHED"}
    content = json.loads(path.read_text(encoding="utf-8"))
    assert content["name"] == "Neck"
    assert content["stiffness"] == [4.1, 0.3]
    assert content["gravity"] == 0.2
    assert content["comfort"]["x"] == [[-2.5, -20.0], [2.5, 20.0]]
    chain.property_unset("force")
    press(load, creature="SNAKE")
    press(load, filepath=str(path))
    assert chain.force.creature == ""
    assert chain.force.stiffness_root == pytest.approx(4.1)
    assert chain.force.comfort_tip == pytest.approx(np.radians(20.0))
    rigs.assert_same_pose(ob, pose, 1e-5)
    # The same line in other steps, and another line with the same start.
    steps, constant = [[-2.5, -11.25, -20.0], [2.5, 11.25, 20.0]], [-2.5, 2.5]
    for about_z, is_plain in ((steps, True), (constant, False)):
        content["comfort"]["z"] = about_z
        path.write_text(json.dumps(content), encoding="utf-8")
        press(load, filepath=str(path))
        assert (chain.force.creature == "") == is_plain


def test_a_creature_is_edited_as_a_text_of_blender_and_edits_not_loaded_are_not_overwritten():
    ob, _, chain = make_creature()
    chain.name = "Neck"
    press(load, creature="DINOSAUR_NECK")
    assert save(to="TEXT") == {"FINISHED"}
    text = bpy.data.texts[f"{ob.name} / Neck.json"]
    content = json.loads(text.as_string())
    assert content == json.loads(chain.force.creature)
    assert len(text.lines) > 5, "A line for each entry can be edited."
    pose = rigs.pose(ob)
    content["name"], content["stiffness"] = "Giraffe", [0.1, 9]
    edited = json.dumps(content, indent=2)
    text.from_string(edited)
    assert refusal(save, to="TEXT") == (
        f"The text '{text.name}' has changes that were not loaded: choose Load > From Text, or"
        " delete the text."
    )
    assert text.as_string() == edited
    press(load, creature="TEXT")
    assert json.loads(chain.force.creature) == content
    assert np.abs(rigs.pose(ob) - pose).max() > 0.01
    chain.force.gravity = 3.0
    assert save(to="TEXT") == {"FINISHED"}
    assert json.loads(bpy.data.texts[f"{ob.name} / Neck.json"].as_string())["gravity"] == 3.0


@pytest.mark.parametrize(
    "pairs",
    [
        [("A /", "B"), ("A", "/ B"), ("A / A", "B"), ("A", "A / B")],
        [
            ("R" * 63, "Left"),
            ("R" * 63, "Right"),
            ("é" * 25, "Left" * 6),
            ("é" * 25, "Left" * 6 + "2"),
        ],
    ],
)
def test_no_two_chains_share_a_text(pairs):
    for number, (owner, name) in enumerate(pairs):
        ob, _, chain = make_creature(solver="FORCE")
        for other in bpy.data.objects:
            other.name = f"Other {number}" if other.name == owner else other.name
        ob.name, chain.name = owner, name
        assert (ob.name, chain.name) == (owner, name)
        assert save(to="TEXT") == {"FINISHED"}
        assert len(bpy.data.texts) == number + 1
        press(load, creature="TEXT")
        assert chain.force.creature == "" or chain.name in chain.force.creature


def test_a_creature_that_cannot_be_read_is_mended_as_a_text():
    ob, _, chain = make_creature(solver="FORCE")
    name = f"{ob.name} / {chain.name}.json"
    assert refusal(load, creature="TEXT").startswith(f"There is no text '{name}':")
    rigs.change(chain.force, creature='{"creature": 1, "mas": [1, 2, 3]}')
    assert "unknown entry 'mas'" in chain.status
    assert save(to="TEXT") == {"FINISHED"}
    text = bpy.data.texts[name]
    assert "unknown entry 'mas'" in refusal(load, creature="TEXT")
    text.from_string(text.as_string().replace("mas", "mass"))
    press(load, creature="TEXT")
    assert chain.status.startswith("Reached"), chain.status


def test_without_a_creature_the_numbers_of_the_panel_count_again():
    ob, _, chain = make_creature(solver="FORCE")
    plain = rigs.pose(ob)
    press(load, creature="SNAKE")
    assert np.abs(rigs.pose(ob) - plain).max() > 0.01
    press(load, creature="NONE")
    rigs.change(chain.force, gravity=0.0)
    assert chain.force.creature == ""
    rigs.assert_same_pose(ob, plain, 1e-6)


def test_a_large_file_is_refused_before_it_is_read(tmp_path):
    make_creature()
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate(60_000_000)
    tracemalloc.start()
    assert "is larger than 1 MB" in refusal(load, filepath=str(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5_000_000


def test_only_creature_files_can_be_loaded_and_others_change_nothing(tmp_path):
    ob, _, chain = make_creature()
    pose, path = rigs.pose(ob), tmp_path / "bad.json"
    for content, words in (
        (b"{", "Line 1 of the creature file is not JSON"),
        (b"\xff\xfe\x00", "is not text: choose a creature file."),
        (b'{"creature": 1, "gravity": NaN}', "gravity is NaN, not a number"),
    ):
        path.write_bytes(content)
        assert words in refusal(load, filepath=str(path))
    endless = ["/dev/zero"] if Path("/dev/zero").exists() else []
    for name in ("", str(tmp_path), *endless):
        assert refusal(load, filepath=name).endswith("choose a creature file.")
    assert "cannot be read" in refusal(load, filepath=str(tmp_path / "none.json"))
    assert chain.solver == "NEWTON"
    assert not chain.is_property_set("force")
    rigs.assert_same_pose(ob, pose, 0.0)
    rigs.change(chain, solver="FORCE")
    assert "cannot be written" in refusal(save, filepath=str(tmp_path / "none" / "x.json"))


@pytest.mark.parametrize("name", ["", ".json", "{folder}/.json", "//"])
def test_a_creature_is_not_written_without_a_name(name, tmp_path, monkeypatch):
    make_creature(solver="FORCE")
    monkeypatch.chdir(tmp_path)
    words = refusal(save, filepath=name.format(folder=tmp_path))
    assert words == "No file name is given: choose a file for the creature."
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(
    os.name != "posix", reason="only POSIX systems allow file names that are not text"
)
def test_a_name_that_is_not_text_is_refused_and_its_file_stays(tmp_path):
    make_creature(solver="FORCE")
    path = tmp_path / "\udcff.json"
    path.write_bytes(b"kept")
    assert "has characters that are not text" in refusal(save, filepath=str(path))
    assert path.read_bytes() == b"kept"
    assert "is not JSON" in refusal(load, filepath=str(path))
    path.write_bytes(b"\xff")
    assert "is not text: choose a creature file." in refusal(load, filepath=str(path))


def test_without_a_chain_and_without_a_force_the_buttons_say_so(tmp_path):
    select_objects(active=rigs.make_rig())
    assert "Select an armature that has a chain" in refusal(load, creature="SNAKE")
    make_creature()
    assert "Creatures need the solver Force" in refusal(save, filepath=str(tmp_path / "x.json"))


numbers = st.floats(0.0, 100.0)
curves = st.one_of(
    numbers,
    st.lists(numbers, min_size=1, max_size=5),
    st.lists(numbers, min_size=1, max_size=4).map(
        lambda values: [[i / 7.0, value] for i, value in enumerate(values)]
    ),
)


def text_of(**entries):
    return json.dumps({"creature": 1, **entries})


def test_lists_go_from_root_to_tip_with_bends_at_their_places_and_masses_go_by_bone_lengths():
    forces = parse_creature(text_of(stiffness=[0, 1], mass=2)).forces([3.0, 1.0])
    np.testing.assert_allclose(forces.masses, [1.5, 0.5])
    np.testing.assert_allclose(forces.stiffness, [0.375, 0.875])
    even = parse_creature(text_of(stiffness=[0, 1, 0])).forces(np.ones(4))
    np.testing.assert_allclose(even.stiffness, [0.25, 0.75, 0.75, 0.25])
    placed = parse_creature(text_of(stiffness=[[0, 1], [0.5, 1], [0.75, 3]])).forces(np.ones(4))
    np.testing.assert_allclose(placed.stiffness, [1, 1, 2, 3])


def test_a_file_without_entries_gives_springs_alone():
    forces = parse_creature(text_of()).forces(np.ones(2))
    arrays = forces.stiffness, forces.masses, forces.comfort_low, forces.comfort_high
    for values, expected in zip(arrays, (1.0, 0.0, 0.0, 0.0), strict=True):
        np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(forces.gravity, [0.0, 0.0, -1.0])


def test_comfort_is_in_degrees():
    comfort = {"x": [[-10, -20], 30], "z": [-5, 5]}
    forces = parse_creature(text_of(comfort=comfort)).forces(np.ones(2))
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
def test_bad_files_are_refused_in_one_sentence_that_says_what_to_do(name):
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
def test_any_text_is_a_creature_or_is_refused_in_one_sentence(text, place, inserted):
    for variant in (text, text[:place] + inserted + text[place:]):
        try:
            creature = parse_creature(variant)
        except InvalidCreatureError as error:
            assert_is_one_sentence(str(error))
        else:
            reloaded = parse_creature(write_creature(creature))
            assert write_creature(reloaded) == write_creature(creature)
            reloaded.name.encode("utf-8")
            for curve in (creature.stiffness, creature.mass, *np.ravel(creature.comfort)):
                assert np.isfinite(curve.values.astype(np.float32)).all()
