"""Bones that two chains drive of which only one moves locations."""

from __future__ import annotations

from tests.blender.setups import rigs


def test_a_refused_chain_that_comes_to_share_a_dragged_root_leaves_it_where_it_is():
    ob = rigs.make_rig(rigs.zigzag(3))
    rigs.add_chain(ob, "Bone.1", rigs.make_empty(location=(2, 1, 2)), solver="FOLLOW")
    other = rigs.add_chain(ob, "Bone.2", rigs.make_empty(location=(-1, 2, 1)))
    rigs.updated()
    assert "already belongs to chain" in other.status
    other.bone = "Bone.1"
    rigs.updated()
    before = rigs.pose(ob)
    assert ob.pose.bones["Bone.0"].location.length > 0.1
    for _ in range(2):
        ob.update_tag()
        rigs.updated()
        rigs.assert_same_pose(ob, before, 1e-6)
