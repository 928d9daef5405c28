"""Twist spread: evaluated bones along a forearm share the hand's turn.

Also the stored pose, the keys, and the rigs where *Set Up Limbs* switches it on.
"""

from collections.abc import Callable

import bpy
import numpy as np
import pytest
from mathutils import Quaternion

from tests.blender.setups import rigs, scaled_rigs
from tests.blender.setups.jointed_rigs import add_joint
from tests.blender.setups.scaled_rigs import turned_target
from tests.blender.setups.selecting import press, select_bones, unmoved
from tests.blender.setups.twisted_rigs import (
    ELBOW,
    MOVED,
    RIGS,
    SEGMENTED,
    UNREAL,
    WRIST,
    hand_of,
    make_arm,
    make_bones,
    turn_between,
    turn_hand,
)
from tests.helpers import make_rng

# Where bones begin along the forearm, as shares of its length; turns count from the first one.
SHARES = {
    "DEF-hand.L": {"DEF-forearm.L": 0.0, "DEF-forearm.L.001": 0.5, "DEF-hand.L": 1.0},
    "hand_l": {
        **{"lowerarm_l": 0.0, "lowerarm_twist_02_l": 1 / 3, "lowerarm_twist_01_l": 2 / 3},
        "hand_l": 1.0,
    },
}
# Errors of float32 matrices and channels: twists in radians, heads as shares of their places.
MAX_TWIST_ERROR = 5e-6
MAX_SHIFT = 2.5e-7
FOREARM = np.subtract(WRIST, ELBOW)


def twists(ob: bpy.types.Object) -> dict[str, float]:
    shares = SHARES[hand_of(ob)]
    first = next(iter(shares))
    return {bone: turn_between(ob, first, bone, FOREARM) for bone in shares}


def stiffen(ob: bpy.types.Object, chain: bpy.types.PropertyGroup) -> None:
    """Keep the bones of each segment in line, by hinges about their length, as users do."""
    for bone in ("DEF-upper_arm.L.001", "DEF-forearm.L.001"):
        if bone in ob.pose.bones:
            add_joint(chain, bone, "HINGE_Y")
    rigs.updated()


def assert_spread(ob: bpy.types.Object, tolerance: float = MAX_TWIST_ERROR) -> None:
    """Check that the bones along the forearm have their shares of the hand's turn."""
    shares, turns = SHARES[hand_of(ob)], twists(ob)
    for bone, share in shares.items():
        assert turns[bone] == pytest.approx(share * turns[hand_of(ob)], abs=tolerance), bone


def assert_unmoved(after: dict[str, np.ndarray], before: dict[str, np.ndarray]) -> None:
    """Check that no head has moved, and that hand and finger have not turned."""
    for name, matrix in before.items():
        gap = np.linalg.norm(after[name][:3, 3] - matrix[:3, 3])
        assert gap <= MAX_SHIFT * np.linalg.norm(matrix[:3, 3]), name
        if "hand" in name or "finger" in name:
            np.testing.assert_allclose(after[name], matrix, atol=4e-7, err_msg=name)


@RIGS
@pytest.mark.parametrize("solver", ["NEWTON", "FABRIK", "CCD", "FORCE"])
@pytest.mark.parametrize("influence", [1.0, 0.4])
def test_switching_it_on_moves_no_joint(bones, solver, influence):
    ob, chain, target = make_arm(bones, solver=solver, influence=influence)
    rng = make_rng(4)
    for _ in range(2):
        chain.use_twist_spread = False
        swing = scaled_rigs.random_quaternion(rng, 0.8)
        turn_hand(ob, target, rng.uniform(-3.0, 3.0), swing, rng.uniform(-0.1, 0.0, 3))
        rigs.updated()
        before, status = rigs.matrices(ob), chain.status
        rigs.change(chain, use_twist_spread=True)
        assert_unmoved(rigs.matrices(ob), before)
        assert chain.status == status


@RIGS
@pytest.mark.parametrize("scale", [(1, 1, 1), (-1.5, 1.5, 1.5), (0.5, 2.0, 1.2)])
@pytest.mark.parametrize("mode", ["QUATERNION", "XYZ", "ZYX", "AXIS_ANGLE"])
def test_bones_of_the_forearm_turn_in_proportion_to_where_they_are(bones, scale, mode):
    ob, chain, target = make_arm(bones, mode, use_twist_spread=True, solver="NEWTON")
    stiffen(ob, chain)
    rigs.change(ob, scale=scale, rotation_euler=(0.3, 0.2, -0.4))
    for angle in np.radians((-170.0, 30.0, 120.0)):
        turn_hand(ob, target, angle, moved=(0.0, 0.0, -0.05))
        rigs.updated()
        # A hand that swings far from the forearm has a less exact twist in float32.
        assert_spread(ob, 2e-5)
        # The elbow bends a little, so the hand swings too: the twist is not exactly the angle.
        assert scale != (1, 1, 1) or twists(ob)[hand_of(ob)] == pytest.approx(angle, abs=0.02)


