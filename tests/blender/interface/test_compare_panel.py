"""The panel Compare: a row for each solver, and which one the chain uses."""

from __future__ import annotations

import bpy

from tests.blender.interface.drawn import compared_cells, draw, make_active_arm, names


def last_cells() -> dict[str, tuple[str, str]]:
    """Return the last cell of each row of the comparison by its name: text and icon."""
    solvers = bpy.context.window_manager.chain_ik.solvers
    cells = {row.name: compared_cells(index)[-1] for index, row in enumerate(solvers)}
    return {name: (cell.text or cell.name, cell.icon) for name, cell in cells.items()}


def test_only_the_solver_in_use_has_a_tick_and_the_others_can_be_used():
    _, chain = make_active_arm(solver="FABRIK")
    assert bpy.ops.pose.chain_ik_compare() == {"FINISHED"}
    solvers = {"FABRIK and Newton", "FABRIK", "CCD and Newton", "CCD", "Newton", "Force", "Follow"}
    changes = (
        (lambda: None, "FABRIK and Newton"),
        (lambda: setattr(chain, "use_finish", False), "FABRIK"),
        (lambda: setattr(chain, "solver", "NEWTON"), "Newton"),
        (lambda: bpy.ops.pose.chain_ik_compare_use(index=0), "Two-Bone"),
    )
    for change, in_use in changes:
        change()
        cells = last_cells()
        assert {name for name, (_, icon) in cells.items() if icon == "CHECKMARK"} == {in_use}
        usable = {name for name, cell in cells.items() if cell == ("Use", "")}
        assert usable == {"Two-Bone", *solvers} - {in_use}


def test_a_comparison_has_a_row_for_each_solver_and_says_how_the_chosen_one_ended():
    make_active_arm()
    assert not draw(only="Compare")
    assert bpy.ops.pose.chain_ik_compare() == {"FINISHED"}
    kept = bpy.context.window_manager.chain_ik
    kept.active_index = [row.name for row in kept.solvers].index("Follow")
    drawn = draw(only="Compare")
    assert names(drawn, "list") == {"solvers"}
    assert {"pose.chain_ik_compare_clear"} <= names(drawn, "operator")
    assert "show_ghosts" in names(drawn)
    text = " ".join(item.name for item in drawn if item.kind == "label")
    assert "'Chain' at frame 1 Solver Residual Iterations Time" in text
    assert kept.solvers["Follow"].status in text
    for index, row in enumerate(kept.solvers):
        shown = [item.name for item in compared_cells(index)]
        assert shown[0] == row.name
        assert shown[1:4] == [row.gap or "-", row.count or "-", row.time or "-"]
    make_active_arm(name="Other")
    text = " ".join(item.name for item in draw(only="Compare") if item.kind == "label")
    assert "'Chain' at frame 1, not the active chain" in text
