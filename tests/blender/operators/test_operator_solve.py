"""The plain operator: solve what is selected, once; report in words, leave nothing behind."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs
from tests.blender.setups.selecting import (
    press,
    refusal,
    select_bones,
    select_objects,
    state,
    without_rotations,
)
from tests.helpers import assert_positions_close

solve = bpy.ops.pose.chain_ik_solve

SOLVERS = ["AUTO", "FABRIK", "CCD", "NEWTON"]
BENT = ((0, 0, 0), (0.4, 0, 0.6), (0.4, 0.1, 1.3), (0, 0, 1.9))
"""Joints of three bones that bend toward X, so that mirroring along X shows."""


def make_selection(
    count: int = 3, location: tuple[float, ...] = (0.5, 0.6, 1.2), **bones: object
) -> tuple[bpy.types.Object, bpy.types.Object]:
    """Return a posed rig with its last bones selected, and the selected target."""
    ob, target = rigs.make_rig(rigs.zigzag(4), **bones), rigs.make_empty(location=location)
    rigs.turn_bones(ob, seed=3)
    select_bones(ob, [f"Bone.{i}" for i in range(4 - count, 4)], target)
    return ob, target


def reported(capfd: pytest.CaptureFixture[str]) -> str:
    """Return what the last operator said; Blender prints its reports."""
    return capfd.readouterr().out


@pytest.mark.parametrize("mode", rigs.ROTATION_MODES)
@pytest.mark.parametrize(("solver", "count"), [("TWO_BONE", 2), *((s, 3) for s in SOLVERS)])
def test_every_solver_brings_the_tip_to_the_target_and_leaves_no_chain(solver, count, mode):
    ob, target = make_selection(count, modes=mode)
    before = state()
    press(solve, solver=solver)
    rigs.assert_reaches(ob, "Bone.3", target)
    after = state()
    assert after != before
    # Not a chain, nor an anchor, nor an object; the target has not been touched.
    assert without_rotations(after) == without_rotations(before)
    assert not ob.chain_ik.chains


def test_only_the_selected_bones_turn():
    ob, _ = make_selection(2)
    before = rigs.rotations(ob)
    press(solve)
    after = rigs.rotations(ob)
    assert [name for name in after if after[name] != before[name]] == ["Bone.2", "Bone.3"]


def test_chain_length_can_be_given_also_in_object_mode():
    ob, target = make_selection(1)
    rigs.enter(ob, "OBJECT")
    before = rigs.rotations(ob)
    press(solve, chain_count=3, bone="Bone.3")
    after = rigs.rotations(ob)
    assert ob.mode == "OBJECT"
    assert [n for n in after if after[n] != before[n]] == ["Bone.1", "Bone.2", "Bone.3"]
    rigs.assert_reaches(ob, "Bone.3", target)


def test_a_target_that_moves_later_is_not_followed():
    ob, target = make_selection()
    press(solve)
    before = rigs.rotations(ob)
    target.location.z += 0.4
    bpy.context.scene.frame_set(5)
    bpy.context.view_layer.update()
    assert rigs.rotations(ob) == before


def test_a_selected_bone_off_the_line_is_the_target():
    ob = rigs.make_rig(rigs.zigzag(3))
    rigs.add_bones(ob, ((0.5, 0.5, 2), (0.5, 0.5, 2.5)), prefix="Control")
    select_bones(ob, ["Control.0", "Bone.0", "Bone.1", "Bone.2"])
    press(solve)
    goal = rigs.head(ob, "Control.0")
    assert_positions_close(rigs.tail(ob, "Bone.2"), goal, rigs.REACHED)
    assert_positions_close(goal, (0.5, 0.5, 2), 1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("location", [(0.5, 0.6, 1.2), (9, 9, 9)], ids=["near", "far"])
def test_solving_again_moves_nothing(solver, location):
    ob, _ = make_selection(location=location)
    press(solve, solver=solver)
    before = rigs.pose(ob)
    for _ in range(3):
        press(solve, solver=solver)
    np.testing.assert_allclose(rigs.pose(ob), before, atol=5e-6)


@pytest.mark.parametrize("solver", ["TWO_BONE", *SOLVERS])
def test_flip_bends_to_the_other_side_and_flips_back_when_pressed_again(solver):
    count = 2 if solver == "TWO_BONE" else 3
    ob, target = make_selection(count)
    press(solve, solver=solver)
    plain = side(ob, count)
    for expected in (-1, 1):
        press(solve, solver=solver, use_flip_bend=True)
        rigs.assert_reaches(ob, "Bone.3", target)
        assert np.sign(side(ob, count) @ plain) == expected


def side(ob: bpy.types.Object, count: int) -> np.ndarray:
    """Return where the joints of the last bones lie, seen across their chord."""
    heads = [rigs.head(ob, f"Bone.{i}") for i in range(4 - count, 4)]
    root, inner, tip = heads[0], np.mean(heads[1:], axis=0), rigs.tail(ob, "Bone.3")
    return np.cross(np.cross(tip - root, inner - root), tip - root)


def make_mirrored_selection(scale_x: float = -1.0) -> bpy.types.Object:
    ob = rigs.make_rig(BENT)
    ob.scale.x = scale_x
    select_bones(ob, ["Bone.0", "Bone.1", "Bone.2"], rigs.make_empty(location=(0, 0.6, 1.2)))
    return ob


@pytest.mark.parametrize(("negative_scale", "sign"), [("MIRROR", -1), ("KEEP", 1)])
def test_a_mirrored_limb_bends_as_its_mirror_image_or_as_the_original(negative_scale, sign):
    ob = make_mirrored_selection(scale_x=1.0)
    press(solve)
    elbow = rigs.head(ob, "Bone.1")
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    ob = make_mirrored_selection()
    press(solve, negative_scale=negative_scale)
    assert np.sign(rigs.head(ob, "Bone.1")[0]) == sign * np.sign(elbow[0])


@pytest.mark.parametrize("negative_scale", ["MIRROR", "KEEP"])
def test_solving_a_mirrored_limb_again_moves_nothing(negative_scale):
    ob = make_mirrored_selection()
    press(solve, negative_scale=negative_scale)
    before = rigs.pose(ob)
    press(solve, negative_scale=negative_scale)
    np.testing.assert_allclose(rigs.pose(ob), before, atol=5e-6)


def test_influence_zero_keeps_the_pose_and_more_brings_the_tip_nearer():
    distances = []
    for influence in (0.0, 0.4, 0.8, 1.0):
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        ob, target = make_selection()
        before = rigs.pose(ob)
        press(solve, influence=influence)
        if influence == 0.0:
            np.testing.assert_allclose(rigs.pose(ob), before, atol=3e-6)
        distances.append(np.linalg.norm(rigs.tail(ob, "Bone.3") - rigs.position(target)))
    assert distances == sorted(distances, reverse=True)
    assert distances[-1] < rigs.REACHED < distances[-2]


def test_from_rest_pose_the_result_does_not_depend_on_the_present_pose():
    results = []
    for seed in (1, 2):
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        ob, _ = make_selection()
        rigs.turn_bones(ob, seed=seed, angle=0.8)
        ob.pose.bones["Bone.0"].rotation_quaternion = (1, 0, 0, 0)
        press(solve, use_rest_start=True)
        results.append(rigs.pose(ob))
    np.testing.assert_allclose(*results, atol=5e-6)


def test_the_head_is_the_effector_and_rotation_is_taken_on_request():
    ob, target = make_selection(2)
    target.rotation_euler = (0.4, 0.5, 0.6)
    press(solve, use_tail=False, use_rotation=True, chain_count=3)
    assert_positions_close(rigs.head(ob, "Bone.3"), rigs.position(target), rigs.REACHED)
    tip = ob.pose.bones["Bone.3"].matrix.to_quaternion()
    assert tip.rotation_difference(target.matrix_world.to_quaternion()).angle < 1e-3


def test_a_cap_of_one_iteration_and_a_wide_tolerance_are_obeyed(capfd):
    make_selection()
    press(solve, solver="CCD", iterations=1, tolerance=1e-7)
    assert "short after 1 " in reported(capfd)
    press(solve, solver="CCD", tolerance=0.1)
    assert "Reached" in reported(capfd)


@pytest.mark.parametrize(
    ("location", "words"),
    [((0.5, 0.6, 1.2), "Reached ("), ((9, 9, 9), "Out of reach by 1")],
)
def test_the_report_says_in_words_what_happened(location, words, capfd):
    make_selection(location=location)
    press(solve)
    assert f"Info: {words}" in reported(capfd)


def test_without_a_target_the_button_asks_for_one():
    ob = rigs.make_rig(rigs.zigzag(4))
    select_bones(ob, ["Bone.2", "Bone.3"])
    expected = "Select a target as well: an object, or a bone outside the chain."
    assert refusal(solve) == expected


def flat(ob: bpy.types.Object, _target: bpy.types.Object) -> None:
    ob.scale = (0, 0, 0)


def not_finite(_ob: bpy.types.Object, target: bpy.types.Object) -> None:
    target.location.x = float("nan")


def below_chain(ob: bpy.types.Object, target: bpy.types.Object) -> None:
    target.parent, target.parent_type, target.parent_bone = ob, "BONE", "Bone.3"


def driver(ob: bpy.types.Object, _target: bpy.types.Object) -> None:
    ob.pose.bones["Bone.2"].driver_add("rotation_quaternion", 1)


def without_length(ob: bpy.types.Object, _target: bpy.types.Object) -> None:
    ob.pose.bones["Bone.2"].scale = (0, 0, 0)


BAD_INPUT = [
    (flat, {}, "scale of zero: give it a scale above zero."),
    (not_finite, {}, "is not finite: check its location"),
    (below_chain, {}, "The target 'Target' is moved by the chain"),
    (driver, {}, "Bone 'Bone.2' has a driver on its rotation"),
    (without_length, {}, "has no length to turn"),
    (None, {"solver": "TWO_BONE"}, "choose Newton, FABRIK or CCD"),
    (None, {"solver": "TWO_BONE", "chain_count": 1}, "choose Newton, FABRIK or CCD"),
]


@pytest.mark.parametrize(("spoil", "settings", "words"), BAD_INPUT)
def test_bad_input_is_refused_in_one_sentence_and_changes_nothing(spoil, settings, words):
    ob, target = make_selection()
    if spoil is not None:
        spoil(ob, target)
    bpy.context.view_layer.update()
    before = repr(state())  # repr: not a number equals itself
    assert words in refusal(solve, **settings)
    assert repr(state()) == before


def test_a_root_bone_has_no_head_to_bring_anywhere():
    ob = rigs.make_rig(rigs.zigzag(2))
    select_bones(ob, ["Bone.0"], rigs.make_empty())
    before = state()
    assert "'Bone.0' has no parent" in refusal(solve, use_tail=False)
    assert state() == before


def test_a_target_bone_below_the_chain_is_refused():
    ob = rigs.make_rig(rigs.zigzag(4))
    select_bones(ob, ["Bone.3", "Bone.0", "Bone.1"])
    before = state()
    assert "'Bone.3' is moved by the chain" in refusal(solve)
    assert state() == before


def test_in_object_mode_the_tip_has_to_be_chosen():
    ob, target = make_selection()
    rigs.enter(ob, "OBJECT")
    select_objects(ob, active=target)
    assert refusal(solve) == (
        "Choose the bone at the end of the chain, or select its bones in pose mode."
    )
