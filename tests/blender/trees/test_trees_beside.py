"""Trees in one batch, which do not change each other, and chains that are refused in a tree."""

import bpy
import numpy as np
import pytest

from blender_ik_addon.rig.batches import chain_batch
from blender_ik_addon.rig.live import live
from tests.blender.setups import jointed_rigs, rigs, ties, tree_rigs, warm_rigs
from tests.blender.setups.tree_rigs import Rig
from tests.helpers import record_calls

COUNT = 4
# Channels: trees solved in the two kinds of spaces differ by the last digits of float32.
SAME = 5e-6


@pytest.fixture
def crowd() -> list[Rig]:
    """Similar trees that follow their targets."""
    trees = []
    for i in range(COUNT):
        rig = tree_rigs.make_y(f"Y{i}")
        rig.ob.location, rig.ob.scale = (3.0 * i, 0.0, 0.0), [1.0 + 0.2 * i] * 3
        rigs.turn_bones(rig.ob, seed=i, angle=0.2)
        rig.follow()
        trees.append(rig)
    move(trees)
    assert sizes() == [COUNT]
    return trees


def move(crowd: list[Rig], seed: int = 1) -> None:
    """Move all targets to places that the trees can reach."""
    for i, rig in enumerate(crowd):
        rig.place(10 * seed + i)
    rigs.updated()


def sizes() -> list[int]:
    """Return the number of trees of every batch."""
    (graph,) = live.memory.graphs.values()
    batches = [batch for level in graph.levels for batch in level.batches]
    return sorted(len(batch.driven) for batch in batches if len(batch.driven[0].live_chains) > 1)


def statuses(crowd: list[Rig]) -> list[str]:
    """Return the statuses of all chains, without residuals and iterations."""
    lines = (chain.status for rig in crowd for chain in rig.ob.chain_ik.chains)
    return [line.split("(")[0] for line in lines]


def assert_follow(crowd: list[Rig], *excluded: Rig) -> None:
    """Check that the trees follow their targets, except for the excluded ones."""
    others = [rig for rig in crowd if rig not in excluded]
    for seed in (2, 3):
        move(others, seed)
        for rig in others:
            rig.assert_reached()


def test_only_trees_whose_targets_move_are_solved_and_written(crowd, monkeypatch):
    solved = record_calls(monkeypatch, chain_batch, "SolveInputs")
    written = record_calls(monkeypatch, live, "write_pose")
    crowd[1].target("Left").location.z -= 0.1
    rigs.shift(crowd[3].target("Right"), z=-0.1)
    assert [len(trees) for trees in solved] == [2]
    assert {ob.name for ob in written} == {"Y1", "Y3"}
    for rig in crowd:
        rig.assert_reached()
    rigs.updated()
    assert len(solved) == 1


def test_targets_that_cannot_be_followed_leave_bones_that_only_they_drive_until_they_can(
    crowd, monkeypatch
):
    crowd[0].target("Left").location.x = float("nan")
    crowd[2].target("Right").hide_viewport = True
    for name in ("Left", "Right"):
        crowd[3].target(name).location.y = float("nan")
        crowd[0].target("Right").location.z -= 0.1
        crowd[2].target("Left").location.z -= 0.1
    before = [rigs.rotations(rig.ob) for rig in crowd]
    rigs.updated()
    now = [rigs.rotations(rig.ob) for rig in crowd]
    assert {name for name in now[0] if now[0][name] != before[0][name]}.isdisjoint(
        {"Left.0", "Left.1"}
    )
    assert now[1] == before[1]
    assert now[3] == before[3]
    assert crowd[0].gaps()["Right"] <= 2e-6 * crowd[0].length
    assert "not finite" in crowd[0].chain("Left").status
    assert crowd[0].chain("Right").status.startswith("Reached")
    texts = statuses(crowd)
    assert sizes() == [COUNT]
    tree_rigs.in_armatures(monkeypatch)
    warm_rigs.forget()
    rigs.updated()
    assert statuses(crowd) == texts
    for rig, expected in zip(crowd, now, strict=True):
        for bone, channels in rigs.rotations(rig.ob).items():
            np.testing.assert_allclose(channels, expected[bone], atol=SAME, err_msg=bone)
    with monkeypatch.context() as patch:
        solved = record_calls(patch, chain_batch, "SolveInputs")
        for _ in range(2):
            rigs.tagged(crowd[0].ob)
        assert not solved
    rigs.change(crowd[2].target("Right"), hide_viewport=False)
    assert_follow(crowd)


