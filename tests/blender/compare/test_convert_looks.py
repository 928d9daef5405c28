"""What converting tells of poses at keyed frames, what it takes, and what stays as it was."""

import re

import bpy
import numpy as np
import pytest

from blender_ik_addon.rig.keying import keyed_looks
from tests.blender.keying.converted_rigs import Limb, convert, ik_constraints, to_chains, two_limbs
from tests.blender.setups import rigs
from tests.blender.setups.keyed_limbs import strip_of
from tests.blender.setups.selecting import press, refusal, select_bones, select_objects

TOLD = re.compile(
    r"joints (?:are )?up to ([\d.]+) m apart\. The difference is largest at frame ([\d.]+)\."
)


def make_moving(frames=(1, 10, 24, 40)) -> Limb:
    limb = Limb(3, 4, use_pole=False)
    root = rigs.head(limb.ob, limb.bones[0])
    way = np.array(limb.target.location) - root
    # Nearly straight, limbs bend alike.
    far = root + way / np.linalg.norm(way) * 0.99 * limb.length
    near = root + way
    places = dict.fromkeys(frames, tuple(far)) | {frames[2]: tuple(near)}
    rigs.key(limb.target, "location", places)
    rigs.go_to(frames[0])
    return limb


@pytest.mark.parametrize("direction", ["TO_CHAINS", "TO_CONSTRAINTS"])
def test_the_worst_difference_of_all_keyed_frames_is_told_with_its_frame_and_last(direction, capfd):
    limb, frames = make_moving(), (1, 10, 24, 40)
    if direction == "TO_CHAINS":
        limb.constrain(name="Tail")
    else:
        limb.add_chain(name="Tail")
    before = [limb.joints(rigs.go_to(frame)) for frame in frames]
    rigs.go_to(1)
    select_bones(limb.ob, [limb.bones[-1]])
    capfd.readouterr()
    press(convert, direction=direction)
    lines = [line for line in capfd.readouterr().out.splitlines() if ": " in line]
    after = [limb.joints(rigs.go_to(frame)) for frame in frames]
    gaps = np.linalg.norm(np.subtract(after, before), axis=2).max(axis=1)
    assert gaps.argmax() != 0
    assert gaps.max() > 2.0 * gaps[0]
    most, frame = TOLD.search(lines[-1]).groups()
    assert lines[-1].startswith("Warning: Chain 'Tail' (4 bones): ")
    assert float(most) == pytest.approx(gaps.max(), rel=0.06)
    assert float(frame) == frames[int(gaps.argmax())]


def test_keys_of_what_moves_the_target_count_and_those_of_other_things_do_not():
    limb = make_moving()
    limb.constrain()
    carrier, other = rigs.make_empty("Carrier"), rigs.make_empty("Other")
    limb.target.parent = carrier
    rigs.key(carrier, "rotation_euler", {5: (0, 0, 0), 12.5: (0, 0, 0.3)})
    rigs.key(other, "location", {7: (0, 0, 0), 8: (1, 0, 0)})
    rigs.key(limb.ob, 'pose.bones["Root.0"].location', {30: (0, 0, 0), 31: (0, 0.1, 0)})
    constraint = f'pose.bones["{limb.bones[-1]}"].constraints["IK"].influence'
    rigs.key(limb.ob, constraint, {33: 1.0, 34: 0.9})
    rigs.add_bones(limb.ob, [(5, 0, 0), (6, 0, 0)], prefix="Apart")
    rigs.key(limb.ob, 'pose.bones["Apart.0"].location', {50: (0, 0, 0), 51: (0, 1, 0)})
    seen = frames_seen(limb)
    assert seen == [1, 5, 10, 12.5, 24, 30, 31, 33, 34, 40] * 2


def frames_seen(limb: Limb) -> list[float]:
    """Return the frames that are set while the constraint is converted, in their order."""
    found: list[float] = []

    def note(scene: bpy.types.Scene, *_given: object) -> None:
        found.append(scene.frame_current_final)

    rigs.go_to(1)
    select_bones(limb.ob, [limb.bones[-1]])
    bpy.app.handlers.frame_change_pre.append(note)
    press(convert)
    bpy.app.handlers.frame_change_pre.remove(note)
    if not found:
        return found
    # The way back to the present frame, twice.
    half = len(found) // 2
    assert found[half - 1] == found[-1] == 1
    return found[: half - 1] + found[half:-1]


