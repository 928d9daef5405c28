"""Sliding joints: evaluated slides that reach their targets, or stop at an end of their range.

Also the locations that slides start from, leave alone and restore.
"""

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs, scaled_rigs
from tests.blender.setups.jointed_rigs import about, add_joint, local
from tests.blender.setups.keyed_limbs import strip_of
from tests.blender.setups.sliding_rigs import (
    BEYOND,
    HIGH,
    INSIDE,
    LOW,
    READ_ERROR,
    SHORT,
    assert_lands,
    locations,
    moved,
    place,
    robot,
)
from tests.helpers import make_rng

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("solver", ["FABRIK", "CCD", "NEWTON"])
@pytest.mark.parametrize(("slide", "end"), [(INSIDE, INSIDE), (BEYOND, HIGH), (SHORT, LOW)])
def test_an_arm_slides_as_far_as_its_target_requires_and_stops_exactly_at_either_end(
    solver, slide, end
):
    ob, target, chain = robot(slide, solver=solver)
    np.testing.assert_allclose(moved(ob, "Bone.2"), (0.0, end, 0.0), atol=2e-5)
    # `about` fails if a hinge turns about any other axis.
    about(local(ob, "Bone.0"), "y")
    about(local(ob, "Bone.1"), "x")
    if slide == end:
        assert_lands(ob, chain)
        return
    assert locations(ob)[2, 1] == np.float32(end)
    gap = np.linalg.norm(rigs.tail(ob, "Bone.2") - rigs.position(target))
    assert gap == pytest.approx(abs(slide - end), abs=1e-5)
    assert chain.residual == pytest.approx(gap, abs=1e-5)
    assert "Held back by the limits of Bone.2 slide" in chain.status


@pytest.mark.parametrize("inherited", rigs.INHERITED)
@pytest.mark.parametrize("is_local", [True, False])
@pytest.mark.parametrize("turns_along", [True, False])
def test_what_is_written_gives_the_solved_pose_whatever_bones_inherit(
    inherited, is_local, turns_along
):
    rng = make_rng(rigs.INHERITED.index(inherited))
    ob, names = scaled_rigs.random_rig(rng, 3)
    scaled_rigs.set_bones(
        ob,
        names,
        inherit_scale=inherited,
        use_local_location=is_local,
        use_inherit_rotation=turns_along,
    )
    rigs.turn_bones(ob, seed=4)
    scaled_rigs.scale_bones(ob, {"Bone.0": (1.2, 0.8, 1.1), names[0]: (1.0, 1.3, 0.9)})
    for bone in ob.pose.bones:
        bone.location = rng.uniform(-0.1, 0.1, 3)
    rigs.updated()
    before = {name: moved(ob, name) for name in names}
    effector = rigs.tail(ob, names[-1])
    target, chain = rigs.follow(ob, names[-1], effector + rng.uniform(-0.3, 0.3, 3), chain_count=3)
    for name in names:
        add_joint(chain, name, "HINGE_X", use_slide=True, slide_min=-0.3, slide_max=0.3)
    rigs.updated()
    for _ in range(4):
        slides = np.array([moved(ob, name) - before[name] for name in names])
        assert np.abs(slides[:, [0, 2]]).max() <= 3e-6
        assert np.abs(slides[:, 1]).max() <= 0.3 + 3e-6
        assert np.abs(slides[:, 1]).max() > 0.01
        gap = np.linalg.norm(rigs.tail(ob, names[-1]) - rigs.position(target))
        assert chain.residual == pytest.approx(gap, abs=5e-6)
        if turns_along:
            assert gap <= rigs.TARGET_GAP or "Held back" in chain.status, chain.status
        rigs.change(target, location=effector + rng.uniform(-0.3, 0.3, 3))


@pytest.mark.parametrize(
    ("scale", "negative"),
    [((-1.0, 1.0, 1.0), "KEEP"), ((2.0, 2.0, -2.0), "MIRROR"), ((0.5, -1.5, 1.0), "KEEP")],
)
def test_armatures_of_negative_and_uneven_scale_slide_as_far(scale, negative):
    ob, target, chain = robot(negative_scale=negative)
    ob.scale = scale
    for slide in (INSIDE, BEYOND, SHORT):
        rigs.change(target, location=place(slide) * scale)
        end = float(np.clip(slide, LOW, HIGH))
        if slide == INSIDE or abs(scale[0]) == abs(scale[1]):
            np.testing.assert_allclose(moved(ob, "Bone.2"), (0.0, end, 0.0), atol=3e-5)
        if slide == INSIDE:
            assert_lands(ob, chain)


@pytest.mark.parametrize("relative_to", ["PARENT", "CHILD"])
def test_zeros_elsewhere_than_rest_do_not_turn_the_slide(relative_to):
    ob = rigs.make_rig([(0, 0, 0), (0, 0, 1), (0, 0.6, 1.8)], is_connected=False)
    target, chain = rigs.follow(ob, "Bone.1", (0.0, 1.0, 2.0))
    slide = {"use_slide": True, "slide_min": LOW, "slide_max": HIGH, "relative_to": relative_to}
    if relative_to == "PARENT":
        add_joint(chain, "Bone.0", "FIXED")
    add_joint(
        chain, "Bone.1" if relative_to == "PARENT" else "Bone.0", "HINGE_X", x=(-90, 90), **slide
    )
    rigs.updated()
    shift = moved(ob, "Bone.1")
    assert np.abs(shift[[0, 2]]).max() <= READ_ERROR
    assert abs(shift[1]) > 0.05
    gap = np.linalg.norm(rigs.tail(ob, "Bone.1") - rigs.position(target))
    assert chain.residual == pytest.approx(gap, abs=2e-6)


