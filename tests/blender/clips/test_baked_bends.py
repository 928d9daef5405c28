"""Bake as a clip: joints of a walking leg bend to the same side as frame by frame."""

import bpy
import numpy as np
import pytest

from tests.blender.clips import shaken
from tests.blender.setups import rigs
from tests.blender.setups.jointed_rigs import add_joint
from tests.blender.setups.selecting import select_objects

pytestmark = [pytest.mark.slow, pytest.mark.oldest]

# A front leg of a dog, from the shoulder down to the paw.
LEG = [(0, -0.5, 0.85), (0, -0.38, 0.55), (0, -0.42, 0.2), (0, -0.46, 0.05)]
CYCLE = 22
# Share of the least bend frame by frame that stays.
LEAST_SHARE = 0.5
# Rounding of keys, which are float32, as a sine.
ROUNDING = 1e-5


def make_walking_leg(stride: float, lift: float, kinds: tuple[str, ...] = ()) -> bpy.types.Object:
    """Return a leg whose paw stands and swings in turn, with kinds of its joints."""
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, shaken.LAST
    ob = rigs.make_rig(LEG)
    target = rigs.make_empty("Target")
    time = np.arange(shaken.LAST) / CYCLE % 1.0
    swing = np.clip((time - 0.6) / 0.4, 0.0, 1.0)
    along = np.where(time < 0.6, time / 0.6 - 0.5, 0.5 * np.cos(np.pi * swing))
    places = np.tile(LEG[-1], (shaken.LAST, 1))
    places[:, 1] += stride * along
    places[:, 2] += lift * np.sin(np.pi * swing)
    shaken.wander(target, places)
    rigs.add_chain(ob, "Bone.2", target, solver="NEWTON", use_limits=bool(kinds))
    for index, kind in enumerate(kinds):
        ranges = {axis: (-170, 170) for axis in ("xyz" if kind == "BALL" else "x")}
        add_joint(ob.chain_ik.chains[0], f"Bone.{index}", kind, **ranges)
    select_objects(active=ob)
    bpy.context.view_layer.update()
    return ob


def bends(shown: shaken.Played) -> np.ndarray:
    """Return the sines of the bends of knee and ankle to the side, shape (F, 2)."""
    ways = shown.poses[:, :, :3, 1]
    return np.cross(ways[:, :-1], ways[:, 1:])[..., 0]


@pytest.mark.parametrize("kinds", [(), ("BALL",) * 3, ("BALL", "HINGE_X", "HINGE_X")])
@pytest.mark.parametrize("smoothness", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(("stride", "lift"), [(0.24, 0.1), (0.28, 0.16)])
def test_joints_of_a_walking_leg_bend_to_the_same_side_as_frame_by_frame(
    stride, lift, smoothness, kinds, empty_scene, capfd
):
    ob = make_walking_leg(stride, lift, kinds)
    before = shaken.play(ob)
    shaken.bake(smoothness=smoothness)
    after = shaken.play(ob)
    sides = np.sign(bends(before)[0])
    least = (sides * bends(before)).min(axis=0)
    assert (least > 0.0).all(), "the bends have no side"
    assert (sides * bends(after) > LEAST_SHARE * least - ROUNDING).all(), (
        sides * bends(after)
    ).min(axis=0)
    assert after.acceleration <= before.acceleration + ROUNDING
    assert "Warning" not in capfd.readouterr().out
    if lift == 0.1 and smoothness == 0.0:
        np.testing.assert_allclose(after.local, before.local, atol=1e-6)
