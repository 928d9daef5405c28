"""FOLLOW with its other end anchored, with joints, and side by side.

The anchored end stays, the leading end comes as near as it can, and bones stay inside their limits.
Similar tails do not affect each other.
"""

import bpy
import numpy as np
import pytest

from blender_ik_addon.rig.live import live
from tests.blender.joints.test_limits_held import LIMBS, TAIL, limit, violations
from tests.blender.setups import rigs, scaled_rigs
from tests.blender.setups.jointed_rigs import READ_ERROR
from tests.blender.setups.selecting import select_objects
from tests.helpers import make_rng, vector_angles

COUNT = 6
MAX_ERROR = 1e-6
UNEVEN = (1.0, 1.3, 0.8)
SCALINGS = {
    "plain": ((1.0, 1.0, 1.0), "FULL"),
    "uneven": (UNEVEN, "FULL"),
    "aligned": (UNEVEN, "ALIGNED"),
    "shear taken out": (UNEVEN, "FIX_SHEAR"),
}
every_lead = pytest.mark.parametrize("lead", ["TIP", "ROOT"])


def make_tail(limb=(), scaling="plain", *, count=COUNT, parent="", is_connected=False, **settings):
    """Return a selected tail of bones with limits, and its target, placed at the leading end."""
    count = len(limb) or count
    ob = rigs.make_armature("Tail")
    if parent:
        rigs.add_bones(ob, [(0, 0.5, -1), (0, 0, 0)], prefix=parent)
    above = f"{parent}.0" if parent else ""
    rigs.add_bones(ob, rigs.zigzag(count), parent=above, is_connected=is_connected)
    scale, inherited = SCALINGS[scaling]
    for bone in ob.pose.bones:
        bone.scale, bone.bone.inherit_scale = scale, inherited
    for bone, (kind, ranges) in zip(ob.pose.bones, limb, strict=False):
        limit(bone, kind, ranges)
    rigs.updated()
    target = rigs.make_empty("Target", end_of(ob, settings.get("follow_lead", "TIP")))
    tip = f"Bone.{count - 1}"
    rigs.add_chain(ob, tip, target, solver="FOLLOW", chain_count=count, **settings)
    select_objects(active=ob)
    return ob, target


def make_rope(lead="TIP", scaling="plain", **settings):
    """Return a tail whose other end is anchored."""
    return make_tail((), scaling, follow_lead=lead, use_anchor=True, **settings)


def end_of(ob, which, depsgraph=None):
    """Return the place of the tip or the root end, world space, shape (3,)."""
    if which == "TIP":
        return rigs.tail(ob, ob.pose.bones[-1].name, depsgraph)
    return rigs.head(ob, "Bone.0", depsgraph)


def other(lead):
    return "ROOT" if lead == "TIP" else "TIP"


def joints_of(ob, depsgraph=None):
    bones = [bone.name for bone in ob.pose.bones if bone.name.startswith("Bone.")]
    return scaled_rigs.joints(ob, bones, depsgraph)


def length_of(ob, depsgraph):
    return float(np.linalg.norm(np.diff(joints_of(ob, depsgraph), axis=0), axis=1).sum())


@every_lead
@pytest.mark.parametrize(
    ("scaling", "bend"), [*((scaling, np.pi) for scaling in SCALINGS), ("plain", 1.2)]
)
def test_the_anchored_end_stays_and_the_other_one_arrives(lead, scaling, bend):
    ob, target = make_rope(lead, scaling, max_bend=bend)
    anchor, before = end_of(ob, other(lead)), joints_of(ob)
    rng, place = make_rng(1), np.array(target.location)
    for _ in range(6):
        place += rng.uniform(-0.3, 0.3, 3)
        if np.linalg.norm(place - anchor) > 0.7 * COUNT:
            place = anchor + 0.6 * (place - anchor)
        depsgraph = rigs.change(target, location=place)
        tolerance = MAX_ERROR * length_of(ob, depsgraph)
        np.testing.assert_allclose(end_of(ob, other(lead), depsgraph), anchor, atol=tolerance)
        gap = np.linalg.norm(end_of(ob, lead, depsgraph) - rigs.position(target, depsgraph))
        assert gap <= 3.0 * tolerance
        assert ob.chain_ik.chains[0].status.startswith("Reached")
    assert np.abs(joints_of(ob) - before).max() > 0.3


