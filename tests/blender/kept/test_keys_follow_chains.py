"""Keys, drivers and keying sets that stay with their chains when other chains are removed."""

from collections.abc import Callable
from functools import partial

import bpy
import numpy as np
import pytest

from blender_ik_addon.properties.chain_lists import remove_chain
from tests.blender.setups import rigs
from tests.blender.setups.jointed_rigs import add_joint
from tests.blender.setups.keyed_limbs import (
    HAS_SLOTS,
    INFLUENCES,
    NAMES,
    activate,
    assign_action,
    key_chains,
    keyed,
    make_limbs,
    played,
    read_by,
    source_of,
    strip_of,
)
from tests.blender.setups.saved_rigs import link_saved
from tests.blender.setups.selecting import press, refusal, state

add = partial(bpy.ops.pose.chain_ik_add, control="EMPTY")
remove = bpy.ops.pose.chain_ik_remove
joint_remove = bpy.ops.pose.chain_ik_joint_remove
joints_copy = bpy.ops.pose.chain_ik_joints_copy


def key_by_name(ob: bpy.types.Object, index: int, name: str) -> None:
    """Key the weight of a chain, with a path that has its name."""
    rigs.key(ob, f"chain_ik.chains[{index}].weight", {1: 0.5})
    rigs.curves_of(ob)[-1].data_path = f'chain_ik.chains["{name}"].weight'


@pytest.mark.parametrize("name", NAMES)
def test_keys_follow_and_those_of_the_removed_chain_go(name):
    ob = make_limbs()
    action = key_chains(ob)
    rigs.key(ob, 'pose.bones["Left.0"].location', {1: (0.5, 0.0, 0.0)})
    bone_keys = {path: value for path, value in keyed(action).items() if path.startswith("pose")}
    assert len(bone_keys) == 3
    activate(ob, NAMES.index(name))
    rigs.go_to(2)
    press(remove)
    # The same update solves it by its keys: only the right chain has an influence of one.
    if name != "Right":
        gap = rigs.tail(ob, "Right.1") - rigs.position(bpy.data.objects["Right Target"])
        assert np.linalg.norm(gap) < rigs.TARGET_GAP
    left = {key: value for key, value in INFLUENCES.items() if key != name}
    assert played(ob) == left
    expected = {f"chain_ik.chains[{i}].influence": value for i, value in enumerate(left.values())}
    assert keyed(action) == expected | bone_keys


def test_force_settings_and_paths_by_name_follow_too_but_to_no_other_chain_of_that_name():
    ob = make_limbs()
    rigs.key(ob, "chain_ik.chains[1].force.gravity", {1: 0.5})
    rigs.key(ob, "chain_ik.chains[2].force.gravity", {1: 0.75})
    key_by_name(ob, 2, "Tail")
    key_by_name(ob, 1, "Right")
    activate(ob, 1)
    press(remove)
    expected = {"chain_ik.chains[1].force.gravity": 0.75, 'chain_ik.chains["Tail"].weight': 0.5}
    assert keyed(ob.animation_data.action) == expected
    ob.chain_ik.chains["Tail"].name = "Left"
    key_by_name(ob, 0, "Left")
    activate(ob, 0)
    press(remove)
    assert 'chain_ik.chains["Left"].weight' not in keyed(ob.animation_data.action)


def move_to_unused_strip(ob: bpy.types.Object) -> None:
    strip_of(ob).mute = True
    ob.animation_data.nla_tracks[0].mute = True
    ob.animation_data.use_nla = False


def move_to_three_strips(ob: bpy.types.Object) -> None:
    first = strip_of(ob)
    for start in (40, 80):
        strip = ob.animation_data.nla_tracks[0].strips.new("More", start, first.action)
        if HAS_SLOTS:
            strip.action_slot = first.action_slot