HOME = (0.05, 0.1, -0.07)


def make_robot_from_home(**settings):
    ob, target, chain = robot(mute=True, **settings)
    rigs.change(ob.pose.bones["Bone.2"], location=HOME)
    rigs.change(chain, mute=False)
    return ob, target, chain


def arm_location(ob):
    return locations(ob)[2]


WAYS = {"mute": True, "bone": "Bone.1", "use_limits": False, "joints[2].use_slide": False}


@pytest.mark.parametrize("way", [*WAYS, "remove", "restore", "joint_remove"])
def test_letting_go_gives_the_location_back(way):
    ob, _, chain = make_robot_from_home()
    assert abs(arm_location(ob)[1] - HOME[1]) > 0.01
    chain.active_joint_index = 2
    rigs.release_chain(ob, way, WAYS.get(way))
    np.testing.assert_array_equal(arm_location(ob), np.float32(HOME))
    if way == "mute":
        ob.pose.bones["Bone.2"].location.z = 0.3
        rigs.shift(chain.target, x=0.1)
        np.testing.assert_array_equal(arm_location(ob), np.float32((*HOME[:2], 0.3)))
    if way not in ("remove", "bone"):
        chain = ob.chain_ik.chains[0]
        chain.mute, chain.use_limits = False, True
        if way == "joint_remove":
            add_joint(chain, "Bone.2", "FIXED", slide_min=LOW, slide_max=HIGH)
        rigs.change(chain.joints[2], use_slide=True)
        assert abs(arm_location(ob)[1] - HOME[1]) > 0.01


def test_a_bone_that_begins_to_slide_keeps_its_location_as_its_home():
    ob, target, chain = make_robot_from_home()
    assert '"location"' in chain.stored_pose
    rigs.change(ob.pose.bones["Bone.1"], location=(0.0, 0.02, 0.0))
    joint = chain.joints[1]
    joint.use_slide, joint.slide_min, joint.slide_max = True, LOW, HIGH
    rigs.change(target, location=place(0.7))
    assert_lands(ob, chain)
    assert locations(ob)[1, 1] > 0.05
    rigs.change(chain, mute=True)
    np.testing.assert_array_equal(locations(ob), np.float32([(0, 0, 0), (0, 0.02, 0), HOME]))


def test_locations_that_a_user_changes_are_used_except_the_slide_itself():
    ob, _, chain = robot()
    arm_bone, shoulder = ob.pose.bones["Bone.2"], ob.pose.bones["Bone.1"]
    before = arm_bone.location.y
    rigs.change(arm_bone.location, y=3.0)
    assert arm_bone.location.y == before
    rigs.change(shoulder.location, y=-0.1)
    assert_lands(ob, chain)
    assert shoulder.location.y == pytest.approx(-0.1)
    assert arm_bone.location.y != before
    rigs.change(arm_bone.location, z=0.05)
    assert_lands(ob, chain)
    assert arm_bone.location.z == pytest.approx(0.05)
    rigs.change(chain, mute=True)
    np.testing.assert_array_equal(
        locations(ob), np.float32([(0, 0, 0), (0, -0.1, 0), (0, 0, 0.05)])
    )


@pytest.mark.parametrize(("start_from", "is_nla"), [("KEYED", True), ("REST", False)])
def test_slides_start_from_the_keyed_locations_of_the_frame(start_from, is_nla):
    ob, target, chain = robot(mute=True, start_from=start_from)
    path = 'pose.bones["Bone.2"].location'
    rigs.key(ob, path, {1: (0.0, 0.0, 0.0), 11: (0.0, 0.4, 0.0)})
    if is_nla:
        strip_of(ob)
    rigs.go_to(1)
    chain.mute = False
    for frame, home in ((1, 0.0), (6, 0.2), (11, 0.4), (6, 0.2)):
        target.location = place(5.0)
        rigs.go_to(frame)
        assert arm_location(ob)[1] == pytest.approx(home + HIGH, abs=1e-6)
        rigs.change(target, location=place(home + 0.1))
        assert_lands(ob, chain)
    rigs.change(chain, influence=0.0)
    rigs.go_to(11)
    assert arm_location(ob)[1] == pytest.approx(0.4)
    rigs.change(chain, mute=True)
    rigs.go_to(6)
    assert arm_location(ob)[1] == pytest.approx(0.2)
    if not is_nla:
        assert [curve.data_path for curve in rigs.curves_of(ob)] == [path] * 3


def test_a_locked_location_stays_and_the_status_says_so():
    ob, _, chain = robot()
    arm_bone = ob.pose.bones["Bone.2"]
    rigs.change(arm_bone, lock_location=(True, False, True))
    assert_lands(ob, chain)
    rigs.change(chain, mute=True)
    arm_bone.lock_location = (False, True, False)
    rigs.change(chain, mute=False)
    assert not locations(ob).any()
    assert "cannot slide" in chain.status
    rigs.change(arm_bone.location, y=0.3)
    assert arm_bone.location.y == np.float32(0.3)


def test_copying_joints_from_bones_keeps_slides():
    ob, _, chain = robot()
    ob.pose.bones["Bone.1"].use_ik_limit_x = True
    bpy.context.view_layer.objects.active = ob
    bpy.ops.pose.chain_ik_joints_copy()
    slides = {joint.bone: (joint.use_slide, joint.slide_min) for joint in chain.joints}
    assert slides == {"Bone.1": (False, 0.0), "Bone.2": (True, np.float32(LOW))}