@every_lead
def test_a_chain_out_of_reach_is_straight_says_so_and_comes_back(lead):
    ob, target = make_rope(lead)
    chain, anchor, home = ob.chain_ik.chains[0], end_of(ob, other(lead)), np.array(target.location)
    for offset in ((9.0, 1.0, 2.0), (-4.0, 8.0, 1.0), (0.5, -7.0, 0.3)):
        depsgraph = rigs.change(target, location=anchor + np.array(offset))
        reach = length_of(ob, depsgraph)
        tolerance = MAX_ERROR * reach
        np.testing.assert_allclose(end_of(ob, other(lead), depsgraph), anchor, atol=tolerance)
        gap = np.linalg.norm(end_of(ob, lead, depsgraph) - rigs.position(target, depsgraph))
        assert gap == pytest.approx(np.linalg.norm(offset) - reach, abs=3.0 * tolerance)
        assert chain.residual == pytest.approx(gap, abs=3.0 * tolerance)
        assert chain.status.startswith("Out of reach by")
    rigs.change(target, location=home)
    assert chain.status.startswith("Reached")


@every_lead
@pytest.mark.parametrize("settings", [{}, {"max_bend": 0.4}, {"influence": 0.5}])
def test_at_rest_nothing_moves_in_reach_and_out_of_it(lead, settings):
    ob, target = make_rope(lead, **settings)
    chain, frame = ob.chain_ik.chains[0], 1
    for offset in ((20.0, 3.0, 1.0), (-0.4, 0.1, 0.2)):
        target.location = end_of(ob, other(lead)) + np.array(offset)
        before, text = rigs.pose(ob, rigs.updated()), chain.status
        for _ in range(3):
            np.testing.assert_array_equal(rigs.pose(ob, rigs.tagged(ob, target)), before)
            frame += 1
            np.testing.assert_array_equal(rigs.pose(ob, rigs.go_to(frame)), before)
            assert chain.status == text


def test_a_moved_parent_takes_the_anchor_along():
    ob, target = make_rope(parent="Above")
    above = ob.pose.bones["Above.0"]
    above.rotation_mode = "XYZ"
    for angle in (0.1, 0.3, -0.2):
        depsgraph = rigs.change(above.rotation_euler, x=angle)
        # The tail begins at the tail of its parent.
        anchor = rigs.tail(ob, "Above.0", depsgraph)
        np.testing.assert_allclose(end_of(ob, "ROOT", depsgraph), anchor, atol=MAX_ERROR * COUNT)
        np.testing.assert_allclose(
            end_of(ob, "TIP", depsgraph), target.location, atol=3.0 * MAX_ERROR * COUNT
        )


def test_a_root_that_stays_may_be_connected_and_locked():
    ob, target = make_rope(parent="Above", is_connected=True)
    chain, root = ob.chain_ik.chains[0], ob.pose.bones["Bone.0"]
    root.lock_location = (True, True, True)
    rigs.shift(target, x=0.5)
    assert chain.status.startswith("Reached")
    for name, value in (("follow_lead", "ROOT"), ("use_anchor", False)):
        with rigs.changed(chain, **{name: value}):
            assert "cannot be dragged" in chain.status
        assert chain.status.startswith("Reached")


# How far a bone may lie outside its limits: radians, read back from matrices of float32.
MAX_VIOLATION = 2e-6


def bend_angles(ob, depsgraph):
    """Return the angles between neighbouring bones, radians, shape (n - 1,)."""
    segments = np.diff(joints_of(ob, depsgraph), axis=0)
    return vector_angles(segments[1:], segments[:-1])