def move_to_meta_strip(ob: bpy.types.Object) -> None:
    strip_of(ob).select = True
    window = bpy.context.window_manager.windows[0]
    area = window.screen.areas[0]
    area.type = "NLA_EDITOR"
    region = next(region for region in area.regions if region.type == "WINDOW")
    with bpy.context.temp_override(window=window, area=area, region=region):
        bpy.ops.nla.meta_add()
    assert [strip.type for strip in ob.animation_data.nla_tracks[0].strips] == ["META"]


def move_behind_tweak_mode(ob: bpy.types.Object) -> None:
    data = ob.animation_data
    data.nla_tracks.new().strips.new("Other", 1, bpy.data.actions.new("Other"))
    data.use_tweak_mode = True
    assert data.action.name == "Other"


PLACES: dict[str, Callable[[bpy.types.Object], object]] = {
    "active": lambda ob: None,
    "strip": strip_of,
    "unused strip": move_to_unused_strip,
    "three strips": move_to_three_strips,
    "strip in a meta strip": move_to_meta_strip,
    "behind tweak mode": move_behind_tweak_mode,
}


@pytest.mark.parametrize("place", PLACES)
def test_keys_follow_wherever_the_object_holds_their_action(place):
    ob = make_limbs()
    action = key_chains(ob)
    PLACES[place](ob)
    press(remove)
    assert keyed(action) == {
        "chain_ik.chains[0].influence": 1.0,
        "chain_ik.chains[1].influence": 0.25,
    }


def share_action(ob: bpy.types.Object, *names: str, use_new_slot: bool = False) -> bpy.types.Object:
    """Return another rig that plays the same action, optionally a new slot of it."""
    other = make_limbs("Other", *names)
    action = ob.animation_data.action
    slot = action.slots.new(id_type="OBJECT", name="Other") if use_new_slot else None
    assign_action(other, action, slot)
    if use_new_slot:
        key_chains(other)
    activate(ob, 0)
    return other


@pytest.mark.skipif(not HAS_SLOTS, reason="slots came with Blender 4.4")
def test_keys_of_another_slot_stay_as_they_are():
    ob = make_limbs()
    action = key_chains(ob)
    other = share_action(ob, use_new_slot=True)
    press(remove)
    slots = [owner.animation_data.action_slot for owner in (ob, other)]
    assert [len(keyed(action, slot)) for slot in slots] == [2, 3]
    assert played(ob) == {"Right": 1.0, "Tail": 0.25}
    assert played(other) == INFLUENCES


@pytest.mark.parametrize("place", ["active", "unused strip", "behind tweak mode"])
def test_keys_that_play_on_another_rig_as_well_keep_the_chain_from_being_removed(place):
    ob = make_limbs()
    action = key_chains(ob)
    other = share_action(ob)
    PLACES[place](other)
    rigs.go_to(2)
    keys = keyed(action)
    assert refusal(remove) == (
        "The action 'RigAction' also animates 'Other', so its keys cannot follow the chains of"
        " only one of them: give each its own action first."
    )
    assert keyed(action) == keys
    other.animation_data_clear()
    press(remove)
    assert played(ob) == {"Right": 1.0, "Tail": 0.25}


@pytest.mark.parametrize(
    ("influences", "others", "removed"),
    [({"Left": 0.5, "Right": 1.0}, (), 2), ({"Right": 0.5, "Tail": 0.25}, ("Left",), 0)],
)
def test_a_shared_action_is_no_obstacle_if_it_animates_no_chain_that_moves_or_that_the_other_has(
    influences, others, removed
):
    ob = make_limbs()
    key_chains(ob, **influences)
    rigs.key_bones(ob)
    share_action(ob, *others)
    activate(ob, removed)
    press(remove)
    assert influences.items() <= played(ob).items()


@pytest.mark.parametrize("place", ["active", "unused strip"])
def test_keys_of_a_linked_action_keep_the_chain_from_being_removed(place, tmp_path):
    action = key_chains(make_limbs())
    (action,) = link_saved(tmp_path / "library.blend", "actions", action.name)
    ob = make_limbs()
    assign_action(ob, action)
    PLACES[place](ob)
    rigs.go_to(2)
    keys = keyed(action)
    assert refusal(remove) == (
        "The action 'RigAction' is linked, so its keys cannot follow the chains: make it local"
        " first."
    )
    assert keyed(action) == keys


