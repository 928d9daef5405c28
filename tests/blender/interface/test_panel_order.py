"""The tab from the top down: what everybody needs first, and nothing that moves by itself."""

from __future__ import annotations

import bpy
import pytest

from blender_ik_addon.panels import sidebar
from tests.blender.interface.drawn import ROOT_PANEL, draw, draw_panel, make_active_arm, panels
from tests.blender.interface.test_panel_settings import SHOWN
from tests.blender.setups import rigs
from tests.blender.setups.selecting import select_objects, state

FIRST = ["Status", "FK/IK", "Target", "Pole", "Rotation", "Solver"]
LATER = ["Limits", "Stretch and Softness", "Advanced", "Whole Body"]
# The identifiers of what each panel shows, in its order.
CONTENTS = {
    "FK/IK": ["influence", "planted", "space", "pole_space"],
    "Target": ["target", "bone", "chain_count"],
    "Pole": ["pole_mode", "pole_target", "pole_angle", "use_flip_bend"],
    "Rotation": ["use_rotation", "rotation_bone", "orient_weight", "use_twist_spread"],
    "Solver": ["solver", "follow_lead", "use_anchor", "max_bend"],
    "Limits": ["use_limits"],
    "Stretch and Softness": ["soft_distance", "use_stretch", "use_keep_volume"],
    "Advanced": [
        *("tolerance", "iterations", "use_finish", "start_from", "use_tail", "negative_scale"),
    ],
}
STATUSES = ("reached", "muted", "out of reach", "no bone", "no live", "a nan")


def panels_in_order() -> list[type]:
    """Return the panels as Blender places them: as they were registered."""
    classes = [
        value
        for module in sidebar.PANELS
        for name, value in vars(getattr(sidebar, module)).items()
        if name.startswith(ROOT_PANEL) and getattr(value, "bl_parent_id", "")
    ]
    assert set(classes) == set(panels()[1:])
    assert not any(hasattr(panel, "bl_order") and panel.bl_order for panel in classes)
    return classes


def labels_of(solver: str) -> list[str]:
    """Return the titles of the panels that are shown for a solver, from the top down."""
    ob, _ = make_active_arm(solver=solver)
    select_objects(active=ob)
    return [panel.bl_label for panel in panels_in_order() if panel.poll(bpy.context)]


@pytest.mark.parametrize("solver", SHOWN)
def test_what_everybody_needs_comes_first(solver):
    labels = labels_of(solver)
    if solver == "FOLLOW":
        assert labels == ["Status", "FK/IK", "Target", "Solver", "Limits", *LATER[-2:]]
    else:
        force = ["Force", "Creature"] if solver == "FORCE" else []
        assert labels == FIRST + force + LATER


@pytest.mark.parametrize("solver", SHOWN)
@pytest.mark.parametrize("label", CONTENTS)
def test_a_panel_shows_its_settings_that_the_solver_uses_in_its_order(label, solver):
    ob, chain = make_active_arm(solver=solver)
    chain.pole_target = rigs.make_empty("Pole", (0, -2, 1))
    chain.negative_scale = "KEEP"
    select_objects(active=ob)
    shown = [item.name for item in draw(only=label) if item.kind == "prop"]
    assert shown == [name for name in CONTENTS[label] if name in SHOWN[solver]]


def bring_about(what: str, chain: bpy.types.PropertyGroup) -> None:
    """Have a chain say one of ``STATUSES``."""
    if what == "muted":
        chain.mute = True
    elif what == "out of reach":
        chain.target.location = (0.0, 0.0, 9.0)
    elif what == "no bone":
        chain.bone = "A bone with a very long name that nobody would ever give to a bone"
    elif what == "no live":
        bpy.context.scene.chain_ik.use_live = False
    elif what == "a nan":
        chain.pole_angle = float("nan")
    rigs.updated()


def places(drawn: list) -> list[tuple[str, str]]:
    """Return what is drawn one below the other, without what labels say."""
    return [(item.kind, "" if item.kind == "label" else item.name) for item in drawn]


def test_nothing_jumps_whatever_the_status_says():
    _, chain = make_active_arm(solver="NEWTON")
    rigs.updated()
    before, said = places(draw()), {chain.status}
    for what in STATUSES[1:]:
        bpy.context.scene.chain_ik.use_live, chain.mute, chain.pole_angle = True, False, 0.0
        chain.bone = "Bone.1"
        bring_about(what, chain)
        said.add(chain.status)
        assert places(draw()) == before, what
    assert len(said) == len(STATUSES)


@pytest.mark.parametrize("mode", ["OBJECT", "POSE", "EDIT"])
@pytest.mark.parametrize("what", STATUSES)
@pytest.mark.parametrize("solver", SHOWN)
def test_drawing_succeeds_whatever_the_solver_status_and_mode_and_changes_nothing(
    solver, what, mode
):
    ob, chain = make_active_arm(solver=solver)
    chain.joints.add().bone = "Bone.1"
    chain.joints.add().bone = "Gone"
    bring_about(what, chain)
    rigs.enter(ob, mode)
    before = state()
    for index in (-1, 0, 1, 2):
        chain.active_joint_index = index
        drawn = draw()
        assert {"Chain", "chains"} & {item.name for item in drawn}
    chain.active_joint_index = 0
    assert state() == before


def test_fields_are_split_into_label_and_value_so_that_what_can_be_keyed_has_its_dot():
    _, chain = make_active_arm(solver="FORCE")
    chain.joints.add().bone = "Bone.1"
    chain.pole_target = rigs.make_empty("Pole", (0, -2, 1))
    select_objects(active=chain.id_data)
    can_be_keyed = set()
    for panel in panels():
        for item in draw_panel(panel):
            if item.kind == "prop" and item.is_animatable:
                can_be_keyed.add(item.name)
                assert item.is_split, item.name
                # A field without a label of its own has no dot either.
                assert item.text, item.name
    assert {"influence", "pole_angle", "orient_weight", "soft_distance", "mass"} <= can_be_keyed
