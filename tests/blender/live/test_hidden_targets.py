"""Hidden targets, poles and rigs stay fresh; the anchors that see to it go with the chain."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs
from tests.blender.setups.renders import render_frames

NEAR, FAR = (0.6, 0.5, 1.2), (-0.7, 0.4, 0.8)
FRAMES = (2, 4)


def layer_collection() -> bpy.types.LayerCollection:
    return bpy.context.view_layer.layer_collection.children["Hidden"]


def hide_in_viewports(ob):
    ob.hide_viewport = True


def hide_in_renders(ob):
    ob.hide_render = True


def exclude_and_hide_everywhere(ob):
    ob.hide_viewport = ob.hide_render = True
    layer_collection().exclude = True


HIDDEN = {
    "in viewports": ("target", hide_in_viewports),
    "in renders": ("pole", hide_in_renders),
    "by its eye": ("target bone", lambda ob: ob.hide_set(True)),
    "collection in viewports": (
        "target", lambda _: hide_in_viewports(bpy.data.collections["Hidden"]),
    ),
    "collection in renders": ("pole", lambda _: hide_in_renders(bpy.data.collections["Hidden"])),
    "collection by its eye": ("target bone", lambda _: hide_in_viewports(layer_collection())),
    "excluded": ("target", lambda _: setattr(layer_collection(), "exclude", True)),
    "everywhere": ("target bone", exclude_and_hide_everywhere),
}  # fmt: skip


def make_hidden_collection() -> bpy.types.Collection:
    collection = bpy.data.collections.new("Hidden")
    bpy.context.scene.collection.children.link(collection)
    return collection


def make_arm_with(role: str) -> tuple[bpy.types.Object, bpy.types.Object]:
    """Return a rig, and what it follows as the role says; that is in the collection Hidden."""
    collection = make_hidden_collection()
    ob = rigs.make_rig(rigs.zigzag(3, length=0.7))
    if role == "target bone":
        followed = rigs.make_rig(((0, 0, 0), (0, 0, 0.2)), name="Handle")
        collection.objects.link(followed)
        bpy.context.scene.collection.objects.unlink(followed)
        followed.location = NEAR
        rigs.add_chain(ob, "Bone.2", followed, subtarget="Bone.0")
        return ob, followed
    followed = rigs.make_empty("Followed", NEAR, collection=collection)
    if role == "target":
        rigs.add_chain(ob, "Bone.2", followed)
    else:
        rigs.add_chain(ob, "Bone.2", rigs.make_empty("Seen", (0, 0.3, 1)), pole_target=followed)
    return ob, followed


@pytest.mark.parametrize(("role", "hide"), HIDDEN.values(), ids=HIDDEN)
def test_what_is_hidden_is_followed_in_the_viewport_and_in_renders(role, hide, tmp_path):
    ob, followed = make_arm_with(role)
    near = rigs.pose(ob)
    followed.location = FAR
    far = rigs.pose(ob)
    assert np.abs(far - near).max() > 0.1
    rigs.key(followed, "location", {1: NEAR, 5: FAR})
    frames = range(FRAMES[0], FRAMES[1] + 1)
    expected = {frame: rigs.pose(ob, rigs.go_to(frame)) for frame in frames}
    hide(followed)
    for location, pose in ((NEAR, near), (FAR, far)):
        followed.location = location
        bpy.context.view_layer.update()
        rigs.assert_same_pose(ob, pose)
    rigs.go_to(1)
    found = render_frames(tmp_path, lambda depsgraph: rigs.pose(ob, depsgraph), FRAMES)
    for frame, pose in expected.items():
        np.testing.assert_allclose(found[frame], pose, atol=3e-6, err_msg=f"frame {frame}")


@pytest.mark.parametrize("is_target_first", [True, False])
def test_a_target_that_was_hidden_before_the_chain_was_made_is_followed(is_target_first):
    ob = rigs.make_rig()
    target = rigs.make_empty(location=NEAR, collection=make_hidden_collection())
    exclude_and_hide_everywhere(target)
    chain = ob.chain_ik.chains.add()
    if is_target_first:
        chain.target, chain.bone = target, "Bone.1"
    else:
        chain.bone, chain.target = "Bone.1", target
    for location in (NEAR, FAR):
        target.location = location
        tail = rigs.tail(ob, "Bone.1", rigs.updated())
        np.testing.assert_allclose(tail, location, atol=rigs.REACHED)


@pytest.mark.parametrize("hide", [hide_in_viewports, hide_in_renders, exclude_and_hide_everywhere])
def test_a_hidden_rig_moves_the_mesh_that_it_deforms(hide, tmp_path):
    collection = make_hidden_collection()
    ob, target = rigs.make_arm(NEAR)
    collection.objects.link(ob)
    bpy.context.scene.collection.objects.unlink(ob)
    rigs.key(target, "location", {1: NEAR, 5: FAR})
    mesh = bpy.data.meshes.new("Skin")
    mesh.from_pydata([rigs.ARM[2]], (), ())
    skin = rigs.link(bpy.data.objects.new("Skin", mesh))
    skin.vertex_groups.new(name="Bone.1").add([0], 1.0, "REPLACE")
    skin.modifiers.new("Armature", "ARMATURE").object = ob
    hide(ob)

    def gap(depsgraph):
        corner = skin.evaluated_get(depsgraph).data.vertices[0].co
        return np.linalg.norm(np.array(corner) - rigs.position(target, depsgraph))

    for frame in range(FRAMES[0], FRAMES[1] + 1):
        bpy.context.scene.frame_set(frame)
        assert gap(bpy.context.view_layer.depsgraph) < 1e-4, f"frame {frame}"
    bpy.context.scene.frame_set(1)
    for frame, found in render_frames(tmp_path, gap, FRAMES).items():
        assert found < 1e-4, f"rendered frame {frame}"


def anchors(ob: bpy.types.Object) -> list[tuple[str, bpy.types.Object | None]]:
    """Return tip bone and target of every constraint on the bones of a rig that has no other."""
    bpy.context.view_layer.update()
    return [(bone.name, tie.target) for bone in ob.pose.bones for tie in bone.constraints]


def test_anchors_are_there_where_something_is_hidden_follow_the_settings_and_move_no_bone():
    ob, target = rigs.make_arm()
    assert anchors(ob) == []
    for hide in (hide_in_viewports, hide_in_renders):
        hide(target)
        assert anchors(ob) == [("Bone.1", target)]
        assert all(tie.mute or tie.influence == 0.0 for tie in ob.pose.bones["Bone.1"].constraints)
        target.hide_viewport = target.hide_render = False
        assert anchors(ob) == []
    hide_in_renders(target)
    chain = ob.chain_ik.chains[0]
    # Two chains of one bone and target lose nothing when one goes.
    second = rigs.add_chain(ob, "Bone.1", target, mute=True)
    second.target = None
    assert anchors(ob) == [("Bone.1", target)]
    other = rigs.make_empty("Other")
    hide_in_viewports(other)
    chain.target = other
    assert anchors(ob) == [("Bone.1", other)]
    chain.bone = "Bone.0"
    assert anchors(ob) == [("Bone.0", other)]
    chain.pole_target = target
    assert sorted(tie.name for _, tie in anchors(ob)) == ["Other", "Rig Target"]
    chain.pole_target = chain.target = None
    assert anchors(ob) == []
    # Constraints of the person are left alone.
    own = ob.pose.bones["Bone.1"].constraints.new("COPY_LOCATION")
    own.target, own.mute, chain.bone, chain.target = target, True, "Bone.1", target
    chain.target = None
    assert anchors(ob) == [("Bone.1", target)]
    ob.pose.bones["Bone.1"].constraints.remove(own)
    # They go with the chain or its target.
    chain.target = other
    assert anchors(ob) == [("Bone.1", other)]
    bpy.data.objects.remove(other)
    assert anchors(ob) == []
    chain.target = target
    assert anchors(ob) == [("Bone.1", target)]
    # As a script may: that tells Blender nothing, and the next change of the rig does.
    ob.chain_ik.chains.clear()
    ob.update_tag()
    assert anchors(ob) == []


def test_no_object_is_taken_for_another_where_a_posed_bone_drives_what_is_hidden():
    # One object comes and another goes, and none of what Blender lists is told to have changed.
    shown = rigs.make_empty(location=(9, 9, 9))
    ob = rigs.make_rig([(0, 0, 0), (0, 0.2, 1), (0, 0, 2)])
    target, hidden = rigs.make_empty(location=(0.5, 0.5, 1)), rigs.make_empty(location=(8, 8, 8))
    switch = rigs.make_rig([(3, 0, 0), (3, 0.2, 1)])
    bone = switch.pose.bones[0]
    bone["show"] = 0.0
    for each, expression in ((shown, "show < 0.5"), (hidden, "show >= 0.5")):
        driver = each.driver_add("hide_viewport").driver
        driver.expression, variable = expression, driver.variables.new()
        variable.name, variable.targets[0].id = "show", switch
        variable.targets[0].data_path = 'pose.bones["Bone.0"]["show"]'
    rigs.add_chain(ob, "Bone.1", target)
    rigs.add_chain(switch, "Bone.0", target, chain_count=1)
    for value in (1.0, 0.0):
        bone["show"] = value
        switch.update_tag(refresh={"DATA"})
        bpy.context.view_layer.update()
        np.testing.assert_allclose(rigs.tail(ob, "Bone.1"), target.location, atol=1e-5)