@pytest.mark.parametrize(("active", "then"), [(0, 0), (1, 0), (2, 1)])
def test_the_active_chain_stays_active_when_another_one_is_removed(active, then):
    ob = make_limbs()
    ob.chain_ik.active_index = active
    removed = 0 if active else 1
    remove_chain(ob.chain_ik.chains[removed], keep_pose=False)
    assert ob.chain_ik.active_index == then
    assert ob.chain_ik.chains[then].name == NAMES[active]


def test_keys_that_wait_for_a_new_chain_are_reported_and_not_deleted(capfd):
    ob = make_limbs()
    key_chains(ob, Left=0.5, Tail=0.25)
    press(remove)
    press(add, bone="Left.1")
    assert played(ob) == {"Right": 1.0, "Tail": 0.25, "Left.1": 1.0}
    assert "of a removed chain" not in capfd.readouterr().out
    for index in (2, 1):
        ob.chain_ik.chains.remove(index)  # Scripts may do this: it leaves the keys behind.
    keys = keyed(ob.animation_data.action)
    press(add, bone="Tail.1")
    assert keyed(ob.animation_data.action) == keys
    assert "of a removed chain" in capfd.readouterr().out


def make_node_tree() -> bpy.types.ID:
    """Return the node tree of the compositor; before Blender 5.0 no list of data contains it."""
    scene = bpy.context.scene
    if hasattr(scene, "compositing_node_group"):
        tree = bpy.data.node_groups.new("Reader", "CompositorNodeTree")
        scene.compositing_node_group = tree
    else:
        scene.use_nodes = True
        tree = scene.node_tree
    tree.nodes.new("CompositorNodeExposure").name = "Exposure"
    return tree


def test_drivers_follow_on_both_ends_and_those_of_the_removed_chain_go():
    ob, other, reader = make_limbs(), make_limbs("Other"), rigs.make_empty("Reader")
    for index, value in enumerate(INFLUENCES.values()):
        ob.driver_add(f"chain_ik.chains[{index}].influence").driver.expression = str(value)
    bone = ob.driver_add('pose.bones["Left.0"].location', 0)
    ob.chain_ik.chains[1].weight = 0.75
    # The driver of a removed chain goes too, though it reads a chain whose index changes.
    for index in (2, 0):
        read_by(ob, f"chain_ik.chains[{index}].weight", ob, "chain_ik.chains[1].weight")
    read_by(reader, "location", ob, "chain_ik.chains[2].weight", 0)
    of_other = read_by(reader, "location", other, "chain_ik.chains[1].influence", 1)
    tree = make_node_tree()
    of_node = read_by(
        tree, 'nodes["Exposure"].inputs[1].default_value', ob, "chain_ik.chains[1].influence"
    )
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
    assert source_of(of_node) == "chain_ik.chains[0].influence"


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
    output = capfd.readouterr().out
    text = "Drivers of Reader read settings that were removed: give these drivers another input."
    assert text in output


def test_a_keying_set_keys_the_same_chains_as_before():
    ob = make_limbs()
    paths = bpy.context.scene.keying_sets.new(idname="Set", name="Set").paths
    for index in range(3):
        paths.add(ob, f"chain_ik.chains[{index}].influence")
    other = paths.add(make_limbs("Other"), "chain_ik.chains[1].influence")
    activate(ob, 1)
    press(remove)
    keyed_paths = [path.data_path for path in paths if path.id == ob]
    assert keyed_paths == ["chain_ik.chains[0].influence", "chain_ik.chains[1].influence"]
    assert other.data_path == "chain_ik.chains[1].influence"


