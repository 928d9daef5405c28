"""Renamed and changed bones: chains follow the same bones, and cached skeletons are replaced."""

from collections.abc import Callable, Iterable

import bpy
import numpy as np
import pytest

import blender_ik_addon
from blender_ik_addon.rig.planning import known_skeletons
from blender_ik_addon.rig.planning.known_skeletons import MAX_SKELETONS, skeleton_of
from blender_ik_addon.rig.planning.stored_text import bones_of_text
from tests.blender.setups import rigs
from tests.blender.setups.jointed_rigs import add_joint
from tests.blender.setups.renders import render_frames
from tests.blender.setups.saved_rigs import reopen
from tests.blender.setups.selecting import select_objects
from tests.helpers import make_rng

ARM_BONES = ("Bone.0", "Bone.1", "Bone.2")
CONTROL_BONES = ("Hand.0", "Elbow.0")
STEPS = 12
NEW_PLACE = ((0.2, 0.4, 1.6), (0.2, 0.4, 1.8))
Names = tuple[str, ...]
Pairs = Iterable[tuple[str, str]]


def arm() -> bpy.types.Object:
    return bpy.data.objects["Arm"]


def controls() -> bpy.types.Object:
    return bpy.data.objects["Controls"]


def chain() -> bpy.types.PropertyGroup:
    return arm().chain_ik.chains[0]


@pytest.fixture(autouse=True)
def rig(empty_scene: None) -> None:
    """An arm with a joint for every bone; its target and pole are bones of another armature."""
    ob, others = rigs.make_rig(rigs.zigzag(3), "Arm"), rigs.make_armature("Controls")
    rigs.add_bones(others, [(0.6, 0.5, 1.2), (0.6, 0.5, 1.4)], prefix="Hand")
    rigs.add_bones(others, [(0.5, 2, 0.5), (0.5, 2, 0.7)], prefix="Elbow")
    arm_chain = rigs.add_chain(ob, "Bone.2", others, subtarget="Hand.0")
    arm_chain.pole_target, arm_chain.pole_subtarget = others, "Elbow.0"
    for name in ARM_BONES:
        add_joint(arm_chain, name, "BALL", x=(-150, 150))
    rigs.updated()
    select_objects(active=ob)
    bpy.ops.ed.undo_push(message="Made")


def names_in_chain() -> Names:
    """Return the bone names in the chain: tip, joints, target, pole and stored pose."""
    owner = chain()
    joints = [joint.bone for joint in owner.joints]
    stored = [bone.name for bone in bones_of_text(owner.stored_pose)]
    return (owner.bone, *joints, owner.subtarget, owner.pole_subtarget, *stored)


def names_of_bones() -> Names:
    """Return the same names, read from the bones: their order in these armatures is fixed."""
    arm_bones, control_bones = arm().data.bones.keys(), controls().data.bones.keys()
    stored = arm_bones if chain().stored_pose else ()
    goal = chain().subtarget if chain().target is None else control_bones[0]
    return (arm_bones[-1], *arm_bones, goal, control_bones[1], *stored)


def assert_follows(hand: str) -> None:
    depsgraph = rigs.shift(controls().pose.bones[hand], x=0.15)
    assert chain().status.startswith("Reached"), chain().status
    goal = rigs.head(controls(), hand, depsgraph)
    np.testing.assert_allclose(rigs.tail(arm(), chain().bone, depsgraph), goal, atol=1e-5)


def rename_bones(ob: bpy.types.Object, pairs: Pairs) -> None:
    for name, other in pairs:
        ob.data.bones[name].name = other


def rename_pose_bones(ob: bpy.types.Object, pairs: Pairs) -> None:
    rigs.enter(ob, "POSE")
    for name, other in pairs:
        ob.pose.bones[name].name = other


def rename_in_edit_mode(ob: bpy.types.Object, pairs: Pairs) -> None:
    with rigs.editing(ob) as bones:
        for name, other in pairs:
            bones[name].name = other


def remove_target(is_on: bool) -> None:
    chain().target = None if is_on else controls()
    if not is_on:
        # Without a target object nothing tells whose bone it was: choose it again.
        chain().subtarget = controls().data.bones[0].name


WAYS = (rename_bones, rename_pose_bones, rename_in_edit_mode)
STATES = (
    lambda is_on: setattr(chain(), "mute", is_on),
    lambda is_on: setattr(arm().data, "pose_position", "REST" if is_on else "POSE"),
    remove_target,
    lambda is_on: setattr(bpy.context.scene.chain_ik, "use_live", not is_on),
)


def plan_renames(names: Iterable[str], goals: Iterable[str]) -> list[tuple[str, str]]:
    """Return pairs (old name, new name), with detours, as bones may swap their names."""
    pairs = list(enumerate(zip(names, goals, strict=True)))
    detours = [(name, f"{i} between") for i, (name, _) in pairs]
    return [*detours, *((f"{i} between", goal) for i, (_, goal) in pairs)]


