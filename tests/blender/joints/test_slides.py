"""Sliding joints: reached within their range, stopped at both of its ends, as Blender shows it."""

import numpy as np
import pytest

from tests.blender.setups import rigs, scaled_rigs
from tests.blender.setups.jointed_rigs import about, give, local
from tests.blender.setups.sliding_rigs import (
    BEYOND,
    HIGH,
    INSIDE,
    LOW,
    READ_BACK,
    SHORT,
    assert_lands,
    locations,
    moved,
    place,
    robot,
)
from tests.helpers import assert_positions_close, make_rng

pytestmark = pytest.mark.slow

SOLVERS = ("FABRIK", "CCD", "NEWTON", "TWO_BONE")
INHERITED = ("FULL", "FIX_SHEAR", "ALIGNED", "AVERAGE", "NONE", "NONE_LEGACY")


@pytest.mark.every_case
@pytest.mark.parametrize("solver", SOLVERS[:3])
@pytest.mark.parametrize(
    ("slide", "end"), [(INSIDE, INSIDE), (-0.3, -0.3), (0.0, 0.0), (BEYOND, HIGH), (SHORT, LOW)]
)
def test_an_arm_slides_as_far_as_its_target_asks_and_stands_exactly_at_either_end(
    solver, slide, end
):
    ob, target, chain = robot(slide, solver=solver)
    np.testing.assert_allclose(moved(ob, "Bone.2"), (0.0, end, 0.0), atol=2e-5)
    if slide == end:
        assert_lands(ob, chain)
        return
    assert locations(ob)[2, 1] == np.float32(end)
    gap = np.linalg.norm(rigs.tail(ob, "Bone.2") - rigs.position(target))
    assert gap == pytest.approx(abs(slide - end), abs=1e-5)
    assert chain.residual == pytest.approx(gap, abs=1e-5)
    assert "Held back by the limits of Bone.2 slide" in chain.status


@pytest.mark.parametrize("bone", ["Bone.0", "Bone.1"])
@pytest.mark.parametrize(("parent", "is_local"), [(False, True), (True, False), (True, True)])
def test_the_first_bone_slides_as_the_last_does(bone, parent, is_local):
    ob = rigs.make_rig([(0, 0, 0), (0, 0, 1), (0, 0, 2)], is_connected=False)
    if parent:
        rigs.add_bones(ob, [(0.3, 0, -1), (0, 0.2, 0)], prefix="Above")
        rigs.hang_bone(ob, "Bone.0", "Above.0")
    ob.data.bones[bone].use_local_location = is_local
    target = rigs.make_empty(location=(0, 0, 2.3))
    chain = rigs.add_chain(ob, "Bone.1", target, chain_count=2)
    for name in ("Bone.0", "Bone.1"):
        give(chain, name, "FIXED")
    joint = next(joint for joint in chain.joints if joint.bone == bone)
    joint.use_slide, joint.slide_min, joint.slide_max = True, LOW, HIGH
    for height, slide in ((2.3, 0.3), (9.0, HIGH), (-9.0, LOW), (2.1, 0.1)):
        target.location.z = height
        rigs.updated()
        np.testing.assert_allclose(moved(ob, bone), (0.0, slide, 0.0), atol=1e-5)
        np.testing.assert_allclose(rigs.tail(ob, "Bone.1"), (0.0, 0.0, 2.0 + slide), atol=1e-5)


def test_range_and_hinges_hold_wherever_the_target_is_and_what_can_be_reached_is():
    ob, target, chain = robot()
    rng, ends = make_rng(3), set()
    for _ in range(12):
        target.location = rng.uniform(-4.0, 4.0, 3)
        rigs.updated()
        shown = locations(ob)
        assert np.float32(LOW) <= shown[2, 1] <= np.float32(HIGH)
        shown[2, 1] = 0.0
        assert not shown.any()
        assert moved(ob, "Bone.2")[1] == pytest.approx(locations(ob)[2, 1], abs=2e-6)
        about(local(ob, "Bone.0"), "y")
        assert abs(about(local(ob, "Bone.1"), "x")) <= np.radians(120.0) + 2e-6
        np.testing.assert_allclose(local(ob, "Bone.2"), np.eye(3), atol=2e-6)
        ends.add(float(locations(ob)[2, 1]))
        gap = np.linalg.norm(rigs.tail(ob, "Bone.2") - rigs.position(target))
        assert chain.residual == pytest.approx(gap, abs=5e-6)
        target.location = place(rng.uniform(LOW, HIGH), *rng.uniform((-3.0, -2.0), (3.0, 2.0)))
        rigs.updated()
        assert_lands(ob, chain)
    assert {float(np.float32(LOW)), float(np.float32(HIGH))} <= ends


