"""Plant Feet on several people, whatever they share; and on a clip cut within contacts."""

from __future__ import annotations

import bpy
import numpy as np

from tests.blender.clips import walking
from tests.blender.setups.saved_rigs import opened
from tests.blender.setups.selecting import press, select_objects

SLIDE, AGAIN = 1e-4, 1e-6


def make_twin(human: bpy.types.Object) -> bpy.types.Object:
    """Return a copy of a human that plays the same action elsewhere."""
    twin = human.copy()
    bpy.context.scene.collection.objects.link(twin)
    for chain in twin.chain_ik.chains:
        chain.target = twin
    twin.location, twin.rotation_euler.z = (2.0, 1.0, 0.3), 0.7
    bpy.context.view_layer.update()
    return twin


def moved_by(paths: dict[str, np.ndarray], others: dict[str, np.ndarray]) -> float:
    return max(float(np.abs(paths[name] - others[name]).max()) for name in paths)


def test_people_who_share_an_action_are_planted_one_by_one(rigify):
    people = [opened(walking.make, seconds=1.5)]
    people.append(make_twin(people[0]))
    bpy.context.scene.frame_end = 25
    assert people[0].animation_data.action == people[1].animation_data.action
    before = [walking.paths_of(each) for each in people]
    for human, other in (people, people[::-1]):
        still = walking.paths_of(other)
        select_objects(active=human)
        press(bpy.ops.pose.chain_ik_plant)
        once = walking.paths_of(human)
        assert walking.slides(human, once) < SLIDE
        assert moved_by(once, before[people.index(human)]) > 10 * SLIDE
        assert moved_by(walking.paths_of(other), still) <= AGAIN
        press(bpy.ops.pose.chain_ik_plant)
        assert moved_by(walking.paths_of(human), once) <= AGAIN
    assert people[0].animation_data.action != people[1].animation_data.action


def test_a_clip_that_is_kept_is_never_written_to(rigify):
    human = opened(walking.make, seconds=1.5)
    press(bpy.ops.pose.chain_ik_plant)
    kept = bpy.data.actions["Walk (unplanted)"]
    human.animation_data.action = kept
    if hasattr(kept, "slots"):
        human.animation_data.action_slot = kept.slots[0]
    press(bpy.ops.pose.chain_ik_plant)
    assert human.animation_data.action != kept
    assert "chain_ik_clip" not in kept


def test_a_clip_may_begin_and_end_within_a_contact(rigify):
    human = opened(walking.make, seconds=2.0)
    press(bpy.ops.pose.chain_ik_plant)
    stands = np.flatnonzero(walking.planted(human, "Leg.L") == 3)
    human, scene = opened(walking.make, seconds=2.0), bpy.context.scene
    scene.frame_start, scene.frame_end = int(stands[3]) + 1, int(stands[-3]) + 1
    before = walking.paths_of(human)
    press(bpy.ops.pose.chain_ik_plant)
    assert walking.planted(human, "Leg.L")[[0, -1]].tolist() == [3, 3]
    assert walking.slides(human, before) > 10 * SLIDE
    assert walking.slides(human, walking.paths_of(human)) < SLIDE
