"""Adding a chain does not move the pose: whatever the pose, the bones, the object, the controls.

What is allowed is what float32 cannot tell apart. A control's position is stored to half a unit
in the last place of its largest coordinate; seen from a limb of length L that is ``noise`` of its
length, and a solve for a target that is off by so much moves a bent limb by as much.
"""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs
from tests.blender.setups.selecting import press, select_bones
from tests.helpers import make_rng

# Thorough: thousands of solves, left out of the quick subset.
pytestmark = pytest.mark.slow

# A dozen operations in float32 lie between the pose and the controls, and back.
ROUNDINGS = 32
EPSILON = float(np.finfo(np.float32).eps)

TRANSFORMS = {
    "plain": {},
    "moved": {"location": (1, -2, 0.5), "rotation_euler": (0.3, -0.4, 1.1)},
    "large": {"scale": (100, 100, 100), "rotation_euler": (0.3, -0.4, 1.1)},
    "small and far": {"scale": (0.01, 0.01, 0.01), "location": (1, -2, 0.5)},
    "uneven": {"scale": (1.5, 0.7, 1.2), "rotation_euler": (0.3, -0.4, 1.1)},
    "mirrored": {"scale": (-1, 1, 1), "location": (1, -2, 0.5)},
    "mirrored and uneven": {"scale": (-1.3, 0.8, 1.1), "rotation_euler": (0.3, -0.4, 1.1)},
    "mirrored three times": {"scale": (-1, -1, -1), "rotation_euler": (0.3, -0.4, 1.1)},
}
CONTROLS = {
    "a target": {},
    "a pole": {"use_pole": True},
    "rotation": {"use_rotation": True},
    "a head": {"use_tail": False},
    "a pole and rotation": {"use_pole": True, "use_rotation": True},
    "a pole, a head and rotation": {"use_pole": True, "use_rotation": True, "use_tail": False},
}
SOLVERS = ("TWO_BONE", "FABRIK", "CCD", "NEWTON")


def make_posed_rig(
    count: int = 3, seed: int = 1, transform: str = "moved", **bones: object
) -> bpy.types.Object:
    """Return a posed rig of count + 1 bones."""
    ob = rigs.make_rig(rigs.zigzag(count + 1, seed=seed), **bones)
    for name, value in TRANSFORMS[transform].items():
        setattr(ob, name, value)
    rigs.turn_bones(ob, seed=seed + 10, angle=0.6)
    return ob


def make_target(scale: tuple[float, float, float] = (0.5, 1.5, 2.0)) -> bpy.types.Object:
    target = rigs.make_empty(location=(4, 3, 2))
    target.rotation_euler, target.scale = (1, 2, 3), scale
    return target


def noise(ob: bpy.types.Object) -> float:
    """Return how far float32 may put a control off, as a share of the rig's size."""
    joints = np.array([rigs.tail(ob, bone.name) for bone in ob.pose.bones])
    size = np.ptp(joints, axis=0).max()
    return ROUNDINGS * EPSILON * max(1.0, np.abs(joints).max() / size)


def assert_adding_moves_nothing(
    ob: bpy.types.Object,
    bones: list[str],
    *targets: bpy.types.Object,
    **settings: object,
) -> None:
    select_bones(ob, bones, *targets)
    before = rigs.pose(ob)
    press(bpy.ops.pose.chain_ik_add, control="EMPTY", **settings)
    assert ob.chain_ik.chains[-1].status.startswith("Reached")
    np.testing.assert_allclose(rigs.pose(ob), before, atol=noise(ob))


def names(last: int, count: int) -> list[str]:
    return [f"Bone.{i}" for i in range(last - count + 1, last + 1)]


@pytest.mark.parametrize("mode", rigs.ROTATION_MODES)
@pytest.mark.parametrize("controls", CONTROLS)
def test_bones_of_every_rotation_mode_stay(mode, controls):
    ob = make_posed_rig(modes=mode)
    assert_adding_moves_nothing(ob, names(3, 3), **CONTROLS[controls])


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("controls", CONTROLS)
@pytest.mark.parametrize("count", [2, 3, 6])
def test_bones_of_objects_of_every_scale_stay(transform, controls, count):
    ob = make_posed_rig(count, transform=transform)
    assert_adding_moves_nothing(ob, names(count, count), **CONTROLS[controls])


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("controls", CONTROLS)
@pytest.mark.parametrize("transform", ["moved", "mirrored and uneven"])
def test_every_solver_keeps_the_pose(solver, controls, transform):
    settings = CONTROLS[controls]
    is_tip_turned = settings.get("use_rotation") and settings.get("use_tail", True)
    count = 3 if is_tip_turned else 2
    ob = make_posed_rig(count, transform=transform)
    assert_adding_moves_nothing(
        ob, names(count, count), solver=solver, chain_count=count, **settings
    )


