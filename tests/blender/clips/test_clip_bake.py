"""Bake as a clip: targets, poles, limits and locks hold as frame by frame, jumps are gone.

Jumps that docs/behaviour.md admits are gone unless a goal requires them.
"""

from collections.abc import Callable

import bpy
import numpy as np
import pytest

from blender_ik_addon.properties.records import chain_spec
from blender_ik_addon.rig.clips.whole_clip_bake import ClipBake, Keying
from blender_ik_addon.rig.clips.whole_clip_bake import bake as bake_in_steps
from tests.blender.clips import shaken
from tests.blender.setups import jointed_rigs, rigs, tree_rigs
from tests.blender.setups.jointed_rigs import add_joint
from tests.blender.setups.keyed_limbs import strip_of
from tests.blender.setups.selecting import select_objects, state, warnings

pytestmark = [pytest.mark.slow, pytest.mark.oldest]

# Largest turn of a joint in a frame, radians, for each length of the target's largest step.
MAX_TURN = 5.0
Rig = tuple[bpy.types.Object, bpy.types.Object, float]


@pytest.fixture(autouse=True)
def _scene(empty_scene):
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, shaken.LAST


def arm(places: np.ndarray, joints: object = rigs.ARM, **settings: object) -> Rig:
    """Return an arm, its target, which goes through places, and the length of two bones."""
    ob = rigs.make_rig(joints)
    target = rigs.make_empty("Target")
    shaken.wander(target, places)
    rigs.add_chain(ob, ob.pose.bones[-1].name, target, **settings)
    select_objects(active=ob)
    return ob, target, 2.01


def hooked_round_a_long_bone() -> Rig:
    joints = [(0, 0, 0), (0, 0, 2.0), (0.1, 0.3, 1.6), (0.2, 0.1, 1.2), (0.3, 0.3, 0.9)]
    places = [(0.9, 0.3, 1.2), (0.2, 0.9, 1.4), (-0.9, 0.2, 1.2), (0.1, -0.9, 1.3)]
    return *arm(np.array(places), joints, solver="NEWTON")[:2], 3.5


@pytest.mark.parametrize(
    "make",
    [
        # Through the root, and past the opposite of the start.
        lambda: arm(np.array([(0.9, 0.3, 0.4), (-0.9, -0.3, -0.4)])),
        lambda: arm(np.array([(0.5, 0.05, -1.2), (-0.5, -0.05, -1.2)])),
        hooked_round_a_long_bone,
    ],
)
def test_jumps_that_no_goal_requires_are_gone(make: Callable[[], Rig]):
    ob, target, length = make()
    step = np.linalg.norm(np.diff(shaken.targets_of(target), axis=0), axis=1).max() / length
    _, after = shaken.improve(ob, {ob.pose.bones[-1].name: target}, length)
    assert after.largest_turn <= MAX_TURN * step


def test_without_smoothness_the_keys_of_a_smooth_clip_are_those_of_its_frames():
    keys = []
    for options in ({"method": "FRAMES"}, {"smoothness": 0.0}):
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        ob, target = shaken.make_tail(solver="NEWTON")
        shaken.wander(target, shaken.around((1.0, 0.5, 2.8), 0.3, 4, 3))
        shaken.bake(**options)
        keys.append(rigs.keys_of(ob))
    assert keys[0] == keys[1]


def test_keys_stay_if_targets_follow_them():
    """The offset from keys is smoothed, not the keys."""
    ob, target = shaken.make_tail(count=4)
    ob.chain_ik.chains[0].mute = True
    bones, rng = list(ob.pose.bones), np.random.default_rng(2)
    for frame in range(1, shaken.LAST + 1):
        for bone in bones:
            bone.rotation_quaternion = (1.0, *(0.05 * rng.normal(size=3)))
            bone.keyframe_insert("rotation_quaternion", frame=frame)
    shaking = shaken.play(ob)
    places = dict(zip(range(1, shaken.LAST + 1), map(tuple, shaking.tails[:, -1]), strict=True))
    target.animation_data_clear()
    rigs.key(target, "location", places)
    ob.chain_ik.chains[0].mute = False
    shaken.bake(smoothness=1.0)
    np.testing.assert_allclose(shaken.play(ob).poses, shaking.poses, atol=2e-5)


@pytest.mark.parametrize("solver", ["CCD", "NEWTON"])
def test_a_loop_stays_closed_and_keeps_its_speed_at_the_ends(solver):
    ob, target = shaken.make_tail(solver=solver)
    places = shaken.around((1.0, 0.5, 2.8), 0.3, 4)
    shaken.wander(target, np.vstack((places, places[:1])))
    before, after = shaken.improve(ob, {"Bone.4": target}, 5.0, smoothness=1.0)
    np.testing.assert_array_equal(after.local[-1], after.local[0])
    ends = [0, 1, -2, -1]
    np.testing.assert_allclose(after.local[ends], before.local[ends], atol=1e-5)
    assert np.abs(after.local - before.local).max() > 1e-2


