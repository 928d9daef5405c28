"""In Blender, limited limbs arrive where a pose inside their limits gets, and say why where not."""

from __future__ import annotations

import numpy as np
import pytest
from mathutils import Quaternion

from tests.blender.joints.test_limits_held import (
    LIMBS,
    K,
    edges,
    limit,
    make_limb,
    violation,
    violations,
)
from tests.blender.setups import rigs, scaled_rigs
from tests.core.limited_rigs import make_rig as core_rig
from tests.helpers import make_rng

pytestmark = pytest.mark.slow

every_solver = pytest.mark.parametrize("solver", ["NEWTON", "FABRIK", "CCD"])


def reachable(ob, bones, limb, rng):
    """Return where the tip's tail is with random turns inside the limits, world space."""
    turns = core_rig(limb).some_rotations(rng)
    for bone, turn in zip(bones, turns, strict=True):
        ob.pose.bones[bone].rotation_quaternion = turn
    scaled_rigs.update()
    point = rigs.tail(ob, bones[-1])
    for bone in bones:
        ob.pose.bones[bone].rotation_quaternion = Quaternion()
    scaled_rigs.update()
    return point


def arrivals(ob, bones, where, solver, *, has_pole):
    """Move a target through places, and yield at each once the limb is found to have arrived."""
    settings = {"pole_target": rigs.make_empty("Pole", (2.0, -3.0, 1.0))} if has_pole else {}
    _, target = scaled_rigs.follow(ob, bones, where[0], solver=solver, **settings)
    for target.location in where:
        scaled_rigs.update()
        assert scaled_rigs.miss(ob, bones, target) <= 1e-3
        yield


SCALES = ((1.0, 1.0, 1.0), (-1.0, 1.0, 1.0), (0.5, 2.0, 1.0))


@every_solver
@pytest.mark.parametrize("limb", LIMBS)
@pytest.mark.parametrize("has_pole", [False, True], ids=["free", "pole"])
def test_a_limited_limb_arrives(limb, solver, has_pole):
    scale = SCALES[(list(LIMBS).index(limb) + has_pole) % len(SCALES)]
    ob, bones = make_limb(LIMBS[limb])
    ob.scale, ob.rotation_euler = scale, (0.3, -0.2, 0.4)
    scaled_rigs.update()
    rng = make_rng(3)
    where = [reachable(ob, bones, LIMBS[limb], rng) for _ in range(4)]
    for _ in arrivals(ob, bones, where, solver, has_pole=has_pole):
        assert violations(ob, LIMBS[limb]).max() <= 1e-6


FIVE = ((K.BALL, ((-57, 57),) * 3),) * 5


@pytest.mark.parametrize("solver", ["NEWTON", "FABRIK", "CCD", "FORCE"])
@pytest.mark.parametrize("unturned", [(2,), (1, 3), (4,)], ids=str)
@pytest.mark.parametrize("has_pole", [False, True], ids=["free", "pole"])
def test_a_limited_limb_arrives_whose_bones_do_not_inherit_rotation(unturned, has_pole, solver):
    rng = make_rng(5)
    points = np.cumsum(np.vstack((np.zeros(3), [0, 0, 1] + 0.1 * rng.normal(size=(5, 3)))), axis=0)
    ob = rigs.make_rig([tuple(point) for point in points])
    bones = [bone.name for bone in ob.pose.bones]
    for bone, (kind, ranges) in zip(ob.pose.bones, FIVE, strict=True):
        limit(bone, kind, ranges)
    scaled_rigs.set_bones(ob, [bones[i] for i in unturned], use_inherit_rotation=False)
    where = [reachable(ob, bones, FIVE, rng) for _ in range(3)]
    for _ in arrivals(ob, bones, where, solver, has_pole=has_pole):
        # What the parents' turns make of poses tells nothing here.
        for bone in rigs.evaluated(ob).pose.bones:
            turn = np.array(bone.rotation_quaternion)
            assert violation(K.BALL, turn, *edges(bone)) <= 1e-6