def wander_target(target, steps=10, size=0.5):
    rng = make_rng(1)
    for _ in range(steps):
        target.location = np.array(target.location) + rng.uniform(-size, size, 3)
        yield rigs.updated()


@every_lead
@pytest.mark.parametrize("limb", LIMBS)
def test_bones_stay_inside_their_limits_while_an_end_is_dragged(limb, lead):
    ob, target = make_tail(LIMBS[limb], follow_lead=lead)
    before = rigs.pose(ob)
    for depsgraph in wander_target(target):
        # The first bone has no neighbour before it: it moves and turns freely.
        assert violations(ob, LIMBS[limb])[1:].max() <= MAX_VIOLATION
        np.testing.assert_allclose(
            end_of(ob, lead, depsgraph), target.location, atol=3.0 * MAX_ERROR * len(LIMBS[limb])
        )
        assert ob.chain_ik.chains[0].status.startswith("Reached")
    assert np.abs(rigs.pose(ob) - before).max() > 0.3


@every_lead
def test_a_chain_held_back_by_limits_says_so_and_rests(lead):
    ob, target = make_tail(TAIL, follow_lead=lead, use_anchor=True)
    anchor, chain = end_of(ob, other(lead)), ob.chain_ik.chains[0]
    depsgraph = rigs.change(target, location=anchor + np.array((0.1, -0.1, 0.2)))
    gap = np.linalg.norm(end_of(ob, lead, depsgraph) - rigs.position(target, depsgraph))
    assert chain.residual == pytest.approx(gap, abs=1e-5)
    assert gap > 0.1
    assert chain.status.startswith("Held back by the limits of Bone.")
    np.testing.assert_allclose(end_of(ob, other(lead), depsgraph), anchor, atol=6.0 * MAX_ERROR)
    rigs.assert_stays(ob, target)


@pytest.mark.parametrize(
    ("relative_to", "use_anchor", "lead"),
    [("PARENT", False, "ROOT"), ("PARENT", True, "TIP"), ("CHILD", False, "TIP")],
)
def test_joints_of_the_chain_count_from_the_neighbour(relative_to, use_anchor, lead):
    ob, target = make_tail(follow_lead=lead, use_anchor=use_anchor)
    chain, max_bend = ob.chain_ik.chains[0], np.radians(25.0)
    for number in range(5):
        joint = chain.joints.add()
        joint.bone = f"Bone.{number + (relative_to == 'PARENT')}"
        joint.kind, joint.relative_to, joint.cone_angle = "CONE", relative_to, max_bend
    rigs.updated()
    for depsgraph in wander_target(target):
        assert bend_angles(ob, depsgraph).max() <= max_bend + 10.0 * READ_ERROR
    chain.use_limits = False
    target.location = joints_of(ob).mean(axis=0)
    assert bend_angles(ob, rigs.updated()).max() > max_bend + 0.05


def test_a_range_that_gets_narrower_holds_at_once():
    ob, target = make_tail(TAIL, use_anchor=True)
    for _ in wander_target(target, steps=3, size=0.2):
        pass
    narrow = tuple((kind, tuple((0.3 * a, 0.3 * b) for a, b in ranges)) for kind, ranges in TAIL)
    for bone, (kind, ranges) in zip(ob.pose.bones, narrow, strict=True):
        limit(bone, kind, ranges)
    depsgraph = rigs.tagged(ob)
    assert violations(ob, narrow).max() <= MAX_VIOLATION
    gap = np.linalg.norm(end_of(ob, "TIP", depsgraph) - rigs.position(target, depsgraph))
    assert ob.chain_ik.chains[0].status.startswith("Reached") == (gap < 1e-4)


def test_an_anchored_chain_at_rest_follows_when_a_joint_counts_from_elsewhere():
    ob, target = make_tail(count=3, use_anchor=True)
    chain = ob.chain_ik.chains[0]
    joint = chain.joints.add()
    joint.bone, joint.kind, joint.cone_angle = "Bone.1", "CONE", 0.3
    rigs.change(target, location=end_of(ob, "TIP") + np.array((0.4, 0.2, -0.3)))
    assert chain.residual <= 1e-5
    rigs.change(joint, relative_to="PARENT")
    assert chain.residual <= 1e-5


