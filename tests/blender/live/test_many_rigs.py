"""Crowds: many rigs in one update are each solved as if they were alone."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from blender_ik_addon.rig.live import live
from blender_ik_addon.rig.live.graph_state import MANY
from tests.blender.setups import rigs
from tests.helpers import make_rng

COUNT = MANY + 6


@rigs.at_rest()
def make_crowd() -> list[tuple[str, str]]:
    """Return the names of rigs, each with an arm of two or three bones, and of their targets."""
    names = []
    for i in range(COUNT):
        ob = rigs.make_rig(rigs.zigzag(2 + i % 2, seed=i, length=0.9), f"Rig {i}")
        ob.location.x = 3.0 * i
        target = rigs.make_empty(f"Target {i}", (3.0 * i + 0.5, 0.4, 0.8))
        solver = "TWO_BONE" if i % 2 == 0 else "NEWTON"
        rigs.add_chain(ob, f"Bone.{1 + i % 2}", target, solver=solver)
        names.append((ob.name, target.name))
    return names


@pytest.fixture
def crowd() -> list[tuple[str, str]]:
    names = make_crowd()
    bpy.context.view_layer.update()
    return names


def move_targets(crowd, seed: int) -> None:
    rng = make_rng(seed)
    for rig, target in crowd:
        offset = np.array((0.2, 0.0, 0.5)) + rng.uniform(-0.6, 0.6, 3)
        bpy.data.objects[target].location = np.array(bpy.data.objects[rig].location) + offset


def assert_all_reach(crowd, *but: str, depsgraph: bpy.types.Depsgraph | None = None) -> None:
    depsgraph = depsgraph or rigs.updated()
    for i, (rig, target) in enumerate(crowd):
        if rig not in but:
            ob = bpy.data.objects[rig]
            rigs.assert_reaches(ob, f"Bone.{1 + i % 2}", bpy.data.objects[target], depsgraph)


@pytest.mark.slow
def test_targets_of_a_crowd_are_followed_also_if_rigs_move_or_some_are_hidden_or_all_were_muted(
    crowd,
):
    before = {rig: rigs.rotations(bpy.data.objects[rig]) for rig, _ in crowd}
    rig, target = crowd[7]
    bpy.data.objects[target].location.z -= 0.2
    assert_all_reach(crowd)
    changed = {name for name, _ in crowd if rigs.rotations(bpy.data.objects[name]) != before[name]}
    assert changed == {rig}
    live.memory.clear()
    for rig, _ in crowd[::5]:
        ob = bpy.data.objects[rig]
        ob.location.y += 0.3
        ob.rotation_euler.z += 0.2
    move_targets(crowd, 1)
    assert_all_reach(crowd)
    # Targets that are hidden and shown while all move are not taken for each other.
    first, second = (bpy.data.objects[crowd[i][1]] for i in (1, 2))
    for hidden, shown in ((first, second), (second, first)):
        hidden.hide_viewport, shown.hide_viewport = True, False
        move_targets(crowd, 3)
        bpy.context.view_layer.update()
        move_targets(crowd, 4)
        assert_all_reach(crowd)
    for mute in (True, False):
        for rig, _ in crowd:
            bpy.data.objects[rig].chain_ik.chains[0].mute = mute
        bpy.context.scene.frame_set(2 + mute)
        move_targets(crowd, 8 + mute)
        bpy.context.view_layer.update()
    assert_all_reach(crowd)


def key_targets(crowd) -> None:
    for frame, seed in ((1, 5), (5, 6)):
        move_targets(crowd, seed)
        for _, target in crowd:
            bpy.data.objects[target].keyframe_insert("location", frame=frame)


def follow_a_parent(ob: bpy.types.Object) -> None:
    parent = rigs.make_empty("Parent", (0.0, 0.0, 0.0))
    rigs.key(parent, "rotation_euler", {1: (0.0, 0.0, 0.0), 5: (0.0, 0.3, 0.2)})
    ob.parent = parent


def follow_a_constraint(ob: bpy.types.Object) -> None:
    other = rigs.make_empty("Other", (0.0, 0.0, 0.0))
    rigs.key(other, "rotation_euler", {1: (0.0, 0.0, 0.0), 5: (0.0, 0.4, 0.1)})
    ob.constraints.new("COPY_ROTATION").target = other


# What changes with time, each on a rig of its own, in a crowd whose targets are all keyed.
ANIMATED = {
    "influence": lambda ob: rigs.key(ob, "chain_ik.chains[0].influence", {1: 1.0, 5: 0.2}),
    "mute": lambda ob: rigs.key(ob, "chain_ik.chains[0].mute", {1: False, 5: True}),
    "flip": lambda ob: rigs.key(ob, "chain_ik.chains[0].use_flip_bend", {1: False, 5: True}),
    "bones": lambda ob: rigs.key_bones(ob, frames=(1, 5)),
    "object": lambda ob: rigs.key(ob, "delta_location", {1: (0, 0, 0), 5: (0, 0, 0.4)}),
    "hide": lambda ob: rigs.key(ob, "hide_viewport", {1: False, 5: True}),
    "parent": follow_a_parent,
    "tie": follow_a_constraint,
    "driver": lambda ob: setattr(ob.driver_add("location", 2).driver, "expression", "0.05 * frame"),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "ways",
    [("influence", "mute", "bones", "object"), ("flip", "hide", "parent", "tie", "driver")],
    ids=str,
)
def test_a_crowd_that_plays_stands_on_every_frame_as_if_nothing_were_known(crowd, ways):
    key_targets(crowd)
    changed = {crowd[3 + i][0]: way for i, way in enumerate(ways)}
    for name, way in changed.items():
        ANIMATED[way](bpy.data.objects[name])
    poses = {name: set() for name in changed}
    for frame in (1, 4, 2):
        depsgraph = rigs.go_to(frame)
        found = {rig: rigs.pose(bpy.data.objects[rig], depsgraph) for rig, _ in crowd}
        assert_all_reach(crowd, *changed, depsgraph=depsgraph)
        live.memory.clear()
        depsgraph = rigs.go_to(frame)
        for rig, pose in found.items():
            expected = rigs.pose(bpy.data.objects[rig], depsgraph)
            np.testing.assert_allclose(pose, expected, rtol=0.0, atol=2e-6, err_msg=rig)
        for name, seen in poses.items():
            seen.add(found[name].tobytes())
    assert all(len(seen) > 1 for seen in poses.values())


@pytest.mark.slow
def test_lists_that_scripts_change_while_a_crowd_plays_are_read_even_of_rigs_that_rest(crowd):
    key_targets(crowd)
    resting, gone, removed, renamed = (bpy.data.objects[crowd[i][0]] for i in (4, 6, 8, 10))
    bpy.data.objects[crowd[4][1]].animation_data_clear()
    rigs.go_to(1)
    (graph,) = live.memory.graphs.values()
    # Alone: a rig that moves would have the lists of all read again.
    resting.chain_ik.chains.remove(0)
    rigs.go_to(2)
    assert resting.session_uid not in graph.rigs
    removed.chain_ik.chains.remove(0)
    renamed.chain_ik.chains[0].name = "Another"
    before = rigs.rotations(removed)
    assert_all_reach(crowd, resting.name, removed.name, depsgraph=rigs.go_to(4))
    assert rigs.rotations(removed) == before
    bpy.data.objects.remove(gone)
    rigs.go_to(3)
    assert len(graph.rigs) == COUNT - 3
