"""The sidebar of chains that share bones: with whom they are one tree, and who lost."""

from __future__ import annotations

import pytest

from tests.blender.interface.drawn import draw, make_active_arm, names
from tests.blender.setups import rigs, tree_rigs
from tests.blender.setups.selecting import select_objects

pytestmark = pytest.mark.usefixtures("space_of_trees")


def make_active_tree() -> tree_rigs.Rig:
    rig = tree_rigs.make_y()
    rig.follow()
    select_objects(active=rig.ob)
    return rig


def said() -> list[str]:
    return [item.name for item in draw(only="Shared") if item.kind == "label"]


def test_a_chain_by_itself_shows_no_tree():
    make_active_arm(solver="NEWTON")
    assert not draw(only="Shared")


def test_chains_that_share_bones_say_so_and_show_their_weights():
    rig = make_active_tree()
    assert said() == ["Solved together with Right"]
    assert names(draw(only="Shared")) == {"weight"}
    assert len([item for item in draw(only="Shared") if item.kind == "prop"]) == 2
    rig.chain("Right").mute = True
    rigs.updated()
    assert not draw(only="Shared")


def test_goals_that_lost_are_told_with_what_is_left():
    rig = make_active_tree()
    rig.target("Left").location = (2.0, 0.0, 1.0)
    rig.target("Right").location = (-2.0, 0.0, 1.0)
    rigs.updated()
    gaps = rig.gaps()
    lines = said()
    assert lines[0] == "Solved together with Right"
    assert lines[1:] == [f"{name}: {gaps[name]:.2g} m off" for name in ("Left", "Right")]
    assert rig.chain("Left").status == f"Outweighed by Right: {gaps['Left']:.2g} m off"
