"""Live chains in the viewport: right in the same update, quiet when nothing changes."""

from __future__ import annotations

import bpy
import pytest

from blender_ik_addon.rig.live import live
from blender_ik_addon.rig.posing.base_solve import BaseSolve
from tests.blender.setups import rigs
from tests.helpers import assert_positions_close, make_rng

SOLVERS = ("TWO_BONE", "FABRIK", "CCD", "NEWTON")
STARTS = ("KEYED", "REST", "CURRENT", "KEYED")


@pytest.mark.parametrize(
    ("solver", "start_from"), [*zip(SOLVERS, STARTS, strict=True), ("NEWTON", "CURRENT")]
)
def test_bones_follow_a_moved_target_in_the_same_update_and_a_second_changes_nothing(
    solver, start_from
):
    ob, target = rigs.make_arm(solver=solver, start_from=start_from, use_flip_bend=True)
    for location in make_rng(1).uniform(-1.0, 1.0, (3, 3)):
        target.location = location
        rigs.assert_reaches(ob, "Bone.1", target, rigs.updated())
        # Original bones show it as well.
        assert_positions_close(ob.pose.bones["Bone.1"].tail, location, rigs.REACHED)
        before = rigs.rotations(ob)
        for owner in (ob, target):
            owner.update_tag()
            bpy.context.view_layer.update()
            assert rigs.rotations(ob) == before


def test_only_an_update_that_moves_bones_writes_them_and_idling_calls_nobody(monkeypatch):
    ob, target = rigs.make_arm()
    bystander = rigs.make_empty("Bystander", (0, 0, 0))
    rigs.updated()
    written, calls, write = [], [], live.write_pose
    monkeypatch.setattr(live, "write_pose", lambda *given: written.append(given) or write(*given))

    def note(scene: bpy.types.Scene, _depsgraph: bpy.types.Depsgraph) -> None:
        calls.append(scene.name)

    bpy.app.handlers.depsgraph_update_post.append(note)
    bystander.location.x = 1.0
    rigs.updated()
    target.update_tag()
    rigs.updated()
    assert not written
    calls.clear()
    target.location.x -= 0.2
    for _ in range(4):
        rigs.updated()
    bpy.app.handlers.depsgraph_update_post.remove(note)
    assert (len(written), len(calls)) == (1, 1)
    rigs.assert_reaches(ob, "Bone.1", target)


def test_bones_stay_while_live_is_off_or_the_rest_position_is_shown_and_follow_at_once_after():
    ob, target = rigs.make_arm()
    scene = bpy.context.scene
    for owner, name, off, on, place in (
        (scene.chain_ik, "use_live", False, True, (-0.5, -0.5, 1.0)),
        (ob.data, "pose_position", "REST", "POSE", (0.5, -0.5, 1.0)),
    ):
        setattr(owner, name, off)
        before = rigs.rotations(ob)
        target.location = place
        scene.frame_set(scene.frame_current + 1)
        bpy.context.view_layer.update()
        assert rigs.rotations(ob) == before
        setattr(owner, name, on)
        rigs.assert_reaches(ob, "Bone.1", target, rigs.updated())


def test_chains_are_compiled_anew_only_where_their_own_bones_differ(monkeypatch):
    ob = rigs.make_rig(rigs.zigzag(3, length=0.7), is_connected=False)
    handle = rigs.add_bones(ob, ((0.0, 0.0, 0.0), (0.0, 0.2, 0.0)), prefix="Handle")[0]
    ob.pose.bones[handle].location = (0.5, 0.3, 0.9)
    rigs.add_chain(ob, "Bone.2", ob, subtarget=handle)
    rigs.updated()
    compiled, original = [], BaseSolve.__init__
    monkeypatch.setattr(
        BaseSolve, "__init__", lambda *given: compiled.append(given) or original(*given)
    )

    def assert_at_handle() -> None:
        depsgraph = rigs.updated()
        place = rigs.head(ob, handle, depsgraph)
        assert_positions_close(rigs.tail(ob, "Bone.2", depsgraph), place, rigs.REACHED)

    for place in ((0.4, 0.5, 0.8), (-0.3, 0.6, 1.0)):
        ob.pose.bones[handle].location = place
        assert_at_handle()
    assert not compiled
    ob.pose.bones["Bone.1"].location.y = 0.1
    assert_at_handle()
    assert len(compiled) == 1
