"""Drivers and keying sets stay with their chains and joints when others are removed."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs
from tests.blender.setups.jointed_rigs import give
from tests.blender.setups.keyed_limbs import (
    INFLUENCES,
    activate,
    key_chains,
    keyed,
    make_limbs,
    played,
    read_by,
    source_of,
)
from tests.blender.setups.selecting import press, state

remove = bpy.ops.pose.chain_ik_remove
joint_remove = bpy.ops.pose.chain_ik_joint_remove
joints_copy = bpy.ops.pose.chain_ik_joints_copy


def test_drivers_follow_on_both_ends_and_those_of_the_removed_chain_go():
    ob, other, reader = make_limbs(), make_limbs("Other"), rigs.make_empty("Reader")
    for index, value in enumerate(INFLUENCES.values()):
        ob.driver_add(f"chain_ik.chains[{index}].influence").driver.expression = str(value)
    bone = ob.driver_add('pose.bones["Left.0"].location', 0)
    ob.chain_ik.chains[1].weight = 0.75
    # One that goes with its chain, though it reads one that moves.
    for index in (2, 0):
        read_by(ob, f"chain_ik.chains[{index}].weight", ob, "chain_ik.chains[1].weight")
    read_by(reader, "location", ob, "chain_ik.chains[2].weight", 0)
    of_other = read_by(reader, "location", other, "chain_ik.chains[1].influence", 1)
    activate(ob, 0)
    press(remove)
    assert played(ob) == {"Right": 1.0, "Tail": 0.25}
    assert {curve.data_path for curve in ob.animation_data.drivers} == {
        *(f"chain_ik.chains[{index}].influence" for index in range(2)),
        "chain_ik.chains[1].weight",
        bone.data_path,
    }
    np.testing.assert_allclose(rigs.position(reader), (0.75, 1.0, 1.2), atol=1e-6)
    assert source_of(of_other) == "chain_ik.chains[1].influence"


Reader = tuple[bpy.types.ID, str, int]
VALUE = 'nodes["Value"].outputs[0].default_value'


def in_nodes_of_a_material() -> Reader:
    owner = bpy.data.materials.new("Reader")
    if owner.node_tree is None:
        owner.use_nodes = True
    owner.node_tree.nodes.new("ShaderNodeValue").name = "Value"
    return owner.node_tree, VALUE, -1


def in_compositor() -> Reader:
    scene = bpy.context.scene
    if hasattr(scene, "compositing_node_group"):
        tree = bpy.data.node_groups.new("Reader", "CompositorNodeTree")
        scene.compositing_node_group = tree
    else:
        scene.use_nodes = True
        tree = scene.node_tree
    tree.nodes.new("CompositorNodeExposure").name = "Exposure"
    return tree, 'nodes["Exposure"].inputs[1].default_value', -1


@pytest.mark.parametrize("reader", [in_nodes_of_a_material, in_compositor])
def test_drivers_of_other_data_read_the_same_chain_as_before(reader):
    ob = make_limbs()
    block, path, index = reader()
    curve = read_by(block, path, ob, "chain_ik.chains[1].influence", index)
    activate(ob, 0)
    press(remove)
    assert source_of(curve) == "chain_ik.chains[0].influence"


@pytest.mark.parametrize(
    ("path", "renamed"),
    [("chain_ik.chains[0].influence", False), ('chain_ik.chains["Left"].weight', True)],
)
def test_a_driver_that_reads_the_removed_chain_reads_no_other_one_and_says_so(path, renamed, capfd):
    ob = make_limbs()
    if renamed:
        ob.chain_ik.chains[2].name = "Left"
    reader = rigs.make_empty("Reader")
    curve = read_by(reader, "location", ob, path, 0)
    bpy.context.view_layer.update()
    assert curve.driver.is_valid
    press(remove)
    assert not curve.driver.is_valid
    assert 'chain_ik.chains["Left' in source_of(curve)
    told = capfd.readouterr().out
    assert "Drivers of Reader read what is gone: give them something else to read." in told


def test_a_keying_set_keys_the_same_chains_as_before():
    ob = make_limbs()
    paths = bpy.context.scene.keying_sets.new(idname="Set", name="Set").paths
    for index in range(3):
        paths.add(ob, f"chain_ik.chains[{index}].influence")
    other = paths.add(make_limbs("Other"), "chain_ik.chains[1].influence")
    activate(ob, 1)
    press(remove)
    told = [path.data_path for path in paths if path.id == ob]
    assert told == ["chain_ik.chains[0].influence", "chain_ik.chains[1].influence"]
    assert other.data_path == "chain_ik.chains[1].influence"


def notes() -> list[object]:
    """Return the keys, the drivers and what these read, wherever they are; names only."""
    ob, reader = bpy.data.objects["Rig"], bpy.data.objects["Reader"]
    joints = [joint.bone for chain in ob.chain_ik.chains for joint in chain.joints]
    curves = [*ob.animation_data.drivers, *reader.animation_data.drivers]
    driven = sorted((curve.data_path, source_of(curve)) for curve in curves)
    # Poses are left out: they may differ by the float32 noise of solving once more.
    chains = {name: value for name, value in state().items() if name.endswith("chains")}
    return [driven, chains, played(ob), keyed(ob.animation_data.action), joints]


@pytest.mark.parametrize("operator", [remove, joint_remove, joints_copy])
def test_one_undo_gives_keys_and_drivers_back_and_one_redo_takes_them_again(operator):
    ob = make_limbs()
    key_chains(ob)
    for bone in ("Left.1", "Left.0"):
        give(ob.chain_ik.chains[0], bone, "CONE")
    ob.pose.bones["Left.0"].lock_ik_x = True
    reader = rigs.make_empty("Reader")
    for index, path in enumerate(("chains[1].weight", "chains[0].weight")):
        read_by(reader, "location", ob, f"chain_ik.{path}", index)
    read_by(reader, "location", ob, "chain_ik.chains[0].joints[1].cone_angle", 2)
    read_by(ob, "chain_ik.chains[2].weight", ob, "chain_ik.chains[1].weight")
    read_by(ob, "chain_ik.chains[0].soft_distance", ob, "chain_ik.chains[1].soft_distance")
    bpy.ops.ed.undo_push(message="Made")
    before = notes()
    press(operator)
    after = notes()
    assert before[0] != after[0]
    for step, expected in ((bpy.ops.ed.undo, before), (bpy.ops.ed.redo, after)) * 2:
        step()
        assert notes() == expected


def give_joints(ob: bpy.types.Object, *bones: str) -> bpy.types.PropertyGroup:
    """Give the second chain joints, and have drivers read how far each opens; return the chain."""
    activate(ob, 1)
    chain = ob.chain_ik.chains[1]
    reader = rigs.make_empty("Reader")
    for index, bone in enumerate(bones):
        give(chain, bone, "CONE", cone=10.0 * (index + 1))
        read_by(reader, "location", ob, f"chain_ik.chains[1].joints[{index}].cone_angle", index)
    return chain


def read_bones(chain: bpy.types.PropertyGroup) -> list[str]:
    """Return the bone of the joint that each driver reads; empty where it reads none."""
    bpy.context.view_layer.update()
    return [
        chain.id_data.path_resolve(source_of(curve).rpartition(".")[0]).bone
        if curve.driver.is_valid
        else ""
        for curve in bpy.data.objects["Reader"].animation_data.drivers
    ]


def test_drivers_read_the_same_joints_after_a_chain_or_a_joint_before_theirs_is_removed():
    ob = make_limbs()
    give_joints(ob, "Right.1", "Right.0")
    activate(ob, 0)
    press(remove)
    (chain, _) = ob.chain_ik.chains
    assert read_bones(chain) == ["Right.1", "Right.0"]
    chain.active_joint_index = 0
    press(joint_remove)
    assert read_bones(chain) == ["", "Right.0"]


@pytest.mark.parametrize(
    ("given", "locked", "left"),
    [
        # Copied in another order.
        (("Right.1", "Right.0"), ("Right.0", "Right.1"), ["Right.1", "Right.0"]),
        # One that is not copied: its driver reads no other one.
        (("Right.0", "Right.1"), ("Right.1",), ["", "Right.1"]),
    ],
)
def test_drivers_read_the_joints_of_the_same_bones_after_these_are_copied(given, locked, left):
    ob = make_limbs()
    for bone in locked:
        ob.pose.bones[bone].lock_ik_y = True
    chain = give_joints(ob, *given)
    press(joints_copy)
    assert [joint.bone for joint in chain.joints] == list(locked)
    assert read_bones(chain) == left
