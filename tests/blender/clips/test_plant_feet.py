"""Plant Feet: feet and hands stand, knees keep their side, the rest moves as before."""

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Vector

from blender_ik_addon.core.clips.jumps import find_largest_turns
from blender_ik_addon.rig.controls.control_spaces import move_to
from blender_ik_addon.rig.controls.foot_roll import control_above
from blender_ik_addon.rig.keying.curve_points import remove_points, split
from blender_ik_addon.rig.reading.spec import Anchor
from blender_ik_addon.rig.reading.world import channels_of
from tests.blender.body.human_bodies import farthest, make_character, make_human
from tests.blender.clips import walking
from tests.blender.clips.walking import remove_control_keys
from tests.blender.setups import rigs
from tests.blender.setups.keyed_limbs import assign_action
from tests.blender.setups.saved_rigs import opened
from tests.blender.setups.selecting import press, refusal, select_objects
from tests.core.clips import walks
from tests.core.clips.test_contacts import f1

pytestmark = [pytest.mark.usefixtures("rigify"), pytest.mark.slow, pytest.mark.oldest]

# Largest slide in a frame, ratio of accelerations to those before, and change by a second run.
MAX_SLIDE, MAX_ROUGHNESS, MAX_CHANGE = 1e-4, 1.2, 1e-6
# Largest depth below a floor, scene units: keys are float32.
MAX_DEPTH = 1e-5


@pytest.fixture
def human(rigify: None) -> bpy.types.Object:
    return opened(walking.make)


def plant(**settings: object) -> None:
    press(bpy.ops.pose.chain_ik_plant, **settings)


def test_feet_do_not_slide_and_nothing_gets_rougher_and_all_is_undone_in_one_step(human):
    """The human is mirrored, a parent shears it, and it also stands on one heel or toe."""
    human.parent = rigs.make_empty("Parent", (0.0, 0.0, 0.0))
    human.parent.scale, human.parent.rotation_euler = (1.0, 1.3, 0.8), (0.0, 0.2, 0.5)
    human.scale, human.rotation_euler.z = (-2.0, 2.0, 2.0), 0.7
    rigs.updated()
    before = walking.paths_of(human)
    bpy.ops.ed.undo_push(message="before")
    plant()
    after, max_slide = walking.paths_of(human), 2.0 * MAX_SLIDE
    assert walking.slides(human, before) > 10 * max_slide
    assert walking.slides(human, after) < max_slide
    for name, path in before.items():
        # Knees stay on their side.
        assert np.abs(after[name] - path).max() < 0.15, name
        assert walks.acceleration(after[name]) <= MAX_ROUGHNESS * walks.acceleration(path), name
    assert not any(chain.mute for chain in human.chain_ik.chains)
    # The controls of feet carry those of toes, so these are where the toes are.
    assert max(human.chain_ik.chains[f"Toe.{side}"].residual for side in walking.SIDES) < 1e-3
    kinds = np.concatenate([walking.planted(human, f"Leg.{side}") for side in walking.SIDES])
    assert {1, 2, 3} <= set(kinds.tolist())
    for name, chain in human.chain_ik.chains.items():
        assert (walking.planted(human, name) is not None) == name.startswith("Leg"), chain.name
    bpy.ops.ed.undo()
    human = bpy.data.objects["metarig"]
    assert walking.planted(human, "Leg.L") is None
    assert human.animation_data.action.name == "Walk"
    assert "Walk (unplanted)" not in bpy.data.actions


def test_a_planted_walk_is_baked_as_a_clip_with_all_its_chains(human, capfd):
    plant()
    before = walking.paths_of(human)
    capfd.readouterr()
    press(bpy.ops.pose.chain_ik_bake, which="ALL", method="CLIP")
    # Toes cannot correct rounding errors of legs, and must not be baked by frames for that.
    assert "frame by frame" not in capfd.readouterr().out
    after = walking.paths_of(human)
    assert walking.slides(human, after) < MAX_SLIDE
    for name in ("heel.L", "heel.R", "toe.L", "toe.R", "hips", "head"):
        np.testing.assert_allclose(after[name], before[name], atol=2e-5, err_msg=name)


