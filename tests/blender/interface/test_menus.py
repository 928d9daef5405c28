"""Menus, the pie menu and its key, panels of more than one chain, and a person's preferences."""

import logging
from itertools import combinations

import bpy
import numpy as np
import pytest

import blender_ik_addon
from blender_ik_addon.panels.sidebar.compare import figures
from blender_ik_addon.preferences import pie_key
from blender_ik_addon.preferences.addon import preferences
from blender_ik_addon.preferences.colours import colours, ghost_colours, width_of
from tests.blender.gizmos.grabbed import GRABBED
from tests.blender.interface import drawn as ui
from tests.blender.operators.test_operator_list import make_limbs
from tests.blender.setups import rigs, tree_rigs
from tests.blender.setups.selecting import press, select_bones, select_objects

# Called by the dialogs of others, or by the menu of presets.
CALLED_BY_BLENDER = {"pose.chain_ik_preset_add", "pose.chain_ik_preset_apply"}


def operators() -> set[str]:
    found = {f"pose.{name}" for name in dir(bpy.ops.pose) if name.startswith("chain_ik_")}
    assert len(found) > 15
    return found


def drawn_by(draw_function: object) -> list:
    layout = ui.RecordingLayout()
    draw_function(ui.FakePanel(bpy.types.Menu, layout), bpy.context)
    return layout.drawn


def entries_of_pose_menu() -> list:
    added = [
        function
        for function in bpy.types.VIEW3D_MT_pose_ik.draw._draw_funcs
        if function.__module__.startswith("blender_ik_addon")
    ]
    assert len(added) == 1
    return drawn_by(added[0])


def test_the_pose_menu_has_what_is_done_with_chains_and_tells_it_beside_blenders_own():
    actions = {"add", "remove", "solve", "bake", "snap_target", "apply", "switch", "convert"}
    actions |= {"compare", "setup", "mirror", "store", "restore", "motion_paths"}
    actions |= {"switch_space", "body"}
    texts = {item.name: item.text for item in entries_of_pose_menu() if item.kind == "operator"}
    assert texts.keys() == {f"pose.chain_ik_{action}" for action in actions}
    told = {"add": "Add Chain", "remove": "Remove Chain", "bake": "Bake Chains"}
    told |= {"convert": "Convert Chains", "solve": "Solve Once"}
    assert {texts[f"pose.chain_ik_{name}"]: text for name, text in told.items()} == {
        text: text for text in told.values()
    }


def test_the_pie_menu_has_eight_slices_with_opposites_facing_each_other():
    pie = drawn_by(bpy.types.VIEW3D_MT_chain_ik_pie.draw)
    slices = [item.name.removeprefix("pose.chain_ik_") for item in pie]
    left, right, _, above, top_left, top_right, low_left, low_right = slices
    assert (left, right) == ("snap_target", "apply")
    assert above == "switch"
    assert (top_left, top_right) == ("add", "remove")
    assert (low_left, low_right) == ("store", "restore")


def test_every_operator_can_be_reached_from_panels_and_menus():
    ob, chain = ui.make_active_arm(solver="FORCE")
    select_objects(active=ob)
    rigs.change(chain.joints.add(), bone="Bone.1")
    assert bpy.ops.pose.chain_ik_compare() == {"FINISHED"}
    drawn = ui.draw() + ui.compared_cells(0) + entries_of_pose_menu()
    drawn += drawn_by(bpy.types.VIEW3D_MT_chain_ik_pie.draw)
    assert ui.names(drawn, "operator") == operators() - CALLED_BY_BLENDER - GRABBED
    assert "CHAINIK_PT_presets" in ui.names(drawn, "popover")
    presets = bpy.types.CHAINIK_PT_presets
    assert {presets.preset_add_operator, presets.preset_operator} == CALLED_BY_BLENDER


def keys(config: bpy.types.KeyConfig) -> list[str]:
    items = [item for keymap in config.keymaps for item in keymap.keymap_items]
    pies = [item for item in items if item.idname == "wm.call_menu_pie"]
    return [item.type for item in pies if item.properties.name == "VIEW3D_MT_chain_ik_pie"]


def test_the_key_is_there_for_the_person_too():
    keyconfigs = bpy.context.window_manager.keyconfigs
    keyconfigs.update()
    assert keys(keyconfigs.addon) == keys(keyconfigs.user) == [pie_key.KEY] == ["J"]


