"""The sidebar and the tab of a bone: settings and actions that apply to the active chain."""

import bpy
import numpy as np
import pytest

from blender_ik_addon.panels.sidebar import status
from tests.blender.interface.drawn import (
    RecordingLayout,
    draw,
    draw_details,
    draw_panel,
    draw_row,
    make_active_arm,
    names,
)
from tests.blender.setups import jointed_rigs, rigs
from tests.blender.setups.selecting import select_objects


def test_without_chains_there_are_buttons_and_without_an_armature_what_to_select():
    for active in (None, rigs.make_empty()):
        select_objects(active=active)
        assert [(item.kind, item.name) for item in draw()] == [
            ("label", "Select an armature or a target")
        ]
    select_objects(active=rigs.make_rig())
    drawn = draw()
    assert names(drawn) == {"use_live"}
    assert names(drawn, "list") == {"chains"}
    actions = ["add", "remove", "mirror", "solve", "body", "convert", "compare", "store", "restore"]
    buttons = [item.name for item in drawn if item.kind == "operator"]
    assert buttons == [f"pose.chain_ik_{action}" for action in (*actions, "setup", "bake", "plant")]
    assert names(drawn, "menu") == {"VIEW3D_MT_chain_ik_more"}


def test_the_settings_are_those_of_the_active_chain_or_the_chain_that_the_active_control_moves():
    ob, chain = make_active_arm(solver="TWO_BONE")
    chain.pole_target = rigs.make_empty("Pole", (0, -2, 1))
    for control in (chain.target, chain.pole_target):
        select_objects(active=control)
        assert {"bone", "target", "solver"} <= names(draw())
        assert chain.status in names(draw(only="Status"), "label")
    select_objects(active=ob)
    for mode in ("OBJECT", "POSE"):
        rigs.enter(ob, mode)
        drawn = draw()
        assert {"bone", "target", "solver"} <= names(drawn)
        # Without selected bones the operator would end in an error; scripts can name a bone.
        enabled = {item.name: item.is_enabled for item in drawn if item.kind == "operator"}
        assert enabled["pose.chain_ik_solve"] == (mode == "POSE")
        assert enabled["pose.chain_ik_bake"]
    rigs.add_chain(ob, "Missing", None, solver="CCD")
    rigs.updated()
    for ob.chain_ik.active_index in (0, 1):
        assert ("iterations" in names(draw())) == (ob.chain_ik.active_index == 1)
    for ob.chain_ik.active_index in (-1, 5):
        assert names(draw()) == {"use_live"}


def test_settings_are_shown_only_with_the_settings_that_they_need():
    ob, chain = make_active_arm(solver="NEWTON")
    assert "pole_angle" not in names(draw())
    for target in ("target", "pole_target"):
        bone = f"{target.removesuffix('target')}subtarget"
        for other, is_shown in ((rigs.make_empty(), False), (rigs.make_rig(name="Rig"), True)):
            select_objects(active=ob)
            setattr(chain, target, other)
            assert (bone in names(draw())) == is_shown
    # With a pole, a bend has an angle. If it follows the body, it has a lean instead of the pole.
    assert {"pole_angle"} == names(draw()) & {"pole_angle", "pole_lean"}
    chain.pole_mode = "FOLLOW"
    assert {"pole_angle", "pole_lean"} == names(draw()) & {"pole_angle", "pole_lean", "pole_target"}
    for chain.use_rotation in (False, True):
        (weight,) = (item for item in draw() if item.name == "orient_weight")
        assert weight.is_active == chain.use_rotation


