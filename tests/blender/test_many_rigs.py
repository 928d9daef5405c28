"""Crowds: many rigs in one update are each solved as if they were alone."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from blender_ik_addon.rig import live
from blender_ik_addon.rig.graph_state import MANY
from tests.blender import rigs
from tests.helpers import make_rng

COUNT = MANY + 6


@pytest.fixture
def crowd() -> list[tuple[str, str]]:
    """Names of rigs, each with an arm of two or three bones, and of their targets."""
    names = []
    for i in range(COUNT):
        ob = rigs.make_rig(rigs.zigzag(2 + i % 2, seed=i, length=0.9), f"Rig {i}")
        ob.location.x = 3.0 * i
        target = rigs.make_empty(f"Target {i}", (3.0 * i + 0.5, 0.4, 0.8))
        solver = "TWO_BONE" if i % 2 == 0 else "NEWTON"
        rigs.add_chain(ob, f"Bone.{1 + i % 2}", target, solver=solver)
        names.append((ob.name, target.name))
    bpy.context.view_layer.update()
    return names


def move_targets(crowd, seed: int) -> None:
    rng = make_rng(seed)
    for rig, target in crowd:
        offset = np.array((0.2, 0.0, 0.5)) + rng.uniform(-0.6, 0.6, 3)
        bpy.data.objects[target].location = np.array(bpy.data.objects[rig].location) + offset


def assert_all_reach(crowd, *but: str) -> None:
    depsgraph = rigs.updated()
    for i, (rig, target) in enumerate(crowd):
        if rig not in but:
            ob = bpy.data.objects[rig]
            rigs.assert_reaches(ob, f"Bone.{1 + i % 2}", bpy.data.objects[target], depsgraph)


def test_all_targets_of_a_crowd_moved_at_once_are_followed(crowd):
    for seed in range(3):
        move_targets(crowd, seed)
        assert_all_reach(crowd)


@pytest.mark.slow
def test_a_crowd_that_nothing_is_known_of_is_followed_when_its_targets_move(crowd):
    live.memory.clear()
    move_targets(crowd, 1)
    assert_all_reach(crowd)


@pytest.mark.slow
def test_rigs_that_move_with_the_targets_of_all_are_followed(crowd):
    for seed in range(2):
        for rig, _ in crowd[::5]:
            ob = bpy.data.objects[rig]
            ob.location.y += 0.3
            ob.rotation_euler.z += 0.2
        move_targets(crowd, seed)
        assert_all_reach(crowd)


def test_a_chain_that_a_script_has_removed_lets_go_while_all_others_follow(crowd):
    removed, _ = crowd[4]
    ob = bpy.data.objects[removed]
    before = rigs.rotations(ob)
    ob.chain_ik.chains.remove(0)
    move_targets(crowd, 2)
    assert_all_reach(crowd, removed)
    assert rigs.rotations(bpy.data.objects[removed]) == before


@pytest.mark.slow
def test_targets_hidden_and_shown_while_all_move_are_not_taken_for_each_other(crowd):
    first, second = (bpy.data.objects[crowd[i][1]] for i in (1, 2))
    for hidden, shown in ((first, second), (second, first)):
        hidden.hide_viewport, shown.hide_viewport = True, False
        move_targets(crowd, 3)
        bpy.context.view_layer.update()
        move_targets(crowd, 4)
        assert_all_reach(crowd)


@pytest.mark.slow
def test_one_of_many_that_moves_leaves_the_others_as_they_are(crowd):
    before = {rig: rigs.rotations(bpy.data.objects[rig]) for rig, _ in crowd}
    rig, target = crowd[7]
    bpy.data.objects[target].location.z -= 0.2
    assert_all_reach(crowd)
    changed = {name for name, _ in crowd if rigs.rotations(bpy.data.objects[name]) != before[name]}
    assert changed == {rig}


@pytest.mark.slow
def test_a_crowd_plays_its_keyed_targets(crowd):
    for frame, seed in ((1, 5), (5, 6)):
        move_targets(crowd, seed)
        for _, target in crowd:
            bpy.data.objects[target].keyframe_insert("location", frame=frame)
    for frame in (2, 5, 1, 3):
        bpy.context.scene.frame_set(frame)
        depsgraph = bpy.context.view_layer.depsgraph
        for i, (rig, target) in enumerate(crowd):
            ob = bpy.data.objects[rig]
            rigs.assert_reaches(ob, f"Bone.{1 + i % 2}", bpy.data.objects[target], depsgraph)


@pytest.mark.slow
def test_chains_that_were_all_muted_follow_again(crowd):
    for mute in (True, False):
        for rig, _ in crowd:
            bpy.data.objects[rig].chain_ik.chains[0].mute = mute
        bpy.context.scene.frame_set(2 + mute)
        move_targets(crowd, 8 + mute)
        bpy.context.view_layer.update()
    assert_all_reach(crowd)
