"""Panels of what is more than one chain or one solve: trees, whole bodies, comparisons."""

from __future__ import annotations

import bpy

from tests.blender.interface.drawn import (
    FakePanel,
    RecordingLayout,
    compared_cells,
    draw,
    make_active_arm,
    names,
    row_of,
)
from tests.blender.setups import rigs, tree_rigs
from tests.blender.setups.selecting import press, select_objects


def said() -> list[str]:
    return [item.name for item in draw(only="Shared") if item.kind == "label"]


def test_chains_that_share_bones_say_so_show_their_weights_and_what_is_left():
    make_active_arm(solver="NEWTON")
    assert not draw(only="Shared")
    rig = tree_rigs.make_y()
    rig.follow()
    select_objects(active=rig.ob)
    assert said() == ["Solved together with Right"]
    assert [item.name for item in draw(only="Shared") if item.kind == "prop"] == ["weight"] * 2
    rig.target("Left").location = (2.0, 0.0, 1.0)
    rig.target("Right").location = (-2.0, 0.0, 1.0)
    rigs.updated()
    left, right = (f"{gap:.2g} m off" for gap in rig.gaps().values())
    assert said() == ["Solved together with Right", f"Left: {left}", f"Right: {right}"]
    assert rig.chain("Left").status == f"Outweighed by Right: {left}"
    rig.chain("Right").mute = True
    rigs.updated()
    assert not draw(only="Shared")
    assert names(draw(), "list") == {"chains", "joints"}


def header() -> set[str]:
    panel, layout = bpy.types.VIEW3D_PT_chain_ik_body, RecordingLayout()
    panel.draw_header(FakePanel(panel, layout), bpy.context)
    return {item.name for item in layout.drawn}


def test_a_body_has_a_tick_and_settings_and_its_chains_a_priority_a_pull_and_a_pin():
    ob, chain = make_active_arm(solver="NEWTON")
    assert header() == set()
    assert not ob.chain_ik.is_property_set("body"), "a closed panel stores nothing"
    assert [item.name for item in draw(only="Whole Body")] == ["root", "pose.chain_ik_body"]
    assert names(draw()).isdisjoint({"priority", "use_pin", "pull"})
    assert [item.name for item in row_of(chain)] == ["name", "mute"]
    ob.chain_ik.body.root = "Bone.0"
    press(bpy.ops.pose.chain_ik_body)
    drawn = draw(only="Whole Body")
    assert names(drawn) == {"root", "influence", "floor", "use_body"}
    assert names(drawn, "label") == {"The location of 'Bone.0' is written"}
    assert not names(drawn, "operator")
    assert names(draw(only="Target")) >= {"priority", "use_pin", "pull"}
    for chain.use_pin, icon in ((False, "UNPINNED"), (True, "PINNED")):
        _, pin, mute = row_of(chain)
        assert (pin.name, pin.icon, mute.name) == ("use_pin", icon, "mute")
    for ob.chain_ik.body.use_body in (True, False):
        rigs.updated()
        assert header() == {"use_body"}
    assert names(draw(only="Whole Body"), "operator") == {"pose.chain_ik_body"}


def last_cells() -> dict[str, tuple[str, str]]:
    """Return the last cell of each row of the comparison by its name: text and icon."""
    solvers = bpy.context.window_manager.chain_ik.solvers
    cells = {row.name: compared_cells(index)[-1] for index, row in enumerate(solvers)}
    return {name: (cell.text or cell.name, cell.icon) for name, cell in cells.items()}


def test_a_comparison_has_a_row_for_each_solver_of_which_the_one_in_use_has_a_tick():
    _, chain = make_active_arm(solver="FABRIK")
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
        told = [row.name, row.gap or "-", row.count or "-", row.time or "-"]
        assert [item.name for item in compared_cells(index)][:4] == told
    solvers = {"FABRIK and Newton", "FABRIK", "CCD and Newton", "CCD", "Newton", "Force", "Follow"}
    changes = (
        (lambda: None, "FABRIK and Newton"),
        (lambda: setattr(chain, "use_finish", False), "FABRIK"),
        (lambda: bpy.ops.pose.chain_ik_compare_use(index=0), "Two-Bone"),
    )
    for change, in_use in changes:
        change()
        cells = last_cells()
        assert {name for name, (_, icon) in cells.items() if icon == "CHECKMARK"} == {in_use}
        usable = {name for name, cell in cells.items() if cell == ("Use", "")}
        assert usable == {"Two-Bone", *solvers} - {in_use}
    make_active_arm(name="Other")
    text = " ".join(item.name for item in draw(only="Compare") if item.kind == "label")
    assert "'Chain' at frame 1, not the active chain" in text
