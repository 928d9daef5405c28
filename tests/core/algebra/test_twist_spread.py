"""The twist of a hand spread along its forearm: no joint moves, each bone takes its share."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blender_ik_addon.core.algebra import rotation
from blender_ik_addon.core.algebra.twist_spread import Segment, TwistSpread, about, twist_about
from tests.helpers import assert_rotations_close, make_rng

Y = np.array([0.0, 1.0, 0.0])
EXACT = 1e-12
# Upper arm of two bones, forearm of three, a hand, two twist bones: the forearm's is not in line.
UPPER = Segment((0, 1), (6,), 2, keeps_root=False)
FORE = Segment((2, 3, 4), (7,), 5, keeps_root=True)
PARENTS = (-1, 0, 1, 2, 3, 4, 1, 3)
IN_LINE = (1, 3, 4)
LENGTHS = np.array([1.0, 1.0, 0.5, 1.0, 0.5, 0.4, 0.5, 0.5])
SHARES = np.array([0.0, 0.5, 0.0, 0.25, 0.75, 0.0, 0.7, 0.5])
fewer_examples = settings(max_examples=15)
seeds = st.integers(0, 2**31)


def random_rotations(rng, *shape, most=2.5):
    """Return rotations by less than half a turn, which have a twist about every axis."""
    axes = rng.normal(size=(*shape, 3))
    axes /= np.linalg.norm(axes, axis=-1, keepdims=True)
    return about(axes, rng.uniform(0.0, most, shape))


class Limb:
    """Three similar limbs at rest."""

    def __init__(self, seed: int) -> None:
        rng = make_rng(seed)
        self.offsets = random_rotations(rng, 3, 8)
        # Bones of one segment are in line; their roll at rest is random.
        for row in IN_LINE:
            self.offsets[:, row] = about(Y, rng.uniform(-3.0, 3.0, 3))
        self.axes = np.tile(Y, (3, 8, 1))
        self.before = rotation.rotate(rotation.conjugate(self.offsets), self.axes)
        self.axes[:, 6:] = self.before[:, 6:]
        shares = np.tile(SHARES, (3, 1))
        may_roll = np.ones((3, 2), dtype=bool)
        self.spread = TwistSpread((UPPER, FORE), PARENTS, self.axes, self.before, shares, may_roll)

    def posed(self, local):
        """Return rotations (3, 8, 4), and joints (3, 7, 3): the limb's heads and its end."""
        posed, heads = np.empty_like(local), np.zeros((3, 7, 3))
        for row, above in enumerate(PARENTS):
            parent = np.array([1.0, 0, 0, 0]) if above < 0 else posed[:, above]
            posed[:, row] = rotation.multiply(
                rotation.multiply(parent, self.offsets[:, row]), local[:, row]
            )
            if row < 6:
                segment = rotation.rotate(posed[:, row], np.tile(LENGTHS[row] * Y, (3, 1)))
                heads[:, row + 1] = heads[:, row] + segment
        return posed, heads

    def straight(self, rng, hand):
        """Return local rotations with a straight forearm and its hand turned by an angle."""
        local = random_rotations(rng, 3, 8)
        local[:, [3, 4]] = [1.0, 0.0, 0.0, 0.0]
        local[:, 7] = about(self.before[:, 7], rng.uniform(-3.0, 3.0, 3))
        local[:, 5] = about(self.before[:, 5], np.full(3, hand))
        return local

    def turn_of(self, local, row, first=2):
        """Return the turn of a bone about the forearm, relative to the forearm's first bone."""
        (posed, _), (rest, _) = self.posed(local), self.posed(np.tile([1.0, 0, 0, 0], (3, 8, 1)))
        turns = rotation.multiply(posed, rotation.conjugate(rest))
        relative = rotation.multiply(rotation.conjugate(turns[:, first]), turns[:, row])
        return twist_about(relative, rotation.rotate(rest[:, first], np.tile(Y, (3, 1))))


def spread(limb, local, influence=1.0, zero=None, clamped=None):
    zero = np.tile([1.0, 0.0, 0.0, 0.0], (3, 8, 1)) if zero is None else zero
    return limb.spread.spread(local, zero, np.full((3, 8), influence), clamped)


@fewer_examples
@given(seeds, st.floats(-1.0, 1.0), st.floats(-1.0, 1.0), st.sampled_from((0.0, 0.4, 1.0)))
def test_with_less_influence_bones_take_a_share_of_the_rest(seed, hand, stored, influence):
    """The stored pose keeps a share of the turn, all of it in the hand; the rest is spread."""
    limb = Limb(seed)
    zero = limb.straight(make_rng(seed), stored)
    signs = make_rng(seed + 2).choice([-1.0, 1.0], (3, 8, 1))
    local = spread(limb, signs * limb.straight(make_rng(seed), hand), influence, zero)
    along = (3, 0.25), (4, 0.75)
    for row, share in ((2, 0.0), *along, (7, 0.5), (5, 1.0)) if influence == 1.0 else along:
        expected = share * (hand - (1.0 - influence) * stored)
        np.testing.assert_allclose(limb.turn_of(local, row), expected, atol=1e-9)


@fewer_examples
@given(seeds)
def test_the_roll_of_the_upper_arm_grows_from_none_at_the_shoulder(seed):
    limb, rng = Limb(seed), make_rng(seed)
    roll = rng.uniform(-3.0, 3.0, 3)
    local = np.tile([1.0, 0.0, 0.0, 0.0], (3, 8, 1))
    local[:, 0] = about(np.tile(Y, (3, 1)), roll)
    local = spread(limb, local)
    turns = [twist_about(local[:, row], limb.before[:, row]) for row in (1, 6, 2)]
    assert np.abs(twist_about(local[:, 0], limb.axes[:, 0])).max() < 1e-9
    np.testing.assert_allclose(turns[0], 0.5 * roll, atol=1e-9)
    np.testing.assert_allclose(turns[1], 0.2 * roll, atol=1e-9)
    np.testing.assert_allclose(turns[2], 0.5 * roll, atol=1e-9)


@pytest.mark.parametrize("most", [0.0, 0.1, 5.0])
def test_bones_roll_as_far_as_a_limit_allows(most):
    limb, hand = Limb(5), 1.2
    local = limb.straight(make_rng(5), hand)

    def clamped(turned):
        """Return rotations with a limited roll of the forearm's third bone."""
        limited = turned.copy()
        roll = twist_about(turned[:, 4], limb.before[:, 4])
        over = roll - np.clip(roll, -most, most)
        limited[:, 4] = rotation.multiply(turned[:, 4], about(np.tile(Y, (3, 1)), -over))
        return limited

    after = spread(limb, local, clamped=clamped)
    roll = twist_about(after[:, 4], limb.before[:, 4])
    np.testing.assert_allclose(roll, min(0.5 * hand, most), atol=3e-6)
    hands = (limb.posed(pose)[0][:, 5] for pose in (after, local))
    assert_rotations_close(*hands, EXACT)
