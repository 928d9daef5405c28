"""Slides: what they start from, what they leave alone, and what they give back."""

import bpy
import numpy as np
import pytest

from blender_ik_addon.rig.live import live
from blender_ik_addon.rig.posing.frame_solve import FrameSolve
from tests.blender.live.test_nla import push_to_nla
from tests.blender.setups import renders, rigs
from tests.blender.setups.jointed_rigs import give
from tests.blender.setups.sliding_rigs import (
    BEYOND,
    HIGH,
    INSIDE,
    LOW,
    assert_home,
    assert_lands,
    locations,
    moved,
    place,
    robot,
)
from tests.helpers import assert_positions_close

pytestmark = pytest.mark.slow

HOME = (0.05, 0.1, -0.07)


def robot_from_home(**settings):
    """Return a robot whose arm stood at ``HOME`` before the chain came."""
    ob, target, chain = robot(mute=True, **settings)
    ob.pose.bones["Bone.2"].location = HOME
    rigs.updated()
    chain.mute = False
    rigs.updated()
    return ob, target, chain


def arm(ob):
    """Return what the arm's location channels hold."""
    return locations(ob)[2]


@pytest.mark.parametrize("start_from", ["KEYED", "REST", "CURRENT"])
@pytest.mark.parametrize("influence", [1.0, 0.5])
@pytest.mark.parametrize("slide", [INSIDE, BEYOND])
def test_solving_again_changes_nothing(start_from, influence, slide):
    ob, target, _ = robot_from_home(slide=slide, start_from=start_from, influence=influence)
    # What stands there is read back as float32 and may still be improved by as much, once.
    rigs.updated()
    before = locations(ob), rigs.rotations(ob)
    for _ in range(3):
        target.update_tag()
        ob.update_tag()
        rigs.updated()
        np.testing.assert_array_equal(locations(ob), before[0])
        assert rigs.rotations(ob) == before[1]


@pytest.mark.parametrize("bone", ["Bone.0", "Bone.2"])
def test_a_scene_in_which_nothing_changes_is_not_solved_or_written_again(monkeypatch, bone):
    _, target, chain = robot()
    give(chain, "Bone.0", "HINGE_Y")
    chain.joints.remove(0)
    if bone == "Bone.0":
        joint = chain.joints[len(chain.joints) - 1]
        joint.use_slide, joint.slide_min, joint.slide_max = True, LOW, HIGH
    rigs.updated()
    written, solved = [], []
    original, solve = live.write_pose, FrameSolve.solved
    monkeypatch.setattr(FrameSolve, "solved", lambda *given: solved.append(given) or solve(*given))
    monkeypatch.setattr(
        live, "write_pose", lambda *given: written.append(given) or original(*given)
    )
    for _ in range(3):
        target.update_tag()
        chain.id_data.update_tag()
        rigs.updated()
    assert not written
    assert not solved
    target.location.x += 0.2
    rigs.updated()
    assert len(written) == len(solved) == 1


def test_the_range_counts_from_where_the_bone_stood():
    ob, target, chain = robot_from_home(slide=BEYOND)
    assert arm(ob)[1] == pytest.approx(HOME[1] + HIGH, abs=1e-7)
    np.testing.assert_array_equal(arm(ob)[[0, 2]], np.float32(HOME)[[0, 2]])
    assert "Bone.2 slide" in chain.status
    target.location = place(HOME[1])
    rigs.updated()
    assert LOW + HOME[1] <= arm(ob)[1] <= HIGH + HOME[1]


@pytest.mark.parametrize(
    "way", ["mute", "remove", "restore", "rechain", "use_slide", "use_limits", "joint_remove"]
)
def test_letting_go_gives_the_location_back(way):
    ob, _, chain = robot_from_home()
    assert abs(arm(ob)[1] - HOME[1]) > 0.01
    bpy.context.view_layer.objects.active = ob
    if way == "mute":
        chain.mute = True
    elif way == "rechain":
        chain.bone = "Bone.1"
    elif way == "use_limits":
        chain.use_limits = False
    elif way == "use_slide":
        chain.joints[2].use_slide = False
    elif way == "joint_remove":
        chain.active_joint_index = 2
        bpy.ops.pose.chain_ik_joint_remove()
    else:
        getattr(bpy.ops.pose, f"chain_ik_{way}")()
    rigs.updated()
    np.testing.assert_array_equal(arm(ob), np.float32(HOME))
    if way not in ("remove", "rechain"):
        chain = ob.chain_ik.chains[0]
        chain.mute, chain.use_limits = False, True
        if way == "joint_remove":
            give(chain, "Bone.2", "FIXED", slide_min=LOW, slide_max=HIGH)
        chain.joints[2].use_slide = True
        rigs.updated()
        assert abs(arm(ob)[1] - HOME[1]) > 0.01