def read_names() -> list[object]:
    """Return keys, drivers and their sources, chains and joints, all by name."""
    ob, reader = bpy.data.objects["Rig"], bpy.data.objects["Reader"]
    joints = [joint.bone for chain in ob.chain_ik.chains for joint in chain.joints]
    curves = [*ob.animation_data.drivers, *reader.animation_data.drivers]
    driven = sorted((curve.data_path, source_of(curve)) for curve in curves)
    # Poses are left out: another solve may change them by the noise of float32.
    chains = {name: value for name, value in state().items() if name.endswith("chains")}
    return [driven, chains, played(ob), keyed(ob.animation_data.action), joints]


@pytest.mark.parametrize("operator", [remove, joint_remove, joints_copy])
def test_one_undo_gives_keys_and_drivers_back_and_one_redo_takes_them_again(operator):
    ob = make_limbs()
    key_chains(ob)
    for bone in ("Left.1", "Left.0"):
        add_joint(ob.chain_ik.chains[0], bone, "CONE")
    ob.pose.bones["Left.0"].lock_ik_x = True
    reader = rigs.make_empty("Reader")
    for index, path in enumerate(("chains[1].weight", "chains[0].weight")):
        read_by(reader, "location", ob, f"chain_ik.{path}", index)
    read_by(reader, "location", ob, "chain_ik.chains[0].joints[1].cone_angle", 2)
    read_by(ob, "chain_ik.chains[2].weight", ob, "chain_ik.chains[1].weight")
    read_by(ob, "chain_ik.chains[0].soft_distance", ob, "chain_ik.chains[1].soft_distance")
    bpy.ops.ed.undo_push(message="Made")
    before = read_names()
    press(operator)
    after = read_names()
    assert before[0] != after[0]
    for step, expected in ((bpy.ops.ed.undo, before), (bpy.ops.ed.redo, after)) * 2:
        step()
        assert read_names() == expected


def add_joints(ob: bpy.types.Object, *bones: str) -> bpy.types.PropertyGroup:
    """Add joints to the second chain, and drivers that read their cone angles; return the chain."""
    activate(ob, 1)
    chain = ob.chain_ik.chains[1]
    reader = rigs.make_empty("Reader")
    for index, bone in enumerate(bones):
        add_joint(chain, bone, "CONE", cone=10.0 * (index + 1))
        read_by(reader, "location", ob, f"chain_ik.chains[1].joints[{index}].cone_angle", index)
    return chain


def read_bones(chain: bpy.types.PropertyGroup) -> list[str]:
    """Return the bone of the joint that each driver reads; empty if it reads none."""
    bpy.context.view_layer.update()
    return [
        chain.id_data.path_resolve(source_of(curve).rpartition(".")[0]).bone
        if curve.driver.is_valid
        else ""
        for curve in bpy.data.objects["Reader"].animation_data.drivers
    ]


def test_drivers_read_the_same_joints_after_a_chain_or_a_joint_before_theirs_is_removed():
    ob = make_limbs()
    add_joints(ob, "Right.1", "Right.0")
    activate(ob, 0)
    press(remove)
    (chain, _) = ob.chain_ik.chains
    assert read_bones(chain) == ["Right.1", "Right.0"]
    chain.active_joint_index = 0
    press(joint_remove)
    assert read_bones(chain) == ["", "Right.0"]


@pytest.mark.parametrize(
    ("bones", "locked", "read"),
    [
        # The joints are copied in another order.
        (("Right.1", "Right.0"), ("Right.0", "Right.1"), ["Right.1", "Right.0"]),
        # One joint is not copied: its driver then reads no other joint.
        (("Right.0", "Right.1"), ("Right.1",), ["", "Right.1"]),
    ],
)
def test_drivers_read_the_joints_of_the_same_bones_after_these_are_copied(bones, locked, read):
    ob = make_limbs()
    for bone in locked:
        ob.pose.bones[bone].lock_ik_y = True
    chain = add_joints(ob, *bones)
    press(joints_copy)
    assert [joint.bone for joint in chain.joints] == list(locked)
    assert read_bones(chain) == read
