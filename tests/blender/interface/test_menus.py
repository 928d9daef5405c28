"""Menus, the pie menu and its key, panels for several chains, and the user's preferences."""

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
from tests.blender.gizmos.grabbed import GIZMO_OPERATORS
from tests.blender.interface import drawn as ui
from tests.blender.operators.test_operator_list import make_limbs
from tests.blender.setups import rigs, tree_rigs
from tests.blender.setups.selecting import press, select_bones, select_objects

# Operators that dialogs of Blender or the preset menu call.
CALLED_BY_BLENDER = {"pose.chain_ik_preset_add", "pose.chain_ik_preset_apply"}


def draw_with(draw_function: object) -> list:
    layout = ui.RecordingLayout()
    draw_function(ui.FakePanel(bpy.types.Menu, layout), bpy.context)
    return layout.drawn


def draw_pose_menu() -> list:
    added = [
        function
        for function in bpy.types.VIEW3D_MT_pose_ik.draw._draw_funcs
        if function.__module__.startswith("blender_ik_addon")
    ]
    assert len(added) == 1
    return draw_with(added[0])


def test_the_pose_menu_has_the_actions_of_chains_with_labels_distinct_from_blenders_own():
    actions = {"add", "remove", "solve", "bake", "snap_target", "apply", "switch", "convert"}
    actions |= {"compare", "setup", "mirror", "store", "restore", "motion_paths"}
    actions |= {"switch_space", "body"}
    texts = {item.name: item.text for item in draw_pose_menu() if item.kind == "operator"}
    assert texts.keys() == {f"pose.chain_ik_{action}" for action in actions}
    labels = {"add": "Add Chain", "remove": "Remove Chain", "bake": "Bake Chains"}
    labels |= {"convert": "Convert Chains", "solve": "Solve Once"}
    assert {texts[f"pose.chain_ik_{name}"]: text for name, text in labels.items()} == {
        text: text for text in labels.values()
    }


def test_the_pie_menu_has_eight_slices_with_opposites_facing_each_other():
    pie = draw_with(bpy.types.VIEW3D_MT_chain_ik_pie.draw)
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
    drawn = ui.draw() + ui.draw_cells(0) + draw_pose_menu()
    drawn += draw_with(bpy.types.VIEW3D_MT_chain_ik_pie.draw)
    operators = {f"pose.{name}" for name in dir(bpy.ops.pose) if name.startswith("chain_ik_")}
    assert len(operators) > 15
    assert ui.names(drawn, "operator") == operators - CALLED_BY_BLENDER - GIZMO_OPERATORS
    assert "CHAINIK_PT_presets" in ui.names(drawn, "popover")
    presets = bpy.types.CHAINIK_PT_presets
    assert {presets.preset_add_operator, presets.preset_operator} == CALLED_BY_BLENDER


def keys(config: bpy.types.KeyConfig) -> list[str]:
    items = [item for keymap in config.keymaps for item in keymap.keymap_items]
    pies = [item for item in items if item.idname == "wm.call_menu_pie"]
    return [item.type for item in pies if item.properties.name == "VIEW3D_MT_chain_ik_pie"]


def test_the_key_is_in_the_key_configuration_of_the_user_too():
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
def test_the_ends_of_a_range_are_drawn_last_and_only_if_a_range_is_used(name, own):
    operator = getattr(bpy.types, f"POSE_OT_chain_ik_{name}")
    for use_range, ends in ((False, []), (True, ["frame_start", "frame_end"])):
        layout = ui.RecordingLayout()
        instance = type("Asked", (), {"__annotations__": operator.__annotations__})()
        instance.bl_rna, instance.layout = ui.operator_type(f"pose.chain_ik_{name}"), layout
        instance.use_range = use_range
        operator.draw(instance, bpy.context)
        assert [item.name for item in layout.drawn] == [*own, "use_range", *ends]


def shared_labels() -> list[str]:
    return [item.name for item in ui.draw(only="Shared") if item.kind == "label"]


def test_chains_that_share_bones_say_so_and_show_their_weights_and_residuals():
    ui.make_active_arm(solver="NEWTON")
    assert not ui.draw(only="Shared")
    rig = tree_rigs.make_y().follow()
    select_objects(active=rig.ob)
    assert shared_labels() == ["Solved together with Right"]
    assert [item.name for item in ui.draw(only="Shared") if item.kind == "prop"] == ["weight"] * 2
    rig.target("Left").location = (2.0, 0.0, 1.0)
    rigs.change(rig.target("Right"), location=(-2.0, 0.0, 1.0))
    left, right = (f"{gap:.2g} m off" for gap in rig.gaps().values())
    assert shared_labels() == ["Solved together with Right", f"Left: {left}", f"Right: {right}"]
    assert rig.chain("Left").status == f"Outweighed by Right: {left}"
    rigs.change(rig.chain("Right"), mute=True)
    assert not ui.draw(only="Shared")
    assert ui.names(ui.draw(), "list") == {"chains", "joints"}