@pytest.mark.parametrize("action_start", [None, -100, 100])
def test_a_part_of_a_clip_continues_the_keys_beside_it(action_start):
    """Keys of the action, or of a strip that plays them at other frames."""
    ob, target = shaken.make_tail(count=4, solver="NEWTON")
    shaken.wander(target, shaken.around((0.8, 0.4, 2.2), 0.3, 3))
    shaken.bake(method="FRAMES", mute=False)
    if action_start is not None:
        for point in [point for curve in rigs.curves_of(ob) for point in curve.keyframe_points]:
            point.co_ui.x += action_start - 1
        strip_of(ob)
    rigs.key(target, "location", {16: tuple(np.add(target.location, (0.3, 0.2, 0.1)))})
    # A curve may have a modifier and no keys.
    rigs.key(ob.pose.bones[0], "ik_stretch", {1: 0.0})
    bare = next(curve for curve in rigs.curves_of(ob) if curve.data_path.endswith("ik_stretch"))
    bare.keyframe_points.clear()
    bare.modifiers.new("GENERATOR")
    before = shaken.play(ob)
    shaken.bake(frame_start=8, frame_end=24, smoothness=1.0)
    after, ends = shaken.play(ob), [*range(9), *range(22, shaken.LAST)]
    np.testing.assert_allclose(after.local[ends], before.local[ends], atol=1e-5)
    assert np.abs(after.local - before.local).max() > 1e-2


@pytest.mark.parametrize(("scale", "inherit"), [((-1, 1, 1), "FULL"), ((0.5, 2.0, 1.0), "NONE")])
def test_objects_may_be_mirrored_and_bones_scaled_and_inherit_in_part(scale, inherit):
    ob, target = shaken.make_tail(solver="FABRIK", seed=3)
    ob.scale = scale
    rigs.set_each(ob.data.bones, inherit_scale=inherit)
    ob.pose.bones["Bone.1"].scale = (1.3, 0.8, 1.1)
    shaken.wander(target, shaken.around((1.0, 0.5, 2.8), 1.7, 3) * scale)
    before, after = shaken.improve(ob, {"Bone.4": target}, 5.0)
    assert after.acceleration < before.acceleration


def test_a_pole_keeps_its_side():
    ob, target = shaken.make_tail(count=3, solver="NEWTON", seed=6)
    shaken.wander(target, shaken.around((0.3, 0.2, 1.7), 0.7, 6))
    pole = rigs.make_empty("Pole", (2.0, -3.0, 1.0))
    ob.chain_ik.chains[0].pole_target = pole
    before, after = shaken.improve(ob, {"Bone.2": target}, 3.0, smoothness=1.0)

    def sides(shown):
        heads, chord = shown.poses[:, :, :3, 3], shown.tails[:, -1] - shown.poses[:, 0, :3, 3]
        bulge = heads[:, 1:].mean(axis=1) - heads[:, 0]
        across = np.cross(chord, bulge)
        return across / np.linalg.norm(across, axis=1, keepdims=True)

    assert ((sides(before) * sides(after)).sum(axis=1) > 1.0 - 1e-6).all()
    assert np.abs(after.local - before.local).max() > 1e-3, "rolls are free"


def test_limits_and_kinds_of_joints_hold():
    ob, target = shaken.make_tail(count=5, solver="NEWTON", seed=7, use_limits=True)
    chain = ob.chain_ik.chains[0]
    add_joint(chain, "Bone.1", "HINGE_X", x=(-100, 100))
    for bone in ("Bone.0", "Bone.2", "Bone.3", "Bone.4"):
        add_joint(chain, bone, "BALL", x=(-60, 60), y=(-30, 30), z=(-60, 60))
    shaken.improve(ob, {"Bone.4": target}, 5.0)
    for _ in rigs.each_frame(range(1, shaken.LAST + 1)):
        jointed_rigs.about(jointed_rigs.local(ob, "Bone.1"), "x")
        for name in ("Bone.2", "Bone.3"):
            assert abs(jointed_rigs.twist(jointed_rigs.local(ob, name))) < np.radians(30.001)


