"""The plain operator: solve what is selected, once; report in words, leave nothing behind."""

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs, scaled_rigs, selecting
from tests.core.chains import side_of
from tests.helpers import assert_positions_close

solve = bpy.ops.pose.chain_ik_solve

SOLVERS = ["AUTO", "FABRIK", "CCD", "NEWTON"]


def make_selection(
    count: int = 3, location: tuple[float, ...] = (0.5, 0.6, 1.2), **bones: object
) -> tuple[bpy.types.Object, bpy.types.Object]:
    """Return a posed rig with its last bones selected, and the selected target."""
    ob, target = rigs.make_rig(rigs.zigzag(4), **bones), rigs.make_empty(location=location)
    rigs.turn_bones(ob, seed=3)
    selecting.select_bones(ob, [f"Bone.{i}" for i in range(4 - count, 4)], target)
    return ob, target


@pytest.mark.parametrize(
    ("solver", "mode"),
    [*(("NEWTON", mode) for mode in rigs.ROTATION_MODES), *((s, "XYZ") for s in SOLVERS)],
)
def test_only_the_selected_bones_turn_until_the_tip_is_at_the_target(solver, mode, capfd):
    ob, target = make_selection(modes=mode)
    before, turned = selecting.state(), rigs.rotations(ob)
    selecting.press(solve, solver=solver)
    assert "Info: Reached (" in capfd.readouterr().out
    rigs.assert_reaches(ob, "Bone.3", target)
    now = rigs.rotations(ob)
    assert [n for n in now if now[n] != turned[n]] == ["Bone.1", "Bone.2", "Bone.3"]
    # Not a chain, nor an anchor, nor an object; the target has not been touched.
    assert selecting.without_rotations(selecting.state()) == selecting.without_rotations(before)
    assert not ob.chain_ik.chains
    # A target that moves later is not followed.
    target.location.z += 0.4
    bpy.context.scene.frame_set(5)
    bpy.context.view_layer.update()
    assert rigs.rotations(ob) == now


def test_chain_length_can_be_given_also_in_object_mode():
    ob, target = make_selection(1)
    rigs.enter(ob, "OBJECT")
    before = rigs.rotations(ob)
    selecting.press(solve, chain_count=3, bone="Bone.3")
    after = rigs.rotations(ob)
    assert ob.mode == "OBJECT"
    assert [n for n in after if after[n] != before[n]] == ["Bone.1", "Bone.2", "Bone.3"]
    rigs.assert_reaches(ob, "Bone.3", target)
    selecting.select_objects(ob, active=target)
    assert selecting.refusal(solve) == (
        "Choose the bone at the end of the chain, or select its bones in pose mode."
    )


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("location", [(0.5, 0.6, 1.2), (9, 9, 9)], ids=["near", "far"])
def test_solving_again_moves_nothing(solver, location, capfd):
    ob, _ = make_selection(location=location)
    selecting.press(solve, solver=solver)
    assert ("Info: Out of reach by 1" in capfd.readouterr().out) == (location == (9, 9, 9))
    before = rigs.pose(ob)
    for _ in range(3):
        selecting.press(solve, solver=solver)
    np.testing.assert_allclose(rigs.pose(ob), before, atol=5e-6)


@pytest.mark.parametrize("solver", ["TWO_BONE", *SOLVERS])
def test_flip_bends_to_the_other_side_and_flips_back_when_pressed_again(solver):
    count = 2 if solver == "TWO_BONE" else 3
    ob, target = make_selection(count)
    selecting.press(solve, solver=solver)
    plain = side(ob, count)
    for expected in (-1, 1):
        selecting.press(solve, solver=solver, use_flip_bend=True)
        rigs.assert_reaches(ob, "Bone.3", target)
        assert np.sign(side(ob, count) @ plain) == expected


def side(ob: bpy.types.Object, count: int) -> np.ndarray:
    """Return where the joints of the last bones lie, seen across their chord."""
    joints = scaled_rigs.joints(ob, [f"Bone.{i}" for i in range(4 - count, 4)])
    return side_of(joints, joints[-1])


@pytest.mark.parametrize(
    "settings",
    [
        {"influence": 0.0},
        {"influence": 0.4},
        {"use_rest_start": True},
        {"use_tail": False, "use_rotation": True},
        {"solver": "CCD", "iterations": 1},
        {"solver": "FABRIK", "tolerance": 0.1},
        {"negative_scale": "KEEP"},
    ],
    ids=str,
)
def test_settings_count_as_those_of_a_live_chain_do(settings):
    ob, target = make_selection()
    target.rotation_euler = (0.4, 0.5, 0.6)
    rigs.change(ob.scale, x=-1.0 if "negative_scale" in settings else 1.0)
    plain, twin = rigs.link(ob.copy()), rigs.link(ob.copy())
    of_chain = {name: value for name, value in settings.items() if name != "use_rest_start"}
    if "use_rest_start" in settings:
        of_chain["start_from"] = "REST"
    for copy in (plain, twin):
        copy.select_set(False)
    rigs.add_chain(plain, "Bone.3", target, chain_count=3)
    rigs.add_chain(twin, "Bone.3", target, chain_count=3, **of_chain)
    rigs.updated()
    selecting.press(solve, **settings)
    rigs.assert_same_pose(ob, twin)
    assert np.abs(rigs.pose(ob) - rigs.pose(plain)).max() > 1e-3, "it makes no difference"


def test_a_selected_bone_off_the_line_is_the_target_and_without_one_the_button_asks_for_it():
    ob = rigs.make_rig(rigs.zigzag(3))
    rigs.add_bones(ob, ((0.5, 0.5, 2), (0.5, 0.5, 2.5)), prefix="Control")
    selecting.select_bones(ob, ["Bone.1", "Bone.2"])
    expected = "Select a target as well: an object, or a bone outside the chain."
    assert selecting.refusal(solve) == expected
    selecting.select_bones(ob, ["Control.0", "Bone.0", "Bone.1", "Bone.2"])
    selecting.press(solve)
    goal = rigs.head(ob, "Control.0")
    assert_positions_close(rigs.tail(ob, "Bone.2"), goal, rigs.REACHED)
    assert_positions_close(goal, (0.5, 0.5, 2), 1e-6)


@pytest.mark.parametrize(
    ("x", "settings", "words"),
    [
        (float("nan"), {}, "is not finite or too large: check its location"),
        (0.5, {"solver": "TWO_BONE"}, "has 3 to bend: choose Newton, FABRIK or CCD, or shorten"),
        (0.5, {"solver": "TWO_BONE", "chain_count": 1}, "FABRIK or CCD, or lengthen the chain."),
    ],
)
def test_bad_input_is_refused_in_one_sentence_and_changes_nothing(x, settings, words):
    rigs.change(make_selection()[1].location, x=x)
    assert words in selecting.refusal(solve, **settings)