LINKS, END, COPIES = 5, 10, 3
BONES = [f"Bone.{i}" for i in range(LINKS)]
MODES = ("QUATERNION", "XYZ", "AXIS_ANGLE", "ZYX", "QUATERNION")
# Distance: the rounding of float32 channels on these tails, passed on from frame to frame.
MAX_DIFFERENCE = 2e-5


def swim(frame: float, number: int) -> np.ndarray:
    time = 0.25 * (frame - 1.0) + number
    return np.array((2.0 * np.sin(time), 2.0 * np.cos(0.7 * time), 4.0 + np.sin(1.3 * time)))


def make_tails(**settings: object) -> list[bpy.types.Object]:
    """Return similar rigs, turned and scaled, each with a tail under a parent that moves."""
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, END
    scene.chain_ik.use_live = False
    rng, tails = make_rng(8), []
    for number in range(COPIES):
        ob = rigs.make_armature(f"Tail {number}")
        rigs.add_bones(ob, [(0.3, 0, -1), (0, 0.2, -0.2)], prefix="Above")
        rigs.add_bones(ob, rigs.zigzag(LINKS), modes=MODES, parent="Above.0")
        ob.data.bones["Bone.0"].use_local_location = number % 2 == 0
        ob.location, ob.scale = rng.normal(size=3), (1.0 + 0.5 * number,) * 3
        ob.rotation_mode, ob.rotation_euler = "XYZ", rng.uniform(-1.0, 1.0, 3)
        rigs.turn_bones(ob, seed=number, angle=0.3)
        target = rigs.make_empty(f"Target {number}")
        rigs.key(target, "location", {f: swim(f, number) for f in range(1, END + 1)})
        above = ob.pose.bones["Above.0"]
        above.rotation_mode = "XYZ"
        for frame in (1, END):
            above.rotation_euler = rng.uniform(-0.4, 0.4, 3)
            above.keyframe_insert("rotation_euler", frame=frame)
        settings = {"solver": "FOLLOW", "chain_count": LINKS} | settings
        rigs.add_chain(ob, f"Bone.{LINKS - 1}", target, **settings)
        tails.append(ob)
    scene.chain_ik.use_live = True
    return tails


def play_all(tails: list[bpy.types.Object]) -> np.ndarray:
    depsgraphs = map(rigs.go_to, range(1, END + 1))
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
    together = play_all(tails)
    (graph,) = live.memory.graphs.values()
    batches = [candidate for level in graph.levels for candidate in level.batches]
    (batch,) = (candidate for candidate in batches if candidate.driven[0].specs[0].is_dragged)
    assert len(batch.live_chains) == COPIES
    assert np.abs(np.diff(together, axis=0)).max() > 0.05
    texts = [ob.chain_ik.chains[0].status for ob in tails]
    for number, ob in enumerate(tails):
        for other in tails:
            other.chain_ik.chains[0].mute = other is not ob
        alone = play_all([ob])
        np.testing.assert_allclose(together[:, [number]], alone, atol=MAX_DIFFERENCE)
        assert texts[number] == ob.chain_ik.chains[0].status


@pytest.mark.parametrize("is_known", [True, False])
def test_a_tail_below_a_flat_bone_does_not_stop_the_others(is_known):
    tails = make_tails()
    if is_known:
        play_all(tails)
    tails[1].pose.bones["Above.0"].scale = (1.0, 0.0, 1.0)
    for _ in range(2):
        for ob in tails:
            ob.chain_ik.chains[0].target.animation_data_clear()
            ob.chain_ik.chains[0].target.location.x += 0.5
        rigs.updated()
        texts = [ob.chain_ik.chains[0].status for ob in tails]
        assert texts.pop(1).startswith("Bone 'Above.0' has a scale of zero")
        assert all(text.startswith("Reached") for text in texts)
