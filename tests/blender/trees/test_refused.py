"""Chains that cannot be solved together, or that follow each other: refused, and at rest."""

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs, tree_rigs

OWN = ("Right.0", "Right.1")
FRAMES = (1, 4, 10, 16)
# float32 channels, as they were before they were stored.
SAME = 1e-6


def make_rig(**settings: object) -> tuple[tree_rigs.Rig, dict[str, tuple[float, ...]]]:
    """Return a Y posed by hand whose right chain has these settings, and its pose of before."""
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


@pytest.mark.parametrize("settings", REFUSED, ids=lambda each: "-".join(map(str, each.values())))
def test_frames_show_the_same_in_any_order(settings):
    rig, _ = make_rig(**settings)
    if settings.get("solver") == "FOLLOW":
        rig.chain("Right").chain_count = 4
    rigs.key(rig.ob, "chain_ik.chains[0].mute", {1: True, 9: True, 10: False})
    for curve in rigs.curves_of(rig.ob):
        for point in curve.keyframe_points:
            point.interpolation = "CONSTANT"
    target = rig.target("Right")
    rigs.key(target, "location", {1: tuple(target.location), 9: (-0.2, -0.4, 1.6)})
    shown: dict[int, dict[str, tuple[float, ...]]] = {}
    for frame in (*FRAMES, *FRAMES[::-1], 10, 1, 16, 4, 1, 10, 4):
        rigs.go_to(frame)
        first = shown.setdefault(frame, rigs.channels(rig.ob))
        for name, values in rigs.channels(rig.ob).items():
            np.testing.assert_allclose(values, first[name], atol=SAME, err_msg=f"{frame} {name}")
    assert "cannot be solved together" not in rig.chain("Right").status
    rigs.go_to(10)
    assert "cannot be solved together" in rig.chain("Right").status
    assert rig.gaps()["Left"] <= 2e-6


@pytest.mark.parametrize("settings", REFUSED, ids=lambda each: "-".join(map(str, each.values())))
def test_a_chain_that_is_refused_later_gives_its_own_bones_their_stored_pose(settings):
    rig, before = make_rig()
    rigs.updated()
    assert rig.chain("Right").status.startswith("Reached")
    rigs.change(rig.chain("Right"), **settings)
    for _ in range(3):
        rigs.tagged(rig.ob)
        assert "cannot be solved together" in rig.chain("Right").status
        assert "went back" not in rig.chain("Right").status
        for name in OWN:
            np.testing.assert_allclose(rigs.channels(rig.ob)[name], before[name], atol=SAME)
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
    for frame in (1, 20, 10, 20, 1, 10):
        rigs.go_to(frame)
        expected = [curve.evaluate(frame) for curve in rigs.curves_of(rig.ob)]
        np.testing.assert_allclose(bones["Right.0"].rotation_quaternion, expected, atol=SAME)
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


def test_bones_of_a_refused_chain_that_go_back_are_told_of_until_the_frame_changes():
    rig, before = make_rig(solver="CCD")
    rigs.updated()
    refusal = rig.chain("Right").status
    assert "cannot be solved together" in refusal
    assert "went back" not in refusal
    for _ in range(2):
        rigs.change(rig.ob.pose.bones["Right.1"], rotation_quaternion=(0.8, 0.6, 0.0, 0.0))
        np.testing.assert_allclose(rigs.channels(rig.ob)["Right.1"], before["Right.1"], atol=SAME)
        assert rig.chain("Right").status == (
            "This chain keeps Right.1 as stored or keyed, so it went back: mute the chain to pose"
            f" by hand. {refusal}"
        )
    assert "went back" not in rig.chain("Left").status
    rigs.updated()
    assert "went back" in rig.chain("Right").status
    rigs.key(rig.target("Right"), "location", {1: (0, 0, 2), 9: (0.2, 0, 2)})
    rigs.go_to(5)
    assert rig.chain("Right").status == refusal


@pytest.mark.parametrize("word", ["target", "pole"])
def test_what_hangs_below_the_shared_bones_cannot_be_followed(word):
    rig = tree_rigs.make_y().follow()
    rig.place(1)
    hook = rigs.make_empty("Hook", (0, 0, 0), parent=rig.ob, parent_bone="Right.1")
    left = rig.chain("Left")
    setattr(left, word if word == "target" else "pole_target", hook)
    rigs.updated()
    assert left.status == (
        f"The {word} 'Hook' is moved by the chain that would follow it:"
        " clear its parent or constraint, or choose another object."
    )
    assert rig.chain("Right").status.startswith("Reached")
    rigs.assert_stays(rig.ob)
    left.target, left.pole_target = rig.target("Left"), None
    rig.assert_reached()


def make_arms() -> bpy.types.Object:
    """Return two arms that share no bone, and no targets yet."""
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


def test_a_ring_of_three_over_two_armatures_loses_one_member():
    ob, third = make_arms(), rigs.make_rig(name="Third")
    rigs.add_chain(ob, "Left.1", ob, subtarget="Right.1", name="Left")
    rigs.add_chain(ob, "Right.1", third, subtarget="Bone.1", name="Right")
    rigs.add_chain(third, "Bone.1", ob, subtarget="Left.1", name="Third")
    rigs.updated()
    chains = (*ob.chain_ik.chains, *third.chain_ik.chains)
    (refused,) = (chain for chain in chains if "follow each other" in chain.status)
    for each in (ob, third):
        rigs.assert_stays(each)
    rigs.change(refused, mute=True)
    others = [chain.status for chain in chains if not chain.mute]
    assert all(text.startswith(("Reached", "Out of reach")) for text in others), others


def test_drivers_alone_make_no_ring():
    """Blender does not tell for which bone of an object a driver is."""
    ob = make_arms()
    rigs.add_bones(ob, ((0, 2, 0), (0, 2, 1)), prefix="Corrective")
    for number, name in enumerate(("Left.0", "Right.0")):
        driver = ob.pose.bones["Corrective.0"].driver_add("scale", number).driver
        variable = driver.variables.new()
        variable.name, variable.type = "turn", "TRANSFORMS"
        variable.targets[0].id, variable.targets[0].bone_target = ob, name
        driver.expression = "1.0 + 0.0 * turn"
    targets = {}
    for name, place in (("Left", (0.6, 0.3, 1.2)), ("Right", (-0.9, 0.3, 1.2))):
        targets[name], _ = rigs.follow(ob, f"{name}.1", place, empty=f"{name} Target", name=name)
    rigs.updated()
    for name, target in targets.items():
        rigs.assert_reaches(ob, f"{name}.1", target)


def test_a_body_goes_where_its_limbs_pull_it_beside_a_refused_chain_that_would_drag_its_root():
    """With a second view layer, an update that changed nothing put its root back as stored."""
    bpy.context.scene.view_layers.new("Second")
    rig, _ = make_rig()
    rig.ob.chain_ik.body.root, rig.ob.chain_ik.body.use_body = "Trunk.0", True
    _, chain = rigs.follow(rig.ob, "Trunk.0", (1, 0, 0), name="Dragged", solver="FOLLOW")
    rigs.change(rig.target("Left"), location=(3, 0, 1))
    assert "cannot be solved together" in chain.status
    assert rig.ob.pose.bones["Trunk.0"].location.length > 0.5
    rigs.go_to(1)
    rigs.assert_stays(rig.ob)