def test_the_menu_is_for_rigs_in_object_and_pose_mode():
    menu, (ob, target) = bpy.types.VIEW3D_MT_chain_ik_pie, rigs.make_arm()
    for mode, expected in (("OBJECT", True), ("POSE", True), ("EDIT", False)):
        rigs.enter(ob, mode)
        assert menu.poll(bpy.context) is expected
    rigs.enter(ob, "OBJECT")
    select_objects(active=target)
    assert menu.poll(bpy.context)
    select_objects(active=rigs.make_empty("Other"))
    assert not menu.poll(bpy.context)


@pytest.mark.parametrize(
    ("name", "own"),
    [("snap_target", ["use_keys"]), ("apply", ["use_keys"]), ("switch_space", ["which", "space"])],
)
def test_the_ends_of_a_range_are_asked_for_last_and_only_where_there_is_one(name, own):
    drawn = getattr(bpy.types, f"POSE_OT_chain_ik_{name}")
    for use_range, ends in ((False, []), (True, ["frame_start", "frame_end"])):
        layout = ui.RecordingLayout()
        asked = type("Asked", (), {"__annotations__": drawn.__annotations__})()
        asked.bl_rna, asked.layout = ui.operator_type(f"pose.chain_ik_{name}"), layout
        asked.use_range = use_range
        drawn.draw(asked, bpy.context)
        assert [item.name for item in layout.drawn] == [*own, "use_range", *ends]


def said() -> list[str]:
    return [item.name for item in ui.draw(only="Shared") if item.kind == "label"]


def test_chains_that_share_bones_say_so_show_their_weights_and_what_is_left():
    ui.make_active_arm(solver="NEWTON")
    assert not ui.draw(only="Shared")
    rig = tree_rigs.make_y().follow()
    select_objects(active=rig.ob)
    assert said() == ["Solved together with Right"]
    assert [item.name for item in ui.draw(only="Shared") if item.kind == "prop"] == ["weight"] * 2
    rig.target("Left").location = (2.0, 0.0, 1.0)
    rigs.change(rig.target("Right"), location=(-2.0, 0.0, 1.0))
    left, right = (f"{gap:.2g} m off" for gap in rig.gaps().values())
    assert said() == ["Solved together with Right", f"Left: {left}", f"Right: {right}"]
    assert rig.chain("Left").status == f"Outweighed by Right: {left}"
    rigs.change(rig.chain("Right"), mute=True)
    assert not ui.draw(only="Shared")
    assert ui.names(ui.draw(), "list") == {"chains", "joints"}


def header() -> set[str]:
    panel, layout = bpy.types.VIEW3D_PT_chain_ik_body, ui.RecordingLayout()
    panel.draw_header(ui.FakePanel(panel, layout), bpy.context)
    return {item.name for item in layout.drawn}


def test_a_body_has_a_tick_and_settings_and_its_chains_a_priority_a_pull_and_a_pin():
    ob, chain = ui.make_active_arm(solver="NEWTON")
    assert header() == set()
    assert not ob.chain_ik.is_property_set("body"), "a closed panel stores nothing"
    assert [item.name for item in ui.draw(only="Whole Body")] == ["root", "pose.chain_ik_body"]
    assert ui.names(ui.draw()).isdisjoint({"priority", "use_pin", "pull"})
    assert [item.name for item in ui.row_of(chain)] == ["name", "mute"]
    ob.chain_ik.body.root = "Bone.0"
    press(bpy.ops.pose.chain_ik_body)
    drawn = ui.draw(only="Whole Body")
    assert ui.names(drawn) == {"root", "influence", "floor", "use_body"}
    assert ui.names(drawn, "label") == {"The location of 'Bone.0' is written"}
    assert not ui.names(drawn, "operator")
    assert ui.names(ui.draw(only="Target")) >= {"priority", "use_pin", "pull"}
    for chain.use_pin, icon in ((False, "UNPINNED"), (True, "PINNED")):
        _, pin, mute = ui.row_of(chain)
        assert (pin.name, pin.icon, mute.name) == ("use_pin", icon, "mute")
    for ob.chain_ik.body.use_body in (True, False):
        rigs.updated()
        assert header() == {"use_body"}
    assert ui.names(ui.draw(only="Whole Body"), "operator") == {"pose.chain_ik_body"}