@pytest.mark.parametrize(("mode", "channel"), [("AXIS_ANGLE", None), ("QUATERNION", 2), ("XYZ", 1)])
def test_a_chain_that_jumps_moves_smoothly_and_locked_axes_keep_their_values(mode, channel):
    ob, target = shaken.make_tail(solver="CCD", seed=8 if channel else 1, modes=mode)
    bone = ob.pose.bones["Bone.1"]
    bone.lock_rotation = (False, channel is not None, False)
    before, after = shaken.improve(
        ob, {"Bone.4": target}, 5.0, least=1 if channel else shaken.LAST // 4
    )
    assert all(chain.mute for chain in ob.chain_ik.chains)
    assert channel or after.acceleration < 0.7 * before.acceleration
    assert channel or after.largest_turn < before.largest_turn
    for frame in range(1, shaken.LAST + 1) if channel else ():
        shown = rigs.evaluated(ob, rigs.go_to(frame)).pose.bones["Bone.1"]
        assert abs(getattr(shown, rigs.rotation_property(bone))[channel]) < 1e-6


@pytest.mark.parametrize(("solver", "has_pole"), [("FABRIK", False), ("NEWTON", True)])
def test_limbs_of_a_tree_are_improved_together_and_a_pole_keeps_their_sides(
    solver, has_pole, capfd
):
    rig = tree_rigs.make_y()
    pole = rigs.make_empty("Pole", (2.0, -3.0, 1.0)) if has_pole else None
    targets = {}
    for number, (name, tip) in enumerate(rig.tips.items()):
        place = rig.ob.data.bones[tip].tail_local
        targets[tip] = rigs.make_empty(name)
        shaken.wander(targets[tip], shaken.around(place * 0.8, 0.25, number))
        rigs.add_chain(rig.ob, tip, targets[tip], solver=solver, pole_target=pole)
    select_objects(active=rig.ob)
    bpy.context.view_layer.update()
    before, after = shaken.improve(rig.ob, targets, 2.0, smoothness=1.0)
    assert not (has_pole and warnings(capfd))
    for name in rig.tips if has_pole else ():
        upper, lower = (rig.ob.pose.bones.find(f"{name}.{i}") for i in range(2))
        (shoulder, was), (_, now) = (
            (clip.poses[:, upper, :3, 3], clip.poses[:, lower, :3, 3] - clip.poses[:, upper, :3, 3])
            for clip in (before, after)
        )
        across = np.cross(before.tails[:, lower] - shoulder, was)
        assert np.abs((across * now).sum(axis=1)).max() < 1e-6


def make_crossed():
    """Return a rig with a spine, an arm under a shoulder that no chain moves, and their targets."""
    ob = rigs.make_rig(rigs.zigzag(4))
    rigs.add_bones(ob, [(0, 0, 4), (0.5, 0, 4)], prefix="Shoulder", parent="Bone.3")
    arm = np.array([(0.5, 0, 4), (1.3, 0.2, 4), (2.1, 0.0, 4.1), (2.9, 0.1, 4)])
    rigs.add_bones(ob, arm, prefix="Arm", parent="Shoulder.0")
    chest, hand = rigs.make_empty("Chest"), rigs.make_empty("Hand")
    shaken.wander(chest, shaken.around((0.8, 0.3, 2.6), 0.5, 1))
    shaken.wander(hand, shaken.around((1.6, 0.5, 2.8), 0.4, 2))
    rigs.add_chain(ob, "Bone.3", chest, solver="CCD", name="Spine")
    rigs.add_chain(ob, "Arm.2", hand, chain_count=3, solver="CCD", name="Arm")
    select_objects(active=ob)
    return ob, chest, hand


def test_arms_reach_their_targets_from_where_the_spine_is_and_rest_while_they_are_muted():
    ob, chest, hand = make_crossed()
    rigs.key(ob.chain_ik.chains["Arm"], "mute", {1: False, 10: True, 16: False})
    before, after = shaken.improve(ob, {"Bone.3": chest, "Arm.2": hand}, 2.4)
    rows = {bone.name: i for i, bone in enumerate(ob.pose.bones)}
    assert np.abs(after.poses - before.poses)[:, rows["Shoulder.0"]].max() > 1e-3
    muted = np.s_[9:15, rows["Arm.0"] : rows["Arm.2"] + 1]
    np.testing.assert_allclose(after.local[muted], before.local[muted], atol=1e-5)


def follow_spine(ob, hand):
    hand.animation_data_clear()
    hand.parent, hand.parent_type, hand.parent_bone = ob, "BONE", "Bone.3"


def tie_arm(ob, hand):
    tie = ob.pose.bones["Arm.1"].constraints.new("TRANSFORM")
    tie.target, tie.map_to, tie.to_max_x_rot, tie.from_max_x = hand, "ROTATION", 0.6, 1.0


