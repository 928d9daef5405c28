"""What was changed and not keyed is kept while frames are played for another purpose."""

from __future__ import annotations

import bpy
import pytest

from blender_ik_addon.rig.keying.playing import frame_kept
from tests.blender.setups import rigs

UNKEYED = 0.75


def show(data):
    """Return data that an object of the scene shows."""
    rigs.link(bpy.data.objects.new(data.name, data))
    return data


def shape():
    mesh = show(bpy.data.meshes.new("Mesh"))
    mesh.from_pydata([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [], [(0, 1, 2)])
    owner = bpy.data.objects["Mesh"]
    owner.shape_key_add(name="Basis")
    owner.shape_key_add(name="A [L]")
    return mesh.shape_keys, 'key_blocks["A [L]"]', "value"


def node_group():
    group = bpy.data.node_groups.new("Group", "ShaderNodeTree")
    group.nodes.new("ShaderNodeValue")
    found = bpy.data.materials.new("Material")
    show(bpy.data.meshes.new("Mesh")).materials.append(found)
    if found.node_tree is None:
        found.use_nodes = True
    found.node_tree.nodes.new("ShaderNodeGroup").node_tree = group
    return group, 'nodes["Value"].outputs[0]', "default_value"


def custom():
    return rigs.make_rig(), 'pose.bones["Bone.1"]', '["a[b"]'


KINDS = (shape, node_group, custom)


def value_of(kind):
    name = kind[2]
    return holder_of(kind)[name[2:-2]] if name.startswith("[") else getattr(holder_of(kind), name)


def holder_of(kind):
    owner, place, _ = kind
    return owner.path_resolve(place) if place else owner


def change(kind, value):
    name = kind[2]
    if name.startswith("["):
        holder_of(kind)[name[2:-2]] = value
    else:
        setattr(holder_of(kind), name, value)


def key(kind):
    """Key a property at two frames, then change it at another one without a key."""
    owner, place, name = kind
    for frame, value in {1: 0.25, 10: 0.5}.items():
        change(kind, value)
        path = place + name if name.startswith("[") or not place else f"{place}.{name}"
        owner.keyframe_insert(path, frame=frame)
    rigs.go_to(4)
    change(kind, UNKEYED)
    owner.update_tag()
    rigs.updated()


@pytest.mark.parametrize("make", KINDS)
def test_values_of_all_kinds_of_data_are_kept(make):
    kind = make()
    key(kind)
    assert value_of(kind) == UNKEYED
    with frame_kept(bpy.context.scene, is_reading=True):
        rigs.go_to(1)
        rigs.go_to(10)
    rigs.updated()
    assert value_of(kind) == UNKEYED
    shown = kind[0].evaluated_get(bpy.context.evaluated_depsgraph_get())
    if shown.is_evaluated:
        assert value_of((shown, *kind[1:])) == pytest.approx(UNKEYED)


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_property_that_is_no_number_any_more_keeps_no_other_one_from_it(when):
    rigs.make_rig()
    rigs.make_empty()
    kinds = [(ob, "", f'["{name}"]') for ob in bpy.data.objects for name in ("one", "two")]
    for kind in kinds:
        key(kind)
    for kind in kinds:
        change(kind, UNKEYED)
    spoiled = kinds.pop(0)
    if when == "before":
        change(spoiled, {"group": 1.0})
    with frame_kept(bpy.context.scene, is_reading=True):
        rigs.go_to(10)
        change(spoiled, {"group": 1.0})
    assert [value_of(kind) for kind in kinds] == [UNKEYED] * len(kinds)
