"""Blender's *Apply Pose as Rest Pose* and *Apply Selected as Rest Pose* under live chains."""

from collections.abc import Sequence
from pathlib import Path

import bpy
import numpy as np
import pytest

from tests.blender.kept.test_stored_pose import every_way_back
from tests.blender.setups import rigs
from tests.blender.setups.saved_rigs import reopen
from tests.blender.setups.selecting import press, select_bones
from tests.blender.setups.sliding_rigs import locations, robot
from tests.helpers import Array

PLACE = (0.9, 0.6, 1.4)
STAYS = 3e-6
"""Tolerance of bones that stay, metres: rounding of Blender's new rest poses on a rig of 3 m."""


def rig() -> bpy.types.Object:
    return bpy.data.objects["Rig"]


def chain() -> bpy.types.PropertyGroup:
    return rig().chain_ik.chains[0]


def pose_by_hand(mode: str = "QUATERNION", name: str = "Free") -> bpy.types.Object:
    ob = rigs.make_rig(rigs.zigzag(3), name, modes=mode)
    rigs.turn_bones(ob, angle=0.8)
    return ob


def make_posed(mode: str = "QUATERNION", **settings: object) -> bpy.types.Object:
    """Return a rig of three bones that was posed by hand, and that a chain has moved since."""
    ob = pose_by_hand(mode, "Rig")
    rigs.follow(ob, "Bone.2", PLACE, **{"chain_count": 3} | settings)
    rigs.updated()
    return ob


def make_stretched() -> bpy.types.Object:
    ob = make_posed()
    rigs.change(chain(), mute=True)
    rigs.set_each(ob.pose.bones, ik_stretch=0.5, scale=(1.0, 1.2, 1.0))
    rigs.change(chain(), mute=False)
    rigs.change(bpy.data.objects["Target"], location=(2.0, 1.0, 3.5))
    rigs.change(chain(), use_stretch=True)
    assert ob.pose.bones["Bone.1"].scale.y < 1.15
    return ob


def make_slid() -> bpy.types.Object:
    ob, _, robot_chain = robot()
    rigs.change(robot_chain, mute=True)
    ob.pose.bones["Bone.2"].location.y = 0.4
    rigs.change(robot_chain, mute=False)
    assert 0.1 < locations(ob)[2, 1] < 0.3
    return ob


def apply_pose(ob: bpy.types.Object, *selected: str) -> None:
    """Apply the pose of all bones, or of the selected ones, as their rest pose."""
    select_bones(ob, selected)
    press(bpy.ops.pose.armature_apply, selected=bool(selected))


def ends(ob: bpy.types.Object) -> Array:
    """Return head and tail of each bone, armature space, shape (n, 2, 3)."""
    return np.array([(bone.head, bone.tail) for bone in rigs.evaluated(ob).pose.bones])


def assert_stays_at(ob: bpy.types.Object, before: Array) -> None:
    np.testing.assert_allclose(ends(ob), before, atol=STAYS)


def at_rest(ob: bpy.types.Object, names: Sequence[str] = ()) -> dict[str, tuple[float, ...]]:
    """Return the rotation channels of bones at rest in their modes, by default of all."""
    rest = {"QUATERNION": (1, 0, 0, 0), "AXIS_ANGLE": (0, 0, 1, 0)}
    bones = [ob.pose.bones[name] for name in names or ob.pose.bones.keys()]
    return {bone.name: rest.get(bone.rotation_mode, (0, 0, 0)) for bone in bones}


def assert_gives_back(ob: bpy.types.Object, expected: dict[str, tuple[float, ...]]) -> None:
    rigs.change(ob.chain_ik.chains[0], mute=True)
    assert rigs.rotations(ob) == expected


@every_way_back
def test_an_applied_pose_is_the_one_that_a_chain_gives_back(mode, way):
    ob = make_posed(mode)
    before = ends(ob)
    apply_pose(ob)
    assert_stays_at(ob, before)
    assert chain().status == "Reached"
    rigs.release_chain(ob, *way)
    assert rigs.rotations(ob) == at_rest(ob)
    assert_stays_at(ob, before)


@pytest.mark.parametrize("solver", ["FABRIK", "FOLLOW", "FORCE", "TWO_BONE"])
def test_no_bone_moves_when_a_pose_is_applied_and_its_chain_fades(solver):
    ob = make_posed(solver=solver, chain_count=2 if solver == "TWO_BONE" else 3)
    before = ends(ob)
    apply_pose(ob)
    for influence in (1.0, 0.5, 0.0):
        rigs.change(chain(), influence=influence)
        assert_stays_at(ob, before)