RANGES = {axis: {f"use_limit_{axis}", f"min_{axis}", f"max_{axis}"} for axis in "xyz"}
STIFF = {axis: {f"stiffness_{axis}"} for axis in "xyz"}
FIELDS = {
    "BALL": RANGES["x"] | RANGES["y"] | RANGES["z"] | STIFF["x"] | STIFF["y"] | STIFF["z"],
    "CONE": {"cone_angle"} | RANGES["y"] | STIFF["x"] | STIFF["y"] | STIFF["z"],
    "HINGE_X": RANGES["x"] | STIFF["x"],
    "HINGE_Y": RANGES["y"] | STIFF["y"],
    "HINGE_Z": RANGES["z"] | STIFF["z"],
    "ELBOW_X": RANGES["x"] | RANGES["y"] | STIFF["x"] | STIFF["y"],
    "ELBOW_Z": RANGES["z"] | RANGES["y"] | STIFF["z"] | STIFF["y"],
    "SWING": RANGES["x"] | RANGES["z"] | STIFF["x"] | STIFF["z"],
    "FIXED": set(),
}


def test_a_joint_shows_the_fields_that_count_for_its_kind_grey_where_limits_do_not_count():
    _, chain = make_active_arm()
    assert names(draw(only="Limits")) == {"use_limits"}
    joint = chain.joints.add()
    joint.bone = "Bone.1"
    common = {"use_limits", "bone", "kind", "relative_to", "use_slide", "slide_min", "slide_max"}
    for joint.kind, fields in FIELDS.items():
        assert names(draw(only="Limits")) == common | fields
    row = RecordingLayout()
    bpy.types.CHAINIK_UL_joints.draw_item(None, bpy.context, row, None, joint, 0, None, "", 0)
    assert [item.name for item in row.drawn] == ["Bone.1", "kind"]
    joint.kind = "BALL"
    active = {item.name for item in draw(only="Limits") if item.is_active}
    assert {"kind", "use_limit_x"} <= active
    assert active.isdisjoint({"min_x", "slide_min"}), "no range without its tick"
    chain.use_limits = False
    assert {item.name for item in draw(only="Limits") if item.is_active} == {"use_limits"}
    chain.joints.add().bone = "Gone"
    for chain.active_joint_index in (-1, 0, 1, 2):
        for chain.bone in ("Bone.1", "Gone"):
            assert "chains" in names(draw(), "list")


def test_limits_tell_how_many_bones_use_their_own():
    ob, chain = make_active_arm()
    first, second = (ob.pose.bones[f"Bone.{i}"] for i in range(2))
    assert not names(draw(only="Limits"), "label")
    first.use_ik_limit_x = True
    assert names(draw(only="Limits"), "label") == {"1 bone uses its own IK limits"}
    second.lock_ik_y = True
    assert names(draw(only="Limits"), "label") == {"2 bones use their own IK limits"}
    joint = chain.joints.add()
    joint.bone = first.name
    assert names(draw(only="Limits"), "label") == {"1 bone uses its own IK limits"}
    # With CHILD, the joint holds the second bone.
    joint.relative_to = "CHILD"
    second.lock_ik_y, second.ik_stiffness_z = False, 0.5
    assert names(draw(only="Limits"), "label") == {"1 bone uses its own IK limits"}
    first.use_ik_limit_x = False
    assert not names(draw(only="Limits"), "label")


def test_negative_scale_is_shown_only_where_it_counts_or_was_set():
    ob, chain = make_active_arm()
    parent = rigs.make_empty("Parent")
    ob.parent = parent
    for axes, is_shown in (("", False), ("x", True), ("xy", False), ("xyz", True)):
        rigs.change(parent, scale=[-1.0 if axis in axes else 1.0 for axis in "xyz"])
        assert ("negative_scale" in names(draw(only="Advanced"))) == is_shown
    parent.scale = (1.0, 1.0, 1.0)
    rigs.change(chain, negative_scale="KEEP")
    assert "negative_scale" in names(draw(only="Advanced"))