def test_a_comparison_has_a_row_for_each_solver_of_which_the_one_in_use_has_a_tick():
    _, chain = ui.make_active_arm(solver="FABRIK")
    assert not ui.draw(only="Compare")
    assert bpy.ops.pose.chain_ik_compare() == {"FINISHED"}
    kept = bpy.context.window_manager.chain_ik
    kept.active_index = [row.name for row in kept.solvers].index("Follow")
    drawn = ui.draw(only="Compare")
    assert ui.names(drawn, "list") == {"solvers"}
    assert {"pose.chain_ik_compare_clear"} <= ui.names(drawn, "operator")
    assert "show_ghosts" in ui.names(drawn)
    text = " ".join(item.name for item in drawn if item.kind == "label")
    assert "'Chain' at frame 1 Solver Residual Iterations Time" in text
    assert kept.solvers["Follow"].status in text
    for index, row in enumerate(kept.solvers):
        told = [row.name, *[text or "-" for text in figures(bpy.context, row)]]
        assert [item.name for item in ui.compared_cells(index)][:4] == told
    solvers = {"FABRIK and Newton", "FABRIK", "CCD and Newton", "CCD", "Newton", "Force", "Follow"}
    changes = (
        (lambda: None, "FABRIK and Newton"),
        (lambda: setattr(chain, "use_finish", False), "FABRIK"),
        (lambda: bpy.ops.pose.chain_ik_compare_use(index=0), "Two-Bone"),
    )
    for change, in_use in changes:
        change()
        last = {row.name: ui.compared_cells(index)[-1] for index, row in enumerate(kept.solvers)}
        assert {name for name, cell in last.items() if cell.icon == "CHECKMARK"} == {in_use}
        texts = {name: cell.text or cell.name for name, cell in last.items() if not cell.icon}
        usable = {name for name, text in texts.items() if text == "Use"}
        assert usable == {"Two-Bone", *solvers} - {in_use}
    ui.make_active_arm(name="Other")
    text = " ".join(item.name for item in ui.draw(only="Compare") if item.kind == "label")
    assert "'Chain' at frame 1, not the active chain" in text


PACKAGE = blender_ik_addon.__name__
add = bpy.ops.pose.chain_ik_add
WIDE = {"line_width": 3.0, "ghost_width": 4.0, "joint_size": 9.0}


@pytest.fixture
def own() -> bpy.types.AddonPreferences:
    """Preferences of one's own, as an enabled add-on has them; gone afterwards."""
    entry = bpy.context.preferences.addons.new()
    entry.module = PACKAGE
    yield entry.preferences
    bpy.context.preferences.addons.remove(entry)
    logging.getLogger(PACKAGE).setLevel("WARNING")


def settings_of(chain: bpy.types.PropertyGroup) -> dict[str, object]:
    names = ("solver", "start_from", "use_limits", "iterations")
    return {name: getattr(chain, name) for name in names} | {
        "tolerance": pytest.approx(chain.tolerance),
        "has_pole": chain.pole_target is not None,
        "is_bone": bool(chain.subtarget),
    }


def added(ob: bpy.types.Object, *bones: str) -> dict[str, object]:
    select_bones(ob, bones)
    press(add)
    return settings_of(ob.chain_ik.chains[-1])


USUAL = {
    "start_from": "KEYED",
    "use_limits": True,
    "iterations": 500,
    "tolerance": 1e-5,
    "is_bone": True,
}


def test_without_preferences_new_chains_are_what_they_always_were():
    assert PACKAGE not in bpy.context.preferences.addons
    assert not hasattr(preferences(), "no such thing")
    ob = make_limbs()
    arm, tail = added(ob, "Arm.0", "Arm.1"), added(ob, "Tail.0", "Tail.1", "Tail.2", "Tail.3")
    assert arm == {**USUAL, "solver": "TWO_BONE", "has_pole": True}
    assert tail == {**USUAL, "solver": "NEWTON", "has_pole": False}
    for chain in ob.chain_ik.chains:
        # What is set is copied with every evaluated pose.
        assert not chain.is_property_set("tolerance")
        assert not chain.is_property_set("start_from")