TOGETHER, APART = [COUNT], [1, COUNT - 1]
DIFFERENCES = [
    ('pose.bones["Trunk.0"]', "scale", (1.0, 1.3, 1.0), TOGETHER),
    ('pose.bones["Left.1"]', "lock_rotation", (True, False, False), TOGETHER),
    ('data.bones["Right.0"]', "inherit_scale", "NONE", APART),
    ('chain_ik.chains["Right"]', "influence", 0.5, TOGETHER),
    ('chain_ik.chains["Left"]', "start_from", "CURRENT", APART),
]


@pytest.mark.parametrize(("where", "name", "value", "expected"), DIFFERENCES)
def test_a_tree_that_differs_is_solved_with_the_others_or_apart_and_the_others_follow(
    crowd, where, name, value, expected
):
    with rigs.changed(crowd[2].ob.path_resolve(where), **{name: value}):
        assert sizes() == expected
        assert_follow(crowd, crowd[2])
    assert sizes() == [COUNT]
    assert_follow(crowd)


def test_chains_and_objects_come_and_go_in_one_of_many_trees(crowd):
    rig = crowd[1]
    rigs.change(rig.chain("Left"), mute=True)
    assert sizes() == [COUNT - 1]
    rigs.change(rig.chain("Left"), mute=False)
    assert sizes() == [COUNT]
    # A chain before the others moves all of them to other rows.
    early = rigs.add_bones(rig.ob, ((-1, 0, 0), (-1, 0.1, 0.5), (-1, 0, 1)), prefix="Early")
    target = rigs.make_empty("Early", rig.ob.matrix_world @ rig.ob.data.bones[early[-1]].tail_local)
    rigs.add_chain(rig.ob, early[-1], target, name="Early", tolerance=1e-7)
    rig.ob.chain_ik.chains.move(2, 0)
    target.location.z -= 0.2
    assert_follow(crowd)
    rigs.assert_reaches(rig.ob, early[-1], target)
    rig.ob.chain_ik.chains.remove(0)
    assert_follow(crowd)
    bpy.data.objects.remove(rig.ob)
    remaining = [crowd[0], *crowd[2:]]
    assert_follow(remaining)
    bpy.data.objects.remove(remaining[0].target("Left"))
    assert_follow(remaining[1:])
    assert remaining[0].chain("Left").status.startswith("No target is set")


def test_bones_renamed_and_edited_in_one_of_many_trees(crowd):
    crowd[1].ob.data.bones["Trunk.0"].name = "Hips"
    assert_follow(crowd)
    with rigs.editing(crowd[2].ob) as bones:
        bones["Left.1"].tail.x += 0.2
        bones["Trunk.1"].name = "Chest"
    assert_follow(crowd)
    crowd[3].ob.pose.bones["Left.0"].rotation_mode = "XYZ"
    assert_follow(crowd)
    assert sizes() == [1, COUNT - 1]


def test_a_range_from_the_parent_holds_a_bone_that_all_chains_share_and_is_named():
    rig = tree_rigs.make_y().follow()
    jointed_rigs.add_joint(rig.chain("Left"), "Trunk.1", "CONE", cone=3, relative_to="PARENT")
    for bone in ("Trunk.0", "Left.0", "Left.1", "Right.0", "Right.1"):
        chain = rig.chain("Right" if "Right" in bone else "Left")
        jointed_rigs.add_joint(chain, bone, "FIXED")
    for name in rig.tips:
        rig.target(name).location.x += 0.5
    rigs.updated()
    bend = jointed_rigs.bend_from_parent(rig.ob, "Trunk.1")
    assert np.degrees(bend) == pytest.approx(3.0, abs=1e-5)
    assert "Held back by the limits of Trunk.1" in rig.chain("Left").status


RIGHT_BONES = ("Right.0", "Right.1")
FRAMES = (1, 4, 10, 16)
# Tolerance of float32 channels that are compared with their stored values.
STILL = 1e-6


def make_rig(**settings: object) -> tuple[tree_rigs.Rig, dict[str, tuple[float, ...]]]:
    """Return a Y whose right chain has these settings, and its pose from before the chains."""
    rig = tree_rigs.make_y()
    rigs.turn_bones(rig.ob, angle=0.3)
    before = rigs.channels(rig.ob)
    rig.follow()
    for name, value in settings.items():
        setattr(rig.chain("Right"), name, value)
    rig.place(2, 0.6)
    if settings.get("use_stretch"):
        rig.target("Right").location *= 1.6
    return rig, before


REFUSED = [{"solver": "CCD"}, {"solver": "FOLLOW"}, {"use_stretch": True}]