@pytest.mark.parametrize("inherited", INHERITED)
@pytest.mark.parametrize("is_local", [True, False])
@pytest.mark.parametrize("turns_along", [True, False])
def test_what_is_written_gives_the_solved_pose_whatever_bones_inherit(
    inherited, is_local, turns_along
):
    rng = make_rng(INHERITED.index(inherited))
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
    target = rigs.make_empty(location=effector + rng.uniform(-0.3, 0.3, 3))
    chain = rigs.add_chain(ob, names[-1], target, chain_count=3)
    for name in names:
        give(chain, name, "HINGE_X", use_slide=True, slide_min=-0.3, slide_max=0.3)
    rigs.updated()
    for _ in range(4):
        slid = np.array([moved(ob, name) - before[name] for name in names])
        assert np.abs(slid[:, [0, 2]]).max() <= 3e-6
        assert np.abs(slid[:, 1]).max() <= 0.3 + 3e-6
        assert np.abs(slid[:, 1]).max() > 0.01
        gap = np.linalg.norm(rigs.tail(ob, names[-1]) - rigs.position(target))
        assert chain.residual == pytest.approx(gap, abs=5e-6)
        if turns_along:
            assert gap <= rigs.REACHED or "Held back" in chain.status, chain.status
        target.location = effector + rng.uniform(-0.3, 0.3, 3)
        rigs.updated()


@pytest.mark.parametrize(
    ("scale", "negative"),
    [((-1.0, 1.0, 1.0), "KEEP"), ((2.0, 2.0, -2.0), "MIRROR"), ((0.5, -1.5, 1.0), "KEEP")],
)
def test_armatures_of_negative_and_uneven_scale_slide_as_far(scale, negative):
    ob, target, chain = robot(negative_scale=negative)
    ob.scale = scale
    for slide in (INSIDE, BEYOND, SHORT):
        target.location = place(slide) * scale
        rigs.updated()
        end = float(np.clip(slide, LOW, HIGH))
        if slide == INSIDE or abs(scale[0]) == abs(scale[1]):
            np.testing.assert_allclose(moved(ob, "Bone.2"), (0.0, end, 0.0), atol=3e-5)
        if slide == INSIDE:
            assert_lands(ob, chain)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_bone_that_turns_slides_along_its_axis_at_rest(solver):
    """Blender's location acts before the rotation: channels X and Z stay what they were."""
    ob = rigs.make_rig([(0, 0, 0), (0, 0, 1), (0, 0, 2)], is_connected=False)
    target = rigs.make_empty(location=(0.5, 0.4, 1.9))
    chain = rigs.add_chain(ob, "Bone.1", target, solver=solver)
    give(chain, "Bone.0", "HINGE_Y")
    give(chain, "Bone.1", "HINGE_X", use_slide=True, slide_min=LOW, slide_max=HIGH)
    rigs.updated()
    assert_lands(ob, chain, "Bone.1")
    head = rigs.head(ob, "Bone.1")
    assert_positions_close(head[:2], (0.0, 0.0), READ_BACK)
    assert head[2] - 1.0 == pytest.approx(locations(ob)[1, 1], abs=READ_BACK)
    assert abs(about(local(ob, "Bone.1"), "x")) > 0.1


@pytest.mark.parametrize("relative_to", ["PARENT", "CHILD"])
def test_zeros_elsewhere_than_rest_do_not_turn_the_slide(relative_to):
    ob = rigs.make_rig([(0, 0, 0), (0, 0, 1), (0, 0.6, 1.8)], is_connected=False)
    target = rigs.make_empty(location=(0.0, 1.0, 2.0))
    chain = rigs.add_chain(ob, "Bone.1", target)
    slide = {"use_slide": True, "slide_min": LOW, "slide_max": HIGH, "relative_to": relative_to}
    if relative_to == "PARENT":
        give(chain, "Bone.0", "FIXED")
    give(chain, "Bone.1" if relative_to == "PARENT" else "Bone.0", "HINGE_X", x=(-90, 90), **slide)
    rigs.updated()
    shift = moved(ob, "Bone.1")
    assert np.abs(shift[[0, 2]]).max() <= READ_BACK
    assert abs(shift[1]) > 0.05
    gap = np.linalg.norm(rigs.tail(ob, "Bone.1") - rigs.position(target))
    assert chain.residual == pytest.approx(gap, abs=2e-6)


def test_robots_side_by_side_slide_as_each_alone():
    alone = []
    for seed in (0, 2):
        ob, target, _ = robot(name=f"Alone {seed}")
        target.location = make_rng(seed).uniform(-2.5, 2.5, 3)
        rigs.updated()
        alone.append((rigs.pose(ob), tuple(target.location)))
    many = [robot(name=f"Rig {seed}")[:2] for seed in (0, 2)]
    for (_, target), (_, location) in zip(many, alone, strict=True):
        target.location = location
    rigs.updated()
    for (ob, _), (pose, _) in zip(many, alone, strict=True):
        np.testing.assert_array_equal(rigs.pose(ob), pose)
