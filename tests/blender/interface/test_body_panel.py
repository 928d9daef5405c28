"""The sidebar of a whole body: its settings, the pins in the list, and those of each chain."""

from __future__ import annotations

import bpy

from tests.blender.interface.drawn import (
    FakePanel,
    RecordingLayout,
    draw,
    make_active_arm,
    names,
    row_of,
)
from tests.blender.setups import rigs
from tests.blender.setups.selecting import press, select_objects


def make_body() -> bpy.types.Object:
    ob, _ = make_active_arm(solver="NEWTON")
    select_objects(active=ob)
    ob.chain_ik.body.root = "Bone.0"
    press(bpy.ops.pose.chain_ik_body)
    return ob


def header() -> set[str]:
    """Return the settings in the header of the panel."""
    panel, layout = bpy.types.VIEW3D_PT_chain_ik_body, RecordingLayout()
    panel.draw_header(FakePanel(panel, layout), bpy.context)
    return {item.name for item in layout.drawn}


def test_without_a_body_there_are_a_root_and_a_button():
    ob, chain = make_active_arm()
    select_objects(active=ob)
    assert header() == set()
    assert not ob.chain_ik.is_property_set("body"), "a closed panel stores nothing"
    assert [item.name for item in draw(only="Whole Body")] == ["root", "pose.chain_ik_body"]
    assert names(draw()).isdisjoint({"priority", "use_pin", "pull"})
    assert [item.name for item in row_of(chain)] == ["name", "mute"]


def test_a_body_has_a_tick_and_settings_and_says_what_it_writes():
    ob = make_body()
    assert header() == {"use_body"}
    drawn = draw(only="Whole Body")
    assert names(drawn) == {"root", "influence", "floor", "use_body"}
    assert names(drawn, "label") == {"The location of 'Bone.0' is written"}
    assert not names(drawn, "operator")
    ob.chain_ik.body.use_body = False
    rigs.updated()
    assert header() == {"use_body"}
    assert names(draw(only="Whole Body"), "operator") == {"pose.chain_ik_body"}


def test_chains_of_a_body_have_a_priority_a_pull_and_a_pin_in_the_list_as_well():
    chain = make_body().chain_ik.chains[0]
    assert names(draw(only="Target")) >= {"priority", "use_pin", "pull"}
    for chain.use_pin, icon in ((False, "UNPINNED"), (True, "PINNED")):
        _, pin, mute = row_of(chain)
        assert (pin.name, pin.icon) == ("use_pin", icon)
        assert mute.name == "mute"
