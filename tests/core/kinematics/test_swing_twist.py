"""Swing and twist inside their ranges: the same for floats and arrays."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from blender_ik_addon.core.algebra.arithmetic import ARRAYS, FLOATS
from blender_ik_addon.core.kinematics.swing_twist import (
    SwingTwistRange,
    clamp,
)
from tests.core.algebra.test_algebra import BATCH, picked, rotations, sizes, stacked

half_axes = st.sampled_from([0.0, math.inf, 1.0]) | st.floats(0.01, 0.9)
ends = st.sampled_from([0.0, math.inf]) | st.floats(0.0, 3.0)


@st.composite
def ranges(draw):
    low, high = -draw(ends), draw(ends)
    is_closed = math.isfinite(low) and math.isfinite(high)
    middle = 0.5 * (low + high) if is_closed else 0.0
    room = draw(st.tuples(*(4 * [half_axes])))
    return SwingTwistRange(0.0, 0.0, *room, low, high, middle)


@given(cases=st.lists(st.tuples(ranges(), rotations()), min_size=BATCH, max_size=BATCH))
def test_clamping_gives_the_same_for_floats_and_for_arrays(cases):
    together = clamp(
        ARRAYS,
        SwingTwistRange(*stacked([tuple(each) for each, _ in cases])),
        stacked([q for _, q in cases]),
    )
    for row, (own, q) in enumerate(cases):
        one = sizes(clamp(FLOATS, own, q))
        assert np.isfinite(one).all()
        np.testing.assert_allclose(one, sizes(picked(together, row)), atol=1e-12)
