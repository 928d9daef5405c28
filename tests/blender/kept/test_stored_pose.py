"""The pose before a chain, which comes back; keyframes and unkeyed values, which stay."""

import bpy
import numpy as np
import pytest

from blender_ik_addon.rig.keying.playing import preserve_frame
from tests.blender.setups import rigs
from tests.blender.setups.selecting import press, select_objects

NEAR_PLACE, FAR_PLACE = (0.6, 0.5, 1.2), (-0.7, 0.4, 0.8)


def make_posed_arm(mode: str = "QUATERNION", **settings: object):
    """Return a rig that its chain has moved, the target, and the rotations before the chain."""
    ob = rigs.make_rig(modes=mode)
    rigs.turn_bones(ob)
    free = rigs.rotations(ob)
    target, _ = rigs.follow(ob, "Bone.1", NEAR_PLACE, **settings)
    bpy.context.view_layer.update()
    rigs.change(target, location=FAR_PLACE)
    assert settings.get("influence") == 0.0 or rigs.rotations(ob) != free
    return ob, target, free


every_way_back = pytest.mark.parametrize(
    ("mode", "way"),
    [
        ("QUATERNION", ("mute", True)),
        ("XZY", ("remove",)),
        ("AXIS_ANGLE", ("restore",)),
        ("AXIS_ANGLE", ("mute", True)),
        ("XZY", ("restore",)),
    ],
    ids=str,
)


@every_way_back
def test_unkeyed_bones_get_exactly_the_pose_of_before(mode, way):
    ob, target, free = make_posed_arm(mode)
    rigs.release_chain(ob, *way)
    for location in (FAR_PLACE, NEAR_PLACE):
        rigs.change(target, location=location)
        assert rigs.rotations(ob) == free
    bpy.context.scene.frame_set(5)
    assert rigs.rotations(ob) == free


@every_way_back
def test_keyed_bones_get_the_pose_of_their_keys_at_once(mode, way):
    ob = rigs.make_rig(modes=mode)
    rigs.key_bones(ob)
    free = rigs.link(ob.copy())
    rigs.add_chain(ob, "Bone.1", rigs.make_empty(location=NEAR_PLACE))
    bpy.context.scene.frame_set(5)
    assert rigs.rotations(ob) != rigs.rotations(free)
    rigs.release_chain(ob, *way)
    rigs.assert_same_pose(ob, free)
    bpy.context.scene.frame_set(12)
    rigs.assert_same_pose(ob, free)


@pytest.mark.parametrize(
    ("way", "pause"),
    [(("mute", True), "hidden"), (("influence", 0.0), "hidden"), (("mute", True), "Live is off")],
    ids=str,
)
def test_bones_that_no_update_reaches_get_their_pose_at_once_and_keep_a_new_one(way, pause):
    """Earlier, an undo of anything, or showing the armature, replaced the new pose."""
    ob, target, free = make_posed_arm()
    if pause == "hidden":
        rigs.change(ob, hide_viewport=True)
    else:
        bpy.context.scene.chain_ik.use_live = False
    rigs.release_chain(ob, *way)
    assert rigs.rotations(ob) == free
    rigs.turn_bones(ob, seed=7)
    posed = rigs.rotations(ob)
    for place in (NEAR_PLACE, FAR_PLACE):
        bpy.ops.ed.undo_push(message=f"before {place}")
        rigs.change(target, location=place)
    name = ob.name
    bpy.ops.ed.undo()
    ob = bpy.data.objects[name]
    assert rigs.rotations(ob) == posed != free
    bpy.context.scene.chain_ik.use_live = True
    rigs.change(ob, hide_viewport=False)
    assert rigs.rotations(ob) == posed