@pytest.mark.parametrize(
    "change",
    [
        lambda ob: setattr(
            ob.pose.bones["DEF-forearm.L.001"], "lock_rotation", (False, True, False)
        ),
        lambda ob: setattr(ob.pose.bones["DEF-hand.L"], "lock_rotation", (False, True, False)),
        lambda ob: setattr(ob.pose.bones["DEF-forearm.L.001"], "scale", (1.3, 1.0, 0.8)),
        lambda ob: setattr(ob.data.bones["DEF-hand.L"], "use_inherit_rotation", False),
        lambda ob: setattr(ob.data.bones["DEF-hand.L"], "inherit_scale", "ALIGNED"),
    ],
    ids=["locked", "locked hand", "uneven scale", "no inherited rotation", "aligned scale"],
)
def test_where_rolls_are_locked_or_would_move_something_nothing_is_spread(change: Callable):
    poses = []
    for use_spread in (False, True):
        ob, _, target = make_arm(SEGMENTED, use_twist_spread=use_spread, solver="NEWTON")
        change(ob)
        turn_hand(ob, target, 1.5, moved=MOVED)
        rigs.updated()
        poses.append(rigs.rotations(ob))
    for name in ("DEF-forearm.L.001", "DEF-hand.L"):
        assert poses[0][name] == pytest.approx(poses[1][name], abs=1e-6)


@RIGS
def test_bones_that_grow_keep_their_joints(bones):
    ob, chain, target = make_arm(bones, solver="NEWTON", use_stretch=True)
    chain.use_keep_volume = True
    rigs.set_each(ob.pose.bones, ik_stretch=0.5)
    turn_hand(ob, target, 1.5, moved=(0.3, 0.1, 0.1))
    rigs.updated()
    before, turns = rigs.matrices(ob), rigs.rotations(ob)
    assert min(ob.pose.bones[name].scale.x for name in bones) < 0.9
    rigs.change(chain, use_twist_spread=True)
    after = rigs.matrices(ob)
    for name in (name for name in bones if "twist" not in name):
        np.testing.assert_allclose(after[name][:3, 3], before[name][:3, 3], atol=1e-6)
    second = list(SHARES[hand_of(ob)])[1]
    assert np.abs(np.subtract(rigs.rotations(ob)[second], turns[second])).max() > 0.1


@RIGS
def test_a_chain_that_is_dragged_leaves_the_hand_and_the_twist_bones_alone(bones):
    ob, chain, target = make_arm(bones, use_twist_spread=True, solver="FOLLOW")
    turn_hand(ob, target, 2.0, moved=MOVED)
    rigs.updated()
    assert chain.status.startswith("Reached"), chain.status
    for name in bones:
        if "twist" in name or "hand" in name:
            assert rigs.rotations(ob)[name] == pytest.approx((1.0, 0.0, 0.0, 0.0), abs=1e-6)


@RIGS
def test_in_a_tree_segments_that_one_chain_alone_drives_are_spread(bones):
    ob, chain, target = make_arm(bones, chain_count=0, use_twist_spread=True, solver="NEWTON")
    shoulder = next(iter(bones))
    other = rigs.make_empty("Other", np.add(bones[shoulder][2], (0.0, 0.0, 0.01)))
    rigs.add_chain(ob, shoulder, other, solver="NEWTON")
    stiffen(ob, chain)
    turn_hand(ob, target, 1.5, moved=(-0.05, 0.0, 0.0))
    rigs.updated()
    assert_spread(ob, 1e-5)
    before = rigs.matrices(ob)
    rigs.change(chain, use_twist_spread=False)
    assert_unmoved(rigs.matrices(ob), before)
    assert abs(twists(ob)[list(SHARES[hand_of(ob)])[1]]) < 1e-5


def test_in_a_tree_segments_that_others_share_stay():
    ob, chain, target = make_arm(SEGMENTED, use_twist_spread=True, solver="NEWTON")
    other = rigs.make_empty("Other", WRIST)
    rigs.add_chain(ob, "DEF-forearm.L.001", other, chain_count=4, solver="NEWTON")
    turn_hand(ob, target, 1.5)
    rigs.updated()
    assert abs(twists(ob)["DEF-forearm.L.001"]) < 1e-3
    assert chain.status.startswith("Reached"), chain.status