@pytest.mark.parametrize(
    ("icon", "cause"),
    [
        ("CON_KINEMATIC", lambda chain: None),
        ("CON_KINEMATIC", lambda chain: setattr(chain, "soft_distance", 1.0)),
        (
            "CON_ROTLIMIT",
            lambda chain: jointed_rigs.add_joint(chain, "Bone.1", "HINGE_X", x=(-3, 3)),
        ),
        ("DRIVER_DISTANCE", lambda chain: setattr(chain.target, "location", (0.0, 0.0, 9.0))),
        ("ERROR", lambda chain: setattr(chain, "target", None)),
        ("ERROR", lambda chain: (setattr(chain, "stored_pose", "{"), setattr(chain, "mute", True))),
        ("PAUSE", lambda chain: setattr(chain, "mute", True)),
        ("PAUSE", lambda chain: setattr(chain, "influence", 0.0)),
        ("PAUSE", lambda chain: setattr(bpy.context.scene.chain_ik, "use_live", False)),
        ("PAUSE", lambda chain: setattr(chain.id_data.data, "pose_position", "REST")),
    ],
)
def test_the_icon_of_a_row_tells_whether_the_chain_is_held_out_of_reach_broken_or_muted(
    icon, cause
):
    _, chain = make_active_arm()
    cause(chain)
    rigs.updated()
    assert draw_row(chain)[0].icon == icon, chain.status


def test_a_tip_that_constraints_move_off_its_target_is_shown_as_held_with_its_residual():
    ob, chain = make_active_arm()
    rigs.change(ob.pose.bones["Bone.1"].constraints.new("COPY_ROTATION"), target=chain.target)
    gap = np.linalg.norm(rigs.tail(ob, "Bone.1") - rigs.position(chain.target))
    assert draw_row(chain)[0].icon == "CON_ROTLIMIT"
    assert chain.residual == pytest.approx(gap, rel=1e-4)
    # Until the next update the status is that of the last solve, even if the chain changes.
    ob.chain_ik.body.root, ob.chain_ik.body.use_body = "Bone.1", True
    assert chain.status.startswith("Reached")
    rigs.updated()
    assert "begins above bone 'Bone.1'" in chain.status


def test_the_status_is_one_line_with_the_icon_of_the_list_and_details_has_it_in_lines_that_fit():
    _, chain = make_active_arm()
    for count in (0, 1, 2):
        if count:
            chain.joints.add().bone = f"A bone of another chain.{count}"
        rigs.updated()
        _, line = [item for item in draw(only="Status") if item.kind == "label"]
        assert (line.name, line.icon) == (chain.status, draw_row(chain)[0].icon)
        lines = [item.name for item in draw_details() if item.kind == "label"]
        assert " ".join(lines) == chain.status
        assert all(0 < len(line) <= 60 for line in lines)
    assert len(lines) > 1


def test_a_status_that_is_cut_off_ends_with_the_distance_that_is_left(monkeypatch):
    _, chain = make_active_arm()
    jointed_rigs.add_joint(chain, "Bone.1", "HINGE_X", x=(-3, 3))
    rigs.updated()
    assert chain.status == "Held back by the limits of Bone.1 X, 0.56 m left"
    for pixels, shown in (
        (240.0, "Held back by the ... 0.56 m"),
        (120.0, "Held back ... 0.56 m"),
        (1000.0, chain.status),
    ):
        monkeypatch.setattr(status, "sidebar_width", lambda _context, width=pixels: width)
        _, line = [item for item in draw(only="Status") if item.kind == "label"]
        assert line.name == shown
    monkeypatch.setattr(status, "sidebar_width", lambda _context: 240.0)
    # A status without a distance is only cut off.
    rigs.change(chain, target=None)
    _, line = [item for item in draw(only="Status") if item.kind == "label"]
    assert line.name.endswith(" ...")