@pytest.mark.parametrize("settings", REFUSED, ids=lambda case: "-".join(map(str, case.values())))
def test_frames_show_the_same_in_any_order(settings):
    rig, _ = make_rig(**settings)
    if settings.get("solver") == "FOLLOW":
        rig.chain("Right").chain_count = 4
    rigs.key(rig.ob, "chain_ik.chains[0].mute", {1: True, 9: True, 10: False})
    for curve in rigs.curves_of(rig.ob):
        rigs.set_each(curve.keyframe_points, interpolation="CONSTANT")
    target = rig.target("Right")
    rigs.key(target, "location", {1: tuple(target.location), 9: (-0.2, -0.4, 1.6)})
    shown: dict[int, dict[str, tuple[float, ...]]] = {}
    for frame in rigs.each_frame((*FRAMES, *FRAMES[::-1], 10, 1, 16, 4, 1, 10, 4)):
        first = shown.setdefault(frame, rigs.channels(rig.ob))
        for name, values in rigs.channels(rig.ob).items():
            np.testing.assert_allclose(values, first[name], atol=STILL, err_msg=f"{frame} {name}")
    assert "cannot be solved together" not in rig.chain("Right").status
    rigs.go_to(10)
    assert "cannot be solved together" in rig.chain("Right").status
    assert rig.gaps()["Left"] <= 2e-6


@pytest.mark.parametrize("settings", REFUSED, ids=lambda case: "-".join(map(str, case.values())))
def test_a_chain_that_is_refused_later_restores_the_stored_pose_of_unshared_bones(settings):
    rig, before = make_rig()
    rigs.updated()
    assert rig.chain("Right").status.startswith("Reached")
    rigs.change(rig.chain("Right"), **settings)
    for _ in range(3):
        rigs.tagged(rig.ob)
        assert "cannot be solved together" in rig.chain("Right").status
        assert "was reverted" not in rig.chain("Right").status
        for name in RIGHT_BONES:
            np.testing.assert_allclose(rigs.channels(rig.ob)[name], before[name], atol=STILL)
        assert rig.gaps()["Left"] <= 2e-6
    rigs.change(rig.chain("Left"), mute=True)
    assert "cannot be solved together" not in rig.chain("Right").status


def test_keyed_bones_of_a_refused_chain_play_their_keys_and_chains_below_follow_them():
    rig, _ = make_rig()
    bones = rig.ob.pose.bones
    path = 'pose.bones["Right.0"].rotation_quaternion'
    rigs.key(rig.ob, path, {1: (1.0, 0.0, 0.0, 0.0), 20: (0.8, 0.6, 0.0, 0.0)})
    rig.chain("Right").solver = "CCD"
    shown = {}
    for frame in rigs.each_frame((1, 20, 10, 20, 1, 10)):
        expected = [curve.evaluate(frame) for curve in rigs.curves_of(rig.ob)]
        np.testing.assert_allclose(bones["Right.0"].rotation_quaternion, expected, atol=STILL)
        first = shown.setdefault(frame, rigs.channels(rig.ob))
        assert rigs.channels(rig.ob) == first
    rigs.change(rig.chain("Right"), solver="NEWTON")
    assert rig.chain("Right").status.startswith("Reached")


def test_a_chain_below_a_refused_one_reaches_its_target():
    rig, _ = make_rig()
    rigs.add_bones(
        rig.ob,
        ((-0.8, 0, 1.4), (-1.0, -0.05, 1.5), (-1.3, 0, 1.5)),
        prefix="Hand",
        parent="Right.1",
    )
    goal = rigs.make_empty("Goal", (-0.9, -0.2, 1.4))
    rigs.add_chain(rig.ob, "Hand.1", goal, chain_count=2, name="Hand")
    rigs.updated()
    rig.chain("Right").solver = "CCD"
    goal.location = rigs.tail(rig.ob, "Hand.1") + np.array((0.05, -0.1, 0.05))
    depsgraph = rigs.updated()
    status = rig.chain("Hand").status
    measured = np.linalg.norm(
        rigs.tail(rig.ob, "Hand.1", depsgraph) - rigs.position(goal, depsgraph)
    )
    assert rig.chain("Hand").residual == pytest.approx(measured, abs=1e-5), status


def test_bones_of_a_refused_chain_that_go_back_are_named_until_the_frame_changes():
    rig, before = make_rig(solver="CCD")
    rigs.updated()
    refusal = rig.chain("Right").status
    assert "cannot be solved together" in refusal
    assert "was reverted" not in refusal
    for _ in range(2):
        rigs.change(rig.ob.pose.bones["Right.1"], rotation_quaternion=(0.8, 0.6, 0.0, 0.0))
        np.testing.assert_allclose(rigs.channels(rig.ob)["Right.1"], before["Right.1"], atol=STILL)
        assert rig.chain("Right").status == (
            "This chain keeps Right.1 as stored or keyed, so your change was reverted: mute the"
            f" chain to pose by hand. {refusal}"
        )
    assert "was reverted" not in rig.chain("Left").status
    rigs.updated()
    assert "was reverted" in rig.chain("Right").status
    rigs.key(rig.target("Right"), "location", {1: (0, 0, 2), 9: (0.2, 0, 2)})
    rigs.go_to(5)
    assert rig.chain("Right").status == refusal