def test_a_bone_that_begins_to_slide_keeps_what_it_holds_as_its_home():
    ob, target, chain = robot_from_home()
    assert '"location"' in chain.stored_pose
    ob.pose.bones["Bone.1"].location = (0.0, 0.02, 0.0)
    rigs.updated()
    joint = chain.joints[1]
    joint.use_slide, joint.slide_min, joint.slide_max = True, LOW, HIGH
    target.location = place(0.7)
    rigs.updated()
    assert_lands(ob, chain)
    assert locations(ob)[1, 1] > 0.05
    chain.mute = True
    rigs.updated()
    np.testing.assert_array_equal(locations(ob), np.float32([(0, 0, 0), (0, 0.02, 0), HOME]))


def test_what_a_user_moves_is_followed_but_for_the_slide_itself():
    ob, _, chain = robot()
    arm_bone, shoulder = ob.pose.bones["Bone.2"], ob.pose.bones["Bone.1"]
    before = arm_bone.location.y
    arm_bone.location.y = 3.0
    rigs.updated()
    assert arm_bone.location.y == before
    shoulder.location.y = -0.1
    rigs.updated()
    assert_lands(ob, chain)
    assert shoulder.location.y == pytest.approx(-0.1)
    assert arm_bone.location.y != before
    arm_bone.location.z = 0.05
    rigs.updated()
    assert_lands(ob, chain)
    assert arm_bone.location.z == pytest.approx(0.05)
    chain.mute = True
    rigs.updated()
    np.testing.assert_array_equal(
        locations(ob), np.float32([(0, 0, 0), (0, -0.1, 0), (0, 0, 0.05)])
    )


@pytest.mark.parametrize("start_from", ["KEYED", "REST"])
@pytest.mark.parametrize("is_nla", [False, True])
def test_keyed_locations_are_what_a_frame_slides_from(start_from, is_nla):
    ob, target, chain = robot(mute=True, start_from=start_from)
    path = 'pose.bones["Bone.2"].location'
    rigs.key(ob, path, {1: (0.0, 0.0, 0.0), 11: (0.0, 0.4, 0.0)})
    if is_nla:
        push_to_nla(ob)
    rigs.go_to(1)
    chain.mute = False
    for frame, home in ((1, 0.0), (6, 0.2), (11, 0.4), (6, 0.2)):
        target.location = place(5.0)
        rigs.go_to(frame)
        assert arm(ob)[1] == pytest.approx(home + HIGH, abs=1e-6)
        target.location = place(home + 0.1)
        rigs.updated()
        assert_lands(ob, chain)
    chain.mute = True
    rigs.updated()
    rigs.go_to(6)
    assert arm(ob)[1] == pytest.approx(0.2)
    if not is_nla:
        assert [curve.data_path for curve in rigs.curves_of(ob)] == [path] * 3


def test_influence_zero_is_the_keyed_location():
    ob, _, chain = robot(influence=0.0)
    rigs.key(ob, 'pose.bones["Bone.2"].location', {1: (0, 0, 0), 11: (0, 0.4, 0)})
    rigs.go_to(6)
    assert arm(ob)[1] == pytest.approx(0.2)
    chain.influence = 1.0
    rigs.go_to(11)
    assert arm(ob)[1] != pytest.approx(0.4)


def test_a_driven_location_is_told_of():
    ob, _, chain = robot()
    ob.pose.bones["Bone.2"].driver_add("location", 1).driver.expression = "0.1"
    rigs.updated()
    assert "driver on its location" in chain.status
    chain.joints[2].use_slide = False
    rigs.updated()
    assert "driver" not in chain.status