@pytest.mark.parametrize("make", [make_stretched, make_slid])
def test_applied_scales_and_locations_are_given_back(make):
    ob = make()
    before = ends(ob)
    apply_pose(ob)
    assert_stays_at(ob, before)
    rigs.change(ob.chain_ik.chains[0], mute=True)
    assert_stays_at(ob, before)


def test_only_the_selected_bones_get_their_applied_pose_and_the_others_their_stored_one():
    ob, free = make_posed(), rigs.rotations(pose_by_hand())
    apply_pose(ob, "Bone.1")
    rigs.assert_reaches(ob, "Bone.2", bpy.data.objects["Target"])
    assert_gives_back(ob, free | at_rest(ob, ["Bone.1"]))


@pytest.mark.parametrize("is_undone", [False, True])
def test_bones_moved_in_edit_mode_keep_their_stored_pose_also_if_the_chain_holds_them_at_rest(
    is_undone,
):
    ob = rigs.make_rig([(0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 0, 3)])
    place = rigs.tail(ob, "Bone.2", rigs.updated())
    rigs.turn_bones(ob, angle=0.8)
    free = rigs.rotations(ob)
    rigs.follow(ob, "Bone.2", place, chain_count=3, start_from="REST")
    rigs.updated()
    assert rigs.rotations(ob) == at_rest(ob) != free
    rigs.enter(rig(), "POSE")
    bpy.ops.ed.undo_push(message="Made")
    rigs.enter(rig(), "EDIT")
    for bone in rig().data.edit_bones:
        bone.tail.x += 0.1
    press(bpy.ops.object.mode_set, mode="POSE")
    if is_undone:
        rigs.change(bpy.data.objects["Target"], location=PLACE)
        bpy.ops.ed.undo_push(message="Moved")
        bpy.ops.ed.undo()
        rigs.updated()
    assert_gives_back(rig(), free)


def test_undo_of_an_applied_pose_brings_the_former_stored_pose_back_and_redo_the_applied_one():
    ob, free = make_posed(), rigs.rotations(pose_by_hand())
    select_bones(ob, ())
    bpy.ops.ed.undo_push(message="Made")
    before = ends(rig())
    press(bpy.ops.pose.armature_apply, selected=False)
    # Blender adds the step of the operator before it evaluates, so the step has the old settings.
    rigs.shift(bpy.data.objects["Target"], x=0.2)
    bpy.ops.ed.undo_push(message="Moved")
    for step, expected in (
        (bpy.ops.ed.undo, None),
        (bpy.ops.ed.undo, free),
        (bpy.ops.ed.redo, None),
    ):
        step()
        rigs.updated()
        assert_stays_at(rig(), before)
        with rigs.changed(chain(), mute=True):
            assert rigs.rotations(rig()) == (expected or at_rest(rig()))


@pytest.mark.parametrize("is_saved_first", [False, True])
def test_a_pose_is_applied_before_or_after_the_file_is_saved_and_opened(tmp_path, is_saved_first):
    path: Path = tmp_path / "applied.blend"
    before = ends(make_posed())
    if is_saved_first:
        reopen(path)
    apply_pose(rig())
    if not is_saved_first:
        reopen(path)
    rigs.updated()
    assert_stays_at(rig(), before)
    assert_gives_back(rig(), at_rest(rig()))


def test_a_pose_applied_while_live_is_off_is_given_back():
    ob = make_posed()
    before = ends(ob)
    with rigs.live_off():
        rigs.updated()
        apply_pose(ob)
    rigs.tagged(ob)
    assert_stays_at(ob, before)
    assert_gives_back(ob, at_rest(ob))


@pytest.mark.parametrize("mode", ["OBJECT", "POSE"])
def test_an_object_that_shares_the_armature_keeps_its_stored_pose_like_its_channels(mode):
    ob = make_posed()
    other = rigs.link(bpy.data.objects.new("Other", ob.data))
    rigs.updated()
    rigs.turn_bones(other, seed=5, angle=0.8)
    free = rigs.rotations(other)
    target, _ = rigs.follow(other, "Bone.2", (-0.8, 0.5, 1.5), empty="Goal", chain_count=3)
    rigs.updated()
    before = ends(ob)
    select_bones(ob, (), *([other] if mode == "POSE" else []))
    assert other.mode == mode
    press(bpy.ops.pose.armature_apply, selected=False)
    assert_stays_at(ob, before)
    rigs.assert_reaches(other, "Bone.2", target)
    assert_gives_back(ob, at_rest(ob))
    assert_gives_back(other, free)