def test_unmuting_takes_a_chain_up_again_and_a_pose_made_while_muted_is_the_one_that_comes_back():
    ob, target, free = make_posed_arm()
    chain = ob.chain_ik.chains[0]
    for seed in (0, 7):
        rigs.change(chain, mute=True)
        assert rigs.rotations(ob) == free
        if seed:
            rigs.turn_bones(ob, seed)
            free = rigs.rotations(ob)
        chain.mute = False
        rigs.assert_reaches(ob, "Bone.1", target, rigs.updated())
    # Posing bones by hand while the chain is live does not change the stored pose.
    rigs.turn_bones(ob, seed=9)
    rigs.release_chain(ob, "mute", True)
    assert rigs.rotations(ob) == free
    # Store the present pose: then that one comes back.
    chain.mute = False
    rigs.enter(ob, "POSE")
    solved = rigs.rotations(ob)
    assert bpy.ops.pose.chain_ik_store() == {"FINISHED"}
    rigs.release_chain(ob, "mute", True)
    assert rigs.rotations(ob) == solved != free


@pytest.mark.parametrize("mode", ["QUATERNION", "XZY", "AXIS_ANGLE"])
def test_a_rotation_mode_changed_while_live_gets_the_same_pose_back(mode):
    ob, _target, _free = make_posed_arm(mode)
    twin = rigs.make_rig(name="Twin", modes=mode)
    rigs.turn_bones(twin)
    rigs.set_each(ob.pose.bones, rotation_mode="XYZ" if mode == "QUATERNION" else "QUATERNION")
    bpy.context.view_layer.update()
    rigs.release_chain(ob, "mute", True)
    rigs.assert_same_pose(ob, twin)


@pytest.mark.parametrize(
    ("stored", "mode"),
    [("QUATERNION", "XYZ"), ("QUATERNION", "AXIS_ANGLE"), ("XZY", "ZYX"), ("XZY", "QUATERNION")],
)
def test_frames_before_a_switch_to_fk_stay_also_if_the_rotation_mode_changed_before(stored, mode):
    ob = rigs.make_rig(rigs.zigzag(5), modes=stored)
    rigs.turn_bones(ob)
    target, _ = rigs.follow(ob, "Bone.4", (1.5, 0.5, 2.0), solver="NEWTON")
    rigs.key(target, "location", {1: target.location, 20: (-1.0, 1.5, 1.0), 30: (2.0, 0.0, 1.0)})
    rigs.updated()
    for bone in ob.pose.bones:
        rigs.change(bone, rotation_mode=mode)
    before = rigs.play(ob, range(1, 21))
    select_objects(active=ob)
    press(bpy.ops.pose.chain_ik_switch, to="FK")
    after = rigs.play(ob, range(1, 21))
    np.testing.assert_allclose(after, before, atol=1e-5)


@pytest.mark.parametrize("first", [0, 1])
def test_a_chain_takes_shared_bones_over_at_a_frame_as_they_were_before_the_other_one(first):
    """One chain ends at the frame where the other begins, whichever is first in the list."""
    ob = rigs.make_rig()
    rigs.add_bones(ob, ((0, 0, 1), (0, 0.2, 1.8)), prefix="Side", parent="Bone.0")
    rigs.turn_bones(ob)
    free = rigs.rotations(ob)
    for tip, place in (("Bone.1", NEAR_PLACE), ("Side.0", FAR_PLACE)):
        rigs.add_chain(ob, tip, rigs.make_empty(tip, place))
    rigs.key(ob, f"chain_ik.chains[{first}].mute", {1: False, 4: True})
    rigs.key(ob, f"chain_ik.chains[{1 - first}].mute", {1: True, 4: False})
    shown = {}
    for frame in rigs.each_frame((1, 4, 1, 4)):
        assert shown.setdefault(frame, rigs.rotations(ob)) == rigs.rotations(ob)
    assert shown[1] != shown[4]
    for index in range(2):
        ob.animation_data_clear()
        ob.chain_ik.chains[index].mute = True
    rigs.updated()
    assert rigs.rotations(ob) == free


def test_keyframes_are_never_touched():
    ob = rigs.make_rig(modes=("QUATERNION", "XYZ"))
    rigs.key_bones(ob)
    before = rigs.keys_of(ob)
    assert len(before) == 7
    rigs.add_chain(ob, "Bone.1", rigs.make_empty(location=NEAR_PLACE))
    chain = ob.chain_ik.chains[0]
    for frame, name, value in (
        (3, "influence", 0.5),
        (5, "start_from", "REST"),
        (8, "mute", True),
        (9, "mute", False),
        (16, "chain_count", 1),
    ):
        bpy.context.scene.frame_set(frame)
        rigs.change(chain, **{name: value})
    rigs.release_chain(ob, "restore")
    rigs.release_chain(ob, "remove")
    assert not ob.chain_ik.chains
    assert rigs.keys_of(ob) == before


