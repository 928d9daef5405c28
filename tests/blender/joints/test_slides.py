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
from tests.helpers import make_rng

pytestmark = pytest.mark.slow

INHERITED = ("FULL", "FIX_SHEAR", "ALIGNED", "AVERAGE", "NONE", "NONE_LEGACY")


@pytest.mark.parametrize("solver", ["FABRIK", "CCD", "NEWTON"])
@pytest.mark.parametrize(("slide", "end"), [(INSIDE, INSIDE), (BEYOND, HIGH), (SHORT, LOW)])
def test_an_arm_slides_as_far_as_its_target_asks_and_stands_exactly_at_either_end(
    solver, slide, end
):
    ob, target, chain = robot(slide, solver=solver)
    np.testing.assert_allclose(moved(ob, "Bone.2"), (0.0, end, 0.0), atol=2e-5)
    # Hinges turn about their own axes alone.
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