def test_a_second_run_moves_nothing_reads_keys_of_planted_and_keeps_the_input_clip(human):
    before = walking.paths_of(human)
    plant()
    once = walking.paths_of(human)
    plant()
    twice = walking.paths_of(human)
    for name, path in once.items():
        np.testing.assert_allclose(twice[name], path, atol=MAX_CHANGE)
    settings, kinds = human.chain_ik.chains["Leg.L"], walking.planted(human, "Leg.L")
    settings.planted = "FOOT"
    settings.keyframe_insert("planted", frame=int(np.flatnonzero(kinds == 0)[3]) + 1)
    expected = walking.planted(human, "Leg.L")
    assert (expected != kinds).sum() > 3
    plant()
    np.testing.assert_array_equal(walking.planted(human, "Leg.L"), expected)
    assert walking.slides(human, walking.paths_of(human)) < MAX_SLIDE
    clip = bpy.data.actions["Walk (unplanted)"]
    assert clip.users
    assign_action(human, clip)
    rigs.set_each(human.chain_ik.chains, mute=True)
    for name, path in walking.paths_of(human).items():
        np.testing.assert_allclose(path, before[name], atol=MAX_CHANGE)
    # The input clip is never changed.
    plant()
    assert human.animation_data.action != clip
    assert "chain_ik_clip" not in clip


def test_a_planted_clip_that_was_retimed_is_refused_until_it_is_the_input_clip(human):
    """The stored clip would play at its former times, beside bones at the new ones."""
    bones, last = human.pose.bones, bpy.context.scene.frame_end
    for name in ("shoulder.L", "thumb.01.L"):
        for frame in (1, last):
            bones[name].keyframe_insert("rotation_quaternion", frame=frame)
    plant()
    once = walking.paths_of(human)
    # Other bones get and lose keys.
    bones["thumb.01.R"].keyframe_insert("rotation_quaternion", frame=5)
    for curve in rigs.curves_of(human):
        if "thumb.01.L" in curve.data_path:
            curve.keyframe_points.remove(curve.keyframe_points[-1])
    plant()
    for name, path in walking.paths_of(human).items():
        np.testing.assert_allclose(path, once[name], atol=MAX_CHANGE)
    walking.move_keys(human, 2.0)
    bpy.context.scene.frame_end = 2 * last - 1
    retimed = walking.paths_of(human)
    assert refusal(bpy.ops.pose.chain_ik_plant) == (
        "The keys of 'metarig' have other frames than when its feet were planted: to plant the"
        " present motion, first delete the custom property chain_ik_clip of the action 'Walk'."
    )
    del human.animation_data.action["chain_ik_clip"]
    plant()
    for name, path in walking.paths_of(human).items():
        np.testing.assert_allclose(path, retimed[name], atol=0.1, err_msg=name)


def test_a_planted_clip_that_was_cut_and_has_curves_without_keys_is_planted_again(human):
    """The stored clip plays at the same times as what a cut leaves, but not if that is scaled."""
    bones, last = human.pose.bones, bpy.context.scene.frame_end
    for frame in (1, 9, last):
        bones["shoulder.L"].rotation_quaternion.x = 0.01 * frame
        for name in ("shoulder.L", "thumb.01.L", "thumb.01.R"):
            bones[name].keyframe_insert("rotation_quaternion", frame=frame)
    plant()
    half = bpy.context.scene.frame_end = last // 2
    for curve in rigs.curves_of(human):
        split(curve, half)
        first = 0 if "thumb.01.R" in curve.data_path else half
        remove_points(curve, first + 0.5, last)
        curve.update()
    plant()
    walking.move_keys(human, 0.5)
    assert "have other frames" in refusal(bpy.ops.pose.chain_ik_plant)


