"""Tails alike are dragged side by side: each as if it were alone, whatever befalls the others."""

import bpy
import numpy as np
import pytest

from blender_ik_addon.rig.batches.follow_batch import FollowBatch
from blender_ik_addon.rig.live import live
from tests.blender.setups import rigs, scaled_rigs
from tests.helpers import make_rng

COUNT, LAST, COPIES = 5, 10, 3
BONES = [f"Bone.{i}" for i in range(COUNT)]
MODES = ("QUATERNION", "XYZ", "AXIS_ANGLE", "ZYX", "QUATERNION")
# float32 channels on poses of this length, going on from frame to frame.
SAME = 2e-5


def swim(frame: float, number: int) -> np.ndarray:
    time = 0.25 * (frame - 1.0) + number
    return np.array((2.0 * np.sin(time), 2.0 * np.cos(0.7 * time), 4.0 + np.sin(1.3 * time)))


def make_tails(**settings: object) -> list[bpy.types.Object]:
    """Return rigs alike, each with a tail under a parent that moves; objects turned and scaled."""
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, LAST
    scene.chain_ik.use_live = False
    rng, found = make_rng(8), []
    for number in range(COPIES):
        ob = rigs.make_armature(f"Tail {number}")
        rigs.add_bones(ob, [(0.3, 0, -1), (0, 0.2, -0.2)], prefix="Above")
        rigs.add_bones(ob, rigs.zigzag(COUNT), modes=MODES, parent="Above.0")
        ob.data.bones["Bone.0"].use_local_location = number % 2 == 0
        ob.location, ob.scale = rng.normal(size=3), (1.0 + 0.5 * number,) * 3
        ob.rotation_mode, ob.rotation_euler = "XYZ", rng.uniform(-1.0, 1.0, 3)
        rigs.turn_bones(ob, seed=number, angle=0.3)
        target = rigs.make_empty(f"Target {number}")
        rigs.key(target, "location", {f: swim(f, number) for f in range(1, LAST + 1)})
        above = ob.pose.bones["Above.0"]
        above.rotation_mode = "XYZ"
        for frame in (1, LAST):
            above.rotation_euler = rng.uniform(-0.4, 0.4, 3)
            above.keyframe_insert("rotation_euler", frame=frame)
        settings = {"solver": "FOLLOW", "chain_count": COUNT} | settings
        rigs.add_chain(ob, f"Bone.{COUNT - 1}", target, **settings)
        found.append(ob)
    scene.chain_ik.use_live = True
    return found


def played(tails: list[bpy.types.Object]) -> np.ndarray:
    depsgraphs = map(rigs.go_to, range(1, LAST + 1))
    return np.array(
        [[scaled_rigs.joints(ob, BONES, graph) for ob in tails] for graph in depsgraphs]
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"use_tail": False, "follow_lead": "ROOT", "max_bend": 0.5},
        {"influence": 0.6, "use_anchor": True},
    ],
)
def test_a_tail_moves_the_same_whoever_is_dragged_beside_it(settings):
    tails = make_tails(**settings)
    beside = played(tails)
    (graph,) = live.memory.graphs.values()
    batches = [each for level in graph.levels for each in level.batches]
    (batch,) = (each for each in batches if isinstance(each, FollowBatch))
    assert len(batch.live_chains) == COPIES
    assert np.abs(np.diff(beside, axis=0)).max() > 0.05
    texts = [ob.chain_ik.chains[0].status for ob in tails]
    for number, ob in enumerate(tails):
        for other in tails:
            other.chain_ik.chains[0].mute = other is not ob
        alone = played([ob])
        np.testing.assert_allclose(beside[:, [number]], alone, atol=SAME)
        assert texts[number] == ob.chain_ik.chains[0].status


@pytest.mark.parametrize("is_known", [True, False])
def test_a_tail_below_a_flat_bone_does_not_stop_the_others(is_known):
    tails = make_tails()
    if is_known:
        played(tails)
    tails[1].pose.bones["Above.0"].scale = (1.0, 0.0, 1.0)
    for _ in range(2):
        for ob in tails:
            ob.chain_ik.chains[0].target.animation_data_clear()
            ob.chain_ik.chains[0].target.location.x += 0.5
        rigs.updated()
        texts = [ob.chain_ik.chains[0].status for ob in tails]
        assert texts.pop(1).startswith("Bone 'Above.0' has a scale of zero")
        assert all(text.startswith("Reached") for text in texts)
