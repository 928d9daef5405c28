"""What is kept by scene, view layer or armature stays right where a rig is in several of them."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs


def show(view_layer: bpy.types.ViewLayer) -> None:
    bpy.context.window.view_layer = view_layer


def second_layer(*_objects: bpy.types.Object) -> bpy.types.ViewLayer:
    return bpy.context.scene.view_layers.new("Second")


def second_scene(*objects: bpy.types.Object) -> bpy.types.ViewLayer:
    scene = bpy.data.scenes.new("Second")
    for ob in objects:
        scene.collection.objects.link(ob)
    return scene.view_layers[0]


def test_bones_that_a_chain_leaves_have_the_keys_of_the_frame_of_their_scene():
    ob, target = rigs.make_arm()
    with rigs.at_rest():
        rigs.key_bones(ob, frames=(1, 8, 28))
        rigs.key(ob, "chain_ik.chains[0].influence", {8: 0.0, 28: 1.0})
    other = second_scene(ob, target).id_data
    free = rigs.make_rig(name="Free")
    free.animation_data_create().action = ob.animation_data.action
    if hasattr(ob.animation_data, "action_slot"):
        free.animation_data.action_slot = ob.animation_data.action_slot
    expected = {frame: rigs.pose(free, rigs.go_to(frame)) for frame in (3, 6)}
    rigs.go_to(20)
    for frame in (3, 20, 6):
        other.frame_set(frame)
        if frame in expected:
            found = rigs.pose(ob, other.view_layers[0].depsgraph)
            np.testing.assert_allclose(found, expected[frame], atol=3e-6)


@pytest.mark.parametrize("make", [second_layer, second_scene])
def test_a_target_hidden_in_one_view_layer_is_followed_in_both(make):
    ob = rigs.make_rig()
    own = bpy.data.collections.new("Own")
    bpy.context.scene.collection.children.link(own)
    target = rigs.make_empty("Rig Target", collection=own)
    rigs.add_chain(ob, "Bone.1", target)
    first, second = bpy.context.view_layer, make(ob, target)
    rigs.updated()
    first.layer_collection.children["Own"].exclude = True
    for location in ((0.7, 0.3, 1.2), (-0.6, 0.5, 0.8)):
        target.location = location
        for layer in (first, second):
            depsgraph = rigs.updated(layer)
            rigs.assert_reaches(ob, "Bone.1", target, depsgraph)
    rigs.key(target, "location", {1: (0.7, 0.3, 1.2), 11: (-0.6, 0.5, 0.8)})
    for frame in (11, 1, 6):
        for layer in (first, second):
            layer.id_data.frame_set(frame)
            rigs.assert_reaches(ob, "Bone.1", target, layer.depsgraph)
    # Nor does one layer call the other back.
    before = rigs.rotations(ob)
    for layer in (first, second) * 3:
        ob.update_tag()
        layer.update()
        assert rigs.rotations(ob) == before


@pytest.mark.parametrize(
    ("settings", "is_shown"),
    [
        ({"solver": "FOLLOW"}, False),
        ({"solver": "FOLLOW", "follow_lead": "ROOT"}, True),
        ({"solver": "FORCE", "force.use_gradual": True}, True),
    ],
    ids=str,
)
def test_chains_that_go_on_do_so_as_with_one_view_layer(settings, is_shown):
    ob, target = rigs.make_arm()

    def play() -> list[np.ndarray]:
        return [rigs.pose(ob, rigs.go_to(frame)) for frame in range(1, 12)]

    chain = ob.chain_ik.chains[0]
    for name, value in settings.items():
        *path, name = name.split(".")
        setattr(chain.path_resolve(path[0]) if path else chain, name, value)
    rigs.key(target, "location", {1: (0.7, 0.3, 1.2), 11: (-0.6, 0.5, 0.8)})
    expected = play()
    assert np.abs(expected[-1] - expected[0]).max() > 0.1
    second = second_layer()
    rigs.updated()
    if is_shown:
        show(second)
        rigs.updated()
    for _ in range(2):
        np.testing.assert_allclose(play(), expected, atol=3e-6)


def test_a_bone_renamed_in_one_view_layer_is_known_in_the_other():
    ob, target = rigs.make_arm()
    first, second = bpy.context.view_layer, second_layer()
    rigs.updated()
    for layer, name in ((second, "Hand"), (first, "Paw"), (second, "Claw")):
        show(layer)
        ob.data.bones[ob.chain_ik.chains[0].bone].name = name
        rigs.updated()
        assert ob.chain_ik.chains[0].bone == name
        for shown, location in ((first, (0.7, 0.3, 1.2)), (second, (-0.6, 0.5, 0.8))):
            show(shown)
            target.location = location
            rigs.assert_reaches(ob, name, target, rigs.updated())


def test_a_view_layer_removed_and_made_again_is_solved():
    ob, target = rigs.make_arm()
    rigs.key(target, "location", {1: (0.7, 0.3, 1.2), 11: (-0.6, 0.5, 0.8)})
    rigs.key(ob, "location", {1: (0, 0, 0), 11: (0, 0, 0.1)})

    def assert_right(frame: int) -> None:
        rigs.go_to(frame)
        for layer in bpy.context.scene.view_layers:
            rigs.assert_reaches(ob, "Bone.1", target, layer.depsgraph)
            height = rigs.position(ob, layer.depsgraph)[2]
            assert height == pytest.approx(0.01 * (frame - 1))

    for frame in (4, 9, 1):
        second = second_layer()
        rigs.updated()
        show(second)
        rigs.assert_reaches(ob, "Bone.1", target, rigs.updated())
        assert_right(frame)
        bpy.context.scene.view_layers.remove(second)
        again = second_layer()
        assert_right(frame + 2)
        bpy.context.scene.view_layers.remove(again)


def test_a_rig_that_another_scene_has_posed_does_not_claim_to_be_solved_here():
    ob, target = rigs.make_arm()
    rigs.key(target, "location", {1: (0.7, 0.3, 1.2), 11: (-0.6, 0.5, 0.8)})
    first, other = bpy.context.view_layer, second_scene(ob, target).id_data
    rigs.go_to(1)
    other.frame_set(11)
    rigs.updated(first)
    distance = np.linalg.norm(rigs.tail(ob, "Bone.1") - rigs.position(target))
    assert distance > 0.5
    chain = ob.chain_ik.chains[0]
    assert chain.status.startswith("Not solved here: another scene or window has posed")
    assert chain.residual == -1.0
    rigs.go_to(2)
    rigs.assert_reaches(ob, "Bone.1", target, first.depsgraph)
    assert chain.status == "Reached"
