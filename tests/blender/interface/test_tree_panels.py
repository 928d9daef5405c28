"""The sidebar of chains that share bones: with whom they are one tree, and who lost."""

from __future__ import annotations

from tests.blender.interface.drawn import draw, make_active_arm, names
from tests.blender.setups import rigs, tree_rigs
from tests.blender.setups.selecting import select_objects


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
