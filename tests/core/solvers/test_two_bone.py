"""TWO_BONE: the closed form against the law of cosines in exact and in long arithmetic."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blender_ik_addon.core import Chain, Solver, Status
from tests.core.chains import (
    solved,
)

# Core is held to 1e-12 of the length; Blender itself stores 1e-7.
ACCURATE = 1e-12
# The height of the elbow over the chord is a root: an error of one rounding under it, 1e-16, may
# come out as 1e-8 where the height is zero.
ROUNDING_UNDER_ROOT = 3e-8
X, Y = np.eye(3)[:2]


def limb(first, second, bend_toward=Y):
    """Return a straight chain along x that bends toward a side."""
    return Chain(np.array([0.0, first, first + second])[:, None] * X, bend_toward)


def two_bone(chain, goal, **options):
    return solved(chain, goal, Solver.TWO_BONE, **options)


def exact_elbow(first, second, distance):
    """Return foot and height of the elbow by the law of cosines with 50 digits."""
    with localcontext() as context:
        context.prec = 50
        a, b, d = Decimal(first), Decimal(second), Decimal(distance)
        foot = (d * d + a * a - b * b) / (2 * d)
        return float(foot), float((a * a - foot * foot).max(Decimal(0)).sqrt())


lengths = st.floats(0.1, 10.0)


@given(lengths, lengths, st.floats(0.0, 1.0))
def test_the_triangle_agrees_with_long_arithmetic(first, second, share):
    chain = limb(first, second)
    distance = chain.min_reach + share * (chain.max_reach - chain.min_reach)
    if distance < 1e-3 * chain.max_reach:
        return
    solution = two_bone(chain, distance * X)
    assert solution.status is Status.REACHED
    assert solution.iterations == 0
    joints = solution.joint_positions
    foot, height = exact_elbow(first, second, distance)
    assert joints[1, 0] == pytest.approx(foot, abs=ACCURATE * chain.max_reach)
    assert joints[1, 1] == pytest.approx(height, abs=ROUNDING_UNDER_ROOT * chain.max_reach)
    assert joints[1, 2] == 0.0
    assert np.linalg.norm(joints[2] - distance * X) <= ACCURATE * chain.max_reach
