"""What was changed and not keyed is kept while frames are played for another purpose."""

import bpy
import pytest

from blender_ik_addon.rig.keying.playing import frame_kept
from tests.blender.setups import rigs

UNKEYED = 0.75


Place = tuple[bpy.types.ID, str]


def show(data: bpy.types.ID) -> bpy.types.ID:
    """Return data that an object of the scene shows."""
    rigs.link(bpy.data.objects.new(data.name, data))
    return data


def shape() -> Place:
    mesh = show(bpy.data.meshes.new("Mesh"))
    mesh.from_pydata([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [], [(0, 1, 2)])
    for name in ("Basis", "A [L]"):
        bpy.data.objects["Mesh"].shape_key_add(name=name)
    return mesh.shape_keys, 'key_blocks["A [L]"].value'


def node_group() -> Place:
    group = bpy.data.node_groups.new("Group", "ShaderNodeTree")
    group.nodes.new("ShaderNodeValue")
    found = bpy.data.materials.new("Material")
    show(bpy.data.meshes.new("Mesh")).materials.append(found)
    if found.node_tree is None:
        found.use_nodes = True
    found.node_tree.nodes.new("ShaderNodeGroup").node_tree = group
    return group, 'nodes["Value"].outputs[0].default_value'


def custom() -> Place:
    return rigs.make_rig(), 'pose.bones["Bone.1"]["a[b"]'


def key(owner: bpy.types.ID, path: str) -> None:
    """Key a property at two frames, then change it at another one without a key."""
    rigs.key(owner, path, {1: 0.25, 10: 0.5})
    rigs.go_to(4)
    rigs.put(owner, path, UNKEYED)
    rigs.tagged(owner)


@pytest.mark.parametrize("make", [shape, node_group, custom])
def test_values_of_all_kinds_of_data_are_kept(make):
    owner, path = make()
    key(owner, path)
    assert owner.path_resolve(path) == UNKEYED
    with frame_kept(bpy.context.scene, is_reading=True):
        rigs.go_to(1)
        rigs.go_to(10)
    rigs.updated()
    assert owner.path_resolve(path) == UNKEYED
    shown = owner.evaluated_get(bpy.context.evaluated_depsgraph_get())
    if shown.is_evaluated:
        assert shown.path_resolve(path) == pytest.approx(UNKEYED)


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_property_that_is_no_number_any_more_keeps_no_other_one_from_it(when):
    owners = rigs.make_rig(), rigs.make_empty()
    places = [(ob, f'["{name}"]') for ob in owners for name in ("one", "two")]
    for place in places:
        key(*place)
    for place in places:
        rigs.put(*place, UNKEYED)
    spoiled, *others = places
    if when == "before":
        rigs.put(*spoiled, {"group": 1.0})
    with frame_kept(bpy.context.scene, is_reading=True):
        rigs.go_to(10)
        rigs.put(*spoiled, {"group": 1.0})
    assert [owner.path_resolve(path) for owner, path in others] == [UNKEYED] * 3
