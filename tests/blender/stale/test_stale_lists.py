"""Chains added, removed, moved and cleared by scripts, of which Blender tells nobody."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs, warm_rigs
from tests.blender.setups.warm_rigs import OTHER, RIG, assert_right, chain, follow, named

# Many short tests: thorough, so not among the quick ones.
pytestmark = pytest.mark.slow

ARM = ("Rig", "Arm.1", "Arm Target")


def add_arm() -> None:
    """Give Rig a second limb with a chain of its own, last in the list."""
    rigs.add_bones(named("Rig"), np.add(rigs.ARM, (0.6, 0.4, 0.0)), prefix="Arm")
    rigs.make_empty("Arm Target", (0.9, 0.2, 1.1))
    follow(ARM, chain_count=2)


def nudge(name: str) -> None:
    """Move a target a little: the one thing that Blender is told of."""
    named(name).location.x += 0.05
    bpy.context.view_layer.update()


nudged = pytest.mark.parametrize("nudged", ["Rig Target", "Other Target", "Arm Target"])


@nudged
def test_the_first_of_two_chains_removed_by_script_writes_no_more_and_the_second_goes_on(nudged):
    warm_rigs.make_pair()
    add_arm()
    nudge("Arm Target")
    named("Rig").chain_ik.chains.remove(0)
    before = rigs.rotations(named("Rig"))
    nudge(nudged)
    assert_right([ARM, OTHER], ("Rig Target", "Arm Target", "Other Target"))
    after = rigs.rotations(named("Rig"))
    assert {name for name in after if after[name] != before[name]} <= {"Arm.0", "Arm.1"}


@nudged
def test_chains_moved_in_their_list_follow_their_own_targets(nudged):
    warm_rigs.make_pair()
    add_arm()
    nudge("Arm Target")
    named("Rig").chain_ik.chains.move(0, 1)
    nudge(nudged)
    assert_right([RIG, ARM, OTHER], ("Rig Target", "Arm Target", "Other Target"))
    assert chain().target == named("Arm Target")


@pytest.mark.parametrize("setting", ["mute", "bone", "target"])
def test_the_second_chain_goes_on_when_the_first_drops_out_and_comes_back(setting):
    warm_rigs.make_pair()
    add_arm()
    nudge("Arm Target")
    former = getattr(chain(), setting)
    setattr(chain(), setting, {"mute": True, "bone": "Missing", "target": None}[setting])
    nudge("Arm Target")
    assert_right([ARM, OTHER])
    setattr(chain(), setting, former)
    nudge("Arm Target")
    assert_right([RIG, ARM, OTHER])


def remove_first(chains):
    chains.remove(0)


def move_first(chains):
    chains.move(0, 1)


# Settings belong to their chain, not to a place in the list, also those that can be animated.
@pytest.mark.parametrize("change", [remove_first, move_first])
@pytest.mark.parametrize(
    ("name", "value"), [("mute", True), ("influence", 0.2), ("use_flip_bend", True)]
)
def test_settings_go_with_their_chain_when_a_script_changes_the_list(name, value, change):
    warm_rigs.make_pair(**{name: value})
    add_arm()
    nudge("Arm Target")
    change(named("Rig").chain_ik.chains)
    named("Arm Target").location.x += 0.05
    assert_right([ARM, OTHER], ("Arm Target", "Other Target"))


@nudged
def test_of_two_chains_on_the_same_bones_the_one_that_is_first_now_drives_them(nudged):
    # Others would be one tree.
    warm_rigs.make_pair(solver="CCD")
    add_arm()
    follow(("Rig", "Bone.2", "Arm Target"), name="Second", solver="CCD")
    nudge("Arm Target")
    assert "already belongs" in chain("Rig", 2).status
    named("Rig").chain_ik.chains.move(2, 0)
    nudge(nudged)
    named("Arm Target").location = (0.4, 0.2, 0.9)
    assert_right([("Rig", "Bone.2", "Arm Target"), OTHER], ("Rig Target", "Arm Target"))
    assert "already belongs" in chain("Rig", 1).status


@nudged
def test_chains_cleared_by_script_write_no_more(nudged):
    warm_rigs.make_pair()
    add_arm()
    nudge("Arm Target")
    named("Rig").chain_ik.chains.clear()
    before = rigs.rotations(named("Rig"))
    nudge(nudged)
    assert_right([OTHER], ("Rig Target", "Arm Target", "Other Target"))
    assert rigs.rotations(named("Rig")) == before


@nudged
def test_a_chain_added_by_script_to_a_warm_rig_is_solved_at_once(nudged):
    warm_rigs.make_pair()
    add_arm()
    nudge(nudged)
    assert_right([RIG, ARM, OTHER], ("Rig Target", "Arm Target", "Other Target"))


def test_a_chain_without_settings_added_by_script_disturbs_nothing():
    warm_rigs.make_pair()
    before = warm_rigs.shown()
    for rig in ("Rig", "Other"):
        named(rig).chain_ik.chains.add()
        named(rig).chain_ik.chains.move(1, 0)
    nudge("Rig Target")
    named("Rig Target").location.x -= 0.05
    warm_rigs.assert_shown(warm_rigs.shown(), before)
    assert_right()
    assert "No tip bone" in chain().status


def test_a_chain_removed_and_made_anew_with_another_target_follows_that():
    warm_rigs.make_pair()
    named("Rig").chain_ik.chains.remove(0)
    follow(("Rig", "Bone.2", "Other Target"))
    named("Other").chain_ik.chains.clear()
    follow(("Other", "Bone.2", "Rig Target"), solver="CCD")
    for name in warm_rigs.TARGETS:
        named(name).location.x = 1.2
    limbs = [("Rig", "Bone.2", "Other Target"), ("Other", "Bone.2", "Rig Target")]
    bpy.context.view_layer.update()
    assert_right(limbs)