def test_strips_count_where_they_play():
    limb = make_moving()
    limb.constrain()
    strip = strip_of(limb.target, 101)
    strip.scale = 2.0
    assert frames_seen(limb) == [101, 119, 147, 179] * 2


def test_of_very_many_keys_no_more_are_looked_at_than_a_bake_takes(monkeypatch):
    limb = make_moving()
    limb.constrain()
    rigs.key(limb.target, "location", {i: (0.1 * (i % 7), 0.5, 0.5) for i in range(1, 400, 2)})
    monkeypatch.setattr(keyed_looks, "MOST_FRAMES", 20)
    seen = frames_seen(limb)
    assert len(seen) == 40
    assert (seen[0], seen[19]) == (1, 399)
    # Without keys no frame is set.
    limb = Limb(3, 4, use_pole=False)
    limb.constrain()
    assert frames_seen(limb) == []


@pytest.mark.parametrize("direction", ["TO_CHAINS", "TO_CONSTRAINTS"])
def test_frame_and_pose_are_as_before_also_what_was_moved_and_not_keyed(direction):
    limb = make_moving()
    if direction == "TO_CHAINS":
        limb.constrain()
    else:
        limb.add_chain()
    limb.pole = rigs.make_empty("Beside")
    root = limb.ob.pose.bones["Root.0"]
    rigs.key(limb.ob, 'pose.bones["Root.0"].location', {1: (0, 0, 0), 40: (0, 0.2, 0)})
    limb.ob["dial"] = 0.0
    rigs.key(limb.ob, '["dial"]', {1: 0.0, 40: 1.0})
    rigs.key(limb.ob, "show_in_front", {1: False, 40: True})
    rigs.key(limb.pole, "rotation_mode", {1: "XYZ", 40: "ZYX"})
    rigs.go_to(17.25)
    limb.target.location.x += 0.05
    root.location = (0.1, 0.2, 0.3)
    limb.ob["dial"], limb.ob.show_in_front = 7.0, True
    rigs.change(limb.pole, rotation_mode="YXZ")
    tip, place = rigs.tail(limb.ob, limb.bones[-1]), tuple(limb.target.location)
    select_bones(limb.ob, [limb.bones[-1]])
    press(convert, direction=direction)
    scene = bpy.context.scene
    assert (scene.frame_current, scene.frame_subframe) == (17, 0.25)
    assert tuple(limb.target.location) == place
    np.testing.assert_allclose(limb.ob.pose.bones["Root.0"].location, (0.1, 0.2, 0.3), atol=1e-6)
    assert (limb.ob["dial"], limb.ob.show_in_front) == (7.0, True)
    assert limb.pole.rotation_mode == "YXZ"
    assert np.linalg.norm(rigs.tail(limb.ob, limb.bones[-1]) - tip) < 2e-3 * limb.length


def test_both_ways_take_what_is_selected_and_not_the_active_chain():
    ob = two_limbs()
    to_chains(ob)
    right = ob.chain_ik.chains.find("Right")
    ob.chain_ik.active_index = right
    select_bones(ob, ["Left.1"])
    ob.chain_ik.active_index = right
    press(convert, direction="TO_CONSTRAINTS")
    assert [each.name for each in ik_constraints(ob)] == ["Left"]
    assert ob.chain_ik.chains.keys() == ["Right"]
    press(convert)
    select_bones(ob, ["Left.1", "Right.1"])
    press(convert, direction="TO_CONSTRAINTS")
    assert not ob.chain_ik.chains
    assert {each.name for each in ik_constraints(ob)} == {"Left", "Right"}
    assert refusal(convert, direction="TO_CONSTRAINTS").startswith(
        "No selected bone belongs to a chain"
    )
    # In object mode, where no bones are selected, the active chain is taken.
    press(convert)
    rigs.enter(ob, "OBJECT")
    select_objects(active=ob)
    ob.chain_ik.active_index = ob.chain_ik.chains.find("Left")
    press(convert, direction="TO_CONSTRAINTS")
    assert ob.chain_ik.chains.keys() == ["Right"]