def test_new_chains_take_what_a_person_prefers(own):
    own.solver_of_two, own.solver, own.start_from = "NEWTON", "CCD", "REST"
    own.use_limits, own.tolerance, own.iterations = False, 0.01, 40
    own.pole, own.control = "ALWAYS", "EMPTY"
    wanted = {"start_from": "REST", "use_limits": False, "iterations": 40, "tolerance": 0.01}
    wanted |= {"is_bone": False, "has_pole": True}
    ob = make_limbs()
    assert added(ob, "Arm.0", "Arm.1") == {**wanted, "solver": "NEWTON"}
    assert added(ob, "Tail.0", "Tail.1", "Tail.2", "Tail.3") == {**wanted, "solver": "CCD"}
    select_bones(ob, ["Leg.0", "Leg.1"])
    # What an operator is told comes before that.
    press(add, solver="FABRIK", control="BONE", use_pole=False)
    told = settings_of(ob.chain_ik.chains[-1])
    assert (told["solver"], told["is_bone"], told["has_pole"]) == ("FABRIK", True, False)
    own.pole = "NEVER"
    assert not added(ob, "Leg.1", "Leg.2")["has_pole"]
    # Chains that share bones get a solver that can share them.
    rigs.add_bones(ob, np.add(rigs.zigzag(2, seed=8), (6, 0, 0)), prefix="Fork", parent="Tail.1")
    ob.chain_ik.chains["Tail.3"].solver = "FABRIK"
    assert added(ob, "Tail.0", "Tail.1", "Fork.0", "Fork.1")["solver"] == "NEWTON"
    # So do limbs of a character, and scripts that use the list get what Blender gives.
    ob = make_limbs()
    select_bones(ob, ["Arm.0"])
    press(bpy.ops.pose.chain_ik_setup)
    found = [settings_of(chain) for chain in ob.chain_ik.chains]
    assert {told["solver"] for told in found} == {"NEWTON", "CCD"}
    assert not any(told["is_bone"] or told["tolerance"] != 0.01 for told in found)
    chain = ob.chain_ik.chains.add()
    assert (chain.solver, chain.tolerance) == ("NEWTON", pytest.approx(1e-5))


def test_colours_are_those_of_the_theme_until_a_person_has_their_own_and_widths_grow(own):
    context = bpy.context
    interface = context.preferences.themes[0].user_interface
    found = colours(context)
    assert len({found[name] for name in ("reached", "held", "missed", "limit", "pole")}) == 5
    known = tuple(interface.axis_y)
    interface.axis_y = (0.1, 0.2, 0.3)
    assert colours(context)["reached"] == pytest.approx((0.1, 0.2, 0.3), abs=0.01)
    interface.axis_y = known
    own.use_theme_colours = False
    for name in found:
        setattr(own, f"{name}_colour", (0.5, 0.25, 0.125))
        assert colours(context)[name] == (0.5, 0.25, 0.125)
    # Those of ghosts differ, and widths grow with the interface, which is zero in background.
    gaps = combinations(ghost_colours(context, 9), 2)
    assert min(np.abs(np.subtract(a, b)).max() for a, b in gaps) > 0.1
    scale = context.preferences.system.ui_scale or 1.0
    rigs.change(own, **WIDE)
    found = [width_of(context, name) for name in WIDE]
    assert found == pytest.approx([value * scale for value in WIDE.values()])


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.name.startswith(PACKAGE)]


def test_refusals_and_times_are_logged_as_far_as_they_are_asked_for(own, caplog):
    ob, target = rigs.make_arm()
    target.location.x += 0.1
    bpy.context.view_layer.update()
    assert messages(caplog) == []
    own.log_level = "INFO"
    rigs.change(ob.chain_ik.chains[0], bone="Gone")
    expected = "'Rig', chain 'Chain': Bone 'Gone' no longer exists: choose another tip."
    assert messages(caplog) == [expected]
    rigs.tagged(ob)
    assert messages(caplog) == [expected], "told once"
    caplog.clear()
    own.log_level = "DEBUG"
    rigs.change(ob.chain_ik.chains[0], bone="Bone.1")
    (line,) = messages(caplog)
    assert line.startswith("'Scene', frame 1: ")
    assert line.endswith(" ms")
