"""What a comparison leaves to be looked at and taken: rows, times, poses, until it is cleared."""

from __future__ import annotations

import bpy
import pytest

from tests.blender.keying.converted_rigs import Limb
from tests.blender.operators.compared_rigs import (
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
from tests.blender.setups import scaled_rigs
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
    assert not bpy.context.window_manager.chain_ik.chain


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
