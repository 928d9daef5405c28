"""Blender's IK constraint and our chain on the same rigs, in cases where the constraint fails.

The tests assert that the constraint fails, to notice when Blender fixes it, and that ours does not.
"""

import itertools

import numpy as np
import pytest
from mathutils import Quaternion

from tests.blender.setups import rigs, scaled_rigs
from tests.core.equilibrium.energies import arc
from tests.helpers import make_rng, vector_angles


class Pair:
    """Two equal rigs with one target: one with our chain, one with the constraint."""

    def __init__(self, joints=rigs.ARM, pole=None, scale=(1.0, 1.0, 1.0), parent=None, **settings):
        self.target = rigs.make_empty("Target", (0.0, 0.0, 0.0))
        pole = None if pole is None else rigs.make_empty("Pole", pole)
        self.ours, self.builtin = (rigs.make_rig(joints, name) for name in ("Ours", "Builtin"))
        self.bones = list(self.ours.pose.bones.keys())
        rigs.set_each((self.ours, self.builtin), scale=scale, parent=parent)
        settings = {"pole_target": pole, **settings}
        self.chain = rigs.add_chain(self.ours, self.bones[-1], self.target, **settings)
        constraint = self.builtin.pose.bones[self.bones[-1]].constraints.new("IK")
        constraint.target, constraint.pole_target = self.target, pole
        constraint.use_stretch = False
        if pole is not None:
            # The constraint needs it to face the pole with this rest bend; ours needs none.
            constraint.pole_angle = -np.pi / 2.0
        rigs.updated()

    def move(self, point):
        """Move the target to a point in world space and solve both."""
        rigs.change(self.target, location=point)

    def misses(self):
        """Return the distances to the target of ours and the constraint, as shares of the limb."""
        return [scaled_rigs.miss(ob, self.bones, self.target) for ob in (self.ours, self.builtin)]

    def elbows(self):
        """Return the first joint of ours and of the constraint, world space, shape (2, 3)."""
        return np.array([rigs.tail(ob, "Bone.0") for ob in (self.ours, self.builtin)])


@pytest.mark.slow
def test_a_chain_of_fifty_bones_reaches_all_of_twenty_targets():
    pair = Pair(50.0 * arc(50))
    rng, misses = make_rng(0), []
    goal = rng.normal(size=(20, 3))
    goal *= 45.0 * np.cbrt(rng.uniform(size=(20, 1))) / np.linalg.norm(goal, axis=1, keepdims=True)
    for point in goal:
        pair.move(point)
        misses.append(pair.misses())
    ours, builtin = (np.array(misses) > 1e-3).sum(axis=0)
    assert builtin >= 10, f"the constraint misses {builtin} of 20"
    assert ours == 0, f"ours misses {ours} of 20, the constraint {builtin}"
    assert np.max(misses, axis=0)[0] <= 1e-5


@pytest.mark.parametrize(
    ("solver", "count"), [("TWO_BONE", 2), *itertools.product(("FABRIK", "CCD", "NEWTON"), (2, 5))]
)
def test_a_straight_limb_bends_toward_a_target_on_its_own_axis(count, solver):
    pair = Pair([(0.0, 0.0, z) for z in range(count + 1)], solver=solver)
    pair.move((0.0, 0.0, 0.6 * count))
    ours, builtin = pair.misses()
    assert builtin > 0.3, f"the constraint misses by {builtin:.3g} of the limb"
    assert ours <= 1e-5, f"ours misses by {ours:.3g}, the constraint by {builtin:.3g}"


@pytest.mark.parametrize("solver", ["TWO_BONE", "NEWTON"])
def test_the_elbow_does_not_pop_when_the_target_passes_the_pole(solver):
    pair = Pair(pole=(0.0, -10.0, 0.0), solver=solver)
    # The target passes the line from root to pole, beside the bend, 0.03 degrees a step.
    angles = np.radians(0.03 * (np.arange(-8, 8) + 0.5))
    points = 1.7 * np.column_stack((np.sin(angles), -np.cos(angles), np.zeros_like(angles)))
    elbows = []
    for point in points:
        pair.move(point)
        elbows.append(pair.elbows())
    ours, builtin = np.linalg.norm(np.diff(elbows, axis=0), axis=2).max(axis=0)
    message = f"largest step of the elbow: ours {ours:.3g} m, the constraint's {builtin:.3g} m"
    assert builtin > 0.7, message
    assert ours < 0.02, message


ABOVE, UPPER, FORE = "Bone.0", "Bone.1", "Bone.2"
SHOULDERED_ARM = ((0, 0, 0), (0, 0.05, 0.5), (0, -0.1, 1.5), (0, 0, 2.5))


@pytest.mark.parametrize(
    ("bone", "scale"),
    [
        (ABOVE, (0.6, 1.4, 1.0)),
        (ABOVE, (1.0, 1.4, 1.0)),
        (UPPER, (-1.0, 1.0, 1.0)),
        (UPPER, (-1.0, -1.0, -1.0)),
        (FORE, (1.0, -1.0, 1.0)),
        (FORE, (1.0, 1.0, -1.0)),
    ],
    ids=str,
)
def test_scaled_bones_reach_the_target(bone, scale):
    pair = Pair(SHOULDERED_ARM, chain_count=2)
    pair.bones = [UPPER, FORE]
    pair.builtin.pose.bones[FORE].constraints[0].chain_count = 2
    for ob in (pair.ours, pair.builtin):
        ob.pose.bones[bone].scale = scale
    misses = []
    for seed in range(6):
        rigs.change(pair.chain, mute=True)
        point = scaled_rigs.reachable_point(pair.ours, pair.bones, make_rng(seed), 0.6)
        pair.chain.mute = False
        pair.move(point)
        misses.append(pair.misses())
    ours, builtin = np.max(misses, axis=0)
    message = f"largest miss: ours {ours:.3g} of the limb, the constraint's {builtin:.3g}"
    assert builtin > 0.1, message
    assert ours <= 1e-5, message


@pytest.mark.parametrize("scale", [(-1.0, 1.0, 1.0), (-1.0, -1.0, -1.0), (0.4, 1.0, 2.0)], ids=str)
def test_the_tip_takes_the_targets_rotation_under_scale(scale):
    pair = Pair([*rigs.ARM, (0.0, 0.3, 2.4)], scale=scale, use_rotation=True)
    pair.builtin.pose.bones["Bone.2"].constraints[0].use_rotation = True
    pair.target.rotation_mode = "QUATERNION"
    pair.target.rotation_quaternion = Quaternion((1.0, 0.5, 0.2), 0.6)
    pair.move(np.multiply(scale, (0.3, 0.4, 1.5)))
    limbs = (pair.ours, pair.builtin)
    along = [rigs.tail(ob, "Bone.2") - rigs.head(ob, "Bone.2") for ob in limbs]
    ours, builtin = np.degrees(vector_angles(along, rigs.world_matrix(pair.target)[:3, 1]))
    message = (
        f"away from the target's direction: ours {ours:.3g} degrees, the constraint {builtin:.3g}"
    )
    assert builtin > 5.0, message
    assert ours < 1e-3, message
    assert pair.misses()[0] <= 1e-5
