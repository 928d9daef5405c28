"""Adding a chain does not move the pose, for any pose, bones, object and controls.

The tolerance is the rounding of float32. A control's position is stored to half a unit in the last
place of its largest coordinate, which is a share ``noise`` of the limb's length. A solve for a
target with this error moves a bent limb by the same amount.
"""

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs
from tests.blender.setups.selecting import press, select_bones
from tests.helpers import make_rng

# Thousands of solves are too many for the quick subset.
pytestmark = pytest.mark.slow

# Units in the last place: a dozen float32 operations lead from the pose to the controls and back.
ROUNDINGS = 32
EPSILON = float(np.finfo(np.float32).eps)

TURNED = {"rotation_euler": (0.3, -0.4, 1.1)}
TRANSFORMS = {
    "plain": {},
    "moved": {"location": (1, -2, 0.5), **TURNED},
    "large": {"scale": (100, 100, 100), **TURNED},
    "small and far": {"scale": (0.01, 0.01, 0.01), "location": (1, -2, 0.5)},
    "uneven": {"scale": (1.5, 0.7, 1.2), **TURNED},
    "mirrored": {"scale": (-1, 1, 1), "location": (1, -2, 0.5)},
    "mirrored and uneven": {"scale": (-1.3, 0.8, 1.1), **TURNED},
    "mirrored three times": {"scale": (-1, -1, -1), **TURNED},
}
CONTROLS = [
    {},
    {"use_pole": True},
    {"use_rotation": True},
    {"use_tail": False},
    {"use_pole": True, "use_rotation": True},
    {"use_pole": True, "use_rotation": True, "use_tail": False},
]
WORST = "mirrored and uneven"
# Transform, number of bones, and settings of the new chain; the rotation mode varies by case.
CASES = [
    *((transform, 2 + 4 * (i % 2), CONTROLS[i % 6]) for i, transform in enumerate(TRANSFORMS)),
    *((WORST, count, controls) for count in (2, 6) for controls in CONTROLS),
    *((WORST, 2, {"use_pole": True, "solver": solver}) for solver in ("FABRIK", "CCD", "NEWTON")),
    *((WORST, 3, {"use_rotation": True, "solver": solver}) for solver in ("TWO_BONE", "CCD")),
]


def make_posed_rig(
    count: int = 3, seed: int = 1, transform: str = "moved", **bones: object
) -> bpy.types.Object:
    """Return a posed rig of count + 1 bones."""
    ob = rigs.make_rig(rigs.zigzag(count + 1, seed=seed), **bones)
    rigs.change(ob, **TRANSFORMS[transform])
    rigs.turn_bones(ob, seed=seed + 10, angle=0.6)
    return ob


def make_carrier(scale: tuple[float, float, float]) -> bpy.types.Object:
    carrier = rigs.make_empty("Carrier", (0.3, 0.2, 0.1))
    carrier.rotation_euler, carrier.scale = (0.2, 0.5, 0.3), scale
    return carrier


def assert_adding_moves_nothing(
    ob: bpy.types.Object, bones: list[str], *targets: bpy.types.Object, **settings: object
) -> None:
    select_bones(ob, bones, *targets)
    rows = [i for i, bone in enumerate(ob.pose.bones) if bone.name != "Control.0"]
    before = rigs.pose(ob)[rows]
    press(bpy.ops.pose.chain_ik_add, **{"control": "EMPTY", **settings})
    assert ob.chain_ik.chains[-1].status.startswith("Reached")
    joints = np.array([rigs.tail(ob, bone.name) for bone in ob.pose.bones])
    noise = ROUNDINGS * EPSILON * max(1.0, np.abs(joints).max() / np.ptp(joints, axis=0).max())
    np.testing.assert_allclose(rigs.pose(ob)[rows], before, atol=noise)