@pytest.mark.parametrize("word", ["target", "pole"])
def test_an_object_below_the_shared_bones_cannot_be_followed(word):
    rig = tree_rigs.make_y().follow()
    rig.place(1)
    hook = rigs.make_empty("Hook", (0, 0, 0), parent=rig.ob, parent_bone="Right.1")
    left = rig.chain("Left")
    setattr(left, word if word == "target" else "pole_target", hook)
    rigs.updated()
    assert left.status == (
        f"This chain moves its own {word} 'Hook': clear the parent or constraint of that object,"
        " or choose another object."
    )
    assert rig.chain("Right").status.startswith("Reached")
    rigs.assert_stays(rig.ob)
    left.target, left.pole_target = rig.target("Left"), None
    rig.assert_reached()


def make_arms() -> bpy.types.Object:
    """Return two arms that share no bone and have no chains yet."""
    ob = rigs.make_armature("Arms")
    rigs.add_bones(ob, tree_rigs.LEFT, prefix="Left")
    rigs.add_bones(ob, np.add(tree_rigs.RIGHT, (-0.3, 0, 0)), prefix="Right")
    return ob


def test_both_hands_on_one_bar_settle_where_one_of_them_carries_it():
    ob = make_arms()
    rigs.add_chain(ob, "Right.1", rigs.make_empty("Lead", (-0.6, 0.3, 1.5)), name="Right")
    grip = rigs.make_empty("Grip", (0.3, 0.0, 0.1), parent=ob, parent_bone="Right.1")
    rigs.add_chain(ob, "Left.1", grip, name="Left")
    rigs.updated()
    rigs.assert_reaches(ob, "Left.1", grip)
    rigs.assert_stays(ob)


def test_a_cycle_of_three_over_two_armatures_loses_one_member():
    ob, third = make_arms(), rigs.make_rig(name="Third")
    rigs.add_chain(ob, "Left.1", ob, subtarget="Right.1", name="Left")
    rigs.add_chain(ob, "Right.1", third, subtarget="Bone.1", name="Right")
    rigs.add_chain(third, "Bone.1", ob, subtarget="Left.1", name="Third")
    rigs.updated()
    chains = (*ob.chain_ik.chains, *third.chain_ik.chains)
    (refused,) = (chain for chain in chains if "follow each other" in chain.status)
    for armature in (ob, third):
        rigs.assert_stays(armature)
    rigs.change(refused, mute=True)
    others = [chain.status for chain in chains if not chain.mute]
    assert all(text.startswith(("Reached", "Out of reach")) for text in others), others


def test_drivers_alone_make_no_cycle():
    """Blender does not report which bone of an object a driver belongs to."""
    ob = make_arms()
    rigs.add_bones(ob, ((0, 2, 0), (0, 2, 1)), prefix="Corrective")
    for number, name in enumerate(("Left.0", "Right.0")):
        settings = {"bone": name, "index": number, "expression": "1.0 + 0.0 * value"}
        ties.drive(ob.pose.bones["Corrective.0"], "scale", ob, "LOC_X", **settings)
    targets = {}
    for name, place in (("Left", (0.6, 0.3, 1.2)), ("Right", (-0.9, 0.3, 1.2))):
        targets[name], _ = rigs.follow(ob, f"{name}.1", place, empty=f"{name} Target", name=name)
    rigs.updated()
    for name, target in targets.items():
        rigs.assert_reaches(ob, f"{name}.1", target)


def test_a_body_goes_where_its_limbs_pull_it_beside_a_refused_chain_that_would_drag_its_root():
    """With a second view layer, an update without changes had reset its root to the stored pose."""
    bpy.context.scene.view_layers.new("Second")
    rig, _ = make_rig()
    rig.ob.chain_ik.body.root, rig.ob.chain_ik.body.use_body = "Trunk.0", True
    _, chain = rigs.follow(rig.ob, "Trunk.0", (1, 0, 0), name="Dragged", solver="FOLLOW")
    rigs.change(rig.target("Left"), location=(3, 0, 1))
    assert "cannot be solved together" in chain.status
    assert rig.ob.pose.bones["Trunk.0"].location.length > 0.5
    rigs.go_to(1)
    rigs.assert_stays(rig.ob)
