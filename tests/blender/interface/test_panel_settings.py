"""The settings in the sidebar: exactly those that the solver uses, in order."""

import bpy
import numpy as np
import pytest

from blender_ik_addon.panels import sidebar
from tests.blender.interface import drawn as ui
from tests.blender.setups import rigs
from tests.blender.setups.selecting import select_objects, state

ALWAYS = {"use_live", "bone", "chain_count", "target", "influence", "use_tail", "solver"}
ROOTED = ALWAYS | {
    *("use_rotation", "rotation_bone", "orient_weight", "use_twist_spread", "pole_mode"),
    *("pole_target", "pole_angle", "use_flip_bend", "negative_scale", "use_limits"),
    *("soft_distance", "use_stretch", "use_keep_volume", "start_from", "planted", "space"),
    "pole_space",
}
ITERATED = ROOTED | {"iterations", "tolerance"}
FORCES = {
    *("stiffness_root", "stiffness_tip", "comfort_root", "comfort_tip", "mass", "gravity"),
    *("force_mode", "force_gain", "use_gradual", "ease", "fastest"),
}
SHOWN = {
    "TWO_BONE": ROOTED,
    "FABRIK": ITERATED | {"use_finish"},
    "CCD": ITERATED | {"use_finish"},
    "NEWTON": ITERATED,
    "FORCE": ITERATED | FORCES,
    "FOLLOW": ALWAYS | {"follow_lead", "use_anchor", "max_bend", "use_limits"},
}
# Texts, lists, and settings that need another target or pole, a tree or a whole body.
UNSEEN = {
    *("rna_type", "stored_pose", "status", "residual", "joints", "active_joint_index", "force"),
    *("subtarget", "pole_subtarget", "pole_lean", "weight", "priority", "use_pin", "pull"),
}
# Values that differ from the defaults.
OTHER_VALUES = {
    "pole_mode": "FOLLOW",
    "pole_angle": 1.0,
    "use_flip_bend": True,
    "negative_scale": "KEEP",
    "use_rotation": True,
    "use_limits": False,
    "soft_distance": 0.3,
    "use_stretch": True,
    "start_from": "REST",
    "iterations": 2,
    "tolerance": 0.3,
    "use_finish": False,
    "follow_lead": "ROOT",
    "use_anchor": True,
    "max_bend": 0.2,
}


