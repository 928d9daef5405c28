"""Live chains in the viewport: right in the same update, quiet when nothing changes."""

from __future__ import annotations

from collections.abc import Iterator

import bpy
import pytest

from blender_ik_addon.rig.posing.base_solve import BaseSolve
from tests.blender.setups import rigs
from tests.helpers import assert_positions_close, make_rng

SOLVERS = ("TWO_BONE", "FABRIK", "CCD", "NEWTON")
STARTS = ("KEYED", "REST", "CURRENT", "KEYED")


def assert_right_without_another_update(ob, bone, target) -> None:
    rigs.assert_reaches(ob, bone, target, rigs.updated())


@pytest.fixture
def update_calls() -> Iterator[list[str]]:
    """Names of the scenes whose updates called the handlers, in order."""
    calls: list[str] = []

    def note(scene, _depsgraph) -> None:
        calls.append(scene.name)

    bpy.app.handlers.depsgraph_update_post.append(note)
    yield calls
    bpy.app.handlers.depsgraph_update_post.remove(note)


@pytest.mark.parametrize(
    ("solver", "start_from"), [*zip(SOLVERS, STARTS, strict=True), ("NEWTON", "CURRENT")]
)
def test_bones_follow_a_moved_target_in_the_same_update_and_a_second_changes_nothing(
    solver, start_from
):
    ob, target = rigs.make_arm(solver=solver, start_from=start_from, use_flip_bend=True)
    for location in make_rng(1).uniform(-1.0, 1.0, (3, 3)):
        target.location = location
        assert_right_without_another_update(ob, "Bone.1", target)
        before = rigs.rotations(ob)
        for owner in (ob, target):
            owner.update_tag()
            bpy.context.view_layer.update()
            assert rigs.rotations(ob) == before


def test_original_bones_show_the_solved_pose_after_the_same_update():
    ob, target = rigs.make_arm()
    target.location = (-0.5, 0.8, 0.9)
    bpy.context.view_layer.update()
    tail = ob.matrix_world @ ob.pose.bones["Bone.1"].tail
    assert_positions_close(tail, target.location, rigs.REACHED)


def moved_by_parent(ob):
    ob.parent = rigs.make_empty("Carrier", (0, 0, 0))
    return ob.parent


def moved_by_driver(ob):
    carrier = rigs.make_empty("Carrier", (0, 0, 0))
    driver = ob.driver_add("location", 0).driver
    variable = driver.variables.new()
    variable.type, variable.targets[0].id = "TRANSFORMS", carrier
    driver.expression = variable.name
    return carrier


@pytest.mark.parametrize(
    ("way", "has_chain"), [(moved_by_parent, True), (moved_by_driver, False), (None, False)]
)
def test_an_armature_object_that_moves_is_listed_with_its_pose(way, has_chain):
    # What has moved and nothing else is therefore no armature object: most changes are left alone.
    ob = rigs.make_arm()[0] if has_chain else rigs.make_rig(rigs.ARM)
    mover = way(ob) if way else ob
    bpy.context.view_layer.update()
    flags = []

    def note(_scene, depsgraph) -> None:
        flags.extend(
            (change.is_updated_transform, change.is_updated_geometry)
            for change in depsgraph.updates
            if change.id.original == ob
        )

    bpy.app.handlers.depsgraph_update_post.append(note)
    mover.location = (0.2, -0.3, 0.1)
    bpy.context.view_layer.update()
    bpy.app.handlers.depsgraph_update_post.remove(note)
    assert flags == [(True, True)]


def test_one_change_calls_the_handlers_once_and_idling_never(update_calls):
    ob, target = rigs.make_arm()
    update_calls.clear()
    target.location.x -= 0.3
    bpy.context.view_layer.update()
    assert len(update_calls) == 1
    for _ in range(3):
        bpy.context.view_layer.update()
    assert len(update_calls) == 1
    rigs.assert_reaches(ob, "Bone.1", target)


@pytest.fixture
def pose_evaluations() -> Iterator[list[float]]:
    """One entry for each evaluation of a bone that ``watch`` was called for."""
    seen: list[float] = []
    bpy.app.driver_namespace["note_pose"] = lambda value: seen.append(value) or value
    yield seen
    del bpy.app.driver_namespace["note_pose"]


def watch(ob, bone) -> None:
    """Have a driver of another object call ``note_pose`` whenever the bone is evaluated."""
    driver = rigs.make_empty("Watcher", (0, 0, 0)).driver_add("location", 0).driver
    variable = driver.variables.new()
    variable.name, variable.type = "value", "TRANSFORMS"
    variable.targets[0].id, variable.targets[0].bone_target = ob, bone
    driver.expression = "note_pose(value)"
    bpy.context.view_layer.update()


def test_only_an_update_that_moves_bones_writes_them(pose_evaluations):
    ob, target = rigs.make_arm()
    bystander = rigs.make_empty("Bystander", (0, 0, 0))
    watch(ob, "Bone.1")
    pose_evaluations.clear()
    bystander.location.x = 1.0
    bpy.context.view_layer.update()
    assert len(pose_evaluations) == 0
    target.update_tag()
    bpy.context.view_layer.update()
    assert len(pose_evaluations) == 0
    target.location.x -= 0.2
    bpy.context.view_layer.update()
    assert len(pose_evaluations) == 1


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
        assert_right_without_another_update(ob, "Bone.1", target)


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
