"""The sidebar of a whole body: its settings, the pins in the list, and those of each chain."""

from __future__ import annotations

import bpy
import pytest

from tests.blender.interface.drawn import FakePanel, RecordingLayout, draw, make_active_arm, names
from tests.blender.setups import rigs
from tests.blender.setups.selecting import press, select_objects

OF_CHAINS = {"priority", "use_pin", "pull"}


def make_body() -> bpy.types.Object:
    ob, _ = make_active_arm(solver="NEWTON")
    select_objects(active=ob)
    ob.chain_ik.body.root = "Bone.0"
    press(bpy.ops.pose.chain_ik_body)
    return ob


def row_of(chain: bpy.types.PropertyGroup) -> list:
    """Return what the row of a chain in the list shows."""
    row = RecordingLayout()
    bpy.types.CHAINIK_UL_chains.draw_item(None, bpy.context, row, None, chain, 0, None, "", 0)
    return row.drawn


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
    assert OF_CHAINS.isdisjoint(names(draw()))
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


@pytest.mark.parametrize("use_pin", [False, True])
def test_chains_of_a_body_have_a_priority_a_pull_and_a_pin_in_the_list_as_well(use_pin):
    ob = make_body()
    chain = ob.chain_ik.chains[0]
    chain.use_pin = use_pin
    assert names(draw(only="Target")) >= OF_CHAINS
    _, pin, mute = row_of(chain)
    assert (pin.name, pin.icon) == ("use_pin", "PINNED" if use_pin else "UNPINNED")
    assert mute.name == "mute"