def pose_twice(solver: str, *changed: str) -> np.ndarray:
    """Return the poses of a limb at two targets, with the named settings at other values."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    joints = ((0, 0, 0), (0.2, -0.5, 1), (0, 0, 2), (0.1, 0.3, 2.5))
    count = 2 if solver == "TWO_BONE" else 3
    ob = rigs.make_rig(joints[: count + 1])
    ob.scale.x = -1.0
    rigs.turn_bones(ob)
    rigs.set_each(ob.pose.bones, ik_stretch=0.5)
    target, pole = rigs.make_empty(), rigs.make_empty("Pole", (2, -2, 1))
    target.rotation_euler = (0.4, 0.5, 0.6)
    chain = rigs.add_chain(ob, f"Bone.{count - 1}", target, solver=solver, pole_angle=0.3)
    chain.pole_target = pole
    for name in changed:
        setattr(chain, name, OTHER_VALUES[name])
    poses = []
    for place in ((1.4, 0.9, 1.8), (1.7, 1.2, 2.0)):
        target.location = place
        poses.append(rigs.pose(ob, rigs.updated()))
    return np.array(poses)


@pytest.mark.parametrize("solver", SHOWN)
def test_settings_that_are_not_shown_change_nothing(solver):
    changed = pose_twice(solver, *sorted(OTHER_VALUES.keys() - SHOWN[solver]))
    np.testing.assert_allclose(changed, pose_twice(solver), atol=1e-6)


FIRST = ["Status", "FK/IK", "Target", "Pole", "Rotation", "Solver"]
LATER = ["Limits", "Stretch and Softness", "Advanced", "Whole Body"]
# Identifiers of the settings in the panels, in order of display.
CONTENTS = {
    "FK/IK": ["influence", "planted", "space", "pole_space"],
    "Target": ["target", "bone", "chain_count"],
    "Pole": ["pole_mode", "pole_target", "pole_angle", "use_flip_bend"],
    "Rotation": ["use_rotation", "rotation_bone", "orient_weight", "use_twist_spread"],
    "Solver": ["solver", "follow_lead", "use_anchor", "max_bend"],
    "Limits": ["use_limits"],
    "Stretch and Softness": ["soft_distance", "use_stretch", "use_keep_volume"],
    "Advanced": [
        *("tolerance", "iterations", "use_finish", "start_from", "use_tail", "negative_scale")
    ],
}
STATUSES = ("reached", "muted", "out of reach", "no bone", "no live", "a nan")


def panels_in_order() -> list[type]:
    """Return the panels in the order of registration, which is their order in the sidebar."""
    classes = [
        value
        for module in sidebar.PANELS
        for name, value in vars(getattr(sidebar, module)).items()
        if name.startswith(ui.ROOT_PANEL) and getattr(value, "bl_parent_id", "")
    ]
    assert set(classes) == set(ui.panels()[1:])
    assert not any(hasattr(panel, "bl_order") and panel.bl_order for panel in classes)
    assert {(cls.bl_region_type, cls.bl_category) for cls in ui.panels()} == {("UI", "Chain IK")}
    return classes


@pytest.mark.parametrize("solver", SHOWN)
def test_the_settings_of_a_solver_are_shown_in_order_and_no_others(solver):
    ob, chain = ui.make_active_arm(solver=solver)
    assert SHOWN.keys() == set(chain.bl_rna.properties["solver"].enum_items.keys())
    chain.pole_target = rigs.make_empty("Pole", (0, -2, 1))
    chain.negative_scale = "KEEP"
    select_objects(active=ob)
    labels = [panel.bl_label for panel in panels_in_order() if panel.poll(bpy.context)]
    force = ["Force", "Creature"] if solver == "FORCE" else []
    follow = ["Status", "FK/IK", "Target", "Solver", "Limits", *LATER[-2:]]
    assert labels == (follow if solver == "FOLLOW" else FIRST + force + LATER)
    for label, expected in CONTENTS.items():
        shown = [item.name for item in ui.draw(only=label) if item.kind == "prop"]
        assert shown == [name for name in expected if name in SHOWN[solver]]
    drawn = ui.draw()
    # The root belongs to the whole body, and is drawn with every solver.
    assert ui.names(drawn) - {"root"} == SHOWN[solver]
    settings = [item.name for item in ui.draw_row(chain) + drawn if item.kind == "prop"]
    assert len(settings) == len(set(settings)), "drawn twice"
    elsewhere = set(chain.bl_rna.properties.keys()) - set.union(*SHOWN.values())
    assert elsewhere - set(settings) == UNSEEN
    assert "joints" in ui.names(drawn, "list")
    assert "pose.chain_ik_joint_add" in ui.names(drawn, "operator")


@pytest.mark.parametrize("solver", ["NEWTON", "FORCE", "FOLLOW"])
def test_drawing_changes_nothing_and_moves_nothing_whatever_the_status_and_mode(solver):
    ob, chain = ui.make_active_arm(solver=solver)
    calls, statuses, drawn_by_mode = [], set(), {}
    long = "A bone with a very long name that nobody would ever give to a bone"

    def note(*_arguments: object) -> None:
        calls.append(1)

    for case in STATUSES:
        rigs.enter(ob, "OBJECT")
        chain.target.location = (0.0, 0.0, 9.0) if case == "out of reach" else (0.6, 0.5, 1.2)
        chain.mute, chain.bone = case == "muted", long if case == "no bone" else "Bone.1"
        chain.pole_angle = float("nan") if case == "a nan" else 0.0
        rigs.change(bpy.context.scene.chain_ik, use_live=case != "no live")
        statuses.add(chain.status)
        for mode in ("OBJECT", "POSE", "EDIT"):
            rigs.enter(ob, mode)
            rigs.updated()
            before = state()
            bpy.app.handlers.depsgraph_update_post.append(note)
            # Compare kinds and names in order, but not the texts of labels.
            drawn = [(item.kind, item.kind == "label" or item.name) for item in ui.draw()]
            bpy.context.view_layer.update()
            bpy.app.handlers.depsgraph_update_post.remove(note)
            assert drawn_by_mode.setdefault(mode, drawn) == drawn, case
            assert state() == before
    assert calls == []
    assert len(statuses) >= len(STATUSES) - (solver == "FOLLOW")


def test_fields_are_split_into_label_and_value_so_that_keyable_properties_have_their_dot():
    _, chain = ui.make_active_arm(solver="FORCE")
    chain.joints.add().bone = "Bone.1"
    chain.pole_target = rigs.make_empty("Pole", (0, -2, 1))
    select_objects(active=chain.id_data)
    can_be_keyed = set()
    for panel in ui.panels():
        for item in ui.draw_panel(panel):
            if item.kind == "prop" and item.is_animatable:
                can_be_keyed.add(item.name)
                assert item.is_split, item.name
                # Blender draws no dot for a field without a label.
                assert item.text, item.name
    assert {"influence", "pole_angle", "orient_weight", "soft_distance", "mass"} <= can_be_keyed