def test_a_connected_bone_says_to_disconnect_it_and_the_rest_goes_on():
    ob = rigs.make_rig([(0, 0, 0), (0, 0, 1), (0, 0, 2)], is_connected=True)
    target = rigs.make_empty(location=(0.4, 0.5, 1.5))
    chain = rigs.add_chain(ob, "Bone.1", target)
    give(chain, "Bone.0", "BALL", use_slide=True, slide_min=0.0, slide_max=0.2)
    give(chain, "Bone.1", "BALL", use_slide=True, slide_min=-0.4, slide_max=0.4)
    rigs.updated()
    assert_lands(ob, chain, "Bone.1")
    assert chain.status.count("clear Connected in edit mode") == 1
    assert "Bone.1" in chain.status
    assert "Bone.0" not in chain.status
    assert not locations(ob)[1].any()
    target.location = (0.0, 0.0, 4.0)
    rigs.updated()
    np.testing.assert_allclose(moved(ob, "Bone.0"), (0.0, 0.2, 0.0), atol=1e-6)
    assert "clear Connected" in chain.status


def test_a_locked_location_stays_and_says_so():
    ob, _, chain = robot()
    arm_bone = ob.pose.bones["Bone.2"]
    arm_bone.lock_location = (True, False, True)
    rigs.updated()
    assert_lands(ob, chain)
    chain.mute = True
    rigs.updated()
    arm_bone.lock_location = (False, True, False)
    chain.mute = False
    rigs.updated()
    assert not locations(ob).any()
    assert "locked location cannot slide, unlock it: Bone.2" in chain.status
    arm_bone.location.y = 0.3
    rigs.updated()
    assert arm_bone.location.y == np.float32(0.3)


def test_with_stretch_it_is_refused_in_one_sentence():
    ob, _, chain = robot()
    chain.use_stretch = True
    rigs.updated()
    assert chain.status.startswith("Bone 'Bone.2' slides in a chain that stretches")
    assert chain.status.endswith("switch Stretch off, or Slide in the bone's joint.")
    chain.use_stretch = False
    rigs.updated()
    assert_lands(ob, chain)


def test_a_tip_whose_head_is_the_effector_cannot_slide():
    _, _, chain = robot(use_tail=False, use_rotation=True)
    assert chain.status.startswith("Bone 'Bone.2' cannot slide")
    chain.use_rotation = False
    rigs.updated()
    assert "that are not in the chain have no effect: Bone.2" in chain.status


def test_a_head_that_another_chain_slides_is_no_effector():
    ob, _, arm_chain = robot(use_tail=True, chain_count=1)
    legs = rigs.add_chain(ob, "Bone.2", rigs.make_empty(location=(0.6, 0.3, 1.7)), use_tail=False)
    rigs.updated()
    assert legs.status.startswith("The head of bone 'Bone.2' slides with chain"), legs.status
    assert "slide" in arm_chain.status or arm_chain.status.startswith("Reached")
    legs.bone, legs.use_tail = "Bone.1", True
    rigs.updated()
    rigs.assert_reaches(ob, "Bone.1", legs.target)


