"""Promise 8: register, unregister, register again, and nothing is left behind."""

from __future__ import annotations

from collections.abc import Iterator

import bpy
import pytest

import blender_ik_addon
from blender_ik_addon import clicks
from blender_ik_addon.overlay.known import known
from tests.blender.live.traces import KINDS_IN_USE, list_traces
from tests.blender.setups import rigs

PACKAGE = blender_ik_addon.__name__


def hung_into_blender() -> dict[str, list[str]]:
    """Return everything of the add-on that Blender would call or show, by kind."""
    return {
        kind: [name for name in names if PACKAGE in name or "chain_ik" in name]
        for kind, names in list_traces().items()
    }


@pytest.fixture
def registered() -> Iterator[None]:
    """The add-on is registered again, however a test ends."""
    yield
    if not hasattr(bpy.types.Object, "chain_ik"):
        blender_ik_addon.register()


@pytest.mark.usefixtures("registered")
def test_unregistering_leaves_nothing_behind_and_registering_again_gives_the_same():
    before = hung_into_blender()
    for kind in KINDS_IN_USE:
        assert before[kind], f"no {kind} seen: this test would not see what is left"
    blender_ik_addon.unregister()
    assert not any(hung_into_blender().values()), hung_into_blender()
    for name in ("add", "remove", "restore", "solve", "bake", "compare"):
        assert f"chain_ik_{name}" not in dir(bpy.ops.pose)
    blender_ik_addon.register()
    assert hung_into_blender() == before
    blender_ik_addon.unregister()
    assert not any(hung_into_blender().values()), hung_into_blender()
    blender_ik_addon.register()
    ob, target = rigs.make_arm()
    target.location = (-0.5, 0.4, 1.0)
    rigs.assert_reaches(ob, "Bone.1", target, rigs.updated())


def test_bones_keep_their_pose_and_chains_their_settings_while_the_add_on_is_off():
    ob, target = rigs.make_arm()
    before = rigs.rotations(ob)
    blender_ik_addon.unregister()
    target.location = (-0.5, 0.4, 1.0)
    bpy.context.view_layer.update()
    bpy.context.scene.frame_set(3)
    kept = rigs.rotations(ob)
    blender_ik_addon.register()
    assert kept == before
    assert ob.chain_ik.chains[0].bone == "Bone.1"
    bpy.context.scene.frame_set(4)
    rigs.assert_reaches(ob, "Bone.1", target, bpy.context.view_layer.depsgraph)


def test_unregistering_forgets_what_handlers_remember():
    ob, _ = rigs.make_arm()
    rigs.enter(ob, "POSE")
    rigs.updated()
    known.names[0, ""] = ()
    remembered = (clicks._active_bones, clicks._active_objects, known.names)
    assert all(remembered)
    blender_ik_addon.unregister()
    left = [*remembered]
    blender_ik_addon.register()
    assert not any(left)