def test_a_refused_chain_that_comes_to_share_a_dragged_root_leaves_it_where_it_is():
    ob = rigs.make_rig(rigs.zigzag(3))
    rigs.add_chain(ob, "Bone.1", rigs.make_empty(location=(2, 1, 2)), solver="FOLLOW")
    other = rigs.add_chain(ob, "Bone.2", rigs.make_empty(location=(-1, 2, 1)))
    rigs.updated()
    assert "already belongs to chain" in other.status
    rigs.change(other, bone="Bone.1")
    before = rigs.pose(ob)
    assert ob.pose.bones["Bone.0"].location.length > 0.1
    for _ in range(2):
        rigs.tagged(ob)
        rigs.assert_same_pose(ob, before, 1e-6)


UNKEYED_VALUE = 0.75


Property = tuple[bpy.types.ID, str]


def show(data: bpy.types.ID) -> bpy.types.ID:
    """Return data that an object of the scene shows."""
    rigs.link(bpy.data.objects.new(data.name, data))
    return data


def make_shape() -> Property:
    mesh = show(bpy.data.meshes.new("Mesh"))
    mesh.from_pydata([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [], [(0, 1, 2)])
    for name in ("Basis", "A [L]"):
        bpy.data.objects["Mesh"].shape_key_add(name=name)
    return mesh.shape_keys, 'key_blocks["A [L]"].value'


def make_node_group() -> Property:
    group = bpy.data.node_groups.new("Group", "ShaderNodeTree")
    group.nodes.new("ShaderNodeValue")
    material = bpy.data.materials.new("Material")
    show(bpy.data.meshes.new("Mesh")).materials.append(material)
    if material.node_tree is None:
        material.use_nodes = True
    material.node_tree.nodes.new("ShaderNodeGroup").node_tree = group
    return group, 'nodes["Value"].outputs[0].default_value'


def make_custom_property() -> Property:
    return rigs.make_rig(), 'pose.bones["Bone.1"]["a[b"]'


def key_and_change(owner: bpy.types.ID, path: str) -> None:
    """Key a property at two frames, then change it at a third one without a key."""
    rigs.key(owner, path, {1: 0.25, 10: 0.5})
    rigs.go_to(4)
    rigs.set_by_path(owner, path, UNKEYED_VALUE)
    rigs.tagged(owner)


@pytest.mark.parametrize("make", [make_shape, make_node_group, make_custom_property])
def test_values_of_all_kinds_of_data_are_kept(make):
    owner, path = make()
    key_and_change(owner, path)
    assert owner.path_resolve(path) == UNKEYED_VALUE
    with preserve_frame(bpy.context.scene, is_reading=True):
        rigs.go_to(1)
        rigs.go_to(10)
    rigs.updated()
    assert owner.path_resolve(path) == UNKEYED_VALUE
    shown = owner.evaluated_get(bpy.context.evaluated_depsgraph_get())
    if shown.is_evaluated:
        assert shown.path_resolve(path) == pytest.approx(UNKEYED_VALUE)


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_property_that_is_no_longer_a_number_does_not_stop_the_others_from_being_kept(when):
    owners = rigs.make_rig(), rigs.make_empty()
    properties = [(ob, f'["{name}"]') for ob in owners for name in ("one", "two")]
    for prop in properties:
        key_and_change(*prop)
    for prop in properties:
        rigs.set_by_path(*prop, UNKEYED_VALUE)
    damaged, *others = properties
    if when == "before":
        rigs.set_by_path(*damaged, {"group": 1.0})
    with preserve_frame(bpy.context.scene, is_reading=True):
        rigs.go_to(10)
        rigs.set_by_path(*damaged, {"group": 1.0})
    assert [owner.path_resolve(path) for owner, path in others] == [UNKEYED_VALUE] * 3
