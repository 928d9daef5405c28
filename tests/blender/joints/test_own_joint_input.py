"""Own joints that cannot be used say so in one sentence; other chains go on."""

from __future__ import annotations

import re

import bpy
import numpy as np
import pytest

from tests.blender.setups import jointed_rigs, rigs
from tests.blender.setups.jointed_rigs import give
from tests.blender.words.cases_of_rigs import JOINTS
from tests.blender.words.steps import LIMB, make_limbs, part_of


def make_pair():
    """Return an object with two chains, that of three bones, and its target."""
    ob = make_limbs()
    rigs.updated()
    return ob, ob.chain_ik.chains["Limb"], part_of(ob, "Target")


def assert_follows(ob, target):
    target.location.y += 0.1
    bpy.context.view_layer.update()
    rigs.assert_reaches(ob, "Limb.2", target)


@pytest.mark.parametrize("case", JOINTS, ids=lambda case: case.says)
def test_what_cannot_be_used_stands_still_and_stops_only_its_chain(case):
    """What is said then, and taken back: ``tests/blender/words/test_sentences.py``."""
    ob = case.makes()
    rigs.updated()
    with case.given(ob), case.breaks(ob):
        rigs.updated()
        before = rigs.rotations(ob)
        part_of(ob, "Target").location.x += 0.01
        part_of(ob, "Second").location.x += 0.1
        rigs.updated()
        assert ob.chain_ik.chains["Limb"].status.startswith(case.says.split("...")[0])
        assert all(rigs.rotations(ob)[bone] == before[bone] for bone in LIMB[:2])
        if "'Other'" not in case.says:
            rigs.assert_reaches(ob, "Other.1", part_of(ob, "Second"))


def test_a_range_that_does_not_count_for_the_kind_is_not_looked_at():
    ob, chain, target = make_pair()
    give(chain, "Limb.1", "HINGE_X", y=(40, 30), z=(5, 2))
    assert_follows(ob, target)


def test_a_joint_of_a_bone_outside_the_chain_waits_and_the_status_tells():
    ob, chain, target = make_pair()
    give(chain, "Limb.0", "FIXED")
    give(chain, "Other.0", "FIXED")
    chain.chain_count = 2
    bpy.context.view_layer.update()
    assert "have no effect: Limb.0, Other.0" in chain.status
    assert np.isfinite(rigs.pose(ob)).all()
    chain.joints.remove(1)
    chain.chain_count = 3
    target.location = (0.5, 0.3, 1.4)
    bpy.context.view_layer.update()
    assert "no effect" not in chain.status
    assert jointed_rigs.swing(jointed_rigs.local(ob, "Limb.0")) < 1e-6, "it counts again"


def assert_still_fixed(ob, chain, target, bone):
    target.location = (0.6, 0.7, 0.9)
    bpy.context.view_layer.update()
    assert np.abs(rigs.pose(ob)).max() < 10.0
    np.testing.assert_allclose(jointed_rigs.local(ob, bone), np.eye(3), atol=1e-6)
    assert not re.search("no longer exists|have no effect", chain.status), chain.status


@pytest.mark.parametrize("takes_anew", ["mute", "store", "chain_count"])
def test_a_renamed_joint_is_kept_when_the_stored_pose_is_taken_anew(takes_anew):
    ob, chain, target = make_pair()
    give(chain, "Limb.1", "FIXED")
    bpy.context.view_layer.update()
    ob.data.bones["Limb.1"].name = "Knee"
    bpy.context.view_layer.update()
    if takes_anew == "mute":
        chain.mute = True
        bpy.context.view_layer.update()
        chain.mute = False
    elif takes_anew == "store":
        bpy.context.view_layer.objects.active = ob
        bpy.ops.pose.chain_ik_store()
    else:
        chain.chain_count = 2
    bpy.context.view_layer.update()
    assert chain.joints[0].bone == "Knee"
    assert_still_fixed(ob, chain, target, "Knee")


def test_a_renamed_tip_keeps_its_joint():
    ob, chain, target = make_pair()
    give(chain, "Limb.2", "FIXED")
    bpy.context.view_layer.update()
    ob.data.bones["Limb.2"].name = "Hand"
    bpy.context.view_layer.update()
    assert (chain.bone, chain.joints[0].bone) == ("Hand", "Hand")
    assert_still_fixed(ob, chain, target, "Hand")