def test_a_saved_robot_opens_as_it_stood_and_gives_its_location_back(tmp_path):
    ob, _, _ = robot_from_home()
    before = rigs.pose(ob)
    path = str(tmp_path / "saved.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    bpy.ops.wm.open_mainfile(filepath=path)
    ob = bpy.data.objects["Rig"]
    chain = ob.chain_ik.chains[0]
    rigs.assert_same_pose(ob, before)
    chain.target.location = place(0.4)
    rigs.updated()
    assert_lands(ob, chain)
    chain.mute = True
    rigs.updated()
    np.testing.assert_array_equal(arm(ob), np.float32(HOME))


def test_undo_brings_slides_back():
    robot()
    bpy.ops.ed.undo_push(message="made")
    before = rigs.pose(bpy.data.objects["Rig"])
    bpy.data.objects["Rig Target"].location = place(0.4, 0.2)
    rigs.updated()
    bpy.ops.ed.undo_push(message="moved")
    bpy.ops.ed.undo()
    ob = bpy.data.objects["Rig"]
    rigs.assert_same_pose(ob, before)
    rigs.updated()
    assert_lands(ob, ob.chain_ik.chains[0])


def test_renders_show_each_frame_slid_as_it_shall_be(tmp_path):
    ob, target, chain = robot()
    rigs.key(target, "location", {1: place(-0.3), 2: place(0.1), 3: place(0.4)})
    rigs.go_to(1)

    def read(graph):
        return rigs.tail(ob, "Bone.2", graph), moved(ob, "Bone.2", graph)[1]

    seen = renders.render_frames(tmp_path, read, (1, 3))
    for frame, slide in ((1, -0.3), (2, 0.1), (3, 0.4)):
        assert_positions_close(seen[frame][0], place(slide), rigs.REACHED)
        assert seen[frame][1] == pytest.approx(slide, abs=2e-5)
    rigs.go_to(1)
    assert_lands(ob, chain)


def test_an_export_holds_the_slides_of_every_frame(tmp_path):
    if not bpy.app.build_options.alembic:
        pytest.skip("this Blender is built without alembic")
    ob, target, _ = robot()
    rigs.key(target, "location", {1: place(-0.3), 3: place(0.4)})
    # Blender exports what hangs on an armature without any animation of its own as still.
    rigs.key(ob, 'pose.bones["Bone.0"].scale', {1: (1, 1, 1), 3: (1, 1, 1)})
    mesh = bpy.data.meshes.new("Block")
    mesh.from_pydata(((0, 0, 0), (0.1, 0, 0), (0, 0.1, 0)), (), ((0, 1, 2),))
    block = rigs.link(bpy.data.objects.new("Block", mesh))
    block.parent, block.parent_type, block.parent_bone = ob, "BONE", "Bone.2"
    path = str(tmp_path / "scene.abc")
    rigs.go_to(1)
    bpy.ops.wm.alembic_export(filepath=path, start=1, end=3)
    expected = []
    for frame in (1, 2, 3):
        rigs.go_to(frame)
        expected.append(rigs.position(target))
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    bpy.ops.wm.alembic_import(filepath=path)
    (block,) = (each for each in bpy.data.objects if each.type == "MESH")
    for frame, place_then in zip((1, 2, 3), expected, strict=True):
        depsgraph = rigs.go_to(frame)
        shown = block.evaluated_get(depsgraph)
        corner = np.array(shown.matrix_world @ shown.data.vertices[0].co)
        assert_positions_close(corner, place_then, 3e-5)


def test_copying_joints_from_bones_keeps_slides():
    ob, _, chain = robot()
    ob.pose.bones["Bone.1"].use_ik_limit_x = True
    bpy.context.view_layer.objects.active = ob
    bpy.ops.pose.chain_ik_joints_copy()
    kept = {joint.bone: joint.use_slide for joint in chain.joints}
    assert kept == {"Bone.1": False, "Bone.2": True}
    assert tuple(np.float32((chain.joints[1].slide_min, chain.joints[1].slide_max))) == tuple(
        np.float32((LOW, HIGH))
    )


def test_a_renamed_bone_goes_on_sliding_and_gets_its_location_back():
    ob, target, chain = robot_from_home()
    ob.data.bones["Bone.0"].name = "Base"
    joint = chain.joints[0]
    rigs.updated()
    assert joint.bone == "Base"
    target.location = place(0.4)
    rigs.updated()
    assert_lands(ob, chain)
    chain.mute = True
    rigs.updated()
    np.testing.assert_array_equal(arm(ob), np.float32(HOME))


def test_muted_it_leaves_locations_to_the_user():
    ob, target, chain = robot_from_home()
    chain.mute = True
    rigs.updated()
    ob.pose.bones["Bone.2"].location = (0.0, 0.3, 0.0)
    target.location.x += 0.1
    rigs.updated()
    np.testing.assert_array_equal(arm(ob), np.float32((0.0, 0.3, 0.0)))


def test_at_rest_nothing_has_moved():
    ob, _, chain = robot(0.0)
    chain.target.location = (0.0, 0.0, 3.0)
    rigs.updated()
    assert_home(ob)