def header_items() -> set[str]:
    panel, layout = bpy.types.VIEW3D_PT_chain_ik_body, ui.RecordingLayout()
    panel.draw_header(ui.FakePanel(panel, layout), bpy.context)
    return {item.name for item in layout.drawn}


def test_a_body_has_a_tick_and_settings_and_its_chains_a_priority_a_pull_and_a_pin():
    ob, chain = ui.make_active_arm(solver="NEWTON")
    assert header_items() == set()
    assert not ob.chain_ik.is_property_set("body"), "a closed panel stores nothing"
    assert [item.name for item in ui.draw(only="Whole Body")] == ["root", "pose.chain_ik_body"]
    assert ui.names(ui.draw()).isdisjoint({"priority", "use_pin", "pull"})
    assert [item.name for item in ui.draw_row(chain)] == ["name", "mute"]
    ob.chain_ik.body.root = "Bone.0"
    press(bpy.ops.pose.chain_ik_body)
    drawn = ui.draw(only="Whole Body")
    assert ui.names(drawn) == {"root", "influence", "floor", "use_body"}
    assert ui.names(drawn, "label") == {"Chain IK sets the location of 'Bone.0'"}
    assert not ui.names(drawn, "operator")
    assert ui.names(ui.draw(only="Target")) >= {"priority", "use_pin", "pull"}
    for chain.use_pin, icon in ((False, "UNPINNED"), (True, "PINNED")):
        _, pin, mute = ui.draw_row(chain)
        assert (pin.name, pin.icon, mute.name) == ("use_pin", icon, "mute")
    for ob.chain_ik.body.use_body in (True, False):
        rigs.updated()
        assert header_items() == {"use_body"}
    assert ui.names(ui.draw(only="Whole Body"), "operator") == {"pose.chain_ik_body"}


def test_a_comparison_has_a_row_for_each_solver_and_a_tick_for_the_one_in_use():
    _, chain = ui.make_active_arm(solver="FABRIK")
    assert not ui.draw(only="Compare")
    assert bpy.ops.pose.chain_ik_compare() == {"FINISHED"}
    table = bpy.context.window_manager.chain_ik
    table.active_index = [row.name for row in table.solvers].index("Follow")
    drawn = ui.draw(only="Compare")
    assert ui.names(drawn, "list") == {"solvers"}
    assert {"pose.chain_ik_compare_clear"} <= ui.names(drawn, "operator")
    assert "show_ghosts" in ui.names(drawn)
    text = " ".join(item.name for item in drawn if item.kind == "label")
    assert "'Chain' at frame 1 Solver Residual Iterations Time" in text
    assert table.solvers["Follow"].status in text
    for index, row in enumerate(table.solvers):
        cells = [row.name, *[text or "-" for text in figures(bpy.context, row)]]
        assert [item.name for item in ui.draw_cells(index)][:4] == cells
    solvers = {"FABRIK and Newton", "FABRIK", "CCD and Newton", "CCD", "Newton", "Force", "Follow"}
    changes = (
        (lambda: None, "FABRIK and Newton"),
        (lambda: setattr(chain, "use_finish", False), "FABRIK"),
        (lambda: bpy.ops.pose.chain_ik_compare_use(index=0), "Two-Bone"),
    )
    for change, in_use in changes:
        change()
        last = {row.name: ui.draw_cells(index)[-1] for index, row in enumerate(table.solvers)}
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
def user() -> bpy.types.AddonPreferences:
    """Preferences like those of an enabled add-on; removed after the test."""
    entry = bpy.context.preferences.addons.new()
    entry.module = PACKAGE
    yield entry.preferences
    bpy.context.preferences.addons.remove(entry)
    logging.getLogger(PACKAGE).setLevel("WARNING")


def read_settings(chain: bpy.types.PropertyGroup) -> dict[str, object]:
    names = ("solver", "start_from", "use_limits", "iterations")
    return {name: getattr(chain, name) for name in names} | {
        "tolerance": pytest.approx(chain.tolerance),
        "has_pole": chain.pole_target is not None,
        "is_bone": bool(chain.subtarget),
    }


def add_to(ob: bpy.types.Object, *bones: str) -> dict[str, object]:
    select_bones(ob, bones)
    press(add)
    return read_settings(ob.chain_ik.chains[-1])


DEFAULTS = {
    "start_from": "KEYED",
    "use_limits": True,
    "iterations": 500,
    "tolerance": 1e-5,
    "is_bone": True,
}


