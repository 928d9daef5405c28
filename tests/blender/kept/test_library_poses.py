"""Promise 7: bones of overrides that a library gives back have their pose without the chain."""

from pathlib import Path

import bpy
import pytest

from tests.blender.kept.test_library_changes import (
    change_library,
    needs_import_events,
    no_save_events,
    open_before,
    open_changed,
    overrides,
    remove,
    reopened,
)
from tests.blender.setups import rigs
from tests.blender.setups.keyed_limbs import make_limbs
from tests.blender.setups.saved_rigs import link_saved, reopen
from tests.blender.setups.selecting import press

BONES = ("Left.0", "Left.1")
HAND_POSE = (0.8, 0.6, 0.0, 0.0)


def make_shot(folder: Path) -> bpy.types.Object:
    """Return an override of a saved rig whose chain 'Left' has turned and stretched its bones."""
    ob = make_limbs()
    for name in BONES:
        ob.pose.bones[name].ik_stretch = 0.5
    rigs.change(ob.chain_ik.chains["Left"], use_stretch=True, solver="NEWTON")
    (linked,) = link_saved(folder / "library.blend", "objects", "Rig")
    ob = rigs.link(linked.override_create(remap_local_usages=True))
    pose_shot(ob)
    return ob


def pose_shot(ob: bpy.types.Object) -> None:
    target = rigs.make_empty(location=(1.0, 2.0, 2.0))
    rigs.change(ob.chain_ik.chains["Left"], target=target)
    for name in BONES:
        assert not is_at_rest(ob, name)


def is_at_rest(ob: bpy.types.Object, name: str) -> bool:
    bone = ob.pose.bones[name]
    return tuple(bone.rotation_quaternion) == (1, 0, 0, 0) and tuple(bone.scale) == (1, 1, 1)


def set_left(ob: bpy.types.Object, **values: object) -> None:
    rigs.change(ob.chain_ik.chains["Left"], **values)


def mute(ob: bpy.types.Object) -> None:
    set_left(ob, mute=True)


def turn_by_hand(ob: bpy.types.Object) -> None:
    for name in BONES:
        rigs.change(ob.pose.bones[name], rotation_quaternion=HAND_POSE)


def assert_hand_pose(ob: bpy.types.Object) -> None:
    for name in BONES:
        assert tuple(ob.pose.bones[name].rotation_quaternion) == pytest.approx(HAND_POSE)


WAYS = {
    "muted": [mute],
    "no influence": [lambda ob: set_left(ob, influence=0.0)],
    "removed": [lambda ob: press(remove)],
    "shortened": [lambda ob: set_left(ob, chain_count=1)],
    "muted and turned": [mute, turn_by_hand],
}


@pytest.mark.parametrize("changes", WAYS.values(), ids=WAYS)
def test_bones_have_the_pose_of_the_library(changes, tmp_path):
    make_shot(tmp_path)
    ob = open_changed(tmp_path, *changes)
    names = BONES[:1] if changes is WAYS["shortened"] else BONES
    expected = HAND_POSE if turn_by_hand in changes else (1.0, 0.0, 0.0, 0.0)
    for _ in range(2):
        for name in names:
            bone = ob.pose.bones[name]
            assert tuple(bone.rotation_quaternion) == pytest.approx(expected)
            assert tuple(bone.scale) == (1.0, 1.0, 1.0)
        # They can be posed, like those of a chain that was muted here.
        rigs.go_to(7)
        ob = reopened(tmp_path)
    turn_by_hand(ob)
    rigs.go_to(3)
    ob = reopened(tmp_path)
    assert tuple(ob.pose.bones["Left.0"].rotation_quaternion) == pytest.approx(HAND_POSE)


def test_the_bones_of_the_other_chains_are_solved(tmp_path):
    ob = make_shot(tmp_path)
    before = {name: value for name, value in rigs.rotations(ob).items() if name not in BONES}
    ob = open_changed(tmp_path, mute)
    now = rigs.rotations(ob)
    assert {name: now[name] for name in before} == before


def test_a_pose_of_the_shot_comes_back_if_the_library_removes_the_chain(tmp_path):
    ob = make_shot(tmp_path)
    mute(ob)
    turn_by_hand(ob)
    set_left(ob, mute=False)
    ob = open_changed(tmp_path, lambda ob: press(remove))
    assert_hand_pose(ob)
    assert all(tuple(ob.pose.bones[name].scale) == (1.0, 1.0, 1.0) for name in BONES)


def test_bones_that_the_shot_itself_has_given_back_keep_their_pose(tmp_path):
    """Auto Save records nothing, so the record says that they still were of the chain."""
    make_shot(tmp_path)
    ob = reopened(tmp_path)
    mute(ob)
    turn_by_hand(ob)
    with no_save_events():
        assert_hand_pose(reopened(tmp_path))


def test_bones_that_were_given_back_and_posed_keep_their_pose_in_files_of_auto_save(tmp_path):
    make_shot(tmp_path)
    turn_by_hand(open_changed(tmp_path, mute))
    with no_save_events():
        assert_hand_pose(reopened(tmp_path))


def test_an_override_that_is_made_local_has_no_record(tmp_path):
    make_shot(tmp_path)
    ob = reopened(tmp_path)
    assert ob.chain_ik.seen_poses
    ob.make_local(clear_liboverride=True)
    reopen(tmp_path / "shot.blend")
    assert not any(ob.chain_ik.seen_poses for ob in bpy.data.objects)


def test_a_chain_that_only_the_shot_unmutes_starts_from_the_pose_of_the_library(tmp_path):
    make_shot(tmp_path)
    ob = open_changed(tmp_path, mute)
    set_left(ob, mute=False)
    assert not is_at_rest(ob, "Left.0")
    mute(ob)
    assert is_at_rest(ob, "Left.0")


def test_overrides_of_overrides_are_given_back_as_well(tmp_path):
    make_shot(tmp_path)
    (linked,) = link_saved(tmp_path / "middle.blend", "objects", "Rig")
    ob = rigs.link(linked.override_create(remap_local_usages=True))
    pose_shot(ob)
    ob = open_changed(tmp_path, mute)
    assert all(is_at_rest(ob, name) for name in BONES)


@needs_import_events
def test_bones_are_given_back_when_the_library_is_reloaded(tmp_path):
    make_shot(tmp_path)
    open_before(tmp_path, mute)
    bpy.data.libraries[0].reload()
    rigs.go_to(5)
    (ob,) = overrides()
    assert all(is_at_rest(ob, name) for name in BONES)


@pytest.mark.parametrize("text", ["[", "[1]", '[1, "[", ""]', "[1, 5, null]", '[0, "", ""]'])
def test_a_record_that_cannot_be_read_changes_nothing(text, tmp_path):
    make_shot(tmp_path)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    (ob,) = overrides()
    ob.chain_ik.seen_poses = text
    before = rigs.rotations(ob)
    with no_save_events():
        ob = open_changed(tmp_path, mute)
    assert rigs.rotations(ob)["Left.0"] == before["Left.0"]


def test_bones_are_given_back_also_if_the_shot_was_saved_while_its_library_was_missing(tmp_path):
    make_shot(tmp_path)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    change_library(tmp_path, mute)
    (tmp_path / "library.blend").rename(tmp_path / "away.blend")
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot.blend"))
    reopen(tmp_path / "shot.blend")
    (tmp_path / "away.blend").rename(tmp_path / "library.blend")
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot.blend"))
    (ob,) = overrides()
    assert all(is_at_rest(ob, name) for name in BONES)