def test_a_bone_with_the_name_of_a_deleted_one_takes_its_place():
    with rigs.editing(arm()) as bones:
        bones.remove(bones["Bone.2"])
        bones["Bone.1"].name = "Bone.2"
    rigs.updated()
    assert (chain().bone, chain().joints[0].bone) == ("Bone.2", "Bone.0")
    assert chain().status.startswith("Two joints of this chain limit bone 'Bone.2'")


@pytest.mark.parametrize(("is_new", "is_exchange"), [(False, False), (True, False), (False, True)])
def test_a_bone_that_takes_the_place_of_another_does_not_take_its_name(is_new, is_exchange):
    with rigs.editing(controls()) as bones:
        hand, other = bones["Hand.0"], bones.new("New") if is_new else bones["Elbow.0"]
        # Applying a negative scale exchanges the places of the sides of a symmetric rig.
        place = (other.head.copy(), other.tail.copy()) if is_exchange else NEW_PLACE
        other.head, other.tail, other.roll = hand.head, hand.tail, hand.roll
        hand.head, hand.tail = place
    rigs.updated()
    assert (chain().subtarget, chain().pole_subtarget) == CONTROL_BONES
    if is_new:
        # Nor does it while another bone takes the name of a third one.
        rename_bones(controls(), [("New", "A"), ("Elbow.0", "New")])
        rigs.updated()
        assert (chain().subtarget, chain().pole_subtarget) == ("Hand.0", "New")


def rest_of(ob: bpy.types.Object, name: str) -> tuple[float, ...]:
    return sum(map(tuple, ob.data.bones[name].matrix_local), ())


@pytest.mark.parametrize("edit", [("roll", 0.7), ("tail", (0.1, 0.2, 0.9))], ids=lambda e: e[0])
def test_bones_are_followed_if_a_bone_above_them_is_edited_in_the_same_session(edit):
    rigs.change(chain(), mute=True)
    arm().pose.bones["Bone.1"].rotation_quaternion = (0.8, 0.6, 0, 0)
    for ob, names in ((arm(), ARM_BONES), (controls(), CONTROL_BONES)):
        rigs.add_bones(ob, [(0, 0, 0), (0.3, 0.1, 0.8)], names=["Above"])
        with rigs.editing(ob) as bones:
            for name in names:
                bones[name].roll = 0.3
                bones[name].parent = bones[name].parent or bones["Above"]
    rigs.change(chain(), mute=False)
    before = names_in_chain()
    for ob, name in ((arm(), "Bone.1"), (controls(), "Hand.0")):
        rest = rest_of(ob, name)
        with rigs.editing(ob) as bones:
            setattr(bones["Above"], *edit)
            for bone in bones:
                bone.name = bone.name.replace(".", "_")
        # Blender has computed the rest pose again, with another rounding.
        assert 0 < np.abs(np.subtract(rest_of(ob, name.replace(".", "_")), rest)).max() < 1e-6
    rigs.updated()
    assert names_in_chain() == tuple(name.replace(".", "_") for name in before)
    assert_follows("Hand_0")
    rigs.change(chain(), mute=True)
    np.testing.assert_allclose(arm().pose.bones["Bone_1"].rotation_quaternion, (0.8, 0.6, 0, 0))


@pytest.mark.parametrize("seed", range(8))
def test_names_follow_through_random_renames_states_and_undos(seed):
    rng = make_rng(seed)
    active_states: set[Callable[[bool], None]] = set()
    for _ in range(STEPS):
        kind = rng.choice(["rename", "rename", "rename", "state", "undo", "redo"])
        if kind == "rename":
            ob = (arm, controls)[rng.integers(2)]()
            names = ob.data.bones.keys()
            pool = sorted({*names, "A", "B", 'Zed "1"', "Bone.1"})
            goals = rng.choice(pool, len(names), replace=False).tolist()
            WAYS[rng.integers(3)](ob, plan_renames(names, goals))
        elif kind == "state":
            state = STATES[rng.integers(len(STATES))]
            active_states ^= {state}
            state(state in active_states)
        elif getattr(bpy.ops.ed, kind).poll():
            try:
                getattr(bpy.ops.ed, kind)()
            except RuntimeError:
                continue  # There is nothing to undo or redo.
        if kind in ("rename", "state"):
            bpy.ops.ed.undo_push(message=kind)
        rigs.updated()
        rigs.change(bpy.context.scene.chain_ik, use_live=True)
        assert names_in_chain() == names_of_bones()
        is_idle = chain().mute or chain().target is None or arm().data.pose_position == "REST"
        assert is_idle or chain().status.startswith("Reached"), chain().status


