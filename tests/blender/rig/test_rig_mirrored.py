"""What ``negative_scale`` means, on an arm that lies along X and bends toward -Y.

MIRROR: everything is the mirror image, elbow included. KEEP: the elbow goes where the arm without
the negative scale would put it, seen in world space.
"""

import numpy as np
import pytest
from mathutils import Euler, Vector

from tests.blender.setups import rigs, scaled_rigs

ARM = ((0.0, 0.0, 0.0), (1.0, -0.2, 0.0), (2.0, 0.0, 0.0))
REACH = 1.5
CLOSE = 1e-5
MIRRORED = {
    "not": (1.0, 1.0, 1.0),
    "x": (-1.0, 1.0, 1.0),
    "y": (1.0, -1.0, 1.0),
    "z": (1.0, 1.0, -1.0),
    "xyz": (-1.0, -1.0, -1.0),
    # Two negative axes are half a turn, which both settings follow.
    "xy": (-1.0, -1.0, 1.0),
    "xz": (-1.0, 1.0, -1.0),
}
BONES = ["Bone.0", "Bone.1"]

every_mirror = pytest.mark.parametrize("scale", MIRRORED.values(), ids=MIRRORED.keys())
every_solver = pytest.mark.parametrize("solver", ["TWO_BONE", "FABRIK", "CCD", "NEWTON"])
both_settings = pytest.mark.parametrize("setting", ["MIRROR", "KEEP"])


def elbow_of_arm(
    scale, target=(REACH, 0.0, 0.0), *, pole=None, through_parent=False, turn=(0, 0, 0), **settings
):
    """Return the elbow of an arm with this scale, world space; target and pole are given there."""
    ob = rigs.make_rig(ARM)
    ob.rotation_euler = turn
    if through_parent:
        ob.parent = rigs.make_empty("Parent", (0.0, 0.0, 0.0))
    (ob.parent or ob).scale = scale
    if pole is not None:
        settings["pole_target"] = rigs.make_empty("Pole", pole)
    _, empty = scaled_rigs.follow(ob, BONES, np.array(target), **settings)
    assert scaled_rigs.miss(ob, BONES, empty) <= CLOSE
    return rigs.tail(ob, "Bone.0")


@pytest.mark.every_case
@both_settings
@every_solver
@every_mirror
def test_mirror_bends_as_the_mirror_image_and_keep_toward_minus_y_in_the_world(
    scale, solver, setting
):
    target = np.multiply(scale, (REACH, 0.0, 0.0))
    # A mirroring parent counts as the object itself.
    above = solver == "CCD"
    elbow = elbow_of_arm(scale, target, solver=solver, negative_scale=setting, through_parent=above)
    is_followed = setting == "MIRROR" or np.prod(scale) > 0.0
    side = scale if is_followed else (scale[0], 1.0, 1.0)
    toward_minus_y = REACH / 2.0, -np.sqrt(1.04 - (REACH / 2.0) ** 2), 0.0
    np.testing.assert_allclose(elbow, np.multiply(toward_minus_y, side), atol=CLOSE)
    if solver == "NEWTON":
        flipped = elbow_of_arm(scale, target, negative_scale=setting, use_flip_bend=True)
        np.testing.assert_allclose(flipped, elbow * (1.0, -1.0, 1.0), atol=CLOSE)


@pytest.mark.parametrize("axis", ["y", "z"])
def test_keep_is_the_unmirrored_arm_however_the_object_is_turned(axis):
    turn = (0.4, -0.7, 1.1)
    target = Euler(turn).to_matrix() @ Vector((1.3, 0.0, 0.0))
    original = elbow_of_arm((1.0, 1.0, 1.0), target, turn=turn)
    elbow = elbow_of_arm(MIRRORED[axis], target, turn=turn, negative_scale="KEEP")
    np.testing.assert_allclose(elbow, original, atol=CLOSE)


@both_settings
@every_solver
@every_mirror
def test_a_pole_rules_and_the_elbow_faces_it_in_the_world(scale, solver, setting):
    pole, target = (0.0, 2.0, -1.0), np.multiply(scale, (REACH, 0.0, 0.0))
    elbow = elbow_of_arm(scale, target, solver=solver, pole=pole, negative_scale=setting)
    toward = np.array(pole) / np.linalg.norm(pole)
    height = np.sqrt(1.04 - (REACH / 2.0) ** 2)
    np.testing.assert_allclose(elbow, target / 2.0 + toward * height, atol=CLOSE)


@both_settings
@every_mirror
def test_the_pole_angle_is_mirrored_with_the_arm_or_turns_as_without_the_mirror(scale, setting):
    is_followed = setting == "MIRROR" or np.prod(scale) > 0.0
    image = np.array(scale if is_followed else (1.0, 1.0, 1.0))
    target, pole = np.multiply(scale, (REACH, 0.0, 0.0)), np.array((0.3, 0.4, 3.0))
    settings = {"pole_angle": 0.6, "negative_scale": setting}
    elbow = elbow_of_arm(scale, target, pole=pole * image, **settings)
    original = elbow_of_arm((1.0, 1.0, 1.0), target * image, pole=pole, **settings)
    np.testing.assert_allclose(elbow, original * image, atol=CLOSE)
