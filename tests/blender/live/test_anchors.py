"""Anchors: muted constraints that keep hidden targets evaluated."""

import bpy
import pytest

from tests.blender.live.test_view_layers import hide_in_renders, hide_in_viewports
from tests.blender.setups import rigs
from tests.blender.setups.selecting import select_objects


def list_anchors(ob: bpy.types.Object) -> list[tuple[str, bpy.types.Object | None]]:
    """Return bone and target of all constraints of the bones: this rig has only anchors."""
    bpy.context.view_layer.update()
    return [(bone.name, anchor.target) for bone in ob.pose.bones for anchor in bone.constraints]


def test_anchors_are_there_where_something_is_hidden_follow_the_settings_and_move_no_bone():
    ob, target = rigs.make_arm()
    assert list_anchors(ob) == []
    for hide in (hide_in_viewports, hide_in_renders):
        hide(target)
        assert list_anchors(ob) == [("Bone.0", target)]
        assert all(one.mute or one.influence == 0.0 for one in ob.pose.bones["Bone.0"].constraints)
        target.hide_viewport = target.hide_render = False
        assert list_anchors(ob) == []
    hide_in_renders(target)
    chain = ob.chain_ik.chains[0]
    # The anchor of two chains with one bone and target stays when one chain loses its target.
    second = rigs.add_chain(ob, "Bone.1", target, mute=True)
    second.target = None
    assert list_anchors(ob) == [("Bone.0", target)]
    other = rigs.make_empty("Other")
    hide_in_viewports(other)
    chain.target = other
    assert list_anchors(ob) == [("Bone.0", other)]
    chain.chain_count = 1
    assert list_anchors(ob) == [("Bone.1", other)]
    chain.chain_count = 0
    chain.pole_target = target
    assert sorted(empty.name for _, empty in list_anchors(ob)) == ["Other", "Rig Target"]
    chain.pole_target = chain.target = None
    assert list_anchors(ob) == []
    # Constraints of the user stay.
    copy = ob.pose.bones["Bone.1"].constraints.new("COPY_LOCATION")
    copy.target, copy.mute, chain.bone, chain.target = target, True, "Bone.1", target
    chain.target = None
    assert list_anchors(ob) == [("Bone.1", target)]
    ob.pose.bones["Bone.1"].constraints.remove(copy)
    # Anchors disappear with the chain or its target.
    chain.target = other
    assert list_anchors(ob) == [("Bone.0", other)]
    bpy.data.objects.remove(other)
    assert list_anchors(ob) == []
    chain.target = target
    assert list_anchors(ob) == [("Bone.0", target)]
    # Blender does not notice this change of a script; the next change of the rig shows it.
    ob.chain_ik.chains.clear()
    ob.update_tag()
    assert list_anchors(ob) == []


@pytest.mark.parametrize("how", ["joined", "separated", "hidden"])
def test_a_target_that_lost_its_bone_is_named_and_blender_reports_no_relation_again(how, capfd):
    ob, prop = rigs.make_rig(), rigs.make_armature("Prop")
    for name in ("Grip", "Blade"):
        rigs.add_bones(prop, [(0.6, 0.5, 1.2), (0.6, 0.5, 1.4)], names=[name])
    chain = rigs.add_chain(ob, "Bone.1", prop, subtarget="Grip")
    if how == "hidden":
        hide_in_renders(prop)
        assert list_anchors(ob) == [("Bone.0", prop)]
        rigs.delete_bones(prop, "Grip")
    elif how == "joined":
        select_objects(ob, prop, active=ob)
        bpy.ops.object.join()
    else:
        with rigs.editing(prop) as bones:
            for bone in bones:
                bone.select = bone.select_head = bone.select_tail = bone.name == "Grip"
            bpy.ops.armature.separate()
    rigs.updated()
    # An edit that deletes the bone of an anchor is reported before the anchor can change.
    if how == "hidden":
        capfd.readouterr()
    rigs.make_empty("Rebuilds the relations")
    rigs.updated()
    assert list_anchors(ob) == ([("Bone.0", prop)] if how == "hidden" else [])
    gone = "The target 'Prop' is no longer in the scene: choose another target."
    no_bone = "The target bone 'Grip' no longer exists: choose another."
    assert chain.status == (gone if how == "joined" else no_bone)
    assert "Failed to add relation" not in "".join(capfd.readouterr())