def test_a_bone_that_is_deleted_is_not_taken_for_another():
    rename_bones(arm(), [("Bone.2", "Fore")])
    rigs.updated()
    rename_bones(arm(), [("Bone.0", "Bone.2")])
    rigs.updated()
    assert chain().bone == "Fore"
    rigs.delete_bones(arm(), "Bone.2", "Fore")
    rigs.add_bones(arm(), [(0, 0, 1), (0, 0.5, 1.5)], names=["Other"], parent="Bone.1")
    rigs.updated()
    assert chain().bone == "Fore"
    assert chain().status == "Bone 'Fore' no longer exists: choose another tip."


@pytest.mark.parametrize("solver", ["NEWTON", "FOLLOW"])
def test_a_chain_goes_on_from_where_it_is_and_gives_its_stored_pose_back(solver):
    chain().solver = solver
    for step in (0.2, -0.3, 0.1):
        rigs.shift(controls(), y=step)
    before = rigs.rotations(arm())
    rename_bones(arm(), [("Bone.2", "Fore")])
    rigs.updated()
    assert (chain().bone, chain().name) == ("Fore", "Chain")
    np.testing.assert_allclose([*rigs.rotations(arm()).values()], [*before.values()], atol=1e-6)
    rigs.change(chain(), mute=True)
    for bone in arm().pose.bones:
        np.testing.assert_array_equal(bone.rotation_quaternion, (1, 0, 0, 0))


def test_a_chain_follows_what_was_renamed_while_the_extension_was_off_or_just_before_saving(
    tmp_path,
):
    blender_ik_addon.unregister()
    rename_bones(arm(), [("Bone.2", "Fore")])
    rename_bones(controls(), [("Hand.0", "Goal")])
    blender_ik_addon.register()
    rigs.tagged(arm())
    assert (chain().bone, chain().subtarget) == ("Fore", "Goal")
    assert_follows("Goal")
    rename_bones(arm(), [("Fore", "Saved")])
    reopen(tmp_path / "renamed.blend")
    assert_follows("Goal")
    assert chain().bone == "Saved"


def test_a_render_right_after_a_rename_shows_the_present_pose(tmp_path):
    before = rigs.tail(arm(), "Bone.2", rigs.updated())
    rename_bones(arm(), [("Bone.2", "Fore")])
    rendered = render_frames(tmp_path, lambda graph: rigs.tail(arm(), "Fore", graph), (1, 2))
    assert (chain().bone, chain().joints[2].bone) == ("Fore", "Fore")
    np.testing.assert_allclose([*rendered.values()], [before, before], atol=1e-6)


def test_a_name_that_a_script_sets_right_after_a_rename_means_the_present_bone():
    rename_bones(arm(), [("Bone.2", "Fore"), ("Bone.0", "Bone.2")])
    rename_bones(controls(), [("Hand.0", "Goal"), ("Elbow.0", "Hand.0")])
    rigs.change(chain(), bone="Bone.2", subtarget="Hand.0")
    assert (chain().bone, chain().subtarget) == ("Bone.2", "Hand.0")
    # The other names have followed their bones.
    assert (chain().joints[0].bone, chain().pole_subtarget) == ("Bone.2", "Hand.0")


def lengthen_bone(ob: bpy.types.Object) -> None:
    with rigs.editing(ob) as bones:
        bones["Bone.1"].tail.z += 0.5


CHANGES: dict[str, Callable[[bpy.types.Object], object]] = {
    "renamed": lambda ob: setattr(ob.data.bones["Bone.1"], "name", "Other"),
    "moved": lengthen_bone,
    "inherits otherwise": lambda ob: setattr(ob.data.bones["Bone.1"], "inherit_scale", "NONE"),
    "removed": lambda ob: rigs.delete_bones(ob, "Bone.1"),
}


@pytest.mark.parametrize("how", CHANGES)
def test_bones_are_compiled_again_as_soon_as_one_of_them_has_changed(how):
    ob = rigs.make_rig()
    before = skeleton_of(ob)
    assert skeleton_of(ob) is before
    CHANGES[how](ob)
    after = skeleton_of(ob)
    assert after is not before
    assert after.fingerprint != before.fingerprint
    assert after.names == tuple(ob.data.bones.keys())
    assert skeleton_of(ob) is after


def test_armatures_with_equal_bones_share_a_skeleton_and_the_cache_has_a_limit():
    ob = rigs.make_rig()
    other = bpy.data.objects.new("Other", ob.data.copy())
    assert skeleton_of(other) is skeleton_of(ob)
    for count in range(MAX_SKELETONS + 1):
        other.data.bones[0].name = f"Renamed.{count}"
        assert skeleton_of(other) is skeleton_of(other) is not skeleton_of(ob)
        assert 0 < len(known_skeletons._known) <= MAX_SKELETONS