def names(last: int, count: int) -> list[str]:
    return [f"Bone.{i}" for i in range(last - count + 1, last + 1)]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_bones_of_every_mode_and_objects_of_every_scale_stay_with_every_solver(case):
    transform, count, settings = CASES[case]
    mode = rigs.ROTATION_MODES[case % len(rigs.ROTATION_MODES)]
    ob = make_posed_rig(count, transform=transform, modes=mode)
    if case % 2:
        rigs.key_bones(ob)
        bpy.context.scene.frame_set(3)
    control = "BONE" if case % 3 else "EMPTY"
    assert_adding_moves_nothing(
        ob, names(count, count), chain_count=count, control=control, **settings
    )


@pytest.mark.parametrize("seed", range(6))
def test_long_chains_of_unconnected_rolled_and_scaled_bones_stay_also_below_shear(seed):
    rng = make_rng(seed)
    joints = rigs.zigzag(12, seed=seed, length=0.25)
    tails = joints[:-1] + rng.uniform(0.05, 0.3, (12, 3))
    ob = rigs.make_rig(joints, tails=tails, rolls=list(rng.uniform(-3, 3, 12)))
    rigs.turn_bones(ob, seed=seed, angle=0.5)
    for bone in ob.pose.bones:
        bone.scale = rng.uniform(0.8, 1.2, 3)
    if seed % 2:
        ob.parent = make_carrier((1.5, 0.6, 1.0))
    assert_adding_moves_nothing(ob, names(11, 9), **CONTROLS[seed])


@pytest.mark.parametrize("scale", [(0.5, 1.5, 2.0), (1, -1, 1)])
@pytest.mark.parametrize("transform", ["mirrored", "uneven"])
def test_a_selected_target_far_away_comes_to_the_tip_and_not_the_tip_to_it(transform, scale):
    ob, target = make_posed_rig(transform=transform), rigs.make_empty(location=(4, 3, 2))
    target.rotation_euler, target.scale = (1, 2, 3), scale
    if scale == (0.5, 1.5, 2.0):
        target.parent = make_carrier((2.0, 2.0, 2.0))
    assert_adding_moves_nothing(ob, names(3, 3), target, use_rotation=True)
    np.testing.assert_allclose(rigs.position(target), rigs.tail(ob, "Bone.3"), atol=1e-6)
    # A target bone comes to the tip as well, and keeps its scale.
    ob = make_posed_rig(transform=transform)
    rigs.add_bones(ob, ((2, 0, 1), (2, 0, 1.5)), prefix="Control")
    assert_adding_moves_nothing(ob, ["Control.0", *names(3, 3)], use_rotation=True)
    assert ob.chain_ik.chains[0].subtarget == "Control.0"
    if transform != "uneven":
        np.testing.assert_allclose(ob.pose.bones["Control.0"].scale, 1.0, atol=1e-5)


@pytest.mark.parametrize("transform", ["moved", "mirrored", "uneven"])
@pytest.mark.parametrize(("count", "use_pole"), [(2, True), (6, False)])
def test_a_straight_limb_stays_straight(transform, count, use_pole):
    direction = make_rng(count).normal(size=3)
    ob = rigs.make_rig(np.linspace(np.zeros(3), direction, count + 1))
    rigs.change(ob, **TRANSFORMS[transform])
    assert_adding_moves_nothing(ob, names(count - 1, count), use_pole=use_pole)


def test_a_pose_that_a_script_has_just_set_stays():
    ob = make_posed_rig()
    select_bones(ob, names(3, 2))
    ob.pose.bones["Bone.0"].rotation_quaternion = (0.9, 0.3, 0.2, 0.1)
    ob.location.x += 3.0
    expected = ob.copy()
    rigs.link(expected)
    expected.select_set(False)
    press(bpy.ops.pose.chain_ik_add, control="EMPTY", use_rotation=True)
    np.testing.assert_allclose(rigs.pose(ob), rigs.pose(expected), atol=1e-5)