@pytest.mark.parametrize(
    ("names", "bend"),
    [(("thigh.L", "shin.L", "foot.L"), 0.0), (("leg.1", "leg.2", "foot"), 0.02)],
    ids=["straight knee", "bent line"],
)
def test_a_knee_is_not_the_middle_of_a_segment(names, bend):
    joints = [(0, 0, 1), (0, -bend, 0.5), (0, 0, 0), (0, -0.2, 0)]
    above = ("", *names[:-1])
    bones = dict(zip(names, zip(above, joints[:-1], joints[1:], strict=True), strict=True))
    ob = make_bones(bones)
    target = turned_target((0.1, -0.1, 0.2), seed=3)
    settings = {"chain_count": 2, "use_rotation": True, "rotation_bone": "AUTO"}
    chain = rigs.add_chain(ob, names[1], target, **settings)
    rigs.updated()
    before = rigs.rotations(ob)
    rigs.change(chain, use_twist_spread=True)
    assert rigs.rotations(ob) == before


@RIGS
@pytest.mark.parametrize(
    ("how", "value"), [("mute", True), ("influence", 0.0), ("use_twist_spread", False)]
)
def test_bones_get_their_stored_pose_back(bones, how, value):
    ob, chain, target = make_arm(bones, use_twist_spread=True)
    rigs.change(chain, mute=True)
    rigs.turn_bones(ob)
    start = rigs.rotations(ob)
    chain.stored_pose = ""
    chain.mute = False
    turn_hand(ob, target, 2.0, moved=MOVED)
    rigs.updated()
    changed = [name for name, turn in rigs.rotations(ob).items() if turn != start[name]]
    assert set(changed) >= {name for name in bones if "arm" in name}
    rigs.release_chain(ob, how, value)
    if how == "use_twist_spread":
        assert chain.status.startswith("Reached")
        helpers = [name for name in bones if "twist" in name]
        assert all(rigs.rotations(ob)[name] == start[name] for name in helpers)
        rigs.release_chain(ob, "mute", True)
    for name, turn in rigs.rotations(ob).items():
        assert turn == pytest.approx(start[name], abs=1e-6), name


@RIGS
def test_baked_keys_show_the_spread(bones):
    ob, _, target = make_arm(bones, use_twist_spread=True)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, 6
    for frame, angle in ((1, -2.5), (6, 2.5)):
        turn_hand(ob, target, angle, moved=np.multiply(MOVED, frame / 6))
        for path in ("location", "rotation_quaternion"):
            target.keyframe_insert(path, frame=frame)
    live = rigs.play(ob, range(1, 7))
    select_bones(ob, [])
    press(bpy.ops.pose.chain_ik_bake)
    assert ob.chain_ik.chains[0].mute
    keyed = {curve.data_path.split('"')[1] for curve in rigs.curves_of(ob)}
    assert keyed == {name for name in bones if "arm" in name or "hand" in name}
    shown = rigs.play(ob, range(1, 7))
    np.testing.assert_allclose(shown, live, atol=4e-6)
    # Solved again from the keys, the pose is the same: the twist is not spread twice.
    ob.chain_ik.chains[0].mute = False
    shown = rigs.play(ob, range(1, 7))
    np.testing.assert_allclose(shown, live, atol=2e-5)


def test_a_driven_twist_bone_is_reported():
    ob, chain, _ = make_arm(UNREAL, mode="XYZ", use_twist_spread=True)
    ob.pose.bones["lowerarm_twist_01_l"].driver_add("rotation_euler", 1).driver.expression = "0.1"
    rigs.tagged(ob)
    assert chain.status == (
        "Bone 'lowerarm_twist_01_l' has a driver on its rotation, which always wins:"
        " remove the driver, or switch Twist Spread off."
    )


@pytest.mark.parametrize("change", ["", "turned", "driven"])
def test_set_up_limbs_switches_it_on_where_nothing_moves_by_it_and_nothing_drives_it(change):
    ob = make_bones(UNREAL, mode="XYZ" if change == "driven" else "QUATERNION")
    if change == "turned":
        ob.pose.bones["hand_l"].rotation_quaternion = Quaternion((0.3, 1.0, 0.2), 0.5)
    if change == "driven":
        ob.pose.bones["lowerarm_twist_01_l"].driver_add("rotation_euler", 1).driver.expression = "0"
    rigs.updated()
    select_bones(ob, [])
    with unmoved(ob):
        press(bpy.ops.pose.chain_ik_setup)
    (chain,) = ob.chain_ik.chains
    assert chain.use_twist_spread == (not change)
    assert chain.status.startswith("Reached"), chain.status