def test_a_muted_chain_is_greyed_out_and_its_row_is_not():
    _, chain = make_active_arm()
    needs_more = {"orient_weight", "rotation_bone", "use_twist_spread", "use_keep_volume"}
    assert all(item.is_active for item in draw() if item.name not in needs_more)
    rigs.change(chain, mute=True)
    assert "Muted" in names(draw(only="Status"), "label")
    joint_items = names(draw(only="Limits"), "operator") | {"joints", "pose.chain_ik_pole_add"}
    for item in draw():
        is_setting = item.kind in ("prop", "label") and item.name not in (
            "use_live",
            "space",
            "root",
        )
        assert item.is_active == (not is_setting and item.name not in joint_items)
    # All buttons stay active, for both directions of the switch.
    for chain.mute in (False, True):
        drawn = draw(only="FK")
        buttons = [f"pose.chain_ik_{action}" for action in ("switch", "snap_target", "apply")]
        buttons += ["space", "pose.chain_ik_switch_space"]
        assert [item.name for item in drawn] == ["influence", "planted", *buttons]
        active = [item.is_active for item in drawn]
        assert active == [not chain.mute] * 2 + [True] * 5


@pytest.mark.parametrize("name", ["spine.003", "neck", "tail.002"])
def test_chains_that_cannot_stand_are_not_offered_for_planting(name):
    ob, chain = make_active_arm()
    assert "planted" in names(draw(only="FK"))
    assert "pose.chain_ik_plant" in names(draw(), "operator")
    ob.data.bones["Bone.1"].name = chain.bone = name
    rigs.updated()
    assert "planted" not in names(draw(only="FK"))
    assert "influence" in names(draw(only="FK"))
    assert "pose.chain_ik_plant" not in names(draw(), "operator")
    # The button is for all chains of the armature, so a leg is enough to show it.
    rigs.add_bones(ob, [(2, 0, 0), (2, -0.1, 1), (2, 0, 2)], prefix="Leg")
    rigs.add_chain(ob, "Leg.1", rigs.make_empty("Foot", (2, 0.3, 1.6)))
    rigs.updated()
    assert "planted" not in names(draw(only="FK"))
    assert "pose.chain_ik_plant" in names(draw(), "operator")


def test_force_settings_are_shown_only_for_the_force_solver_and_a_creature_by_its_name():
    _, chain = make_active_arm()
    assert "gravity" not in names(draw())
    assert not chain.is_property_set("force")
    chain.solver = "FORCE"
    drawn = draw(only="Force") + draw(only="Creature")
    settings = {prop.identifier for prop in chain.force.bl_rna.properties}
    assert names(drawn) == settings - {"rna_type", "name", "creature"}
    assert names(drawn, "operator") == {f"pose.chain_ik_creature_{do}" for do in ("load", "save")}
    active = {item.name: item.is_active for item in drawn}
    assert (active["stiffness_root"], active["ease"]) == (True, False)
    assert names(draw(only="Creature"), "label") == {"None"}
    assert bpy.ops.pose.chain_ik_creature_load(creature="SNAKE") == {"FINISHED"}
    assert names(draw(only="Creature"), "label") == {"Snake"}
    chain.force.use_gradual, chain.force.creature = True, "{"
    assert names(draw(only="Creature"), "label") == {"Not readable"}
    active = {item.name: item.is_active for item in draw(only="Force")}
    assert (active["stiffness_root"], active["ease"]) == (False, True)


SLIDES = {"use_slide", "slide_min", "slide_max"}


@pytest.fixture
def arm() -> bpy.types.Object:
    """An active armature of three bones in pose mode, with a chain on the first two."""
    ob = rigs.make_rig(((0, 0, 0), (0.2, -0.5, 1), (0, 0, 2), (0.1, 0.3, 2.5)))
    rigs.add_chain(ob, "Bone.1", rigs.make_empty(), solver="NEWTON")
    select_objects(active=ob)
    rigs.enter(ob, "POSE")
    rigs.updated()
    return ob


def draw_bone_tab(ob: bpy.types.Object, bone: str) -> list:
    ob.data.bones.active = ob.data.bones[bone]
    with bpy.context.temp_override(object=ob, active_object=ob, bone=ob.data.bones[bone]):
        return draw_panel(bpy.types.BONE_PT_chain_ik)


