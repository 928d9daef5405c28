"""FOLLOW with joints: bones stay inside their limits while an end is dragged, and when baked."""

from __future__ import annotations

import numpy as np
import pytest

from tests.blender.joints.test_limits_held import LIMBS, TAIL, limit, violations
from tests.blender.setups import rigs
from tests.blender.setups.jointed_rigs import READ_BACK
from tests.blender.setups.selecting import select_objects
from tests.blender.solvers.test_follow_anchor import end, other, points
from tests.helpers import make_rng

SAME = 1e-6
# Radians, read back from matrices of float32.
HELD = 2e-6
every_limb = pytest.mark.parametrize("limb", LIMBS)
every_lead = pytest.mark.parametrize("lead", ["TIP", "ROOT"])


def make_tail(limb=(), *, name="Tail", solver="FOLLOW", count=6, target=None, **settings):
    """Return a chain of bones with these limits and its target, at the led end; selected."""
    count = len(limb) or count
    ob = rigs.make_armature(name)
    rigs.add_bones(ob, rigs.zigzag(count))
    for bone, (kind, ranges) in zip(ob.pose.bones, limb, strict=False):
        limit(bone, kind, ranges)
    rigs.updated()
    target = target or rigs.make_empty(
        f"{name} Target", end(ob, settings.get("follow_lead", "TIP"))
    )
    tip = f"Bone.{count - 1}"
    rigs.add_chain(ob, tip, target, solver=solver, chain_count=count, **settings)
    select_objects(active=ob)
    rigs.updated()
    return ob, target


def bends(ob, depsgraph=None):
    """Return the angles between neighbouring bones."""
    ways = np.diff(points(ob, depsgraph).astype(np.float64), axis=0)
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    return np.arccos(np.clip((ways[1:] * ways[:-1]).sum(axis=1), -1.0, 1.0))


def walk(target, seed=1, steps=10, size=0.5):
    rng = make_rng(seed)
    for _ in range(steps):
        target.location = np.array(target.location) + rng.uniform(-size, size, 3)
        yield rigs.updated()


@every_lead
@every_limb
def test_bones_stay_inside_their_limits_while_an_end_is_dragged(limb, lead):
    ob, target = make_tail(LIMBS[limb], follow_lead=lead)
    before = rigs.pose(ob)
    for depsgraph in walk(target):
        # The first bone has no neighbour: it moves, and turns freely.
        assert violations(ob, LIMBS[limb])[1:].max() <= HELD
        np.testing.assert_allclose(
            end(ob, lead, depsgraph), target.location, atol=3.0 * SAME * len(LIMBS[limb])
        )
        assert ob.chain_ik.chains[0].status.startswith("Reached")
    assert np.abs(rigs.pose(ob) - before).max() > 0.3


@every_lead
def test_what_limits_hold_back_says_so_and_rests(lead):
    ob, target = make_tail(TAIL, follow_lead=lead, use_anchor=True)
    anchor, chain = end(ob, other(lead)), ob.chain_ik.chains[0]
    target.location = anchor + np.array((0.1, -0.1, 0.2))
    depsgraph = rigs.updated()
    off = np.linalg.norm(end(ob, lead, depsgraph) - rigs.position(target, depsgraph))
    assert chain.residual == pytest.approx(off, abs=1e-5)
    assert off > 0.1
    assert chain.status.startswith("Held back by the limits of Bone.")
    np.testing.assert_allclose(end(ob, other(lead), depsgraph), anchor, atol=6.0 * SAME)
    before = rigs.pose(ob, depsgraph)
    for _ in range(3):
        ob.update_tag()
        target.update_tag()
        np.testing.assert_array_equal(rigs.pose(ob, rigs.updated()), before)


@pytest.mark.parametrize(
    ("relative_to", "use_anchor", "lead"),
    [("PARENT", False, "ROOT"), ("PARENT", True, "TIP"), ("CHILD", False, "TIP")],
)
def test_joints_of_the_chain_s_own_count_from_the_neighbour(relative_to, use_anchor, lead):
    ob, target = make_tail(follow_lead=lead, use_anchor=use_anchor)
    chain, most = ob.chain_ik.chains[0], np.radians(25.0)
    for number in range(5):
        joint = chain.joints.add()
        joint.bone = f"Bone.{number + (relative_to == 'PARENT')}"
        joint.kind, joint.relative_to, joint.cone_angle = "CONE", relative_to, most
    rigs.updated()
    for depsgraph in walk(target):
        assert bends(ob, depsgraph).max() <= most + 10.0 * READ_BACK
    chain.use_limits = False
    target.location = points(ob).mean(axis=0)
    assert bends(ob, rigs.updated()).max() > most + 0.05


def test_a_range_that_gets_narrower_holds_at_once():
    ob, target = make_tail(TAIL, use_anchor=True)
    for _ in walk(target, steps=3, size=0.2):
        pass
    narrow = tuple((kind, tuple((0.3 * a, 0.3 * b) for a, b in ranges)) for kind, ranges in TAIL)
    for bone, (kind, ranges) in zip(ob.pose.bones, narrow, strict=True):
        limit(bone, kind, ranges)
    ob.update_tag()
    depsgraph = rigs.updated()
    assert violations(ob, narrow).max() <= HELD
    off = np.linalg.norm(end(ob, "TIP", depsgraph) - rigs.position(target, depsgraph))
    assert ob.chain_ik.chains[0].status.startswith("Reached") == (off < 1e-4)


def test_an_anchored_chain_at_rest_follows_when_a_joint_counts_from_elsewhere():
    ob, target = make_tail(count=3, use_anchor=True)
    chain = ob.chain_ik.chains[0]
    joint = chain.joints.add()
    joint.bone, joint.kind, joint.cone_angle = "Bone.1", "CONE", 0.3
    target.location = end(ob, "TIP") + np.array((0.4, 0.2, -0.3))
    rigs.updated()
    assert chain.residual <= 1e-5
    joint.relative_to = "PARENT"
    rigs.updated()
    assert chain.residual <= 1e-5
