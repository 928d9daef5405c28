"""Plant Feet where it is impossible: one clear sentence, and nothing is lost."""

import re

import bpy
import numpy as np
import pytest

from blender_ik_addon.properties.records import chain_spec
from blender_ik_addon.rig.clips.planted_clip import PlantingOptions
from blender_ik_addon.rig.clips.planting import plant
from blender_ik_addon.rig.reading.animation import bags_of_action
from blender_ik_addon.rig.reading.refusals import RigError
from tests.blender.setups import rigs
from tests.blender.setups.keyed_limbs import strip_of
from tests.blender.setups.selecting import press, refusal, select_objects, state

LAST = 40
TARGET_KEYS = {1: (0.5, 0.2, 0.1), 15: (0.5, 0.2, 0.1), 20: (0.8, 0.2, 0.5), 25: (1.1, 0.2, 0.1)}


def make_leg(name: str = "Rig") -> tuple[bpy.types.Object, bpy.types.Object]:
    """Return a limb that hangs from above, and its target, which stands, slides and steps."""
    bpy.context.scene.frame_end = LAST
    ob = rigs.make_rig([(0.8, 0.0, 1.2), (0.9, -0.2, 0.6), (0.8, 0.0, 0.0)], name)
    target, _ = rigs.follow(ob, "Bone.1", TARGET_KEYS[1], empty=f"{name} Target", name="Leg")
    rigs.key(target, "location", TARGET_KEYS | {LAST: (1.1, 0.25, 0.1), 15: (0.5, 0.25, 0.1)})
    select_objects(active=ob)
    return ob, target


@pytest.fixture
def leg(empty_scene: None) -> tuple[bpy.types.Object, bpy.types.Object]:
    return make_leg()


def tails(ob: bpy.types.Object) -> np.ndarray:
    return np.array([rigs.tail(ob, "Bone.1", rigs.go_to(frame)) for frame in range(1, LAST + 1)])


def everything() -> object:
    """Return the state of the file, and users, custom properties and keys of its actions."""
    keyed = {}
    for action in bpy.data.actions:
        slots = getattr(action, "slots", None) or [None]
        bags = [bag for slot in slots for bag in bags_of_action(action, slot)]
        keys = {
            (curve.data_path, curve.array_index): str([key.co for key in curve.keyframe_points])
            for bag in bags
            for curve in bag.fcurves
        }
        properties = {name: str(getattr(value, "to_dict", str)()) for name, value in action.items()}
        keyed[action.name] = (action.users, properties, keys)
    return state(), keyed


def test_a_limb_that_is_one_point_stands(leg):
    ob, target = leg
    before = tails(ob)
    press(bpy.ops.pose.chain_ik_plant, use_pins=True)
    # Only a body has pins.
    assert not any("use_pin" in curve.data_path for curve in rigs.curves_of(ob))
    after = tails(ob)
    for first, last in ((0, 12), (26, LAST - 1)):
        assert np.linalg.norm(np.diff(before[first:last], axis=0), axis=1).max() > 1e-3
        assert np.linalg.norm(np.diff(after[first:last], axis=0), axis=1).max() < 1e-5
    press(bpy.ops.pose.chain_ik_plant)
    np.testing.assert_allclose(tails(ob), after, atol=1e-6)
    assert target.animation_data.action["chain_ik_clip"].users


@pytest.mark.skipif(not hasattr(bpy.types, "ActionSlot"), reason="slots came with Blender 4.4")
def test_a_rig_and_a_target_that_share_an_action_share_the_planted_one(leg):
    ob, target = leg
    rigs.key(ob, "location", {1: (0.0, 0.0, 0.0)})
    data, shared = ob.animation_data, target.animation_data.action
    data.action = shared
    data.action_slot = shared.slots.new(id_type="OBJECT", name="Rig")
    rigs.key(ob, "location", {1: (0.0, 0.0, 0.0)})
    press(bpy.ops.pose.chain_ik_plant)
    clip = data.action["chain_ik_clip"]
    assert data.action == target.animation_data.action
    assert [item for item in bpy.data.actions if item.name.endswith("(unplanted)")] == [clip]
    assert len(clip.slots) == 2


def test_a_chain_whose_influence_has_keys_plays_as_it_did_and_is_live_afterwards(leg):
    ob, _ = leg
    rigs.key(ob, "chain_ik.chains[0].influence", {1: 1.0, LAST: 0.0})
    press(bpy.ops.pose.chain_ik_plant)
    bpy.context.scene.frame_set(LAST)
    assert ob.chain_ik.chains[0].influence == 1.0