def test_without_preferences_new_chains_have_the_defaults():
    assert PACKAGE not in bpy.context.preferences.addons
    assert not hasattr(preferences(), "no such thing")
    ob = make_limbs()
    arm, tail = add_to(ob, "Arm.0", "Arm.1"), add_to(ob, "Tail.0", "Tail.1", "Tail.2", "Tail.3")
    assert arm == {**DEFAULTS, "solver": "TWO_BONE", "has_pole": True}
    assert tail == {**DEFAULTS, "solver": "NEWTON", "has_pole": False}
    for chain in ob.chain_ik.chains:
        # Blender copies set properties with every evaluated pose, so defaults stay unset.
        assert not chain.is_property_set("tolerance")
        assert not chain.is_property_set("start_from")


def test_new_chains_take_their_settings_from_the_preferences(user):
    user.solver_of_two, user.solver, user.start_from = "NEWTON", "CCD", "REST"
    user.use_limits, user.tolerance, user.iterations = False, 0.01, 40
    user.pole, user.control = "ALWAYS", "EMPTY"
    expected = {"start_from": "REST", "use_limits": False, "iterations": 40, "tolerance": 0.01}
    expected |= {"is_bone": False, "has_pole": True}
    ob = make_limbs()
    assert add_to(ob, "Arm.0", "Arm.1") == {**expected, "solver": "NEWTON"}
    assert add_to(ob, "Tail.0", "Tail.1", "Tail.2", "Tail.3") == {**expected, "solver": "CCD"}
    select_bones(ob, ["Leg.0", "Leg.1"])
    # Arguments of the operator override the preferences.
    press(add, solver="FABRIK", control="BONE", use_pole=False)
    values = read_settings(ob.chain_ik.chains[-1])
    assert (values["solver"], values["is_bone"], values["has_pole"]) == ("FABRIK", True, False)
    user.pole = "NEVER"
    assert not add_to(ob, "Leg.1", "Leg.2")["has_pole"]
    # Chains that share bones get a solver that solves trees.
    rigs.add_bones(ob, np.add(rigs.zigzag(2, seed=8), (6, 0, 0)), prefix="Fork", parent="Tail.1")
    ob.chain_ik.chains["Tail.3"].solver = "FABRIK"
    assert add_to(ob, "Tail.0", "Tail.1", "Fork.0", "Fork.1")["solver"] == "NEWTON"
    # Limbs of a character use the preferences too. Chains added by scripts get property defaults.
    ob = make_limbs()
    select_bones(ob, ["Arm.0"])
    press(bpy.ops.pose.chain_ik_setup)
    limbs = [read_settings(chain) for chain in ob.chain_ik.chains]
    assert {values["solver"] for values in limbs} == {"NEWTON", "CCD"}
    assert not any(values["is_bone"] or values["tolerance"] != 0.01 for values in limbs)
    chain = ob.chain_ik.chains.add()
    assert (chain.solver, chain.tolerance) == ("NEWTON", pytest.approx(1e-5))


def test_colours_follow_the_theme_until_a_user_chooses_others_and_widths_grow(user):
    context = bpy.context
    interface = context.preferences.themes[0].user_interface
    current = colours(context)
    assert len({current[name] for name in ("reached", "held", "missed", "limit", "pole")}) == 5
    former = tuple(interface.axis_y)
    interface.axis_y = (0.1, 0.2, 0.3)
    assert colours(context)["reached"] == pytest.approx((0.1, 0.2, 0.3), abs=0.01)
    interface.axis_y = former
    user.use_theme_colours = False
    for name in current:
        setattr(user, f"{name}_colour", (0.5, 0.25, 0.125))
        assert colours(context)[name] == (0.5, 0.25, 0.125)
    # Colours of ghosts differ. Widths grow with the interface scale, which is 0 in background.
    gaps = combinations(ghost_colours(context, 9), 2)
    assert min(np.abs(np.subtract(a, b)).max() for a, b in gaps) > 0.1
    scale = context.preferences.system.ui_scale or 1.0
    rigs.change(user, **WIDE)
    current = [width_of(context, name) for name in WIDE]
    assert current == pytest.approx([value * scale for value in WIDE.values()])


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.name.startswith(PACKAGE)]


def test_refusals_and_times_are_logged_at_the_chosen_level(user, caplog):
    ob, target = rigs.make_arm()
    rigs.shift(target, x=0.1)
    assert messages(caplog) == []
    user.log_level = "INFO"
    rigs.change(ob.chain_ik.chains[0], bone="Gone")
    expected = "'Rig', chain 'Chain': Bone 'Gone' no longer exists: choose another tip."
    assert messages(caplog) == [expected]
    rigs.tagged(ob)
    assert messages(caplog) == [expected], "told once"
    caplog.clear()
    user.log_level = "DEBUG"
    rigs.change(ob.chain_ik.chains[0], bone="Bone.1")
    (line,) = messages(caplog)
    assert line.startswith("'Scene', frame 1: ")
    assert line.endswith(" ms")
