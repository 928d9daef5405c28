"""The list of chains: its active chain, the buttons beside it, and their undo steps."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import bpy
import numpy as np
import pytest

from blender_ik_addon.properties.chains import active_chain
from tests.blender.operators.test_characters import make_both_sides, mirror
from tests.blender.setups import rigs, selecting, tree_rigs
from tests.blender.setups.jointed_rigs import add_joint
from tests.blender.setups.rigs import make_collection
from tests.blender.setups.saved_rigs import link_saved, linked
from tests.blender.setups.selecting import press, refusal, select_bones, select_objects

add = partial(bpy.ops.pose.chain_ik_add, control="EMPTY")
remove = bpy.ops.pose.chain_ik_remove
restore = bpy.ops.pose.chain_ik_restore
store = bpy.ops.pose.chain_ik_store
solve = bpy.ops.pose.chain_ik_solve
compare = bpy.ops.pose.chain_ik_compare

TIPS = {"Arm": "Arm.1", "Leg": "Leg.2", "Tail": "Tail.3"}


def make_limbs(**bones: object) -> bpy.types.Object:
    """Return a posed rig with limbs of two, three and four bones beside each other."""
    ob = rigs.make_armature()
    for count, limb in enumerate(TIPS, start=2):
        beside = np.array([count, 0, 0])
        rigs.add_bones(ob, rigs.zigzag(count, seed=count) + beside, prefix=limb, **bones)
    rigs.turn_bones(ob, seed=4)
    return ob


def make_driven_limbs(**bones: object) -> tuple[bpy.types.Object, dict[str, tuple[float, ...]]]:
    """Return limbs with chains whose targets have moved, and the rotations before.

    The chain of the leg is the active one.
    """
    ob = make_limbs(**bones)
    before = rigs.rotations(ob)
    for tip in TIPS.values():
        selecting.select_bones(ob, [tip])
        press(add, use_pole=True)
    for chain in ob.chain_ik.chains:
        chain.target.location += chain.target.matrix_world.to_3x3().col[0] * 0.7
        chain.target.location.z -= 0.4
    rigs.change(ob.chain_ik, active_index=1)
    assert restored(ob, before) == []
    return ob, before


def restored(ob: bpy.types.Object, before: dict[str, tuple[float, ...]]) -> list[str]:
    """Return the limbs with exactly the rotations from before in all bones."""
    now = rigs.rotations(ob)
    return [limb for limb in TIPS if all(now[n] == before[n] for n in now if n.startswith(limb))]


def test_removed_chains_leave_no_anchors_their_controls_stay_and_another_is_active():
    ob, _ = make_driven_limbs()
    for chain in ob.chain_ik.chains:
        rigs.set_each((chain.target, chain.pole_target), hide_render=True)
    bpy.context.view_layer.update()
    objects = set(bpy.data.objects.keys())
    for left, index in ((4, 1), (2, 0), (0, 0)):
        before = rigs.rotations(ob)
        press(remove, keep_pose=left == 2)
        assert (rigs.rotations(ob) == before) == (left == 2)
        assert len(selecting.anchors(ob)) == left
        assert ob.chain_ik.active_index == index
    assert not ob.chain_ik.chains
    assert set(bpy.data.objects.keys()) == objects


def test_restoring_mutes_the_active_chain_or_all_and_gives_their_exact_pose_back():
    ob, before = make_driven_limbs()
    ob.pose.bones["Arm.0"].location = (0.1, 0.2, 0.3)
    press(restore)
    assert [chain.mute for chain in ob.chain_ik.chains] == [False, True, False]
    assert restored(ob, before) == ["Leg"]
    # A pose outside the chain stays.
    np.testing.assert_allclose(ob.pose.bones["Arm.0"].location, (0.1, 0.2, 0.3), atol=1e-6)
    press(restore, use_all=True)
    assert all(chain.mute for chain in ob.chain_ik.chains)
    assert rigs.rotations(ob) == before


def test_without_a_chain_the_buttons_ask_for_one():
    expected = "Select an armature that has a chain, and the chain in its list."
    suffixes = ("joint_add", "joint_remove", "joints_copy", "joint_to_selected", "joint_preset")
    joints = [getattr(bpy.ops.pose, f"chain_ik_{name}") for name in suffixes]
    for operator in (compare, remove, restore, store, *joints):
        selecting.select_objects(active=None)
        assert selecting.refusal(operator) == expected
        selecting.select_objects(active=rigs.make_armature())
        assert selecting.refusal(operator) == expected


def test_buttons_refuse_a_linked_armature_and_say_what_to_do(tmp_path):
    make_driven_limbs()
    selecting.select_objects(active=linked(tmp_path / "library.blend", "Rig")[0])
    for operator in (add, solve, compare, remove, restore, store):
        expected = "This armature is linked: make a library override of it first."
        assert selecting.refusal(operator) == expected


def drag() -> None:
    bpy.data.objects["Arm.1 Target"].location.z += 0.3
    bpy.ops.ed.undo_push(message="Drag")


def copy_joint() -> None:
    selecting.select_bones(bpy.data.objects["Rig"], ["Leg.0", "Leg.1"])
    press(bpy.ops.pose.chain_ik_joint_to_selected)


ACTIONS = {
    "add": partial(press, add),
    "add with a pole": partial(press, bpy.ops.pose.chain_ik_add, control="BONE", use_pole=True),
    "remove": partial(press, remove),
    "remove and keep the pose": partial(press, remove, keep_pose=True),
    "restore": partial(press, restore, use_all=True),
    "store": partial(press, store),
    "solve": partial(press, solve),
    "switch": partial(press, bpy.ops.pose.chain_ik_switch, to="FK"),
    "drag": drag,
    "move a target": partial(press, bpy.ops.pose.chain_ik_move_target, location=(0.5, -0.4, 1.1)),
    "bake": partial(press, bpy.ops.pose.chain_ik_bake, frame_start=1, frame_end=3),
    "convert": partial(
        press, bpy.ops.pose.chain_ik_convert, direction="TO_CONSTRAINTS", use_all=True
    ),
    "add a joint": partial(press, bpy.ops.pose.chain_ik_joint_add),
    "remove a joint": partial(press, bpy.ops.pose.chain_ik_joint_remove),
    "copy joints": partial(press, bpy.ops.pose.chain_ik_joints_copy),
    "copy a joint": copy_joint,
    "give a joint a preset": partial(press, bpy.ops.pose.chain_ik_joint_preset, preset="TAIL"),
}


@pytest.mark.parametrize("action", ACTIONS)
def test_one_undo_takes_an_action_back_and_one_redo_brings_it_again(action):
    ob, _ = make_driven_limbs()
    ob.chain_ik.active_index = 2
    press(remove)  # the chain of the tail, whose bones the actions use
    add_joint(ob.chain_ik.chains[1], "Leg.1", "CONE", x=(1, 2))
    ob.pose.bones["Leg.2"].lock_ik_x = True
    selecting.select_bones(ob, ["Leg.0", "Tail.0", "Tail.1", "Tail.2"])
    bpy.ops.ed.undo_push(message="Before")
    before = state_and_keys()
    ACTIONS[action]()
    after = state_and_keys()
    assert after != before
    for step, expected in (("undo", before), ("redo", after), ("undo", before)):
        getattr(bpy.ops.ed, step)()
        shown = state_and_keys()
        assert selecting.without_rotations(shown) == selecting.without_rotations(expected)
        for what in expected.keys() - selecting.without_rotations(expected).keys():
            assert shown[what].keys() == expected[what].keys()
            for bone, rotation in expected[what].items():
                # Another solve has float32 noise.
                np.testing.assert_allclose(shown[what][bone], rotation, atol=5e-6)


def state_and_keys() -> dict[str, object]:
    ob = bpy.data.objects["Rig"]
    joints = [(joint.bone, joint.max_x) for chain in ob.chain_ik.chains for joint in chain.joints]
    stored = [chain.stored_pose for chain in ob.chain_ik.chains]
    return {**selecting.state(), "keys": rigs.keys_of(ob), "joints": joints, "stored": stored}


pole_add = partial(bpy.ops.pose.chain_ik_pole_add, control="EMPTY")
setup = partial(bpy.ops.pose.chain_ik_setup, control="EMPTY")


def make_arm(*collections: bpy.types.Collection) -> bpy.types.Object:
    """Return an arm with selected bones, linked to these collections only."""
    ob = rigs.make_rig(rigs.ARM, names=("upper_arm.L", "forearm.L"))
    bpy.context.scene.collection.objects.unlink(ob)
    for collection in collections:
        collection.objects.link(ob)
    selecting.select_bones(ob, ["upper_arm.L", "forearm.L"])
    return ob


def collections_of_controls(ob: bpy.types.Object) -> set[str]:
    """Return the names of the collections of target and pole."""
    (chain,) = ob.chain_ik.chains
    controls = (chain.target, chain.pole_target)
    return {folder.name for ob in controls if ob for folder in ob.users_collection}


@pytest.mark.parametrize("press_all", [(setup, pole_add), (add,)])
def test_new_empties_go_where_the_armature_is(press_all: tuple[Callable[..., set[str]], ...]):
    ob = make_arm(make_collection("Hero", make_collection("Cast")))
    for operator in press_all:
        press(operator)
    assert ob.chain_ik.chains[0].pole_target is not None
    assert collections_of_controls(ob) == {"Hero"}


def test_empties_go_into_no_collection_that_the_scene_lacks_or_hides():
    """Blender would not evaluate empties there, so the chain would not follow them."""
    elsewhere = bpy.data.collections.new("A elsewhere")
    excluded, hidden, shown = (make_collection(name) for name in ("B", "C", "D"))
    ob = make_arm(elsewhere, excluded, hidden, shown)
    below = bpy.context.view_layer.layer_collection.children
    below["B"].exclude, below["C"].hide_viewport = True, True
    bpy.context.view_layer.update()
    press(add)
    assert collections_of_controls(ob) == {"D"}


def test_beside_an_override_empties_go_to_the_scene_collection(tmp_path: Path):
    """Blender adds nothing to overridden collections."""
    make_arm(make_collection("Hero"))
    (collection,) = link_saved(tmp_path / "hero.blend", "collections", "Hero")
    scene, layer = bpy.context.scene, bpy.context.view_layer
    scene.collection.children.link(collection)
    collection.override_hierarchy_create(scene, layer, do_fully_editable=True)
    (ob,) = (rig for rig in bpy.data.objects if rig.override_library and rig.pose)
    selecting.select_objects(active=ob)
    press(setup)
    assert collections_of_controls(ob) == {scene.collection.name}


def click(bone: str) -> None:
    """Make a bone active."""
    data = bpy.data.objects["Y"].data
    data.bones.active = data.bones[bone]
    # As Blender does on a click: it reports the selection.
    rigs.tagged(data)


def click_object(ob: bpy.types.Object) -> None:
    select_objects(active=ob)
    rigs.updated()


def choose(name: str) -> None:
    """Choose a chain in the list."""
    settings = bpy.data.objects["Y"].chain_ik
    rigs.change(settings, active_index=settings.chains.find(name))


def active() -> str:
    settings = bpy.data.objects["Y"].chain_ik
    return settings.chains[settings.active_index].name


@pytest.fixture
def y_rig() -> tree_rigs.Rig:
    """Return a rig with the chains Left and Right, and two bones beside it, in pose mode."""
    rig = tree_rigs.make_y().follow()
    for name in ("Control", "Free"):
        rigs.add_bones(rig.ob, ((2, 0, 0), (2, 0, 0.3)), prefix=name)
    rigs.enter(rig.ob, "POSE")
    click("Trunk.0")
    return rig


def test_a_click_on_a_bone_makes_its_chain_active_unless_it_has_none_or_the_active_one(y_rig):
    for tip in ("Right", "Left", "Right"):
        click(f"{tip}.1")
        assert active() == tip
    for bone in ("Trunk.1", "Free.0"):
        click(bone)
        assert active() == "Right"
    # A control bone belongs to the chain that follows it.
    chain = y_rig.chain("Left")
    chain.target, chain.subtarget = y_rig.ob, "Control.0"
    click("Control.0")
    assert active() == "Left"


def test_a_click_on_a_target_chooses_its_chain_in_the_list_and_for_panels(y_rig):
    rigs.enter(y_rig.ob, "OBJECT")
    choose("Left")
    click_object(y_rig.target("Right"))
    assert active() == "Right"
    assert active_chain(bpy.context) == y_rig.chain("Right")
    # The chain stays active after a click on the armature.
    click_object(y_rig.ob)
    assert active_chain(bpy.context) == y_rig.chain("Right")
    # A shared pole belongs to the active chain as well.
    pole = rigs.make_empty("Pole")
    rigs.set_each(y_rig.ob.chain_ik.chains, pole_target=pole)
    click_object(pole)
    assert active() == "Right"
    # If two armatures follow one target, the chain is one of the selected armature.
    other = rigs.make_rig(name="Other")
    rigs.add_chain(other, "Bone.1", y_rig.target("Right"), name="Reach")
    for owner, name in ((y_rig.ob, "Right"), (other, "Reach")):
        select_objects(owner, active=y_rig.target("Right"))
        rigs.updated()
        assert active_chain(bpy.context) == owner.chain_ik.chains[name]
    # If two chains share a target, both can be chosen and removed.
    select_objects(y_rig.ob, active=y_rig.target("Right"))
    y_rig.chain("Left").target = y_rig.target("Right")
    for name in ("Right", "Left"):
        choose(name)
        assert active_chain(bpy.context) == y_rig.chain(name)
    assert bpy.ops.pose.chain_ik_remove() == {"FINISHED"}
    assert y_rig.ob.chain_ik.chains.keys() == ["Right"]


def step(name: str) -> None:
    """Store an undo step, as Blender does: before anything reacts to the change."""
    bpy.ops.ed.undo_push(message=name)


def back() -> str:
    """Undo, and return the name of the active chain."""
    bpy.ops.ed.undo()
    rigs.updated()
    return active()


def test_undo_keeps_the_chain_of_the_active_bone_active(y_rig):
    click("Left.1")
    y_rig.ob.data.bones.active = y_rig.ob.data.bones["Right.1"]
    y_rig.ob.chain_ik.active_index = y_rig.ob.chain_ik.chains.find("Left")
    step("Select")
    click("Left.1")
    click("Right.1")
    assert active() == "Right"
    rigs.shift(y_rig.ob.pose.bones["Trunk.0"], x=0.1)
    step("Move")
    assert back() == "Right"


@pytest.mark.parametrize("what", ["bone", "target"])
def test_undo_and_redo_leave_a_choice_in_the_list_while_the_same_thing_is_active(y_rig, what):
    if what == "bone":
        click("Right.1")
    else:
        rigs.enter(y_rig.ob, "OBJECT")
        click_object(y_rig.target("Right"))
    step("Select")
    choose("Left")
    y_rig.chain("Left").influence = 0.5
    step("Influence")
    assert back() == "Left"
    choose("Right")
    bpy.ops.ed.redo()
    rigs.updated()
    assert active() == "Right"


def test_undo_of_a_click_activates_the_chain_of_the_bone_that_is_active_again(y_rig):
    click("Right.1")
    # As in a step that was stored before the click changed the active chain.
    y_rig.ob.chain_ik.active_index = y_rig.ob.chain_ik.chains.find("Left")
    step("Right")
    click("Left.1")
    step("Left")
    assert back() == "Right"


def test_a_second_chain_on_the_same_bones_is_mirrored_beside_the_counterpart_of_the_first():
    ob, sentence = make_both_sides(), "Chain '{}' drives the other side already: remove it first."
    for names in (["upper_arm.L"], ["hand.L", "upper_arm.L", "forearm.L"]):
        select_bones(ob, names)
        press(add, control="BONE")
        press(mirror)
        assert refusal(mirror) == sentence.format(names[0])
    assert ob.chain_ik.chains.keys() == ["upper_arm.L", "upper_arm.R", "hand.L", "hand.R"]
    for index in (3, 0):
        ob.chain_ik.active_index = index
        press(remove)
    ob.chain_ik.active_index = 1
    # Nothing is its counterpart any more.
    assert refusal(mirror) == sentence.format("upper_arm.R")
