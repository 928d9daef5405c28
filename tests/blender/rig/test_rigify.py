"""Rigify's human metarig, a rig that nobody here made: arms, legs and spine, every solver."""

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs, scaled_rigs
from tests.helpers import make_rng

MISS = 1e-4
LIMBS = {
    "arm.L": ["upper_arm.L", "forearm.L"],
    "arm.R": ["upper_arm.R", "forearm.R"],
    "leg.L": ["thigh.L", "shin.L"],
    "leg.R": ["thigh.R", "shin.R"],
    "spine": ["spine", "spine.001", "spine.002", "spine.003"],
}
SCALES = {
    "TWO_BONE": (1.0, 1.0, 1.0),
    "FABRIK": (-1.0, 1.0, 1.0),
    "CCD": (-0.8, 1.3, 1.0),
    "NEWTON": (-0.8, 1.3, 1.0),
}
ROUNDS = 2


@pytest.fixture
def metarig(rigify: None) -> bpy.types.Object:
    bpy.ops.object.armature_human_metarig_add()
    return bpy.context.object


def solver_of(limb, solver):
    """Two-Bone drives two bones: the spine takes Newton beside it."""
    return "NEWTON" if solver == "TWO_BONE" and len(LIMBS[limb]) != 2 else solver


def with_chains(metarig, solver):
    """Return the target of each limb."""
    targets = {}
    for limb, bones in LIMBS.items():
        targets[limb] = rigs.make_empty(f"Target {limb}", rigs.tail(metarig, bones[-1]))
        rigs.add_chain(
            metarig,
            bones[-1],
            targets[limb],
            name=limb,
            chain_count=len(bones),
            solver=solver_of(limb, solver),
            tolerance=1e-6,
        )
    scaled_rigs.update()
    return targets


def move_within_reach(metarig, targets, rng):
    """Bring all targets to random places that the limbs reach wherever their roots now are."""
    for limb, bones in LIMBS.items():
        if limb.startswith("arm"):
            continue
        place(metarig, targets[limb], bones, rng)
    # The spine carries the shoulders.
    scaled_rigs.update()
    for limb in ("arm.L", "arm.R"):
        place(metarig, targets[limb], LIMBS[limb], rng)
    scaled_rigs.update()


def place(metarig, target, bones, rng):
    to_world = np.array(scaled_rigs.world_of(metarig))
    pose = rigs.evaluated(metarig).pose.bones
    root = np.array(pose[bones[0]].head)
    reach = sum((pose[bone].tail - pose[bone].head).length for bone in bones)
    rest = metarig.data.bones
    way = np.array(rest[bones[-1]].tail_local - rest[bones[0]].head_local)
    way = way / np.linalg.norm(way) + rng.normal(size=3) * 0.4
    point = root + way / np.linalg.norm(way) * reach * rng.uniform(0.5, 0.95)
    target.location = to_world[:3, :3] @ point + to_world[:3, 3]


@pytest.mark.slow
@pytest.mark.parametrize("solver", SCALES)
def test_arms_legs_and_spine_of_the_metarig_follow_at_once_and_none_moves_before(metarig, solver):
    metarig.scale, metarig.rotation_euler = SCALES[solver], (0.1, -0.2, 0.5)
    scaled_rigs.update()
    before = rigs.pose(metarig)
    targets = with_chains(metarig, solver)
    np.testing.assert_allclose(rigs.pose(metarig), before, atol=1e-6)
    rng = make_rng(11)
    for _ in range(ROUNDS):
        move_within_reach(metarig, targets, rng)
        for chain in metarig.chain_ik.chains:
            miss = scaled_rigs.miss(metarig, LIMBS[chain.name], targets[chain.name])
            assert miss <= MISS, f"{chain.name} missed by {miss:.3g}: {chain.status}"
            assert chain.status.startswith("Reached"), f"{chain.name}: {chain.status}"


def test_a_foot_keeps_the_rotation_of_its_target_while_the_leg_follows(metarig):
    foot, leg = "foot.L", LIMBS["leg.L"]
    target = rigs.make_empty("Target", rigs.head(metarig, foot))
    matrix = scaled_rigs.world_of(metarig) @ rigs.evaluated(metarig).pose.bones[foot].matrix
    target.rotation_euler = matrix.to_euler()
    chain = rigs.add_chain(
        metarig, foot, target, chain_count=2, use_tail=False, use_rotation=True, solver="TWO_BONE"
    )
    heel_to_toe = rigs.tail(metarig, foot) - rigs.head(metarig, foot)
    for offset in ((0.0, 0.0, 0.2), (0.1, -0.3, 0.3), (0.0, 0.2, 0.1)):
        target.location = np.array(matrix.translation) + offset
        scaled_rigs.update()
        assert chain.status.startswith("Reached"), chain.status
        gap = np.linalg.norm(rigs.head(metarig, foot) - rigs.position(target))
        assert gap <= MISS * scaled_rigs.limb_length(metarig, leg)
        now = rigs.tail(metarig, foot) - rigs.head(metarig, foot)
        np.testing.assert_allclose(now, heel_to_toe, atol=2e-6)
