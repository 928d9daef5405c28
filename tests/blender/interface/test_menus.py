"""Menus, the pie menu and its key, and panels of what is more than one chain or one solve."""

import bpy
import pytest

from blender_ik_addon.panels.sidebar.compare import figures
from blender_ik_addon.preferences import pie_key
from tests.blender.gizmos.grabbed import GRABBED
from tests.blender.interface import drawn as ui
from tests.blender.setups import rigs, tree_rigs
from tests.blender.setups.selecting import press, select_objects

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
