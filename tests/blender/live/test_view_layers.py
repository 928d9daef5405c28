"""A view layer shown by a script right after a change has the right pose after its first update.

What is kept by scene, view layer or armature stays right where a rig is in several of them.
"""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs
from tests.blender.setups.saved_rigs import reopen

NEAR, FAR, AWAY = (0.6, 0.5, 1.2), (0.0, 0.0, 4.2), (0.9, -0.4, 1.0)
# What is changed on object or chain, how, and how it was.
CHANGES = {
    "target": (lambda ob: ob.chain_ik.chains[0].target, "location", AWAY, NEAR),
    "flip": (lambda ob: ob.chain_ik.chains[0], "use_flip_bend", True, False),
    "mute": (lambda ob: ob.chain_ik.chains[0], "mute", True, False),
    "turned": (lambda ob: ob, "rotation_euler", (0.3, 0.2, 0.1), (0.0, 0.0, 0.0)),
    # What a chain writes itself takes nothing over.
    "pose": (lambda ob: ob.pose.bones["Bone.0"], "rotation_quaternion", (0.8, 0, 0.6, 0), None),
}


def show(view_layer: bpy.types.ViewLayer) -> None:
    bpy.context.window_manager.windows[0].view_layer = view_layer


def settled(ob: bpy.types.Object) -> np.ndarray:
    """Return the pose after everything has been tagged and updated again."""
    for tagged in bpy.data.objects:
        tagged.update_tag()
    return rigs.pose(ob, rigs.updated())


@pytest.mark.parametrize("is_known", [False, True], ids=["never shown", "shown before"])
@pytest.mark.parametrize(("owner", "name", "there", "back"), CHANGES.values(), ids=CHANGES)
def test_a_change_in_one_view_layer_is_solved_in_another_and_put_back_there_all_is_as_before(
    owner, name, there, back, is_known
):
    ob, _ = rigs.make_arm()
    first, second = bpy.context.view_layer, bpy.context.scene.view_layers.new("Second")
    for layer in (first, *(second, first) * is_known):
        show(layer)
        rigs.updated()
    before = rigs.pose(ob, first.depsgraph)
    if back is not None:
        setattr(owner(ob), name, there)
        show(second)
        found = rigs.pose(ob, rigs.updated())
        assert np.abs(found - before).max() > 0.1
        np.testing.assert_array_equal(found, settled(ob))
    for one, other in ((second, first), (first, second)):
        show(one)
        setattr(owner(ob), name, there)
        rigs.updated()
        show(other)
        if back is not None:
            setattr(owner(ob), name, back)
        np.testing.assert_array_equal(rigs.pose(ob, rigs.updated()), before)
        assert status_of(ob) == "Reached"


@pytest.mark.parametrize(("count", "frame"), [(2, 1), (3, 20)])
def test_a_file_saved_in_another_view_layer_keeps_the_stored_pose(tmp_path, frame, count):
    ob = rigs.make_rig()
    rigs.turn_bones(ob)
    free = rigs.pose(ob)
    rigs.add_chain(ob, "Bone.1", rigs.make_empty("Rig Target"))
    bpy.context.view_layer.update()
    rigs.key(ob, "chain_ik.chains[0].influence", {8: 0.0, 28: 1.0})
    layers = [bpy.context.scene.view_layers.new("Other") for _ in range(1, count)]
    show(layers[-1])
    rigs.go_to(frame)
    reopen(tmp_path / "saved.blend")
    ob = bpy.data.objects["Rig"]
    for number in (1, 8, 28, 18, 8, 1):
        depsgraph = rigs.go_to(number)
        if number <= 8:
            np.testing.assert_allclose(rigs.pose(ob, depsgraph), free, atol=3e-6)
    rigs.assert_reaches(ob, "Bone.1", bpy.data.objects["Rig Target"], rigs.go_to(28))


@pytest.mark.parametrize(
    ("kind", "mode"), [("mesh", "EDIT"), ("mesh", "SCULPT"), ("armature", "EDIT")]
)
def test_view_layers_may_be_added_while_something_is_edited(kind, mode):
    ob, target = rigs.make_arm()
    if kind == "mesh":
        bpy.ops.mesh.primitive_cube_add()
        bpy.ops.object.mode_set(mode=mode)
    else:
        rigs.enter(rigs.make_rig(name="Edited"), mode)
    second = bpy.context.scene.view_layers.new("Second")
    rigs.updated()
    target.location = AWAY
    show(second)
    found = rigs.pose(ob, rigs.updated())
    rigs.assert_reaches(ob, "Bone.1", target)
    np.testing.assert_array_equal(found, settled(ob))


def status_of(ob: bpy.types.Object) -> str:
    return ob.chain_ik.chains[0].status


def test_the_status_is_that_of_the_view_layer_shown():
    ob, target = rigs.make_arm()
    first, second = bpy.context.view_layer, bpy.context.scene.view_layers.new("Second")
    rigs.updated()
    for location, layer, word in (
        (FAR, second, "Out of reach"),
        (NEAR, first, "Reached"),
        (FAR, first, "Out of reach"),
        (NEAR, second, "Reached"),
        (NEAR, first, "Reached"),
        (FAR, first, "Out of reach"),
    ):
        target.location = location
        show(layer)
        rigs.updated()
        assert status_of(ob).startswith(word)
        distance = np.linalg.norm(rigs.tail(ob, "Bone.1") - rigs.position(target))
        assert ob.chain_ik.chains[0].residual == pytest.approx(distance, abs=rigs.REACHED)


def second_layer(*_objects: bpy.types.Object) -> bpy.types.ViewLayer:
    return bpy.context.scene.view_layers.new("Second")


def second_scene(*objects: bpy.types.Object) -> bpy.types.ViewLayer:
    scene = bpy.data.scenes.new("Second")
    for ob in objects:
        scene.collection.objects.link(ob)
    return scene.view_layers[0]


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
        ({"solver": "FOLLOW", "follow_lead": "ROOT"}, False),
        ({"solver": "FORCE", "force.use_gradual": True}, True),
    ],
    ids=str,
)
def test_chains_that_go_on_do_so_as_with_one_view_layer(settings, is_shown):
    ob, target = rigs.make_arm()

    def play() -> list[np.ndarray]:
        return [rigs.pose(ob, rigs.go_to(frame)) for frame in range(1, 8)]

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