@pytest.mark.parametrize("controls", CONTROLS)
def test_bones_under_sheared_parents_stay(controls):
    ob = make_posed_rig()
    carrier = rigs.make_empty("Carrier", (0.3, 0.2, 0.1))
    carrier.rotation_euler, carrier.scale = (0.2, 0.5, 0.3), (1.5, 0.6, 1.0)
    ob.parent = carrier
    assert_adding_moves_nothing(ob, names(3, 3), **CONTROLS[controls])


@pytest.mark.parametrize("seed", range(12))
def test_long_chains_of_unconnected_rolled_and_scaled_bones_stay(seed):
    rng = make_rng(seed)
    joints = rigs.zigzag(12, seed=seed, length=0.25)
    tails = joints[:-1] + rng.uniform(0.05, 0.3, (12, 3))
    ob = rigs.make_rig(joints, tails=tails, rolls=list(rng.uniform(-3, 3, 12)))
    rigs.turn_bones(ob, seed=seed, angle=0.5)
    for bone in ob.pose.bones:
        bone.scale = rng.uniform(0.8, 1.2, 3)
    settings = list(CONTROLS.values())[seed % len(CONTROLS)]
    assert_adding_moves_nothing(ob, names(11, 9), **settings)


@pytest.mark.parametrize("transform", ["moved", "mirrored", "uneven"])
@pytest.mark.parametrize("use_rotation", [False, True])
def test_a_selected_target_far_away_comes_to_the_tip_and_not_the_tip_to_it(transform, use_rotation):
    ob, target = make_posed_rig(transform=transform), make_target()
    assert_adding_moves_nothing(ob, names(3, 3), target, use_rotation=use_rotation)
    np.testing.assert_allclose(rigs.position(target), rigs.tail(ob, "Bone.3"), atol=1e-6)


@pytest.mark.parametrize("scale", [(-1, 1, 1), (1, -1, 1), (1, 1, -1), (-1, -1, -1)])
def test_a_selected_mirrored_target_gives_the_tip_the_rotation_that_it_has(scale):
    ob, target = make_posed_rig(), make_target(scale)
    assert_adding_moves_nothing(ob, names(3, 3), target, use_rotation=True)


@pytest.mark.parametrize("use_rotation", [False, True])
def test_a_selected_target_under_a_turned_and_scaled_parent_comes_to_the_tip(use_rotation):
    ob, target = make_posed_rig(), make_target()
    carrier = rigs.make_empty("Carrier", (0.3, 0.2, 0.1))
    carrier.rotation_euler, carrier.scale = (0.2, 0.5, 0.3), (2.0, 2.0, 2.0)
    target.parent = carrier
    assert_adding_moves_nothing(ob, names(3, 3), target, use_rotation=use_rotation)


@pytest.mark.parametrize("transform", ["plain", "large", "mirrored", "uneven"])
@pytest.mark.parametrize("use_rotation", [False, True])
def test_a_selected_target_bone_comes_to_the_tip(transform, use_rotation):
    ob = make_posed_rig()
    rigs.add_bones(ob, ((2, 0, 1), (2, 0, 1.5)), prefix="Control")
    for name, value in TRANSFORMS[transform].items():
        setattr(ob, name, value)
    select_bones(ob, ["Control.0", *names(3, 3)])
    bones = [bone for bone in ob.pose.bones.keys() if bone != "Control.0"]
    rows = [ob.pose.bones.find(bone) for bone in bones]
    before = rigs.pose(ob)[rows]
    press(bpy.ops.pose.chain_ik_add, control="EMPTY", use_rotation=use_rotation)
    assert ob.chain_ik.chains[0].subtarget == "Control.0"
    np.testing.assert_allclose(rigs.pose(ob)[rows], before, atol=noise(ob))


@pytest.mark.parametrize("transform", ["plain", "moved", "mirrored", "uneven"])
@pytest.mark.parametrize("count", [2, 3, 6])
@pytest.mark.parametrize("use_pole", [False, True])
def test_a_straight_limb_stays_straight(transform, count, use_pole):
    direction = make_rng(count).normal(size=3)
    ob = rigs.make_rig(np.linspace(np.zeros(3), direction, count + 1))
    for name, value in TRANSFORMS[transform].items():
        setattr(ob, name, value)
    bpy.context.view_layer.update()
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
    np.testing.assert_allclose(rigs.pose(ob), rigs.pose(expected), atol=noise(ob))


def test_a_keyed_pose_stays():
    ob = make_posed_rig()
    rigs.key_bones(ob)
    bpy.context.scene.frame_set(3)
    assert_adding_moves_nothing(ob, names(3, 3))


def test_without_snap_the_tip_goes_to_the_target_and_the_target_stays():
    ob, target = make_posed_rig(transform="plain"), rigs.make_empty(location=(0.5, 0.5, 2.0))
    select_bones(ob, names(3, 3), target)
    press(bpy.ops.pose.chain_ik_add, control="EMPTY", use_snap=False)
    assert tuple(target.location) == (0.5, 0.5, 2.0)
    rigs.assert_reaches(ob, "Bone.3", target)