def test_a_bone_that_no_chain_drives_has_no_panel_and_one_without_a_joint_offers_one(arm):
    drawn = draw_bone_tab(arm, "Bone.0")
    labels = [item.name for item in drawn if item.kind == "label"]
    assert labels == ["Chain", "Uses the locks and limits above"]
    assert names(drawn, "operator") == {"pose.chain_ik_joint_add"}
    assert not names(drawn)
    assert not draw_bone_tab(arm, "Bone.2")
    arm.chain_ik.chains.remove(0)
    assert not draw_bone_tab(arm, "Bone.0")
    # A pinned bone of an armature that is not active has no panel either.
    other = rigs.make_rig(name="Other")
    with bpy.context.temp_override(object=arm, active_object=other, bone=arm.data.bones["Bone.0"]):
        assert not draw_panel(bpy.types.BONE_PT_chain_ik)


def test_the_joint_of_a_bone_has_the_fields_that_count_and_is_shown_with_the_one_it_holds(arm):
    chain = arm.chain_ik.chains[0]
    joint = chain.joints.add()
    joint.bone = "Bone.0"
    for joint.kind, fields in FIELDS.items():
        drawn = draw_bone_tab(arm, "Bone.0")
        assert names(drawn) == {"kind", "relative_to"} | SLIDES | fields
    assert not names(drawn, "operator")
    assert not names(draw_bone_tab(arm, "Bone.1"))
    joint.kind, joint.relative_to = "BALL", "CHILD"
    drawn = draw_bone_tab(arm, "Bone.1")
    assert "Limited by the joint of Bone.0" in names(drawn, "label")
    assert "min_x" in names(drawn)
    assert names(drawn, "operator") == {"pose.chain_ik_joint_add"}
    active = {item.name: item.is_active for item in draw_bone_tab(arm, "Bone.0")}
    assert (active["kind"], active["use_limit_x"], active["min_x"]) == (True, True, False)
    chain.use_limits = False
    drawn = draw_bone_tab(arm, "Bone.0")
    assert not any(item.is_active for item in drawn if item.kind == "prop")
    assert "Limits are off in this chain" in names(drawn, "label")
    chain.use_limits, chain.mute = True, True
    assert not any(item.is_active for item in draw_bone_tab(arm, "Bone.0"))
    chain.solver = "FOLLOW"
    shown = names(draw_bone_tab(arm, "Bone.0"))
    assert "min_x" in shown
    assert shown.isdisjoint(SLIDES | {"stiffness_x"})


def test_a_bone_of_two_chains_shows_the_active_one_first_and_each_button_adds_to_its_chain(arm):
    rigs.add_chain(arm, "Bone.2", rigs.make_empty("Far"), solver="NEWTON", name="Whole")
    for arm.chain_ik.active_index, expected in ((1, ["Whole", "Chain"]), (0, ["Chain", "Whole"])):
        labels = [item.name for item in draw_bone_tab(arm, "Bone.0") if item.kind == "label"]
        assert [text for text in labels if text in expected] == expected
    arm.data.bones.active = arm.data.bones["Bone.0"]
    bone = arm.pose.bones["Bone.0"]
    bone.use_ik_limit_x, bone.ik_max_x = True, 0.5
    chains = arm.chain_ik.chains
    with pytest.raises(RuntimeError, match="There is no chain 7: choose one from the list"):
        bpy.ops.pose.chain_ik_joint_add(index=7)
    assert not chains[0].joints
    for index, counts in ((1, [0, 1]), (-1, [1, 1])):
        assert bpy.ops.pose.chain_ik_joint_add(index=index) == {"FINISHED"}
        assert [len(chain.joints) for chain in chains] == counts
        (joint,) = chains[max(index, 0)].joints
        assert (joint.bone, joint.use_limit_x, joint.max_x) == ("Bone.0", True, 0.5)
