"""Chains that share bones, while a person works: muted, added, stored, undone."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs, tree_rigs
from tests.blender.setups.saved_rigs import reopen
from tests.blender.setups.selecting import select_objects

NOISE = 2e-6


def make_live(angle: float = 0.4, **settings: object) -> tree_rigs.Rig:
    """Return a Y, posed by hand, whose chains follow their targets somewhere."""
    rig = tree_rigs.make_y()
    rigs.turn_bones(rig.ob, angle=0.2)
    rig.follow(**settings)
    rig.place(1, angle)
    rigs.updated()
    return rig


def test_the_parent_of_a_shared_bone_moves_the_tree():
    rig = tree_rigs.make_y(has_root=True)
    rig.follow(chain_count=4)
    rig.place(1)
    rigs.updated()
    rig.ob.pose.bones["Root.0"].rotation_quaternion = (0.98, 0.1, 0.1, 0.0)
    rig.assert_reached()
    rig.ob.location = (0.1, 0.0, 0.05)
    rig.assert_reached()


@pytest.mark.parametrize("order", [("Left", "Right"), ("Right", "Left")])
def test_muted_one_after_the_other_they_give_everything_back(order):
    rig = tree_rigs.make_y()
    rigs.turn_bones(rig.ob, angle=0.2)
    stood = rigs.rotations(rig.ob)
    rig.follow()
    rig.place(1)
    rigs.updated()
    # The first one takes its stored pose anew, while the other one drives the bones they share.
    for name, mute in ((order[0], True), (order[0], False), (order[1], True), (order[0], True)):
        rig.chain(name).mute = mute
        rigs.updated()
        live = [each for each in order if not rig.chain(each).mute]
        assert all(rig.gaps()[each] <= NOISE for each in live)
        for bone in (f"{each}.{i}" for each in order if each not in live for i in (0, 1)):
            np.testing.assert_allclose(rigs.rotations(rig.ob)[bone], stood[bone], atol=1e-6)
        assert all(rig.chain(each).status == "Muted" for each in order if each not in live)
    for bone, channels in rigs.rotations(rig.ob).items():
        np.testing.assert_allclose(channels, stood[bone], atol=1e-6, err_msg=bone)


def test_a_chain_added_to_a_solved_one_starts_from_what_stood_there_before():
    rig = tree_rigs.make_y()
    rigs.turn_bones(rig.ob, angle=0.2)
    stood = rigs.rotations(rig.ob)
    tips = rig.tips
    rig.tips = {"Left": tips["Left"]}
    rig.follow()
    rig.target("Left").location = (0.3, 0.5, 1.4)
    rigs.updated()
    rig.tips = {"Right": tips["Right"]}
    rig.follow()
    rig.tips = tips
    rig.assert_reached()
    for name in ("Left", "Right"):
        rig.chain(name).mute = True
    rigs.updated()
    for bone, channels in rigs.rotations(rig.ob).items():
        np.testing.assert_allclose(channels, stood[bone], atol=1e-6, err_msg=bone)


def test_a_stored_pose_is_stored_for_all_chains_of_the_tree():
    rig = make_live()
    for chain in rig.ob.chain_ik.chains:
        chain.mute = True
    rigs.updated()
    for chain in rig.ob.chain_ik.chains:
        chain.mute = False
    rigs.updated()
    bpy.context.scene.chain_ik.use_live = False
    rigs.turn_bones(rig.ob, seed=5, angle=0.1)
    posed = rigs.rotations(rig.ob)
    select_objects(active=rig.ob)
    # The other one gives back last.
    rig.ob.chain_ik.active_index = 0
    bpy.ops.pose.chain_ik_store()
    bpy.context.scene.chain_ik.use_live = True
    rigs.updated()
    for chain in rig.ob.chain_ik.chains:
        chain.mute = True
    rigs.updated()
    now = rigs.rotations(rig.ob)
    for bone in ("Trunk.0", "Trunk.1", "Left.0", "Left.1"):
        np.testing.assert_allclose(now[bone], posed[bone], atol=1e-6, err_msg=bone)


def test_undo_and_a_file_give_the_former_pose_back(tmp_path: Path):
    rig = make_live()
    rig.chain("Left").weight = 0.5
    rigs.updated()
    bpy.ops.ed.undo_push(message="before")
    before = rigs.pose(rig.ob)
    rig.target("Left").location.z -= 0.2
    rigs.updated()
    bpy.ops.ed.undo_push(message="moved")
    bpy.ops.ed.undo()
    for is_opened in (False, True):
        if is_opened:
            reopen(tmp_path / "tree.blend")
        rig.ob = bpy.data.objects["Y"]
        rigs.updated()
        rigs.assert_same_pose(rig.ob, before)
        assert rig.chain("Left").weight == 0.5
    rig.target("Left").location.z -= 0.1
    rig.assert_reached()


@pytest.mark.slow
def test_small_steps_of_a_target_are_small_steps_of_the_pose():
    rig = make_live()
    former = None
    # The limb becomes straight on the way.
    for step in np.linspace(0.0, 1.0, 40)[21:29]:
        rig.target("Left").location = (0.8 - 0.5 * step, 0.2, 1.4 + 0.9 * step)
        pose = rigs.pose(rig.ob, rigs.updated())
        if former is not None:
            # Of rolls too: a straight limb may not turn about itself from one to the next.
            assert np.abs(pose - former).max() < 0.05
        former = pose
