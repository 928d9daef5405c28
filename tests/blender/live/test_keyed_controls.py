"""Rigs whose own control bones have keys: whatever else is set is seen at the very next frame."""

from __future__ import annotations

from collections.abc import Callable
from math import radians

import bpy
import numpy as np
import pytest

from blender_ik_addon.rig.live import live
from tests.blender.setups import rigs

LIMB = ((0.0, 0.0, 0.0), (0.1, -0.2, 1.0), (0.0, 0.0, 2.0), (0.1, 0.1, 2.6))
FRAMES = (1, 30)


def make_keyed() -> bpy.types.Object:
    """Return a rig whose chain follows a bone with keys, and bends to another, played a while."""
    ob = rigs.make_rig(LIMB)
    rigs.add_bones(ob, ((0.9, 0.3, 1.2), (0.9, 0.3, 1.5)), prefix="Target")
    rigs.add_bones(ob, ((0.2, -3.0, 1.0), (0.2, -3.0, 1.3)), prefix="Pole")
    chain = rigs.add_chain(ob, "Bone.2", ob)
    chain.subtarget, chain.pole_target, chain.pole_subtarget = "Target.0", ob, "Pole.0"
    for bone, way in (("Target.0", (-0.8, 0.2, 0.3)), ("Pole.0", (1.5, 0.0, 0.4))):
        for frame in FRAMES:
            ob.pose.bones[bone].location = np.multiply(way, frame / FRAMES[1])
            ob.pose.bones[bone].keyframe_insert("location", frame=frame)
    for frame in (1, 2, 3):
        rigs.go_to(frame)
    return ob


def settings(ob: bpy.types.Object) -> bpy.types.PropertyGroup:
    return ob.chain_ik.chains[0]


def bend(ob: bpy.types.Object) -> bpy.types.PoseBone:
    return ob.pose.bones["Bone.1"]


def _limit(ob: bpy.types.Object) -> None:
    bend(ob).use_ik_limit_x, bend(ob).ik_min_x, bend(ob).ik_max_x = True, -0.1, 0.1


def _constrain(ob: bpy.types.Object) -> None:
    held = ob.pose.bones["Target.0"].constraints.new("LIMIT_LOCATION")
    held.use_max_x, held.max_x = True, 0.2


def _key_angle(ob: bpy.types.Object) -> None:
    rigs.key(ob, "chain_ik.chains[0].pole_angle", {1: 0.0, 30: 2.0})


def _key_lock(ob: bpy.types.Object) -> None:
    rigs.key(ob, 'pose.bones["Bone.1"].lock_ik_x', {1: False, 5: True})


CHANGES: dict[str, Callable[[bpy.types.Object], object]] = {
    "lock": lambda ob: setattr(bend(ob), "lock_ik_x", True),
    "limit": _limit,
    "rotation mode": lambda ob: setattr(bend(ob), "rotation_mode", "XYZ"),
    "inherit": lambda ob: setattr(ob.data.bones["Bone.1"], "use_inherit_rotation", False),
    "pole angle": lambda ob: setattr(settings(ob), "pole_angle", radians(70.0)),
    "influence": lambda ob: setattr(settings(ob), "influence", 0.4),
    "target": lambda ob: setattr(settings(ob), "subtarget", "Pole.0"),
    "no limits": lambda ob: (_limit(ob), setattr(settings(ob), "use_limits", False)),
    "constraint": _constrain,
    "scale": lambda ob: setattr(ob.pose.bones["Bone.0"], "scale", (1.0, 1.3, 1.0)),
    "moved": lambda ob: setattr(ob, "location", (0.5, 0.2, 0.1)),
    "keyed angle": _key_angle,
    "keyed lock": _key_lock,
}


def shown(ob: bpy.types.Object, frame: float) -> np.ndarray:
    """Return how the bones stand at a frame."""
    return rigs.pose(ob, rigs.go_to(frame))


def assert_as_if_new(ob: bpy.types.Object, frame: float, found: np.ndarray) -> None:
    """Fail unless a frame shows what it shows to somebody who knows nothing yet."""
    live.memory.clear()
    np.testing.assert_allclose(found, shown(ob, frame), atol=1e-5)


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_set_between_frames_is_seen_at_the_next_one(change: str) -> None:
    ob = make_keyed()
    before = shown(ob, 6)
    shown(ob, 5)
    CHANGES[change](ob)
    found = shown(ob, 6)
    assert np.abs(found - before).max() > 1e-6 or change in ("rotation mode", "no limits", "moved")
    assert_as_if_new(ob, 6, found)


@pytest.mark.parametrize("change", CHANGES)
def test_what_a_script_sets_as_a_frame_begins_is_seen_at_that_frame(change: str) -> None:
    ob = make_keyed()

    def set_at(scene: bpy.types.Scene, _depsgraph: object = None) -> None:
        if scene.frame_current == 6:
            CHANGES[change](bpy.data.objects["Rig"])

    bpy.app.handlers.frame_change_pre.append(set_at)
    try:
        found = shown(ob, 6)
    finally:
        bpy.app.handlers.frame_change_pre.remove(set_at)
    after = shown(ob, 7)
    assert_as_if_new(ob, 7, after)
    assert_as_if_new(ob, 6, found)


def test_keyed_settings_and_locks_are_seen_at_every_frame() -> None:
    ob = make_keyed()
    _key_angle(ob)
    _key_lock(ob)
    found = [shown(ob, frame) for frame in range(3, 9)]
    for frame, pose in enumerate(found, start=3):
        assert_as_if_new(ob, frame, pose)


def test_a_driver_on_a_setting_is_seen_at_every_frame() -> None:
    ob = make_keyed()
    curve = ob.driver_add("chain_ik.chains[0].pole_angle")
    curve.driver.expression = "frame * 0.1"
    found = [shown(ob, frame) for frame in range(3, 9)]
    for frame, pose in enumerate(found, start=3):
        assert_as_if_new(ob, frame, pose)
