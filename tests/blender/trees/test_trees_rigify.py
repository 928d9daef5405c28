"""Rigify's human metarig, a rig that nobody here made: one spine with both arms, as one tree."""

import bpy
import pytest

from tests.blender.setups import rigs, tree_rigs

ARMS = {"arm.L": "hand.L", "arm.R": "hand.R"}
# Hand, forearm, upper arm, shoulder, and the spine from its second bone on.
COUNT = 7


@pytest.fixture
def body(rigify: None) -> tree_rigs.Rig:
    bpy.ops.object.armature_human_metarig_add()
    return tree_rigs.Rig(bpy.context.object, ARMS, 1.3)


@pytest.mark.parametrize("solver", tree_rigs.SOLVERS)
@pytest.mark.parametrize("use_limits", [False, True])
def test_both_hands_are_where_they_shall_be(body, solver, use_limits):
    for bone in body.ob.pose.bones if use_limits else ():
        if bone.name.startswith("spine"):
            for axis in "xyz":
                setattr(bone, f"use_ik_limit_{axis}", True)
                setattr(bone, f"ik_min_{axis}", -0.4)
                setattr(bone, f"ik_max_{axis}", 0.4)
    body.follow(solver=solver, chain_count=COUNT)
    shared = set.intersection(
        *(
            {tip.name, *[bone.name for bone in tip.parent_recursive[: COUNT - 1]]}
            for tip in (body.ob.pose.bones[name] for name in ARMS.values())
        )
    )
    assert shared == {"spine.001", "spine.002", "spine.003"}
    for seed in (1, 2, 3):
        for name in ARMS:
            body.target(name).location = rigs.tail(body.ob, ARMS[name])
        body.place(seed, angle=0.25)
        # Bones of the legs and below the spine have turned as well, but only in what was computed.
        body.assert_reached(2e-6)
        for name in ARMS:
            assert body.chain(name).status.startswith("Reached")


def test_hands_pulled_apart_settle_by_weight(body):
    body.follow(chain_count=COUNT)
    for name, side in (("arm.L", 1.0), ("arm.R", -1.0)):
        body.target(name).location = (2.0 * side, 0.1, 1.2)
    rigs.updated()
    even = body.gaps()
    assert even["arm.L"] == pytest.approx(even["arm.R"], rel=1e-3)
    body.chain("arm.L").weight = 0.2
    rigs.updated()
    gaps = body.gaps()
    assert gaps["arm.R"] < even["arm.R"] < gaps["arm.L"]
    assert body.chain("arm.L").status.startswith(("Outweighed by arm.R: ", "Out of reach"))