@pytest.mark.parametrize("has_body", [False, True])
def test_a_part_of_a_clip_is_planted_and_the_rest_plays_as_before(human, has_body):
    """The hips go down to a floor below the feet, and one chain has keys that would make it act."""
    human.chain_ik.body.floor = rigs.make_empty("Floor", (0.0, 0.0, -0.03))
    if has_body:
        press(bpy.ops.pose.chain_ik_body)
    for chain in human.chain_ik.chains:
        # The bones play the clip.
        chain.mute = True
    human.chain_ik.chains["Leg.L"].keyframe_insert("influence", frame=3)
    before = walking.paths_of(human)
    plant(frame_start=8, frame_end=32, use_pins=has_body)
    after, rows = walking.paths_of(human), np.arange(len(before["hips"]))
    is_outside = (rows < 7) | (rows > 31)
    for name, path in after.items():
        np.testing.assert_allclose(path[is_outside], before[name][is_outside], atol=MAX_CHANGE)
        # Nothing jumps into the range or out of it.
        at_ends = [np.diff(one, 2, axis=0)[[5, 6, 29, 30]] for one in (before[name], path)]
        np.testing.assert_allclose(*at_ends, atol=6e-3, err_msg=name)
    assert walking.slides(human, after) < MAX_SLIDE < 10 * MAX_SLIDE < walking.slides(human, before)
    assert (before["hips"] - after["hips"])[:, 2].max() > 0.02
    assert not any(chain.mute for chain in human.chain_ik.chains)


def test_chains_that_act_beside_a_planted_range_act_there_as_before(human):
    plant()
    human.animation_data.action.pop("chain_ik_clip")
    remove_control_keys(human, "planted")
    remove_control_keys(human, f"[{human.chain_ik.chains.find('Leg.R')}].pole_angle")
    human.chain_ik.chains["Leg.L"].use_flip_bend = True
    before = walking.paths_of(human)
    plant(frame_start=8, frame_end=32)
    after = walking.paths_of(human)
    for name, path in after.items():
        ends = [one[[*range(7), *range(32, len(one))]] for one in (path, before[name])]
        np.testing.assert_allclose(*ends, atol=MAX_CHANGE, err_msg=name)


def test_feet_stand_on_a_floor_and_never_pass_it(human):
    human.chain_ik.body.floor = rigs.make_empty("Floor", (3.0, 1.0, 0.02))
    plant()
    after = walking.paths_of(human)
    for side in walking.SIDES:
        kinds = walking.planted(human, f"Leg.{side}")
        heel = after[f"heel.{side}"][:, 2] - 0.02
        assert heel.min() > -MAX_DEPTH
        np.testing.assert_allclose(heel[kinds == 3], 0.0, atol=MAX_DEPTH)
        toe = after[f"toe.{side}"][:, 2] - 0.02
        np.testing.assert_allclose(toe[kinds == 3], 0.0167, atol=1e-5)
    assert walking.slides(human, after) < MAX_SLIDE


def test_hips_go_down_for_a_leg_that_would_straighten(human):
    human.chain_ik.body.floor = rigs.make_empty("Floor", (0.0, 0.0, -0.1))
    before = walking.paths_of(human)
    plant()
    after = walking.paths_of(human)
    down = before["hips"][:, 2] - after["hips"][:, 2]
    assert 0.02 < down.max() < 0.15
    assert walking.slides(human, after) < MAX_SLIDE
    assert walks.acceleration(after["hips"]) <= MAX_ROUGHNESS * walks.acceleration(before["hips"])
    plant(use_hips=False)
    hips = walking.paths_of(human)["hips"]
    np.testing.assert_allclose(hips[:, 2], before["hips"][:, 2], atol=MAX_CHANGE)