def test_a_limb_too_short_for_its_contact_is_reported(leg, capfd):
    ob, _ = leg
    rigs.key(ob, "location", {1: (0.0, 0.0, 0.0), LAST: (1.5, 0.0, 0.0)})
    rigs.key(ob.chain_ik.chains[0], "planted", {1: "TOE"})
    press(bpy.ops.pose.chain_ik_plant)
    printed = capfd.readouterr().out
    (runs,) = re.findall(r"Chain 'Leg' is too short for its contacts at frames (.*):", printed)
    ends = [int(frame) for run in runs.split(", ") for frame in run.split("-")]
    path = tails(ob)
    off = np.linalg.norm(path - np.median(path, axis=0), axis=1)
    is_off = np.zeros(LAST, dtype=bool)
    for first, last in zip(ends[::2], ends[1::2], strict=True):
        is_off[first - 1 : last] = True
    assert 0 < is_off.sum() < LAST
    assert off[is_off].min() > 1e-3 > off[~is_off].max()


NOWHERE = {20: (float("nan"), 0.0, 0.0)}
HURRY = {frame: (0.1 * frame, 0.3 * (-1) ** frame, 0.2) for frame in range(1, LAST + 1)}
REFUSALS = [
    (lambda _, target: setattr(target, "lock_location", (False, True, False)), {}, "locked"),
    (lambda _, target: strip_of(target), {}, "plays strips"),
    (lambda _, target: target.animation_data_clear(), {}, "Nothing moves"),
    (lambda ob, _: setattr(ob.chain_ik.chains[0], "target", None), {}, "no target"),
    (lambda _, target: rigs.key(target, "location", HURRY), {}, "No foot or hand stands still"),
    (None, {"frame_start": 10, "frame_end": 21}, "too short to fade in and out: choose 13 frames"),
    (None, {"frame_start": 1, "frame_end": 6}, "too short to fade in and out: choose 7 frames"),
    (lambda _, target: rigs.key(target, "location", NOWHERE), {}, "not finite at frame 16"),
    (lambda *_: setattr(bpy.context.scene.chain_ik, "use_live", False), {}, "Live is off"),
    (lambda ob, _: setattr(ob.chain_ik.chains[0], "solver", "FOLLOW"), {}, "Follow"),
    (lambda *_: setattr(bpy.context.scene.render, "frame_map_new", 50), {}, "Time stretching"),
    (None, {"frame_start": 5, "frame_end": 5}, "two frames"),
    (None, {"frame_start": 9, "frame_end": 5}, "two frames"),
    (None, {"relative_to": "Raft"}, "'Raft'"),
    (None, {"which": "SELECTED"}, "selected"),
]


@pytest.mark.every_case
@pytest.mark.parametrize(("spoil", "settings", "words"), REFUSALS)
def test_a_refusal_says_why_and_changes_nothing(leg, spoil, settings, words):
    ob, target = leg
    if spoil is not None:
        spoil(ob, target)
    select_objects(active=ob)
    bpy.context.scene.frame_set(3)
    rigs.updated()
    before = everything()
    assert words in refusal(bpy.ops.pose.chain_ik_plant, **settings)
    rigs.updated()
    assert everything() == before


@pytest.mark.parametrize(("steps", "is_again"), [(0, False), (20, False), (20, True)])
def test_a_run_that_is_stopped_changes_nothing(leg, steps, is_again):
    ob, _ = leg
    if is_again:
        press(bpy.ops.pose.chain_ik_plant)
    bpy.context.scene.frame_set(3)
    before, path = everything(), tails(ob)
    bpy.context.scene.frame_set(3)
    chains = {0: chain_spec(ob.chain_ik.chains[0])}
    # The stored input clip has no keys of these hips.
    planting = PlantingOptions(range(1, LAST + 1), root="Bone.0" if is_again else "")
    work = plant(bpy.context.scene, ob, chains, planting)
    for _ in range(steps):
        next(work)
    work.close()
    rigs.updated()
    assert everything() == before
    np.testing.assert_allclose(tails(ob), path, atol=1e-6)


def test_a_rig_that_has_changed_meanwhile_is_left_alone(leg):
    ob, _ = leg
    settings = ob.chain_ik.chains[0]
    work = plant(
        bpy.context.scene, ob, {0: chain_spec(settings)}, PlantingOptions(range(1, LAST + 1))
    )
    next(work)
    settings.name = "Other"
    with pytest.raises(RigError, match="changed during the run"):
        next(work)
    assert not [action for action in bpy.data.actions if "unplanted" in action.name]
