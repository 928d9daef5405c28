"""What a comparison leaves to be looked at and taken: rows, times, poses, until it is cleared."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from tests.blender.compare.compared_rigs import (
    BUILT_IN,
    CLOSE,
    SETTINGS,
    compare,
    compared,
    joints_of,
    limb,
    rows,
    use,
)
from tests.blender.keying.converted_rigs import Limb
from tests.blender.setups import rigs, scaled_rigs
from tests.blender.setups.selecting import press, refusal, select_bones


def test_use_gives_the_compared_chain_that_solver_and_undo_takes_it_back():
    rig = limb("tail")
    compared(rig.ob)
    names = [*rows()]
    bpy.ops.ed.undo_push(message="Compared")
    for name in ("CCD", "FABRIK and Newton", "Follow"):
        press(use, index=names.index(name))
        chain = bpy.data.objects["Rig"].chain_ik.chains[0]
        solver, use_finish = SETTINGS[name]
        assert chain.solver == solver
        if solver in ("CCD", "FABRIK"):
            assert chain.use_finish == use_finish
        bpy.ops.ed.undo()
        assert bpy.data.objects["Rig"].chain_ik.chains[0].solver == "NEWTON"
    expected = "Blender's IK constraint is no solver of chains: press Convert Chains to get one."
    assert refusal(use, index=names.index(BUILT_IN)) == expected


@pytest.mark.parametrize("load_ui", [False, True])
def test_a_comparison_goes_with_the_file(tmp_path, load_ui):
    compared(limb("tail").ob)
    path = str(tmp_path / "saved.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    assert rows()
    # Without its windows a file leaves the window manager as it is.
    bpy.ops.wm.open_mainfile(filepath=path, load_ui=load_ui)
    assert not rows()
    assert not bpy.context.window_manager.chain_ik.purpose


def test_a_comparison_goes_with_its_chain_and_by_its_button():
    rig = limb("tail")
    nothing = "Nothing is compared: press Compare Solvers first."
    assert refusal(use) == nothing
    compared(rig.ob)
    bpy.ops.pose.chain_ik_compare_clear()
    assert not rows()
    assert refusal(bpy.ops.pose.chain_ik_compare_clear) == nothing
    compared(rig.ob)
    bpy.ops.pose.chain_ik_remove()
    assert refusal(use) == nothing


def make_namesakes() -> tuple[bpy.types.Object, list[bpy.types.PropertyGroup]]:
    """Return a rig with three chains of one name, and those; the second one is compared."""
    ob = rigs.make_rig()
    for i, prefix in enumerate(("Left", "Right")):
        rigs.add_bones(ob, np.array(rigs.ARM) + np.array([2.0 * i + 2.0, 0.0, 0.0]), prefix=prefix)
    for i, bone in enumerate(("Bone.1", "Left.1", "Right.1")):
        target = rigs.make_empty(f"Target {i}", (0.6 + 2.0 * i, 0.5, 1.2))
        rigs.add_chain(ob, bone, target, name="Chain", solver="NEWTON")
    scaled_rigs.update()
    ob.chain_ik.active_index = 1
    compared(ob)
    return ob, list(ob.chain_ik.chains)


def use_ccd() -> None:
    press(use, index=[*rows()].index("CCD"))


def solvers_of(ob: bpy.types.Object) -> dict[str, str]:
    return {chain.bone: chain.solver for chain in ob.chain_ik.chains}


def test_use_finds_its_chain_among_others_of_the_same_name():
    ob, _ = make_namesakes()
    use_ccd()
    assert solvers_of(ob) == {"Bone.1": "NEWTON", "Left.1": "CCD", "Right.1": "NEWTON"}


def test_use_finds_its_chain_under_other_names():
    ob, chains = make_namesakes()
    chains[1].name, chains[0].name, ob.name = "Other", "Chain", "Another Rig"
    use_ccd()
    assert solvers_of(ob) == {"Bone.1": "NEWTON", "Left.1": "CCD", "Right.1": "NEWTON"}


@pytest.mark.parametrize("how", ["removed", "moved"])
def test_use_finds_its_chain_in_another_place(how):
    ob, _ = make_namesakes()
    if how == "removed":
        ob.chain_ik.active_index = 0
        bpy.ops.pose.chain_ik_remove()
    else:
        ob.chain_ik.chains.move(1, 2)
    use_ccd()
    assert solvers_of(ob)["Left.1"] == "CCD"
    assert [*solvers_of(ob).values()].count("CCD") == 1


def test_use_leaves_a_chain_alone_that_has_come_to_the_place_of_the_compared_one():
    ob, chains = make_namesakes()
    # The same bones, but another target: not the same chain.
    chains[2].bone = "Left.1"
    scaled_rigs.update()
    ob.chain_ik.active_index = 1
    bpy.ops.pose.chain_ik_remove()
    assert refusal(use, index=5) == "Nothing is compared: press Compare Solvers first."


def test_times_and_iterations_are_told_with_their_units():
    rig = limb("tail")
    found = compared(rig.ob)
    for name, row in found.items():
        if row.is_solved:
            assert row.gap.endswith("m")
            assert row.time.endswith(" ms")
            assert 0.0 <= row.milliseconds < 1e4
            assert (row.count == "") == (name == BUILT_IN) == (row.iterations < 0)
        else:
            assert (row.residual, row.milliseconds, row.iterations) == (-1.0, -1.0, -1)
    assert found["FABRIK"].iterations >= 1


def test_residuals_have_the_unit_of_the_scene_as_the_status_has():
    bpy.context.scene.unit_settings.length_unit = "CENTIMETERS"
    row = compared(limb("far").ob)["Newton"]
    assert row.gap.endswith(" cm")
    assert row.status.startswith(f"Out of reach by {row.gap}: extended")


@pytest.mark.parametrize("start_from", ["KEYED", "CURRENT"])
def test_the_pose_is_that_of_the_first_solve_however_often_it_is_timed(start_from):
    rig = Limb(5, count=6, reach=(0.4, 0.6), use_pole=False)
    rig.add_chain(solver="NEWTON", start_from=start_from, mute=True)
    found = {name: (row.is_solved, joints_of(row)) for name, row in compared(rig.ob).items()}
    for name in ("Newton", "FABRIK", "Follow"):
        solver, use_finish = SETTINGS[name]
        rig.chain.mute = True
        scaled_rigs.update()
        rig.chain.solver, rig.chain.use_finish, rig.chain.mute = solver, use_finish, False
        scaled_rigs.update()
        assert found[name][0]
        assert rig.apart(found[name][1]) <= CLOSE, name


def test_it_runs_in_pose_mode_beside_selected_bones():
    rig = limb("tail")
    select_bones(rig.ob, rig.bones)
    press(compare)
    assert bpy.context.mode == "POSE"
    assert rows()["Newton"].is_solved


@pytest.mark.parametrize("name", ["Newton", "FABRIK", "FABRIK and Newton"])
def test_the_row_of_the_solver_that_the_chain_has_is_the_chosen_one(name):
    rig = limb("tail")
    rig.chain.solver, rig.chain.use_finish = SETTINGS[name]
    scaled_rigs.update()
    chosen = list(compared(rig.ob))[bpy.context.window_manager.chain_ik.active_index]
    assert chosen == name