def test_a_body_whose_hips_go_down_moves_nothing_but_them_and_its_legs(human):
    """Chains were live before, and arms hang straight and are rolled."""
    human.chain_ik.body.floor = rigs.make_empty("Floor", (0.0, 0.0, -0.1))
    press(bpy.ops.pose.chain_ik_body)
    remove_control_keys(human, "arm.")
    for side in walking.SIDES:
        upper, lower = (human.pose.bones[f"{name}.{side}"] for name in ("upper_arm", "forearm"))
        between = lower.bone.matrix_local.inverted() @ upper.bone.matrix_local
        for bone, turn in ((upper, Matrix.Rotation(1.9, 4, "Y")), (lower, between.to_3x3())):
            bone.rotation_quaternion = turn.to_quaternion()
            bone.keyframe_insert("rotation_quaternion", frame=1)
        human.chain_ik.chains[f"Arm.{side}"].soft_distance = 0.0
    before, hips = turns_above(human), walking.paths_of(human)["hips"]
    rigs.set_each(human.chain_ik.chains, mute=False)
    rigs.updated()
    plant()
    assert np.ptp(hips - walking.paths_of(human)["hips"], axis=0).max() > 0.02
    assert farthest(before, turns_above(human)) < 1e-3


def turns_above(human: bpy.types.Object) -> dict[str, np.ndarray]:
    """Return matrices (F, 3, 3) of spine, shoulders, arms and hands at all frames, by bone."""
    rotations: dict[str, list[Matrix]] = {}
    for _ in rigs.each_frame(range(1, bpy.context.scene.frame_end + 1)):
        for bone in human.pose.bones:
            if bone.name.startswith(("spine", "shoulder", "upper_arm", "forearm", "hand")):
                rotations.setdefault(bone.name, []).append(bone.matrix.to_3x3())
    return {name: np.array(turns) for name, turns in rotations.items()}


def test_on_a_platform_feet_move_with_it(human):
    raft = rigs.make_empty("Raft")
    rigs.key(raft, "location", {1: (0.0, 0.0, 0.0), 60: (2.0, 0.7, 0.3)})
    human.parent = raft
    plant(relative_to="Raft")
    after, frames = walking.paths_of(human), range(1, bpy.context.scene.frame_end + 1)
    move = np.array([[curve.evaluate(frame) for curve in rigs.curves_of(raft)] for frame in frames])
    relative = {name: path - move for name, path in after.items()}
    assert walking.slides(human, relative) < MAX_SLIDE
    assert walking.slides(human, after) > 10 * MAX_SLIDE


FRAMES = range(1, 31)


def test_a_leg_that_kicks_high_nearly_straight_turns_as_in_the_clip():
    # The leg swings past the direction where the side that it carries flips.
    human = lift([(0.1 - 0.25 * max(0, frame - 10), 0.0, 0.05) for frame in FRAMES], 0.06)
    bones = human.pose.bones
    before = largest_turn(bones["thigh.L"])
    press(bpy.ops.pose.chain_ik_plant)
    assert walking.slides(human, walking.paths_of(human)) < 1e-4
    assert largest_turn(bones["thigh.L"]) < 1.02 * before


def test_a_leg_that_turns_about_its_axis_takes_the_short_way_between_frames():
    human = lift([(0.1, 0.2 * max(0, frame - 10), 0.05) for frame in FRAMES], 0.8)
    press(bpy.ops.pose.chain_ik_plant)
    path = f"chain_ik.chains[{human.chain_ik.chains.find('Leg.L')}].pole_angle"
    (curve,) = (fcurve for fcurve in rigs.curves_of(human) if fcurve.data_path == path)
    angles = np.array([point.co[1] for point in curve.keyframe_points])
    assert np.abs(angles).max() > np.pi
    assert np.abs(np.diff(angles)).max() < 1.0


