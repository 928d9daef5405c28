"""Chains that a force pulls: side by side in the spaces of their roots as bone by bone."""

from __future__ import annotations

import itertools

import bpy
import numpy as np
import pytest

from blender_ik_addon.core import Status
from tests.blender.rigid import rigid_rigs
from tests.blender.rigid.rigid_paths import (
    MOST,
    SAME,
    assert_quick,
    assert_same,
    bone_by_bone,
    differences,
    find_unsure,
    seen,
    ways,
)
from tests.blender.rigid.rigid_rigs import Limb
from tests.helpers import make_rng

pytestmark = pytest.mark.slow

# What last digits make of turns (radians) and joints (share of the length) of chains that rest when
# no joint has to turn by more than 1e-6: beside full reach small bends tell much.
SETTLED = np.array((1e-5, 1e-6))
# What last digits may make of chains that limits hold back: less than another pose.
NO_CHOICE = np.array((0.1, 0.005))
# One of these two dozen may take another pose: tests/core/solving/limits/test_unreachable.py allows
# two of a hundred, and which ones these are is for the processor's rounding to say.
MOST_UNSURE = 1
SEVERAL = 6


def make_pulled(copies: int, share: float, seed: int, **forces: object) -> list[Limb]:
    """Return random limbs, with springs and weight of their own, or as told.

    Without comfort: in a box of no resistance several poses are as good, and last digits choose.
    """
    kinds = [
        kind
        for kind in rigid_rigs.kinds(seed, share)
        if kind.solver == "NEWTON" and kind.use_tail and kind.weight is None
    ]
    limbs = rigid_rigs.build(kinds, copies, seed)
    rng = make_rng(seed)
    for limb in limbs:
        limb.settings.solver = "FORCE"
        force = limb.settings.force
        force.stiffness_root, force.stiffness_tip = rng.uniform(0.5, 4.0, 2)
        force.gravity = rng.uniform(0.2, 1.0)
        for name, value in forces.items():
            setattr(force, name, value)
    return limbs


def assert_settles_as_bone_by_bone(
    limbs: list[Limb], copies: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that chains take the quick path and settle where they do bone by bone."""
    quick = seen(limbs)
    assert_quick(limbs, copies)
    pairs = list(zip(quick, bone_by_bone(limbs, monkeypatch), strict=True))
    for each in pairs:
        assert_same(*each, SETTLED)
    found = [differences(*each) for each in pairs if each[0].status is Status.REACHED]
    assert np.mean(np.array(found) <= SAME) >= MOST


@pytest.mark.parametrize("copies", [1, SEVERAL])
def test_pulled_chains_move_as_bone_by_bone(copies, monkeypatch):
    limbs = make_pulled(copies, 0.6, seed=300 + copies)
    assert len({limb.kind.count for limb in limbs}) > 1
    assert_settles_as_bone_by_bone(limbs, copies, monkeypatch)


@pytest.mark.parametrize("copies", [1, SEVERAL])
def test_pulled_chains_with_limits_move_as_bone_by_bone(copies, monkeypatch):
    limbs = make_pulled(copies, 0.6, seed=320 + copies)
    for limb in limbs:
        for name in limb.bones:
            bone = limb.object.pose.bones[name]
            bone.use_ik_limit_x = bone.use_ik_limit_z = True
            bone.ik_min_x, bone.ik_max_x = -0.9, 1.1
            bone.ik_min_z, bone.ik_max_z = -1.2, 0.8
            bone.ik_stiffness_y = 0.5
    quick = seen(limbs)
    assert_quick(limbs, copies)
    slow = bone_by_bone(limbs, monkeypatch)
    unsure = find_unsure(limbs, slow, monkeypatch)
    # Where limits hold back several poses are about as near: which processor rounds decides.
    is_sure = (unsure <= NO_CHOICE).all(axis=1)
    assert np.count_nonzero(~is_sure) <= MOST_UNSURE, unsure[~is_sure]
    alike = zip(quick, slow, np.maximum(unsure, SETTLED), strict=True)
    for each in itertools.compress(alike, is_sure):
        assert_same(*each)


def test_weight_pulls_down_wherever_an_object_is_turned(monkeypatch):
    limbs = make_pulled(SEVERAL, 0.6, seed=340, gravity=3.0)
    rng = make_rng(341)
    before = seen(limbs)
    for limb in {limb.rig: limb for limb in limbs}.values():
        limb.object.rotation_mode = "XYZ"
        limb.object.rotation_euler = rng.uniform(-2.0, 2.0, 3)
    assert_settles_as_bone_by_bone(limbs, SEVERAL, monkeypatch)
    quick = seen(limbs)
    moved = [np.abs(a.channels - b.channels).max() for a, b in zip(before, quick, strict=True)]
    assert np.median(moved) > 0.01


def test_classic_steps_move_as_bone_by_bone_and_apart_from_exact_ones(monkeypatch):
    limbs = make_pulled(2, 0.3, seed=360, force_mode="CLASSIC")
    limbs[0].settings.force.force_mode = "EXACT"
    quick = seen(limbs)
    beside, alone = ways(limbs)
    assert not alone
    assert beside[limbs[0].key] == 1
    for each in zip(quick, bone_by_bone(limbs, monkeypatch), strict=True):
        assert_same(*each, unsure=SETTLED)


def test_a_chain_that_eases_goes_by_itself_and_one_with_a_broken_creature_says_so():
    limbs = make_pulled(1, 0.4, seed=380)
    limbs[0].settings.force.use_gradual = True
    limbs[1].settings.force.creature = "{"
    bpy.context.view_layer.update()
    assert "JSON" in limbs[1].settings.status
    beside, alone = ways([limbs[0], *limbs[2:]])
    assert alone == {limbs[0].key}
    assert len(beside) == len(limbs) - 2
