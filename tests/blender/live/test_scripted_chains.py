"""Chains that scripts add and change without an update between the steps."""

import bpy
import pytest

from blender_ik_addon.properties import records
from tests.blender.setups import rigs
from tests.blender.setups.selecting import anchors
from tests.helpers import record_calls

COUNT = 6


def test_a_script_that_adds_chains_reads_the_targets_of_none_but_the_changed_one(monkeypatch):
    ob = rigs.make_armature()
    places = [(2.0 * number, 0.0, 0.0) for number in range(COUNT)]
    for number, place in enumerate(places):
        joints = [[a + b for a, b in zip(joint, place, strict=True)] for joint in rigs.ARM]
        rigs.add_bones(ob, joints, prefix=f"Arm {number}")
    empties = [rigs.make_empty(f"Empty {x}", (x + 0.6, 0.5, 1.2)) for x, _, _ in places]
    rigs.updated()
    reads = record_calls(monkeypatch, records, "target_and_pole")
    for number, empty in enumerate(empties):
        chain = ob.chain_ik.chains.add()
        chain.bone, chain.chain_count, chain.target = f"Arm {number}.1", 2, empty
    # One for each setting.
    assert len(reads) == 3 * COUNT
    depsgraph = rigs.updated()
    for number, empty in enumerate(empties):
        rigs.assert_reaches(ob, f"Arm {number}.1", empty, depsgraph)


@pytest.mark.parametrize("is_live", [True, False])
def test_a_hidden_target_has_its_anchor_at_once_and_loses_it_in_the_update_after(is_live):
    ob, target = rigs.make_arm()
    rigs.updated()
    chain, hidden = ob.chain_ik.chains[0], rigs.make_empty("Hidden")
    hidden.hide_render = True
    bpy.context.scene.chain_ik.use_live = is_live
    rigs.updated()
    assert anchors(ob) == []
    for role in ("target", "pole_target"):
        former = getattr(chain, role)
        setattr(chain, role, hidden)
        # Blender evaluates the target in a render that follows immediately.
        assert len(anchors(ob)) == 1
        if not is_live:
            # Blender has handled the new constraint before chains are live again.
            rigs.updated()
        # The object that the last update has seen.
        setattr(chain, role, former)
        bpy.context.scene.chain_ik.use_live = True
        rigs.updated()
        assert anchors(ob) == []
        bpy.context.scene.chain_ik.use_live = is_live
    rigs.assert_reaches(ob, "Bone.1", target, rigs.updated())
