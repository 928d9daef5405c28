"""Spaces switched more than once: what was switched before stays seen, and what comes later too."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from tests.blender.controls.test_switch_space import (
    MOST,
    assert_one_acts,
    control_of,
    make_body,
    move_control,
    move_things,
    played,
    shown_at,
    switch,
)
from tests.blender.setups import rigs
from tests.blender.setups.selecting import press
from tests.helpers import make_rng


def make_shot(kind: str) -> bpy.types.Object:
    """Return a body that moves, whose hand goes along with a bone from frame 20 on."""
    ob, rng = make_body(kind), make_rng(4)
    for frame in (1, 15, 40):
        move_things(ob, rng, frame)
        move_control(control_of(ob, "TARGET"), rng, frame)
    rigs.go_to(20)
    press(switch, space="Body.1")
    return ob


@pytest.mark.parametrize(("kind", "space"), [("EMPTY", "Prop"), ("BONE", "")])
def test_over_a_range_a_control_stays_where_an_earlier_switch_has_put_it(kind, space):
    ob = make_shot(kind)
    before = played(ob)
    between = {frame: shown_at(ob, "TARGET", frame) for frame in np.arange(10.5, 19.0)}
    rigs.go_to(20)
    press(switch, space=space, use_range=True, frame_start=10, frame_end=30)
    assert bpy.context.scene.frame_current == 20
    after = played(ob)
    for frame in range(10, 31):
        np.testing.assert_allclose(after[frame], before[frame], atol=MOST, err_msg=str(frame))
        rigs.go_to(frame)
        assert ob.chain_ik.chains[0].space == space
    for frame in (1, 9):
        np.testing.assert_allclose(after[frame], before[frame], atol=MOST)
    # Half a frame on, nothing has spun from one key to the next.
    for frame, matrix in between.items():
        np.testing.assert_allclose(shown_at(ob, "TARGET", frame), matrix, atol=0.02)
    assert_one_acts(control_of(ob, "TARGET"))


@pytest.mark.parametrize(
    ("kind", "space", "settings"),
    [
        ("EMPTY", "Prop", {}),
        ("BONE", "Body.1", {"use_range": True, "frame_start": 8, "frame_end": 12}),
    ],
)
def test_a_switch_before_another_one_leaves_its_keys_and_that_one_where_they_were(
    kind, space, settings
):
    ob = make_shot(kind)
    before = played(ob)
    rigs.go_to(10)
    press(switch, space=space, **settings)
    after = played(ob)
    for frame in (1, 7, 10, 15, *range(19, 41)):
        np.testing.assert_allclose(after[frame], before[frame], atol=MOST, err_msg=str(frame))
    # In the frame before the later switch nothing is seen of the way.
    np.testing.assert_allclose(shown_at(ob, "TARGET", 19.5), before[19], atol=0.05)
    assert_one_acts(control_of(ob, "TARGET"))
