"""Trees that are solved side by side: what is done to one of them changes nothing of the others."""

import bpy
import numpy as np
import pytest

from blender_ik_addon.rig.batches import chain_batch
from blender_ik_addon.rig.live import live
from tests.blender.rigid import rigid_trees
from tests.blender.setups import jointed_rigs, rigs, tree_rigs, warm_rigs
from tests.blender.setups.tree_rigs import Rig

COUNT = 4
# Channels of the two ways to solve trees differ by last digits of float32.
SAME = 5e-6


@pytest.fixture
def crowd() -> list[Rig]:
    """Trees alike that have followed their targets for a while."""
    found = []
    for i in range(COUNT):
        rig = tree_rigs.make_y(f"Y{i}")
        rig.ob.location, rig.ob.scale = (3.0 * i, 0.0, 0.0), [1.0 + 0.2 * i] * 3
        rigs.turn_bones(rig.ob, seed=i, angle=0.2)
        rig.follow()
        found.append(rig)
    move(found)
    assert sizes() == [COUNT]
    return found


def move(crowd: list[Rig], seed: int = 1) -> None:
    """Move all targets to places that can be reached."""
    for i, rig in enumerate(crowd):
        rig.place(10 * seed + i)
    rigs.updated()


def sizes() -> list[int]:
    """Return how many trees each batch has."""
    return sorted(len(batch.driven) for batch in rigid_trees.trees())


def said(crowd: list[Rig]) -> list[str]:
    """Return what all chains say, without residuals and iterations."""
    lines = (chain.status for rig in crowd for chain in rig.ob.chain_ik.chains)
    return [line.split("(")[0] for line in lines]


def assert_goes_on(crowd: list[Rig], *but: Rig) -> None:
    """Check that the trees follow their targets, but for some."""
    others = [rig for rig in crowd if rig not in but]
    for seed in (2, 3):
        move(others, seed)
        for rig in others:
            rig.assert_reached()


def test_only_trees_whose_targets_move_are_solved_and_written(crowd, monkeypatch):
    solved = rigid_trees.noted(monkeypatch, chain_batch, "Asked")
    written = rigid_trees.noted(monkeypatch, live, "write_pose")
    crowd[1].target("Left").location.z -= 0.1
    crowd[3].target("Right").location.z -= 0.1
    rigs.updated()
    assert [len(trees) for trees in solved] == [2]
    assert {ob.name for ob in written} == {"Y1", "Y3"}
    for rig in crowd:
        rig.assert_reached()
    rigs.updated()
    assert len(solved) == 1


def test_targets_that_cannot_be_followed_leave_what_only_they_drive_until_they_can(
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
    texts = said(crowd)
    assert sizes() == [COUNT]
    rigid_trees.in_armatures(monkeypatch)
    warm_rigs.forget()
    rigs.updated()
    assert said(crowd) == texts
    for rig, held in zip(crowd, now, strict=True):
        for bone, channels in rigs.rotations(rig.ob).items():
            np.testing.assert_allclose(channels, held[bone], atol=SAME, err_msg=bone)
    with monkeypatch.context() as patch:
        solved = rigid_trees.noted(patch, chain_batch, "Asked")
        for _ in range(2):
            rigs.tagged(crowd[0].ob)
        assert not solved
    rigs.change(crowd[2].target("Right"), hide_viewport=False)
    assert_goes_on(crowd)


BESIDE, APART = [COUNT], [1, COUNT - 1]
DIFFERENCES = [
    ('pose.bones["Trunk.0"]', "scale", (1.0, 1.3, 1.0), BESIDE),
    ('pose.bones["Left.1"]', "lock_rotation", (True, False, False), BESIDE),
    ('data.bones["Right.0"]', "inherit_scale", "NONE", APART),
    ('chain_ik.chains["Right"]', "influence", 0.5, BESIDE),
    ('chain_ik.chains["Left"]', "start_from", "CURRENT", APART),
]


@pytest.mark.parametrize(("where", "name", "value", "expected"), DIFFERENCES)
def test_a_tree_that_differs_is_solved_beside_or_apart_and_the_others_go_on(
    crowd, where, name, value, expected
):
    with rigs.changed(crowd[2].ob.path_resolve(where), **{name: value}):
        assert sizes() == expected
        assert_goes_on(crowd, crowd[2])
    assert sizes() == [COUNT]
    assert_goes_on(crowd)


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
    assert_goes_on(crowd)
    rigs.assert_reaches(rig.ob, early[-1], target)
    rig.ob.chain_ik.chains.remove(0)
    assert_goes_on(crowd)
    bpy.data.objects.remove(rig.ob)
    left = [crowd[0], *crowd[2:]]
    assert_goes_on(left)
    bpy.data.objects.remove(left[0].target("Left"))
    assert_goes_on(left[1:])
    assert left[0].chain("Left").status.startswith("No target is set")


def test_bones_renamed_and_edited_in_one_of_many_trees(crowd):
    crowd[1].ob.data.bones["Trunk.0"].name = "Hips"
    assert_goes_on(crowd)
    with rigs.editing(crowd[2].ob) as bones:
        bones["Left.1"].tail.x += 0.2
        bones["Trunk.1"].name = "Chest"
    assert_goes_on(crowd)
    crowd[3].ob.pose.bones["Left.0"].rotation_mode = "XYZ"
    assert_goes_on(crowd)
    assert sizes() == [1, COUNT - 1]


def test_a_range_from_the_parent_holds_a_bone_that_all_chains_share_and_is_named():
    rig = tree_rigs.make_y().follow()
    jointed_rigs.give(rig.chain("Left"), "Trunk.1", "CONE", cone=3, relative_to="PARENT")
    for bone in ("Trunk.0", "Left.0", "Left.1", "Right.0", "Right.1"):
        chain = rig.chain("Right" if "Right" in bone else "Left")
        jointed_rigs.give(chain, bone, "FIXED")
    for name in rig.tips:
        rig.target(name).location.x += 0.5
    rigs.updated()
    bend = jointed_rigs.bend_from_parent(rig.ob, "Trunk.1")
    assert np.degrees(bend) == pytest.approx(3.0, abs=1e-3)
    assert "Held back by the limits of Trunk.1" in rig.chain("Left").status
