"""Bake in steps, as a window does it: given up, failed, disturbed, and very long."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np
import pytest

from blender_ik_addon.properties.records import chain_spec
from blender_ik_addon.rig.keying.baking import Keying
from blender_ik_addon.rig.keying.baking import bake as bake_in_steps
from blender_ik_addon.rig.reading import animation
from blender_ik_addon.rig.reading.refusals import RigError
from tests.blender.keying.test_bake import LAST, SAME, SWING, keys_of, make_tail
from tests.blender.keying.test_bake_options import make_rope
from tests.blender.setups import rigs
from tests.blender.setups.pulled_rigs import give, make_pulled
from tests.blender.setups.selecting import press, refusal, select_objects, state

bake = bpy.ops.pose.chain_ik_bake


def make_half_rope():
    """Return the same with half its influence, so that its pose does not tell how it goes on."""
    ob, target = make_rope()
    ob.chain_ik.chains[0].influence = 0.5
    rigs.updated()
    return ob, target


def make_easing():
    """Return a rig with a chain that eases toward a moving target, selected."""
    ob, target, chain = make_pulled(5, (1.8, 2.0, 1.5), stiffness_root=2.0, stiffness_tip=0.5)
    give(chain, ease=0.25, use_gradual=True)
    rigs.key(target, "location", {1: (1.8, 2.0, 1.5), 6: (-1, 1.5, 2.5), LAST: (1, 1, 3)})
    select_objects(active=ob)
    rigs.updated()
    return ob, target


def channels(ob):
    """Return the rotation, location and scale channels of all bones as they stand."""
    bones = ob.pose.bones
    return {
        bone.name: (tuple(getattr(bone, rigs.rotation_property(bone))), *bone.location, *bone.scale)
        for bone in bones
    }


def in_steps(ob, frames=range(1, LAST + 1)):
    """Return the steps of a bake of the first chain, as a window does them."""
    settings = ob.chain_ik.chains[0]
    return bake_in_steps(bpy.context.scene, ob, {0: chain_spec(settings)}, frames, Keying())


@pytest.mark.parametrize(
    ("make", "steps"), [(make_tail, LAST), (make_rope, 1), (make_half_rope, 5), (make_easing, 5)]
)
def test_a_bake_that_is_given_up_leaves_everything_as_it_was(make, steps):
    ob, _ = make()
    rigs.key_bones(ob, frames=(20, 30))
    for frame in range(1, 5):
        rigs.go_to(frame)
    before, of_bones, pose = (state(), keys_of(ob)), channels(ob), rigs.pose(ob)
    work = in_steps(ob, range(2, 2 + LAST))
    for _ in range(steps):
        next(work)
    work.close()
    rigs.updated()
    assert bpy.context.scene.frame_current == 4
    assert (state(), keys_of(ob)) == before
    assert channels(ob) == of_bones
    np.testing.assert_array_equal(rigs.pose(ob), pose)
    # And it plays on as if nothing had been.
    on = [rigs.pose(ob, rigs.go_to(frame)) for frame in (5, 6)]
    for frame in range(1, 5):
        rigs.go_to(frame)
    expected = [rigs.pose(ob, rigs.go_to(frame)) for frame in (5, 6)]
    np.testing.assert_allclose(on, expected, atol=SAME)


def test_a_bake_that_fails_in_the_middle_leaves_everything_as_it_was():
    ob, _ = make_rope()
    rigs.key(ob, "scale", {7: (1, 1, 1), 8: (0, 0, 0)})
    for curve in rigs.curves_of(ob):
        for point in curve.keyframe_points:
            point.interpolation = "CONSTANT"
    select_objects(active=ob)
    for frame in range(1, 5):
        rigs.go_to(frame)
    before, pose = (state(), channels(ob)), rigs.pose(ob)
    assert "cannot be baked at frame 8" in refusal(bake)
    rigs.updated()
    assert (state(), channels(ob)) == before
    np.testing.assert_array_equal(rigs.pose(ob), pose)


CHANGES: dict[str, Callable[[bpy.types.Object], object]] = {
    "bone": lambda ob: setattr(ob.pose.bones["Bone.1"], "name", "Other"),
    "chain": lambda ob: ob.chain_ik.chains.remove(0),
    "edit mode": lambda ob: rigs.enter(ob, "EDIT"),
    "object": lambda ob: bpy.data.objects.remove(ob),
    "undo": lambda _: bpy.ops.ed.undo(),
    "file": lambda _: bpy.ops.wm.read_homefile(use_empty=True),
    "live": lambda _: setattr(bpy.context.scene.chain_ik, "use_live", False),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_bake_of_what_has_changed_meanwhile_is_refused(what):
    bpy.ops.ed.undo_push(message="empty")
    ob, _ = make_tail()
    bpy.ops.ed.undo_push(message="made")
    work = in_steps(ob)
    for _ in range(3):
        next(work)
    CHANGES[what](ob)
    told = "Live is off" if what == "live" else "has changed during the bake, so nothing"
    with pytest.raises(RigError, match=told):
        next(work)
    assert not [each for each in bpy.data.actions if each.name.startswith("Rig Baked")]
    work.close()


@pytest.mark.parametrize("method", ["FRAMES", "CLIP"])
def test_keys_are_read_no_more_often_in_more_frames(monkeypatch, method):
    # There is a key a frame, so reading them at each takes time that grows with the square.
    ob, _ = make_tail()
    rigs.key_bones(ob, frames=range(1, LAST + 1))
    read, read_floats = [], animation.read_floats
    monkeypatch.setattr(
        animation, "read_floats", lambda *given: read.append(given) or read_floats(*given)
    )
    counts = []
    for last in (LAST // 2, LAST):
        read.clear()
        press(bake, frame_end=last, method=method)
        counts.append(len(read))
        ob.chain_ik.chains[0].mute = False
        rigs.updated()
    assert counts[0] == counts[1]


def resident_bytes():
    """Return how much memory this process takes, as Linux tells it."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is told in /proc")
def test_three_thousand_frames_need_no_more_memory_than_a_thousand():
    last, warm = 3_000, 500
    ob, target = make_tail(2)
    rigs.key(target, "location", {1: SWING[1], 1000: SWING[6], last: SWING[LAST]})
    work = in_steps(ob, range(1, last + 1))
    found = []
    for frame in work:
        if frame % warm == 0:
            found.append(resident_bytes())
    # Once the last page of the values is touched it is all that they take.
    values = last * 8 * 8
    assert len(found) == last // warm
    assert found[-1] - found[0] < values + 500_000
    assert {len(keys) for keys in keys_of(ob).values()} == {last}