def lift(thighs: list[tuple[float, float, float]], knee: float) -> bpy.types.Object:
    """Return a human with keyed angles of its left leg, whose foot stands up to frame 9."""
    human = opened(make_human)
    leg, bones = human.chain_ik.chains["Leg.L"], human.pose.bones
    bpy.context.scene.frame_end = FRAMES[-1]
    for frame, thigh in zip(FRAMES, thighs, strict=True):
        for name, angles in (("thigh.L", thigh), ("shin.L", (knee, 0.0, 0.0))):
            bones[name].rotation_mode, bones[name].rotation_euler = "XYZ", angles
            bones[name].keyframe_insert("rotation_euler", frame=frame)
        bones["spine"].location.x = 0.002 * frame
        bones["spine"].keyframe_insert("location", frame=frame)
    rigs.key(leg, "planted", {1: "FOOT", 10: "NONE"})
    rigs.set_each(human.chain_ik.chains, mute=True)
    return human


def largest_turn(bone: bpy.types.PoseBone) -> float:
    scene, turns = bpy.context.scene, []
    for _ in rigs.each_frame(range(scene.frame_start, scene.frame_end + 1)):
        turns.append(np.array(bone.matrix.to_quaternion()))
    return float(find_largest_turns(np.array(turns)[:, None]).max())


def ends_of(ob: bpy.types.Object, bones: dict[str, str]) -> dict[str, np.ndarray]:
    paths = {name: [] for name in bones}
    for _ in rigs.each_frame(STEP_FRAMES):
        for name, bone in bones.items():
            paths[name].append(ob.matrix_world @ ob.pose.bones[bone].head)
    return {name: np.array(path) for name, path in paths.items()}


@pytest.mark.parametrize(
    ("body", "control", "feet"),
    [
        ("horse", "BONE", {"Front Leg": "f_hoof", "Hind Leg": "r_hoof"}),
        ("human", "EMPTY", {"Leg": "foot"}),
    ],
)
def test_feet_of_any_body_stand(body, control, feet):
    stands = step(make_character(body, control))
    check_planted(bpy.context.object, feet, stands)


def test_on_hands_alone_hands_stand_and_feet_do_not():
    ob = make_character()
    rigs.change(ob.rotation_euler, x=np.pi)
    world = ob.matrix_world
    for side in "LR":
        shoulder, hand = (ob.pose.bones[f"{name}.{side}"] for name in ("upper_arm", "hand"))
        offset = world @ shoulder.head - world @ hand.head - Vector((0.0, 0.0, 0.35))
        control = control_above(Anchor(ob, ob.chain_ik.chains[f"Arm.{side}"].subtarget))
        moved = ob.pose.bones[control.bone]
        moved.matrix = world.inverted() @ Matrix.Translation(offset) @ world @ moved.matrix
    rigs.updated()
    check_planted(ob, {"Arm": "hand"}, step(ob, ("Arm",)))
    assert walking.planted(ob, "Leg.L") is None
    assert walking.planted(ob, "Leg.R") is None


def check_planted(
    ob: bpy.types.Object, feet: dict[str, str], stands: dict[str, np.ndarray]
) -> None:
    """Plant feet that skate; check when they stand, and that they move as smoothly as before."""
    bones = {f"{limb}.{side}": f"{bone}.{side}" for limb, bone in feet.items() for side in "LR"}
    before = ends_of(ob, bones)
    press(bpy.ops.pose.chain_ik_plant)
    after = ends_of(ob, bones)
    for name in bones:
        kinds = walking.planted(ob, name)
        assert f1(kinds == 3, stands[name]) >= 0.97
        both = (kinds[1:] == 3) & (kinds[:-1] == 3)
        steps = [np.linalg.norm(np.diff(ends[name], axis=0), axis=1) for ends in (before, after)]
        assert steps[0][both].max() > 5e-4 * height_of(ob)
        assert steps[1][both].max() < 1e-4
        assert walks.acceleration(after[name]) <= 1.2 * walks.acceleration(before[name])


