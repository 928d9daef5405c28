"""Whatever bones are called one after the other: every name in a chain means the bone it meant."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import bpy
import pytest

from blender_ik_addon.rig.planning.stored_text import bones_of_text
from tests.blender.setups import rigs
from tests.blender.setups.jointed_rigs import give
from tests.blender.setups.selecting import select_objects
from tests.helpers import make_rng

ARM_NAMES = ("Bone.0", "Bone.1", "Bone.2")
CONTROL_NAMES = ("Hand.0", "Elbow.0")
STEPS = 12
Names = tuple[str, ...]


def arm() -> bpy.types.Object:
    return bpy.data.objects["Arm"]


def controls() -> bpy.types.Object:
    return bpy.data.objects["Controls"]


def chain() -> bpy.types.PropertyGroup:
    return arm().chain_ik.chains[0]


def make_rig() -> None:
    """An arm with a joint of every bone, and a target and a pole that are bones of another one."""
    ob, others = rigs.make_rig(rigs.zigzag(3), "Arm"), rigs.make_armature("Controls")
    rigs.add_bones(others, [(0.6, 0.5, 1.2), (0.6, 0.5, 1.4)], prefix="Hand")
    rigs.add_bones(others, [(0.5, 2, 0.5), (0.5, 2, 0.7)], prefix="Elbow")
    made = rigs.add_chain(ob, "Bone.2", others, subtarget="Hand.0")
    made.pole_target, made.pole_subtarget = others, "Elbow.0"
    for name in ARM_NAMES:
        give(made, name, "BALL", x=(-150, 150))
    rigs.updated()
    select_objects(active=ob)
    bpy.ops.ed.undo_push(message="Made")


def named_in_chain() -> Names:
    """Return the names that a chain holds: of its tip, joints, target, pole and stored pose."""
    found = chain()
    joints = [joint.bone for joint in found.joints]
    stored = [bone.name for bone in bones_of_text(found.stored_pose)]
    return (found.bone, *joints, found.subtarget, found.pole_subtarget, *stored)


def of_bones() -> Names:
    """Return the same from the bones themselves, which keep their order in these armatures."""
    ours, theirs = arm().data.bones.keys(), controls().data.bones.keys()
    stored = ours if chain().stored_pose else ()
    goal = chain().subtarget if chain().target is None else theirs[0]
    return (ours[-1], *ours, goal, theirs[1], *stored)


def assert_named() -> None:
    assert named_in_chain() == of_bones()


def by_bone(ob: bpy.types.Object, pairs: Iterable[tuple[str, str]]) -> None:
    for name, other in pairs:
        ob.data.bones[name].name = other


def by_pose_bone(ob: bpy.types.Object, pairs: Iterable[tuple[str, str]]) -> None:
    rigs.enter(ob, "POSE")
    for name, other in pairs:
        ob.pose.bones[name].name = other


def in_edit_mode(ob: bpy.types.Object, pairs: Iterable[tuple[str, str]]) -> None:
    rigs.enter(ob, "EDIT")
    for name, other in pairs:
        ob.data.edit_bones[name].name = other
    rigs.enter(ob, "OBJECT")


def nothing(_is_on: bool) -> None:
    pass


def muted(is_on: bool) -> None:
    chain().mute = is_on


def at_rest(is_on: bool) -> None:
    arm().data.pose_position = "REST" if is_on else "POSE"


def without_target(is_on: bool) -> None:
    chain().target = None if is_on else controls()
    if not is_on:
        # Nothing tells whose bone it was meanwhile: it is chosen anew.
        chain().subtarget = controls().data.bones[0].name


def live_off(is_on: bool) -> None:
    bpy.context.scene.chain_ik.use_live = not is_on


WAYS = (by_bone, by_pose_bone, in_edit_mode)
STATES = (nothing, muted, at_rest, without_target, live_off)
SEQUENCES = {
    "there and back": [[("Bone.1", "A")], [("A", "Bone.1")]],
    "twice": [[("Bone.1", "A")], [("A", "B")]],
    "there, back and there": [[("Bone.1", "A")], [("A", "Bone.1")], [("Bone.1", "A")]],
    "swapped step by step": [[("Bone.1", "A")], [("Bone.2", "Bone.1")], [("A", "Bone.2")]],
    "swapped at once": [[("Bone.1", "A"), ("Bone.2", "Bone.1"), ("A", "Bone.2")]],
    "in a ring": [
        [("Bone.0", "A"), ("Bone.1", "Bone.0"), ("Bone.2", "Bone.1"), ("A", "Bone.2")],
        [("Bone.1", "B"), ("Bone.0", "Bone.1"), ("B", "Bone.0")],
    ],
}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("sequence", SEQUENCES)
def test_all_names_in_a_chain_follow_every_rename(sequence, way, state):
    make_rig()
    state(True)
    rigs.updated()
    for renames in SEQUENCES[sequence]:
        way(arm(), renames)
        rigs.updated()
    state(False)
    rigs.updated()
    assert_named()
    assert chain().status.startswith("Reached"), chain().status


def test_names_follow_while_the_armature_is_hidden():
    make_rig()
    arm().hide_viewport = True
    rigs.updated()
    for renames in SEQUENCES["swapped step by step"]:
        by_bone(arm(), renames)
        rigs.updated()
    arm().hide_viewport = False
    rigs.updated()
    assert_named()


@pytest.mark.parametrize("way", WAYS)
def test_bones_of_the_target_armature_are_followed_there_and_back_and_swapped(way):
    make_rig()
    for renames in (
        [("Hand.0", "A")],
        [("A", "Hand.0")],
        [("Hand.0", "A"), ("Elbow.0", "Hand.0"), ("A", "Elbow.0")],
    ):
        way(controls(), renames)
        rigs.updated()
        assert_named()


def test_a_bone_that_is_given_the_name_of_a_deleted_one_takes_its_place():
    make_rig()
    rigs.enter(arm(), "EDIT")
    bones = arm().data.edit_bones
    bones.remove(bones["Bone.2"])
    bones["Bone.1"].name = "Bone.2"
    rigs.enter(arm(), "OBJECT")
    rigs.updated()
    assert (chain().bone, chain().joints[0].bone) == ("Bone.2", "Bone.0")
    assert chain().status == (
        "Bone 'Bone.2' has two joints in this chain, of its own or from its parent bone:"
        " remove one of them."
    )
    chain().joints.remove(2)
    arm().update_tag()
    rigs.updated()
    assert chain().status.startswith("Reached"), chain().status


def test_a_bone_that_takes_the_place_of_another_does_not_take_its_name():
    make_rig()
    rigs.enter(controls(), "EDIT")
    hand, elbow = (controls().data.edit_bones[name] for name in CONTROL_NAMES)
    place = [hand.head.copy(), hand.tail.copy()]
    hand.head, hand.tail = (0.2, 0.4, 1.6), (0.2, 0.4, 1.8)
    elbow.head, elbow.tail = place
    rigs.enter(controls(), "OBJECT")
    rigs.updated()
    assert (chain().subtarget, chain().pole_subtarget) == CONTROL_NAMES


def test_a_new_bone_where_one_was_does_not_take_its_name():
    make_rig()
    rigs.enter(controls(), "EDIT")
    hand = controls().data.edit_bones["Hand.0"]
    new = controls().data.edit_bones.new("New")
    new.head, new.tail, new.roll = hand.head, hand.tail, hand.roll
    hand.head, hand.tail = (0.2, 0.4, 1.6), (0.2, 0.4, 1.8)
    rigs.enter(controls(), "OBJECT")
    rigs.updated()
    assert chain().subtarget == "Hand.0"
    # Nor while another bone is called what a third one was.
    by_bone(controls(), [("New", "A"), ("Elbow.0", "New")])
    rigs.updated()
    assert (chain().subtarget, chain().pole_subtarget) == ("Hand.0", "New")


@pytest.mark.parametrize("way", [by_bone, in_edit_mode])
def test_undo_and_redo_between_renames_leave_each_name_with_its_bone(way):
    make_rig()
    swap = [("Hand.0", "A"), ("Elbow.0", "Hand.0"), ("A", "Elbow.0")]
    steps = [
        (arm, [*pairs]) for pairs in SEQUENCES["swapped step by step"] + SEQUENCES["in a ring"]
    ]
    steps[2:2] = [(controls, swap), (controls, swap[:1]), (controls, [("A", "Hand.0")])]
    names = [of_bones()]
    for of, pairs in steps:
        way(of(), pairs)
        # As buttons do: the step is kept before the chain has followed.
        bpy.ops.ed.undo_push(message="Rename")
        rigs.updated()
        assert_named()
        names.append(of_bones())
    for step, others in (("undo", names[-2::-1]), ("redo", names[1:]), ("undo", names[-2::-1])):
        for expected in others:
            getattr(bpy.ops.ed, step)()
            rigs.updated()
            assert of_bones() == expected
            assert_named()


def random_renames(rng, names: Iterable[str]) -> list[tuple[str, str]]:
    """Return renames that lead from the names of bones to some order of these and new ones."""
    names = list(names)
    pool = [*names, "A", "B", 'Zed "1"', "Bone.1"]
    goals = rng.choice(sorted(set(pool)), len(names), replace=False).tolist()
    there = [(name, f"{i} between") for i, name in enumerate(names)]
    return [*there, *((f"{i} between", goal) for i, goal in enumerate(goals))]


@pytest.mark.parametrize("seed", range(12))
def test_names_follow_through_random_renames_states_and_undos(seed):
    rng = make_rng(seed)
    make_rig()
    on: set[Callable[[bool], None]] = set()
    for _ in range(STEPS):
        kind = rng.choice(["rename", "rename", "rename", "state", "undo", "redo"])
        if kind == "rename":
            ob = (arm, controls)[rng.integers(2)]()
            WAYS[rng.integers(3)](ob, random_renames(rng, ob.data.bones.keys()))
        elif kind == "state":
            state = STATES[rng.integers(len(STATES))]
            on ^= {state}
            state(state in on)
        elif getattr(bpy.ops.ed, kind).poll():
            try:
                getattr(bpy.ops.ed, kind)()
            except RuntimeError:
                continue  # There is nothing to be undone or redone.
        if kind in ("rename", "state"):
            # As buttons do: the step is kept before the chain has followed.
            bpy.ops.ed.undo_push(message=kind)
        rigs.updated()
        bpy.context.scene.chain_ik.use_live = True
        rigs.updated()
        assert_named()