def share_arm(ob, _):
    ob.chain_ik.chains["Arm"].solver = "NEWTON"
    other = rigs.make_empty("Other", (2.0, 0.5, 3.0))
    rigs.add_chain(ob, "Arm.1", other, chain_count=2, solver="NEWTON", weight=0.0, name="Other")
    ob.chain_ik.active_index = 1


def key_limits(ob, _):
    ob.chain_ik.chains["Arm"].use_limits = True
    bone = ob.pose.bones["Arm.1"]
    bone.use_ik_limit_x, bone.ik_min_x = True, -3.0
    rigs.key(bone, "ik_max_x", {1: 0.0, 16: 3.0})


DRAG = lambda ob, _: setattr(ob.chain_ik.chains["Arm"], "solver", "FOLLOW")  # noqa: E731


@pytest.mark.parametrize(
    ("change", "chain", "why", "options"),
    [
        (follow_spine, "Spine", "targets or poles of other chains move with its bones", {}),
        (DRAG, "Arm", "it starts from its last pose", {}),
        (DRAG, "Spine", "bones below it are baked frame by frame", {}),
        (tie_arm, "Arm", "constraints or drivers also move its bones", {}),
        (share_arm, "Arm", "it shares bones with chains that are not baked", {"which": "ACTIVE"}),
        (key_limits, "Arm", "its limits or locks change between frames", {}),
    ],
)
def test_chains_that_cannot_be_improved_are_baked_frame_by_frame_and_say_so(
    change, chain, why, options, capfd
):
    ob, _, hand = make_crossed()
    change(ob, hand)
    bpy.context.view_layer.update()
    before = shaken.play(ob)
    shaken.bake(**options)
    warning = f"Warning: Chain '{chain}' is baked frame by frame: {why}"
    assert any(line.startswith(warning) for line in warnings(capfd))
    names = {bone.name: i for i, bone in enumerate(ob.pose.bones)}
    tip = {"Spine": "Bone.3", "Arm": "Arm.2"}[chain]
    np.testing.assert_allclose(
        shaken.play(ob).local[:, names[tip]], before.local[:, names[tip]], atol=1e-5
    )


def test_a_chain_with_too_many_bones_to_improve_says_so(capfd):
    shaken.make_tail(count=33)
    shaken.bake()
    warning = "Warning: Chain 'Chain' is baked frame by frame: it has more than 32 bones."
    assert warning in warnings(capfd)


def test_a_jump_that_joints_force_is_reported_with_its_frame(capfd):
    ob = rigs.make_rig([(0, 0, 0), (0, 0.1, 1), (0, 0, 2)])
    _, chain = rigs.follow(ob, "Bone.1", (0, 0, 1.2), solver="TWO_BONE", use_limits=True)
    for bone in ("Bone.0", "Bone.1"):
        add_joint(chain, bone, "HINGE_X", x=(-170, 170))
    rigs.key(chain, "use_flip_bend", {1: False, 16: True})
    select_objects(active=ob)
    bpy.context.view_layer.update()
    shaken.bake()
    expected = (
        "Chain 'Chain' still jumps at these frames, because no path without a jump was found: 16"
    )
    lines = warnings(capfd)
    assert any(line.endswith(expected) for line in lines), lines


def test_only_every_fifth_frame_is_keyed_of_the_same_clip():
    ob, _ = shaken.make_tail(solver="CCD")
    shaken.bake(mute=False)
    all_keys = rigs.keys_of(ob)
    shaken.bake(step=5)
    for path, keys in rigs.keys_of(ob).items():
        known = dict(all_keys[path])
        assert [frame for frame, _ in keys] == [*range(1, shaken.LAST, 5), shaken.LAST]
        np.testing.assert_allclose([known[x] for x, _ in keys], [y for _, y in keys], atol=1e-5)


def test_a_clip_that_is_stopped_while_it_is_improved_leaves_everything_as_it_was():
    ob, _, _ = make_crossed()
    scene, frames = bpy.context.scene, range(1, shaken.LAST + 1)
    scene.frame_set(5)
    rigs.updated()
    specs = {i: chain_spec(chain) for i, chain in enumerate(ob.chain_ik.chains)}
    before, pose = state(), rigs.pose(ob)
    work = bake_in_steps(scene, ob, specs, frames, Keying(), ClipBake(scene, ob, specs, 0.5))
    for _ in range(shaken.LAST + 1):
        next(work)
    work.close()
    rigs.updated()
    assert scene.frame_current == 5
    assert state() == before
    assert not rigs.curves_of(ob)
    np.testing.assert_array_equal(rigs.pose(ob), pose)