def test_people_who_share_an_action_are_planted_one_by_one(human):
    people = [human, rigs.link(human.copy())]
    rigs.set_each(people[1].chain_ik.chains, target=people[1])
    people[1].location, people[1].rotation_euler.z = (2.0, 1.0, 0.3), 0.7
    bpy.context.view_layer.update()
    bpy.context.scene.frame_end = 25
    assert people[0].animation_data.action == people[1].animation_data.action
    before = walking.paths_of_all(people)
    for row, human in enumerate(people):
        select_objects(active=human)
        plant()
        after = walking.paths_of_all(people)
        assert walking.slides(human, after[row]) < MAX_SLIDE
        assert farthest(after[row], before[row]) > 10 * MAX_SLIDE
        assert farthest(after[1 - row], before[1 - row]) <= MAX_CHANGE
        before = after
    assert people[0].animation_data.action != people[1].animation_data.action


STEP_FRAMES, STAND, SKATE, SPEED = range(1, 37), 0.6, 0.08, 0.4
"""Frames of a walk; shares of a step, a second, that a foot stands, and of its way that it skates.

The speed is in heights of the body a second: limbs reach that far.
"""


def step(ob: bpy.types.Object, limbs: tuple[str, ...] = ("Leg",)) -> dict[str, np.ndarray]:
    """Key a walk on the bones of a body with chains; chains and controls have no keys afterwards.

    Limbs whose names contain one of these words step from their places, others move with the body.

    Returns:
        Whether a limb that steps stands, at all frames, by the name of its chain.
    """
    scene, chains = bpy.context.scene, ob.chain_ik.chains
    scene.render.fps, scene.frame_end = 30, STEP_FRAMES[-1]
    height, root = height_of(ob), Anchor(ob, ob.chain_ik.body.root)
    legs = [chain.name for chain in chains if any(limb in chain.name for limb in limbs)]
    controls = {limb.name: control_above(Anchor(limb.target, limb.subtarget)) for limb in chains}
    stands: dict[str, list[bool]] = {name: [] for name in legs}
    rest = {
        anchor: anchor.object.matrix_world
        @ (anchor.object.pose.bones[anchor.bone].matrix if anchor.bone else Matrix())
        for anchor in (*controls.values(), root)
    }
    scene.chain_ik.use_live = False
    for frame in rigs.each_frame(STEP_FRAMES):
        time = (frame - 1) / 30.0
        body = Vector((0.0, -SPEED * (1.0 + SKATE) * time, -0.03)) * height
        _put(root, Matrix.Translation(body) @ rest[root], frame)
        for name, control in controls.items():
            offset = body
            if name in legs:
                number, phase = divmod(time + 0.25 * legs.index(name), 1.0)
                x = max(0.0, (phase - STAND) / (1.0 - STAND))
                stands[name].append(x == 0.0)
                steps = number + x**3 * (10.0 - 15.0 * x + 6.0 * x * x) - 0.25 * legs.index(name)
                up = 0.08 * np.sin(np.pi * x) ** 2
                offset = Vector((0.0, -SPEED * (steps + 0.3 + SKATE * time), up)) * height
            _put(control, Matrix.Translation(offset) @ rest[control], frame)
    scene.chain_ik.use_live = True
    press(bpy.ops.pose.chain_ik_bake, which="ALL")
    for owner in {ob, *(control.object for control in controls.values())}:
        remove_control_keys(owner, "Target" if owner == ob else "")
    return {name: np.array(flags) for name, flags in stands.items()}


def height_of(ob: bpy.types.Object) -> float:
    """Return the height of a body by its deform bones; dimensions of objects include controls."""
    spots = [ob.matrix_world @ bone.head for bone in ob.pose.bones if bone.bone.use_deform]
    return float(np.ptp([spot.z for spot in spots]))


def _put(anchor: Anchor, matrix: Matrix, frame: int) -> None:
    # The space of the control has just moved.
    bpy.context.view_layer.update()
    move_to(anchor, np.array(matrix))
    moved = channels_of(anchor)
    is_quaternion = moved.rotation_mode == "QUATERNION"
    for name in ("location", "rotation_quaternion" if is_quaternion else "rotation_euler"):
        moved.keyframe_insert(name, frame=frame)
